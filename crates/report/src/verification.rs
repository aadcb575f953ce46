//! The fidelity of a replay to its recording, as text for a terminal and as a page.

use crate::model::{Counted, Details, Fidelity, FidelityMetric};
use crate::shell::{self, Cell, Mood, Shell};
use crate::text::Extent;
use crate::{figure, table, trust};
use goodness_observe::title;
use serde::Serialize;
use std::fmt::Write;

/// Indent of the text of a counted repair.
const INDENT: &str = "            ";
/// Most warnings beside the metrics with a bound.
const CAVEATS: usize = 3;

/// The fidelity of replays: schema `goodness.verify/1`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// Always `goodness.verify/1`.
    schema: &'static str,
    /// Each replay beside its recording.
    fidelity: Vec<OfTrace<'a>>,
}

/// The fidelity of one replay with the name of its recording.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OfTrace<'a> {
    #[serde(flatten)]
    fidelity: &'a Fidelity,
    /// The recording as typed.
    trace: &'a str,
}

impl Document<'_> {
    /// The fidelity of replays, each with the name of its recording.
    #[must_use]
    pub fn of(results: &[(String, Fidelity)]) -> Document<'_> {
        let fidelity = results.iter().map(|(trace, fidelity)| OfTrace { fidelity, trace });
        Document { schema: "goodness.verify/1", fidelity: fidelity.collect() }
    }
}

/// The verdict on a replay in a sentence: how many bounds it keeps, and the metric that is farthest off.
#[must_use]
pub fn sentence(trace: &str, fidelity: &Fidelity) -> String {
    let bounded = || fidelity.metrics.iter().filter(|it| it.tolerance.is_some());
    let missed: Vec<String> = bounded().filter(|it| it.misses_promise()).map(off).collect();
    let (all, open) = (bounded().count(), bounded().filter(|it| it.is_open()).count());
    let open = if open == 0 { String::new() } else { format!("; {open} not measured") };
    let share = |it: &&FidelityMetric| it.error.zip(it.tolerance).map_or(0.0, |(error, bound)| error / bound);
    let farthest = bounded().filter(|it| it.error.is_some()).max_by(|a, b| share(a).total_cmp(&share(b)));
    match (missed.as_slice(), farthest) {
        ([], None) => format!("{trace}: nothing with a bound was measured{open}."),
        ([], Some(farthest)) => {
            let held = bounded().filter(|it| it.keeps_promise() == Some(true)).count();
            format!("{trace}: the replay keeps {held} of {all} bounds{open}; closest to its bound: {}.", off(farthest))
        }
        (missed, _) => {
            let more = if missed.len() > 2 { format!(" and {} more", missed.len() - 2) } else { String::new() };
            let shown = missed[..missed.len().min(2)].join(", ");
            format!("{trace}: the replay misses {} of {all} bounds{open}: {shown}{more}.", missed.len())
        }
    }
}

/// `p99 request latency 6.5 % off (10 % allowed)`.
fn off(metric: &FidelityMetric) -> String {
    let [error, bound] = [metric.error, metric.tolerance].map(figure::percent);
    format!("{} {error} off ({bound} allowed)", title(&metric.name))
}

/// The fidelity of one replay: the verdict, then the metrics with a bound, then on request everything.
#[must_use]
pub fn text(trace: &str, fidelity: &Fidelity, details: &Details, extent: Extent, width: u16) -> String {
    let mut out = table::wrapped("", &sentence(trace, fidelity), width, "  ") + "\n";
    if extent == Extent::Ranking {
        return out;
    }
    let _ = writeln!(out, "\nRecorded, and replayed under {}", fidelity.policy);
    let mut rows = table::new(width);
    rows.set_header(["metric", "recorded", "replayed", "error", "bound", ""]);
    for metric in fidelity.metrics.iter().filter(|it| extent == Extent::All || it.tolerance.is_some()) {
        rows.add_row(cells(metric));
    }
    table::align_right(&mut rows, 1..5);
    let _ = writeln!(out, "{rows}");
    match extent {
        Extent::All => everything(fidelity, details, width, &mut out),
        _ => caveats(fidelity, details, width, &mut out),
    }
    out + &table::wrapped("", &trust::in_comparisons(fidelity), width, "") + "\n"
}

