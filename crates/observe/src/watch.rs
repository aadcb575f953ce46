//! Metrics and checkers, which can share one pass over the events.

use crate::checkers::{Checked, Ending, Rules, Violation};
use crate::metrics::{Measured, Measures, TaskAccount};
use crate::subject::Subject;
use crate::tracker::Tracker;
use goodness_core::{Class, CpuId, CpuSet, Event, IoEvent, Nice, Observer, Off, Span, State, TaskId, Time};

/// Follows a run, measures it (`MEASURE`) and checks its invariants (`CHECK`). All memory that grows
/// with tasks or CPUs is taken at construction or at a task's first event.
#[derive(Clone, Debug)]
pub struct Watch<const MEASURE: bool, const CHECK: bool> {
    now: Time,
    /// True if nothing is accumulated as time passes while no CPU idles: the warm-up is over, and no idle time is open.
    is_steady: bool,
    tracker: Tracker<TaskAccount>,
    measures: Measures,
    rules: Rules,
}

/// Measures a run.
pub type Metrics = Watch<true, false>;
/// Checks a run against all invariants.
pub type Checkers = Watch<false, true>;
/// Measures a run and checks it against all invariants.
pub type MetricsAndCheckers = Watch<true, true>;

/// Number of tasks whose data fits into the CPU's caches.
const FITS_INTO_CACHES: usize = 4_096;

/// Events whose tasks are prefetched at a time: a quarter of a first-level cache.
const EVENTS_LOADED: usize = 128;

impl Metrics {
    /// Measures a machine of `cpus` CPUs from time `from` on, the end of the warm-up. `subjects` are the initial tasks,
    /// by task number.
    ///
    /// # Panics
    /// As [`Tracker::new`]; later, when an event names a CPU the machine does not have.
    #[must_use]
    pub fn new(cpus: usize, from: Time, subjects: &[Subject]) -> Self {
        Self::with(cpus, from, subjects)
    }

    /// Ends the run at `end`, or at its last event if later. Returns the measurements.
    #[must_use]
    pub fn finish(mut self, end: Time) -> Measured {
        let end = self.end(end);
        self.measures.finish(end, self.tracker)
    }
}

impl Checkers {
    /// Violations kept in full.
    pub const KEPT: usize = Rules::KEPT;

    /// Checks a machine of `cpus` CPUs. `subjects` are the initial tasks, by task number.
    ///
    /// # Panics
    /// As [`Tracker::new`].
    #[must_use]
    pub fn new(cpus: usize, subjects: &[Subject]) -> Self {
        Self::with(cpus, Time::ZERO, subjects)
    }

    /// Ends the run at `end`, or at its last event if that is later.
    #[must_use]
    pub fn finish(mut self, end: Time, ending: Ending) -> Checked {
        let end = self.end(end);
        self.rules.finish(end, ending, &self.tracker)
    }
}

impl MetricsAndCheckers {
    /// As [`Metrics::new`] and [`Checkers::new`].
    ///
    /// # Panics
    /// As [`Tracker::new`].
    #[must_use]
    pub fn new(cpus: usize, from: Time, subjects: &[Subject]) -> Self {
        Self::with(cpus, from, subjects)
    }

    /// As [`Metrics::finish`] and [`Checkers::finish`].
    #[must_use]
    pub fn finish(mut self, end: Time, ending: Ending) -> (Measured, Checked) {
        let end = self.end(end);
        let checked = self.rules.finish(end, ending, &self.tracker);
        (self.measures.finish(end, self.tracker), checked)
    }
}

impl<const MEASURE: bool> Watch<MEASURE, true> {
    /// A wait longer than `bound` is a violation.
    #[must_use]
    pub fn with_wait_bound(mut self, bound: Span) -> Self {
        self.rules.waits.bound = bound;
        self
    }

    /// Finds the first task to wait longer than `limit`, for which a watchdog would act. `subjects` are those given at
    /// construction; real-time tasks are not guarded.
    #[must_use]
    pub fn with_watchdog(mut self, limit: Span, subjects: &[Subject]) -> Self {
        let realtime = subjects.iter().enumerate().filter(|(_, subject)| subject.class.is_realtime());
        self.rules.waits.unguarded = realtime.map(|(index, _)| TaskId(index as u32)).collect();
        self.rules.waits.limit = limit;
        self
    }

