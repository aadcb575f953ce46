//! A contender: a policy, plus an elevator if the work has disks.

use crate::again::Again;
use crate::edit::Edit;
use crate::refusal::Refusal;
use crate::spec::{ElevatorSpec, PolicySpec};
use std::fmt;

/// A policy and an elevator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// CPU policy.
    pub policy: PolicySpec,
    /// Elevator of the disks; `None` if the work leaves no disk's elevator open.
    pub elevator: Option<ElevatorSpec>,
    /// Changes to the work and the machine.
    pub edits: Vec<Edit>,
}

/// An arm that changes nothing.
const BASE: &str = "base";

impl Contender {
    /// A policy alone.
    #[must_use]
    pub fn policy(policy: PolicySpec) -> Contender {
        Contender { policy, elevator: None, edits: Vec::new() }
    }

    /// The arms of a comparison as typed. The unchanged work under `standard` comes first, unless one of the arms is
    /// it.
    ///
    /// # Errors
    /// As [`Contender::arm`].
    pub fn arms(typed: &[String], standard: &PolicySpec) -> Result<Vec<Contender>, Refusal> {
        if typed.iter().any(|text| text.trim().is_empty()) {
            let remedy = "write base for the unchanged work, or a change such as redis.nice=-5";
            return Err(Refusal::usage("an arm is empty").remedy(remedy).option("arm"));
        }
        let arms = typed.iter().map(|text| Contender::arm(text, standard)).collect::<Result<_, _>>()?;
        Ok(Contender::with_base(arms, standard))
    }

    /// `arms` after the unchanged work under `standard`, which one of them may be.
    #[must_use]
    pub fn with_base(mut arms: Vec<Contender>, standard: &PolicySpec) -> Vec<Contender> {
        let base = Contender::policy(standard.clone());
        if let Some(place) = arms.iter().position(|it| *it == base) {
            arms.remove(place);
        }
        arms.insert(0, base);
        arms
    }

    /// Parses a policy, or a policy and an elevator: `eevdf`, `o1+cfq:quantum=8`.
    ///
    /// # Errors
    /// An unknown name or setting (the nearest is named), or a value of the wrong kind or out of range.
    pub fn parse(text: &str) -> Result<Contender, Refusal> {
        let (policy, elevator) =
            text.split_once('+').map_or((text, None), |(policy, elevator)| (policy, Some(elevator)));
        let elevator = elevator.map(ElevatorSpec::parse).transpose()?;
        Ok(Contender { policy: PolicySpec::parse(policy)?, elevator, edits: Vec::new() })
    }

    /// An arm as typed: edits, and a policy where it is not `standard`, with blanks in between. `base` changes nothing.
    ///
    /// ```text
    /// redis.nice=-5    cpus=4    eevdf:base_slice=700us backup.class=batch
    /// ```
    ///
    /// A policy of the standard's name keeps the standard's other settings: of a recording made under
    /// `eevdf:kernel=6.18`, the arm `eevdf:base_slice=3ms` is `eevdf:kernel=6.18,base_slice=3ms`.
    ///
    /// # Errors
    /// An unknown name, key or setting (the nearest is named), a value out of range, or two policies.
    pub fn arm(text: &str, standard: &PolicySpec) -> Result<Contender, Refusal> {
        let mut arm = Contender::policy(standard.clone());
        let mut policies = 0;
        for part in text.split_whitespace().filter(|part| *part != BASE) {
            if let Some(edit) = Edit::parse(part)? {
                if let Some(former) = arm.edits.iter().find(|former| former.sets_as(&edit)) {
                    let what = format!("arm \"{text}\" has both {former} and {edit}");
                    return Err(Refusal::usage(what).remedy("leave one out, or make them two arms"));
                }
                arm.edits.push(edit);
                continue;
            }
            if part.contains('.') && !part.contains('=') {
                let what = format!("arm \"{text}\": {part} has no value");
                return Err(Refusal::usage(what).remedy("write it as one word, as in redis.nice=-5"));
            }
            policies += 1;
            let typed = Contender::parse(part)?;
            arm = Contender { edits: arm.edits, policy: typed.policy.over(standard), ..typed };
        }
        match policies {
            0 | 1 => Ok(arm),
            _ => Err(Refusal::usage(format!("arm \"{text}\" names {policies} policies")).remedy("name one")),
        }
    }

    /// Each of `policies` with each of `elevators`, or alone without elevators.
    #[must_use]
    pub fn cross(policies: &[PolicySpec], elevators: &[ElevatorSpec]) -> Vec<Contender> {
        if elevators.is_empty() {
            return policies.iter().cloned().map(Contender::policy).collect();
        }
        let with_all = |policy: &PolicySpec| {
            let one = |elevator: &ElevatorSpec| Contender {
                elevator: Some(elevator.clone()),
                ..Contender::policy(policy.clone())
            };
            elevators.iter().map(one).collect::<Vec<_>>()
        };
        policies.iter().flat_map(with_all).collect()
    }

