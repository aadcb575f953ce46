//! Checks that the decisions of a live run follow from the policy: the input of its log, run through a fresh policy,
//! must give all decisions in the log.

use super::command::Command;
use super::error::LiveError;
use super::event::Input;
use super::host::Host;
use super::log::{Header, Log, Record};
use goodness_core::{Observer, Time};
use std::path::Path;

/// Result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The policy's registered name.
    pub policy: String,
    /// Inputs replayed.
    pub inputs: u64,
    /// Decisions compared.
    pub decisions: u64,
    /// The first difference, in a sentence.
    pub difference: Option<String>,
    /// The log is truncated; the missing part was not compared.
    pub is_cut: bool,
}

/// Replays the log at `path`. `observer` gets the events, with times from the start of the run.
///
/// # Errors
/// The file is not a log, or names a policy or setting that this version lacks.
pub fn replay(path: &Path, observer: &mut dyn Observer) -> Result<Replayed, LiveError> {
    let log = Log::read(path)?;
    replay_log(&log, observer).map_err(|why| LiveError::Log { path: path.into(), why })
}

/// Like [`replay`], for a log in memory.
///
/// # Errors
/// As [`replay`], without the file's name.
pub fn replay_log(log: &Log, observer: &mut dyn Observer) -> Result<Replayed, String> {
    let Header { policy, settings, .. } = &log.header;
    let entry = goodness_policies::entry(policy)
        .ok_or_else(|| format!("was made by the policy \"{policy}\", which this version does not have"))?;
    let setting = log.header.setting()?;
    let made = (entry.make)(&setting.machine, settings, setting.seed);
    let mut host = Host::new(setting, made.map_err(|why| format!("policy {policy}: {why}"))?);
    let mut found = Replayed { policy: policy.clone(), inputs: 0, decisions: 0, difference: None, is_cut: false };
    let mut records = log.records().peekable();
    let mut decided = Vec::new();
    while let Some(record) = records.next() {
        let Record::Input(input) = record else {
            found.difference = Some("the log begins with a decision".into());
            break;
        };
        decided.clear();
        while let Some(Record::Decided(command)) = records.next_if(|next| matches!(next, Record::Decided(_))) {
            decided.push(command);
        }
        found.inputs += 1;
        found.difference = match host.take(&input, observer) {
            Ok(again) => difference(&decided, again),
            Err(refusal) => Some(refusal.to_string()),
        }
        .map(|what| format!("at {}, input {}: {what}", since(&input, log), found.inputs));
        if found.difference.is_some() {
            break;
        }
        found.decisions += decided.len() as u64;
    }
    found.is_cut = log.is_cut();
    Ok(found)
}

fn since(input: &Input, log: &Log) -> Time {
    let (Input::Kernel(super::event::KernelEvent { at, .. }) | Input::Timer(at)) = input;
    Time(at.0.saturating_sub(log.header.epoch()))
}

fn difference(logged: &[Command], again: &[Command]) -> Option<String> {
    if logged == again {
        return None;
    }
    let said = |commands: &[Command]| match commands {
        [] => "nothing".to_string(),
        some => some.iter().map(Command::to_string).collect::<Vec<_>>().join(", "),
    };
    Some(format!("the log says {}, the policy says {}", said(logged), said(again)))
}