    /// Makes it a violation if a command stays in a device longer than ten times the device's age limit. By disk.
    #[must_use]
    pub fn with_age_limits(mut self, age_limits: Vec<Option<Span>>) -> Self {
        self.rules.service.age_limits = age_limits;
        self
    }

    /// Makes it a violation if a CPU idles longer than `tolerance` without a break while a task waits that may run
    /// there.
    #[must_use]
    pub fn with_work_conserving(mut self, tolerance: Span) -> Self {
        self.rules.idling.tolerance = tolerance;
        self
    }

    /// Makes it a violation if a task waits longer than `limit` at the end of the run, on the run queue of a CPU that
    /// idled all that time. For policies without a timer: what could they wait for?
    #[must_use]
    pub fn with_forgotten(mut self, limit: Span) -> Self {
        self.rules.forgotten.limit = limit;
        self
    }

    /// The first violation so far; ask in the loop of a run that should stop there.
    #[must_use]
    pub fn first(&self) -> Option<&Violation> {
        self.rules.first()
    }
}

impl<const MEASURE: bool, const CHECK: bool> Watch<MEASURE, CHECK> {
    fn with(cpus: usize, from: Time, subjects: &[Subject]) -> Self {
        let (measured_cpus, measured) = if MEASURE { (cpus, subjects) } else { (0, &subjects[..0]) };
        Watch {
            now: Time::ZERO,
            is_steady: false,
            tracker: Tracker::new(cpus, subjects),
            measures: Measures::new(measured_cpus, from, measured),
            rules: Rules::new(if CHECK { cpus } else { 0 }),
        }
    }

    fn end(&mut self, end: Time) -> Time {
        let end = end.max(self.now);
        self.pass(end);
        end
    }

    /// Prefetches the data of `events` into the CPU's caches: first the tasks, then the histograms of their waits.
    #[inline(never)]
    fn load(&self, events: &[(Time, Event)]) {
        let mut blocks = [0; EVENTS_LOADED];
        for events in events.chunks(EVENTS_LOADED) {
            let mut loaded = self.tracker.load(events);
            for ((at, event), block) in events.iter().zip(&mut blocks) {
                *block = match *event {
                    Event::Switch { next: Some(task), .. } if MEASURE => self.block_of_wait(*at, task),
                    _ => 0,
                };
            }
            for block in &blocks {
                loaded ^= self.measures.load_block(*block);
            }
            std::hint::black_box(loaded);
        }
    }

    /// The block of counts that the wait of `task` falls into if it ends at `at`.
    #[inline]
    fn block_of_wait(&self, at: Time, task: TaskId) -> u32 {
        let wait = self.tracker.task(task).map_or(Span::ZERO, |track| at.since(track.since));
        self.measures.block_of_wait(task, wait)
    }

    /// Advances the time to `at` in the current state. A clock that goes back is ignored.
    #[inline(always)]
    fn pass(&mut self, at: Time) {
        if at > self.now {
            if !self.is_steady || self.tracker.has_idle_cpus() {
                self.pass_accounted(at);
            }
            self.now = at;
        } else if CHECK && at < self.now {
            self.rules.clock_went_back(self.now, at);
        }
    }

    #[inline(never)]
    fn pass_accounted(&mut self, at: Time) {
        let idles = self.tracker.idles_while_queued();
        if MEASURE {
            self.measures.pass(self.now, at, idles);
        }
        if CHECK {
            self.rules.pass(self.now, idles);
        }
        self.is_steady = (!MEASURE || self.measures.is_measuring()) && !(CHECK && self.rules.sees_idling());
    }

    /// True if an event that names `cpu` can be followed.
    #[inline(always)]
    fn exists(&mut self, cpu: CpuId) -> bool {
        !CHECK || self.rules.exists(self.now, cpu, &self.tracker)
    }