fn cells(metric: &FidelityMetric) -> [String; 6] {
    let mark = match (metric.tolerance, metric.keeps_promise()) {
        (None, _) => "",
        (_, None) => "not measured",
        (_, Some(true)) => "holds",
        (_, Some(false)) => "misses",
    };
    [
        title(&metric.name),
        figure::show(metric.recorded, &metric.unit),
        figure::show(metric.replayed, &metric.unit),
        figure::percent(metric.error),
        figure::percent(metric.tolerance),
        mark.into(),
    ]
}

/// The first warnings, and how many notes there are.
fn caveats(fidelity: &Fidelity, details: &Details, width: u16, out: &mut String) {
    let lacks = fidelity.lacks.iter().map(|it| format!("untrusted: {it}"));
    for caveat in lacks.chain(details.warnings.iter().cloned()).take(CAVEATS) {
        let _ = writeln!(out, "{}", table::wrapped("- ", &caveat, width, "  "));
    }
    let _ = writeln!(out, "Values that pass, repairs and gaps of the recording: -v");
}

fn everything(fidelity: &Fidelity, details: &Details, width: u16, out: &mut String) {
    for warning in fidelity.lacks.iter().chain(&details.warnings) {
        let _ = writeln!(out, "{}", table::wrapped("  note: ", warning, width, "    "));
    }
    let ranges: Vec<String> = fidelity.metrics.iter().filter_map(range).collect();
    if !ranges.is_empty() {
        let _ = writeln!(out, "{}", table::wrapped("  a replay fails outside ", &ranges.join("; "), width, "    "));
    }
    for counted in counted(details) {
        let _ = writeln!(out, "{}", table::wrapped(&format!("  {:>8}  ", counted.count), &counted.what, width, INDENT));
    }
}

/// What was repaired, and what is not known.
fn counted(details: &Details) -> impl Iterator<Item = &Counted> {
    details.repairs.iter().chain(&details.unknowns).filter(|it| it.count > 0)
}

/// The fidelity of replays as a self-contained page; `command` makes it again.
#[must_use]
pub fn page(results: &[(String, Fidelity)], details: &[Details], command: &str) -> String {
    let is_missed = |(_, found): &&(String, Fidelity)| found.metrics.iter().any(FidelityMetric::misses_promise);
    let missed: Vec<&(String, Fidelity)> = results.iter().filter(is_missed).collect();
    let (headline, mood) = match (results, missed.as_slice()) {
        ([(trace, only)], _) => (sentence(trace, only), if missed.is_empty() { Mood::Sure } else { Mood::Untrusted }),
        (all, []) => (format!("All {} replays keep the bounds that were measured.", all.len()), Mood::Sure),
        (all, missed) => (format!("{} of {} replays miss a bound.", missed.len(), all.len()), Mood::Untrusted),
    };
    let title = if let [(trace, _)] = results { trace.as_str() } else { "Fidelity of replays" };
    let mut page = Shell::new("fidelity of a replay", title, command)
        .headline(&headline, mood)
        .lead("Each recording was replayed under the policy that made it, and both were measured by the same code.");
    for ((trace, fidelity), details) in results.iter().zip(details) {
        page.section(trace, &section(trace, fidelity, details));
    }
    page.finish()
}

