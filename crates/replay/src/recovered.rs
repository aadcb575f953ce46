//! The recovered work: tasks, programmes, edges and event loops.

use super::clock::TickGrid;
use super::conduits::{Conduit, Costs};
use super::draft::Draft;
use super::handoffs::{Holder, Holders};
use super::history::History;
use super::loop_rounds::LoopRounds;
use super::open_end::{GoesOn, going_on, open_ends};
use super::paced::let_go_on_later;
use super::participants::Participant;
use super::pools::Pools;
use super::program::{Instruction, Op};
use super::requests::Requests;
use super::services::{self, Queue, Taken};
use super::unknowns::Unknowns;
use goodness_core::{CpuId, CpuSet, Groups, Span, Start, TaskId};
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
    /// The queues of services that the tasks of pools take.
    pub queues: Vec<Queue>,
    /// Continuation of each task after its programme, by place.
    pub going_on: Vec<GoesOn>,
    /// Edges that nobody posts after the first lap, and the length of the recorded waits for them.
    pub delays: BTreeMap<u32, Span>,
    /// The affinities that instructions name.
    pub affinities: Vec<CpuSet>,
    /// The groups of its tasks.
    pub groups: Groups,
    /// Pipes and sockets whose calls were recorded.
    pub conduits: Arc<[Conduit]>,
    /// The holders of locks, by the edge that they signal.
    pub holders: Arc<Holders>,
    /// CPU time of their calls.
    pub transfer_costs: Costs,
    /// True if every task that was recorded on purpose ended before the recording did.
    pub is_over: bool,
    /// Requests of clients to servers.
    pub requests: Requests,
    /// Facts that the recording does not show.
    pub unknowns: Unknowns,
    /// The recorded machine's tick, if it was found.
    pub grid: Option<TickGrid>,
    /// Number of CPUs of the recorded machine.
    pub cpus: usize,
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
    /// Saturated tasks: they worked for others and hardly ever waited for work. With more CPU time they would do more;
    /// the recording does not show how much.
    pub fn saturated(&self) -> impl Iterator<Item = &RecoveredTask> {
        let goes_on = self.tasks.iter().zip(&self.going_on).filter(|(_, on)| **on != GoesOn::Never);
        goes_on.map(|(task, _)| task).filter(|task| task.is_saturated(self.length))
    }
}

impl RecoveredTask {
    fn is_saturated(&self, length: Span) -> bool {
        let count = |is: &dyn Fn(Instruction) -> bool| self.ops.iter().filter(|op| is(op.instruction())).count();
        let is_wake = |it| matches!(it, Instruction::Post(_) | Instruction::Answer(_) | Instruction::Send(..));
        let wakes = count(&is_wake);
        let is_rest = |it| !is_wake(it) && !matches!(it, Instruction::Run(_));
        let waits = count(&|it| is_rest(it) && !it.is_about_itself());
        self.cpu_time().0 >= length.0 / BUSY && wakes >= WAKES && waits * 10 < wakes
    }
}

/// Results of recovery, before tasks are renumbered.
pub struct Found {
    /// The programmes.
    pub drafts: Vec<Draft>,
    /// Length of each recorded wait for an edge, by edge.
    pub waits: Vec<Span>,
    /// The holders of locks, by the edge that they signal.
    pub holders: Holders,
    /// Number of answers that the drafts name.
    pub answers: usize,
    /// Number of those that are messages of recorded calls, the first ones.
    pub messages: u32,
    /// The affinities that instructions name.
    pub affinities: Vec<CpuSet>,
    /// The groups of its tasks.
    pub groups: Groups,
    /// Pipes and sockets whose calls were recorded; they name tasks of the recording.
    pub conduits: Vec<Conduit>,
    /// CPU time of their calls.
    pub transfer_costs: Costs,
    /// The pools, and what their tasks took.
    pub pools: Pools,
    /// Services taken, by pool.
    pub taken: Vec<Taken>,
    /// True if the work was complete before the end of the recording; then no task continues.
    pub is_over: bool,
    /// Requests of clients to servers.
    pub requests: Requests,
    /// Facts that the recording does not show.
    pub unknowns: Unknowns,
    /// The recorded machine's tick, where it showed.
    pub grid: Option<TickGrid>,
    /// Length of each lap after the first.
    pub lap: Span,
}

