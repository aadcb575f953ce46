//! A report for the terminal: the answer, the ranking, the caveats that matter, and on request everything.
//!
//! Colour only repeats what words and marks show, so that nothing is lost in a pipe.

mod brief;
mod sections;

use crate::change::{change, change_interval};
use crate::figure::{self, printable};
use crate::model::{Better, Fidelity, InputKind, PolicyReport, Report, Sampling, Verdict, VsReference};
use crate::table::{folded, keep_whole, keep_whole_with_heads, longest_part, room, trimmed, wrapped};
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table, presets};
use goodness_observe::title;

/// Spaces between columns.
const GAP: u16 = 2;
/// Least width for layout, in columns; on narrower terminals lines overflow.
const NARROWEST: u16 = 60;
/// Columns of a ranking beside the label.
const OTHER_COLUMNS: u16 = 56;
/// Width from which the ranking has the intervals of values beside those of changes.
const WIDE: u16 = 100;

/// Most figures of a single run.
const FIGURES: usize = 10;
/// Heads of a ranking, and which columns are figures; the second head is the name of a row.
const HEADS: [(&str, bool); 7] = [
    ("#", true),
    ("", false),
    ("value", true),
    ("95 % interval", false),
    ("change", true),
    ("95 %", false),
    ("verdict", false),
];

/// What a ranking shows beside labels and values.
#[derive(Clone, Copy)]
struct Shown {
    /// The intervals of the values.
    has_intervals: bool,
    /// Changes from the reference, with their intervals and verdicts.
    is_compared: bool,
}

impl Shown {
    /// The columns, as places in [`HEADS`].
    fn columns(self) -> Vec<usize> {
        let is_shown = |index: &usize| match index {
            0..=2 => true,
            3 => self.has_intervals,
            _ => self.is_compared,
        };
        (0..HEADS.len()).filter(is_shown).collect()
    }
}

/// How much of a report is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// The ranking and nothing else; of a single policy its answer and its main figures.
    Ranking,
    /// The answer, the ranking and the caveats that matter: one screen.
    #[default]
    Answer,
    /// Everything.
    All,
}

/// The report as text with a final newline, for `width` columns, with ANSI colours if `colour`.
#[must_use]
pub fn render(report: &Report, extent: Extent, width: u16, colour: bool) -> String {
    let page = Page { report, extent, width: width.max(NARROWEST), colour, labels: report.labels() };
    let parts = match extent {
        Extent::Ranking if report.policies.len() == 1 => vec![page.conclusion(), page.figures(FIGURES)],
        Extent::Ranking => vec![page.ranking()],
        Extent::Answer => page.answer(),
        Extent::All => vec![
            page.conclusion(),
            report.commands(),
            page.head(),
            page.violations(),
            if report.policies.len() == 1 { page.figures(usize::MAX) } else { page.ranking() },
            page.other_metrics(),
            page.effects(),
            page.scheduling(),
            page.fidelity(),
            page.tasks(),
            page.tasks_io(),
            page.groups(),
            page.notes(),
        ],
    };
    let mut text = parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("\n\n");
    text.push('\n');
    text
}

struct Page<'a> {
    report: &'a Report,
    extent: Extent,
    width: u16,
    colour: bool,
    labels: Vec<String>,
}

