//! A trace of block I/O as an input.

use super::OpenOptions;
use super::held::{Held, refusal};
use crate::recorded::Recorded;
use crate::refusal::Refusal;
use crate::spec::{ElevatorSpec, PolicySpec};
use crate::standard::STANDARD_POLICY;
use crate::work::Work;
use goodness_replay::block::{BlockReplay, Options, Recorded as FoundRecorded};
use goodness_report::model::{self, Counted, Details, InputKind};
use goodness_trace::block::BLOCK_FORMATS;
use goodness_trace::{FORMATS, Repair, TraceError};

/// Ranks elevators that are measured in the same window.
const RANKS: &str = "iops";
/// Elevator of a trace whose requests went through none.
const WITHOUT: &str = "none";
/// Elevator of a trace whose requests went through one that it does not name: Linux's default for disks with one
/// queue.
const USUAL: &str = "mq-deadline";

/// Reason for opening a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be replayed: on another device, the recording is no measure.
    Replay,
    /// To be held against its recording, whatever device the replay has.
    Verify,
}

/// Opens, as a trace of block I/O, an input that is not a scheduling recording for the reason `why`.
///
/// # Errors
/// If it is a trace of block I/O, the reason it is unusable; else `why`.
pub(super) fn instead(held: &Held, options: &OpenOptions, why: TraceError, purpose: Purpose) -> Result<Work, Refusal> {
    let is_other = matches!(why, TraceError::NotATrace { .. } | TraceError::NoSwitches { .. });
    if !is_other {
        return Err(refusal(&why));
    }
    match (held.block(), why) {
        (Ok(_), _) => open(held, options, purpose),
        (Err(TraceError::NotATrace { .. }), TraceError::NotATrace { path, begins, remedy, .. }) => {
            let known = FORMATS.iter().map(|f| f.name).chain(BLOCK_FORMATS.iter().map(|f| f.name));
            let formats = known.collect::<Vec<_>>().join(", ");
            Err(refusal(&TraceError::NotATrace { path, formats, begins, remedy }))
        }
        (Err(why), TraceError::NotATrace { .. }) | (Err(_), why) => Err(refusal(&why)),
    }
}

/// Opens a trace of block I/O as work.
///
/// # Errors
/// A trace that cannot be read or replayed, or an invalid machine or device.
pub(super) fn open(held: &Held, options: &OpenOptions, purpose: Purpose) -> Result<Work, Refusal> {
    options.refuse(&["judge", "fact", "window"], &held.name, "replayed as block I/O")?;
    let replay = Options {
        arrivals: options.replay.arrivals,
        events: options.block_events.unwrap_or_default(),
        device: options.device.clone(),
        ends: options.replay.ends,
    };
    let mut source = BlockReplay::read(&held.name, || held.block(), &replay).map_err(Refusal::usage)?;
    let mut warnings = source.about.warnings.clone();
    let recorded = source.recorded.take().map(|found| recorded(found, options, &mut warnings)).transpose()?;
    let lost = source.about.repairs.of(Repair::LostEvents).count;
    let about = model::Input {
        kind: InputKind::Trace,
        name: held.name.clone(),
        sha256: held.hash(),
        lost_events: source.about.carries.stages.then_some(lost),
    };
    let counted = |what: &str, count| Counted { what: what.into(), count };
    let details = Details {
        workload_notes: source.notes.clone(),
        warnings,
        // A closed loop's work in the recorded window is the outcome.
        ranked_by: source.is_measured_in_a_window().then(|| RANKS.into()),
        repairs: source.about.repairs.iter().map(|(kind, n)| counted(kind.meaning(), n.count)).collect(),
        unknowns: source
            .lost
            .counted()
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| counted(what, count))
            .collect(),
        ..Details::default()
    };
    let recorded = recorded.filter(|_| purpose == Purpose::Verify || options.device.is_none());
    Ok(Work { details, recorded, ..Work::of(source, options.machine_or_ideal()?, about) })
}

/// The recording behind the work, with the elevator that recorded it.
fn recorded(found: FoundRecorded, options: &OpenOptions, warnings: &mut Vec<String>) -> Result<Recorded, Refusal> {
    let elevator = match (&options.recorded_by, found.has_elevator) {
        (Some(named), _) => ElevatorSpec::parse(named)?,
        (None, false) => ElevatorSpec::parse(WITHOUT)?,
        (None, true) => {
            warnings.push(format!(
                "the trace does not name its elevator, which is taken for {USUAL}; --recorded-by NAME says otherwise"
            ));
            ElevatorSpec::parse(USUAL)?
        }
    };
    Ok(Recorded {
        whole: None,
        fifths: Vec::new(),
        lull: None,
        batch_errors: Vec::new(),
        policy: PolicySpec::parse(STANDARD_POLICY)?,
        elevator: Some(elevator),
        measured: found.measured,
        lacks: found.lacks,
        cpus: 1,
        tasks: Vec::new(),
    })
}
