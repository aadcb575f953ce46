//! Decides the cause of each waking of a recording, before programmes are recovered.
//!
//! A waking in task context is an edge from the running task. One in a hard interrupt is external. One in a soft
//! interrupt can be either: traffic between local tasks wakes the receiver in the sender's soft interrupt, but timers
//! run in whichever soft interrupt comes next. It counts as an edge if all of this holds:
//!
//! 1. The running and the woken task are different user tasks.
//! 2. The pair of their programs recurs: at least [`RECURRING`] soft-interrupt wakings from the one to the other.
//! 3. The waker's program is the usual one: it runs in at least half of the woken program's soft-interrupt wakings that
//!    find a task running.
//! 4. The wakings do not coincide with the tick, where timer wheels expire: fewer than half of the pair's come within
//!    [`AFTER_TICK`] of one. (Skipped if the tick is unknown.)
//!
//! [`Kinds`] counts both kinds.

use super::clock::TickGrid;
use super::history::History;
use goodness_core::{Span, TaskId, Time};
use goodness_trace::{Context, Wake};
use std::collections::BTreeMap;

/// Fewest soft-interrupt wakings between two programs for a pattern; fewer may be coincidence. A choice.
pub const RECURRING: u32 = 3;
/// Time after a tick within which timers of the tick wake their tasks. A choice; the longest seen on idle CPUs of the
/// shipped recordings is below 100 µs.
pub const AFTER_TICK: Span = Span::from_us(250);

/// Cause of the end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// This task, at this point of its work.
    Edge(TaskId),
    /// Something outside.
    External,
}

/// Number of wakings by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// By the running task itself.
    pub task_edges: u64,
    /// In a soft interrupt, judged to be the running task's doing.
    pub soft_edges: u64,
    /// In a soft interrupt, judged to be external.
    pub soft_external: u64,
    /// In a hard interrupt: external.
    pub hard_external: u64,
    /// In task context, but the running task is unknown: external.
    pub nobody: u64,
}

/// Soft-interrupt wakings from one program to another.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    wakings: u32,
    on_tick: u32,
}

/// The rule, with the counts it needs.
pub struct Rule<'a> {
    history: &'a History<'a>,
    grid: Option<TickGrid>,
    pairs: BTreeMap<(u32, u32), Pair>,
    /// Soft-interrupt wake-ups of a program while any task was running.
    received: BTreeMap<u32, u32>,
}

impl<'a> Rule<'a> {
    /// Gathers the evidence.
    #[must_use]
    pub fn new(history: &'a History, grid: Option<TickGrid>) -> Rule<'a> {
        let mut rule = Rule { history, grid, pairs: BTreeMap::new(), received: BTreeMap::new() };
        for record in history.records {
            if let Some(Wake { task, current: Some(by), context, .. }) = history.waking(record)
                && is_soft(context)
            {
                rule.note(task, by, record.at, grid);
            }
        }
        rule
    }

    fn note(&mut self, task: TaskId, by: TaskId, at: Time, grid: Option<TickGrid>) {
        let (from, to) = (self.program(by), self.program(task));
        let pair = self.pairs.entry((from, to)).or_default();
        pair.wakings += 1;
        pair.on_tick += u32::from(grid.is_some_and(|g| g.since_tick(at) < AFTER_TICK));
        *self.received.entry(to).or_default() += 1;
    }

    fn program(&self, task: TaskId) -> u32 {
        self.history.participant(task).program
    }

    fn is_user(&self, task: TaskId) -> bool {
        self.history.participant(task).task.address_space.is_some()
    }

    /// Cause of a waking; counts its kind.
    pub fn judge(&self, wake: &Wake, kinds: &mut Kinds) -> Cause {
        let task = wake.task;
        let (count, cause) = match (wake.context, wake.current.filter(|by| *by != task)) {
            (Context::HardIrq, _) => (&mut kinds.hard_external, Cause::External),
            (Context::Task, Some(by)) => (&mut kinds.task_edges, Cause::Edge(by)),
            (Context::Task, None) => (&mut kinds.nobody, Cause::External),
            (_, Some(by)) if self.is_traffic(task, by) => (&mut kinds.soft_edges, Cause::Edge(by)),
            (_, _) => (&mut kinds.soft_external, Cause::External),
        };
        *count += 1;
        cause
    }

    /// True if a soft interrupt from outside woke a sleeping task: a packet from another machine, or a timer.
    #[must_use]
    pub fn is_arrival(&self, wake: &Wake) -> bool {
        wake.context == Context::SoftIrq && self.judge(wake, &mut Kinds::default()) == Cause::External
    }

    /// True if `at` is shortly after a tick, when timers expire.
    #[must_use]
    pub fn is_on_tick(&self, at: Time) -> bool {
        self.grid.is_some_and(|grid| grid.since_tick(at) < AFTER_TICK)
    }

    fn is_traffic(&self, task: TaskId, by: TaskId) -> bool {
        let (from, to) = (self.program(by), self.program(task));
        let pair = self.pairs.get(&(from, to)).copied().unwrap_or_default();
        let received = self.received.get(&to).copied().unwrap_or_default();
        self.is_user(task)
            && self.is_user(by)
            && pair.wakings >= RECURRING
            && pair.wakings * 2 >= received
            && pair.on_tick * 2 < pair.wakings
    }
}

/// True if the cause must be inferred: in soft interrupts, and in traces without flags, which do not distinguish
/// interrupts from tasks.
pub(crate) fn is_soft(context: Context) -> bool {
    matches!(context, Context::SoftIrq | Context::Unknown)
}
