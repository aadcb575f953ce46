//! A trace of block I/O as an input.

use super::OpenOptions;
use super::held::{Held, refusal};
use crate::refusal::Refusal;
use crate::work::Work;
use goodness_replay::block::{BlockReplay, Options};
use goodness_report::model::{self, Counted, Details, InputKind};
use goodness_trace::block::BLOCK_FORMATS;
use goodness_trace::{FORMATS, Repair, TraceError};

/// Opens, as a trace of block I/O, an input that is not a scheduling recording for the reason `why`.
///
/// # Errors
/// If it is a trace of block I/O, the reason it is unusable; else `why`.
pub(super) fn instead(held: &Held, options: &OpenOptions, why: TraceError) -> Result<Work, Refusal> {
    let is_other = matches!(why, TraceError::NotATrace { .. } | TraceError::NoSwitches { .. });
    if !is_other {
        return Err(refusal(&why));
    }
    match (held.block(), why) {
        (Ok(_), _) => open(held, options),
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
pub(super) fn open(held: &Held, options: &OpenOptions) -> Result<Work, Refusal> {
    let replay = Options {
        arrivals: options.replay.arrivals,
        events: options.block_events.unwrap_or_default(),
        device: options.device.clone(),
    };
    let source = BlockReplay::read(&held.name, || held.block(), &replay).map_err(Refusal::usage)?;
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
        warnings: source.about.warnings.clone(),
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
    Ok(Work { details, ..Work::of(source, options.machine_or_ideal()?, about) })
}
