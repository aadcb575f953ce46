//! What recovery hands over.

use super::clock::TickGrid;
use super::program::{Act, Op};
use super::story::{Character, Who};
use super::turns::Turns;
use super::unknowns::Unknowns;
use goodness_core::{CpuId, Span, Start};
use std::sync::Arc;

/// A recovered task.
#[derive(Clone, Debug)]
pub struct RecoveredTask {
    /// Its place in the story's cast, which is also its number in the recording.
    pub who: Who,
    /// Who it was.
    pub character: Character,
    /// How it begins.
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

/// All that was recovered.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The tasks; tasks that never ran and were never woken are not among them.
    pub tasks: Vec<RecoveredTask>,
    /// How many edges there are, numbered from 0.
    pub edges: u32,
    /// The turns of event loops.
    pub turns: Arc<Turns>,
    /// What could not be known.
    pub unknowns: Unknowns,
    /// The recorded machine's tick, where it showed.
    pub grid: Option<TickGrid>,
    /// Length of the recording.
    pub length: Span,
}

/// A programme as far as it was recovered.
#[derive(Debug)]
pub struct Draft {
    /// Whose: its place in the cast.
    pub who: Who,
    /// How the task begins.
    pub start: Start,
    /// Its CPU at the beginning.
    pub cpu: CpuId,
    /// The programme; forks name members of the cast, turns and answers what they begin with.
    pub ops: Vec<Op>,
}

/// Makes tasks of the drafts: instructions then name tasks and turns by their places in what is handed over.
#[must_use]
pub fn finished(drafts: Vec<Draft>, cast: &[Character], answers: usize) -> (Vec<RecoveredTask>, Turns) {
    let mut place = vec![None; cast.len()];
    for (index, draft) in drafts.iter().enumerate() {
        place[draft.who.index()] = Some(index as u32);
    }
    let mut programmes: Vec<Vec<Op>> = drafts.iter().map(|draft| with_forks_renumbered(&draft.ops, &place)).collect();
    let turns = Turns::arrange(&mut programmes, answers);
    let task = |(draft, ops): (Draft, Vec<Op>)| RecoveredTask {
        who: draft.who,
        character: cast[draft.who.index()].clone(),
        start: draft.start,
        cpu: draft.cpu,
        ops: ops.into(),
    };
    (drafts.into_iter().zip(programmes).map(task).collect(), turns)
}

/// Forks name members of the cast; workloads number their tasks anew.
fn with_forks_renumbered(ops: &[Op], place: &[Option<u32>]) -> Vec<Op> {
    let rename = |op: &Op| match op.act() {
        Act::Fork(child) => place[child as usize].map(|p| Op::new(Act::Fork(p))),
        _ => Some(*op),
    };
    ops.iter().filter_map(rename).collect()
}
