//! Whole simulations, all checkers on: machine, work, faults, policy, elevator and all their settings are chosen by the
//! bytes, as the swarm draws them.
#![no_main]

#[allow(dead_code, reason = "the swarm draws in ways of its own, too")]
#[path = "../../../crates/goodness/tests/swarm/draw.rs"]
mod draw;
#[allow(dead_code, reason = "the swarm counts what kept all rules")]
#[path = "../../../crates/goodness/tests/swarm/outcome.rs"]
mod outcome;

use draw::{Bytes, Drawn, SMALL};
use outcome::{Outcome, contender, values};

/// Progress messages, of at most 1024 events each, after which a simulation is left.
const PATIENCE: u64 = 32;

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
