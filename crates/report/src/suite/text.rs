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

    /// The ranking with the costs on each input. Inputs that have no room beside it follow in tables of their own.
    fn table(&self, width: u16) -> String {
        let all = self.ranking();
        let costs = |place: usize| all.iter().map(move |arm| short(arm.on[place], arm.is_reference));
        let (overall, intervals): (Vec<String>, Vec<String>) = all.iter().map(|arm| over_all(arm)).unzip();
        let longest = |cells: &[String]| cells.iter().map(|it| it.chars().count()).max().unwrap_or(0) + PADDING;
        let rest = usize::from(width).saturating_sub(NUMBER + longest(&overall) + longest(&intervals) + PADDING);
        let needs = (0..self.inputs.len()).map(|place| longest(&costs(place).collect::<Vec<_>>())).max().unwrap_or(1);
        let beside = (rest.saturating_sub(ARM) / needs).min(self.inputs.len());
        let most = rest - beside * needs;
        let first = all.iter().enumerate().map(|(place, arm)| {
            let label = table::folded(&figure::printable(&arm.label), most as u16);
            vec![(place + 1).to_string(), label, overall[place].clone(), intervals[place].clone()]
        });
        let ranking = columns(width, &["#", "arm", "all", "95 %"], first.collect(), 0..beside, &costs);
        let each = (usize::from(width).saturating_sub(NUMBER) / needs).max(1);
        let more = (beside..self.inputs.len()).step_by(each).map(|from| {
            let numbers = (1..=all.len()).map(|place| vec![place.to_string()]);
            columns(width, &["#"], numbers.collect(), from..self.inputs.len().min(from + each), &costs)
        });
        std::iter::once(ranking).chain(more).collect::<Vec<_>>().join("\n\n")
    }
}

/// Columns of the number of an arm, with blanks.
const NUMBER: usize = 4;
/// Least columns of the names of arms. A choice: most have one setting.
const ARM: usize = 22;
/// Blanks around a cell.
const PADDING: usize = 2;

/// `rows` under `heads`, and the costs on `inputs` beside them. Figures are not broken.
fn columns<C: Iterator<Item = String>>(
    width: u16,
    heads: &[&str],
    mut rows: Vec<Vec<String>>,
    inputs: std::ops::Range<usize>,
    costs: &impl Fn(usize) -> C,
) -> String {
    let mut table = table::new(width);
    table.set_header(heads.iter().map(|it| (*it).to_string()).chain(inputs.clone().map(letter)));
    inputs.for_each(|place| rows.iter_mut().zip(costs(place)).for_each(|(row, cost)| row.push(cost)));
    let count = rows.first().map_or(0, Vec::len);
    rows.into_iter().for_each(|row| {
        table.add_row(row);
    });
    align_right(&mut table, heads.len()..count);
    keep_whole(&mut table, &(0..count).collect::<Vec<_>>(), width);
    trimmed(&table)
}

/// The cost of an arm over all inputs, and its interval.
fn over_all(arm: &SuiteArm) -> (String, String) {
    match arm.is_reference {
        true => ("1.00×".into(), "reference".into()),
        false => {
            (short(arm.overall, false), arm.overall.ci95.map_or_else(String::new, |ends| change_interval(ends, "runs")))
        }
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

#[cfg(test)]
mod tests {
    use super::super::tests::suite;

    /// A suite of so many inputs, with an interval of the longest kind.
    fn wide(inputs: usize) -> String {
        let mut suite = suite("a");
        for _ in 2..inputs {
            suite.inputs.push(suite.inputs[0].clone());
            suite.arms.iter_mut().for_each(|arm| arm.on.push(arm.on[0]));
        }
        for arm in suite.arms.iter_mut().filter(|arm| !arm.is_reference) {
            arm.label = "eevdf:kernel=6.18,base_slice=700us".into();
            arm.overall.ci95 = Some([0.66, 1.03]);
        }
        suite.text(80, true)
    }

    #[test]
    fn lines_fit_and_no_interval_or_cost_is_broken_however_many_inputs_there_are() {
        for inputs in [2, 3, 4, 7, 12, 20] {
            let text = wide(inputs);
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{inputs} inputs: {text}");
            assert!(text.contains("−34…+3 %"), "{inputs} inputs: {text}");
            assert!(text.contains("eevdf:kernel=6.18,") && text.contains("base_slice=700us"), "{text}");
            assert_eq!(text.matches("0.50× +").count(), inputs - 1, "{inputs} inputs: {text}");
        }
    }
}
