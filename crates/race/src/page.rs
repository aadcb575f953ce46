//! The results of a race as a self-contained HTML page.

use crate::engine::{Measured, Outcome};
use crate::sweep::swept_name;
use goodness_report::chart::{self, Chart, Line, Point};
use goodness_report::figure;
use goodness_stats::compare::Verdict;
use std::fmt::Write as _;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
background:var(--paper);color:var(--ink)}\
table{border-collapse:collapse;margin:1rem 0}\
td,th{padding:.2rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--rule)}\
.text{text-align:left;white-space:normal}.wide{overflow-x:auto}.better{color:var(--good)}.worse{color:var(--bad)}.runs{width:12rem;display:block}\
summary{cursor:pointer;margin:1rem 0}";

/// The page.
#[must_use]
pub fn render(found: &Outcome) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\"><title>{0} – goodness race</title><style>{1}{STYLE}</style><h1>{0}</h1>\n",
        escape(&found.race),
        chart::STYLE
    );
    let _ = writeln!(
        page,
        "<p>{} blocks of {} arms, seed {}. Linux {}; {}.</p>",
        found.blocks,
        found.arms.len(),
        found.seed,
        escape(&found.kernel),
        escape(&found.cgroups)
    );
    let first = found.arms.first().map_or(&[][..], |arm| &arm.measures);
    first.iter().filter(|it| it.decides).for_each(|measured| table(found, measured, &mut page));
    let others = first.iter().filter(|it| !it.decides).count();
    if others > 0 {
        let _ = writeln!(page, "<details><summary>{others} measures beside these, not judged</summary>");
        first.iter().filter(|it| !it.decides).for_each(|measured| table(found, measured, &mut page));
        page.push_str("</details>\n");
    }
    sweeps(found, first, &mut page);
    let _ = writeln!(
        page,
        "<p>Intervals are corrected for {} looks and all comparisons, 95 % for the race as a whole; \
         differences below {} do not count. {} runs were repeated because of outside load, {} count in spite of \
         it.</p></html>",
        found.looks.len(),
        figure::percent(Some(found.margin)),
        found.repeated,
        found.disturbed
    );
    page
}

/// A chart for each measure taken at several numbers of connections, threads or contexts. Bars show the range over all
/// blocks.
fn sweeps(found: &Outcome, first: &[Measured], page: &mut String) {
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
            title: base.into(),
            x: "connections, threads or contexts".into(),
            y: unit.into(),
            doubling: true,
            lines: lines.collect(),
        };
        if chart.lines.iter().any(|line| line.points.len() > 2) {
            let _ = writeln!(page, "<figure>{}</figure>", chart.svg());
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

fn table(found: &Outcome, of: &Measured, page: &mut String) {
    let all = found.arms.iter().filter_map(|arm| Some((arm, arm.measures.iter().find(|it| it.name == of.name)?)));
    let values = || all.clone().flat_map(|(_, measured)| measured.values.iter().flatten().copied());
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let judged = if of.decides { "" } else { " (not judged)" };
    let _ = writeln!(
        page,
        "<h2>{}{judged}</h2><div class=\"wide\"><table><tr><th class=\"text\">arm<th \
         class=\"text\">sets<th>mean<th>against<th>interval<th>effect<th class=\"text\">verdict<th \
         class=\"text\">blocks{}</tr>",
        escape(&of.name),
        span(of, low, high)
    );
    for (arm, measured) in all.clone() {
        let versus = measured.vs_reference.as_ref();
        let verdict = versus.and_then(|versus| versus.verdict).map_or("", Verdict::name);
        let _ = writeln!(
            page,
            "<tr><td class=\"text\">{}<td class=\"text\">{}<td>{}<td>{}<td>{}<td>{}\
             <td class=\"text {verdict}\">{verdict}<td>{}</tr>",
            escape(&arm.name),
            escape(&arm.sets),
            figure::show(measured.mean, measured.shown_unit()),
            versus.map_or_else(|| "reference".into(), |versus| figure::ratio(versus.ratio)),
            versus.and_then(|versus| versus.interval).map_or_else(String::new, figure::ratio_interval),
            versus.and_then(|versus| versus.effect).map_or_else(String::new, |effect| format!("{effect:+.1}")),
            dots(&measured.values, low, high)
        );
    }
    page.push_str("</table></div>\n");
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

fn escape(text: &str) -> String {
    let text = figure::printable(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
