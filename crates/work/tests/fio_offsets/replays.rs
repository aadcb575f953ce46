//! Jobs that replay a log do what fio does with it.

use goodness_core::Seed;
use goodness_work::fio::{self, FioIo, FioOp, FioStream, Outside};

const LOG: &str = include_str!("log");

/// The I/O of the job, in the form of the expectations; a sync has no place.
fn done(options: &str) -> String {
    let text = format!("[j]\n{}\n", options.replace(' ', "\n"));
    let file = |_: &str| Ok(LOG.to_string());
    let job = fio::read("t.fio", &text, &Outside { variable: &|_| None, file: &file }).expect(options).remove(0);
    let stream = FioStream::new(&job, &vec![1 << 30; job.files.len()], Seed(1)).expect(options);
    let text = |io: FioIo| {
        let file = &job.files[io.file];
        match io.op {
            FioOp::Read => format!("r:{file}:{}+{}", io.offset, io.bytes),
            FioOp::Write => format!("w:{file}:{}+{}", io.offset, io.bytes),
            FioOp::Sync | FioOp::DataSync => format!("s:{file}"),
            FioOp::Trim | FioOp::Drain => format!("{:?}:{file}", io.op),
        }
    };
    stream.map(text).collect::<Vec<_>>().join(" ")
}

fn expected() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("replayed.log").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(" = ").expect("options and answer"))
}

#[test]
fn a_replayed_log_is_that_of_fio() {
    let wrong: Vec<String> = expected()
        .filter(|(options, expected)| done(options) != *expected)
        .map(|(options, expected)| format!("{options}\n fio: {expected}\nhere: {}", done(options)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(expected().count() > 12);
}

#[test]
fn another_scale_alignment_or_file_is_noticed() {
    let answer = |wanted: &str| expected().find(|(options, _)| *options == wanted).expect("it was asked for").1;
    let scaled = answer("read_iolog=log replay_no_stall=1 replay_scale=4");
    for options in ["replay_scale=3", "replay_scale=4 replay_align=512", "replay_scale=4 replay_redirect=c"] {
        assert_ne!(done(&format!("read_iolog=log {options}")), scaled, "{options}");
    }
    assert_ne!(done("read_iolog=log end_fsync=1"), answer("read_iolog=log"));
}

#[test]
fn every_job_of_the_list_was_asked_for() {
    let jobs: Vec<&str> = include_str!("replays").lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(jobs, expected().map(|(options, _)| options).collect::<Vec<_>>());
}
