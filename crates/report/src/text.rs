//! A report for the terminal: ranking with intervals, verdicts, fidelity, tasks, warnings.
//!
//! Colour only repeats what words and marks show, so that nothing is lost in a pipe.

use crate::figure::{self, printable};
use crate::limits;
use crate::model::{Better, Fidelity, InputKind, MetricSummary, PolicyReport, Report, Sampling, Verdict, VsReference};
use crate::ranking::SHOWN_FIRST;
use crate::table::{trimmed, wrapped};
use comfy_table::{Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table, Width, presets};

/// Tasks shown per policy; the JSON and HTML reports hold all.
const TASKS_SHOWN: usize = 12;
/// Prefix of the metrics that share out the time of scheduling.
const PARTS: &str = "scheduler_share_";
/// Spaces between columns.
const GAP: u16 = 2;
/// Least width for layout, in columns; on narrower terminals lines overflow.
const NARROWEST: u16 = 60;

/// The report as text with a final newline, for `width` columns, with ANSI colours if `colour`.
#[must_use]
pub fn render(report: &Report, width: u16, colour: bool) -> String {
    let page = Page { report, width: width.max(NARROWEST), colour, labels: report.labels() };
    let parts = [
        page.conclusion(),
        report.commands(),
        page.head(),
        page.violations(),
        page.ranking(),
        page.other_metrics(),
        page.effects(),
        page.scheduling(),
        page.fidelity(),
        page.tasks(),
        page.tasks_io(),
        page.groups(),
        page.notes(),
    ];
    let mut text = parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("\n\n");
    text.push('\n');
    text
}

