//! `goodness record`: records this machine's scheduling.

use crate::failure::{Failure, exit};
use crate::input::length;
use crate::progress;
use crate::verbosity::Quiet;
use clap::Args;
use goodness_record::{Options, Progress, record};
use goodness_report::atomic;
use goodness_sys::cpu_list::CpuList;
use indicatif::ProgressBar;
use std::ffi::OsString;
use std::path::PathBuf;

/// Record this machine's scheduling (root; Linux).
///
/// With a command, records until it ends. A comparison then judges its tasks and those of servers named with --comm or
/// --pid; all other tasks are kept as competing load. Tracing is restored however the recording ends.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sudo goodness record -d 5s                                everything that runs, for five seconds
  sudo goodness record --comm apache2 -- ab -n 10000 -c 32 http://127.0.0.1/
  goodness verify recording.ftrace.gz && goodness compare recording.ftrace.gz

Exit codes: 0 recorded, 1 failure, 2 it cannot be recorded here (the error names the remedy).")]
pub struct Record {
    /// File to write.
    #[arg(short, long, default_value = "recording.ftrace.gz")]
    output: PathBuf,
    /// Longest duration (10s without a command).
    #[arg(short, long)]
    duration: Option<String>,
    /// Running server that belongs to the work, by process name; may be repeated.
    #[arg(long, value_name = "NAME")]
    comm: Vec<String>,
    /// Running server that belongs to the work, by process id; may be repeated.
    #[arg(long)]
    pid: Vec<u32>,
    /// Confine the command to these CPUs.
    #[arg(long, value_name = "CPUS")]
    cpus: Option<CpuList>,
    /// Rename every task outside the command and the named servers, and drop the command's arguments.
    #[arg(long)]
    anonymize: bool,
    /// Record block-layer events too; compare --block-only replays them.
    #[arg(long)]
    block: bool,
    /// Record calls that read and write too, for work that passes many small messages; costs CPU time.
    #[arg(long)]
    messages: bool,
    #[command(flatten)]
    quiet: Quiet,
    /// The command to run and record.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Record {
    /// Records and prints a summary.
    ///
    /// # Errors
    /// No root, no tracefs, an unwritable output, a command that cannot be started, …; no file is written
    /// then.
    pub fn run(&self) -> Result<u8, Failure> {
        self.quiet.begin();
        let options = Options {
            output: atomic::target(&self.output).map_err(Failure::usage)?,
            duration: self.duration.as_deref().map(|text| length("--duration", text)).transpose()?,
            command: self.command.clone(),
            confine_to: self.cpus.clone().map(|CpuList(cpus)| cpus),
            pids: self.pid.clone(),
            comms: self.comm.clone(),
            anonymize: self.anonymize,
            block: self.block,
            messages: self.messages,
            ..Options::default()
        };
        let bar = progress::phases();
        let result = record(&options, &mut |progress| show(&bar, progress));
        bar.finish_and_clear();
        let done = result.map_err(|error| Failure { sentence: error.to_string(), code: error.exit_code() as u8 })?;
        say!("{done}\n\nNext: goodness verify {0} && goodness compare {0}", done.path.display());
        if !self.anonymize {
            say!("It holds names of tasks and arguments of commands: to share a recording, make it with --anonymize.");
        }
        Ok(if done.exit_code() == 0 { exit::OK } else { done.exit_code() as u8 })
    }
}

fn show(bar: &ProgressBar, progress: Progress) {
    match progress {
        Progress::CleanedUp { what } => {
            progress::above(bar, format_args!("undone what a killed command had left: {what}"))
        }
        Progress::Started { .. } => bar.set_message("recording, seconds"),
        Progress::Recording { elapsed, longest, .. } => {
            bar.set_length(longest.as_secs());
            bar.set_position(elapsed.as_secs());
        }
        Progress::Writing { done, total } => {
            bar.set_message("writing, events");
            bar.set_length(total);
            bar.set_position(done);
        }
    }
}
