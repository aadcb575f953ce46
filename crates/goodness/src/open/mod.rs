//! Opens work: a recording, a trace of block I/O, an rt-app file, a fio job file, an experiment, a built-in workload,
//! or a recording shipped with the library.

mod block;
mod facts;
mod files;
mod held;
pub(crate) mod judged;
mod memory;
pub(crate) mod reading;
mod recording;
mod text;
mod trace;

use crate::progress::Watch;
use crate::refusal::{Refusal, See};
use crate::shipped;
use crate::spec::PolicySpec;
use crate::work::Work;
use goodness_core::spelling::suggest;
use goodness_core::{Machine, Span};
use goodness_trace::Excerpt;
use goodness_work::machine::parse_machine;
use goodness_work::models::WORKLOADS;
use std::path::Path;

pub use files::files_of;
pub(crate) use held::Held;
pub(crate) use recording::{at_once, history, subjects};
pub(crate) use trace::{is_block_trace, of_scheduling};

pub use goodness_replay::block::Events as BlockEvents;
pub use goodness_replay::{Arrivals, Ends, Others, ReplayOptions};

/// Options of opening. The defaults suit most inputs.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Machine: a preset, a TOML file, or an inline table such as `cpus=2,hz=250`. Default: the machine of the
    /// recording or experiment, else `ideal`.
    pub machine: Option<String>,
    /// Accept rt-app keys that are not honoured, and name them in the report.
    pub lenient: bool,
    /// Options of replaying a recording.
    pub replay: ReplayOptions,
    /// Tasks of a recording, an experiment or a built-in workload that are judged: names in which `*` stands for any
    /// text, ids of threads and processes, and paths of cgroups, which begin with `/`. Default: those that the
    /// recording selects, else all user tasks.
    pub judge: Vec<String>,
    /// Attributes of tasks that the trace does not state, in the syntax of edits: `worker*.affinity=0-1`.
    pub fact: Vec<String>,
    /// The policy that made the recording, where its kernel version does not tell.
    pub recorded_by: Option<String>,
    /// The part of a recording of scheduling that is read.
    pub window: Excerpt,
    /// Disk of a trace of block I/O or of fio jobs, with settings. Default: the trace's own service times, or
    /// `sata-7200-4tb` if it has none; `nvme` for fio.
    pub device: Option<String>,
    /// Events of a block-I/O trace to replay. Default: the queued I/O.
    pub block_events: Option<BlockEvents>,
    /// Replay the block I/O of a recording that has scheduling too.
    pub block_only: bool,
    /// CPU time of each I/O of fio jobs: submitting it and taking its completion.
    pub io_cost: Option<Span>,
}

