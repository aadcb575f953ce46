//! A suite as one self-contained page: the answer, the ranking over all inputs, then each input by itself.

use super::{Cost, Suite, SuiteArm, SuiteInput};
use crate::change::{change, change_interval};
use crate::figure;
use crate::model::{PolicyReport, Report, Verdict};
use crate::shell::{self, Cell, Mood, Shell};
use goodness_observe::title;

impl Suite {
    /// The page; `command` makes it again.
    #[must_use]
    pub fn page(&self, command: &str) -> String {
        let names: Vec<String> = self.inputs.iter().map(|it| figure::printable(&it.name)).collect();
        let about = if self.name.is_empty() { names.join(", ") } else { format!("suite {}", self.name) };
        let mut page = Shell::new("compare", &about, command).headline(&self.conclusion(), self.mood()).lead(&format!(
            "{} arms, on {}.",
            self.arms.len(),
            names.join(", ")
        ));
        page.section("Cost of each arm", &self.costs_as_html());
        for (input, report) in self.inputs.iter().zip(&self.reports) {
            page.folded(&heading(input), &alone(input, report));
        }
        page.finish()
    }

    fn mood(&self) -> Mood {
        match () {
            () if self.inputs.iter().any(|it| !it.is_trusted) => Mood::Untrusted,
            () if self.arms.iter().any(|arm| arm.overall.verdict == Verdict::Better) => Mood::Sure,
            () => Mood::Open,
        }
    }

    fn costs_as_html(&self) -> String {
        let row = |arm: &SuiteArm| {
            let interval = arm.overall.ci95.map_or_else(String::new, |ends| change_interval(ends, "runs"));
            let overall = match arm.is_reference {
                true => [Cell::of_class("reference", "verdict"), Cell::number("1.00×"), Cell::number("")],
                false => [
                    verdict(arm.overall.verdict),
                    Cell::number(&figure::ratio(arm.overall.ratio)),
                    Cell::number(&interval),
                ],
            };
            let on = arm.on.iter().map(|cost| own(*cost, arm.is_reference));
            std::iter::once(Cell::text(&arm.label)).chain(overall).chain(on).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<Cell>> = self.ranking().into_iter().map(row).collect();
        let heads = ["arm", "verdict", "all inputs", "change, 95 % interval"].into_iter();
        let heads: Vec<&str> = heads.chain(self.inputs.iter().map(|it| it.name.as_str())).collect();
        let about = "A cost is the ratio of the metric that ranks an input to the reference, or its inverse where more \
                     is better: below 1 is better. All inputs: the geometric mean; its interval holds if the errors of \
                     all inputs go together.";
        shell::table("Costs, least first", &heads, &rows) + &shell::paragraph(about)
    }
}

fn heading(input: &SuiteInput) -> String {
    let metric = input.metric.as_deref().map_or_else(|| "nothing that ranks".into(), title);
    let doubt = if input.is_trusted { "" } else { " (untrusted)" };
    format!("{}: {metric}{doubt}", figure::printable(&input.name))
}

/// The values of all arms on one input.
fn alone(input: &SuiteInput, report: &Report) -> String {
    let Some(metric) = input.metric.as_deref() else { return shell::paragraph("No metric of it was measured.") };
    let row = |(label, policy): (String, &PolicyReport)| {
        let found = policy.metric(metric);
        let versus = found.and_then(|it| it.vs_reference);
        let value = |of: fn(&crate::model::MetricSummary) -> String| found.map_or_else(String::new, of);
        vec![
            Cell::text(&label),
            versus.map_or_else(|| Cell::of_class("reference", "verdict"), |it| verdict(it.verdict)),
            Cell::number(&value(figure::of)),
            Cell::number(&value(|it| figure::interval(it.ci95, &it.unit))),
            Cell::number(&versus.and_then(|it| it.ratio).map_or_else(String::new, change)),
            Cell::number(&versus.and_then(|it| it.ci95).map_or_else(String::new, |it| change_interval(it, "runs"))),
        ]
    };
    let rows: Vec<Vec<Cell>> = report.labels().into_iter().zip(&report.policies).map(row).collect();
    let heads = ["arm", "verdict", "value", "95 % interval", "change", "95 % interval"];
    let trust = report.trust.as_ref().filter(|it| it.is_untrusted()).map(|it| it.because.join("; "));
    trust.map_or_else(String::new, |why| shell::paragraph(&why)) + &shell::table(&title(metric), &heads, &rows)
}

fn verdict(verdict: Verdict) -> Cell {
    let class = match verdict {
        Verdict::Better => "verdict better",
        Verdict::Worse => "verdict worse",
        _ => "verdict",
    };
    Cell::of_class(verdict.name(), class)
}

/// The cost on one input, with its verdict.
fn own(cost: Cost, is_reference: bool) -> Cell {
    match cost.ratio {
        _ if is_reference => Cell::number(""),
        None => Cell::number(figure::NOT_MEASURED),
        ratio => Cell::number(&format!("{} {}", figure::ratio(ratio), cost.verdict.name())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::suite;

    #[test]
    fn the_page_has_the_sentence_every_cost_and_each_input_and_lets_no_markup_in() {
        let suite = suite("<script>alert(1)</script>");
        let page = suite.page("goodness compare --suite server");
        assert!(!page.contains("<script") && !page.contains("NaN"), "{page}");
        for part in ["cfs instead of eevdf", "0.50× better", "1.20× worse", "Costs, least first", "conclusion sure"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(page.matches("<details").count(), 2, "one for each input: {page}");
        for forbidden in ["src=", "@import", "url(", "https://"] {
            assert!(!page.contains(forbidden), "the page holds {forbidden}");
        }
    }
}
