//! The results of a race as a self-contained HTML page.

use crate::engine::{ArmOutcome, Measured, Outcome, Versus};
use crate::sweep::swept_name;
use goodness_observe::title;
use goodness_report::change::{change, change_interval};
use goodness_report::chart::{Chart, Line, Point};
use goodness_report::figure;
use goodness_report::shell::{self, Cell, Mood, Shell};
use goodness_stats::compare::Verdict;
use std::fmt::Write as _;

/// The page; `command` runs the race again.
#[must_use]
pub fn render(found: &Outcome, command: &str) -> String {
    let mood = if found.is_inconclusive() { Mood::Open } else { Mood::Sure };
    let lead = format!(
        "{} blocks of {} arms, seed {}. Linux {}; {}.",
        found.blocks,
        found.arms.len(),
        found.seed,
        found.kernel,
        found.cgroups
    );
    let mut page = Shell::new("race", &found.race, command).headline(&found.conclusion(), mood).lead(&lead);
    let first = found.arms.first().map_or(&[][..], |arm| &arm.measures);
    for measured in first.iter().filter(|it| it.decides) {
        page.section(&title(&measured.name), &table(found, measured));
    }
    sweeps(found, first, &mut page);
    let others: Vec<&Measured> = first.iter().filter(|it| !it.decides).collect();
    if !others.is_empty() {
        let tables: Vec<String> = others.iter().map(|it| table(found, it)).collect();
        page.folded(&format!("{} measures beside these, not judged", others.len()), &tables.join("\n"));
    }
    let notes = [
        format!(
            "Intervals are corrected for {} looks and all comparisons, 95 % for the race as a whole; differences below \
             {} do not count.",
            found.looks.len(),
            figure::percent(Some(found.margin))
        ),
        format!(
            "{} runs were repeated because of outside load, {} count in spite of it.",
            found.repeated, found.disturbed
        ),
    ];
    page.folded("How it was judged", &shell::list(&notes));
    page.finish()
}

/// A chart for each measure taken at several numbers of connections, threads or contexts. Bars show the range over all
/// blocks.
fn sweeps(found: &Outcome, first: &[Measured], page: &mut Shell) {
    let mut bases: Vec<&str> =
        first.iter().filter_map(|measured| swept_name(&measured.name)).map(|(base, _)| base).collect();
    bases.sort_unstable();
    bases.dedup();
    for base in bases {
        let of_base = |measured: &&Measured| swept_name(&measured.name).is_some_and(|(known, _)| known == base);
        let Some(one) = first.iter().find(of_base) else { continue };
        let (unit, size) = if one.unit == "ns" { ("ms", 1e6) } else { (one.shown_unit(), 1.0) };
        let lines = found.arms.iter().map(|arm| Line {
            name: figure::printable(&arm.name),
            published: false,
            points: points(arm.measures.iter().filter(of_base), size),
        });
        let chart = Chart {
            title: title(base),
            x: "connections, threads or contexts".into(),
            y: unit.into(),
            doubling: true,
            lines: lines.collect(),
        };
        if chart.lines.iter().any(|line| line.points.len() > 2) {
            page.section(&title(base), &shell::chart(&chart));
        }
    }
}

fn points<'a>(measures: impl Iterator<Item = &'a Measured>, size: f64) -> Vec<Point> {
    let point = |measured: &Measured| {
        let values = || measured.values.iter().flatten().copied();
        let reach = [values().fold(f64::INFINITY, f64::min) / size, values().fold(0.0, f64::max) / size];
        let x = swept_name(&measured.name)?.1.parse().ok()?;
        Some(Point { x, y: measured.mean? / size, ci95: Some(reach) })
    };
    let mut points: Vec<Point> = measures.filter_map(point).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

fn table(found: &Outcome, of: &Measured) -> String {
    let all = found.arms.iter().filter_map(|arm| Some((arm, arm.measures.iter().find(|it| it.name == of.name)?)));
    let values = || all.clone().flat_map(|(_, measured)| measured.values.iter().flatten().copied());
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let row = |(arm, measured): (&ArmOutcome, &Measured)| {
        let versus = measured.vs_reference.as_ref();
        let verdict = versus.and_then(|versus| versus.verdict);
        let of_versus = |shown: fn(&Versus) -> Option<String>| versus.and_then(shown).unwrap_or_default();
        vec![
            Cell::text(&figure::printable(&arm.name)),
            match versus {
                None => Cell::of_class("reference", "verdict"),
                Some(_) => Cell::of_class(verdict.map_or("", Verdict::name), class(verdict)),
            },
            Cell::number(&figure::show(measured.mean, measured.shown_unit())),
            Cell::number(&of_versus(|it| it.ratio.map(change))),
            Cell::number(&of_versus(|it| it.interval.map(|ends| change_interval(ends, "blocks")))),
            Cell::html(dots(&measured.values, low, high), "plot"),
            Cell::number(&of_versus(|it| it.effect.map(|effect| format!("{effect:+.1}")))),
            Cell::of_class(&figure::printable(&arm.sets), "quiet"),
        ]
    };
    let rows: Vec<Vec<Cell>> = all.clone().map(row).collect();
    let blocks = format!("blocks{}", span(of, low, high));
    let heads = ["arm", "verdict", "mean", "change", "interval", &blocks, "effect", "sets"];
    let judged = if of.decides { "" } else { " (not judged)" };
    shell::table(&format!("{}{judged}", figure::titled(&of.name)), &heads, &rows)
}

const fn class(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Better) => "verdict better",
        Some(Verdict::Worse) => "verdict worse",
        Some(Verdict::Inconclusive) => "verdict unsure",
        _ => "verdict",
    }
}

/// Text for the ends of a drawing's axis; empty if nothing was measured.
fn span(of: &Measured, low: f64, high: f64) -> String {
    let [low, high] = [low, high].map(|end| end.is_finite().then(|| figure::show(Some(end), of.shown_unit())));
    low.zip(high).map_or_else(String::new, |(low, high)| format!(", {low} to {high}"))
}

/// Plots every block's value as a dot between the minimum and maximum of all arms.
fn dots(values: &[Option<f64>], low: f64, high: f64) -> String {
    let mut drawing = String::from("<svg class=\"runs\" viewBox=\"0 0 200 16\" role=\"img\" aria-label=\"values\">");
    let width = (high - low).max(f64::MIN_POSITIVE);
    for value in values.iter().flatten() {
        let x = 4.0 + 192.0 * (value - low) / width;
        let _ = write!(drawing, "<circle cx=\"{x:.1}\" cy=\"8\" r=\"3\" fill=\"currentColor\" fill-opacity=\".4\"/>");
    }
    drawing + "</svg>"
}
