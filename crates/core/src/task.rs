//! Tasks as policies see them: number, class, nice, affinity, last CPU.

use crate::cpu_set::CpuSet;
use crate::group::GroupId;
use crate::machine::CpuId;
use crate::nice::Nice;
use crate::request::IoPriority;
use crate::time::Span;
use std::fmt;
use std::ops::{Index, IndexMut};

/// Number of a task, assigned by the host, dense from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u32);

impl TaskId {
    /// The number as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.0)
    }
}

/// Requested scheduling class, by its Linux name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// SCHED_OTHER.
    #[default]
    Normal,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
    /// SCHED_FIFO.
    Fifo,
    /// SCHED_RR.
    RoundRobin,
    /// SCHED_ISO of Con Kolivas: soft real time without privilege. Policies without it treat it as normal.
    Iso,
    /// SCHED_DEADLINE: see [`Task::reservation`]. Policies without it treat it as normal.
    Deadline,
}

impl Class {
    /// All classes, the ordinary ones first.
    pub const ALL: [Class; 7] =
        [Class::Normal, Class::Batch, Class::Idle, Class::Fifo, Class::RoundRobin, Class::Iso, Class::Deadline];

    /// Name in files and reports, as `chrt` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Class::Normal => "normal",
            Class::Batch => "batch",
            Class::Idle => "idle",
            Class::Fifo => "fifo",
            Class::RoundRobin => "rr",
            Class::Iso => "iso",
            Class::Deadline => "deadline",
        }
    }

    /// The class of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.name() == name)
    }

    /// True for a POSIX real-time class.
    #[must_use]
    pub const fn is_realtime(self) -> bool {
        matches!(self, Class::Fifo | Class::RoundRobin)
    }
}

/// State of a task. Only the host changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Created, not yet runnable.
    #[default]
    New,
    /// On a runqueue.
    Queued,
    /// On a CPU.
    Running,
    /// Waiting for something other than a CPU.
    Blocked,
    /// Exited.
    Exited,
}

/// A reservation of CPU time: `runtime` within `deadline` of each release, one release per `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// CPU time of one job.
    pub runtime: Span,
    /// From a job's release to the time by which it must be done.
    pub deadline: Span,
    /// Least time between two releases.
    pub period: Span,
}

/// Attributes that were asked for a task. The [`TaskTable`] has its CPU and its state.
///
/// Fields read most come first and share a cache line, because with many tasks, cache misses dominate the cost of a
/// decision.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct Task {
    /// Requested class.
    pub class: Class,
    /// Nice; meaningful in the non-real-time classes.
    pub nice: Nice,
    /// 1..=99 in the real-time classes, larger is more urgent; else 0.
    pub rt_priority: u8,
    /// CPU it is at before it first runs.
    pub first_cpu: CpuId,
    /// Its group.
    pub group: GroupId,
    /// CPUs it may use.
    pub affinity: CpuSet,
    /// Tasks with equal numbers share an address space; `None` for kernel threads.
    pub address_space: Option<u32>,
    /// Tickets for proportional-share policies; `None`: derived from nice.
    pub tickets: Option<u32>,
    /// Priority on the policy's own scale, for systems without nice (Be and Haiku 1..=120, NT 1..=31), larger is more
    /// urgent; `None`: derived from class and nice.
    pub priority: Option<u8>,
    /// I/O priority; `None`: derived from nice.
    pub io_priority: Option<IoPriority>,
    /// Requested slice (`sched_attr.sched_runtime`), for policies that support it.
    pub slice: Option<Span>,
    /// Reservation that the deadline policies keep for the task.
    pub reservation: Option<Reservation>,
    /// CPU time of each of its bursts, if the work tells it in advance as textbooks do. No kernel knows it.
    pub burst: Option<Span>,
}

/// The part of a task that each decision changes, and the part of its request that a decision reads: 8 bytes, so that
/// those of 100 000 tasks stay in the caches.
#[derive(Clone, Copy, Debug)]
struct Standing {
    cpu: CpuId,
    state: State,
    class: Class,
    nice: Nice,
    /// Bits of [`flag`].
    flags: u8,
}

const _: () = assert!(size_of::<Standing>() == 8);

/// Facts about what was asked for a task, one bit each.
mod flag {
    /// It may run on every CPU.
    pub const ANYWHERE: u8 = 1;
    /// It has an address space.
    pub const ADDRESS_SPACE: u8 = 2;
    /// It asks for a slice.
    pub const SLICE: u8 = 4;
}

