//! State shared by all metrics and invariants: running and waiting tasks, and since when.
//!
//! The tracker accepts whatever is possible. An event that contradicts earlier ones (for example a switch away from a
//! task that does not run there) changes only what it can, and no slice or wait is invented. Detecting contradictions
//! is up to the checkers.

use crate::subject::Subject;
use crate::track::mark;
pub use crate::track::{Began, Ended, Switched, TaskTrack};
use crate::waiting::{Sets, Waiting};
use goodness_core::{CPUS_MAX, CpuId, CpuSet, Event, Off, PerTask, State, TaskId, Time};

/// Stands for an idle CPU's task.
const NOBODY: TaskId = TaskId(u32::MAX);

/// The state of the machine after the events so far.
#[derive(Clone, Debug)]
pub struct Tracker<T> {
    tasks: Vec<TaskTrack<T>>,
    /// First wake-ups; needed only at the end, so kept separately.
    arrivals: PerTask<Option<Time>>,
    /// Each CPU's task, or [`NOBODY`].
    running: Vec<TaskId>,
    sets: Sets,
    waiting: Waiting,
}

impl<T: Default> Tracker<T> {
    /// A machine of `cpus` idle CPUs and the initial tasks.
    ///
    /// # Panics
    /// With more than [`CPUS_MAX`] CPUs, or more than 65 535 different affinities.
    #[must_use]
    pub fn new(cpus: usize, subjects: &[Subject]) -> Self {
        assert!(cpus <= CPUS_MAX, "{cpus} CPUs are more than the {CPUS_MAX} that are supported");
        let mut tracker = Tracker {
            tasks: Vec::with_capacity(subjects.len()),
            arrivals: PerTask::default(),
            running: vec![NOBODY; cpus],
            sets: Sets::new(cpus),
            waiting: Waiting::new(cpus),
        };
        for (index, subject) in subjects.iter().enumerate() {
            tracker.describe(TaskId(index as u32), subject);
        }
        tracker
    }

    /// `task`, which may be waiting, may use `cpus` from now on.
    pub fn confine(&mut self, task: TaskId, cpus: &CpuSet) {
        let set = self.sets.number_of(cpus);
        self.waiting.make_room(set, cpus);
        let track = task_mut(&mut self.tasks, task);
        if track.state == State::Queued {
            self.waiting.unqueue(track.set);
            self.waiting.queue(set);
        }
        track.restrict(set);
    }

    /// Sets the facts about `task`. Call it before the task first becomes runnable.
    pub fn describe(&mut self, task: TaskId, subject: &Subject) {
        self.confine(task, &subject.affinity);
        let track = self.task_mut(task);
        track.marks = track.marks & !mark::JUDGED | mark::DESCRIBED | if subject.judged { mark::JUDGED } else { 0 };
    }

    /// A new task. If undescribed, it inherits from its parent; without one it is judged and may run anywhere.
    pub fn fork(&mut self, parent: Option<TaskId>, child: TaskId) {
        let (set, judged) = match parent {
            Some(parent) => {
                let parent = self.task_mut(parent);
                (parent.set, parent.marks & mark::JUDGED)
            }
            None => (0, mark::JUDGED),
        };
        let track = self.task_mut(child);
        if !track.has(mark::DESCRIBED) {
            track.restrict(set);
            track.marks = track.marks & !mark::JUDGED | judged | mark::DESCRIBED;
        }
    }

    /// The task becomes runnable on the run queue of `cpu`. `None` if it was runnable or has ended.
    #[inline(always)]
    pub fn wake(&mut self, at: Time, task: TaskId, cpu: CpuId) -> Option<&mut TaskTrack<T>> {
        let track = task_mut(&mut self.tasks, task);
        if !matches!(track.state, State::New | State::Blocked) {
            return None;
        }
        track.state = State::Queued;
        track.since = at;
        track.cpu = cpu.0 as u16;
        if !track.has(mark::ARRIVED) {
            track.marks |= mark::ARRIVED;
            *self.arrivals.admit(task) = Some(at);
        }
        track.marks |= mark::WOKEN;
        self.waiting.queue(track.set);
        Some(track)
    }