    /// The words that reproduce run `replication` of `seed`.
    #[must_use]
    pub fn again(&self, seed: u64, replication: u32) -> Again {
        let elevator = self.elevator.as_ref().map(ToString::to_string);
        let edits = self.edits.iter().map(ToString::to_string).collect();
        Again { policy: self.policy.to_string(), elevator, edits, seed, replication }
    }

    /// Its changes of `standard`, as [`Contender::arm`] reads it: `cpus=4`, `eevdf:base_slice=3ms`, `base`. An elevator
    /// that is the standard's is left out; [`Contender::arm`] leaves the work's elevator in its place.
    #[must_use]
    pub fn beside(&self, standard: &Contender) -> String {
        let elevator = self.elevator.as_ref().filter(|_| self.elevator != standard.elevator);
        let mut parts: Vec<String> = Vec::new();
        match elevator {
            Some(elevator) => parts.push(format!("{}+{elevator}", self.policy.beside(&standard.policy))),
            None if self.policy != standard.policy => parts.push(self.policy.beside(&standard.policy).to_string()),
            None => {}
        }
        parts.extend(self.edits.iter().map(ToString::to_string));
        if parts.is_empty() { BASE.into() } else { parts.join(" ") }
    }

    /// The registered names: `eevdf`, `eevdf+bfq`.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.elevator {
            None => self.policy.name.into(),
            Some(elevator) => format!("{}+{}", self.policy.name, elevator.name),
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.policy)?;
        if let Some(elevator) = &self.elevator {
            write!(f, "+{elevator}")?;
        }
        self.edits.iter().try_for_each(|edit| write!(f, " {edit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_meets_every_elevator() {
        let policies = ["rr", "eevdf"].map(|name| PolicySpec::parse(name).unwrap());
        let elevators = ["noop", "noop:merge=last"].map(|name| ElevatorSpec::parse(name).unwrap());
        let all = Contender::cross(&policies, &elevators);
        let shown: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["rr+noop", "rr+noop:merge=last", "eevdf+noop", "eevdf+noop:merge=last"]);
        assert_eq!(Contender::cross(&policies, &[]).len(), 2);
    }

    #[test]
    fn the_unchanged_work_comes_first_wherever_it_was_named() {
        let standard = PolicySpec::parse("eevdf:kernel=6.18").unwrap();
        let base = Contender::policy(standard.clone());
        let nice = Contender::arm("web.nice=5", &standard).unwrap();
        for arms in [vec![nice.clone()], vec![base.clone(), nice.clone()], vec![nice.clone(), base.clone()]] {
            assert_eq!(Contender::with_base(arms, &standard), [base.clone(), nice.clone()]);
        }
        assert!(Contender::arm("web.nice = 5", &standard).is_err_and(|it| it.to_string().contains("one word")));
    }

    #[test]
    fn the_changes_of_a_contender_are_read_back() {
        let contender = |text| Contender::parse(text).unwrap();
        let standard = contender("eevdf:kernel=6.18+mq-deadline");
        let beside = |text| contender(text).beside(&standard);
        assert_eq!(beside("eevdf:kernel=6.18,base_slice=2ms+mq-deadline"), "eevdf:base_slice=2ms");
        assert_eq!(beside("eevdf:kernel=6.18+mq-deadline"), "base");
        for text in ["eevdf:kernel=6.18,base_slice=2ms+bfq", "eevdf:kernel=6.18+mq-deadline:fifo_batch=4"] {
            let read = Contender::arm(&beside(text), &standard.policy).unwrap();
            assert_eq!(read, contender(text), "{}", beside(text));
        }
    }

    #[test]
    fn an_arm_is_edits_and_perhaps_a_policy() {
        let standard = PolicySpec::parse("cfs").unwrap();
        let arm = |text| Contender::arm(text, &standard).map(|arm| arm.to_string()).map_err(|why| why.to_string());
        assert_eq!(arm("base").as_deref(), Ok("cfs"));
        assert_eq!(arm("redis.nice=-5 cpus=4").as_deref(), Ok("cfs redis.nice=-5 cpus=4"));
        assert_eq!(arm("a.class=batch eevdf:base_slice=1ms").as_deref(), Ok("eevdf:base_slice=1ms a.class=batch"));
        let standard = PolicySpec::parse("eevdf:kernel=6.18,base_slice=700us").unwrap();
        let over = |text| Contender::arm(text, &standard).unwrap().to_string();
        assert_eq!(over("eevdf:base_slice=3ms"), "eevdf:kernel=6.18,base_slice=3ms");
        assert_eq!(over("eevdf:kernel=6.12"), "eevdf:kernel=6.12", "another kernel has its own defaults");
        assert_eq!(over("eevdf"), standard.to_string(), "the policy as recorded");
        assert_eq!(over("cfs"), "cfs");
        assert!(arm("eevdf o1").unwrap_err().contains("names 2 policies"));
        assert!(arm("a.nice=3 a.nice=5").unwrap_err().contains("both a.nice=3 and a.nice=5"));
    }
}
