//! Identifies a run so that it can be reproduced.

use std::fmt;

/// One run of many. With the same work and machine, it is reproducible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Again {
    /// The policy, as typed.
    pub policy: String,
    /// The elevator as typed, if any.
    pub elevator: Option<String>,
    /// Changes to work and machine, as typed.
    pub edits: Vec<String>,
    /// The seed of the plan.
    pub seed: u64,
    /// The number of the replication.
    pub replication: u32,
}

impl fmt::Display for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.policy)?;
        if let Some(elevator) = &self.elevator {
            write!(f, "+{elevator}")?;
        }
        self.edits.iter().try_for_each(|edit| write!(f, " {edit}"))?;
        write!(f, ", seed {}, replication {}", self.seed, self.replication)
    }
}