impl Standing {
    /// A new task.
    fn new(task: &Task) -> Standing {
        let (cpu, state, class, nice) = (task.first_cpu, State::New, task.class, task.nice);
        Standing { cpu, state, class, nice, flags: 0 }.of(task)
    }

    /// Like `self`, for what is asked for `task` now.
    fn of(self, task: &Task) -> Standing {
        let flag = |is_so: bool, flag: u8| if is_so { flag } else { 0 };
        let flags = flag(task.affinity == CpuSet::All, flag::ANYWHERE)
            | flag(task.address_space.is_some(), flag::ADDRESS_SPACE)
            | flag(task.slice.is_some(), flag::SLICE);
        Standing { class: task.class, nice: task.nice, flags, ..self }
    }

    #[inline(always)]
    fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// All tasks of a run, by [`TaskId`].
#[derive(Clone, Debug, Default)]
pub struct TaskTable {
    tasks: Vec<Task>,
    standings: Vec<Standing>,
}

impl TaskTable {
    /// An empty table with room for `capacity` tasks.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> TaskTable {
        TaskTable { tasks: Vec::with_capacity(capacity), standings: Vec::with_capacity(capacity) }
    }

    /// Appends a new task and returns its number.
    ///
    /// # Panics
    /// With the 2^32nd task.
    pub fn push(&mut self, task: Task) -> TaskId {
        self.standings.push(Standing::new(&task));
        self.tasks.push(task);
        TaskId(u32::try_from(self.tasks.len() - 1).expect("fewer than 2^32 tasks"))
    }

    /// CPU that the task runs, waits or last ran on.
    #[inline(always)]
    #[must_use]
    pub fn cpu(&self, task: TaskId) -> CpuId {
        self.standings[task.index()].cpu
    }

    /// Its state.
    #[inline(always)]
    #[must_use]
    pub fn state(&self, task: TaskId) -> State {
        self.standings[task.index()].state
    }

    /// Its class.
    #[inline(always)]
    #[must_use]
    pub fn class(&self, task: TaskId) -> Class {
        self.standings[task.index()].class
    }

    /// Its nice.
    #[inline(always)]
    #[must_use]
    pub fn nice(&self, task: TaskId) -> Nice {
        self.standings[task.index()].nice
    }

    /// The slice it asks for.
    #[inline(always)]
    #[must_use]
    pub fn slice(&self, task: TaskId) -> Option<Span> {
        if self.standings[task.index()].has(flag::SLICE) { self.tasks[task.index()].slice } else { None }
    }

    /// Its group.
    #[inline]
    #[must_use]
    pub fn group(&self, task: TaskId) -> GroupId {
        self.tasks[task.index()].group
    }

    /// The CPUs it may use.
    #[must_use]
    pub fn affinity(&self, task: TaskId) -> &CpuSet {
        &self.tasks[task.index()].affinity
    }

    /// True if it has an address space, as all but kernel threads do.
    #[inline(always)]
    #[must_use]
    pub fn has_address_space(&self, task: TaskId) -> bool {
        self.standings[task.index()].has(flag::ADDRESS_SPACE)
    }

    /// True if its affinity allows `cpu`.
    #[inline(always)]
    #[must_use]
    pub fn may_run(&self, task: TaskId, cpu: CpuId) -> bool {
        self.standings[task.index()].has(flag::ANYWHERE) || self.tasks[task.index()].affinity.contains(cpu)
    }

    /// Sets the state, as only hosts do.
    #[inline(always)]
    pub fn set_state(&mut self, task: TaskId, state: State) {
        self.standings[task.index()].state = state;
    }

    /// Sets the CPU, as only hosts do. Returns the one before.
    #[inline(always)]
    pub fn set_cpu(&mut self, task: TaskId, cpu: CpuId) -> CpuId {
        std::mem::replace(&mut self.standings[task.index()].cpu, cpu)
    }

    /// Edits what was asked for the task.
    pub fn edit<T>(&mut self, task: TaskId, edit: impl FnOnce(&mut Task) -> T) -> T {
        let it = &mut self.tasks[task.index()];
        let result = edit(it);
        self.standings[task.index()] = self.standings[task.index()].of(it);
        result
    }