impl Found {
    /// Makes tasks of the drafts. Instructions then name tasks and turns by their places in the result.
    #[must_use]
    pub fn finish(self, history: &History) -> Recovered {
        let (participants, cpus, length) = (&history.participants, history.cpus, history.length());
        let Found { drafts, waits, is_over, pools, taken, .. } = self;
        let going_on = if is_over { vec![GoesOn::Never; drafts.len()] } else { going_on(&drafts, length) };
        let mut ends = open_ends(&drafts, &going_on, &waits, self.answers);
        let_go_on_later(&mut ends, &drafts, participants, &waits, length);
        let mut place = vec![None; participants.len()];
        for (index, draft) in drafts.iter().enumerate() {
            place[draft.recorded.index()] = Some(index as u32);
        }
        let mut programmes: Vec<Vec<Op>> =
            drafts.iter().map(|draft| with_forks_renumbered(&draft.ops, &place)).collect();
        let holders =
            Arc::new(self.holders.into_iter().filter_map(|(edge, it)| placed_holder(edge, it, &place)).collect());
        let conduits = placed(self.conduits, &drafts, &going_on, &place);
        services::remove_unserved(&mut programmes, &drafts, &pools, &taken);
        let rounds = Arc::new(LoopRounds::arrange(&mut programmes, &ends.unanswered, self.messages));
        let queues = services::arrange(&mut programmes, &drafts, &pools, taken, !is_over);
        let task = |(draft, ops): (Draft, Vec<Op>)| RecoveredTask {
            recorded: draft.recorded,
            participant: participants[draft.recorded.index()].clone(),
            start: draft.start,
            cpu: draft.cpu,
            ops: ops.into(),
        };
        let tasks = drafts.into_iter().zip(programmes).map(task).collect();
        let (edges, delays) = (waits.len() as u32, ends.delays);
        Recovered {
            tasks,
            edges,
            rounds,
            queues,
            going_on,
            delays,
            affinities: self.affinities,
            groups: self.groups,
            conduits,
            holders,
            transfer_costs: self.transfer_costs,
            is_over,
            requests: self.requests,
            unknowns: self.unknowns,
            grid: self.grid,
            cpus,
            length,
            lap: self.lap,
        }
    }
}

/// `holder` by its place.
fn placed_holder(edge: u32, holder: Holder, place: &[Option<u32>]) -> Option<(u32, Holder)> {
    Some((edge, Holder { task: TaskId(place[holder.task.index()]?), ..holder }))
}

/// `conduits` with the places of their receivers, and whether a sender ends for good.
fn placed(mut conduits: Vec<Conduit>, drafts: &[Draft], on: &[GoesOn], place: &[Option<u32>]) -> Arc<[Conduit]> {
    for conduit in &mut conduits {
        conduit.receiver = TaskId(place[conduit.receiver.index()].unwrap_or(u32::MAX));
    }
    for (draft, _) in drafts.iter().zip(on).filter(|(_, on)| **on == GoesOn::Never) {
        for op in &draft.ops {
            if let Instruction::Send(conduit, _) = op.instruction() {
                conduits[conduit as usize].is_cut_off = true;
            }
        }
    }
    conduits.into()
}

/// Renumbers the tasks named by forks from the recording's numbers to the workload's.
fn with_forks_renumbered(ops: &[Op], place: &[Option<u32>]) -> Vec<Op> {
    let rename = |op: &Op| match op.instruction() {
        Instruction::Fork(child) => place[child as usize].map(|p| Op::new(Instruction::Fork(p))),
        _ => Some(*op),
    };
    ops.iter().filter_map(rename).collect()
}
