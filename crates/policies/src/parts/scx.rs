//! The kernel's services to a sched_ext scheduler: dispatch queues (DSQs), slices, idle CPUs, and the real-time class
//! above it. The `scx_*` policies are the scheduler half.
//!
//! A DSQ is FIFO or ordered by virtual time. Each CPU runs tasks only from its local DSQ, which is FIFO. A scheduler
//! may have any number of shared ones, and moves tasks from them when a local one is empty.
//!
//! Source: specs section 12 "Kernel facts".
//! General knowledge, not in the sheet (M): a task preempted by a real-time one goes to the head of its CPU's local DSQ
//! with the rest of its slice; weights follow from nice, 100 for nice 0, within 1..=10000 (`Task::tickets`, if given,
//! is the weight, as a control group would set it).
//! Departures: a task is queued at the end of its slice before its CPU picks the next one. The kernel picks first, so
//! two tasks of one CPU alternate there with any weights. A task on a shared DSQ always wakes an idle CPU that may run
//! it; some schedulers leave that to luck. The idle CPU chosen for a woken task is the nearest; whole idle cores are
//! not preferred. Real-time tasks share one queue for the machine, without throttling; SCHED_DEADLINE counts as normal.
//! The run reports when the watchdog would have unloaded the policy, and for which task. The kernel checks only every
//! few seconds, so it acts that much later. The bypass mode after that (slices of 5 ms) is not modelled.

use crate::parts::fair::weight::Weight;
use crate::parts::levels::Levels;
use crate::parts::reasons::by_priority;
use crate::parts::running_cpus::RunningCpus;
use goodness_core::policy::previous_cpu;
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Level, Machine, PerTask, Pick, Reason,
    Registered, Rejected, Resched, Seed, Span, Stop, Task, TaskId, Time, Tunables, Why,
};
use goodness_queues::{Links, List, Nodes, Tree};
use std::fmt::Debug;

/// The kernel's default slice (SCX_SLICE_DFL).
pub(crate) const SLICE: Span = Span::from_ms(20);
/// Time after which a runnable task that does not run ends the scheduler: default, and the longest a scheduler may
/// request.
const WATCHDOG: Span = Span::from_s(30);
/// Slice of SCHED_RR.
const ROUND_ROBIN: Span = Span::from_ms(100);
/// Weight of nice 0.
pub(crate) const WEIGHT: u64 = 100;
/// The kernel's weight of SCHED_IDLE, relative to 1024 at nice 0.
const IDLE_WEIGHT: u64 = 3;
/// Real-time priorities.
const PRIORITIES: u8 = 99;

/// The weight of a task: 100 for nice 0.
pub(crate) fn weight(task: &Task) -> u64 {
    let by_nice = || (Weight::of_task(task.class, task.nice, IDLE_WEIGHT).value * WEIGHT + 512) / 1024;
    task.tickets.map_or_else(by_nice, u64::from).clamp(1, 10_000)
}

/// Virtual time of `span` for a task of `weight`.
pub(crate) fn virtual_time(span: Span, weight: u64) -> i64 {
    (span.0 * WEIGHT / weight) as i64
}

/// The queue that a task is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    Local(CpuId),
    Fifo(usize),
    Ordered(usize),
    /// The list of the real-time class.
    Realtime(usize),
}

#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    place: Place,
    /// Remaining slice.
    slice: Span,
    /// Picked from the real-time class.
    realtime: bool,
    /// Last queued on a local DSQ.
    local: bool,
    /// Its order on the shared DSQ on which it was queued last.
    key: i64,
}

/// One shared DSQ.
#[derive(Clone, Copy, Debug, Default)]
struct Dsq {
    fifo: List,
    ordered: Tree,
}

/// The kernel's half.
#[derive(Debug)]
pub struct Kernel {
    entities: PerTask<Entity>,
    links: Links,
    nodes: Nodes<0>,
    local: Vec<List>,
    shared: Vec<Dsq>,
    realtime: Levels<2>,
    running_cpus: RunningCpus<u8>,
    runnable: usize,
}

impl Kernel {
    fn new(machine: &Machine, queues: usize) -> Kernel {
        Kernel {
            entities: PerTask::default(),
            links: Links::default(),
            nodes: Nodes::default(),
            local: vec![List::default(); machine.cpu_count()],
            shared: vec![Dsq::default(); queues],
            realtime: Levels::new(usize::from(PRIORITIES)),
            running_cpus: RunningCpus::all(machine),
            runnable: 0,
        }
    }

    /// Tasks that wait or run, those of the real-time class included.
    pub(crate) fn runnable(&self) -> usize {
        self.runnable
    }

