//! `goodness play`: runs the work as real threads under the running kernel's scheduler.

use crate::failure::{Failure, exit};
use crate::output;
use crate::watching::Watching;
use clap::Args;
use goodness::play::Part;
use goodness::{OpenOptions, Progress, Work};
use goodness_core::{CpuId, Span};
use goodness_play::{PlayClass, Played, PlayedTask};
use goodness_report::{atomic, figure};
use goodness_sys::cpu_list::CpuList;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Play the work of an experiment as real threads of this machine, under its kernel's scheduler.
///
/// Each task of the file becomes a thread of that name. It computes for the given CPU time, sleeps, waits for other
/// tasks, yields, forks and changes its nice like the simulated task; the same seed gives the same lengths. CPU n of
/// the file is the n-th CPU this command may use (taskset). Printed are measurements: CPU time and context switches
/// from the kernel, and wake-up latencies.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness play examples/02-nice.toml -d 5s                  under this kernel's own scheduler
  goodness run examples/02-nice.toml -p eevdf                the same work, simulated
  goodness play examples/02-nice.toml --policy-class batch   ordinary tasks as SCHED_BATCH
  taskset -c 1 goodness play hogs:tasks=4 -d 3s              a built-in workload on CPU 1
Lower nice and real-time classes need root. Disks cannot be played. Ctrl-C ends it and still prints what was measured.
What differs from the simulator: docs/guest.md.
Exit codes: 0 played, 2 it cannot be played here (the sentence says what to do), 128 + a signal's number that \
ended it early.")]
pub struct Play {
    /// An experiment (.toml), an rt-app file (.json), or a built-in workload (`goodness list workloads`).
    input: String,
    /// Duration including warm-up. Default: the file's own.
    #[arg(short, long, value_name = "TIME")]
    duration: Option<String>,
    /// CPUs that tasks may use; CPU n of the file is the n-th of them. Default: those of this command.
    #[arg(long, value_name = "CPUS")]
    cpus: Option<CpuList>,
    /// Class of tasks without a class. Default: this command's; ext is the loaded policy.
    #[arg(long, value_enum, value_name = "CLASS")]
    policy_class: Option<ClassChoice>,
    /// Random seed; the simulator draws the same lengths from the same seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Accept rt-app keys that are not honoured, and name them.
    #[arg(long)]
    lenient: bool,
    /// Write the results as JSON (schema goodness.play/1); `-` for standard output.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Classes that ordinary tasks can be played in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ClassChoice {
    /// SCHED_EXT.
    Ext,
    /// SCHED_OTHER.
    Other,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
}

impl Play {
    /// Plays and prints.
    ///
    /// # Errors
    /// Bad input, work that cannot be played, missing root permission, a file that cannot be written.
    pub fn run(&self) -> Result<u8, Failure> {
        output::check(&self.input, &[(&self.json, "--json")])?;
        let duration = self.duration.as_deref().map(length).transpose()?;
        let options = OpenOptions { lenient: self.lenient, ..OpenOptions::default() };
        let watching = Watching::new();
        let input = goodness::open(&self.input, &options, &|progress: Progress| watching.tell(progress))?;
        let class = self.policy_class.map_or(PlayClass::Inherited, class);
        let cpus = self.cpus.as_ref().map(playable).transpose()?;
        let played = Part { seed: self.seed, duration, class, cpus }.play(&input)?;
        let text = || format!("{}\n", self.document(&played));
        if let Some(path) = self.file() {
            atomic::write(path, text().as_bytes()).map_err(Failure::other)?;
        }
        if self.json.is_some() && self.file().is_none() {
            say!("{}", text().trim_end());
        } else {
            self.print(&played, &input);
        }
        // As a shell has it for a command that a signal ended.
        Ok(played.interrupted_by.map_or(exit::OK, |signal| 128 + signal as u8))
    }

    /// The file that gets the JSON.
    fn file(&self) -> Option<&Path> {
        self.json.as_deref().filter(|path| path.as_os_str() != "-")
    }

