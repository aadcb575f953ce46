//! A comparison for the terminal: the answer, the first decision that differs, then what follows.

use super::sentence::{change, headline, judged, request, task};
use super::{Choice, Diff, Difference, Finding, FirstDifference, Kind, Queued, QueuedRequest, TaskDifference};
use crate::figure::{self, printable};
use crate::model::Better;
use crate::table::{self, trimmed, wrapped};
use crate::text::Extent;

/// Metrics that are shown without being asked for all.
const METRICS_SHOWN: usize = 5;
/// Rows of tasks that are shown, likewise.
const TASKS_SHOWN: usize = 2;
/// Waiting tasks that are named, likewise.
const QUEUE_SHOWN: usize = 3;

/// The comparison as text with a final newline, for `width` columns; the least of it is the headline and the gates.
#[must_use]
pub fn render(diff: &Diff, width: u16, extent: Extent) -> String {
    let page = Page { diff, width, verbose: extent == Extent::All };
    let answer = vec![page.headline(), page.gates()];
    let parts = match extent {
        Extent::Ranking => answer,
        _ => [answer, vec![page.first_difference(), page.metrics(), page.tasks(), page.notes()]].concat(),
    };
    let mut text = parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

struct Page<'a> {
    diff: &'a Diff,
    width: u16,
    verbose: bool,
}