    /// Number of tasks there ever were.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// True if there never was a task.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The states of all tasks in order of their numbers.
    pub fn states(&self) -> impl Iterator<Item = State> {
        self.standings.iter().map(|standing| standing.state)
    }

    /// All tasks in order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (TaskId, &Task)> {
        self.tasks.iter().enumerate().map(|(i, t)| (TaskId(i as u32), t))
    }
}

impl Index<TaskId> for TaskTable {
    type Output = Task;
    #[inline]
    fn index(&self, task: TaskId) -> &Task {
        &self.tasks[task.index()]
    }
}

/// A value for each task, dense and ordered by [`TaskId`]. Grows on first mention, never shrinks.
#[derive(Clone, Debug)]
pub struct PerTask<T>(Vec<T>);

impl<T> Default for PerTask<T> {
    fn default() -> Self {
        PerTask(Vec::new())
    }
}

impl<T: Default> PerTask<T> {
    /// Adds a value for `task`. Call it in `admit`, so that no later call allocates.
    pub fn admit(&mut self, task: TaskId) -> &mut T {
        if task.index() >= self.0.len() {
            self.0.resize_with(task.index() + 1, T::default);
        }
        &mut self.0[task.index()]
    }

    /// The value of `task`, if it has one.
    #[inline]
    #[must_use]
    pub fn get(&self, task: TaskId) -> Option<&T> {
        self.0.get(task.index())
    }

    /// Number of tasks that have a value.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if no task has a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All values in task order.
    pub fn iter(&self) -> impl Iterator<Item = (TaskId, &T)> {
        self.0.iter().enumerate().map(|(i, t)| (TaskId(i as u32), t))
    }

    /// All values in task order, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (TaskId, &mut T)> {
        self.0.iter_mut().enumerate().map(|(i, t)| (TaskId(i as u32), t))
    }
}

impl<T> Index<TaskId> for PerTask<T> {
    type Output = T;
    #[inline]
    fn index(&self, task: TaskId) -> &T {
        &self.0[task.index()]
    }
}

impl<T> IndexMut<TaskId> for PerTask<T> {
    #[inline]
    fn index_mut(&mut self, task: TaskId) -> &mut T {
        &mut self.0[task.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_what_the_affinity_says_also_after_an_edit() {
        let mut tasks = TaskTable::default();
        let (anywhere, bound) = (Task::default(), CpuSet::of(&[CpuId(1)]));
        let (a, b) = (tasks.push(anywhere), tasks.push(Task { affinity: bound.clone(), ..Task::default() }));
        let may = |tasks: &TaskTable| [a, b].map(|task| [0, 1].map(|cpu| tasks.may_run(task, CpuId(cpu))));
        assert_eq!(may(&tasks), [[true, true], [false, true]]);
        tasks.edit(a, |it| it.affinity = bound);
        tasks.edit(b, |it| it.affinity = CpuSet::All);
        assert_eq!(may(&tasks), [[false, true], [true, true]]);
    }

    #[test]
    fn the_table_says_what_was_asked_for_also_after_an_edit() {
        let mut tasks = TaskTable::default();
        let nice = |value| Nice::new(value).unwrap();
        let asked = Task { class: Class::Batch, nice: nice(3), address_space: Some(7), ..Task::default() };
        let task = tasks.push(asked);
        let said = |of: &TaskTable| (of.class(task), of.nice(task), of.has_address_space(task), of.slice(task));
        assert_eq!(said(&tasks), (Class::Batch, nice(3), true, None));
        tasks.edit(task, |it| (it.class, it.nice) = (Class::Fifo, nice(-3)));
        tasks.edit(task, |it| (it.address_space, it.slice) = (None, Some(Span(5))));
        assert_eq!(said(&tasks), (Class::Fifo, nice(-3), false, Some(Span(5))));
    }

    #[test]
    fn a_new_task_is_where_it_was_said_to_be_first() {
        let mut tasks = TaskTable::default();
        let task = tasks.push(Task { first_cpu: CpuId(3), ..Task::default() });
        assert_eq!((tasks.cpu(task), tasks.state(task)), (CpuId(3), State::New));
        tasks.set_state(task, State::Queued);
        assert_eq!((tasks.set_cpu(task, CpuId(1)), tasks.cpu(task)), (CpuId(3), CpuId(1)));
        assert_eq!(tasks.states().collect::<Vec<_>>(), [State::Queued]);
    }
}
