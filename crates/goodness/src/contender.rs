//! A contender: a policy, plus an elevator if the work has disks.

use crate::again::Again;
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
}

impl Contender {
    /// A policy alone.
    #[must_use]
    pub fn policy(policy: PolicySpec) -> Contender {
        Contender { policy, elevator: None }
    }

    /// Parses a policy, or a policy and an elevator: `eevdf`, `o1+cfq:quantum=8`.
    ///
    /// # Errors
    /// An unknown name or setting (the nearest is named), or a value of the wrong kind or out of range.
    pub fn parse(text: &str) -> Result<Contender, Refusal> {
        let (policy, elevator) =
            text.split_once('+').map_or((text, None), |(policy, elevator)| (policy, Some(elevator)));
        let elevator = elevator.map(ElevatorSpec::parse).transpose()?;
        Ok(Contender { policy: PolicySpec::parse(policy)?, elevator })
    }

    /// Each of `policies` with each of `elevators`, or alone without elevators.
    #[must_use]
    pub fn cross(policies: &[PolicySpec], elevators: &[ElevatorSpec]) -> Vec<Contender> {
        if elevators.is_empty() {
            return policies.iter().cloned().map(Contender::policy).collect();
        }
        let with_all = |policy: &PolicySpec| {
            let one = |elevator: &ElevatorSpec| Contender { policy: policy.clone(), elevator: Some(elevator.clone()) };
            elevators.iter().map(one).collect::<Vec<_>>()
        };
        policies.iter().flat_map(with_all).collect()
    }

    /// How to reproduce run `replication` of `seed`.
    #[must_use]
    pub fn again(&self, seed: u64, replication: u32) -> Again {
        let elevator = self.elevator.as_ref().map(ToString::to_string);
        Again { policy: self.policy.to_string(), elevator, seed, replication }
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
        match &self.elevator {
            None => Ok(()),
            Some(elevator) => write!(f, "+{elevator}"),
        }
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
}
