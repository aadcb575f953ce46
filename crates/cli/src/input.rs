//! What is run: a recording, a trace of block I/O, an rt-app file, a fio job file, an experiment, a built-in workload, or
//! without a name the recording shipped with the program.

use crate::block_input::{self, Held};
use crate::compare::quoted;
use crate::failure::Failure;
use crate::patience::Patience;
use crate::recorded::{Recorded, ReplayOptions};
use crate::shipped;
use goodness_core::registry::suggest;
use goodness_core::{Machine, Span, WorkloadSource};
use goodness_lab::PolicySpec;
use goodness_report::model::{self, Details, Fidelity, InputKind};
use goodness_trace::Recording;
use goodness_workload::experiment::Experiment;
use goodness_workload::fio::{self, FioWork};
use goodness_workload::machine::parse_machine;
use goodness_workload::models::{BuiltIn, WORKLOADS};
use goodness_workload::replay::{Arrivals, Others};
use goodness_workload::rtapp::{self, RtApp};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// How inputs are read.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct InputOptions {
    /// On what to run: a preset, a TOML file, or an inline table such as cpus=2,hz=250 (`goodness list machines`).
    #[arg(long)]
    pub machine: Option<String>,
    /// Accept rt-app keys that are not honoured, and name them in the report.
    #[arg(long)]
    pub lenient: bool,
    /// How wake-ups from outside a recording are replayed.
    #[arg(long, value_enum, default_value_t = ArrivalsChoice::Delays)]
    pub arrivals: ArrivalsChoice,
    /// Leave out tasks that do not belong to the recorded command.
    #[arg(long)]
    pub without_others: bool,
    /// The policy that made the recording, where its kernel version does not tell.
    #[arg(long, value_name = "POLICY")]
    pub recorded_by: Option<String>,
    /// The disk of a trace of block I/O or of fio jobs, with settings (`goodness list devices`). By default a trace's own
    /// service times, or sata-7200-4tb where it has none; nvme for fio.
    #[arg(long, value_name = "DEVICE[:KEY=VAL,…]")]
    pub device: Option<String>,
    /// What of a trace of block I/O is replayed.
    #[arg(long, value_enum, value_name = "EVENTS")]
    pub block_events: Option<BlockEvents>,
    /// Replay the block I/O of a recording that has scheduling too.
    #[arg(long)]
    pub block_only: bool,
    /// CPU time of each I/O of fio jobs: submitting it and taking its completion (2us).
    #[arg(long, value_name = "TIME")]
    pub io_cost: Option<String>,
}

/// What of a trace of block I/O is replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum BlockEvents {
    /// What arrived at the block layer.
    #[default]
    Queue,
    /// What the recorded elevator issued to the device.
    Issue,
}

/// How wake-ups from outside a recording are replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ArrivalsChoice {
    /// After the same delay since the wait began (closed loop).
    #[default]
    Delays,
    /// At the recorded time (open loop).
    Recorded,
}

impl InputOptions {
    /// How recordings are replayed.
    pub fn replay(&self) -> ReplayOptions {
        ReplayOptions {
            arrivals: match self.arrivals {
                ArrivalsChoice::Delays => Arrivals::Delays,
                ArrivalsChoice::Recorded => Arrivals::Recorded,
            },
            others: if self.without_others { Others::LeftOut } else { Others::Compete },
        }
    }

    /// The words of a command line that read `input` in this way again.
    pub fn words(&self, input: &str) -> String {
        let mut words = vec![quoted(input)];
        let named = [
            ("--machine", &self.machine),
            ("--recorded-by", &self.recorded_by),
            ("--device", &self.device),
            ("--io-cost", &self.io_cost),
        ];
        for (option, value) in named.into_iter().filter_map(|(option, value)| Some((option, value.as_ref()?))) {
            words.extend([option.to_string(), quoted(value)]);
        }
        let arrivals = (self.arrivals == ArrivalsChoice::Recorded).then_some("--arrivals recorded");
        let lenient = self.lenient.then_some("--lenient");
        let without_others = self.without_others.then_some("--without-others");
        let block_only = self.block_only.then_some("--block-only");
        let events = (self.block_events == Some(BlockEvents::Issue)).then_some("--block-events issue");
        let switches = [arrivals, lenient, without_others, block_only, events];
        words.extend(switches.into_iter().flatten().map(String::from));
        words.join(" ")
    }

