//! Commands that change this machine, two or three at a time, killed at random instants, some together with their
//! guards: the machine is as before, or `goodness doctor` says what is not and restores it. Needs root.
//!
//! The seed is another one in each run and is printed; `GOODNESS_SEED` repeats its draws, though not the instants at
//! which the machine carries them out. `GOODNESS_TOGETHER` is the number of draws:
//!
//! ```text
//! GOODNESS_TOGETHER=500 cargo test --release -p goodness-cli --features live --test root_together -- --nocapture
//! ```

#[path = "../../../goodness/tests/common/mod.rs"]
mod common;
mod leftovers;
mod victim;

use goodness_core::{Rng, Seed};
use goodness_restore::Owner;
use goodness_ublk::disks::LoopDisk;
use leftovers::Leftovers;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use victim::{End, Ended, Victim};

/// Draws where nobody asks for more.
const FEW: u64 = 10;
/// Bytes of the disk whose elevator the commands change.
const DISK: u64 = 16 << 20;
/// Time limit for what guards undo, behind the end of other users of the same settings.
const PATIENCE: Duration = Duration::from_secs(20);

/// Counts over all draws.
#[derive(Debug, Default)]
struct Tally {
    commands: u64,
    killed: u64,
    guards_killed: u64,
    signalled: u64,
    /// Commands by exit code; those that a signal ended by `None`.
    ended: BTreeMap<Option<i32>, u64>,
    refused_for_another: u64,
    /// Draws after which `goodness doctor` had something to restore.
    told_by_doctor: u64,
}

fn goodness(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_goodness")).args(words).output().expect("the program starts")
}

/// The commands, with what they read in `folder`. Several change the same settings, the same disk and the same file.
fn write_inputs(folder: &Path, disk: &str) {
    let race = |arm: &str| {
        format!(
            "name = \"together\"\nblocks = 3\nwarmup = 0\nstop = \"never\"\noutside_load = \"100%\"\n\
             measures = [\"cpu_time\"]\n[load]\nuse = \"spin\"\nwork = 2\nhogs = 1\n[[arm]]\nname = \"a\"\n\
             [[arm]]\nname = \"b\"\n{arm}\n"
        )
    };
    let play = "duration = \"400ms\"\n[[group]]\nname = \"g\"\ncpu_weight = 50\n[[task]]\nname = \"x\"\ngroup = \"g\"\n\
                program = [ { compute = \"1ms\" }, { sleep = \"4ms\" } ]\n";
    let own_disk = race("elevator = \"bfq\"")
        .replace("use = \"spin\"\nwork = 2\nhogs = 1", "use = \"fio\"\njob = \"job.fio\"\nsize = 16");
    let files = [
        ("autogroup.toml", race("autogroup = false")),
        ("weight.toml", race("weight = 10")),
        ("bfq.toml", race(&format!("elevator = {{ use = \"bfq\", device = \"{disk}\", low_latency = 0 }}"))),
        ("kyber.toml", race(&format!("elevator = {{ use = \"kyber\", device = \"{disk}\" }}"))),
        ("fio.toml", own_disk.replace("measures = [\"cpu_time\"]\n", "")),
        ("job.fio", "[r]\nrw=randread\nbs=4k\ntime_based\nruntime=200ms\n".into()),
        ("play.toml", play.into()),
    ];
    files.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).expect("scratch"));
}

/// Commands by what they change: a setting, cgroups, a disk, a disk of their own, tracing and a file, nothing.
const COMMANDS: [&[&[&str]]; 6] = [
    &[&["race", "autogroup.toml", "--quiet"]],
    &[&["race", "weight.toml", "--quiet"], &["play", "play.toml"]],
    &[&["race", "bfq.toml", "--quiet"], &["race", "kyber.toml", "--quiet"]],
    &[&["race", "fio.toml", "--quiet"]],
    &[
        &["record", "--quiet", "-d", "400ms", "-o", "one.gz"],
        &["record", "--quiet", "--messages", "-o", "one.gz", "--", "sleep", "0.3"],
        &["record", "--quiet", "-d", "400ms", "-o", "other.gz"],
    ],
    &[&["calibrate", "--quiet"]],
];