    /// Tasks on the shared DSQ.
    pub(crate) fn queued(&self, queue: usize) -> usize {
        self.shared[queue].fifo.len() + self.shared[queue].ordered.len()
    }

    /// True if `cpu` is idle.
    pub(crate) fn is_idle(&self, cpu: CpuId) -> bool {
        self.running_cpus.idle().contains(cpu)
    }

    /// The idle CPU nearest to `home` that the task may use.
    pub(crate) fn nearest_idle(&self, cx: &Context, home: CpuId, task: TaskId) -> Option<CpuId> {
        if self.running_cpus.idle().is_empty() {
            return None;
        }
        if self.is_idle(home) {
            return Some(home);
        }
        let affinity = &cx.tasks[task].affinity;
        Level::ALL.iter().find_map(|level| {
            cx.machine.group(home, *level).iter().copied().find(|cpu| {
                cx.examined(Effort::Balance, 1);
                self.is_idle(*cpu) && affinity.contains(*cpu)
            })
        })
    }

    /// The idle CPU of the lowest number that the task may use.
    pub(crate) fn first_idle(&self, cx: &Context, task: TaskId) -> Option<CpuId> {
        self.running_cpus.idle().first_allowed(cx, task)
    }

    /// Queues `task` on the local DSQ of `cpu`.
    pub(crate) fn insert_local(&mut self, cpu: CpuId, task: TaskId, slice: Span) {
        self.local[cpu.index()].push_back(&mut self.links, task.0);
        self.entities[task] = Entity { place: Place::Local(cpu), slice, local: true, ..Entity::default() };
    }

    /// Queues `task` at the end of a shared DSQ.
    pub(crate) fn insert(&mut self, queue: usize, task: TaskId, slice: Span) {
        self.shared[queue].fifo.push_back(&mut self.links, task.0);
        self.entities[task] = Entity { place: Place::Fifo(queue), slice, ..Entity::default() };
    }

    /// Queues `task` on a shared DSQ by virtual time.
    pub(crate) fn insert_ordered(&mut self, cx: &Context, queue: usize, task: TaskId, slice: Span, vtime: i64) {
        let levels = self.shared[queue].ordered.insert(&mut self.nodes, task.0, vtime, []);
        cx.examined(Effort::Insert, levels);
        self.entities[task] = Entity { place: Place::Ordered(queue), slice, key: vtime, ..Entity::default() };
    }

    /// Sets the slice of `task`.
    pub(crate) fn set_slice(&mut self, task: TaskId, slice: Span) {
        self.entities[task].slice = slice;
    }

    /// Removes a queued task from its DSQ.
    pub(crate) fn remove(&mut self, task: TaskId) {
        match std::mem::take(&mut self.entities[task].place) {
            Place::Nowhere => {}
            Place::Local(cpu) => self.local[cpu.index()].remove(&mut self.links, task.0),
            Place::Fifo(queue) => self.shared[queue].fifo.remove(&mut self.links, task.0),
            Place::Ordered(queue) => {
                self.shared[queue].ordered.remove(&mut self.nodes, task.0);
            }
            Place::Realtime(list) => self.realtime.remove(&mut self.links, list, task),
        }
    }

