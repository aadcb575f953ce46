//! Whole simulations, all checkers on: machine, work, faults, policy, elevator and all their settings are chosen by the
//! bytes, as the swarm draws them.
#![no_main]

#[allow(dead_code, reason = "the swarm draws in ways of its own, too")]
#[path = "../../crates/goodness/tests/swarm/draw.rs"]
mod draw;
#[allow(dead_code, reason = "the swarm counts what kept all rules")]
#[path = "../../crates/goodness/tests/swarm/outcome.rs"]
mod outcome;

use draw::{Drawn, Scope, Source};
use outcome::{Outcome, contender, values};

/// Simulations of a few decisions to some thousands. Shorter ones do not show that a policy has lost a task.
const SMALL: Scope = Scope {
    classes: &["normal", "normal", "batch", "idle", "iso", "deadline", "fifo", "rr"],
    cpus: &[1, 2, 3, 4],
    duration: (45, 300),
    kinds: 4,
    copies: 2,
};
/// Progress messages, of at most 1024 events each, after which a simulation is left.
const PATIENCE: u64 = 32;

/// Choices from bytes, as many of them as a choice needs; 0 once they are used up.
struct Bytes<'a>(&'a [u8]);

impl Source for Bytes<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        let (mut value, mut reached) = (0_u64, 1_u64);
        while reached < bound {
            let Some((first, rest)) = self.0.split_first() else { break };
            (value, self.0) = (value << 8 | u64::from(*first), rest);
            reached = reached.saturating_mul(256);
        }
        value % bound
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let drawn = Drawn::from(&mut Bytes(bytes), &SMALL);
    let Ok(contender) = contender(&drawn) else { return };
    let once = || match values(&drawn, &contender, PATIENCE) {
        Err(Outcome::Broken(why)) => panic!("{why}\ngoodness run FILE {}\n{}", drawn.words(), drawn.experiment),
        outcome => outcome.ok(),
    };
    // Every eighth is simulated twice.
    if let Some(first) = once().filter(|_| drawn.seed.is_multiple_of(8)) {
        assert_eq!(Some(first), once(), "two runs differ\ngoodness run FILE {}\n{}", drawn.words(), drawn.experiment);
    }
});