impl OpenOptions {
    /// Refuses options that do not apply to `input`, which is `what`.
    fn refuse(&self, options: &[&'static str], input: &str, what: &str) -> Result<(), Refusal> {
        let given = [
            ("judge", !self.judge.is_empty(), "recordings of scheduling, experiments and built-in workloads"),
            ("fact", !self.fact.is_empty(), "recordings of scheduling"),
            ("window", self.window != Excerpt::WHOLE, "recordings of scheduling"),
            ("recorded_by", self.recorded_by.is_some(), "recordings and block traces"),
            ("device", self.device.is_some(), "block traces and fio jobs"),
            ("block_events", self.block_events.is_some(), "block traces"),
            ("block_only", self.block_only, "recordings with block I/O"),
            ("io_cost", self.io_cost.is_some(), "fio jobs"),
        ];
        match given.iter().find(|(name, is_given, _)| *is_given && options.contains(name)) {
            None => Ok(()),
            Some((name, _, whom)) => {
                let what = format!("{name} is for {whom}, and \"{input}\" is {what}");
                Err(Refusal::usage(what).remedy("leave it out").option(name))
            }
        }
    }

    /// The name of `input` in reports, with the window that is read.
    pub(crate) fn named(&self, input: &str) -> String {
        match self.window {
            Excerpt::WHOLE => input.into(),
            window => format!("{input}, {window}"),
        }
    }

    /// True if an option makes sense for a simulated run alone.
    pub(crate) fn is_of_a_run(&self) -> bool {
        let Self { machine, replay, recorded_by, device, block_events, block_only, .. } = self;
        let default = ReplayOptions::default();
        let is_default =
            (replay.arrivals, replay.others, replay.ends) == (default.arrivals, default.others, default.ends);
        machine.is_some()
            || !is_default
            || recorded_by.is_some()
            || device.is_some()
            || block_events.is_some()
            || *block_only
    }

    /// The requested machine, if any.
    fn machine(&self) -> Result<Option<Machine>, Refusal> {
        self.machine.as_deref().map(machine).transpose()
    }

    /// The requested machine, else the ideal one.
    fn machine_or_ideal(&self) -> Result<Machine, Refusal> {
        machine(self.machine.as_deref().unwrap_or("ideal"))
    }
}

/// Parses a machine.
///
/// # Errors
/// An unknown or invalid machine.
pub fn machine(text: &str) -> Result<Machine, Refusal> {
    let is_name = !text.contains('=') && !text.ends_with(".toml") && !Path::new(text).is_file();
    parse_machine(text).map_err(|why| {
        let refusal = Refusal::usage(why);
        if is_name { refusal.see(See::Machines) } else { refusal }
    })
}

/// Determines the kind of `text` and reads it. Nothing is simulated.
///
/// # Errors
/// A file that cannot be read or parsed, an unknown workload (the nearest is named), or an invalid machine.
pub fn open(text: &str, options: &OpenOptions, watch: &Watch) -> Result<Work, Refusal> {
    const ALL: &[&str] = &["judge", "fact", "window", "recorded_by", "device", "block_events", "block_only", "io_cost"];
    const OF_TRACES: &[&str] = &["judge", "fact", "window", "recorded_by", "block_events", "block_only"];
    let name = text.split(':').next().unwrap_or(text);
    if WORKLOADS.iter().any(|model| model.name == name) {
        options.refuse(&ALL[1..], text, "a built-in workload")?;
        return text::built_in(text, options);
    }
    match Path::new(text).extension().and_then(|e| e.to_str()) {
        Some("json") => {
            options.refuse(ALL, text, "an rt-app file")?;
            text::rt_app(text, options, watch)
        }
        Some("toml") => {
            options.refuse(&ALL[1..], text, "an experiment, which names its own disks")?;
            text::experiment(text, options, watch)
        }
        Some("fio") => {
            options.refuse(OF_TRACES, text, "a fio job file")?;
            text::fio_jobs(text, options, watch)
        }
        _ => {
            options.refuse(&["io_cost"], text, "a trace")?;
            trace::open(text, options, watch)
        }
    }
}

/// True if `text` names a trace: nothing that states its work, such as an experiment or a built-in workload.
#[must_use]
pub fn is_recording(text: &str) -> bool {
    let name = text.split(':').next().unwrap_or(text);
    let ending = Path::new(text).extension().and_then(|ending| ending.to_str());
    WORKLOADS.iter().all(|model| model.name != name) && !matches!(ending, Some("json" | "toml" | "fio"))
}

/// Opens a recording of scheduling or a trace of block I/O, and nothing else.
///
/// # Errors
/// A file that is not a usable trace, or an impossible machine.
pub fn open_recording(text: &str, options: &OpenOptions, watch: &Watch) -> Result<Work, Refusal> {
    trace::open_recording(text, options, watch)
}

/// The error for a name that is not an input.
fn no_such_input(text: &str) -> Refusal {
    let names = WORKLOADS.iter().map(|m| m.name).chain(shipped::RECORDINGS.iter().map(|r| r.name));
    let what = format!("\"{text}\" is neither a file nor a built-in workload or recording");
    Refusal::usage(what).remedy(suggest(text, names)).see(See::WorkloadsAndRecordings)
}

/// The recording policy given in `options`, if any.
fn recorded_by(options: &OpenOptions) -> Result<Option<PolicySpec>, Refusal> {
    options.recorded_by.as_deref().map(PolicySpec::parse).transpose()
}