    /// Fast path of [`Tracker::wake`]: the task exists, is not runnable, and may run anywhere. Otherwise does nothing.
    #[inline(always)]
    pub fn wake_plainly(&mut self, at: Time, task: TaskId, cpu: CpuId) -> Option<&mut TaskTrack<T>> {
        let track = self.tasks.get_mut(task.index())?;
        if track.state != State::Blocked || !track.is_free() || !track.has(mark::ARRIVED) {
            return None;
        }
        track.state = State::Queued;
        track.since = at;
        track.cpu = cpu.0 as u16;
        track.marks |= mark::WOKEN;
        self.waiting.queue(0);
        Some(track)
    }

    /// Fast path of [`Tracker::stop`] and [`Tracker::start`]: `prev` runs there and continues to live, `next` is queued
    /// there, and both may run anywhere. Otherwise does nothing.
    #[inline(always)]
    pub fn switch_plainly(
        &mut self,
        at: Time,
        cpu: CpuId,
        (prev, off, next): (TaskId, Off, TaskId),
    ) -> Option<Switched<'_, T>> {
        let running = self.running.get_mut(cpu.index())?;
        let [from, to] = self.tasks.get_disjoint_mut([prev.index(), next.index()]).ok()?;
        let ordinary = *running == prev && off != Off::Exited && from.is_free() && to.is_free();
        if !ordinary || to.state != State::Queued || to.cpu != cpu.0 as u16 {
            return None;
        }
        *running = next;
        let began = std::mem::replace(&mut from.since, at);
        from.state = State::Queued;
        if !off.is_runnable() {
            from.state = State::Blocked;
            self.waiting.unqueue(0);
        }
        let waited_since = std::mem::replace(&mut to.since, at);
        let (woken, is_first) = (to.has(mark::WOKEN), !to.has(mark::RAN));
        let moved = !is_first && to.ran_on != to.cpu;
        to.marks = to.marks & !mark::WOKEN | mark::RAN;
        to.state = State::Running;
        to.ran_on = to.cpu;
        let ended = Ended { began, task: from };
        let began = Began { waited_since: Some(waited_since), woken, counted_on: Some(cpu), moved, is_first, task: to };
        Some(Switched { ended, began, waited_since })
    }

    /// Adds an unknown task that lost `cpu`: it existed before the first event, and waits since `at` if it is still
    /// runnable. Returns whether it waits.
    pub fn appear(&mut self, at: Time, cpu: CpuId, task: TaskId, off: Off) -> bool {
        let track = task_mut(&mut self.tasks, task);
        if track.state != State::New {
            return false;
        }
        track.since = at;
        track.cpu = cpu.0 as u16;
        track.state = if off.is_runnable() { State::Queued } else { State::Blocked };
        if off.is_runnable() {
            self.waiting.queue(track.set);
        }
        off.is_runnable()
    }

    /// Switches `task` out on `cpu`; `None` if it was not running there.
    #[inline(always)]
    pub fn stop(&mut self, at: Time, cpu: CpuId, task: TaskId, off: Off) -> Option<Ended<'_, T>> {
        if self.running[cpu.index()] != task {
            return None;
        }
        self.running[cpu.index()] = NOBODY;
        self.waiting.idle(cpu);
        let track = task_mut(&mut self.tasks, task);
        let began = std::mem::replace(&mut track.since, at);
        track.state = match off {
            Off::Preempted | Off::Yielded => {
                self.waiting.queue(track.set);
                State::Queued
            }
            Off::Sleeping | Off::Uninterruptible | Off::DirtyMemory => State::Blocked,
            Off::Exited => State::Exited,
        };
        Some(Ended { began, task: track })
    }

    /// Starts `task` on `cpu`. A task still believed to run there is [forgotten](Self::forget); if `task` runs
    /// elsewhere, it is removed there.
    #[inline(always)]
    pub fn start(&mut self, at: Time, cpu: CpuId, task: TaskId) -> Began<'_, T> {
        if self.running[cpu.index()] != NOBODY {
            self.forget(cpu);
        }
        let track = task_mut(&mut self.tasks, task);
        let queued_on = track.cpu();
        let (mut waited_since, mut counted_on) = (None, None);
        if track.state == State::Queued {
            self.waiting.unqueue(track.set);
            (waited_since, counted_on) = (Some(track.since), Some(queued_on));
        } else if track.state == State::Running {
            counted_on = Some(queued_on);
            self.running[queued_on.index()] = NOBODY;
            self.waiting.idle(queued_on);
        }
        let (woken, is_first) = (track.has(mark::WOKEN), !track.has(mark::RAN));
        let moved = !is_first && track.ran_on != cpu.0 as u16;
        track.marks = track.marks & !mark::WOKEN | mark::RAN;
        track.state = State::Running;
        track.since = at;
        track.cpu = cpu.0 as u16;
        track.ran_on = cpu.0 as u16;
        self.running[cpu.index()] = task;
        self.waiting.busy(cpu);
        Began { waited_since, woken, counted_on, moved, is_first, task: track }
    }

    /// Moves the queued `task` to the run queue of `to`. Returns its previous CPU if that is another one.
    #[inline]
    pub fn migrate(&mut self, task: TaskId, to: CpuId) -> Option<CpuId> {
        let track = self.task_mut(task);
        let from = track.cpu();
        if track.state != State::Queued || from == to {
            return None;
        }
        track.cpu = to.0 as u16;
        Some(from)
    }

    /// Ends `task`. If it is running, its CPU's switch follows. Returns the task unless it had ended before.
    pub fn exit(&mut self, at: Time, task: TaskId) -> Option<&mut TaskTrack<T>> {
        let track = task_mut(&mut self.tasks, task);
        if track.has(mark::ENDED) {
            return None;
        }
        track.marks |= mark::ENDED;
        if track.state == State::Queued {
            self.waiting.unqueue(track.set);
        }
        if track.state != State::Running {
            track.state = State::Exited;
            track.since = at;
        }
        Some(track)
    }

    /// Drops the task believed to run on `cpu`, whose switch-out was missed. It gets no slice and counts as sleeping.
    #[cold]
    pub fn forget(&mut self, cpu: CpuId) {
        if let Some(task) = self.running_on(cpu) {
            self.running[cpu.index()] = NOBODY;
            self.task_mut(task).state = State::Blocked;
            self.waiting.idle(cpu);
        }
    }

    /// The task, added if unknown: judged, and allowed on all CPUs.
    #[inline(always)]
    pub fn task_mut(&mut self, task: TaskId) -> &mut TaskTrack<T> {
        task_mut(&mut self.tasks, task)
    }
}

