//! A suite on a terminal: the answer, the ranking, what ranks each input.

use super::{Cost, Suite, SuiteArm};
use crate::change::{change_in_words, change_interval};
use crate::figure::{self, NOT_MEASURED};
use crate::model::Verdict;
use crate::table::{self, align_right, keep_whole, trimmed, wrapped};
use goodness_observe::title;

impl Suite {
    /// The answer in a sentence.
    #[must_use]
    pub fn conclusion(&self) -> String {
        let Some(reference) = self.arms.iter().find(|arm| arm.is_reference) else { return String::new() };
        let doubted: Vec<&str> = self.inputs.iter().filter(|it| !it.is_trusted).map(|it| it.name.as_str()).collect();
        if !doubted.is_empty() {
            return format!("Untrusted: the replay of {} misses its bounds.", doubted.join(" and "));
        }
        let inputs = if self.inputs.len() == 1 { "1 input".into() } else { format!("{} inputs", self.inputs.len()) };
        match self.ranking().into_iter().find(|arm| arm.overall.verdict == Verdict::Better) {
            None => format!("Undecided: no arm is shown to be better than {} over {inputs}.", reference.label),
            Some(arm) => {
                let worse: Vec<&str> = self.harmed(arm);
                let but = if worse.is_empty() { String::new() } else { format!(", but worse on {}", worse.join(", ")) };
                let size =
                    arm.overall.ratio.map_or_else(String::new, |it| change_in_words(it, arm.overall.ci95, "runs"));
                format!("{} instead of {}: costs are {size} over {inputs}{but}.", arm.label, reference.label)
            }
        }
    }

    /// The inputs on which an arm is worse than the reference.
    fn harmed(&self, arm: &SuiteArm) -> Vec<&str> {
        let on = self.inputs.iter().zip(&arm.on).filter(|(_, cost)| cost.verdict == Verdict::Worse);
        on.map(|(input, _)| input.name.as_str()).collect()
    }

    /// The ranking, in `width` columns; unless `only_ranking`, after the answer and with what ranks each input.
    #[must_use]
    pub fn text(&self, width: u16, only_ranking: bool) -> String {
        let ranking = self.table(width);
        if only_ranking {
            return ranking;
        }
        let key = self.inputs.iter().enumerate().map(|(place, input)| {
            let metric = input.metric.as_deref().map_or_else(|| "nothing that ranks".into(), title);
            format!("{} {}: {metric}", letter(place), figure::printable(&input.name))
        });
        let key = key.collect::<Vec<_>>().join("; ");
        let note = "Costs relative to the reference: the metric of each input, or its inverse where more is better. \
                    All: the geometric mean; its interval holds if the errors of all inputs go together. \
                    + better, - worse, = same, ? inconclusive";
        let answer = wrapped("", &figure::printable(&self.conclusion()), width, "");
        format!("{answer}\n\n{ranking}\n{}\n\n{}", wrapped("", &key, width, ""), wrapped("- ", note, width, "  "))
    }

    fn table(&self, width: u16) -> String {
        let mut table = table::new(width);
        let letters = (0..self.inputs.len()).map(letter);
        let heads = ["#", "arm", "all", "95 %", "verdict"].map(String::from);
        table.set_header(heads.into_iter().chain(letters));
        for (place, arm) in self.ranking().into_iter().enumerate() {
            let [overall, interval, verdict] = match arm.is_reference {
                true => ["1.00×".into(), String::new(), "reference".into()],
                false => {
                    let interval = arm.overall.ci95.map_or_else(String::new, |it| change_interval(it, "runs"));
                    [figure::ratio(arm.overall.ratio), interval, arm.overall.verdict.name().to_string()]
                }
            };
            let first = [(place + 1).to_string(), figure::printable(&arm.label), overall, interval, verdict];
            table.add_row(first.into_iter().chain(arm.on.iter().map(|cost| short(*cost, arm.is_reference))));
        }
        align_right(&mut table, 5..5 + self.inputs.len());
        keep_whole(&mut table, &[1, 4], width / 3);
        trimmed(&table)
    }
}

/// The letter of an input.
fn letter(place: usize) -> String {
    char::from_u32('A' as u32 + place as u32).filter(char::is_ascii_uppercase).map_or_else(String::new, String::from)
}

/// A ratio with its verdict as a mark.
fn short(cost: Cost, is_reference: bool) -> String {
    let mark = match cost.verdict {
        Verdict::Better => '+',
        Verdict::Worse => '-',
        Verdict::Same => '=',
        Verdict::Inconclusive => '?',
    };
    match cost.ratio {
        _ if is_reference => String::new(),
        None => NOT_MEASURED.into(),
        ratio => format!("{} {mark}", figure::ratio(ratio)),
    }
}
