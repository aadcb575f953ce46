//! What latencies were spent on, as drawings: a bar of shares, and a chain on a time axis.

use super::causes::{self, Look};
use super::words::{self, Joined};
use super::{Latency, Link, Tail, Who};
use crate::chart::{ceiling, escape};
use crate::figure;
use crate::legend::{LETTER, legend};
use std::fmt::Write;

/// Width of a drawing, height of a row, and room before the axis of a chain, in px.
const WIDTH: f64 = 1000.0;
const ROW: f64 = 26.0;
const MARGIN: f64 = 150.0;
/// Links narrower than this, in px, are drawn together.
const NARROW: f64 = 0.5;
/// Tasks that have a row of their own; the last row is that of all others.
const ROWS: usize = 8;
/// Most parts of a sum that are drawn; the rest is one.
const PARTS: usize = 24;

/// The sum of the longest latencies as a bar.
pub(super) fn shares(tail: &Tail) -> String {
    let whole = tail.total_ns.max(1) as f64;
    let mut svg = String::new();
    let mut x = 0.0;
    let mut draw = |said: &str, label: &str, share: f64, look: Look| {
        let width = share * WIDTH;
        let title = format!("{}: {said}", figure::percent(Some(share)));
        let labels = [format!("{} {label}", figure::percent(Some(share))), figure::percent(Some(share))];
        svg.push_str(&segment((x, 0.0, width, 40.0), look, &title, &labels));
        x += width;
    };
    for it in tail.parts.iter().take(PARTS) {
        let label = short(&it.cause, it.culprit.as_deref());
        draw(&words::part(it), &label, it.total_ns as f64 / whole, causes::of(&it.cause));
    }
    let rest: u64 = tail.parts.iter().skip(PARTS).map(|it| it.total_ns).sum();
    if rest > 0 {
        draw("other causes", "others", rest as f64 / whole, causes::of(""));
    }
    let (legend, height) = meanings(&tail.parts.iter().map(|it| it.cause.as_str()).collect::<Vec<_>>(), 52.0);
    drawing("whole", height, "What the slowest were spent on", &(svg + &legend))
}

/// The key to the drawings, for the begin of a table's row.
pub(super) fn swatch(cause: &str) -> String {
    let inside = box_of((0.5, 0.5, 15.0, 12.0), causes::of(cause));
    format!("<svg class=\"key\" viewBox=\"0 0 16 13\" aria-hidden=\"true\">{inside}</svg>")
}

/// One latency on a time axis: a row for each task on which it depended.
pub(super) fn chain(latency: &Latency, name: &str) -> String {
    let rows = rows(&latency.chain);
    let axis = Axis { from: latency.at_ns, length: latency.length_ns.max(1) };
    let bottom = ROW * rows.len() as f64 + 4.0;
    let mut svg = axis.grid(bottom);
    for (row, who) in rows.iter().enumerate() {
        let label = who.as_ref().map_or("other tasks".into(), |it| figure::cut(&words::who(it), 21));
        let y = ROW * row as f64 + 17.0;
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{y}\" class=\"end\">{}</text>", MARGIN - 8.0, escape(&label));
    }
    let row_of = |link: &Link| rows.iter().position(|it| it.as_ref() == Some(&link.task)).unwrap_or(rows.len() - 1);
    let mut before = None;
    for run in runs(&latency.chain, axis) {
        let largest = run.iter().max_by_key(|it| it.length_ns).unwrap_or(&run[0]);
        let row = row_of(largest);
        let (left, y) = (axis.x(run[0].from_ns), ROW * row as f64 + 2.0);
        if let Some(above) = before.filter(|it| *it != row) {
            let ends = [above, row].map(|it| ROW * it as f64 + ROW / 2.0);
            let _ = writeln!(svg, "<path d=\"M{left:.1} {:.1}V{:.1}\" class=\"hop\"/>", ends[0], ends[1]);
        }
        before = Some(row);
        let length: u64 = run.iter().map(|it| it.length_ns).sum();
        let width = (axis.x(run[0].from_ns + length) - left).max(NARROW);
        svg.push_str(&segment(
            (left, y, width, ROW - 4.0),
            causes::of(&largest.cause),
            &title(run, axis),
            &labels(run),
        ));
    }
    let causes: Vec<&str> = latency.chain.iter().map(|it| it.cause.as_str()).collect();
    let (legend, height) = meanings(&causes, bottom + 28.0);
    drawing("chain", height, name, &(svg + &legend))
}

