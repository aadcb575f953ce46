//! Jobs without chance do what fio itself does: as many I/Os, at the same offsets. fio's answers were logged on its
//! null engine by `scripts/make-fio-offsets`.

mod random;
mod replays;

use goodness_core::Seed;
use goodness_work::fio::{self, FioIo, FioOp, FioStream, Outside};

/// Bytes of the disk.
const WHOLE: u64 = 1 << 30;

/// I/Os of the job, 100 000 at most.
fn ios(options: &str, seed: u64) -> impl Iterator<Item = FioIo> {
    let text = format!("[j]\n{}\n", options.replace(' ', "\n"));
    let job = fio::read("t.fio", &text, &Outside::NOTHING).expect(options).remove(0);
    FioStream::new(&job, &vec![WHOLE; job.files.len()], Seed(seed)).expect(options).take(100_000)
}

/// The letter of what moves data.
const fn letter(op: FioOp) -> Option<char> {
    match op {
        FioOp::Read => Some('r'),
        FioOp::Write => Some('w'),
        FioOp::Trim => Some('t'),
        FioOp::Sync | FioOp::DataSync | FioOp::Drain => None,
    }
}

/// I/Os of the job as text, in the form of the expectations.
fn done(options: &str) -> String {
    let ios = ios(options, 1).filter_map(|io| Some((letter(io.op)?, io)));
    ios.map(|(letter, io)| format!("{letter}{}:{}+{}", io.file, io.offset, io.bytes)).collect::<Vec<_>>().join(" ")
}

fn expected() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("expected.log").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(" = ").expect("options and answer"))
}

#[test]
fn jobs_without_chance_do_what_fio_does() {
    let wrong: Vec<String> = expected()
        .filter(|(options, expected)| done(options) != *expected)
        .map(|(options, expected)| format!("{options}\n fio: {expected}\nhere: {}", done(options)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_gap_too_small_is_noticed() {
    let (_, answer) = expected().find(|(options, _)| *options == "rw=read:8k bs=4k size=1m").expect("it was asked for");
    assert_eq!(answer.split(' ').count(), 86);
    assert_ne!(done("rw=read:4k bs=4k size=1m"), answer);
}

#[test]
fn every_job_of_the_list_was_asked_for() {
    let jobs: Vec<&str> = include_str!("jobs").lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(jobs, expected().map(|(options, _)| options).collect::<Vec<_>>());
    assert!(jobs.len() > 20);
}
