//! Hostile input, drawn: files that people write and record, edited, and options with values that nobody means. Each
//! command ends with exit code 0 to 3, with one sentence if it refuses, without a panic, a signal, 6 GB of memory or 12
//! seconds without a line unless it is told to be quiet; one that goes on is interrupted and ends then.
//!
//! The seed is another one in each run and is printed; `GOODNESS_SEED` repeats one. `GOODNESS_HOSTILE` is the number of
//! commands, `GOODNESS_PROGRAM` another build of the program:
//!
//! ```text
//! GOODNESS_HOSTILE=10000 cargo test --release -p goodness-cli --test program hostile_draws -- --nocapture
//! ```

mod attempt;
mod files;
mod words;

use attempt::{Attempt, Outcome};
use files::Seeds;
use goodness_core::{Rng, Seed};
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use words::Options;

/// Commands where nobody asks for more.
const FEW: u64 = 60;

/// A number from the environment.
fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|it| it.parse().unwrap_or_else(|_| panic!("{name}={it} is no number")))
}

/// Draw number `number` of a seed.
fn draw(seed: u64, number: u64, seeds: &Seeds, options: &Options) -> Attempt {
    let mut rng: Rng = Seed(seed).stream("hostile", number).rng();
    let file = seeds.draw(&mut rng);
    let words = options.draw(&file, &mut rng);
    Attempt { number, file, words }
}

#[test]
fn drawn_hostile_commands_end_with_an_answer_or_a_sentence() {
    let count = asked("GOODNESS_HOSTILE").unwrap_or(FEW);
    let seed = asked("GOODNESS_SEED").unwrap_or_else(|| RandomState::new().hash_one(0) % 1_000_000);
    println!("GOODNESS_SEED={seed}, {count} commands");
    let (seeds, options) = (Seeds::of_tree(), Options::of_program());
    let next = AtomicU64::new(0);
    let told: Mutex<BTreeMap<Outcome, u64>> = Mutex::default();
    let failures: Mutex<Vec<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let attempt = draw(seed, number, &seeds, &options);
                    let (outcome, said) = attempt.run();
                    *told.lock().expect("no panic").entry(outcome).or_default() += 1;
                    if outcome.is_failure() {
                        let told = attempt.keep(seed, outcome, &said);
                        println!("{told}");
                        failures.lock().expect("no panic").push(told);
                    }
                }
            });
        }
    });
    println!("{:?}", told.into_inner().expect("no panic"));
    let failures = failures.into_inner().expect("no panic");
    assert!(failures.is_empty(), "GOODNESS_SEED={seed}, {} of {count}:\n{}", failures.len(), failures.join("\n"));
}

/// The control: programs that panic, die, say nothing, or go on when interrupted are told.
#[test]
fn a_program_that_breaks_the_rules_is_found() {
    let of = |script: &str| attempt::watched(attempt::shell(script), Duration::from_secs(3), Duration::from_secs(6)).0;
    for (script, outcome) in [
        ("echo fine", Outcome::Answered),
        ("echo 'error: no such file' >&2; exit 2", Outcome::Refused),
        ("echo 'error: one' >&2; echo 'error: two' >&2; exit 2", Outcome::NotOneSentence),
        ("exit 2", Outcome::NotOneSentence),
        ("echo \"thread 'main' panicked at main.rs\" >&2; exit 101", Outcome::Panicked),
        ("exit 7", Outcome::OtherCode),
        ("exit 4", Outcome::OtherCode),
        ("kill -SEGV $$", Outcome::Killed),
        ("exec sleep 60", Outcome::Silent),
        ("trap '' INT; while :; do echo going on; sleep 0.1; done", Outcome::WentOn),
        ("trap 'exit 1' INT; while :; do echo going on; sleep 0.1; done", Outcome::Interrupted),
    ] {
        assert_eq!(of(script), outcome, "{script}");
    }
}