    fn document(&self, played: &Played) -> Value {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok();
        json!({
            "schema": "goodness.play/1",
            "input": self.input,
            "seed": self.seed,
            "kernel": kernel.as_deref().map(str::trim),
            "played": played,
        })
    }

    fn print(&self, played: &Played, input: &Work) {
        let cpus: Vec<String> = played.cpus.iter().map(u32::to_string).collect();
        let class = format!("{}, CPU {}", played.class, cpus.join(","));
        say!("{} played for {} ({class}), seed {}", self.input, Span(played.measured_ns), self.seed);
        let mut table = output::table();
        table
            .set_header(["task", "nice", "CPU time", "share", "switches", "forced", "wake-ups", "p50", "p99", "worst"]);
        let mut row = |task: &PlayedTask| {
            table.add_row([
                figure::name(&task.name),
                task.nice.map_or_else(|| "rt".into(), |nice| nice.to_string()),
                figure::time(Some(task.cpu_time_ns)),
                figure::percent(task.share),
                task.switches.to_string(),
                task.involuntary_switches.to_string(),
                task.wakeups.to_string(),
                figure::time(task.wakeup_latency_p50_ns),
                figure::time(task.wakeup_latency_p99_ns),
                figure::time(task.wakeup_latency_max_ns),
            ]);
        };
        played.tasks.iter().for_each(&mut row);
        output::align_right(&mut table, 1..10);
        say!("{table}");
        say!("share: of the time of all CPUs. p50, p99, worst: how late it ran once it could (wake-up latency).");
        for sentence in remarks(played, input) {
            say!("note: {sentence}");
        }
    }
}

/// Remarks on the table.
fn remarks(played: &Played, input: &Work) -> Vec<String> {
    let mut all = input.details.warnings.clone();
    let (has, cpus) = (input.machine.cpu_count(), played.cpus.len());
    if has != cpus {
        all.push(format!("CPUs of the file's machine: {has}; of this play: {cpus}"));
    }
    if !played.watched_in_time {
        all.push(
            "without root the measuring thread competes with the tasks; figures may be from some milliseconds past the \
                end"
                .into(),
        );
    }
    if !played.outside.is_empty() {
        let took = played.outside.iter().map(|it| it.cpu_time_ns).sum();
        let count = played.outside.len();
        all.push(format!("{count} who are outside in the file took {} of CPU time here", figure::time(Some(took))));
    }
    all.extend(played.remarks.iter().cloned());
    if let Some(signal) = played.interrupted_by {
        all.push(format!("ended early by signal {signal}"));
    }
    all
}

fn class(choice: ClassChoice) -> PlayClass {
    match choice {
        ClassChoice::Ext => PlayClass::Ext,
        ClassChoice::Other => PlayClass::Other,
        ClassChoice::Batch => PlayClass::Batch,
        ClassChoice::Idle => PlayClass::Idle,
    }
}

/// CPUs as typed: some that this command may use.
fn playable(listed: &CpuList) -> Result<Vec<CpuId>, Failure> {
    let cpus: Vec<CpuId> = listed.0.iter().copied().map(CpuId).collect();
    let mine = goodness_play::playable_cpus();
    match cpus.iter().find(|cpu| !mine.contains(cpu)) {
        None => Ok(cpus),
        Some(cpu) => {
            let list: Vec<String> = mine.iter().map(|cpu| cpu.0.to_string()).collect();
            Err(Failure::usage(format!("--cpus: CPU {} is none of those of this command: {}", cpu.0, list.join(","))))
        }
    }
}

/// A duration as typed.
///
/// # Errors
/// None at all, or longer than a day.
pub fn length(text: &str) -> Result<Span, Failure> {
    let span = Span::parse(text).map_err(|why| Failure::usage(format!("--duration: {why}")))?;
    if span == Span::ZERO {
        return Err(Failure::usage("--duration: a play needs some time, such as 5s"));
    }
    goodness_work::soundness::duration(span).map_err(|why| Failure::usage(format!("--duration: {why}")))
}
