//! The recorder without the command line program: `record -o OUTPUT [--cpus LIST] [--comm NAME]… [-d SECONDS]
//! [--anonymize] [--block] [--panic] [-- COMMAND…]`. The tests use it to kill a recorder in all possible ways.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use goodness_record::{Options, Progress, record};

fn main() -> ExitCode {
    let mut options = Options::default();
    let mut panics = false;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("a value after the flag");
        match word.as_str() {
            "-o" => options.output = PathBuf::from(value()),
            "--cpus" => options.confine_to = Some(value().split(',').map(|cpu| cpu.parse().expect("a CPU")).collect()),
            "--comm" => options.comms.push(value()),
            "--pid" => options.pids.push(value().parse().expect("a process id")),
            "-d" => options.duration = Some(Duration::from_secs_f64(value().parse().expect("seconds"))),
            "--buffer" => options.buffer_bytes = Some(value().parse().expect("bytes")),
            "--anonymize" => options.anonymize = true,
            "--block" => options.block = true,
            "--panic" => panics = true,
            "--" => options.command = words.by_ref().map(Into::into).collect(),
            other => panic!("unknown flag {other}"),
        }
    }
    let mut show = |progress: Progress| match progress {
        Progress::Started { .. } if panics => panic!("asked to panic"),
        Progress::Started { .. } => eprintln!("started"),
        Progress::CleanedUp { what } => eprintln!("cleaned up: {what}"),
        Progress::Recording { .. } | Progress::Writing { .. } => {}
    };
    match record(&options, &mut show) {
        Ok(done) => {
            eprintln!(
                "{} events, {} lost, {:?}, {:?}, {} bytes",
                done.events,
                done.lost_events(),
                done.duration,
                done.stopped_by,
                done.bytes
            );
            ExitCode::from(done.exit_code() as u8)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code() as u8)
        }
    }
}