impl Page<'_> {
    fn headline(&self) -> String {
        let Diff { a, b, samples, .. } = self.diff;
        let sides = format!("A = {}, B = {} · {samples}", named(&a.label, &a.input), named(&b.label, &b.input));
        let sides = if a.input == b.input {
            format!("{}: A = {}, B = {} · {samples}", a.input, a.label, b.label)
        } else {
            sides
        };
        format!("{}\n{}", self.wrap(&headline(self.diff)), self.wrap(&printable(&sides)))
    }

    fn gates(&self) -> String {
        let line = |gate: &super::Gate| {
            self.wrap(&format!("{:<12} {}: {}", gate.outcome.name(), printable(&gate.condition), gate.because))
        };
        self.diff.gates.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn first_difference(&self) -> String {
        let Some(first) = &self.diff.first_difference else { return String::new() };
        let mut lines = vec![format!("\nFirst decision that differs: {}", place(first))];
        for (name, label, choice) in [("A", &self.diff.a.label, &first.a), ("B", &self.diff.b.label, &first.b)] {
            lines.push(self.indented(&format!("  {name} {}: {}", printable(label), choice.did)));
            lines.extend(
                choice.rule.as_ref().map(|rule| self.indented(&format!("    because {}", printable(&rule.said)))),
            );
        }
        let queues = [&first.a, &first.b].map(|it| self.queue(first, it));
        match queues[0] == queues[1] {
            true => lines.push(self.indented(&format!("  both saw: {}", queues[0]))),
            false => {
                let saw = |(name, queue): (&str, &String)| self.indented(&format!("  {name} saw: {queue}"));
                lines.extend(["A", "B"].into_iter().zip(&queues).map(saw));
            }
        }
        lines.join("\n")
    }

    /// What a side saw at its decision.
    fn queue(&self, first: &FirstDifference, choice: &Choice) -> String {
        let waited = |who: String, span: u64| format!("{who} (waited {})", figure::time(Some(span)));
        let (now, none, waiting): (String, &str, Vec<String>) = match first.disk {
            Some(_) => {
                let waits = |it: &QueuedRequest| waited(request(it), it.waited_ns);
                let now = match choice.in_flight.unwrap_or_default() {
                    1 => "1 request at the disk".into(),
                    count => format!("{count} requests at the disk"),
                };
                (now, "no request waiting", choice.requests.iter().map(waits).collect())
            }
            None => {
                let waits = |it: &Queued| waited(task(&it.task), it.waited_ns);
                let now = choice.running.as_ref().map_or("idle".into(), |it| format!("{} running", task(it)));
                (now, "nobody waiting", choice.queue.iter().map(waits).collect())
            }
        };
        let shown = if self.verbose { waiting.len() } else { QUEUE_SHOWN.min(waiting.len()) };
        let mut parts = waiting[..shown].to_vec();
        if parts.is_empty() {
            parts.push(none.into());
        }
        if shown < waiting.len() {
            parts.push(format!("{} more", waiting.len() - shown));
        }
        format!("{now}; {}", parts.join(", "))
    }

    fn metrics(&self) -> String {
        let all = &self.diff.metrics;
        if all.is_empty() {
            return "\nNo metric was measured on both sides.".into();
        }
        let mut shown: Vec<&Difference> = all.iter().filter(|it| self.verbose || it.finding.is_different()).collect();
        if !self.verbose {
            shown.sort_by(|x, y| is_neutral(x).cmp(&is_neutral(y)).then(size(y).total_cmp(&size(x))));
            shown.truncate(METRICS_SHOWN);
        }
        let count = |finding| all.iter().filter(|it| it.finding == finding).count();
        let counts = format!(
            "Metrics: {} differ, {} equal or within 1 %, {} undecided{}",
            count(Finding::More) + count(Finding::Less),
            count(Finding::Equal) + count(Finding::Same),
            count(Finding::Undecided),
            if self.verbose { "" } else { " (-v lists all)" }
        );
        if shown.is_empty() {
            return format!("\n{}", self.wrap(&counts));
        }
        let mut table = table::new(self.width);
        table.set_header(["metric", "A", "B", "B against A, 95 %", ""]);
        shown.iter().for_each(|it| {
            table.add_row(std::iter::once(it.name.clone()).chain(cells(it, self.diff.kind)));
        });
        table::align_right(&mut table, [1, 2, 3]);
        table::keep_words(&mut table, &[1, 2, 4], self.width / 2);
        format!("\n{}\n{}", trimmed(&table), self.wrap(&counts))
    }

    fn tasks(&self) -> String {
        let rows = self.diff.tasks.iter().flat_map(|of| of.metrics.iter().map(move |it| (of, it)));
        let is_judged = self.diff.kind == Kind::Arms;
        let is_shown = |it: &Difference| self.verbose || !is_judged || it.finding.is_different();
        let mut rows: Vec<(&TaskDifference, &Difference)> = rows.filter(|(_, it)| is_shown(it)).collect();
        if rows.is_empty() || (!is_judged && !self.verbose) {
            return String::new();
        }
        let count = rows.len();
        if !self.verbose {
            rows.sort_by(|x, y| size(y.1).total_cmp(&size(x.1)));
            rows.truncate(TASKS_SHOWN);
        }
        let mut table = table::new(self.width);
        table.set_header(["task", "metric", "A", "B", "B against A, 95 %", ""]);
        for (of, it) in &rows {
            table.add_row([task(&of.task), it.name.clone()].into_iter().chain(cells(it, self.diff.kind)));
        }
        table::align_right(&mut table, [2, 3, 4]);
        table::keep_words(&mut table, &[2, 3, 5], self.width / 3);
        let more = count - rows.len();
        let more = if more > 0 { format!("\n{more} more differences of tasks (-v)") } else { String::new() };
        format!("{}{more}", trimmed(&table))
    }

    fn notes(&self) -> String {
        self.diff.remarks().iter().map(|note| self.wrap(&printable(note))).collect::<Vec<_>>().join("\n")
    }

    fn wrap(&self, text: &str) -> String {
        wrapped("", text, self.width, "  ")
    }

    /// A line that begins with spaces.
    fn indented(&self, text: &str) -> String {
        let rest = text.trim_start();
        let head = &text[..text.len() - rest.len()];
        wrapped(head, rest, self.width, "      ")
    }
}

fn named(label: &str, input: &str) -> String {
    if label == input { label.to_string() } else { format!("{label} ({input})") }
}

fn place(first: &FirstDifference) -> String {
    let place = match (first.cpu, first.disk) {
        (_, Some(disk)) => format!(", disk {disk}"),
        (Some(cpu), _) => format!(", CPU {cpu}"),
        (None, None) => String::new(),
    };
    let (number, at) = (first.replication + 1, figure::time(Some(first.at_ns)));
    format!("{at} into run {number} (seed {}){place}", first.seed)
}

/// True for metrics that describe a run and are neither good nor bad.
fn is_neutral(it: &Difference) -> bool {
    it.better == Better::Neither
}

/// Size of a change, in order of which differences are shown.
fn size(it: &Difference) -> f64 {
    it.ratio.filter(|ratio| *ratio > 0.0).map_or(f64::MAX, |ratio| ratio.ln().abs())
}

fn cells(it: &Difference, kind: Kind) -> [String; 4] {
    [figure::show(it.a, &it.unit), figure::show(it.b, &it.unit), change(it, kind), judged(it).into()]
}
