//! Opens a recording as work, with its own measurements, its machine and its policy.

use crate::kernel::policy_of;
use crate::recorded::{Recorded, RecordedTask};
use crate::refusal::Refusal;
use crate::work::Work;
use goodness_core::{HORIZON_MAX, Span, Time};
use goodness_observe::{Measured, Metrics, Subject};
use goodness_replay::{Figure, History, RecoveredTask, Replay, ReplayOptions, Requests, machine_of, recover};
use goodness_report::model::{self, Counted, Details, InputKind};
use goodness_trace::Recording;

/// The longest recording that is replayed: longer ones are traces with a time that jumps.
const LONGEST: Span = HORIZON_MAX;

/// Recovers work, machine and policy from `recording`.
///
/// # Errors
/// An invalid machine, or times that jump.
pub(crate) fn recover_work(
    recording: &Recording,
    options: ReplayOptions,
    sha256: Option<String>,
) -> Result<Work, Refusal> {
    let history = History::of(recording);
    if history.length() > LONGEST {
        let what = format!("its times cover {}, and at most {LONGEST} can be replayed", history.length());
        let remedy = "cut the trace, or look for a time that jumps";
        return Err(Refusal::usage(what).at(&recording.name).remedy(remedy));
    }
    let recovered = recover(&history, options);
    let machine = machine_of(recording, &history, recovered.grid).map_err(Refusal::usage)?;
    let mut warnings = recording.warnings.clone();
    let recorded = Recorded {
        policy: policy_of(recording, &mut warnings)?,
        measured: measure(recording, &history, &recovered.requests),
        lacks: recovered.saturated().map(saturated).collect(),
        cpus: history.cpus,
        tasks: recovered.tasks.iter().map(recorded_task).collect(),
    };
    let judged = recovered.tasks.iter().filter(|t| t.participant.judged).count();
    let belonging =
        format!("{judged} of {} tasks belong to what was recorded; the others compete", recovered.tasks.len());
    let asked = recovered.requests.counted().into_iter();
    let asked = asked.map(|(kind, count)| {
        let client = kind.client.as_deref().unwrap_or("clients elsewhere");
        format!("{client} asked {} {count} times", kind.server)
    });
    let details = Details {
        workload_notes: std::iter::once(belonging).chain(asked).collect(),
        machine_notes: machine.figures.iter().map(figure_sentence).collect(),
        warnings,
        repairs: more_than_none(recording.repairs.iter().map(|(kind, n)| (kind.meaning(), n.count))),
        unknowns: more_than_none(recovered.unknowns.counted()),
        ..Details::default()
    };
    let header = recording.metadata.recording.as_ref();
    let lost_events = header.map(|h| h.lost.iter().map(|l| l.overrun.unwrap_or(0) + l.dropped.unwrap_or(0)).sum());
    let about = model::Input { kind: InputKind::Trace, name: recording.name.clone(), sha256, lost_events };
    let source = Box::new(Replay::new(&recording.name, recovered));
    Ok(Work { source, machine: machine.machine, about, details, recorded: Some(recorded) })
}

/// The reason why more CPU time for `task` has an unknown effect.
fn saturated(task: &RecoveredTask) -> String {
    format!(
        "{} {} worked for others without ever waiting for work: how much more it would do is not recorded",
        task.participant.name, task.participant.pid
    )
}

fn recorded_task(task: &RecoveredTask) -> RecordedTask {
    RecordedTask { recorded: task.recorded.index(), name: task.participant.name.clone() }
}

/// The counts above zero.
fn more_than_none<'a>(all: impl IntoIterator<Item = (&'a str, u64)>) -> Vec<Counted> {
    let happened = all.into_iter().filter(|(_, count)| *count > 0);
    happened.map(|(what, count)| Counted { what: what.into(), count }).collect()
}

/// A figure read off the recording, as a sentence.
fn figure_sentence(figure: &Figure) -> String {
    let value = figure.value.as_deref().unwrap_or("not shown by this recording");
    match figure.samples {
        0 => format!("{} {value}: {}", figure.name, figure.how),
        samples => format!("{} {value} from {samples} cases: {}", figure.name, figure.how),
    }
}

/// Metrics of the recording itself.
fn measure(recording: &Recording, history: &History, requests: &Requests) -> Measured {
    let subjects: Vec<Subject> = history
        .participants
        .iter()
        .map(|c| Subject {
            judged: c.judged,
            class: c.task.class,
            nice: c.task.nice,
            affinity: c.task.affinity.clone(),
        })
        .collect();
    let mut metrics = Metrics::new(history.cpus, recording.start(), &subjects);
    recording.observe_served(&requests.served(history.records), &mut metrics);
    metrics.finish(recording.end().max(Time(1)))
}
