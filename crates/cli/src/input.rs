//! What is run: a recording, an rt-app file, an experiment, a built-in workload, or without a name the recording
//! shipped with the program.

use crate::compare::quoted;
use crate::failure::Failure;
use crate::patience::Patience;
use crate::recorded::{Recorded, ReplayOptions};
use crate::shipped;
use goodness_core::registry::suggest;
use goodness_core::{Machine, WorkloadSource};
use goodness_lab::PolicySpec;
use goodness_report::model::{self, Details, Fidelity, InputKind};
use goodness_trace::Recording;
use goodness_workload::experiment::Experiment;
use goodness_workload::machine::parse_machine;
use goodness_workload::models::{BuiltIn, WORKLOADS};
use goodness_workload::replay::{Arrivals, Others};
use goodness_workload::rtapp::{self, RtApp};
use sha2::{Digest, Sha256};
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
        let named = [("--machine", &self.machine), ("--recorded-by", &self.recorded_by)];
        for (option, value) in named.into_iter().filter_map(|(option, value)| Some((option, value.as_ref()?))) {
            words.extend([option.to_string(), quoted(value)]);
        }
        let arrivals = (self.arrivals == ArrivalsChoice::Recorded).then_some("--arrivals recorded");
        let lenient = self.lenient.then_some("--lenient");
        let without_others = self.without_others.then_some("--without-others");
        words.extend([arrivals, lenient, without_others].into_iter().flatten().map(String::from));
        words.join(" ")
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
    let name = text.split(':').next().unwrap_or(text);
    if WORKLOADS.iter().any(|model| model.name == name) {
        return built_in(text, options);
    }
    match Path::new(text).extension().and_then(|e| e.to_str()) {
        Some("json") => rt_app(text, options),
        Some("toml") => experiment(text, options),
        _ => recording(text, options, seed),
    }
}

/// Reads a recording: a file, standard input (`-`), or one shipped with the program.
///
/// # Errors
/// What is no usable trace.
fn load(text: &str) -> Result<Recording, Failure> {
    if text != "-" && shipped::find(text).is_none() && matches!(Path::new(text).try_exists(), Ok(false)) {
        return Err(no_such_input(text));
    }
    shipped::open(text).and_then(goodness_trace::load_input).map_err(|error| Failure::usage(error.to_string()))
}

/// Reads a recording and replays it under the policy that made it, as `options` say.
///
/// # Errors
/// What is no usable trace, a machine that cannot be, faults of the policy.
pub fn verified(text: &str, options: &InputOptions, seed: u64) -> Result<(Recorded, Verified), Failure> {
    let mut recorded = Recorded::of(&load(text)?, options.replay())?;
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

fn recording(text: &str, options: &InputOptions, seed: u64) -> Result<Input, Failure> {
    let (recorded, verified) = verified(text, options, seed)?;
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

fn no_such_input(text: &str) -> Failure {
    let names = WORKLOADS.iter().map(|m| m.name).chain(shipped::RECORDINGS.iter().map(|r| r.name));
    Failure::usage(format!(
        "\"{text}\" is neither a file nor a built-in workload or recording; {}. See `goodness list workloads` and \
         `goodness list recordings`.",
        suggest(text, names)
    ))
}

fn machine(options: &InputOptions, default: &str) -> Result<Machine, Failure> {
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

/// A file's bytes, and the text they are.
///
/// # Errors
/// A file that cannot be read, or is no text.
pub fn read_text(path: &str) -> Result<(Vec<u8>, String), Failure> {
    let _patience = Patience::with(path);
    let bytes = std::fs::read(path).map_err(|e| Failure::usage(format!("{path} cannot be read: {e}")))?;
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

/// The hash of a file, in hexadecimal.
fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