fn section(trace: &str, fidelity: &Fidelity, details: &Details) -> String {
    let row = |metric: &FidelityMetric| {
        let [name, recorded, replayed, error, bound, mark] = cells(metric);
        let class = if metric.misses_promise() { "worse" } else { "" };
        let [recorded, replayed, error, bound] = [recorded, replayed, error, bound].map(|it| Cell::number(&it));
        vec![Cell::text(&name), recorded, replayed, error, bound, Cell::of_class(&mark, class)]
    };
    let rows: Vec<Vec<Cell>> = fidelity.metrics.iter().map(row).collect();
    let heads = ["metric", "recorded", "replayed", "error", "bound", "verdict"];
    let caption = format!("Recorded, and replayed under {}", fidelity.policy);
    let trusted = shell::paragraph(&trust::in_comparisons(fidelity));
    let mut html = shell::paragraph(&sentence(trace, fidelity)) + &shell::table(&caption, &heads, &rows) + &trusted;
    let notes: Vec<String> = fidelity.lacks.iter().chain(&details.warnings).cloned().collect();
    let counted = counted(details).map(|it| format!("{} {}", it.count, it.what));
    let ranges = fidelity.metrics.iter().filter_map(range).map(|it| format!("A replay fails outside {it}."));
    let all: Vec<String> = notes.into_iter().chain(counted).chain(ranges).collect();
    if !all.is_empty() {
        html.push_str(&shell::fold(&format!("{} notes, repairs and gaps", all.len()), &shell::list(&all), false));
    }
    html
}

/// The values that a bound lets pass, with the metric: `requests 98…102`.
fn range(metric: &FidelityMetric) -> Option<String> {
    let (recorded, bound) = metric.recorded.zip(metric.tolerance)?;
    let ends = [recorded * (1.0 - bound), recorded * (1.0 + bound)];
    Some(format!("{} {}", title(&metric.name), figure::interval(Some(ends), &metric.unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repairs_and_notes_keep_to_the_width_with_every_word() {
        let what = "wake-ups in soft interrupts that a task caused, replayed as edges from the task to the one it woke";
        let details = Details {
            repairs: vec![Counted { count: 13_716, what: what.into() }],
            warnings: vec![
                "the recording names CPUs that have no lines of their own, so they are taken as idle".into(),
            ],
            ..Details::default()
        };
        let text = text("a.ftrace", &Fidelity::default(), &details, Extent::All, 80);
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest.is_some_and(|columns| (60..=80).contains(&columns)), "{text}");
        let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        assert!(words(&text).windows(words(what).len()).any(|some| some == words(what)), "{text}");
        assert!(text.contains("\n     13716  wake-ups") && text.contains("\n            "), "{text}");
        let wide = super::text("a.ftrace", &Fidelity::default(), &details, Extent::All, 200);
        assert!(wide.contains(what), "{wide}");
    }

    #[test]
    fn the_values_that_a_bound_lets_pass_are_said() {
        let metric = |name: &str, tolerance| FidelityMetric {
            name: name.into(),
            recorded: Some(1e6),
            replayed: Some(1.3e6),
            error: Some(0.3),
            unit: "ns".into(),
            tolerance,
        };
        let metrics = vec![metric("wakeup_latency_p99", Some(0.25)), metric("wakeup_latency_mean", None)];
        let fidelity = Fidelity { metrics, ..Fidelity::default() };
        let all = text("a.ftrace", &fidelity, &Details::default(), Extent::All, 80);
        assert!(all.contains("fails outside p99 wake-up latency 750 µs … 1.25 ms\n"), "{all}");
        let said = "a.ftrace: the replay misses 1 of 1 bounds: p99 wake-up latency 30 % off (25 % allowed).";
        assert!(all.replace("\n  ", " ").starts_with(said), "{all}");
        let answer = text("a.ftrace", &fidelity, &Details::default(), Extent::Answer, 80);
        assert!(answer.contains(" misses ") && !answer.contains("mean wake-up latency"), "{answer}");
        let page = page(&[("a<b>.ftrace".into(), fidelity)], &[Details::default()], "goodness verify");
        assert!(
            page.contains("conclusion untrusted") && page.contains("mean wake-up latency") && !page.contains("<b>")
        );
    }
}