struct Page<'a> {
    report: &'a Report,
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
        let runs = runs.unwrap_or_else(|| format!("{} for each", count(r.runs_per_policy, "run")));
        let first = format!("{} ({})", printable(&r.input.name), r.input.kind.name());
        let rest = format!(
            "{}, {} Hz ({}) · {runs} {}, {} long · seed {}",
            count(r.machine.cpus, "CPU"),
            r.machine.hz,
            printable(&r.machine.name),
            r.row(),
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
        let mut table =
            self.table(&["#", self.report.row(), &spaced(metric), "95 % interval", "ratio, 95 %", "verdict"]);
        for (place, index) in self.report.ranking(metric).into_iter().enumerate() {
            let policy = &self.report.policies[index];
            table.add_row(self.ranking_row(place + 1, &self.labels[index], policy, metric));
        }
        right_align(&mut table, &[0, 2, 4]);
        self.keep_whole(&mut table, &[1, 2, 3, 4, 5]);
        let better = self.report.policies.iter().find_map(|p| p.metric(metric)).map(|m| m.better);
        let direction = if better == Some(Better::Higher) { "higher" } else { "lower" };
        let title = self.strong(&format!("Ranking by {metric} ({direction} is better)"));
        format!("{title}\n{}", trimmed(&table))
    }

    fn ranking_row(&self, place: usize, label: &str, policy: &PolicyReport, metric: &str) -> Vec<Cell> {
        let measured = policy.metric(metric);
        let place = measured.and_then(|m| m.value).map_or_else(|| figure::NOT_MEASURED.into(), |_| place.to_string());
        let (value, ci) = measured.map_or_else(
            || (figure::NOT_MEASURED.into(), figure::NOT_MEASURED.into()),
            |m| (figure::of(m), figure::interval(m.ci95, &m.unit)),
        );
        let versus = measured.and_then(|m| m.vs_reference);
        let name = Cell::new(label);
        let name = if policy.is_reference { name.add_attribute(Attribute::Bold) } else { name };
        let ratio = versus.map_or_else(String::new, ratio_with_interval);
        let is_measured = measured.is_some_and(|m| m.value.is_some());
        let verdict = verdict_cell(policy, versus, is_measured);
        vec![Cell::new(place), name, Cell::new(value), Cell::new(ci), Cell::new(ratio), verdict]
    }

    /// Value and verdict of the other metrics that fit.
    fn other_metrics(&self) -> String {
        let ranked = self.report.ranked_by();
        let directed = |name: &&str| {
            let good = |m: &MetricSummary| m.better != Better::Neither || SHOWN_FIRST.contains(name);
            Some(*name) != ranked
                && !name.starts_with(PARTS)
                && self.report.is_measured(name)
                && self.report.policies.iter().any(|p| p.metric(name).is_some_and(good))
        };
        let names: Vec<&str> = self.report.metric_names_by_weight().into_iter().filter(directed).collect();
        if names.is_empty() {
            return String::new();
        }
        let room = usize::from((self.width - 18) / 13);
        let shown = &names[..names.len().min(room)];
        let heads: Vec<String> = shown.iter().map(|n| spaced(n)).collect();
        let heads: Vec<&str> = std::iter::once(self.report.row()).chain(heads.iter().map(String::as_str)).collect();
        let mut table = self.table(&heads);
        let order = ranked.map_or_else(|| (0..self.labels.len()).collect(), |m| self.report.ranking(m));
        for index in order {
            let policy = &self.report.policies[index];
            let cells = shown.iter().map(|name| metric_cell(policy.metric(name)));
            table.add_row(std::iter::once(Cell::new(&self.labels[index])).chain(cells));
        }
        right_align(&mut table, &(1..=shown.len()).collect::<Vec<_>>());
        self.keep_whole(&mut table, &(0..=shown.len()).collect::<Vec<_>>());
        let legend = "+ better, - worse, = same, ? inconclusive against the reference";
        let more = match names.len() - shown.len() {
            0 => String::new(),
            1 => "; 1 more metric in the reports".into(),
            n => format!("; {n} more metrics in the reports"),
        };
        format!("{}\n{}\n{}", self.strong("Other metrics"), trimmed(&table), self.wrap(&format!("{legend}{more}"), ""))
    }

    /// Effects of policies and elevators by themselves and on each other.
    fn effects(&self) -> String {
        let Some(effects) = &self.report.details.effects else { return String::new() };
        let mut table = self.table(&["factor", "level", "ratio, 95 %"]);
        for row in &effects.rows {
            let interval = row.ci95.map_or_else(String::new, |[low, high]| format!(" {low:.2}…{high:.2}"));
            table.add_row([row.factor.clone(), printable(&row.level), format!("{:.2}×{interval}", row.ratio)]);
        }
        let title = self.strong(&format!("Effects on {}, against the first of each", effects.metric));
        let rule = "An interaction is what a pair does beyond what policy and elevator do by themselves.";
        format!("{title}\n{}\n{}", trimmed(&table), self.wrap(rule, ""))
    }

    /// CPU time spent on scheduling, by kind, as in a profile; empty if scheduling costs nothing on this machine.
    fn scheduling(&self) -> String {
        let value = |policy: &PolicyReport, name: &str| policy.metric(name).and_then(|m| m.value);
        let spent = |name: &&str| self.report.policies.iter().any(|p| value(p, name).is_some_and(|v| v > 0.0));
        let parts: Vec<&str> =
            self.report.metric_names().into_iter().filter(|n| n.starts_with(PARTS)).filter(spent).collect();
        if parts.is_empty() {
            return String::new();
        }
        let heads: Vec<&str> = parts.iter().map(|name| name.trim_start_matches(PARTS)).collect();
        let mut table = self.table(&[&[self.report.row(), "all"], heads.as_slice()].concat());
        for (policy, label) in self.report.policies.iter().zip(&self.labels) {
            let shares = std::iter::once("scheduler_share").chain(parts.iter().copied());
            let cells = shares.map(|name| Cell::new(figure::percent(value(policy, name))));
            table.add_row(std::iter::once(Cell::new(label)).chain(cells));
        }
        right_align(&mut table, &(1..=parts.len() + 1).collect::<Vec<_>>());
        format!("{}\n{}", self.strong("CPU time spent scheduling"), trimmed(&table))
    }

    fn fidelity(&self) -> String {
        let title = self.strong("Fidelity of the replay");
        match &self.report.fidelity {
            Some(fidelity) => format!("{title}\n{}", self.fidelity_table(fidelity)),
            None if self.report.input.kind == InputKind::Trace && self.report.sampling != Sampling::Arms => {
                let is_measured = |policy: &PolicyReport| policy.metric("iops").is_some_and(|it| it.value.is_some());
                let why = match self.report.policies.iter().any(is_measured) {
                    true => "The notes say how far each elevator's submissions were from their recorded times.",
                    false => "Not measured: trust no difference before `goodness verify` did.",
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
                Cell::new(&m.name),
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

    fn tasks(&self) -> String {
        let index = self.report.policies.iter().position(|p| p.is_reference).unwrap_or(0);
        let Some(policy) = self.report.policies.get(index).filter(|p| !p.tasks.is_empty()) else {
            return String::new();
        };
        let mut tasks: Vec<_> = policy.tasks.iter().collect();
        tasks.sort_by_key(|t| std::cmp::Reverse(t.cpu_time_ns));
        let mut table = self.table(&["task", "nice", "on CPU", "waiting", "switches", "latency p50", "p99", "max"]);
        for task in tasks.iter().take(TASKS_SHOWN) {
            table.add_row(vec![
                format!("{} {}", figure::name(&task.name), task.id),
                task.nice.map_or_else(|| "rt".into(), |n| n.to_string()),
                figure::time(Some(task.cpu_time_ns)),
                figure::time(Some(task.wait_ns)),
                task.switches.to_string(),
                figure::time(task.wakeup_latency_p50_ns),
                figure::time(task.wakeup_latency_p99_ns),
                figure::time(task.wakeup_latency_max_ns),
            ]);
        }
        right_align(&mut table, &[1, 2, 3, 4, 5, 6, 7]);
        let title = self.strong(&format!("Tasks under {}, first run", self.labels[index]));
        let more = match tasks.len().saturating_sub(TASKS_SHOWN) {
            0 => String::new(),
            1 => "\n1 more task in the reports".into(),
            n => format!("\n{n} more tasks in the reports"),
        };
        format!("{title}\n{}{more}", trimmed(&table))
    }

    /// The block I/O of the tasks that did most of it.
    fn tasks_io(&self) -> String {
        let index = self.report.policies.iter().position(|p| p.is_reference).unwrap_or(0);
        let tasks = self.report.policies.get(index).map_or(&[][..], |policy| &policy.tasks);
        let mut tasks: Vec<_> = tasks.iter().filter_map(|task| Some((task, task.io.as_ref()?))).collect();
        if tasks.is_empty() {
            return String::new();
        }
        tasks.sort_by_key(|(_, io)| std::cmp::Reverse(io.bytes));
        let mut table = self.table(&["task", "I/Os", "bytes", "read p50", "read p99", "write p50", "write p99"]);
        for (task, io) in tasks.iter().take(TASKS_SHOWN) {
            table.add_row(vec![
                format!("{} {}", figure::name(&task.name), task.id),
                io.done.to_string(),
                figure::show(Some(io.bytes as f64), "bytes"),
                figure::time(io.read_latency_p50_ns),
                figure::time(io.read_latency_p99_ns),
                figure::time(io.write_latency_p50_ns),
                figure::time(io.write_latency_p99_ns),
            ]);
        }
        right_align(&mut table, &[1, 2, 3, 4, 5, 6]);
        let more = tasks.len().saturating_sub(TASKS_SHOWN);
        let more = if more > 0 { format!("\n{more} more in the reports") } else { String::new() };
        let title = self.strong(&format!("Block I/O under {}, first run", self.labels[index]));
        format!("{title}\n{}{more}", trimmed(&table))
    }

    /// Figures of the limits of groups under each policy.
    fn groups(&self) -> String {
        if self.report.policies.iter().all(|policy| policy.groups.is_empty()) {
            return String::new();
        }
        let mut table = self.table(&[&[self.report.row()], limits::HEAD.as_slice()].concat());
        for (policy, label) in self.report.policies.iter().zip(&self.labels) {
            for group in &policy.groups {
                table.add_row(std::iter::once(label.clone()).chain(limits::cells(group)));
            }
        }
        right_align(&mut table, &[2, 3, 4, 5, 6]);
        self.keep_whole(&mut table, &[0, 1, 4, 6]);
        format!("{}\n{}", self.strong("Limits of groups, first run"), trimmed(&table))
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

    /// Keeps cells of these columns on one line. Headings may wrap, and labels may if longer than a quarter of the
    /// line.
    fn keep_whole(&self, table: &mut Table, columns: &[usize]) {
        for &index in columns {
            let cells = table.row_iter().filter_map(|row| row.cell_iter().nth(index)).map(Cell::content);
            let longest = cells.map(|c| c.chars().count() as u16).max().unwrap_or(0).min(self.width / 4);
            if let Some(column) = table.column_mut(index) {
                let width = longest + column.padding_width();
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
            }
        }
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

fn ratio_with_interval(versus: VsReference) -> String {
    let ratio = figure::ratio(versus.ratio);
    versus.ci95.map_or_else(|| ratio.clone(), |ci| format!("{ratio} {}", figure::ratio_interval(ci)))
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

fn metric_cell(metric: Option<&MetricSummary>) -> Cell {
    let Some(metric) = metric else { return Cell::new(format!("{}  ", figure::NOT_MEASURED)) };
    let value = figure::of(metric);
    match metric.vs_reference.filter(|_| metric.value.is_some()).map(|v| v.verdict) {
        Some(Verdict::Better) => Cell::new(format!("{value} +")).fg(Color::Green),
        Some(Verdict::Worse) => Cell::new(format!("{value} -")).fg(Color::Red),
        Some(Verdict::Same) => Cell::new(format!("{value} =")),
        Some(Verdict::Inconclusive) => Cell::new(format!("{value} ?")),
        None => Cell::new(format!("{value}  ")),
    }
}

/// A name as a heading that can be broken between its words.
fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

fn right_align(table: &mut Table, columns: &[usize]) {
    for index in columns {
        if let Some(column) = table.column_mut(*index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
