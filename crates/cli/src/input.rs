//! What is run: a recording, an rt-app file, an experiment, a built-in workload, or without a name the recording
//! shipped with the program.

use crate::failure::Failure;
use goodness_core::registry::nearest;
use goodness_core::{Machine, WorkloadSource};
use goodness_report::model::{self, InputKind};
use goodness_workload::experiment::Experiment;
use goodness_workload::machine::parse_machine;
use goodness_workload::models::{BuiltIn, WORKLOADS};
use goodness_workload::rtapp::{self, RtApp};
use sha2::{Digest, Sha256};
use std::path::Path;

/// What is run when nothing is named.
pub const SHIPPED: &str = "mixed";

/// How inputs are read.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct InputOptions {
    /// On what to run: a preset, a TOML file, or an inline table such as cpus=2,hz=250 (`goodness list machines`).
    #[arg(long)]
    pub machine: Option<String>,
    /// Accept rt-app keys that are not honoured, and name them in the report.
    #[arg(long)]
    pub lenient: bool,
}

/// Something that can be run, with what the report should say of it.
pub struct Input {
    /// The work.
    pub source: Box<dyn WorkloadSource>,
    /// On what.
    pub machine: Machine,
    /// For the report.
    pub about: model::Input,
    /// Sentences for the report.
    pub notes: Vec<String>,
    /// Sentences to read before believing a number.
    pub warnings: Vec<String>,
}

/// Finds out what `text` means and reads it.
///
/// # Errors
/// A file that cannot be read or understood, an unknown workload (the nearest is named), a machine that cannot be.
pub fn open(text: &str, options: &InputOptions) -> Result<Input, Failure> {
    let name = text.split(':').next().unwrap_or(text);
    if WORKLOADS.iter().any(|model| model.name == name) {
        return built_in(text, options);
    }
    let path = Path::new(text);
    if !path.exists() {
        return Err(no_such_input(text));
    }
    match path.extension().and_then(|e| e.to_str()) {
        Some("json") => rt_app(text, options),
        Some("toml") => experiment(text, options),
        _ => Err(no_such_input(text)),
    }
}

fn no_such_input(text: &str) -> Failure {
    let near = nearest(text, WORKLOADS.iter().map(|m| m.name)).unwrap_or_default();
    Failure::usage(format!(
        "\"{text}\" is neither a file nor a built-in workload; the nearest workload is \"{near}\". See `goodness list workloads`."
    ))
}

fn machine(options: &InputOptions, default: &str) -> Result<Machine, Failure> {
    parse_machine(options.machine.as_deref().unwrap_or(default)).map_err(Failure::usage)
}

fn built_in(text: &str, options: &InputOptions) -> Result<Input, Failure> {
    let source = BuiltIn::parse(text).map_err(Failure::usage)?;
    let about = model::Input { kind: InputKind::Workload, name: text.into(), sha256: None, lost_events: None };
    let machine = machine(options, "ideal")?;
    Ok(Input { source: Box::new(source), machine, about, notes: Vec::new(), warnings: Vec::new() })
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
    Ok(Input { source: Box::new(source), machine, about, notes: Vec::new(), warnings: Vec::new() })
}

/// A file's bytes, and the text they are.
fn read_text(path: &str) -> Result<(Vec<u8>, String), Failure> {
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
    Ok(Input { source: Box::new(source), machine, about, notes: Vec::new(), warnings })
}

/// The hash of a file, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
