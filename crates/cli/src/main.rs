//! `goodness`: how good is this scheduler, for this work, on this machine?

/// `println!` that survives `| head`.
macro_rules! say {
    ($($words:tt)*) => { crate::output::say(format_args!($($words)*)) };
}

mod analysis;
mod bench;
mod compare;
mod failure;
mod input;
mod lab;
mod list;
mod output;
mod policy_spec;
mod progress;
mod record;
mod recorded;
mod run;
mod shipped;
mod summarise;
mod verify;

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

Exit codes: 0 ok, 1 failure, 2 usage or bad input, 3 inconclusive where a verdict was asked for, 4 a checker was violated.";

#[derive(Subcommand)]
enum Command {
    /// Rank schedulers on the same work, with intervals and verdicts.
    Compare(compare::Compare),
    /// One policy, one run, in detail.
    Run(run::Run),
    /// Record this machine's scheduling (root; Linux).
    Record(record::Record),
    /// How faithfully a replay repeats its recording, metric by metric.
    Verify(verify::Verify),
    /// What a trace holds, read in constant memory.
    Summarise(summarise::Summarise),
    /// What there is: policies, workloads, machines, metrics, formats.
    List(list::List),
    /// What a decision costs, and how it grows with tasks and CPUs.
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { exit::OK });
        }
    };
    let result = match arguments.command {
        Command::Compare(compare) => compare.run(),
        Command::Run(run) => run.run(),
        Command::Record(record) => record.run(),
        Command::Verify(verify) => verify.run(),
        Command::Summarise(summarise) => summarise.run(),
        Command::List(list) => list.run(),
        Command::Bench(bench) => bench.run(),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(Failure { sentence, code }) => {
            eprintln!("error: {sentence}");
            ExitCode::from(code)
        }
    }
}
