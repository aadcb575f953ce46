//! Recordings as filters, clocks and hands change them, through whole commands: summed up, explained, run, verified.
//! Each is used or refused in a sentence; none panics or breaks a rule.
//!
//! The seed is another one in each run and is printed; `GOODNESS_SEED` repeats one. `GOODNESS_MUTANTS` is the number of
//! recordings:
//!
//! ```text
//! GOODNESS_MUTANTS=2000 cargo test --release -p goodness --test mutated -- --nocapture
//! ```

mod common;
#[path = "../../replay/tests/filtering/edits.rs"]
mod edits;

use edits::{Edit, edited, lines};
use goodness::why::{Question, why_recorded};
use goodness::{
    Arrivals, Contender, Ends, Excerpt, Kind, OpenOptions, Others, Plan, PolicySpec, Refusal, ReplayOptions, Runs,
    open, open_recording, shipped, unwatched,
};
use goodness_core::{Rng, Seed, Span};
use goodness_trace::{Input, summarise};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Recordings where nobody asks for more.
const FEW: u64 = 24;
/// Lines of each.
const LINES: usize = 2_500;

/// Up to four random edits.
fn draw_edits(rng: &mut Rng) -> Vec<Edit> {
    (0..rng.within(1, 4)).map(|_| Edit::of([(); 3].map(|()| rng.below(256) as u8))).collect()
}

/// Random options of opening a recording.
fn draw_options(rng: &mut Rng) -> OpenOptions {
    let from = Span(rng.below(40_000_000));
    OpenOptions {
        window: if rng.below(3) == 0 {
            Excerpt { from, to: from + Span(rng.within(1, 60_000_000)) }
        } else {
            Excerpt::WHOLE
        },
        machine: (rng.below(2) == 0).then(|| format!("cpus={}", rng.within(1, 4))),
        judge: if rng.below(4) == 0 { vec!["a*".into()] } else { Vec::new() },
        replay: ReplayOptions {
            arrivals: if rng.below(3) == 0 { Arrivals::Recorded } else { Arrivals::Delays },
            others: if rng.below(3) == 0 { Others::LeftOut } else { Others::Compete },
            ends: if rng.below(3) == 0 { Ends::Recorded } else { Ends::Open },
        },
        ..OpenOptions::default()
    }
}

/// Refuses runs in which a rule was broken.
fn kept(runs: &Runs) -> Result<(), Refusal> {
    runs.violation().map_or(Ok(()), |(_, it)| Err(Refusal::violated(format!("{}: {}", it.checker, it.sentence))))
}

/// What the commands make of the recording at `path`: the number of those that could use it.
///
/// # Errors
/// A broken rule, or a failure that is not the recording's.
fn used(path: &Path, options: &OpenOptions, policy: &str) -> Result<u64, String> {
    let name = path.to_str().expect("a plain path");
    let summed = Input::open(path).and_then(summarise).is_ok();
    let explained = why_recorded(name, options, &Question::default(), &unwatched).map(|_| ());
    let ran = open(name, options, &unwatched).and_then(|work| {
        let contender = Contender::policy(PolicySpec::parse(policy)?);
        let runs = Plan { runs: 2, recorded: None, ..Plan::of(&work, vec![contender]) }.run(&unwatched)?;
        kept(&runs)
    });
    // Verification takes the recorded machine.
    let recorded = OpenOptions { machine: None, ..options.clone() };
    let verified = open_recording(name, &recorded, &unwatched)
        .and_then(|work| kept(&Plan { runs: 1, ..Plan::of(&work, Vec::new()) }.run(&unwatched)?));
    let mut used = u64::from(summed);
    for found in [explained, ran, verified] {
        match found {
            Ok(()) => used += 1,
            Err(refusal) if refusal.kind == Kind::Usage => {}
            Err(refusal) => return Err(refusal.to_string()),
        }
    }
    Ok(used)
}

#[test]
fn an_edited_recording_is_used_or_refused_by_every_command() {
    let (seed, count) = common::seed_and_count("GOODNESS_MUTANTS", FEW);
    let recordings: Vec<Vec<String>> = ["apache-ab-c32-2cpu", "mariadb-sysbench-64", "redis-benchmark-8", "mixed-cpu"]
        .map(|name| lines(shipped::open(name, &unwatched).expect("it is shipped"), LINES))
        .into();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (mut uses, mut broken) = (0, Vec::new());
    for number in 0..count {
        let mut rng = Seed(seed).stream("mutants", number).rng();
        let whole = &recordings[rng.below(recordings.len() as u64) as usize];
        let (edits, options) = (draw_edits(&mut rng), draw_options(&mut rng));
        let policy = goodness_policies::ALL[rng.below(goodness_policies::ALL.len() as u64) as usize].name;
        let path = folder.join(format!("mutant-{seed}-{number}.txt"));
        std::fs::write(&path, edited(whole.clone(), &edits)).expect("the folder can be written to");
        let found = catch_unwind(AssertUnwindSafe(|| used(&path, &options, policy)));
        match found.unwrap_or_else(|_| Err("it panics".into())) {
            Ok(commands) => {
                uses += commands;
                std::fs::remove_file(&path).expect("it was written");
            }
            Err(why) => broken.push(format!("{}: {why}; -p {policy}, {edits:?}, {options:?}", path.display())),
        }
    }
    println!("{count} recordings were used by {uses} of {} commands, and refused by the others", 4 * count);
    assert!(broken.is_empty(), "seed {seed}: {} of {count} are broken\n{}", broken.len(), broken.join("\n"));
    assert!(uses > count, "seed {seed}: {uses} of {} commands used one of {count} recordings", 4 * count);
}

#[test]
fn each_edit_changes_the_text_and_leaves_some_of_it() {
    let whole = lines(shipped::open("apache-ab-c32-2cpu", &unwatched).expect("it is shipped"), LINES);
    let untouched = edited(whole.clone(), &[]);
    for kind in 0..14 {
        let edit = Edit::of([kind, 1, 40]);
        let text = edited(whole.clone(), &[edit]);
        assert!(text != untouched && text.len() > 1_000, "{edit:?} leaves {} bytes", text.len());
    }
}
