//! Defines replication `n` of seed `s`.

use goodness_core::{Machine, Seed, Span};

/// Most replications that a command runs of one arm. A choice.
pub const RUNS_MAX: u32 = 10_000;

/// One replication of a seed. The same replication of the same work is the same run in a comparison, a study, a
/// prediction and a test, which makes them comparable.
///
/// Replication 0 is the work and machine as given. The others draw new lengths and another tick phase, because the
/// phase can decide for a whole run which task is preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replication {
    /// Its number, from 0.
    pub number: u32,
    /// Random seed of the work and the policy.
    pub seed: Seed,
    /// Random seed of the tick phase.
    phase: Seed,
}

impl Replication {
    /// Replication `number` of `seed`.
    #[must_use]
    pub fn of(seed: u64, number: u32) -> Replication {
        let stream = |name| Seed(seed).stream(name, u64::from(number));
        Replication { number, seed: stream("replication"), phase: stream("tick phase") }
    }

    /// The machine of this replication: as given for replication 0, else with a random tick phase.
    #[must_use]
    pub fn machine(&self, machine: &Machine) -> Machine {
        let mut machine = machine.clone();
        if self.number > 0 {
            machine.first_tick = Span(1 + self.phase.rng().below(machine.tick().0));
        }
        machine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_replication_has_the_machine_as_given_and_the_others_a_phase_of_their_own() {
        let machine = Machine::flat(2, 250).unwrap();
        assert_eq!(Replication::of(1, 0).machine(&machine).first_tick, machine.first_tick);
        let phases: Vec<u64> = (1..50).map(|n| Replication::of(1, n).machine(&machine).first_tick.0).collect();
        assert!(phases.iter().all(|phase| (1..=machine.tick().0).contains(phase)), "{phases:?}");
        assert!(phases.windows(2).all(|two| two[0] != two[1]), "{phases:?}");
    }

    #[test]
    fn seed_and_number_make_a_replication_and_nothing_else_does() {
        assert_eq!(Replication::of(7, 3), Replication::of(7, 3));
        assert_ne!(Replication::of(7, 3).seed, Replication::of(8, 3).seed);
        assert_ne!(Replication::of(7, 3).seed, Replication::of(7, 4).seed);
        // Every published figure depends on these values: changing one changes all figures.
        assert_eq!(Replication::of(1, 0).seed, Seed(1).stream("replication", 0));
    }
}
