//! Opens a recording as work, with its own measurements, its machine and its policy.

use super::{OpenOptions, facts, judged};
use crate::kernel::policy_of;
use crate::recorded::{Recorded, RecordedTask, batch_errors};
use crate::refusal::Refusal;
use crate::run::Named;
use crate::work::Work;
use goodness_core::{CpuId, GroupId, HORIZON_MAX, Span, Time, WorkloadSource};
use goodness_observe::{Batches, ByFifth, Fifths, Lull, Measured, Metrics, Subject, Window};
use goodness_replay::requests::{AtOnce, Kind};
use goodness_replay::{
    Figure, History, Others, Participant, Recovered, RecoveredTask, Replay, ReplayOptions, Requests, machine_of,
    recover,
};
use goodness_report::model::{self, Counted, Details, InputKind};
use goodness_trace::{Recording, Repair};

/// The longest recording that is replayed: longer ones are traces with a time that jumps.
const LONGEST: Span = HORIZON_MAX;

/// Recovers work, machine and policy from `recording`.
///
/// # Errors
/// An invalid machine, times that jump, nobody who is to be judged, or a fact that cannot be.
pub(super) fn recover_work(
    recording: &Recording,
    options: &OpenOptions,
    sha256: Option<String>,
) -> Result<Work, Refusal> {
    let (history, mut warnings) = history(recording, options)?;
    if history.length() > LONGEST {
        let what = format!("its times cover {}, and at most {LONGEST} can be replayed", history.length());
        let remedy = "cut the trace, or look for a time that jumps";
        return Err(Refusal::usage(what).at(&recording.name).remedy(remedy));
    }
    let recovered = recover(&history, options.replay);
    let machine = machine_of(recording, &history, recovered.grid).map_err(Refusal::usage)?;
    warnings.extend(goodness_replay::attributes::not_followed(recording));
    let whole = with_others(&history, options.replay);
    let compared = whole.as_ref().unwrap_or(&recovered);
    let (measured, (fifths, batches, lull)) = measure(recording, &history, &recovered.requests);
    let recorded = Recorded {
        policy: policy_of(recording, &mut warnings)?,
        elevator: None,
        measured,
        fifths,
        lull,
        batch_errors: batch_errors(&batches),
        lacks: compared.saturated().map(saturated).chain(compared.requests.at_once.iter().map(at_once)).collect(),
        cpus: usable(&compared.tasks, history.cpus),
        tasks: compared.tasks.iter().map(recorded_task).collect(),
        whole: whole.map(|whole| Box::new(Replay::new(&recording.name, whole)) as Box<dyn WorkloadSource>),
    };
    let judged = recovered.tasks.iter().filter(|t| t.participant.judged).count();
    if judged == 0 && !options.judge.is_empty() {
        return Err(judged::wrong(&options.judge.join(" "), "no task of that name took part"));
    }
    let details = Details {
        workload_notes: workload_notes(judged, &recorded, &recovered),
        machine_notes: machine.figures.iter().map(figure_sentence).collect(),
        warnings,
        repairs: more_than_none(recording.repairs.iter().map(|(kind, n)| (kind.meaning(), n.count))),
        unknowns: more_than_none(recovered.unknowns.counted()),
        ..Details::default()
    };
    let name = recording.name.clone();
    let source = Box::new(Replay::new(&name, recovered));
    let about = model::Input { kind: InputKind::Trace, name, sha256, lost_events: lost_events(recording) };
    Ok(Work { source, machine: machine.machine, about, details, recorded: Some(recorded) })
}

/// The history of `recording` with who is judged and what is known about the tasks, and notes on it.
///
/// # Errors
/// Nobody who is to be judged, or a fact that cannot be.
pub(crate) fn history<'a>(
    recording: &'a Recording,
    options: &OpenOptions,
) -> Result<(History<'a>, Vec<String>), Refusal> {
    let mut history = History::of(recording);
    history.end = recording.end();
    judged::select(recording, &mut history.participants, &options.judge)?;
    let mut warnings = recording.warnings.clone();
    warnings.extend(facts::apply(recording, &mut history, &options.fact)?);
    Ok((history, warnings))
}

/// Sentences about who belongs to the work, and about its requests.
fn workload_notes(judged: usize, recorded: &Recorded, recovered: &Recovered) -> Vec<String> {
    let others = match &recorded.whole {
        None => "the others compete",
        Some(_) => "the others are left out, but not where the error of the replay is measured",
    };
    let belonging = format!("{judged} of {} tasks belong to the judged work; {others}", recorded.tasks.len());
    let asked = recovered.requests.counted().into_iter().map(|(kind, count)| {
        let client = kind.client.as_deref().unwrap_or("clients on other machines");
        format!("{count} requests of {client} to {}", kind.server)
    });
    std::iter::once(belonging).chain(asked).collect()
}