    /// Refuses what only counts for other inputs than `input`, which is `what`.
    ///
    /// # Errors
    /// A sentence that names the first such option.
    pub fn refuse(&self, options: &[&str], input: &str, what: &str) -> Result<(), Failure> {
        let given = [
            ("--device", self.device.is_some(), "block traces and fio jobs"),
            ("--block-events", self.block_events.is_some(), "block traces"),
            ("--block-only", self.block_only, "recordings with block I/O"),
            ("--io-cost", self.io_cost.is_some(), "fio jobs"),
        ];
        match given.iter().find(|(name, is_given, _)| *is_given && options.contains(name)) {
            None => Ok(()),
            Some((name, _, whom)) => {
                Err(Failure::usage(format!("{name} is for {whom}, and \"{input}\" is {what}; leave it out")))
            }
        }
    }

    /// The machine asked for, if any.
    ///
    /// # Errors
    /// A machine that cannot be.
    pub fn machine(&self) -> Result<Option<Machine>, Failure> {
        self.machine.as_deref().map(|text| parse_machine(text).map_err(Failure::usage)).transpose()
    }
}

/// Something that can be run, with what the report should say of it.
pub struct Input {
    /// The work.
    pub source: Box<dyn WorkloadSource>,
    /// On what.
    pub machine: Machine,
    /// For the report.
    pub about: model::Input,
    /// For people.
    pub details: Details,
    /// The recording behind the work, if it is one.
    pub recorded: Option<Verified>,
}

/// What a recording says of the policies that replay it.
pub struct Verified {
    /// The policy of the kernel that recorded.
    pub policy: PolicySpec,
    /// How faithfully the replay under it repeats the recording.
    pub fidelity: Fidelity,
}

/// Finds out what `text` means and reads it.
///
/// # Errors
/// A file that cannot be read or understood, an unknown workload (the nearest is named), a machine that cannot be.
pub fn open(text: &str, options: &InputOptions, seed: u64) -> Result<Input, Failure> {
    const ALL: &[&str] = &["--device", "--block-events", "--block-only", "--io-cost"];
    let name = text.split(':').next().unwrap_or(text);
    if WORKLOADS.iter().any(|model| model.name == name) {
        options.refuse(ALL, text, "a built-in workload")?;
        return built_in(text, options);
    }
    match Path::new(text).extension().and_then(|e| e.to_str()) {
        Some("json") => {
            options.refuse(ALL, text, "an rt-app file")?;
            rt_app(text, options)
        }
        Some("toml") => {
            options.refuse(ALL, text, "an experiment, which names its own disks")?;
            experiment(text, options)
        }
        Some("fio") => {
            options.refuse(&ALL[1..3], text, "a fio job file")?;
            fio_jobs(text, options)
        }
        _ => {
            options.refuse(&ALL[3..], text, "a trace")?;
            trace(text, options, seed)
        }
    }
}

/// A trace: of scheduling, or else of block I/O.
fn trace(text: &str, options: &InputOptions, seed: u64) -> Result<Input, Failure> {
    if options.block_only || Path::new(text).is_dir() {
        return block_input::open(&Held::of(text)?, options);
    }
    let held = Held::of(text)?;
    match held.recording() {
        Ok(found) => {
            let what = "a recording of scheduling; --block-only replays its block I/O";
            options.refuse(&["--device", "--block-events"], text, what)?;
            recording(text, verified_of(&found, options, seed)?)
        }
        Err(why) => block_input::instead(&held, options, why),
    }
}

/// Reads a recording and replays it under the policy that made it, as `options` say.
///
/// # Errors
/// What is no usable trace, a machine that cannot be, faults of the policy.
pub fn verified(text: &str, options: &InputOptions, seed: u64) -> Result<(Recorded, Verified), Failure> {
    let recording = Held::of(text)?.recording().map_err(|error| Failure::usage(error.to_string()))?;
    verified_of(&recording, options, seed)
}

fn verified_of(recording: &Recording, options: &InputOptions, seed: u64) -> Result<(Recorded, Verified), Failure> {
    let mut recorded = Recorded::of(recording, options.replay())?;
    if let Some(machine) = options.machine()? {
        recorded.machine = machine;
    }
    let policy = match &options.recorded_by {
        Some(text) => crate::lab::policy(text)?,
        None => recorded.policy.clone(),
    };
    let fidelity = recorded.verify(&policy, seed)?;
    Ok((recorded, Verified { policy, fidelity }))
}

fn recording(text: &str, (recorded, verified): (Recorded, Verified)) -> Result<Input, Failure> {
    let hash = match shipped::find(text) {
        Some(shipped) => Some(sha256(shipped.bytes)),
        // A pipe is read once only.
        None if text == "-" || !Path::new(text).is_file() => None,
        None => std::fs::read(text).ok().map(|bytes| sha256(&bytes)),
    };
    let about =
        model::Input { kind: InputKind::Trace, name: text.into(), sha256: hash, lost_events: recorded.lost_events };
    let details = Details {
        workload_notes: recorded.notes,
        machine_notes: recorded.machine_notes,
        warnings: recorded.warnings,
        repairs: recorded.repairs,
        unknowns: recorded.unknowns,
        ..Details::default()
    };
    let machine = recorded.machine;
    Ok(Input { source: Box::new(recorded.replay), machine, about, details, recorded: Some(verified) })
}