    #[inline(always)]
    fn wakeup(&mut self, at: Time, task: TaskId, cpu: CpuId) {
        self.pass(at);
        if !self.exists(cpu) {
            return;
        }
        let at = self.now;
        match self.tracker.wake_plainly(at, task, cpu) {
            Some(track) if MEASURE => self.measures.woken(at, cpu, task, track),
            Some(_) => {}
            None => self.wakeup_of_any_kind(task, cpu),
        }
    }

    #[inline(never)]
    fn wakeup_of_any_kind(&mut self, task: TaskId, cpu: CpuId) {
        let at = self.now;
        if CHECK {
            self.rules.wakeup(at, task, cpu, &mut self.tracker);
        }
        let Some(track) = self.tracker.wake(at, task, cpu) else { return };
        if MEASURE {
            self.measures.woken(at, cpu, task, track);
        }
    }

    #[inline(always)]
    fn switch(&mut self, at: Time, cpu: CpuId, prev: Option<TaskId>, off: Off, next: Option<TaskId>) {
        self.pass(at);
        if !self.exists(cpu) {
            return;
        }
        let at = self.now;
        if let (Some(prev), Some(next)) = (prev, next)
            && let Some(switched) = self.tracker.switch_plainly(at, cpu, (prev, off, next))
        {
            if CHECK {
                self.rules.ran(at.since(switched.ended.began));
                self.rules.waited(at, next, switched.waited_since);
            }
            if MEASURE {
                self.measures.stopped(at, cpu, prev, off, switched.ended);
                self.measures.started(at, cpu, next, switched.began);
            }
        } else {
            self.switch_of_any_kind(cpu, prev, off, next);
        }
    }

    /// The general case of [`Self::switch`]: also from and to idle, with affinities, and for invalid streams.
    #[inline(never)]
    fn switch_of_any_kind(&mut self, cpu: CpuId, prev: Option<TaskId>, off: Off, next: Option<TaskId>) {
        let running = self.tracker.running_on(cpu);
        if CHECK {
            self.rules.switch(self.now, cpu, (prev, off, next), running);
        }
        if running == prev {
            if let Some(prev) = prev {
                self.stop(cpu, prev, off);
            }
        } else {
            self.stop_unknown(cpu, prev, off, running);
        }
        if let Some(next) = next {
            self.start(cpu, next);
        }
        if MEASURE {
            self.measures.switched(self.now, cpu, next.is_some());
        }
    }

    #[inline(always)]
    fn stop(&mut self, cpu: CpuId, task: TaskId, off: Off) {
        let at = self.now;
        let Some(ended) = self.tracker.stop(at, cpu, task, off) else { return };
        if CHECK {
            self.rules.ran(at.since(ended.began));
        }
        if MEASURE {
            self.measures.stopped(at, cpu, task, off, ended);
        }
    }

    /// Handles a switch of `cpu` away from another task than was believed to run. Neither gets a slice, because its
    /// bounds are unknown, but the task that left may start to wait.
    #[cold]
    fn stop_unknown(&mut self, cpu: CpuId, prev: Option<TaskId>, off: Off, running: Option<TaskId>) {
        if let Some(lost) = running {
            self.tracker.forget(cpu);
            if MEASURE {
                self.measures.lost(self.now, cpu, lost, self.tracker.task_mut(lost));
            }
        }
        let Some(prev) = prev else { return };
        if self.tracker.appear(self.now, cpu, prev, off) && MEASURE {
            self.measures.runnable(self.now, cpu, prev, self.tracker.task_mut(prev));
        }
    }

    #[inline(always)]
    fn start(&mut self, cpu: CpuId, task: TaskId) {
        let at = self.now;
        if CHECK {
            self.rules.switch_in(at, cpu, task, &mut self.tracker);
        }
        let began = self.tracker.start(at, cpu, task);
        if CHECK && let Some(since) = began.waited_since {
            self.rules.waited(at, task, since);
        }
        if MEASURE {
            self.measures.started(at, cpu, task, began);
        }
    }

