//! A tuning as one self-contained HTML page: the answer, the finalists, a chart for each knob, every candidate.

use super::{Kept, Tuning};
use crate::chart::{self, Chart, Line, Point, escape};
use crate::figure;
use std::fmt::Write;

const STYLE: &str = "body { background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: auto; padding: 1rem; } table { border-collapse: collapse; }
th, td { border-bottom: 1px solid var(--rule); padding: .2rem .6rem; text-align: left; }
.number { text-align: right; white-space: nowrap; } .scroll, pre { overflow-x: auto; }
.answer { font-size: 1.25rem; } .better { color: var(--good); } .worse { color: var(--bad); }
figure { margin: 1rem 0; }";

/// The page; `command` makes it again.
#[must_use]
pub fn render(tuning: &Tuning, command: &str) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>Tuning {0} – goodness</title>\n\
         <style>{1}{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Tuning {0}</h1>\n<p class=\"answer\">{2}</p>\n",
        escape(&tuning.searched.join(", ")),
        chart::STYLE,
        escape(&tuning.worded())
    );
    let commands = tuning.commands();
    if !commands.is_empty() {
        let _ = writeln!(page, "<pre tabindex=\"0\">{}</pre>", escape(&commands));
    }
    finalists(tuning, &mut page);
    let runs = &tuning.runs;
    let _ = writeln!(
        page,
        "<p>{} runs: {} to search, {} held out, {} to measure the error of the replay. A grid of {} settings takes {} \
         runs.</p>",
        runs.all(),
        runs.search,
        runs.held_out,
        runs.verified,
        runs.grid_settings,
        runs.grid
    );
    knobs(tuning, &mut page);
    candidates(tuning, &mut page);
    let _ = writeln!(
        page,
        "<h2>Run it again</h2>\n<pre tabindex=\"0\">{}</pre>\n</main>\n</body>\n</html>",
        escape(command)
    );
    page
}

fn finalists(tuning: &Tuning, page: &mut String) {
    if tuning.finalists.is_empty() {
        return;
    }
    let guards: String = tuning.guards.iter().map(|guard| format!("<th>{}", escape(guard))).collect();
    let unit = &tuning.objective.unit;
    let _ = writeln!(
        page,
        "<h2>Finalists, on held-out runs</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>setting\
         <th class=\"number\">{}<th class=\"number\">95 % interval<th class=\"number\">ratio<th class=\"number\">95 % \
         interval<th>result{guards}</tr></thead>\n<tbody>",
        escape(&tuning.objective.metric)
    );
    for it in &tuning.finalists {
        let kept = |kept: &Kept| format!("<td>{}", Tuning::guard_word(*kept));
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{}<td class=\"number\">{}<td class=\"number\">{}<td class=\"number\">{}\
             <td class=\"number\">{}<td class=\"{}\">{}{}</tr>",
            escape(&it.arm),
            figure::show(it.score.value, unit),
            figure::interval(it.score.ci95, unit),
            figure::ratio(it.ratio),
            it.ratio_ci95.map_or_else(String::new, figure::ratio_interval),
            it.standing.name(),
            it.standing.name(),
            it.guards.iter().map(kept).collect::<String>()
        );
    }
    let _ = writeln!(
        page,
        "<tr><th scope=\"row\">{}<td class=\"number\">{}<td class=\"number\">{}<td><td><td>reference</tr>\n</tbody>\
         </table></div>",
        escape(&tuning.default_label()),
        figure::show(tuning.reference.value, unit),
        figure::interval(tuning.reference.ci95, unit)
    );
}

fn knobs(tuning: &Tuning, page: &mut String) {
    page.push_str("<h2>Knobs</h2>\n");
    for (place, knob) in tuning.knobs.iter().enumerate() {
        let effect = match knob.is_flat {
            true => "flat".into(),
            false => format!("{} between its levels", figure::ratio(knob.effect)),
        };
        let level = |it: &super::Level| format!("{} at {}", figure::ratio(it.ratio), escape(&it.values));
        let levels: Vec<String> = knob.levels.iter().map(level).collect();
        let _ = writeln!(page, "<h3>{}: {effect}</h3>\n<p>{}</p>", escape(&knob.name), levels.join(", "));
        if let Some(chart) = chart_of(tuning, place) {
            let _ = writeln!(page, "<figure>{}</figure>", chart.svg());
        }
    }
}

/// The candidates' ratios to the default by the value of a knob; `None` if its values are no numbers.
fn chart_of(tuning: &Tuning, place: usize) -> Option<Chart> {
    let number = |text: &str| {
        let span = || goodness_core::Span::parse(text).ok().map(|span| (span.0 as f64 / 1e6, true));
        text.parse::<f64>().ok().map(|number| (number, false)).or_else(span)
    };
    let mut points = Vec::new();
    let mut is_time = false;
    for it in tuning.candidates.iter().skip(1) {
        let Some(text) = it.values.get(place)?.as_deref() else { continue };
        let (x, time) = number(text)?;
        is_time = time;
        points.extend(it.ratio.map(|y| Point { x, y, ci95: it.ratio_ci95 }));
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let (low, high) = (points.first()?.x, points.last()?.x);
    let name = &tuning.knobs[place].name;
    Some(Chart {
        title: format!("{} over the default's, by {name}", tuning.objective.metric),
        x: if is_time { format!("{name} (ms)") } else { name.clone() },
        y: "ratio".into(),
        doubling: low > 0.0 && high / low >= 8.0,
        lines: vec![Line { name: "candidates".into(), published: false, points }],
    })
}

fn candidates(tuning: &Tuning, page: &mut String) {
    let _ = writeln!(
        page,
        "<details><summary>All {} candidates of the search</summary>\n<div class=\"scroll\"><table>\n<thead><tr>\
         <th class=\"number\">round<th class=\"number\">runs<th class=\"number\">ratio<th class=\"number\">95 % \
         interval<th>setting<th>dropped</tr></thead>\n<tbody>",
        tuning.candidates.len()
    );
    for it in &tuning.candidates {
        let _ = writeln!(
            page,
            "<tr><td class=\"number\">{}<td class=\"number\">{}<td class=\"number\">{}<td class=\"number\">{}<td>{}\
             <td>{}</tr>",
            it.round,
            it.runs,
            figure::ratio(it.ratio),
            it.ratio_ci95.map_or_else(String::new, figure::ratio_interval),
            escape(&it.arm),
            it.dropped.map_or("", |why| why.name())
        );
    }
    page.push_str("</tbody></table></div></details>\n");
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    #[test]
    fn the_page_has_a_chart_of_every_number_and_lets_no_markup_in() {
        let mut tuning = found();
        tuning.searched = vec!["<script>alert(1)</script>".into()];
        let page = render(&tuning, "goodness tune mixed --over base_slice=0.3ms..12ms");
        assert!(!page.contains("<script"), "{page}");
        assert_eq!(page.matches("<svg").count(), 2, "base_slice and redis.nice");
        assert!(page.contains("Apply:") && page.contains("better") && !page.contains("NaN"), "{page}");
        for forbidden in ["src=", "@import", "url(", "https://"] {
            assert!(!page.contains(forbidden), "the page holds {forbidden}");
        }
    }
}
