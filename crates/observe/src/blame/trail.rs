//! What tasks and CPUs did, linked backwards: each entry knows the entry before it of its task and of its CPU. Entries
//! older than an explanation can reach back are dropped, but the last one of each task and CPU is kept, because it says
//! what they have been doing since.

use super::disks::IoTimes;
use goodness_core::{CpuId, LockId, Off, Overhead, Span, TaskId, Time};
use std::collections::VecDeque;

/// Number of an entry, in the order of events.
pub(super) type Seq = u64;
/// No entry.
pub(super) const NONE: Seq = u64::MAX;
/// Entries kept, at most: 200 MB or so. A choice: a latency that spans more is told from here on.
const KEPT: usize = 1 << 21;
/// Stands for no task.
const NOBODY: TaskId = TaskId(u32::MAX);

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The task starts to run on the CPU.
    Runs,
    /// The task leaves the CPU.
    Leaves(Off),
    /// The task leaves the CPU and sleeps for a lock, which the other task holds.
    SleepsFor(LockId, TaskId),
    /// The task becomes runnable on the CPU's run queue; its waker, if known, had this entry last.
    Wakes(Option<(TaskId, Seq)>),
    /// The waiting task moves to the CPU's run queue.
    Moves,
    /// The CPU idles.
    Idles,
    /// The CPU does work of the host until the time given.
    Spends(Overhead, Time),
    /// The task sleeps, and an I/O of it is done.
    Io(IoTimes),
}

/// One entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub at: Time,
    pub task: TaskId,
    pub cpu: CpuId,
    pub what: What,
    /// The entry before of the task.
    pub before: Seq,
    /// The entry before of the CPU.
    pub cpu_before: Seq,
}

impl Entry {
    /// True if it says what its CPU does from here on; work of the host does not.
    fn is_state_of_cpu(&self) -> bool {
        matches!(self.what, What::Runs | What::Idles)
    }
}

/// The last entry of a task or a CPU, and the last one that was dropped.
#[derive(Clone, Copy, Debug)]
struct Chain {
    last: Seq,
    dropped: Option<(Seq, Entry)>,
}

const EMPTY: Chain = Chain { last: NONE, dropped: None };

/// A CPU before its first event.
const fn idle(cpu: CpuId) -> Entry {
    Entry { at: Time::ZERO, task: NOBODY, cpu, what: What::Idles, before: NONE, cpu_before: NONE }
}

/// The entries, and the ends of the chains.
#[derive(Debug)]
pub(super) struct Trail {
    entries: VecDeque<Entry>,
    /// Number of the first entry that is kept.
    first: Seq,
    keep: Span,
    tasks: Vec<Chain>,
    cpus: Vec<Chain>,
    /// Time until which the host's work keeps each CPU busy.
    busy_until: Vec<Time>,
}

impl Trail {
    /// An empty trail of a machine of `cpus` CPUs, which reaches back `keep`.
    pub fn new(cpus: usize, keep: Span) -> Trail {
        Trail {
            entries: VecDeque::new(),
            first: 0,
            keep,
            tasks: Vec::new(),
            cpus: (0..cpus as u32).map(|cpu| Chain { last: NONE, dropped: Some((0, idle(CpuId(cpu)))) }).collect(),
            busy_until: vec![Time::ZERO; cpus],
        }
    }

    fn push(&mut self, entry: Entry) -> Seq {
        let keep = self.keep;
        let is_old = |oldest: &Entry| oldest.at.since(Time::ZERO) + keep < Span(entry.at.0);
        while self.entries.len() >= KEPT || self.entries.front().is_some_and(is_old) {
            self.drop_oldest();
        }
        self.entries.push_back(entry);
        self.first + self.entries.len() as Seq - 1
    }

    fn drop_oldest(&mut self) {
        let Some(entry) = self.entries.pop_front() else { return };
        let dropped = Some((self.first, entry));
        if entry.is_state_of_cpu() {
            self.cpus[entry.cpu.index()].dropped = dropped;
        }
        if entry.task != NOBODY {
            self.tasks[entry.task.index()].dropped = dropped;
        }
        self.first += 1;
    }

    /// The last entry of `task`.
    pub fn last_of(&self, task: TaskId) -> Seq {
        self.tasks.get(task.index()).map_or(NONE, |chain| chain.last)
    }

    /// The last entry of `cpu`.
    pub fn last_on(&self, cpu: CpuId) -> Seq {
        self.cpus.get(cpu.index()).map_or(NONE, |chain| chain.last)
    }

    /// An entry of `task`; `None` if it was dropped, or if there is none.
    pub fn of_task(&self, task: TaskId, seq: Seq) -> Option<&Entry> {
        self.entry(seq).or_else(|| dropped(self.tasks.get(task.index())?, seq))
    }

    /// An entry of `cpu`; of those that were dropped, the one that says what the CPU did then. `None` if that is not
    /// known.
    pub fn on_cpu(&self, cpu: CpuId, seq: Seq) -> Option<&Entry> {
        let state = || self.cpus.get(cpu.index())?.dropped.as_ref().filter(|(it, _)| seq != NONE && *it <= seq);
        self.entry(seq).or_else(|| state().map(|(_, entry)| entry))
    }

    fn entry(&self, seq: Seq) -> Option<&Entry> {
        self.entries.get(usize::try_from(seq.checked_sub(self.first)?).ok()?)
    }

    fn chain(&mut self, task: TaskId) -> &mut Chain {
        if task.index() >= self.tasks.len() {
            self.tasks.resize(task.index() + 1, EMPTY);
        }
        &mut self.tasks[task.index()]
    }

    /// `task` has a new entry about `cpu`.
    pub fn note(&mut self, at: Time, task: TaskId, cpu: CpuId, what: What) {
        let (before, cpu_before) = (self.chain(task).last, self.last_on(cpu));
        let seq = self.push(Entry { at, task, cpu, what, before, cpu_before });
        self.tasks[task.index()].last = seq;
        if what == What::Runs {
            self.cpus[cpu.index()].last = seq;
        }
    }

    /// `cpu` idles.
    pub fn idles(&mut self, at: Time, cpu: CpuId) {
        self.on(at, cpu, What::Idles);
    }

    /// `cpu` does work of the host for `span`, after what it does already.
    pub fn spends(&mut self, at: Time, cpu: CpuId, kind: Overhead, span: Span) {
        let from = at.max(self.busy_until[cpu.index()]);
        self.busy_until[cpu.index()] = from + span;
        self.on(from, cpu, What::Spends(kind, from + span));
    }

    fn on(&mut self, at: Time, cpu: CpuId, what: What) {
        let cpu_before = self.last_on(cpu);
        let seq = self.push(Entry { at, task: NOBODY, cpu, what, before: NONE, cpu_before });
        self.cpus[cpu.index()].last = seq;
    }
}

fn dropped(chain: &Chain, seq: Seq) -> Option<&Entry> {
    chain.dropped.as_ref().filter(|(dropped, _)| *dropped == seq).map(|(_, entry)| entry)
}