/// Two or three random commands that end at random instants; in half of the draws all change the same.
fn draw(rng: &mut Rng) -> Vec<Victim> {
    const ENDS: [End; 6] = [End::Itself, End::Interrupt, End::Terminate, End::Kill, End::Kill, End::KillWithGuard];
    fn one_of<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
        all[rng.below(all.len() as u64) as usize]
    }
    let count = rng.within(2, 3);
    let same = (rng.below(2) == 0).then(|| one_of(rng, &COMMANDS));
    let draw_one = |_| Victim {
        words: {
            let kind = same.unwrap_or_else(|| one_of(rng, &COMMANDS));
            one_of(rng, kind)
        },
        begin: Duration::from_millis(rng.below(200)),
        end: one_of(rng, &ENDS),
        after: Duration::from_millis(rng.below(900)),
    };
    (0..count).map(draw_one).collect()
}

/// Runs `victims` in `folder` until all have ended, and counts how.
fn run(victims: &[Victim], folder: &Path, tally: &mut Tally) -> Vec<Ended> {
    let ended: Vec<Ended> = std::thread::scope(|scope| {
        let running: Vec<_> = victims.iter().map(|victim| scope.spawn(move || victim.run(folder))).collect();
        let ends = running.into_iter().zip(victims);
        ends.map(|(it, victim)| it.join().expect("no panic").unwrap_or_else(|why| panic!("{victim:?}: {why}")))
            .collect()
    });
    for (it, victim) in ended.iter().zip(victims) {
        assert!(it.is_proper(), "{victim:?}: {it:?}");
        tally.commands += 1;
        tally.killed += u64::from(matches!(it.sent, Some(End::Kill | End::KillWithGuard)));
        tally.guards_killed += u64::from(it.guards > 0);
        tally.signalled += u64::from(matches!(it.sent, Some(End::Interrupt | End::Terminate)));
        tally.refused_for_another += u64::from(it.said.contains("is in use by"));
        if it.status.code() == Some(2) {
            println!("{}: {}", victim.words.join(" "), it.said.trim());
        }
        *tally.ended.entry(it.status.code()).or_default() += 1;
    }
    ended
}

/// Living commands of other users of this machine that own a setting which differs.
fn others(left: &[String], ids: &[u32]) -> Vec<Owner> {
    let is_left = |path: &PathBuf| left.iter().any(|it| it.starts_with(&path.display().to_string()));
    let mut owners = goodness_restore::owners();
    owners.retain(|it| !ids.contains(&it.process) && it.resources.iter().any(is_left));
    owners
}

/// Waits until nothing is left of the commands of `draw`. Where guards were killed, too, what is left is told by
/// `goodness doctor`, which restores it. What others change meanwhile is theirs.
fn restored(before: &Leftovers, disk: &str, ended: &[Ended], tally: &mut Tally, draw: &str) {
    let ids: Vec<u32> = ended.iter().map(|it| it.id).collect();
    let guards_killed = ended.iter().any(|it| it.guards > 0);
    let mut begun = Instant::now();
    let mut asked = false;
    loop {
        let left = Leftovers::of(disk, &ids).beyond(before);
        if left.is_empty() {
            return;
        }
        if !others(&left, &ids).is_empty() {
            begun = Instant::now();
        }
        if begun.elapsed() > PATIENCE {
            let (owners, told) = (goodness_restore::owners(), goodness(&["doctor"]));
            panic!("{draw}: {left:#?} after {ended:#?}; owners {owners:#?}; {}", String::from_utf8_lossy(&told.stdout));
        }
        if guards_killed && !asked && begun.elapsed() > Duration::from_millis(300) {
            let told = goodness(&["doctor"]);
            asked = told.status.code() == Some(1);
            tally.told_by_doctor += u64::from(asked);
            drop(goodness(&["doctor", "--restore"]));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn of_commands_that_run_and_die_together_nothing_is_left() {
    if goodness_sys::effective_user() != 0 {
        println!("SKIPPED of_commands_that_run_and_die_together_nothing_is_left: needs root; run the tests with sudo");
        return;
    }
    let (seed, count) = common::seed_and_count("GOODNESS_TOGETHER", FEW);
    let scratch = tempfile::tempdir().expect("scratch");
    let disk = LoopDisk::make(scratch.path(), DISK).expect("a loop device");
    let name = disk.device().file_name().expect("a name").to_string_lossy().into_owned();
    let before = Leftovers::of(&name, &[]);
    let mut tally = Tally::default();
    for number in 0..count {
        let victims = draw(&mut Seed(seed).stream("together", number).rng());
        let folder = tempfile::tempdir().expect("scratch");
        write_inputs(folder.path(), &name);
        let ended = run(&victims, folder.path(), &mut tally);
        restored(&before, &name, &ended, &mut tally, &format!("seed {seed}, draw {number}: {victims:#?}"));
    }
    println!("{count} draws: {tally:?}");
}
