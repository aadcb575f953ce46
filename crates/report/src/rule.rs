//! The rule by which a policy let a task wait, or an elevator a request, in words.

mod of_elevator;
mod of_placement;

use crate::figure;
use goodness_core::{Reason, Span};
use serde::{Deserialize, Serialize};

/// The rule by which a policy let a task wait, or an elevator a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// The rule with its figures, as the end of a sentence.
    pub said: String,
}

impl From<Reason> for Rule {
    fn from(reason: Reason) -> Rule {
        Rule { name: reason.name().into(), said: words(reason, None) }
    }
}

impl Rule {
    /// The rule by which a task is ahead of the one called `waiting`.
    #[must_use]
    pub fn over(reason: Reason, waiting: &str) -> Rule {
        Rule { name: reason.name().into(), said: words(reason, Some(waiting)) }
    }
}

/// The rule as the end of a sentence about the task ahead.
fn words(reason: Reason, waiting: Option<&str>) -> String {
    let who = waiting.unwrap_or("the waiting task");
    let than = waiting.map(|it| format!(" than {it}")).unwrap_or_default();
    let thans = waiting.map(|it| format!(" than {it}'s")).unwrap_or_default();
    let theirs = waiting.map(|it| format!("{it}'s ")).unwrap_or_default();
    match reason {
        Reason::Class { ahead, waiting } => format!("class {} is served before {}", ahead.name(), waiting.name()),
        Reason::Priority { ahead, waiting } => format!("its priority {ahead} is above {theirs}{waiting}"),
        Reason::Level { ahead, waiting } => format!("its level {ahead} is served before {theirs}level {waiting}"),
        Reason::Aged => format!("it had waited long enough to overtake {}", waiting.unwrap_or("the waiting task")),
        Reason::ShorterBurst { ahead, waiting } => {
            format!("it needs {}, less than {theirs}{}", span(ahead), span(waiting))
        }
        Reason::HigherRatio { ahead, waiting } => {
            format!("its response ratio {} is above {theirs}{}", hundredths(ahead), hundredths(waiting))
        }
        Reason::Drawn { tickets, of } => format!("it was drawn, with {tickets} of {of} tickets"),
        Reason::EarlierDeadline { by: Span::ZERO } => "it came first of equal deadlines".into(),
        Reason::EarlierDeadline { by } => format!("its deadline was {} earlier{thans}", span(by)),
        Reason::ShorterPeriod { by } => format!("its period is {} shorter{thans}", span(by)),
        Reason::NotEligible { lag } => format!("{who} had {} more than its share", span(lag)),
        Reason::SliceProtected { left } => format!("its slice was protected for {} more", span(left)),
        Reason::SliceNotOver => "its slice was not over".into(),
        Reason::RunsOn => "it runs on until it waits or ends".into(),
        Reason::LessRuntime { by } => format!("it had {} less weighted CPU time{than}", span(by)),
        Reason::SmallerPass { by } => format!("its pass was {} smaller{thans}", span(by)),
        Reason::LeadTooShort { by } => format!("{who} led by {}, too little to preempt", span(by)),
        Reason::Favoured => "it was favoured for one pick".into(),
        Reason::RoundUsedUp => format!("{who} had used up its share of the round"),
        Reason::Throttled { until } => throttled(waiting, until.map(|it| it.ns())),
        Reason::AwaitsTick => "a running task is stopped at a tick, or under lazy preemption at a system call".into(),
        Reason::First => match waiting {
            Some(waiting) => format!("it came before {waiting}"),
            None => "it came first".into(),
        },
    }
}

fn throttled(waiting: Option<&str>, until: Option<u64>) -> String {
    let who = waiting.map(|it| format!("{it} was ")).unwrap_or_default();
    let until = until.map(|at| format!(" until {}", figure::show(Some(at as f64), "ns"))).unwrap_or_default();
    format!("{who}throttled{until}")
}

fn span(span: Span) -> String {
    figure::time(Some(span.0))
}

fn hundredths(value: u64) -> String {
    format!("{}.{:02}", value / 100, value % 100)
}

/// A rule by its name, without figures.
pub(crate) fn in_general(name: &str) -> &'static str {
    match name {
        "class" => "a higher scheduling class",
        "priority" => "a higher priority",
        "level" => "a better level",
        "aged" => "a long wait",
        "shorter_burst" => "a shorter burst",
        "higher_ratio" => "a higher response ratio",
        "drawn" => "drawn by lot",
        "earlier_deadline" => "an earlier scheduling deadline",
        "shorter_period" => "a shorter period",
        "not_eligible" => "the waiting task had more than its share",
        "slice_protected" => "a protected slice",
        "slice_not_over" => "a slice that was not over",
        "runs_on" => "no preemption",
        "less_runtime" => "less CPU time, weighted by nice",
        "smaller_pass" => "a smaller pass",
        "lead_too_short" => "a lead too short to preempt",
        "favoured" => "favoured for one pick",
        "round_used_up" => "the waiting task had used up its round",
        "throttled" => "out of quota",
        "awaits_tick" => "preemption only at the next tick, or under lazy preemption at a system call",
        "first" => "first come, first served",
        other => of_elevator::in_general(other).unwrap_or("a rule that this version does not know"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_reads_as_the_end_of_a_sentence_with_and_without_the_one_who_waits() {
        let by = Span::from_us(1_200);
        for (reason, over, alone) in [
            (
                Reason::EarlierDeadline { by },
                "its deadline was 1.20 ms earlier than b's",
                "its deadline was 1.20 ms earlier",
            ),
            (
                Reason::LessRuntime { by },
                "it had 1.20 ms less weighted CPU time than b",
                "it had 1.20 ms less weighted CPU time",
            ),
            (
                Reason::NotEligible { lag: by },
                "b had 1.20 ms more than its share",
                "the waiting task had 1.20 ms more than its share",
            ),
            (
                Reason::Priority { ahead: 3, waiting: -1 },
                "its priority 3 is above b's -1",
                "its priority 3 is above -1",
            ),
            (Reason::First, "it came before b", "it came first"),
            (Reason::Throttled { until: None }, "b was throttled", "throttled"),
        ] {
            assert_eq!((Rule::over(reason, "b").said, Rule::from(reason).said), (over.into(), alone.into()));
        }
    }
}
