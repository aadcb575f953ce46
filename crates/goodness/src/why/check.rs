//! Checks a blame by a counterfactual: the cause is taken away by an edit, and the run simulated again with the same
//! seed.

use super::Question;
use super::run::{Explained, Found, answer};
use crate::contender::Contender;
use crate::edit::Edit;
use crate::parallel::Told;
use crate::refusal::Refusal;
use goodness_observe::blame::Late;
use goodness_report::why::{Check, LockPart, Part, said};

/// Difference between the part that was blamed and the part that went away up to which they agree. A choice.
const AGREES: f64 = 0.10;
/// Part of the blame that must go away for it to hold partly. A choice.
const PARTLY: f64 = 0.5;
/// Part of the time that is left to a task that is blamed for computing, to the holders of a lock, and to a disk.
const HALF: (u32, f64) = (50, 0.5);

/// Causes that faster disks take away.
const DISKS: [&str; 3] = ["disk_queue", "device", "dirty_memory"];

/// Takes away the cause of `part` and says what becomes of the latencies that `found` has.
pub(super) fn check(run: Explained, found: &Found, part: &Part, told: Told) -> Check {
    let with = mean(&found.lateness.tail);
    let not_checked = |removed: String, because: String| Check {
        cause: part.cause.clone(),
        culprit: part.culprit.clone(),
        removed,
        blamed: part.share,
        with_ns: with,
        without_ns: None,
        gone: None,
        verdict: "not_checked".into(),
        because,
    };
    let removal = match Removal::of(part, run) {
        Ok(removal) => removal,
        Err(because) => return not_checked(said(part), because.into()),
    };
    match removal.run(run, found, told) {
        Ok(Without { doubt: Some(doubt), .. }) => not_checked(removal.said(), doubt),
        Ok(Without { mean: without, then, .. }) => {
            let gone = 1.0 - without / with.max(1.0);
            let expected = part.share * removal.part;
            let verdict = match gone {
                gone if gone >= (expected - AGREES).max(expected * PARTLY) => "holds",
                gone if gone >= expected * PARTLY => "partly",
                _ => "fails",
            };
            let then = then.filter(|_| verdict != "holds").map_or_else(String::new, |then| format!("; then {then}"));
            let percent = |part: f64| format!("{:.0} %", 100.0 * part);
            let change = if gone < 0.0 { "longer" } else { "shorter" };
            // Of the same direction, the word stands once.
            let expects = if gone < 0.0 { " shorter" } else { "" };
            let (measured, expected) = (percent(gone.abs()), percent(expected));
            Check {
                without_ns: Some(without),
                gone: Some(gone),
                verdict: verdict.into(),
                because: format!("{measured} {change} ({expected}{expects} expected){then}"),
                ..not_checked(removal.said(), String::new())
            }
        }
        Err(refusal) => not_checked(removal.said(), refusal.to_string()),
    }
}

/// Parts that are asleep on disks, which one run checks, as one part: the first, with the shares of all.
pub(super) fn joined(parts: &[Part], run: Explained) -> Vec<Part> {
    let is_of_disks = |part: &Part| DISKS.contains(&part.cause.as_str());
    let mut joined: Vec<Part> = Vec::new();
    let has_disks = parts.iter().any(is_of_disks) && run.has_disks();
    for part in parts {
        match joined.iter_mut().find(|it| has_disks && is_of_disks(part) && is_of_disks(it)) {
            Some(first) => {
                first.total_ns += part.total_ns;
                first.share += part.share;
            }
            None => joined.push(part.clone()),
        }
    }
    joined
}

/// Mean of the longest latencies, ns.
fn mean(tail: &[Late]) -> f64 {
    tail.iter().map(|late| late.span().0 as f64).sum::<f64>() / tail.len().max(1) as f64
}

/// A way to take a cause away.
struct Removal {
    edits: Vec<Edit>,
    /// The part of the cause that it takes away.
    part: f64,
}

/// What is left without a cause.
struct Without {
    mean: f64,
    /// What the time is spent on then.
    then: Option<String>,
    /// Reason not to trust the run.
    doubt: Option<String>,
}

impl Removal {
    /// The way to take away what `part` blames; a sentence if there is none.
    fn of(part: &Part, run: Explained) -> Result<Removal, &'static str> {
        let cpus = run.contender.edits.iter().find_map(Edit::cpus).unwrap_or(run.work.machine.cpu_count() as u32);
        let who = part.culprit.as_deref().unwrap_or_default();
        let (edits, part) = match part.cause.as_str() {
            "behind" => (vec![Edit::apart(who)], 1.0),
            "behind_own" => (vec![Edit::cpus_of(2 * cpus), Edit::anywhere(who, 2 * cpus)], 1.0),
            "idle_cpu_forbidden" => (vec![Edit::anywhere(who, cpus)], 1.0),
            "throttled" => (vec![Edit::unlimited(who)], 1.0),
            "io_limit" => (vec![Edit::io_unlimited(who)], 1.0),
            "computing" => (vec![Edit::computes(who, HALF.0)], HALF.1),
            LockPart::CAUSE => (vec![Edit::holds(who, HALF.0)], HALF.1),
            // Their devices twice as fast: the queue before them is half as long, too.
            cause if DISKS.contains(&cause) && run.has_disks() => (vec![Edit::serves("*", HALF.0)], HALF.1),
            "idle_cpu_allowed" => return Err("the policy left it there: compare policies"),
            "cpu_starts" | "scheduler" => return Err("the machine's own time has no cause to take away"),
            _ => return Err("it is outside the simulated machine"),
        };
        Ok(Removal { edits, part })
    }

    /// The edits, as they are typed.
    fn said(&self) -> String {
        self.edits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    fn run(&self, run: Explained, found: &Found, told: Told) -> Result<Without, Refusal> {
        let contender = self.edits.iter().fold(run.contender.clone(), |it, edit| changed(&it, edit));
        let changed = Explained { contender: &contender, ..run };
        let question = Question { of: Some(found.of), at: None, worst: 0, checks: 0, profile: false };
        let without = changed.find(&question, told)?;
        let why = answer(changed, &question, &without, told)?;
        let then = why.tail.parts.first().map(said);
        Ok(Without { mean: mean(&without.lateness.tail), then, doubt: without.doubt })
    }
}

/// `contender` with one more edit: beside one that sets the same if they multiply, else in its place.
pub(super) fn changed(contender: &Contender, edit: &Edit) -> Contender {
    let mut contender = contender.clone();
    contender.edits.retain(|former| edit.multiplies() || !former.sets_as(edit));
    contender.edits.push(edit.clone());
    contender
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::PolicySpec;

    #[test]
    fn less_of_what_an_arm_has_more_of_is_less_of_that_and_not_of_what_was_before() {
        let policy = PolicySpec::parse("eevdf").expect("a policy");
        let edits = |arm: &str, edit: Edit| {
            let contender = Contender::arm(arm, &policy).expect("an arm");
            changed(&contender, &edit).edits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(edits("m.hold=200%", Edit::holds("m", 95)), "m.hold=200% m.hold=95%");
        assert_eq!(edits("sda.service=200%", Edit::serves("sda", 95)), "sda.service=200% sda.service=95%");
        assert_eq!(edits("a.compute=200%", Edit::computes("a", 95)), "a.compute=200% a.compute=95%");
        assert_eq!(edits("cpus=2", Edit::cpus_of(4)), "cpus=4", "numbers do not multiply");
    }
}