impl<T> Tracker<T> {
    /// The task, if it was ever heard of.
    #[inline]
    #[must_use]
    pub fn task(&self, task: TaskId) -> Option<&TaskTrack<T>> {
        self.tasks.get(task.index())
    }

    /// All tasks ever heard of, by number.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskId, &TaskTrack<T>)> {
        self.tasks.iter().enumerate().map(|(index, track)| (TaskId(index as u32), track))
    }

    /// All tasks ever heard of, to be changed.
    pub fn tasks_mut(&mut self) -> impl Iterator<Item = &mut TaskTrack<T>> {
        self.tasks.iter_mut()
    }

    /// Number of tasks seen.
    #[inline]
    #[must_use]
    pub fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// Time of the first wake-up of `task`.
    #[must_use]
    pub fn arrived(&self, task: TaskId) -> Option<Time> {
        if task.index() < self.arrivals.len() { self.arrivals[task] } else { None }
    }

    /// Number of CPUs.
    #[must_use]
    pub fn cpu_count(&self) -> usize {
        self.running.len()
    }

    /// The task running on `cpu`.
    #[inline(always)]
    #[must_use]
    pub fn running_on(&self, cpu: CpuId) -> Option<TaskId> {
        Some(self.running[cpu.index()]).filter(|task| *task != NOBODY)
    }

    /// Number of CPUs that run a task.
    #[inline]
    #[must_use]
    pub fn running(&self) -> u64 {
        self.running.len() as u64 - u64::from(self.waiting.idle_cpus())
    }

    /// Prefetches the tasks of a block of events into the CPU's caches, all at once, so that events do not wait for
    /// their tasks one by one. Of a switch it is the next task; the previous one is still cached.
    pub fn load(&self, events: &[(Time, Event)]) -> u64 {
        let about = events.iter().filter_map(|(_, event)| match *event {
            Event::Wakeup { task, .. } | Event::Switch { next: Some(task), .. } => self.task(task),
            _ => None,
        });
        about.fold(0, |loaded, track| loaded ^ track.since.ns())
    }

    /// True if `task` may run on `cpu`.
    #[inline]
    #[must_use]
    pub fn may_run(&self, task: TaskId, cpu: CpuId) -> bool {
        match self.tasks.get(task.index()) {
            Some(track) if track.set != 0 => self.sets.contains(track.set, cpu),
            _ => true,
        }
    }

    /// True if any CPU idles.
    #[inline(always)]
    #[must_use]
    pub fn has_idle_cpus(&self) -> bool {
        self.waiting.idle_cpus() > 0
    }

    /// True if a CPU idles while a task waits that may run there. `None` if unknown: with affinities on more than 64
    /// CPUs, or with more than 64 different affinities.
    #[inline]
    #[must_use]
    pub fn idles_while_queued(&self) -> Option<bool> {
        self.waiting.idles_while_queued()
    }
}

