//! Random whole simulations, all checkers on: machine, work, policy, elevator and all their settings are drawn. None
//! may break a rule, panic, or differ from its repetition.
//!
//! The seed is another one in each run and is printed; `GOODNESS_SEED` repeats one. `GOODNESS_SWARM` is the number of
//! simulations:
//!
//! ```text
//! GOODNESS_SWARM=10000 cargo test --release -p goodness --test swarm -- --nocapture
//! ```

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "the ledgers and the fuzzer draw in ways of their own")]
mod draw;
mod outcome;

use draw::Drawn;
use goodness::shrink::{Symptom, shrink};
use goodness::{Contender, Own, PolicySpec, Progress};
use goodness_core::*;
use outcome::{Outcome, contender, values};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Simulations where nobody asks for more; `.ci/run` does.
const FEW: u64 = 60;
/// Time after which shrinking is given up and the whole experiment stands. A choice: planted mistakes take seconds.
const SHRINKING: Duration = Duration::from_secs(300);

/// Progress messages after which a simulation is left: it is long, not wrong.
const PATIENCE: u64 = 4_000;

/// Simulates it twice.
fn outcome(drawn: &Drawn, contender: &Contender) -> Outcome {
    match (values(drawn, contender, PATIENCE), values(drawn, contender, PATIENCE)) {
        (Ok(first), Ok(second)) if first == second => Outcome::Kept(first.0),
        (Ok(_), _) => Outcome::Broken("two runs of one seed differ".into()),
        (Err(why), _) => why,
    }
}

/// Writes the smallest experiment that still shows it, of those tried in time, and says how to see it.
fn keep(folder: &Path, name: &str, drawn: &Drawn, contender: &Contender, why: &str) -> String {
    let arms = [contender.clone()];
    let path: PathBuf = folder.join(format!("{name}.toml"));
    std::fs::write(&path, &drawn.experiment).expect("the folder can be written to");
    eprintln!("{name}: {why}\n  shrinking {} {}", path.display(), drawn.words());
    let begun = Instant::now();
    let watch = |_: Progress| match begun.elapsed() < SHRINKING {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    if let Ok(small) = shrink(("swarm.toml", &drawn.experiment), &arms, Symptom::Violation, drawn.seed, &watch) {
        std::fs::write(&path, small.text).expect("the folder can be written to");
    }
    format!("{name}: {why}\n  see it with: goodness run {} {}", path.display(), drawn.words())
}

/// Outcomes of many simulations.
#[derive(Default)]
struct Tally {
    kept: u64,
    decisions: u64,
    refused: Vec<String>,
    left: u64,
    broken: Vec<String>,
}

impl Tally {
    fn add(&mut self, seed: u64, number: u64) {
        let drawn = Drawn::of(seed, number);
        let contender = match contender(&drawn) {
            Ok(contender) => contender,
            Err(refusal) => return self.refused.push(refusal.to_string()),
        };
        match outcome(&drawn, &contender) {
            Outcome::Kept(made) => (self.kept, self.decisions) = (self.kept + 1, self.decisions + made),
            Outcome::Refused(why) => self.refused.push(why),
            Outcome::Long => self.left += 1,
            Outcome::Broken(why) => {
                let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
                let told = keep(folder, &format!("swarm-{seed}-{number}"), &drawn, &contender, &why);
                eprintln!("{told}");
                self.broken.push(told);
            }
        }
    }

    fn join(mut self, other: Tally) -> Tally {
        (self.kept, self.decisions) = (self.kept + other.kept, self.decisions + other.decisions);
        self.left += other.left;
        self.refused.extend(other.refused);
        self.broken.extend(other.broken);
        self
    }
}

/// Draws `count` simulations of `seed`, on all CPUs of this machine.
fn tally(seed: u64, count: u64) -> Tally {
    let threads = std::thread::available_parallelism().map_or(1, |it| it.get() as u64);
    let of_one = |first: u64| {
        let mut tally = Tally::default();
        (first..count).step_by(threads as usize).for_each(|number| tally.add(seed, number));
        tally
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|first| scope.spawn(move || of_one(first))).collect();
        let ended = all.into_iter().map(|it| it.join().expect("panics of a simulation are caught"));
        ended.fold(Tally::default(), Tally::join)
    })
}