/// The refusal of a name that is nothing that could be run.
pub fn no_such_input(text: &str) -> Failure {
    let names = WORKLOADS.iter().map(|m| m.name).chain(shipped::RECORDINGS.iter().map(|r| r.name));
    Failure::usage(format!(
        "\"{text}\" is neither a file nor a built-in workload or recording; {}. See `goodness list workloads` and \
         `goodness list recordings`.",
        suggest(text, names)
    ))
}

/// The machine asked for, else the one called `default`.
///
/// # Errors
/// A machine that cannot be.
pub fn machine(options: &InputOptions, default: &str) -> Result<Machine, Failure> {
    parse_machine(options.machine.as_deref().unwrap_or(default)).map_err(Failure::usage)
}

fn built_in(text: &str, options: &InputOptions) -> Result<Input, Failure> {
    let source = BuiltIn::parse(text).map_err(Failure::usage)?;
    let about = model::Input { kind: InputKind::Workload, name: text.into(), sha256: None, lost_events: None };
    let machine = machine(options, "ideal")?;
    Ok(Input { source: Box::new(source), machine, about, details: Details::default(), recorded: None })
}

fn experiment(text: &str, options: &InputOptions) -> Result<Input, Failure> {
    let (bytes, content) = read_text(text)?;
    let source = Experiment::read(text, &content).map_err(Failure::usage)?;
    let machine = match (&options.machine, source.machine()) {
        (None, Some(machine)) => machine.clone(),
        _ => machine(options, "ideal")?,
    };
    let about = model::Input {
        kind: InputKind::Experiment,
        name: text.into(),
        sha256: Some(sha256(&bytes)),
        lost_events: None,
    };
    Ok(Input { source: Box::new(source), machine, about, details: Details::default(), recorded: None })
}

/// The longest text that is read, in bytes: beyond any description of work, and a bound for a file without an end.
const LONGEST_TEXT: u64 = 64 << 20;

/// A file's bytes, and the text they are.
///
/// # Errors
/// A file that cannot be read, is no text, or is larger than any description of work.
pub fn read_text(path: &str) -> Result<(Vec<u8>, String), Failure> {
    let _patience = Patience::with(path);
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST_TEXT + 1).read_to_end(&mut bytes));
    read.map_err(|e| Failure::usage(format!("{path} cannot be read: {e}")))?;
    if bytes.len() as u64 > LONGEST_TEXT {
        let most = LONGEST_TEXT >> 20;
        return Err(Failure::usage(format!("{path} is longer than {most} MiB, which a text of this kind never is")));
    }
    let content = String::from_utf8(bytes.clone()).map_err(|_| Failure::usage(format!("{path} is not UTF-8 text")))?;
    Ok((bytes, content))
}

fn rt_app(text: &str, options: &InputOptions) -> Result<Input, Failure> {
    let (bytes, content) = read_text(text)?;
    let rt_options = rtapp::Options { lenient: options.lenient, ..rtapp::Options::default() };
    let source = RtApp::read(text, &content, rt_options).map_err(Failure::usage)?;
    let warnings = source.not_honoured.iter().map(|key| format!("not honoured: {key}")).collect();
    let about =
        model::Input { kind: InputKind::RtApp, name: text.into(), sha256: Some(sha256(&bytes)), lost_events: None };
    let machine = machine(options, "ideal")?;
    let details = Details { warnings, ..Details::default() };
    Ok(Input { source: Box::new(source), machine, about, details, recorded: None })
}

fn fio_jobs(text: &str, options: &InputOptions) -> Result<Input, Failure> {
    let (bytes, content) = read_text(text)?;
    let device = options.device.clone().unwrap_or_else(|| fio::DEFAULT_DEVICE.into());
    let cost = match &options.io_cost {
        None => fio::DEFAULT_COST,
        Some(cost) => Span::parse(cost).map_err(|why| Failure::usage(format!("--io-cost: {why}")))?,
    };
    let source = FioWork::read(text, &content, &fio::Options { device, cost }).map_err(Failure::usage)?;
    let about =
        model::Input { kind: InputKind::Fio, name: text.into(), sha256: Some(sha256(&bytes)), lost_events: None };
    let machine = machine(options, "ideal")?;
    let details = Details { workload_notes: source.notes.clone(), ..Details::default() };
    Ok(Input { source: Box::new(source), machine, about, details, recorded: None })
}

/// The hash of a file, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