    /// The tasks of a shared DSQ in its order.
    pub(crate) fn iter(&self, queue: usize) -> impl Iterator<Item = TaskId> + '_ {
        let Dsq { fifo, ordered } = &self.shared[queue];
        fifo.iter(&self.links).chain(ordered.iter(&self.nodes)).map(TaskId)
    }

    /// The first task of a shared DSQ that `cpu` may run, taken off it.
    pub(crate) fn take(&mut self, cx: &Context, queue: usize, cpu: CpuId) -> Option<TaskId> {
        let task = self.iter(queue).find(|task| {
            cx.examined(Effort::Search, 1);
            cx.tasks.may_run(*task, cpu)
        })?;
        self.remove(task);
        Some(task)
    }

    /// A task of the real-time class joins its queue.
    fn enqueue_realtime(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        let priority = cx.tasks[task].rt_priority.clamp(1, PRIORITIES);
        let list = usize::from(PRIORITIES - priority);
        let left = self.entities[task].slice;
        let stays = why == Enqueue::Preempted && left > Span::ZERO;
        let slice = if stays { left } else { ROUND_ROBIN };
        self.entities[task] = Entity { place: Place::Realtime(list), slice, realtime: true, ..Entity::default() };
        match stays {
            true => self.realtime.push_front(&mut self.links, list, task),
            false => self.realtime.push_back(&mut self.links, list, task),
        }
        match why {
            Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yielded => self.running_cpus.claim_idle(cx, cpu, task),
            _ => self.running_cpus.claim(cx, cpu, task, priority),
        }
    }

    /// A task preempted by the real-time class waits for its CPU.
    fn resume_later(&mut self, cpu: CpuId, task: TaskId) {
        self.local[cpu.index()].push_front(&mut self.links, task.0);
        let entity = &mut self.entities[task];
        (entity.place, entity.local) = (Place::Local(cpu), true);
    }

    fn pick_realtime(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let (list, task) = self.realtime.take_allowed(&mut self.links, cx, cpu)?;
        self.running_cpus.set(cpu, Some((task, PRIORITIES - list as u8)));
        let entity = &mut self.entities[task];
        entity.place = Place::Nowhere;
        let timeslice = (cx.tasks[task].class == Class::RoundRobin).then_some(entity.slice);
        Some(Pick { task, timeslice })
    }

    /// The rule by which `ahead` was picked before `waiting`, both of other classes than the real-time one.
    fn rule(&self, cx: &Context, ahead: TaskId, waiting: TaskId, is_by_deadline: bool) -> Option<Reason> {
        let [own, other] = [ahead, waiting].map(|task| &self.entities[task]);
        match (own.local, other.place) {
            (true, Place::Local(_)) | (false, Place::Fifo(_)) => Some(Reason::First),
            (false, Place::Ordered(_)) => match other.key.checked_sub(own.key).filter(|by| *by >= 0)? {
                0 => Some(Reason::First),
                by if is_by_deadline => Some(Reason::EarlierDeadline { by: Span(by as u64) }),
                by => Some(Reason::LessRuntime { by: Span(by as u64) * weight(&cx.tasks[waiting]) / WEIGHT }),
            },
            _ => None,
        }
    }

    fn pick_local(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        let task = self.local[cpu.index()].front().map(TaskId)?;
        cx.examined(Effort::Search, 1);
        self.remove(task);
        Some(task)
    }
}

/// The part of a scheduler that a BPF program implements.
pub trait Scheduler: Sized + Debug + 'static {
    /// The policy's entry in the registry.
    const ABOUT: About;
    /// Its tunables.
    type Settings: Tunables;
    /// True if shared DSQs are ordered by deadlines, false if by weighted CPU time.
    const IS_BY_DEADLINE: bool = false;
    /// A scheduler for this machine, and how many shared DSQs it wants.
    fn new(machine: &Machine, settings: Self::Settings) -> (Self, usize);
    /// A task joins the policy.
    fn init_task(&mut self, cx: &Context, task: TaskId);
    /// A task ceased to exist.
    fn exit_task(&mut self, task: TaskId) {
        let _ = task;
    }
    /// A task becomes runnable.
    fn runnable(&mut self, cx: &Context, kernel: &Kernel, task: TaskId, why: &Enqueue) {
        let _ = (cx, kernel, task, why);
    }
    /// Chooses a CPU for a task. If it is idle, the task goes directly to its local DSQ.
    fn select_cpu(&mut self, cx: &Context, kernel: &Kernel, task: TaskId) -> CpuId {
        let home = previous_cpu(cx, task);
        kernel.nearest_idle(cx, home, task).unwrap_or(home)
    }
    /// The slice of a task dispatched directly to an idle CPU.
    fn direct_slice(&self, cx: &Context, kernel: &Kernel, task: TaskId) -> Span;
    /// Puts a runnable task on a DSQ.
    fn enqueue(&mut self, cx: &Context, kernel: &mut Kernel, cpu: CpuId, task: TaskId);
    /// Called when the local DSQ of `cpu` is empty. Removes and returns a task from a shared one.
    fn dispatch(&mut self, cx: &Context, kernel: &mut Kernel, cpu: CpuId) -> Option<TaskId>;
    /// A task starts running.
    fn running(&mut self, cx: &Context, cpu: CpuId, task: TaskId);
    /// A task stopped after `ran`.
    fn stopping(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop);
    /// A task is no longer runnable.
    fn quiescent(&mut self, task: TaskId) {
        let _ = task;
    }
    /// Time at which `timer` should next be called.
    fn next_timer(&self) -> Option<Time> {
        None
    }
    /// Called at the time given by `next_timer`.
    fn timer(&mut self, cx: &Context, kernel: &mut Kernel) {
        let _ = (cx, kernel);
    }
}

/// A sched_ext scheduler in its kernel.
#[derive(Debug)]
pub struct Ext<S> {
    kernel: Kernel,
    scheduler: S,
}

impl<S: Scheduler> Registered for Ext<S> {
    const ABOUT: About = S::ABOUT;
    const WATCHDOG: Option<Span> = Some(WATCHDOG);
    type Settings = S::Settings;

