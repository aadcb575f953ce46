//! A study as a self-contained HTML page: table, charts, inferences, sensitivity, and the command to repeat it.

use crate::chart::{self, escape};
use crate::{Findings, Parameter, Row, Sensitivity, Study, Verdict};
use goodness_report::figure;
use std::fmt::Write;

const STYLE: &str = include_str!("study.css");

/// Contents of a page.
pub struct Page<'a> {
    /// The study.
    pub study: &'a Study<'a>,
    /// Results.
    pub findings: &'a Findings,
    /// Sensitivity of the verdicts, if analysed.
    pub sensitivity: Option<&'a Sensitivity>,
    /// Command that reproduces the page.
    pub command: &'a str,
}

impl Page<'_> {
    /// The page.
    #[must_use]
    pub fn render(&self) -> String {
        let name = escape(self.study.name);
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             img-src data:\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{name} – \
             goodness</title>\n<style>{}{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <h1>{name}</h1>\n<p class=\"question\">{}</p>\n<p>Source: {}</p>\n<p>{}</p>\n",
            chart::STYLE,
            escape(self.study.question),
            escape(self.study.source),
            escape(&self.findings.conclusion),
        );
        self.rows(&mut page);
        for chart in &self.findings.charts {
            let _ = writeln!(page, "<figure>{}</figure>", chart.svg());
        }
        self.parameters(&mut page);
        self.hangs_on(&mut page);
        let _ = writeln!(page, "<h2>Run it again</h2>\n<pre>{}</pre>\n</main>\n</body>\n</html>", escape(self.command));
        page
    }

    fn rows(&self, page: &mut String) {
        page.push_str(
            "<h2>Published and simulated</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>quantity<th \
                class=\"number\">published\
             <th class=\"number\">simulated<th class=\"number\">95 % \
             interval<th>tolerance<th>verdict<th>why</tr></thead>\n<tbody>\n",
        );
        for row in &self.findings.rows {
            let _ = writeln!(
                page,
                "<tr><th scope=\"row\">{}<td class=\"number\">{}<td class=\"number\">{}<td \
                    class=\"number\">{}<td>{}<td class=\"{}\">{}<td>{}</tr>",
                escape(&row.quantity),
                escape(&published(row)),
                escape(&figure::show(row.simulated, &row.unit)),
                escape(&row.ci95.map_or_else(String::new, |ci| figure::interval(Some(ci), &row.unit))),
                escape(row.tolerance.as_deref().unwrap_or_default()),
                class(row.verdict),
                row.verdict.words(),
                escape(&row.note),
            );
        }
        page.push_str("</tbody></table></div>\n");
    }

    fn parameters(&self, page: &mut String) {
        if self.study.parameters.is_empty() {
            return;
        }
        page.push_str(
            "<h2>What had to be inferred</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>parameter<th \
            class=\"number\">value<th class=\"number\">plausible<th>because</tr></thead>\n<tbody>\n",
        );
        for Parameter { name, unit, value, low, high, because } in self.study.parameters {
            let _ = writeln!(
                page,
                "<tr><th scope=\"row\">{name}<td class=\"number\">{value} {unit}<td \
                    class=\"number\">{low}…{high}<td>{}</tr>",
                escape(because)
            );
        }
        page.push_str("</tbody></table></div>\n");
    }

    fn hangs_on(&self, page: &mut String) {
        let Some(found) = self.sensitivity else { return };
        let _ = writeln!(
            page,
            "<h2>What the verdicts hang on</h2>\n<p>{} other points of the inferred parameters were tried; {} verdicts \
                held at all of them.</p>",
            found.points, found.steady
        );
        if found.flips.is_empty() {
            return;
        }
        page.push_str(
            "<div class=\"scroll\"><table>\n<thead><tr><th>quantity<th>where<th>verdict</tr></thead>\n<tbody>\n",
        );
        for flip in &found.flips {
            let _ = writeln!(
                page,
                "<tr><th scope=\"row\">{}<td>{}<td>{} → {}</tr>",
                escape(&flip.quantity),
                escape(&flip.at),
                flip.from.words(),
                flip.to.words()
            );
        }
        page.push_str("</tbody></table></div>\n");
    }
}

/// The published number, or the direction stated.
#[must_use]
pub fn published(row: &Row) -> String {
    match (&row.says, row.published) {
        (_, Some(value)) => figure::show(Some(value), &row.unit),
        (Some(says), None) => says.clone(),
        (None, None) => figure::NOT_MEASURED.into(),
    }
}

const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "good",
        Verdict::Direction => "fair",
        Verdict::NotReproduced => "bad",
        Verdict::Unpublished => "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Estimate;

    #[test]
    fn the_page_holds_every_row_loads_nothing_and_lets_no_markup_in() {
        let study = Study {
            name: "x",
            question: "Is <b>it</b> so?",
            source: "a paper",
            published: "",
            parameters: &[Parameter { name: "p", unit: "us", value: 1.0, low: 0.5, high: 2.0, because: "a test." }],
            corners: &[],
            runs: 1,
            conduct: &|_| Ok(Findings::default()),
        };
        let row = Row::unpublished("<script>", "ns", Some(&Estimate::exact(1500.0)), "because");
        let findings = Findings { rows: vec![row], ..Findings::default() };
        let page = Page { study: &study, findings: &findings, sensitivity: None, command: "goodness study x" }.render();
        assert!(page.contains("1.50 µs") && page.contains("&lt;script&gt;") && page.contains("0.5…2"));
        assert!(
            !page.contains("<script") && !page.contains("<b>") && !page.contains("src=") && !page.contains("http://")
        );
    }
}
