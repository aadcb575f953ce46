//! The rule by which a policy placed a task on a CPU, in words.

use super::Rule;
use goodness_core::Placement;

impl From<Placement> for Rule {
    fn from(placement: Placement) -> Rule {
        Rule { name: placement.name().into(), said: words(placement) }
    }
}

/// The rule as the end of a sentence about the task.
fn words(placement: Placement) -> String {
    match placement {
        Placement::OnlyCpu => "it may use no other CPU".into(),
        Placement::OnlyOnline => "it may use no other CPU that is online".into(),
        Placement::IdleCpu => "that CPU idled".into(),
        Placement::StillQueued => "it had not left the run queue there".into(),
        Placement::NoneIdleNear => "no allowed CPU that shares a cache with it idled".into(),
        Placement::SearchEnded { looked_at } => {
            format!("the search for an idle CPU ended after {looked_at}, as all CPUs were busy before")
        }
        Placement::NoneIdle => "no allowed CPU idled".into(),
        Placement::LessUrgent => "what ran there was less urgent".into(),
        Placement::NoneLessUrgent => "no allowed CPU ran anything less urgent".into(),
        Placement::StaysWithParent => "no other part of the machine was idler by enough to leave its parent".into(),
    }
}
