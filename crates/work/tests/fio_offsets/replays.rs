//! Jobs that replay a log do what fio does with it.

use super::Asked;
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

const REPLAYS: Asked = Asked { jobs: include_str!("replays"), log: include_str!("replayed.log"), done };

#[test]
fn a_replayed_log_is_that_of_fio() {
    REPLAYS.assert_same();
}

#[test]
fn another_scale_alignment_or_file_is_noticed() {
    let scaled = REPLAYS.answer("read_iolog=log replay_no_stall=1 replay_scale=4");
    for options in ["replay_scale=3", "replay_scale=4 replay_align=512", "replay_scale=4 replay_redirect=c"] {
        assert_ne!(done(&format!("read_iolog=log {options}")), scaled, "{options}");
    }
    assert_ne!(done("read_iolog=log end_fsync=1"), REPLAYS.answer("read_iolog=log"));
}

#[test]
fn every_job_of_the_list_was_asked_for() {
    REPLAYS.assert_complete(13);
}