/// The work with all tasks, if `options` leave some out.
fn with_others(history: &History, options: ReplayOptions) -> Option<Recovered> {
    (options.others == Others::LeftOut).then(|| recover(history, ReplayOptions { others: Others::Compete, ..options }))
}

/// Events that the recording lost, by its header or by its lines, whichever tells of more. `None` if neither does.
fn lost_events(recording: &Recording) -> Option<u64> {
    let header = recording.metadata.recording.as_ref();
    let counted = header.filter(|it| !it.lost.is_empty());
    let of_header = counted.map(|h| h.lost.iter().map(|l| l.overrun.unwrap_or(0) + l.dropped.unwrap_or(0)).sum());
    let of_lines = Some(recording.repairs.of(Repair::LostEvents).count).filter(|count| *count > 0);
    of_header.max(of_lines)
}

/// The reason why more CPU time for `task` has an unknown effect.
fn saturated(task: &RecoveredTask) -> String {
    format!(
        "{} {} is saturated: it never waited for work, so the recording does not show how much more it could do",
        task.participant.name, task.participant.pid
    )
}

/// The reason why the requests of a client with several connections to one task are not known.
pub(crate) fn at_once(it: &AtOnce) -> String {
    let AtOnce { kind: Kind { client, server }, connections, pairs } = it;
    let client = client.as_deref().unwrap_or("the client");
    format!(
        "requests of {client} are not reliable: its {connections} connections to {server} share {pairs} pair{} of \
         tasks, whose requests wakings do not tell apart. `goodness record --messages` tells them apart, but not in \
         replays",
        if *pairs == 1 { "" } else { "s" }
    )
}

/// Number of CPUs, of `cpus`, that judged tasks may use.
fn usable(tasks: &[RecoveredTask], cpus: usize) -> u32 {
    let may_run = |cpu: &CpuId| {
        let mut judged = tasks.iter().map(|it| &it.participant).filter(|it| it.judged);
        judged.any(|it| it.task.affinity.contains(*cpu))
    };
    (0..cpus as u32).map(CpuId).filter(may_run).count() as u32
}

fn recorded_task(task: &RecoveredTask) -> RecordedTask {
    let who = &task.participant;
    RecordedTask { recorded: task.recorded.index(), named: Named::of(&who.name, u64::from(who.pid), &who.task) }
}

/// The counts above zero.
fn more_than_none<'a>(all: impl IntoIterator<Item = (&'a str, u64)>) -> Vec<Counted> {
    let happened = all.into_iter().filter(|(_, count)| *count > 0);
    happened.map(|(what, count)| Counted { what: what.into(), count }).collect()
}

/// A figure of the recorded machine, as a sentence.
fn figure_sentence(figure: &Figure) -> String {
    let Figure { name, value, samples, how } = figure;
    let plural = if *samples == 1 { "" } else { "s" };
    match value {
        Some(value) if *samples == 0 => format!("{name} {value}: {how}"),
        Some(value) => format!("{name} {value} ({samples} sample{plural}): {how}"),
        None => format!("{name} not measurable in this recording ({samples} sample{plural}): {how}"),
    }
}

/// The tasks as observers know them.
pub(crate) fn subjects(history: &History) -> Vec<Subject> {
    let is_grouped = history.participants.iter().any(|it| it.task.group != GroupId::ROOT);
    let subject = |it: &Participant| Subject {
        judged: it.judged,
        class: it.task.class,
        nice: it.task.nice,
        affinity: it.task.affinity.clone(),
        is_grouped,
    };
    history.participants.iter().map(subject).collect()
}

/// CPU time by task and fifth, the metrics of each fifth, and the longest lull if there are requests.
type ByPart = (Vec<ByFifth>, Vec<Measured>, Option<Span>);

/// Metrics of the recording itself, and what it shows of its parts.
fn measure(recording: &Recording, history: &History, requests: &Requests) -> (Measured, ByPart) {
    let subjects = subjects(history);
    let window = Window { from: recording.start(), to: recording.end().max(Time(1)) };
    let metrics = Metrics::new(history.cpus, window.from, &subjects);
    let batches = Batches::new(history.cpus, window, &subjects);
    let beside = (Fifths::new(history.cpus, window), Lull::new(window, &subjects));
    let mut observer = (metrics, beside, batches);
    recording.observe_served(&requests.served(history.records), &mut observer);
    let (metrics, (fifths, lull), batches) = observer;
    let measured = metrics.finish(window.to);
    let has_requests = measured.get("throughput").samples > 0;
    (measured, (fifths.finish(), batches.finish(), has_requests.then(|| lull.finish())))
}
