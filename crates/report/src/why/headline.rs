//! The answer in a sentence, its figures, and how far it was checked.

use super::words::part;
use super::{Check, Why};
use crate::figure;
use crate::rule::in_general;
use crate::shell::Mood;

/// End of an edit that leaves half of what it takes away.
const HALF: &str = "=50%";

/// The main cause in one sentence.
#[must_use]
pub fn headline(why: &Why) -> String {
    let Some(main) = why.tail.parts.first() else {
        return format!("Nothing is late: no {}.", figure::printable(&why.whom));
    };
    let rule = main.rule.as_ref().filter(|_| main.cause != "throttled");
    let rule = rule.map_or_else(String::new, |rule| format!("; the rule: {}", in_general(&rule.name)));
    let check = why.checks.iter().find(|it| it.cause == main.cause && it.culprit == main.culprit);
    let check = check.map_or_else(String::new, |check| match (check.verdict.as_str(), check.gone) {
        ("fails", Some(_)) => " The check does not confirm it.".into(),
        (_, Some(gone)) if gone <= 0.0 => String::new(),
        (_, Some(gone)) if check.removed.ends_with(HALF) => {
            format!(" In a simulation with half of it they are {} shorter.", figure::percent(Some(gone)))
        }
        (_, Some(gone)) => {
            format!(" In a simulation without this cause they are {} shorter.", figure::percent(Some(gone)))
        }
        _ => String::new(),
    });
    let share = figure::percent(Some(main.share));
    let slowest = if why.tail.count * 100 < why.count + 100 { "slowest 1 % of" } else { "slowest" };
    format!("The {slowest} {} spent {share} of their time {}{rule}.{check}", why.of, part(main))
}

/// How many latencies there are, and how long they take.
pub(super) fn figures(why: &Why) -> String {
    let by = why.policy.as_ref().map_or_else(|| ", as recorded".into(), |policy| format!(" under {policy}"));
    format!(
        "{}{by}: {} {}, mean {}, p99 {}, worst {}",
        figure::printable(&why.input),
        why.count,
        figure::printable(&why.whom),
        figure::time(why.mean_ns),
        figure::time(why.p99_ns),
        figure::time(why.worst_ns)
    )
}

/// The check of the main cause.
fn check_of_main(why: &Why) -> Option<&Check> {
    let main = why.tail.parts.first()?;
    why.checks.iter().find(|it| it.cause == main.cause && it.culprit == main.culprit)
}

/// How far the blame was checked, as sentences.
pub(super) fn trust(why: &Why) -> String {
    let sums = "The parts of each latency sum to it, to the nanosecond.";
    let checked = match (check_of_main(why), &why.policy) {
        (Some(check), _) => match check.without_ns {
            Some(without) => {
                let verdict = match check.verdict.as_str() {
                    "holds" => "confirms the main cause",
                    "partly" => "confirms the main cause in part",
                    _ => "does not confirm the main cause",
                };
                let times = [check.with_ns, without].map(|ns| figure::show(Some(ns), "ns"));
                let change = format!("{} to {}", times[0], times[1]);
                format!("A run with {} {verdict}: the slowest change from {change}.", figure::printable(&check.removed))
            }
            None => {
                format!("The main cause was not checked: {}.", figure::printable(check.because.trim_end_matches('.')))
            }
        },
        (None, Some(_)) => "The main cause was not checked by a run without it.".into(),
        (None, None) => "This is the recording as it is: nothing was simulated, so no cause was checked.".into(),
    };
    format!("{checked} {sums}")
}

/// How the headline is to be read.
pub(super) fn mood(why: &Why) -> Mood {
    match (why.tail.parts.is_empty(), check_of_main(why).map(|it| it.verdict.as_str())) {
        (true, _) | (_, Some("holds")) => Mood::Sure,
        (_, Some("fails")) => Mood::Untrusted,
        (_, None) if why.policy.is_none() => Mood::Sure,
        _ => Mood::Open,
    }
}