impl Page<'_> {
    /// The conclusion. If nothing was measured, the ranking shows that instead.
    fn conclusion(&self) -> String {
        match self.report.ranked_by().map(|_| self.report.conclusion()) {
            Some(sentence) if !sentence.is_empty() => self.strong(&self.wrap(&sentence, "")),
            _ => String::new(),
        }
    }

    fn head(&self) -> String {
        let r = self.report;
        let runs = r.details.samples.clone();
        let (each, row) =
            if r.policies.len() == 1 { ("", String::new()) } else { (" for each", format!(" {}", r.row())) };
        let runs = runs.unwrap_or_else(|| count(r.runs_per_policy, "run") + each);
        let first = format!("{} ({})", printable(&r.input.name), r.input.kind.name());
        let rest = format!(
            "{}, {} Hz ({}) · {runs}{row}, {} long · seed {}",
            count(r.machine.cpus, "CPU"),
            r.machine.hz,
            printable(&r.machine.name),
            figure::time(Some(r.simulated_ns)),
            r.seed
        );
        let varies = r.details.what_varies.as_ref().map(|v| format!("Between runs: {}", printable(v)));
        let lines = [self.strong(&first), self.wrap(&rest, "")];
        lines.into_iter().chain(varies.map(|v| self.wrap(&v, ""))).collect::<Vec<_>>().join("\n")
    }

    fn violations(&self) -> String {
        let mut lines = Vec::new();
        for (policy, label) in self.report.policies.iter().zip(&self.labels) {
            for v in &policy.violations {
                let at = figure::time(Some(v.at_ns));
                let head = format!("VIOLATED {} under {label} at {at}: {}", v.checker, printable(&v.message));
                lines.push(self.paint(&self.wrap(&head, "  "), Color::Red));
                lines.push(format!("  reproduce: {}", printable(&v.reproduce)));
            }
        }
        lines.join("\n")
    }

    fn ranking(&self) -> String {
        let Some(metric) = self.report.ranked_by() else {
            return self.report.unranked();
        };
        let of = |policy: &PolicyReport| policy.metric(metric).cloned();
        let is_compared = self.report.policies.iter().filter_map(of).any(|it| it.vs_reference.is_some());
        let wants_intervals = self.extent == Extent::All || self.width >= WIDE || !is_compared;
        let label = |index: usize| self.labels[index].clone();
        let least = self.labels.iter().map(|it| longest_part(it)).max().unwrap_or(0).min(self.width / 4);
        let room_with = |has_intervals| {
            let shown = Shown { has_intervals, is_compared };
            room(&mut self.ranking_table(metric, shown, &label), 1, self.width)
        };
        // The intervals of values, beside those of changes, make way for the labels.
        let has_intervals = wants_intervals && (!is_compared || room_with(true) >= least);
        let most = room_with(has_intervals).max(least);
        let shown = Shown { has_intervals, is_compared };
        let mut table = self.ranking_table(metric, shown, &|index| folded(&self.labels[index], most));
        keep_whole_with_heads(&mut table, &[0, 1], most);
        keep_whole(&mut table, &(2..shown.columns().len()).collect::<Vec<_>>(), self.longest_cell());
        let better = self.report.policies.iter().find_map(|p| p.metric(metric)).map(|m| m.better);
        let direction = if better == Some(Better::Higher) { "higher" } else { "lower" };
        let title = self.wrap(&format!("Ranking by {}, {direction} is better", figure::titled(metric)), "");
        format!("{}\n{}", self.strong(&title), trimmed(&table))
    }

    fn ranking_table(&self, metric: &str, shown: Shown, label: &dyn Fn(usize) -> String) -> Table {
        let columns = shown.columns();
        let head = |index: &usize| if *index == 1 { self.report.row() } else { HEADS[*index].0 };
        let mut table = self.table(&columns.iter().map(head).collect::<Vec<_>>());
        for (place, index) in self.report.ranking(metric).into_iter().enumerate() {
            let cells = self.ranking_row(place + 1, &label(index), &self.report.policies[index], metric);
            let is_shown = |index: &usize| columns.contains(index);
            table.add_row(cells.into_iter().enumerate().filter(|(index, _)| is_shown(index)).map(|(_, cell)| cell));
        }
        right_align(&mut table, &(0..columns.len()).filter(|at| HEADS[columns[*at]].1).collect::<Vec<_>>());
        table
    }

    fn ranking_row(&self, place: usize, label: &str, policy: &PolicyReport, metric: &str) -> [Cell; 7] {
        let measured = policy.metric(metric);
        let place = measured.and_then(|m| m.value).map_or_else(|| figure::NOT_MEASURED.into(), |_| place.to_string());
        let (value, ci) = measured.map_or_else(
            || (figure::NOT_MEASURED.into(), figure::NOT_MEASURED.into()),
            |m| (figure::of(m), figure::interval(m.ci95, &m.unit)),
        );
        let versus = measured.and_then(|m| m.vs_reference);
        let name = Cell::new(label);
        let name = if policy.is_reference { name.add_attribute(Attribute::Bold) } else { name };
        let ratio = versus.and_then(|it| it.ratio).map_or_else(String::new, change);
        let within =
            versus.and_then(|it| it.ci95).map_or_else(String::new, |it| change_interval(it, self.report.units()));
        let is_measured = measured.is_some_and(|m| m.value.is_some());
        let verdict = verdict_cell(policy, versus, is_measured);
        let [place, value, ci, ratio, within] = [place, value, ci, ratio, within].map(Cell::new);
        [place, name, value, ci, ratio, within, verdict]
    }

    fn fidelity(&self) -> String {
        let title = self.strong("Fidelity of the replay");
        match &self.report.fidelity {
            Some(fidelity) => format!("{title}\n{}", self.fidelity_table(fidelity)),
            None if self.report.input.kind == InputKind::Trace && self.report.sampling != Sampling::Arms => {
                let is_measured = |policy: &PolicyReport| policy.metric("iops").is_some_and(|it| it.value.is_some());
                let why = match self.report.policies.iter().any(is_measured) {
                    true => "The notes say how far each elevator's submissions were from their recorded times.",
                    false => "Not measured: run `goodness verify` before trusting a difference.",
                };
                format!("{title}\n{}", self.wrap(why, ""))
            }
            None => String::new(),
        }
    }

    fn fidelity_table(&self, fidelity: &Fidelity) -> String {
        let replayed = format!("replayed ({})", fidelity.policy);
        let mut table = self.table(&["metric", "recorded", &replayed, "error", "promised"]);
        for m in &fidelity.metrics {
            let missed = m.keeps_promise() == Some(false);
            let promise = m.tolerance.map_or_else(String::new, |t| {
                format!("≤ {}{}", figure::percent(Some(t)), if missed { ", missed" } else { "" })
            });
            let promise = if missed { Cell::new(promise).fg(Color::Yellow) } else { Cell::new(promise) };
            table.add_row(vec![
                Cell::new(title(&m.name)),
                Cell::new(figure::show(m.recorded, &m.unit)),
                Cell::new(figure::show(m.replayed, &m.unit)),
                Cell::new(figure::percent(m.error)),
                promise,
            ]);
        }
        right_align(&mut table, &[1, 2, 3]);
        let rule = format!("A difference between {} smaller than the error is inconclusive.", self.report.rows());
        format!("{}\n{}", trimmed(&table), self.wrap(&rule, ""))
    }

    fn notes(&self) -> String {
        let d = &self.report.details;
        let mut lines = Vec::new();
        for warning in &d.warnings {
            let line = self.wrap(&format!("warning: {}", printable(warning)), "  ");
            lines.push(self.paint(&line, Color::Yellow));
        }
        if let Some(lost @ 1..) = self.report.input.lost_events {
            lines.push(self.paint(&format!("warning: the recording lost {lost} events"), Color::Yellow));
        }
        for (head, counts) in [("repaired", &d.repairs), ("not known", &d.unknowns)] {
            for c in counts {
                lines.push(self.wrap(&format!("{head}: {} {}", c.count, printable(&c.what)), "  "));
            }
        }
        for note in d.workload_notes.iter().chain(&d.machine_notes) {
            lines.push(self.wrap(&format!("note: {}", printable(note)), "  "));
        }
        // Not wrapped: a command is copied as a whole.
        lines.extend(d.command.as_ref().map(|c| format!("reproduce: {}", printable(c))));
        lines.join("\n")
    }

    fn table(&self, head: &[&str]) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(self.width);
        if self.colour {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        table.set_header(head.iter().map(|h| Cell::new(h).add_attribute(Attribute::Dim)));
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP));
        }
        if let Some(last) = table.column_mut(head.len() - 1) {
            last.set_padding((0, 0));
        }
        table
    }

    /// Most characters of a cell that is kept on one line: what the other columns of a ranking leave.
    fn longest_cell(&self) -> u16 {
        self.width.saturating_sub(OTHER_COLUMNS).max(self.width / 4)
    }

    fn strong(&self, text: &str) -> String {
        if self.colour { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.into() }
    }

    fn paint(&self, text: &str, colour: Color) -> String {
        let code = if colour == Color::Red { 31 } else { 33 };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.into() }
    }

    fn wrap(&self, text: &str, indent: &str) -> String {
        wrapped("", text, self.width, indent)
    }
}

/// A number with its noun: `1 run`, `3 runs`.
fn count(number: u32, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn verdict_cell(policy: &PolicyReport, versus: Option<VsReference>, is_measured: bool) -> Cell {
    match versus.map(|v| v.verdict).filter(|_| is_measured) {
        _ if !policy.violations.is_empty() => Cell::new("VIOLATED").fg(Color::Red),
        _ if policy.is_reference => Cell::new("reference").add_attribute(Attribute::Bold),
        Some(verdict @ Verdict::Better) => Cell::new(verdict.name()).fg(Color::Green),
        Some(verdict @ Verdict::Worse) => Cell::new(verdict.name()).fg(Color::Red),
        Some(verdict @ Verdict::Inconclusive) => Cell::new(verdict.name()).fg(Color::Yellow),
        Some(verdict @ Verdict::Same) => Cell::new(verdict.name()),
        None if !is_measured => Cell::new("not measured"),
        None => Cell::new(figure::NOT_MEASURED),
    }
}

fn right_align(table: &mut Table, columns: &[usize]) {
    for index in columns {
        if let Some(column) = table.column_mut(*index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