    fn new(machine: &Machine, settings: S::Settings, _: Seed) -> Self {
        let (scheduler, queues) = S::new(machine, settings);
        Ext { kernel: Kernel::new(machine, queues), scheduler }
    }
}

impl<S: Scheduler> CpuPolicy for Ext<S> {
    fn admit(&mut self, cx: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.kernel.links.reserve(task.index() + 1);
        self.kernel.nodes.reserve(task.index() + 1);
        self.kernel.entities.admit(task);
        self.scheduler.init_task(cx, task);
        Ok(())
    }

    fn exit(&mut self, _: &Context, task: TaskId) {
        self.scheduler.exit_task(task);
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, _: &Enqueue) -> CpuId {
        if cx.tasks[task].class.is_realtime() {
            return previous_cpu(cx, task);
        }
        self.scheduler.select_cpu(cx, &self.kernel, task)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        let kernel = &mut self.kernel;
        kernel.runnable += 1;
        let fresh = matches!(why, Enqueue::Fork { .. } | Enqueue::Wakeup { .. });
        if fresh {
            self.scheduler.runnable(cx, kernel, task, &why);
        }
        if cx.tasks[task].class.is_realtime() {
            return kernel.enqueue_realtime(cx, cpu, task, why);
        }
        let Entity { slice, realtime, .. } = kernel.entities[task];
        if why == Enqueue::Preempted && slice > Span::ZERO && !realtime {
            kernel.resume_later(cpu, task);
            return Resched::Keep;
        }
        if fresh && kernel.is_idle(cpu) {
            let slice = self.scheduler.direct_slice(cx, kernel, task);
            kernel.insert_local(cpu, task, slice);
        } else {
            self.scheduler.enqueue(cx, kernel, cpu, task);
        }
        kernel.running_cpus.claim_idle(cx, cpu, task)
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, task: TaskId, why: Dequeue) {
        self.kernel.runnable -= 1;
        self.kernel.remove(task);
        if why == Dequeue::Kill {
            self.scheduler.quiescent(task);
        }
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let kernel = &mut self.kernel;
        if let Some(pick) = kernel.pick_realtime(cx, cpu) {
            return Some(pick);
        }
        let found = kernel.pick_local(cx, cpu).or_else(|| self.scheduler.dispatch(cx, kernel, cpu));
        kernel.running_cpus.set(cpu, found.map(|task| (task, 0)));
        let task = found?;
        self.scheduler.running(cx, cpu, task);
        Some(Pick { task, timeslice: Some(kernel.entities[task].slice) })
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.kernel.runnable -= 1;
        let entity = &mut self.kernel.entities[task];
        entity.slice = entity.slice.saturating_sub(ran);
        if why == Stop::Yielded {
            entity.slice = Span::ZERO;
        }
        if !entity.realtime {
            self.scheduler.stopping(cx, cpu, task, ran, why);
        }
        if matches!(why, Stop::Blocked { .. } | Stop::Exited) {
            self.scheduler.quiescent(task);
        }
        Resched::Keep
    }

    fn why(&self, cx: &Context, _: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let ahead = ahead?;
        let [own, other] = [ahead, waiting].map(|task| &cx.tasks[task]);
        match (self.kernel.entities[ahead].realtime, self.kernel.entities[waiting].realtime) {
            (true, true) => by_priority(own.rt_priority.into(), other.rt_priority.into(), is_pick),
            (true, false) => Some(Reason::Class { ahead: own.class, waiting: other.class }),
            (false, true) => None,
            (false, false) if is_pick => self.kernel.rule(cx, ahead, waiting, S::IS_BY_DEADLINE),
            (false, false) => Some(Reason::SliceNotOver),
        }
    }

    fn next_timer(&self) -> Option<Time> {
        if self.kernel.runnable > 0 { self.scheduler.next_timer() } else { None }
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        self.scheduler.timer(cx, &mut self.kernel);
        Resched::Keep
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Nice;

    /// specs/cpu-schedulers.md 12 "default slice 20 ms"; weights as sched_ext shows them
    #[test]
    fn nice_0_weighs_100_and_tickets_are_weights() {
        let of = |nice| weight(&Task { nice: Nice::new(nice).unwrap(), ..Task::default() });
        assert_eq!([-20, -5, 0, 5, 19].map(of), [8668, 305, 100, 33, 1]);
        assert_eq!(weight(&Task { tickets: Some(300), ..Task::default() }), 300);
        assert_eq!(weight(&Task { tickets: Some(0), ..Task::default() }), 1);
        assert_eq!(virtual_time(SLICE, 50), 40_000_000);
    }
}