    /// The rarer kinds of events.
    #[inline(never)]
    fn follow(&mut self, at: Time, event: &Event) {
        self.pass(at);
        match *event {
            Event::Migrate { task, to, .. } if self.exists(to) => self.migrate(task, to),
            Event::Overhead { cpu, kind, span } if self.exists(cpu) => self.overhead(cpu, kind, span),
            Event::Migrate { .. } | Event::Overhead { .. } | Event::Wakeup { .. } | Event::Switch { .. } => {}
            Event::Io(event) => self.io(&event),
            Event::Fork { parent, child } => self.fork(parent, child),
            Event::Exit { task } => self.exit(task),
            Event::Served { task, latency } => self.served(task, latency),
            Event::Contended { .. } => {}
        }
    }

    fn migrate(&mut self, task: TaskId, to: CpuId) {
        if CHECK {
            self.rules.migrate(self.now, task, to, &mut self.tracker);
        }
        if let Some(from) = self.tracker.migrate(task, to)
            && MEASURE
        {
            self.measures.moved(self.now, from, to);
        }
    }

    fn fork(&mut self, parent: Option<TaskId>, child: TaskId) {
        if CHECK {
            self.rules.acts(self.now, child, &mut self.tracker, "was created");
        }
        self.tracker.fork(parent, child);
        if MEASURE {
            self.measures.forked(parent, child);
        }
    }

    fn overhead(&mut self, cpu: CpuId, kind: goodness_core::Overhead, span: Span) {
        if CHECK {
            self.rules.spent(self.now, cpu, span);
        }
        if MEASURE {
            self.measures.spent(self.now, cpu, kind, span);
        }
    }

    fn exit(&mut self, task: TaskId) {
        let at = self.now;
        if CHECK {
            self.rules.exit(at, task, &mut self.tracker);
        }
        let waited_on = self.tracker.task(task).filter(|t| t.state == State::Queued).map(|t| t.cpu());
        let arrived = self.tracker.arrived(task);
        let Some(track) = self.tracker.exit(at, task) else { return };
        if MEASURE {
            self.measures.exited(at, arrived, track.is_judged());
            if let Some(cpu) = waited_on {
                self.measures.blocked(at, cpu, task, track);
            }
        }
    }

    #[cold]
    fn io(&mut self, event: &IoEvent) {
        if CHECK {
            self.rules.io(self.now, event);
        }
        if MEASURE {
            self.measures.io(self.now, event);
        }
    }

    fn served(&mut self, task: TaskId, latency: Span) {
        if CHECK {
            self.rules.acts(self.now, task, &mut self.tracker, "served a request");
        }
        if MEASURE {
            self.measures.served(latency, self.tracker.task_mut(task).is_judged());
        }
    }

    fn reweigh(&mut self, at: Time, task: TaskId, class: Class, nice: Nice) {
        let tasks = self.tracker.task_count();
        self.measures.reweigh(at, (task, class, nice), self.tracker.task_mut(task), tasks);
    }

    #[inline(always)]
    fn follow_all(&mut self, events: &[(Time, Event)]) {
        if events.len() > 1 && self.tracker.task_count() > FITS_INTO_CACHES {
            self.load(events);
        }
        for (at, event) in events {
            match *event {
                Event::Wakeup { task, cpu, .. } => self.wakeup(*at, task, cpu),
                Event::Switch { cpu, prev, off, next } => self.switch(*at, cpu, prev, off, next),
                _ => self.follow(*at, event),
            }
        }
    }
}

/// Not one generic implementation, which would be compiled again in each crate that observes, as slow as that crate may
/// be.
macro_rules! observes {
    ($($watch:ty),*) => {
        $(impl Observer for $watch {
            fn observe(&mut self, at: Time, event: &Event) {
                self.follow_all(&[(at, *event)]);
            }

            fn observe_all(&mut self, events: &[(Time, Event)]) {
                self.follow_all(events);
            }

            fn confine(&mut self, at: Time, task: TaskId, cpus: &CpuSet) {
                self.pass(at);
                self.tracker.confine(task, cpus);
                self.measures.confine();
                // Another CPU may idle beside waiting tasks now.
                self.is_steady = false;
            }

            fn reclass(&mut self, at: Time, task: TaskId, class: Class, nice: Nice) {
                self.pass(at);
                self.reweigh(at, task, class, nice);
            }
        })*
    };
}

observes!(Metrics, Checkers, MetricsAndCheckers);
