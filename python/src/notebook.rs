//! Results in a notebook: HTML that needs nothing from elsewhere and follows light and dark.

use goodness_report::change::{change, change_interval};
use goodness_report::chart::{Chart, Line, Point, STYLE, escape};
use goodness_report::figure;
use goodness_report::model::{Distribution, MetricSummary, PolicyReport, Report};
use std::fmt::Write;

/// Columns of text where the terminal does not tell.
pub const WIDTH: u16 = 80;

const TABLE: &str = "border-collapse:collapse;font-variant-numeric:tabular-nums";
const CELL: &str = "text-align:right;padding:.15em .7em;border-bottom:1px solid rgba(128,128,128,.3)";
const NAME: &str = "text-align:left;padding:.15em .7em;border-bottom:1px solid rgba(128,128,128,.3)";

/// The answer in words.
pub fn headline(text: &str) -> String {
    format!("<p><strong>{}</strong></p>", escape(text))
}

/// Headline, ranking and chart.
pub fn comparison(report: &Report) -> String {
    let mut html = format!("<div class=\"goodness\">{}", headline(&report.conclusion()));
    let commands = report.commands();
    if !commands.is_empty() {
        let _ = write!(html, "<pre>{}</pre>", escape(&commands));
    }
    if let Some(metric) = report.ranked_by() {
        html.push_str(&ranking(report, metric));
        html.push_str(&chart(report, metric));
    }
    html + "</div>"
}

fn ranking(report: &Report, metric: &str) -> String {
    let labels = report.labels();
    let rows = report.ranking(metric).into_iter().map(|place| {
        let policy: &PolicyReport = &report.policies[place];
        let found = policy.metric(metric);
        let unit = found.map_or("", |it| it.unit.as_str());
        let versus = found.and_then(|it| it.vs_reference.as_ref());
        vec![
            labels[place].clone(),
            figure::show(found.and_then(|it| it.value), unit),
            figure::interval(found.and_then(|it: &MetricSummary| it.ci95), unit),
            versus.and_then(|it| it.ratio).map_or_else(String::new, change),
            versus.and_then(|it| it.ci95).map_or_else(String::new, |ends| change_interval(ends, report.units())),
            match (policy.is_reference, versus) {
                (true, _) => "reference".into(),
                (false, verdict) => verdict.map_or_else(String::new, |it| it.verdict.name().into()),
            },
        ]
    });
    table(&["", &figure::titled(metric), "95 % interval", "change", "95 % interval", "verdict"], rows, "")
}

/// A table; `left_out` says what it does not show.
pub fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>, left_out: &str) -> String {
    let row = |kind: &str, cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.enumerate().map(|(place, text)| {
            let style = if place == 0 { NAME } else { CELL };
            format!("<{kind} style=\"{style}\">{}</{kind}>", escape(text))
        });
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let mut html = format!("<table style=\"{TABLE}\"><thead>{}</thead><tbody>", row("th", &mut head.iter().copied()));
    rows.for_each(|cells| html.push_str(&row("td", &mut cells.iter().map(String::as_str))));
    html.push_str("</tbody></table>");
    if !left_out.is_empty() {
        let _ = write!(html, "<p>… {}</p>", escape(left_out));
    }
    html
}

/// The distribution of what ranks, by arm; empty without one.
fn chart(report: &Report, metric: &str) -> String {
    let family = |policy: &PolicyReport| -> Option<Distribution> {
        policy.distributions.iter().find(|it| metric.starts_with(&it.metric)).cloned()
    };
    let lines: Vec<Line> = report
        .labels()
        .into_iter()
        .zip(&report.policies)
        .filter_map(|(name, policy)| {
            let points = family(policy)?.quantiles.iter().map(|[share, value]| point(*value, *share)).collect();
            Some(Line { name, published: false, points })
        })
        .collect();
    let Some(shown) = report.policies.iter().find_map(family) else { return String::new() };
    let title = shown.metric.replace('_', " ");
    let chart = Chart {
        x: format!("{title} in ms"),
        y: "per cent of all that are not longer".into(),
        title: format!("Distribution of {title}, all runs together"),
        doubling: false,
        lines,
    };
    format!("<figure style=\"max-width:46em;margin:1em 0\"><style>{}</style>{}</figure>", style(), chart.svg())
}

/// The style of charts, for this output alone, in the notebook's own colours.
fn style() -> String {
    let own = STYLE.replace(":root", ".goodness").replace("\nsvg", "\n.goodness svg");
    own + ".goodness { --ink: currentColor; --rule: rgba(128,128,128,.35); }"
}

fn point(value: f64, share: f64) -> Point {
    Point { x: value / 1e6, y: share * 100.0, ci95: None }
}
