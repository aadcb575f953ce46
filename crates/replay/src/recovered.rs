//! The recovered work: tasks, programmes, edges and event loops.

use super::clock::TickGrid;
use super::loop_rounds::LoopRounds;
use super::participants::Participant;
use super::program::{Act, Op};
use super::unknowns::Unknowns;
use goodness_core::{CpuId, Span, Start, TaskId};
use std::sync::Arc;

/// A recovered task.
#[derive(Clone, Debug)]
pub struct RecoveredTask {
    /// Its number in the recording.
    pub recorded: TaskId,
    /// Attributes in the recording.
    pub participant: Participant,
    /// Start.
    pub start: Start,
    /// Its CPU at the beginning.
    pub cpu: CpuId,
    /// Its programme.
    pub ops: Arc<[Op]>,
}

impl RecoveredTask {
    /// CPU time of the whole programme.
    #[must_use]
    pub fn cpu_time(&self) -> Span {
        let run = |op: &Op| if let Act::Run(span) = op.act() { span.0 } else { 0 };
        Span(self.ops.iter().map(run).sum())
    }
}

/// The recovered work.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The tasks; tasks that never ran and were never woken are not among them.
    pub tasks: Vec<RecoveredTask>,
    /// Number of edges, numbered from 0.
    pub edges: u32,
    /// The turns of event loops.
    pub rounds: Arc<LoopRounds>,
    /// Counts of unknown facts.
    pub unknowns: Unknowns,
    /// The recorded machine's tick, if it was found.
    pub grid: Option<TickGrid>,
    /// Length of the recording.
    pub length: Span,
}

/// A programme under recovery.
#[derive(Debug)]
pub struct Draft {
    /// Its task's number in the recording.
    pub recorded: TaskId,
    /// Start of the task.
    pub start: Start,
    /// Its CPU at the beginning.
    pub cpu: CpuId,
    /// The programme. Forks name tasks of the recording; turns and replies name replies.
    pub ops: Vec<Op>,
}

/// Converts drafts to tasks, whose instructions name tasks and turns by index in the result.
#[must_use]
pub fn finished(drafts: Vec<Draft>, participants: &[Participant], answers: usize) -> (Vec<RecoveredTask>, LoopRounds) {
    let mut place = vec![None; participants.len()];
    for (index, draft) in drafts.iter().enumerate() {
        place[draft.recorded.index()] = Some(index as u32);
    }
    let mut programmes: Vec<Vec<Op>> = drafts.iter().map(|draft| with_forks_renumbered(&draft.ops, &place)).collect();
    let rounds = LoopRounds::arrange(&mut programmes, answers);
    let task = |(draft, ops): (Draft, Vec<Op>)| RecoveredTask {
        recorded: draft.recorded,
        participant: participants[draft.recorded.index()].clone(),
        start: draft.start,
        cpu: draft.cpu,
        ops: ops.into(),
    };
    (drafts.into_iter().zip(programmes).map(task).collect(), rounds)
}

/// Renumbers the tasks named by forks from the recording's numbers to the workload's.
fn with_forks_renumbered(ops: &[Op], place: &[Option<u32>]) -> Vec<Op> {
    let rename = |op: &Op| match op.act() {
        Act::Fork(child) => place[child as usize].map(|p| Op::new(Act::Fork(p))),
        _ => Some(*op),
    };
    ops.iter().filter_map(rename).collect()
}
