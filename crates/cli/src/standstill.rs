//! Work that comes to a standstill: tasks that wait for what will not come, and faults of the work itself.

use crate::failure::Failure;
use crate::lab::{Named, Plan, RunResult};
use goodness_core::{Awaited, TaskId};
use goodness_report::figure;
use goodness_sim::{End, Fault, Outcome};

/// Tasks named in one sentence; the others are counted.
const NAMED_MAX: usize = 4;

/// Why a run failed whose work asks for what no policy can do: bad input.
pub fn fault(plan: &Plan, tasks: &[Named], fault: &Fault, command: &str) -> Failure {
    let place = match fault.task {
        Some(task) => format!("{}: {}", place(plan, task), name(tasks, task)),
        None => plan.source.name().to_string(),
    };
    Failure::usage(format!(
        "{place} {} (at {}); mend its programme: give a step a length above 0, or use only what is there. Reproduce: \
         {command}",
        fault.sentence, fault.at
    ))
}

/// Refuses a run that ended in a deadlock: all its tasks wait, or one waits for a lock that is never released.
///
/// # Errors
/// One sentence: when, who waits for what, the remedy.
pub fn refuse_deadlock(plan: &Plan, tasks: &[Named], outcome: &Outcome, command: &str) -> Result<(), Failure> {
    let waits_for_lock = outcome.waiting.iter().any(|(_, awaited)| matches!(awaited, Awaited::Lock(_)));
    if !is_stranded(plan, outcome) || !(waits_for_lock || outcome.waiting.len() == tasks.len()) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{}: deadlock at {}: nobody can act any more. {}. Let a task that still runs wake them or release the lock. \
         Reproduce: {command}",
        plan.source.name(),
        outcome.end,
        who_waits(plan, tasks, outcome)
    )))
}

/// What is to be said of a run that ended early because those who are left wait for the others, who have ended.
pub fn remark(plan: &Plan, run: &RunResult) -> Option<String> {
    let outcome = &run.outcome;
    is_stranded(plan, outcome).then(|| {
        format!(
            "the run ended at {}, when nobody could act any more: {}",
            outcome.end,
            who_waits(plan, &run.tasks, outcome)
        )
    })
}

fn is_stranded(plan: &Plan, outcome: &Outcome) -> bool {
    outcome.reason == End::Quiet && !outcome.waiting.is_empty() && !plan.source.may_end_waiting()
}

fn who_waits(plan: &Plan, tasks: &[Named], outcome: &Outcome) -> String {
    let waits = |&(task, awaited): &(TaskId, Awaited)| {
        let what = plan.source.name_of(awaited).unwrap_or_else(|| match awaited {
            Awaited::Channel(channel) => format!("channel {}", channel.0),
            Awaited::Lock(lock) => format!("lock {}", lock.0),
        });
        format!("{} ({}) waits for {}", name(tasks, task), place(plan, task), figure::printable(&what))
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

fn place(plan: &Plan, task: TaskId) -> String {
    plan.source.place_of(task).unwrap_or_else(|| plan.source.name().to_string())
}
