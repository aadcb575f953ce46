//! Common parts of the models: the vocabulary of plans and their usual steps.

pub use crate::models::About;
pub use crate::script::{Mailbox, Op, OutsiderPlan, Plan, Script, TaskPlan};
pub use goodness_core::{ChannelKind, LockKind, Span, Start, Step, Task, Time};
pub use std::sync::Arc;

/// Range of `span` ±10 %, so that replications differ.
fn about(span: Span) -> (Span, Span) {
    (Span(span.0 - span.0 / 10), span + span / 10)
}

/// A burst of `span` ±10 %.
pub fn compute_about(span: Span) -> Op {
    let (low, high) = about(span);
    Op::ComputeBetween(low, high)
}

/// A sleep of `span` ±10 %.
pub fn sleep_about(span: Span) -> Op {
    let (low, high) = about(span);
    Op::SleepBetween(low, high)
}

/// Computes without end.
pub fn hog() -> Arc<Script> {
    Arc::new(Script { ops: vec![Op::Do(Step::Compute(Span::MAX))], ..Script::default() })
}

/// A script that repeats `ops` forever.
pub fn forever(ops: Vec<Op>) -> Arc<Script> {
    let mut script = Script { ops, ..Script::default() };
    script.repeat_from(0, None);
    Arc::new(script)
}

/// Adds `count` tasks that run `script`, each with its own address space.
pub fn add(plan: &mut Plan, name: &str, count: u64, script: &Arc<Script>) {
    for number in 0..count {
        plan.tasks.push(TaskPlan {
            name: format!("{name}-{number}"),
            start: Start::At(Time::ZERO),
            task: Task { address_space: Some(plan.tasks.len() as u32), ..Task::default() },
            script: Arc::clone(script),
            line: 0,
        });
    }
}

/// An empty plan that ends after `duration`.
pub fn lasting(duration: Span) -> Plan {
    Plan { horizon: Some(Time::ZERO + duration), ..Plan::default() }
}

/// Adds `count` clients that run `script` outside the machine.
pub fn add_outside(plan: &mut Plan, name: &str, count: u64, script: &Arc<Script>) {
    let one = |number| OutsiderPlan { name: format!("{name}-{number}"), start: Time::ZERO, script: Arc::clone(script) };
    plan.outside.extend((0..count).map(one));
}

/// Like [`forever`], for a script that already has jumps and counters.
pub fn forever_script(mut script: Script) -> Arc<Script> {
    script.repeat_from(0, None);
    Arc::new(script)
}

/// Makes the [`Op::Chance`] at `from` jump behind the last instruction when it fails.
pub fn branch_to_here(script: &mut Script, from: usize) {
    let here = script.ops.len() as u32;
    if let Some(
        Op::Chance { or_to, .. }
        | Op::Turn { or_to, .. }
        | Op::Room { or_to, .. }
        | Op::AtMost { or_to, .. }
        | Op::Marked { or_to },
    ) = script.ops.get_mut(from)
    {
        *or_to = here;
    }
}
