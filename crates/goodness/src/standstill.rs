//! Deadlocks and faults of the work: tasks that wait for something that never happens.

use crate::again::Again;
use crate::recorded::Recorded;
use crate::refusal::Refusal;
use crate::run::{Named, RunResult};
use goodness_core::{Awaited, Span, TaskId, Time, Workload, WorkloadSource};
use goodness_observe::{Lull, Subject, Window};
use goodness_report::figure;
use goodness_sim::{End, Fault, Outcome};

/// Tasks named in one sentence; the others are counted.
const NAMED_MAX: usize = 4;

/// Error for work that no policy can do: bad input.
pub(crate) fn fault(source: &dyn WorkloadSource, tasks: &[Named], fault: &Fault) -> Refusal {
    let whose = match fault.task {
        Some(task) => format!("{}: {}", place(source, task), name(tasks, task)),
        None => format!("\"{}\":", source.name()),
    };
    let remedy = match fault.task {
        Some(_) => "mend its programme: give a step a length above 0, or use only what is there",
        None => "mend the file: faults name CPUs of the machine and leave one online, and programmes let time pass",
    };
    Refusal::usage(format!("{whose} {} (at {})", fault.sentence, fault.at)).remedy(remedy)
}

/// Fails for a run with a deadlock: all `tasks` of the work wait, or one waits for a lock that is never released while
/// nothing else happens, or some wait for each other's locks while others run.
///
/// # Errors
/// The time, the waiting tasks, what they wait for, and the remedy.
pub(crate) fn refuse_deadlock(
    source: &dyn WorkloadSource,
    tasks: &[Named],
    outcome: &Outcome,
    again: impl Fn() -> Again,
) -> Result<(), Refusal> {
    let waits_for_lock = outcome.waiting.iter().any(|(_, awaited)| matches!(awaited, Awaited::Lock(_)));
    if !is_stranded(source, outcome) || !(waits_for_lock || outcome.waiting.len() == tasks.len()) {
        return Ok(());
    }
    let waiting = who_waits(source, tasks, outcome);
    let who = if outcome.reason == End::Quiet { "no task can continue" } else { "these never continue" };
    let what = format!("deadlock at {}: {who}: {waiting}", outcome.end);
    let remedy = "add the wake-up or the release of the lock that they wait for";
    Err(Refusal::usage(what).at(source.name()).remedy(remedy).again(again()))
}

/// Remark on a run that ended early because the remaining tasks wait for tasks that have ended.
pub(crate) fn remark(source: &dyn WorkloadSource, run: &RunResult) -> Option<String> {
    let outcome = &run.outcome;
    (outcome.reason == End::Quiet && is_stranded(source, outcome)).then(|| {
        format!(
            "the run ended at {}, when no task could continue: {}",
            outcome.end,
            who_waits(source, &run.tasks, outcome)
        )
    })
}

/// Part of the window by which a lull is longer than any recorded one where a replay ran dry. A choice.
const DRY: u64 = 5;

/// The observer of lulls in a replay of a recording with requests.
pub(crate) fn lull(recorded: &Recorded, work: &Workload) -> Option<Lull> {
    recorded.lull?;
    let window = Window { from: Time::ZERO + work.warmup, to: Time::ZERO + recorded.length() };
    // Work that ends with what was recorded may be done early.
    (work.horizon == Some(window.to)).then(|| Lull::new(window, &Subject::all(work)))
}

/// Reason not to trust a replay with this longest lull ([`goodness_observe::Lull`]): it waits for what the recording
/// does not show, such as the next request of a client that was served faster.
pub(crate) fn ran_dry(recorded: &Recorded, replayed: Span) -> Option<String> {
    let usual = recorded.lull?;
    (replayed > usual + Span(recorded.length().0 / DRY)).then(|| {
        format!(
            "the service sleeps for {} without an answered request, in the recording for {} at most: the replay waits \
             for what was not recorded, so its throughput may be too low",
            figure::time(Some(replayed.0)),
            figure::time(Some(usual.0))
        )
    })
}

/// True if tasks wait for what never happens. Replays may: a recording can end before the awaited events.
fn is_stranded(source: &dyn WorkloadSource, outcome: &Outcome) -> bool {
    !outcome.waiting.is_empty() && !source.may_end_waiting()
}

fn who_waits(source: &dyn WorkloadSource, tasks: &[Named], outcome: &Outcome) -> String {
    let waits = |&(task, awaited): &(TaskId, Awaited)| {
        let what = source.name_of(awaited).unwrap_or_else(|| match awaited {
            Awaited::Channel(channel) => format!("channel {}", channel.0),
            Awaited::Lock(lock) => format!("lock {}", lock.0),
        });
        format!("{} ({}) waits for {}", name(tasks, task), place(source, task), figure::printable(&what))
    };
    let mut parts: Vec<String> = outcome.waiting.iter().take(NAMED_MAX).map(waits).collect();
    match outcome.waiting.len() - parts.len() {
        0 => {}
        more => parts.push(format!("and {more} more wait")),
    }
    parts.join(", ")
}

fn name(tasks: &[Named], task: TaskId) -> String {
    tasks.get(task.index()).map_or_else(|| task.to_string(), |known| format!("task \"{}\"", figure::name(&known.name)))
}

fn place(source: &dyn WorkloadSource, task: TaskId) -> String {
    source.place_of(task).unwrap_or_else(|| source.name().to_string())
}
