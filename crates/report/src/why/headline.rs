//! The answer in a sentence, its figures, and how far it was checked.

use super::words::part;
use super::{Check, LockPart, Part, Tail, Why};
use crate::figure;
use crate::rule::in_general;
use crate::shell::Mood;

/// The main cause in one sentence.
#[must_use]
pub fn headline(why: &Why) -> String {
    let Some(main) = why.tail.parts.first() else {
        return format!("Nothing is late: no {}.", figure::printable(&why.whom));
    };
    let check = check_of_main(why).map_or_else(String::new, |check| check_in_words(check, why.count == 1));
    let share = figure::percent(Some(main.share));
    let slowest = match why.count {
        1 => format!("only {} spent {share} of its", one_of(&why.of)),
        100.. if why.tail.count == why.count.div_ceil(100) => {
            format!("slowest 1 % of {} spent {share} of their", why.of)
        }
        _ => format!("slowest {} spent {share} of their", why.of),
    };
    let answer = format!("The {slowest} time {}.{}{check}", part(main), rule_in_words(why, main));
    why.doubts.first().map_or_else(
        || answer.clone(),
        |doubt| format!("Untrusted: {}. {answer}", figure::printable(doubt.trim_end_matches('.'))),
    )
}

/// The rule by which the policy let the culprit run first, or the disk served others, where they told.
fn rule_in_words(why: &Why, main: &Part) -> String {
    let Some(rule) = &main.rule else { return String::new() };
    let policy = why.policy.as_deref().map_or("the kernel", |it| it.split([':', '+', ' ']).next().unwrap_or(it));
    let policy = figure::printable(policy);
    let what = match (main.cause.as_str(), rule.name.as_str()) {
        ("behind_own", _) => format!("{policy} ran one task before another"),
        ("idle_cpu_forbidden", _) => format!("{policy} ran another first"),
        ("behind" | "idle_cpu_allowed", _) => {
            let who = main.culprit.as_deref().map_or_else(|| "it".into(), figure::name);
            format!("{policy} ran {who} first")
        }
        ("disk_queue" | "device", "idles" | "drains" | "head_moves") => "the disk served none".into(),
        ("disk_queue" | "device", _) => "the disk served others first".into(),
        _ => return String::new(),
    };
    format!(" Why {what}: {}.", in_general(&rule.name))
}

/// The result of a simulation without the main cause, and whether that confirms it.
fn check_in_words(check: &Check, single: bool) -> String {
    let Some(gone) = check.gone else { return String::new() };
    let says = match check.verdict.as_str() {
        "holds" => "confirmed",
        "partly" => "confirmed in part",
        _ => "not confirmed",
    };
    let they_are = if single { "it is" } else { "the slowest are" };
    let [change, expected] = [gone.abs(), check.expected()].map(|it| figure::percent(Some(it)));
    let (change, expected) = match gone {
        ..0.0 => (format!("{change} longer"), format!("{expected} shorter")),
        _ => (format!("{change} shorter"), expected),
    };
    format!(" Simulated with {}, {they_are} {change} (at least {expected} expected): {says}.", with(check))
}

/// The edit that the simulation had in place of the cause.
fn with(check: &Check) -> String {
    let who = check.culprit.as_deref().map(figure::name).unwrap_or_default();
    match check.cause.as_str() {
        "behind" => format!("{who} on CPUs of its own"),
        "behind_own" => format!("{who} on any of twice as many CPUs"),
        "idle_cpu_forbidden" => "all CPUs allowed".into(),
        "throttled" => format!("no CPU limit on {who}"),
        "io_limit" => format!("no I/O limit on {who}"),
        "computing" => format!("half of {who}'s computing"),
        LockPart::CAUSE => format!("lock {who} held for half the time"),
        _ => "disks twice as fast".into(),
    }
}

/// `nouns`, whose first word is a plural, of one.
fn one_of(nouns: &str) -> String {
    let (first, rest) = nouns.split_at(nouns.find(' ').unwrap_or(nouns.len()));
    first.strip_suffix('s').unwrap_or(first).to_string() + rest
}

/// The latencies that are added up.
pub(super) fn slowest(tail: &Tail) -> String {
    let from = figure::time(Some(tail.from_ns));
    match tail.count {
        1 => format!("the slowest ({from})"),
        count => format!("the {count} slowest ({from} and more)"),
    }
}

/// How many latencies there are, and how long they take.
pub(super) fn figures(why: &Why) -> String {
    let by = why.policy.as_ref().map_or_else(|| ", as recorded".into(), |policy| format!(" under {policy}"));
    format!(
        "{}{by}: {} {}, mean {}, p99 {}, worst {}",
        figure::printable(&why.input),
        why.count,
        figure::printable(&if why.count == 1 { one_of(&why.whom) } else { why.whom.clone() }),
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
                let slowest = if why.count == 1 { "it changes" } else { "the slowest change" };
                format!("A run with {} {verdict}: {slowest} from {change}.", figure::printable(&check.removed))
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
        _ if !why.doubts.is_empty() => Mood::Untrusted,
        (true, _) | (_, Some("holds")) => Mood::Sure,
        (_, Some("fails")) => Mood::Untrusted,
        (_, None) if why.policy.is_none() => Mood::Sure,
        _ => Mood::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(count: u64, tail: u64) -> Why {
        let part = Part { cause: "computing".into(), culprit: Some("a".into()), total_ns: 900, share: 0.9, rule: None };
        Why {
            schema: super::super::SCHEMA.into(),
            input: "x".into(),
            policy: None,
            seed: None,
            of: "waits".into(),
            whom: "waits of a".into(),
            count,
            mean_ns: None,
            p99_ns: None,
            worst_ns: None,
            tail: Tail { count: tail, from_ns: 1_000, total_ns: 1_000, parts: vec![part], locks: vec![] },
            worst: vec![],
            checks: vec![],
            profile: vec![],
            doubts: vec![],
            notes: vec![],
        }
    }

    #[test]
    fn one_percent_is_said_of_a_hundred_and_more_and_one_is_no_plural() {
        for (count, tail, said) in [
            (1, 1, "The only wait spent 90 % of its time computing: a."),
            (30, 10, "The slowest waits spent 90 % of their time computing: a."),
            (999, 10, "The slowest 1 % of waits spent 90 % of their time computing: a."),
            (9_999, 10, "The slowest waits spent 90 % of their time computing: a."),
        ] {
            assert_eq!(headline(&why(count, tail)), said);
        }
        assert!(figures(&why(1, 1)).contains("1 wait of a,"), "{}", figures(&why(1, 1)));
        assert_eq!([slowest(&why(1, 1).tail), slowest(&why(30, 10).tail)].map(|it| it.matches("10").count()), [0, 1]);
    }

    #[test]
    fn a_rule_is_that_of_whoever_let_it_wait() {
        let rule = |cause: &str, rule: &str| {
            let mut why = why(30, 10);
            why.policy = Some("eevdf:base_slice=3ms+mq-deadline".into());
            let named = crate::rule::Rule { name: rule.into(), said: String::new() };
            let main = Part { cause: cause.into(), rule: Some(named), ..why.tail.parts[0].clone() };
            rule_in_words(&why, &main)
        };
        assert_eq!(rule("behind", "first"), " Why eevdf ran a first: first come, first served.");
        assert_eq!(rule("disk_queue", "batch"), " Why the disk served others first: a batch of the other direction.");
        assert_eq!(rule("disk_queue", "idles"), " Why the disk served none: a disk kept idle for another process.");
        assert_eq!(["cpu_starts", "throttled"].map(|cause| rule(cause, "first")), ["", ""]);
    }
}
