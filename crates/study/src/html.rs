//! A study as a self-contained HTML page: table, charts, inferences, sensitivity, and the command to repeat it.

use crate::words::{counts, published};
use crate::{Findings, Flip, Parameter, Row, Sensitivity, Study, Verdict};
use goodness_report::figure;
use goodness_report::shell::{self, Cell, Mood, Shell};

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
        let rows = &self.findings.rows;
        let is_missed = rows.iter().any(|row| row.verdict == Verdict::NotReproduced);
        let conclusion = &self.findings.conclusion;
        let (first, rest) = conclusion.split_once(". ").map_or((conclusion.trim_end_matches('.'), ""), |it| it);
        let headline = format!("{}. {first}.", counts(rows));
        let mood = if is_missed { Mood::Open } else { Mood::Sure };
        let lead = format!("{} Source: {}", self.study.question, self.study.source);
        let mut page =
            Shell::new("reproduced study", self.study.name, self.command).headline(&headline, mood).lead(&lead);
        let rest = if rest.is_empty() { String::new() } else { shell::paragraph(rest) };
        page.section("Published and simulated", &(rest + &self.rows()));
        for chart in &self.findings.charts {
            page.section(&chart.title, &shell::chart(chart));
        }
        if !self.study.parameters.is_empty() {
            page.folded("What had to be inferred", &self.parameters());
        }
        if let Some(found) = self.sensitivity {
            page.folded("What the verdicts hang on", &hangs_on(found));
        }
        page.finish()
    }

    fn rows(&self) -> String {
        let row = |row: &Row| {
            vec![
                Cell::text(&row.quantity),
                Cell::number(&published(row)),
                Cell::number(&figure::show(row.simulated, &row.unit)),
                Cell::number(&row.ci95.map_or_else(String::new, |ci| figure::interval(Some(ci), &row.unit))),
                Cell::text(row.tolerance.as_deref().unwrap_or_default()),
                Cell::of_class(row.verdict.words(), class(row.verdict)),
                Cell::of_class(&row.note, "note"),
            ]
        };
        let rows: Vec<Vec<Cell>> = self.findings.rows.iter().map(row).collect();
        let heads = ["quantity", "published", "simulated", "95 % interval", "tolerance", "verdict", "why"];
        shell::table("Published and simulated", &heads, &rows)
    }

    fn parameters(&self) -> String {
        let row = |it: &Parameter| {
            vec![
                Cell::text(it.name),
                Cell::number(&format!("{} {}", it.value, it.unit)),
                Cell::number(&format!("{}…{}", it.low, it.high)),
                Cell::text(it.because),
            ]
        };
        let rows: Vec<Vec<Cell>> = self.study.parameters.iter().map(row).collect();
        shell::table("Inferred parameters", &["parameter", "value", "plausible", "because"], &rows)
    }
}

fn hangs_on(found: &Sensitivity) -> String {
    let html = shell::paragraph(&format!(
        "{} other points of the inferred parameters were tried; {} verdicts held at all of them.",
        found.points, found.steady
    ));
    if found.flips.is_empty() {
        return html;
    }
    let change = |flip: &Flip| format!("{} → {}", flip.from.words(), flip.to.words());
    let row = |flip: &Flip| vec![Cell::text(&flip.quantity), Cell::text(&flip.at), Cell::text(&change(flip))];
    let rows: Vec<Vec<Cell>> = found.flips.iter().map(row).collect();
    html + &shell::table("Verdicts that change", &["quantity", "where", "verdict"], &rows)
}

const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "better",
        Verdict::Direction => "unsure",
        Verdict::NotReproduced => "worse",
        Verdict::Unpublished => "quiet",
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
