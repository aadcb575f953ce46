//! `goodness`: how good is this scheduler, for this work, on this machine?

/// `println!` that survives `| head`.
macro_rules! say {
    ($($words:tt)*) => { crate::output::say(format_args!($($words)*)) };
}

mod analysis;
mod bench;
mod block_input;
mod calibrate;
mod compare;
mod conform;
mod doctor;
mod elevate;
mod failure;
mod input;
mod lab;
mod list;
mod live;
mod output;
mod patience;
mod play;
mod progress;
mod race;
mod race_part;
mod record;
mod recorded;
mod run;
mod shipped;
mod standstill;
mod study;
mod summarise;
mod threads;
mod verify;
mod watchdog;

use clap::{Parser, Subcommand};
use failure::{Failure, exit};
use std::process::ExitCode;

/// How good is this scheduler, for this work, on this machine?
///
/// Schedulers are simulated on recorded or modelled work, compared with statistics, and held against what real
/// kernels did.
#[derive(Parser)]
#[command(name = "goodness", version, max_term_width = 100, after_help = FIRST_STEPS)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const FIRST_STEPS: &str = "\
First steps:
  goodness compare                          the shipped recording under the standard field of schedulers
  goodness compare mixed -p eevdf -p o1     a built-in workload under two of them
  sudo goodness record -o my.ftrace.zst -d 5s    five seconds of this machine
  goodness verify my.ftrace.zst             how faithfully its replay repeats the recording
  goodness compare my.ftrace.zst            which scheduler suits it
  goodness play examples/02-nice.toml -d 5s      the same work as real threads, under this kernel's scheduler
  goodness race spin-nice                   a race on this machine's own kernel; see goodness race --help
  goodness doctor                           what works here, and what to install
  goodness study panasyuk-2009              a published table beside what the mechanism gives

Exit codes: 0 ok, 1 failure, 2 usage or bad input, 3 inconclusive where a verdict was asked for, 4 a checker was violated.";

#[derive(Subcommand)]
enum Command {
    /// Rank schedulers on the same work, with intervals and verdicts.
    Compare(compare::Compare),
    /// One policy, one run, in detail.
    Run(run::Run),
    /// Simulate a scenario, play it on the running kernel, and say how far the two agree.
    Conform(conform::Conform),
    /// Play the work as real threads, under the scheduler of the running kernel.
    Play(play::Play),
    /// Record this machine's scheduling (root; Linux).
    Record(record::Record),
    /// How faithfully a replay repeats its recording, metric by metric.
    Verify(verify::Verify),
    /// What a trace holds, read in constant memory.
    Summarise(summarise::Summarise),
    /// What there is: policies, workloads, recordings, machines, metrics, formats, studies.
    List(list::List),
    /// Reproduce published results, side by side with their numbers.
    Study(study::Conduct),
    /// Put an elevator before a real disk (root; ublk; Linux).
    Elevate(Box<elevate::Elevate>),
    /// Measure what scheduling costs on this machine, for --machine.
    Calibrate(calibrate::Calibrate),
    /// What a decision costs, and how it grows with tasks and CPUs.
    Bench(bench::Bench),
    /// Let a policy decide for real threads of this machine (root; Linux with sched_ext).
    Live(live::Live),
    /// Race real servers under what this machine's kernel offers.
    Race(race::Race),
    /// What works on this machine, what to install, and what killed commands have left.
    Doctor(doctor::Doctor),
    /// What a race runs of this program itself.
    #[command(hide = true, name = goodness_race::part::Parts::COMMAND)]
    RacePart(race_part::RacePart),
}

impl Command {
    /// Does what was asked for; the exit code.
    fn run(self) -> Result<u8, Failure> {
        if matches!(
            self,
            Command::Compare(_) | Command::Run(_) | Command::Verify(_) | Command::Study(_) | Command::Conform(_)
        ) {
            threads::prepare()?;
        }
        match self {
            Command::Compare(compare) => compare.run(),
            Command::Run(run) => run.run(),
            Command::Conform(conform) => conform.run(),
            Command::Play(play) => play.run(),
            Command::Record(record) => record.run(),
            Command::Verify(verify) => verify.run(),
            Command::Summarise(summarise) => summarise.run(),
            Command::List(list) => list.run(),
            Command::Study(study) => study.run(),
            Command::Elevate(elevate) => elevate.run(),
            Command::Calibrate(calibrate) => calibrate.run(),
            Command::Bench(bench) => bench.run(),
            Command::Live(live) => live.run(),
            Command::Race(race) => race.run(),
            Command::Doctor(doctor) => doctor.run(),
            Command::RacePart(part) => part.run(),
        }
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { exit::OK });
        }
    };
    match arguments.command.run() {
        Ok(code) => ExitCode::from(code),
        Err(Failure { sentence, code }) => {
            // What was typed or read may hold what commands a terminal.
            eprintln!("error: {}", goodness_report::figure::printable(&failure::shortened(&sentence)));
            ExitCode::from(code)
        }
    }
}