#[test]
fn no_drawn_simulation_breaks_a_rule() {
    let (seed, count) = common::seed_and_count("GOODNESS_SWARM", FEW);
    let Tally { kept, decisions, refused, left, broken } = tally(seed, count);
    println!("{kept} of {count} kept all rules in {decisions} decisions; {} refused, {left} left", refused.len());
    refused.iter().take(3).for_each(|why| println!("refused: {why}"));
    assert!(broken.is_empty(), "seed {seed}: {} of {count} are broken\n{}", broken.len(), broken.join("\n"));
    assert!(kept * 2 > count, "seed {seed}: {kept} of {count} ran, the others were refused or left");
}

/// Shrunk from number 3747 of seed 11: a task is preempted while its CPU still waits for the global lock.
#[test]
fn a_cpu_preempted_before_it_has_paid_for_its_pick_pays_for_it() {
    let drawn = Drawn {
        experiment: include_str!("unpaid_pick.toml").into(),
        policy: "edf:timeslice=1us".into(),
        elevator: None,
        seed: 386,
    };
    let found = outcome(&drawn, &contender(&drawn).expect("a policy"));
    assert!(matches!(found, Outcome::Kept(1..)), "{found:?}");
}

/// Round robin that now and then loses a task, or panics.
struct Wrong {
    inner: Box<dyn CpuPolicy>,
    calls: u64,
    panics: bool,
}

impl CpuPolicy for Wrong {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.inner.admit(cx, task, parent)
    }
    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        self.inner.select_cpu(cx, task, why)
    }
    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.calls += 1;
        match self.calls {
            30 if self.panics => panic!("planted"),
            30 => Resched::Keep,
            _ => self.inner.enqueue(cx, cpu, task, why),
        }
    }
    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.inner.dequeue(cx, cpu, task, why);
    }
    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        self.inner.pick_next(cx, cpu)
    }
    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.inner.charge(cx, cpu, task, ran, why)
    }
}

#[test]
fn a_planted_mistake_is_found_and_shrunk_to_a_file_that_shows_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for panics in [false, true] {
        let about = About { name: "wrong", ..*goodness_policies::entry("rr").expect("registered").about };
        let entry = Box::leak(Box::new(Own::described(Box::leak(Box::new(about)))));
        let make = move |machine: &Machine, seed| {
            let inner = PolicySpec::parse("rr").expect("registered").make(machine, seed).policy;
            Box::new(Wrong { inner, calls: 0, panics }) as Box<dyn CpuPolicy>
        };
        let wrong = Contender::policy(PolicySpec::own(Own::new(entry, make)));
        let found = (0..20).map(|number| Drawn { elevator: None, ..Drawn::of(1, number) }).find_map(|drawn| {
            match outcome(&drawn, &wrong) {
                Outcome::Broken(why) => Some((drawn, why)),
                _ => None,
            }
        });
        let (drawn, why) = found.expect("one of 20 shows it");
        let told = keep(folder.path(), "planted", &drawn, &wrong, &why);
        assert!(told.contains("planted.toml -p "), "{told}");
        let small = std::fs::read_to_string(folder.path().join("planted.toml")).expect("written");
        assert!(small.len() * 2 < drawn.experiment.len(), "{why}: it is no smaller:\n{small}");
        let again = Drawn { experiment: small, ..drawn };
        assert!(matches!(outcome(&again, &wrong), Outcome::Broken(_)), "{why}: the file no longer shows it");
    }
}

#[test]
fn the_same_seed_draws_the_same_simulation_and_another_seed_another() {
    let text = |seed, number| format!("{:?}", Drawn::of(seed, number));
    assert_eq!(text(7, 3), text(7, 3));
    assert_ne!(text(7, 3), text(8, 3));
    assert_ne!(text(7, 3), text(7, 4));
}