/// A time axis from the begin to the end of a latency.
#[derive(Clone, Copy)]
struct Axis {
    from: u64,
    length: u64,
}

impl Axis {
    fn x(self, at: u64) -> f64 {
        MARGIN + (WIDTH - MARGIN - 2.0) * at.saturating_sub(self.from) as f64 / self.length as f64
    }

    /// Lines at round times after the begin, with the times below.
    fn grid(self, bottom: f64) -> String {
        let step = (ceiling(self.length as f64 / 7.0) as u64).max(1);
        let mut svg = String::new();
        for at in (0..=self.length / step).map(|it| it * step) {
            let x = self.x(self.from + at);
            let class = if x > WIDTH - 30.0 { "end" } else { "middle" };
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} 0V{bottom}\" class=\"grid\"/><text x=\"{x:.1}\" y=\"{}\" \
                 class=\"{class}\">{}</text>",
                bottom + 14.0,
                figure::time(Some(at))
            );
        }
        svg
    }
}

/// The tasks of a chain in order of appearance; `None` stands for those that have less of it.
fn rows(chain: &[Link]) -> Vec<Option<Who>> {
    let mut tasks: Vec<(&Who, u64)> = Vec::new();
    for link in chain {
        match tasks.iter_mut().find(|(who, _)| *who == &link.task) {
            Some((_, total)) => *total += link.length_ns,
            None => tasks.push((&link.task, link.length_ns)),
        }
    }
    let mut totals: Vec<u64> = tasks.iter().map(|(_, total)| *total).collect();
    totals.sort_unstable_by(|a, b| b.cmp(a));
    let least = totals.get(ROWS - 1).copied().filter(|_| tasks.len() > ROWS);
    let is_shown = |total: u64| least.is_none_or(|least| total > least);
    let shown = tasks.iter().filter(|(_, total)| is_shown(*total)).take(ROWS);
    let others = tasks.iter().any(|(_, total)| !is_shown(*total)).then_some(None);
    shown.map(|(who, _)| Some((*who).clone())).chain(others).collect()
}

/// The links of a chain, each alone or, where they are narrow, with the narrow ones beside it.
fn runs(chain: &[Link], axis: Axis) -> Vec<&[Link]> {
    let narrow = axis.length as f64 * NARROW / (WIDTH - MARGIN);
    let is_narrow = |it: &Link| (it.length_ns as f64) < narrow;
    chain.chunk_by(|a, b| is_narrow(a) && is_narrow(b)).collect()
}

fn title(run: &[Link], axis: Axis) -> String {
    let at = figure::time(Some(run[0].from_ns.saturating_sub(axis.from)));
    let length = figure::time(Some(run.iter().map(|it| it.length_ns).sum()));
    let more = if run.len() > 1 { format!(" and {} short links more", run.len() - 1) } else { String::new() };
    format!("{length} from {at} on: {}{more}", words::link(&Joined::of(&run[0])))
}

/// What is written on a link, if there is room.
fn labels(run: &[Link]) -> [String; 2] {
    let [link] = run else { return Default::default() };
    let culprit = link.culprit.as_ref().map(|it| it.name.as_str());
    [short(&link.cause, culprit), culprit.map(figure::name).unwrap_or_default()]
}

