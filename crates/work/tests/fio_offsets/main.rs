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

/// Jobs that fio was asked for, and its answers.
struct Asked {
    /// The list of jobs.
    jobs: &'static str,
    /// Options and answer of each.
    log: &'static str,
    /// The answer here to the options of a job.
    done: fn(&str) -> String,
}

/// Lines that are no comments.
fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

impl Asked {
    /// Options and fio's answer, job by job.
    fn expected(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        lines(self.log).map(|line| line.split_once(" = ").expect("options and answer"))
    }

    /// fio's answer to the options.
    fn answer(&self, wanted: &str) -> &'static str {
        self.expected().find(|(options, _)| *options == wanted).expect("it was asked for").1
    }

    /// Panics if an answer here is another than fio's.
    #[track_caller]
    fn assert_same(&self) {
        let told = |(options, fio): (&str, &str)| {
            let here = (self.done)(options);
            (here != fio).then(|| format!("{options}\n fio: {fio}\nhere: {here}"))
        };
        let wrong: Vec<String> = self.expected().filter_map(told).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Panics if a job of the list was not asked for, or if there are fewer than `least`.
    #[track_caller]
    fn assert_complete(&self, least: usize) {
        let jobs: Vec<&str> = lines(self.jobs).collect();
        assert_eq!(jobs, self.expected().map(|(options, _)| options).collect::<Vec<_>>());
        assert!(jobs.len() >= least, "{} jobs", jobs.len());
    }
}

const JOBS: Asked = Asked { jobs: include_str!("jobs"), log: include_str!("expected.log"), done };

#[test]
fn jobs_without_chance_do_what_fio_does() {
    JOBS.assert_same();
}

#[test]
fn a_gap_too_small_is_noticed() {
    let answer = JOBS.answer("rw=read:8k bs=4k size=1m");
    assert_eq!(answer.split(' ').count(), 86);
    assert_ne!(done("rw=read:4k bs=4k size=1m"), answer);
}

#[test]
fn every_job_of_the_list_was_asked_for() {
    JOBS.assert_complete(21);
}
