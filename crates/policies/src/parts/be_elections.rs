//! One run queue for the whole machine with a quantum and an election, as in BeOS and in Haiku before 2013.
//!
//! The policies differ in the queue and the election; everything else is here.
//! Source: specs 7.1 to 7.3. A woken thread preempts a less urgent one. A thread whose quantum ended goes behind its
//! equals and preempts no thread. Each CPU has one timer, set when the thread changes or the timer fires, so a thread
//! elected again after an interruption has the rest of its quantum. SCHED_FIFO, which these systems lacked, runs
//! without a quantum; other real-time threads of equal priority take turns.

use crate::parts::be_priorities::{OrderedList, Place, Threads, Walk, priority_of};
use crate::parts::reasons::by_priority;
use crate::parts::running_cpus::RunningCpus;
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Enqueue, Machine, Needs, Pick, Reason, Registered, Rejected,
    Resched, Seed, Span, Stop, TaskId, Tunables, Why,
};
use std::fmt::Debug;

/// Needs of policies with one queue for the machine.
pub const NEEDS: Needs = Needs { tick: false, timer: false, balance: false, global_lock: true };

/// A run queue: the waiting threads and the election among them.
pub trait RunQueue: Sized + Debug + 'static {
    /// The policy's entry in the registry.
    const ABOUT: About;
    /// Its tunables.
    type Settings: Tunables;
    /// An empty queue.
    fn new(settings: Self::Settings, seed: Seed) -> Self;
    /// CPU time until the next election.
    fn quantum(&self) -> Span;
    /// Reserves room for `task`.
    fn admit(&mut self, task: TaskId);
    /// `task` waits, behind its equals.
    fn insert(&mut self, cx: &Context, task: TaskId, priority: u8);
    /// `task` waits no longer.
    fn remove(&mut self, cx: &Context, task: TaskId);
    /// Elects and removes a thread for `cpu`; returns its priority, too.
    fn elect(&mut self, cx: &Context, cpu: CpuId) -> Option<(TaskId, u8)>;
}

/// The scheduler around a queue.
#[derive(Debug)]
pub struct Elections<Q> {
    queue: Q,
    running_cpus: RunningCpus<u8>,
    /// Remaining quantum of each CPU's running task.
    left: Vec<Span>,
}

impl<Q: RunQueue> Registered for Elections<Q> {
    const ABOUT: About = Q::ABOUT;
    type Settings = Q::Settings;

    fn new(machine: &Machine, settings: Q::Settings, seed: Seed) -> Self {
        let left = vec![Span::ZERO; machine.cpu_count()];
        Elections { queue: Q::new(settings, seed), running_cpus: RunningCpus::all(machine), left }
    }
}

impl<Q: RunQueue> CpuPolicy for Elections<Q> {
    fn admit(&mut self, _: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.queue.admit(task);
        Ok(())
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        let priority = priority_of(&cx.tasks[task]);
        self.queue.insert(cx, task, priority);
        match why {
            Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yielded => self.running_cpus.claim_idle(cx, cpu, task),
            _ => self.running_cpus.claim(cx, cpu, task, priority),
        }
    }

    fn dequeue(&mut self, cx: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.queue.remove(cx, task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let before = self.running_cpus.on(cpu);
        let next = self.queue.elect(cx, cpu);
        self.running_cpus.set(cpu, next);
        let (task, _) = next?;
        let left = &mut self.left[cpu.index()];
        if *left == Span::ZERO || before.is_none_or(|(it, _)| it != task) {
            *left = self.queue.quantum();
        }
        let timeslice = (cx.tasks[task].class != Class::Fifo).then_some(*left);
        Some(Pick { task, timeslice })
    }

    fn why(&self, cx: &Context, _: CpuId, why: Why) -> Option<Reason> {
        elected(cx, why)
    }

    fn charge(&mut self, _: &Context, cpu: CpuId, _: TaskId, ran: Span, why: Stop) -> Resched {
        let left = &mut self.left[cpu.index()];
        *left = if why == Stop::SliceEnd { Span::ZERO } else { left.saturating_sub(ran) };
        Resched::Keep
    }
}

/// The rule by which one thread is ahead of another: its priority, but an election may skip the best.
pub(crate) fn elected(cx: &Context, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
    let [own, other] = [ahead?, waiting].map(|task| i64::from(priority_of(&cx.tasks[task])));
    match by_priority(own, other, is_pick) {
        None | Some(Reason::First) if is_pick => Some(Reason::Favoured),
        None => Some(Reason::SliceNotOver),
        reason => reason,
    }
}

/// An election from the ordered list.
pub trait Election: Sized + Debug + 'static {
    /// The policy's entry in the registry.
    const ABOUT: About;
    /// Its tunables.
    type Settings: Tunables;
    /// The election, and the quantum.
    fn new(settings: Self::Settings, seed: Seed) -> (Self, Span);
    /// Elects a thread; `first` is the first that may run.
    fn elect(&mut self, walk: &mut Walk, first: Place) -> Place;
}

/// The ordered list with an election.
#[derive(Debug)]
pub struct Listed<E> {
    election: E,
    quantum: Span,
    threads: Threads,
    list: OrderedList,
}

impl<E: Election> RunQueue for Listed<E> {
    const ABOUT: About = E::ABOUT;
    type Settings = E::Settings;

    fn new(settings: E::Settings, seed: Seed) -> Self {
        let (election, quantum) = E::new(settings, seed);
        Listed { election, quantum, threads: Threads::default(), list: OrderedList::default() }
    }

    fn quantum(&self) -> Span {
        self.quantum
    }

    fn admit(&mut self, task: TaskId) {
        self.threads.admit(task);
    }

    fn insert(&mut self, cx: &Context, task: TaskId, priority: u8) {
        self.list.insert(cx, &mut self.threads, task, priority);
    }

    fn remove(&mut self, cx: &Context, task: TaskId) {
        self.list.remove(cx, &mut self.threads, task);
    }

    fn elect(&mut self, cx: &Context, cpu: CpuId) -> Option<(TaskId, u8)> {
        let place = elect(&mut self.election, cx, &self.threads, &self.list, cpu)?;
        self.list.take(&mut self.threads, place);
        Some((place.task(), self.threads.priority(place.task())))
    }
}

/// Elects from `list` for `cpu`, and reports the number of entries examined.
pub fn elect<E: Election>(
    election: &mut E,
    cx: &Context,
    threads: &Threads,
    list: &OrderedList,
    cpu: CpuId,
) -> Option<Place> {
    let mut walk = Walk::new(cx, threads, list, cpu);
    let elected = walk.first().map(|first| election.elect(&mut walk, first));
    walk.report();
    elected
}