/// A cause in a few words.
fn short(cause: &str, culprit: Option<&str>) -> String {
    let who = culprit.map(figure::name).unwrap_or_default();
    match cause {
        "computing" if who.is_empty() => "computes".into(),
        "computing" => format!("computing: {who}"),
        "behind" | "behind_own" | "idle_cpu_allowed" | "idle_cpu_forbidden" => format!("behind {who}"),
        "throttled" => format!("throttled: {who}"),
        "io_limit" => format!("I/O limit: {who}"),
        "cpu_starts" => "CPU starts".into(),
        "scheduler" => "scheduler".into(),
        "asleep" => "asleep".into(),
        "device" => "device".into(),
        "dirty_memory" => "dirty memory".into(),
        "disk_queue" => format!("disk: {who}"),
        _ => "not told".into(),
    }
}

/// A part of a bar with the first of `labels` that it has room for.
fn segment((x, y, width, height): (f64, f64, f64, f64), look: Look, title: &str, labels: &[String]) -> String {
    let fits = |label: &&String| LETTER * label.chars().count() as f64 + 8.0 <= width;
    let class = if look.is_light() { "middle dark" } else { "middle in" };
    let text = labels.iter().find(fits).map_or_else(String::new, |label| {
        let (x, y) = (x + width / 2.0, y + height / 2.0 + 4.0);
        format!("<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>", escape(label))
    });
    format!("<g><title>{}</title>{}{text}</g>\n", escape(title), box_of((x, y, width, height), look))
}

fn box_of((x, y, width, height): (f64, f64, f64, f64), look: Look) -> String {
    let band = if look.is_light() { "#000" } else { "#fff" };
    let band = match look.has_band {
        true => format!(
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"2.5\" fill=\"{band}\"/>",
            y + height - 5.0
        ),
        false => String::new(),
    };
    format!(
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{}\" \
         class=\"edge\"/>{band}",
        look.fill()
    )
}

/// The causes with their looks, from `top` on, and the height of the drawing with them.
fn meanings(causes: &[&str], top: f64) -> (String, f64) {
    let looks = causes::used(causes);
    let names: Vec<String> = looks.iter().map(|it| it.meaning.into()).collect();
    let (svg, height) = legend(&names, |index, x, y| box_of((x, y, 16.0, 13.0), looks[index]), (WIDTH, top));
    (format!("<g class=\"meanings\">{svg}</g>\n"), height)
}

fn drawing(class: &str, height: f64, name: &str, inside: &str) -> String {
    format!(
        "<svg class=\"{class}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n{inside}</svg>\n",
        escape(name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(task: u64, from_ns: u64, length_ns: u64) -> Link {
        Link {
            from_ns,
            length_ns,
            task: Who { name: "<b>".into(), id: task },
            cpu: 0,
            cause: "computing".into(),
            culprit: None,
            rule: None,
            placed: None,
            lock: None,
            served_first: None,
            served_most: None,
        }
    }

    fn latency(chain: Vec<Link>) -> Latency {
        let length_ns = chain.iter().map(|it| it.length_ns).sum();
        let task = Who { name: "a".into(), id: 1 };
        Latency { at_ns: 0, length_ns, task, began: "asked".into(), woken_by: None, is_open: false, chain }
    }

    #[test]
    fn ten_thousand_short_links_are_drawn_together_and_every_task_has_a_row() {
        let short = (0..10_000).map(|at| link(1 + at % 20, at, 1));
        let long = [link(1, 10_000, 1_000_000), link(2, 1_010_000, 500)];
        let svg = chain(&latency(short.chain(long).collect()), "one");
        assert!(svg.len() < 20_000 && svg.contains("and 9999 short links more"), "{svg}");
        assert!(svg.contains(">other tasks<") && svg.matches("class=\"end\"").count() <= ROWS + 2, "{svg}");
        assert!(!svg.contains("<b>") && !svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn a_latency_of_nothing_is_drawn() {
        let svg = chain(&latency(vec![link(1, 0, 0)]), "none");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(!shares(&Tail::default()).contains("NaN"));
    }
}
