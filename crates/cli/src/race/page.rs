//! What a race found, as one page that loads nothing.

use super::show::unit;
use goodness_race::engine::{Measured, Outcome};
use goodness_report::figure;
use goodness_report::stats::compare::Verdict;
use std::fmt::Write as _;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid #ddd}\
.text{text-align:left;white-space:normal}.wide{overflow-x:auto}.better{color:#075}.worse{color:#a20}.runs{width:12rem;display:block}\
@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}.better{color:#5c8}.worse{color:#f86}}";

/// The page.
pub fn render(found: &Outcome) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>{0} – goodness race</title><style>{STYLE}</style><h1>{0}</h1>\n",
        escape(&found.race)
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
    for measured in first.iter().filter(|it| it.decides).chain(first.iter().filter(|it| !it.decides)) {
        table(found, measured, &mut page);
    }
    let _ = writeln!(
        page,
        "<p>Intervals are as wide as {} looks and all comparisons together demand, 95 % for the race as a whole; \
         differences below {} do not count. {} runs were repeated because of outside load, {} count in spite of it.</p></html>",
        found.looks.len(),
        figure::percent(Some(found.margin)),
        found.repeated,
        found.disturbed
    );
    page
}

fn table(found: &Outcome, of: &Measured, page: &mut String) {
    let all = found.arms.iter().filter_map(|arm| Some((arm, arm.measures.iter().find(|it| it.name == of.name)?)));
    let values = || all.clone().flat_map(|(_, measured)| measured.values.iter().flatten().copied());
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let judged = if of.decides { "" } else { " (not judged)" };
    let _ = writeln!(
        page,
        "<h2>{}{judged}</h2><div class=\"wide\"><table><tr><th class=\"text\">arm<th class=\"text\">sets<th>mean<th>against\
         <th>interval<th>effect<th class=\"text\">verdict<th class=\"text\">blocks{}</tr>",
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
            figure::show(measured.mean, unit(measured)),
            versus.map_or_else(|| "reference".into(), |versus| figure::ratio(versus.ratio)),
            versus.and_then(|versus| versus.interval).map_or_else(String::new, figure::ratio_interval),
            versus.and_then(|versus| versus.effect).map_or_else(String::new, |effect| format!("{effect:+.1}")),
            dots(&measured.values, low, high)
        );
    }
    page.push_str("</table></div>\n");
}

/// What the ends of the drawings stand for; nothing where nothing was measured.
fn span(of: &Measured, low: f64, high: f64) -> String {
    let [low, high] = [low, high].map(|end| end.is_finite().then(|| figure::show(Some(end), unit(of))));
    low.zip(high).map_or_else(String::new, |(low, high)| format!(", {low} to {high}"))
}

/// Every block's value as a dot between the least and the greatest of all arms.
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
