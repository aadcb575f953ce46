//! The recovered work: tasks, programmes, edges and event loops.

use super::clock::TickGrid;
use super::draft::Draft;
use super::loop_rounds::LoopRounds;
use super::open_end::{GoesOn, going_on, open_ends};
use super::participants::Participant;
use super::program::{Instruction, Op};
use super::requests::Requests;
use super::unknowns::Unknowns;
use goodness_core::{CpuId, Span, Start, TaskId};
use std::collections::BTreeMap;
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
        let run = |op: &Op| if let Instruction::Run(span) = op.instruction() { span.0 } else { 0 };
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
    /// How each task goes on after its programme, by place.
    pub going_on: Vec<GoesOn>,
    /// Edges that nobody posts after the first lap, and how long the recorded waits for them lasted.
    pub delays: BTreeMap<u32, Span>,
    /// Whether every task that was recorded on purpose ended before the recording did.
    pub is_over: bool,
    /// What clients asked of servers.
    pub requests: Requests,
    /// What could not be known.
    pub unknowns: Unknowns,
    /// The recorded machine's tick, if it was found.
    pub grid: Option<TickGrid>,
    /// Length of the recording.
    pub length: Span,
    /// Length of each lap after the first.
    pub lap: Span,
}

/// A task with at least this part of the recording as CPU time counts as busy. A choice.
const BUSY: u64 = 20;
/// A saturated task wakes others at least this often, and ten times as often as it waits. A choice.
const WAKES: usize = 100;

impl Recovered {
    /// The tasks whose demand the recording does not show: they worked for others and were never done with it, so that
    /// they hardly waited. With more CPU time they would do more, up to an amount that nobody knows.
    pub fn saturated(&self) -> impl Iterator<Item = &RecoveredTask> {
        let goes_on = self.tasks.iter().zip(&self.going_on).filter(|(_, on)| **on != GoesOn::Never);
        goes_on.map(|(task, _)| task).filter(|task| task.is_saturated(self.length))
    }
}

impl RecoveredTask {
    fn is_saturated(&self, length: Span) -> bool {
        let count = |is: fn(Instruction) -> bool| self.ops.iter().filter(|op| is(op.instruction())).count();
        let wakes = count(|it| matches!(it, Instruction::Post(_) | Instruction::Answer(_)));
        let waits = count(|it| !matches!(it, Instruction::Post(_) | Instruction::Answer(_) | Instruction::Run(_)));
        self.cpu_time().0 >= length.0 / BUSY && wakes >= WAKES && waits * 10 < wakes
    }
}

/// What recovery found, before tasks are numbered anew.
pub struct Found {
    /// The programmes.
    pub drafts: Vec<Draft>,
    /// Length of each recorded wait for an edge, by edge.
    pub waits: Vec<Span>,
    /// How many answers the drafts name.
    pub answers: usize,
    /// Whether the work was over before the recording was: nobody goes on then.
    pub is_over: bool,
    /// What clients asked of servers.
    pub requests: Requests,
    /// What could not be known.
    pub unknowns: Unknowns,
    /// The recorded machine's tick, where it showed.
    pub grid: Option<TickGrid>,
    /// Length of the recording.
    pub length: Span,
    /// Length of each lap after the first.
    pub lap: Span,
}

impl Found {
    /// Makes tasks of the drafts: instructions then name tasks and turns by their places in what is handed over.
    #[must_use]
    pub fn finish(self, participants: &[Participant]) -> Recovered {
        let Found { drafts, waits, answers, is_over, requests, unknowns, grid, length, lap } = self;
        let going_on = if is_over { vec![GoesOn::Never; drafts.len()] } else { going_on(&drafts, length) };
        let ends = open_ends(&drafts, &going_on, &waits, answers);
        let mut place = vec![None; participants.len()];
        for (index, draft) in drafts.iter().enumerate() {
            place[draft.recorded.index()] = Some(index as u32);
        }
        let mut programmes: Vec<Vec<Op>> =
            drafts.iter().map(|draft| with_forks_renumbered(&draft.ops, &place)).collect();
        let rounds = Arc::new(LoopRounds::arrange(&mut programmes, &ends.unanswered));
        let task = |(draft, ops): (Draft, Vec<Op>)| RecoveredTask {
            recorded: draft.recorded,
            participant: participants[draft.recorded.index()].clone(),
            start: draft.start,
            cpu: draft.cpu,
            ops: ops.into(),
        };
        let tasks = drafts.into_iter().zip(programmes).map(task).collect();
        let (edges, delays) = (waits.len() as u32, ends.delays);
        Recovered { tasks, edges, rounds, going_on, delays, is_over, requests, unknowns, grid, length, lap }
    }
}

/// Renumbers the tasks named by forks from the recording's numbers to the workload's.
fn with_forks_renumbered(ops: &[Op], place: &[Option<u32>]) -> Vec<Op> {
    let rename = |op: &Op| match op.instruction() {
        Instruction::Fork(child) => place[child as usize].map(|p| Op::new(Instruction::Fork(p))),
        _ => Some(*op),
    };
    ops.iter().filter_map(rename).collect()
}
