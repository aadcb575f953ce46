//! Any text as a fio job file, and behind it the log that jobs may replay; what is read gives I/O within its files.
#![no_main]

use goodness_core::Seed;
use goodness_work::fio::{self, FioStream, Outside};

/// Bytes of each file: small enough that maps of used places stay small.
const WHOLE: u64 = 1 << 20;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (text, log) = text.split_at(text.find("fio version").unwrap_or(text.len()));
    let file = |_: &str| Ok(log.to_string());
    let jobs = match fio::read("fuzz.fio", text, &Outside { variable: &|_| None, file: &file }) {
        Ok(jobs) => jobs,
        Err(sentence) => return assert!(sentence.contains("fuzz.fio"), "{sentence} names no file"),
    };
    for job in jobs.iter().take(4) {
        let Ok(stream) = FioStream::new(job, &vec![WHOLE; job.files.len()], Seed(1)) else { continue };
        for io in stream.take(256) {
            assert!(io.file < job.files.len());
            assert!(io.offset + io.bytes <= WHOLE, "{io:?}");
        }
    }
});