#[inline(always)]
fn task_mut<T: Default>(tasks: &mut Vec<TaskTrack<T>>, task: TaskId) -> &mut TaskTrack<T> {
    #[cold]
    fn grow<T: Default>(tasks: &mut Vec<TaskTrack<T>>, len: usize) {
        tasks.resize_with(len, || TaskTrack { marks: mark::JUDGED, ..TaskTrack::default() });
    }
    if task.index() >= tasks.len() {
        grow(tasks, task.index() + 1);
    }
    &mut tasks[task.index()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::CpuSet;

    fn tracker(cpus: usize, affinities: &[&[u32]]) -> Tracker<()> {
        let subject = |cpus: &&[u32]| Subject {
            affinity: CpuSet::of(&cpus.iter().map(|c| CpuId(*c)).collect::<Vec<_>>()),
            ..Subject::default()
        };
        Tracker::new(cpus, &affinities.iter().map(subject).collect::<Vec<_>>())
    }

    #[test]
    fn an_idle_cpu_counts_only_for_tasks_that_may_run_there() {
        let mut t = tracker(2, &[&[0], &[0], &[0, 1]]);
        t.wake(Time(1), TaskId(0), CpuId(0));
        t.start(Time(1), CpuId(0), TaskId(0));
        t.wake(Time(2), TaskId(1), CpuId(0));
        assert_eq!(t.idles_while_queued(), Some(false), "cpu 1 is forbidden to task 1");
        t.wake(Time(3), TaskId(2), CpuId(0));
        assert_eq!(t.idles_while_queued(), Some(true), "both CPUs of the machine are no restriction");
        t.start(Time(4), CpuId(1), TaskId(2));
        assert_eq!(t.idles_while_queued(), Some(false));
    }

    #[test]
    fn a_restricted_task_on_a_large_machine_makes_idling_unknown() {
        let mut t = tracker(100, &[&[70]]);
        t.wake(Time(1), TaskId(0), CpuId(70));
        assert_eq!(t.idles_while_queued(), None);
    }

    #[test]
    fn a_child_takes_after_its_parent_unless_described() {
        let mut t = tracker(2, &[&[1]]);
        t.task_mut(TaskId(0)).marks &= !mark::JUDGED;
        t.fork(Some(TaskId(0)), TaskId(1));
        assert!(!t.may_run(TaskId(1), CpuId(0)));
        assert!(!t.task(TaskId(1)).unwrap().is_judged());
        t.describe(TaskId(2), &Subject::default());
        t.fork(Some(TaskId(0)), TaskId(2));
        assert!(t.may_run(TaskId(2), CpuId(0)) && t.task(TaskId(2)).unwrap().is_judged());
    }

    #[test]
    fn a_switch_away_from_another_task_is_no_slice() {
        let mut t = tracker(1, &[]);
        t.start(Time(1), CpuId(0), TaskId(0));
        assert!(t.stop(Time(2), CpuId(0), TaskId(1), Off::Sleeping).is_none());
        assert_eq!(t.running_on(CpuId(0)), Some(TaskId(0)));
        t.start(Time(3), CpuId(0), TaskId(1));
        assert_eq!((t.running(), t.running_on(CpuId(0))), (1, Some(TaskId(1))));
    }

    #[test]
    fn a_metrics_task_fits_one_cache_line() {
        assert_eq!(size_of::<TaskTrack<crate::metrics::TaskAccount>>(), 64);
    }
}
