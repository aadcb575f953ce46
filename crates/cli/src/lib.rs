//! The command line: `goodness`, as a library, so that other programs than `main.rs` can be it.

/// `println!` that survives `| head`.
macro_rules! say {
    ($($words:tt)*) => { crate::output::say(format_args!($($words)*)) };
}

mod bench;
#[cfg(feature = "live")]
mod calibrate;
mod compare;
#[cfg(feature = "live")]
mod conform;
mod diff;
#[cfg(feature = "live")]
mod doctor;
#[cfg(feature = "live")]
mod elevate;
mod failure;
mod input;
mod json_option;
mod list;
#[cfg(feature = "live")]
mod live;
#[cfg(feature = "manual")]
mod manual;
#[cfg(not(all(feature = "live", feature = "tables")))]
mod not_built;
mod output;
mod patience;
#[cfg(feature = "live")]
mod play;
mod progress;
#[cfg(feature = "live")]
mod race;
#[cfg(feature = "live")]
mod record;
mod run;
mod shrink;
mod stop;
mod study;
mod summarise;
#[cfg(feature = "tables")]
mod sweep;
mod tables;
mod teach;
mod tune;
mod usage;
mod verbosity;
mod verify;
mod watching;
mod why;
mod words;

use clap::{Parser, Subcommand};
use failure::{Failure, exit};
use goodness_report::figure;
#[cfg(not(feature = "live"))]
use not_built::live::{calibrate, conform, doctor, elevate, live, play, race, record};
#[cfg(not(feature = "tables"))]
use not_built::tables::sweep;
use std::ffi::OsString;

/// Compare schedulers, by simulation and on real kernels.
///
/// Simulates schedulers on recorded or modelled work, compares them with statistics, and checks the simulation against
/// real kernels.
#[derive(Parser)]
#[command(name = "goodness", version, max_term_width = 100, after_help = FIRST_STEPS)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const FIRST_STEPS: &str = "\
First steps:
  goodness compare                               rank schedulers on a shipped recording
  goodness compare mixed -p eevdf -p o1          rank two schedulers on a built-in workload
  sudo goodness record -o my.ftrace.gz -d 5s     record five seconds of this machine
  goodness verify my.ftrace.gz                   measure how closely a replay reproduces it
  goodness compare my.ftrace.gz                  rank schedulers on it
  goodness why my.ftrace.gz                      explain the longest latencies in it
  goodness tune my.ftrace.gz --over base_slice   search for a better setting
  goodness diff mixed -p eevdf -p cfs            the first decision that differs, and what follows
  goodness play examples/02-nice.toml -d 5s      play work as real threads under this kernel
  goodness race spin-nice                        race nice values on this machine's kernel
  goodness doctor                                check what works here, and what to install
  goodness study panasyuk-2009                   reproduce a published table
  goodness sweep slices.toml                     sweep a space of settings, resumable

Exit codes: 0 ok, 1 failure, 2 usage or bad input, 3 undecided (--decide), 4 a checker was violated.";

/// The commands. Each has its help from its own type; a comment here would replace it.
#[derive(Subcommand)]
enum Command {
    Compare(compare::Compare),
    Diff(Box<diff::Diffing>),
    Run(run::Run),
    Conform(conform::Conform),
    Play(play::Play),
    Record(record::Record),
    Verify(verify::Verify),
    Why(why::Why),
    Summarise(summarise::Summarise),
    List(list::List),
    Shrink(shrink::Shrinking),
    Study(study::Conduct),
    Tune(Box<tune::Tune>),
    Teach(teach::Teach),
    Sweep(sweep::Sweep),
    Elevate(Box<elevate::Elevate>),
    Calibrate(calibrate::Calibrate),
    Bench(bench::Bench),
    Live(live::Live),
    Race(race::Race),
    Doctor(doctor::Doctor),
    /// Subprocess of a race.
    #[cfg(feature = "live")]
    #[command(hide = true, name = goodness_race::subprocess::Launcher::COMMAND)]
    RaceSubprocess {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Man pages and completions, for packages.
    #[cfg(feature = "manual")]
    #[command(hide = true)]
    Manual(manual::Manual),
}

impl Command {
    /// Runs the command. Returns the exit code.
    fn run(self) -> Result<u8, Failure> {
        if matches!(
            self,
            Command::Compare(_)
                | Command::Diff(_)
                | Command::Run(_)
                | Command::Verify(_)
                | Command::Why(_)
                | Command::Study(_)
                | Command::Teach(_)
                | Command::Sweep(_)
                | Command::Tune(_)
                | Command::Conform(_)
        ) {
            goodness::threads::prepare()?;
        }
        match self {
            Command::Compare(compare) => compare.run(),
            Command::Diff(diff) => diff.run(),
            Command::Run(run) => run.run(),
            Command::Conform(conform) => conform.run(),
            Command::Play(play) => play.run(),
            Command::Record(record) => record.run(),
            Command::Verify(verify) => verify.run(),
            Command::Why(why) => why.run(),
            Command::Summarise(summarise) => summarise.run(),
            Command::List(list) => list.run(),
            Command::Shrink(shrink) => shrink.run(),
            Command::Study(study) => study.run(),
            Command::Tune(tune) => tune.run(),
            Command::Teach(teach) => teach.run(),
            Command::Sweep(sweep) => sweep.run(),
            Command::Elevate(elevate) => elevate.run(),
            Command::Calibrate(calibrate) => calibrate.run(),
            Command::Bench(bench) => bench.run(),
            Command::Live(live) => live.run(),
            Command::Race(race) => race.run(),
            Command::Doctor(doctor) => doctor.run(),
            #[cfg(feature = "live")]
            Command::RaceSubprocess { words } => {
                Ok(u8::from(goodness_race::subprocess::main(words.into_iter()) != std::process::ExitCode::SUCCESS))
            }
            #[cfg(feature = "manual")]
            Command::Manual(manual) => manual.run(<Arguments as clap::CommandFactory>::command()),
        }
    }
}

/// The commit this was built from, if known.
pub const COMMIT: Option<&str> = option_env!("GOODNESS_COMMIT");

/// Runs the command line `arguments`, without the program's name. Returns the exit code. Once per process: threads are
/// set up for all of it, and standard output that cannot be written ends it.
pub fn main(arguments: Vec<OsString>) -> u8 {
    words::typed_as(&arguments);
    let arguments = match Arguments::try_parse_from(std::iter::once("goodness".into()).chain(arguments)) {
        Ok(arguments) => arguments,
        Err(error) => {
            let is_wrong = error.use_stderr();
            let _ = usage::with_remedy(error).print();
            return if is_wrong { exit::USAGE } else { exit::OK };
        }
    };
    match arguments.command.run() {
        Ok(code) => code,
        Err(Failure { sentence, code }) => {
            // Arguments and inputs may contain terminal control characters.
            eprintln!("error: {}", figure::printable(&figure::shortened(&sentence)));
            code
        }
    }
}
