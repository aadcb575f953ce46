//! The schedule of one run: the slices of each CPU, with wake-ups and waiting times.
//!
//! A [`Recorder`] observes a run and builds a [`Timeline`]. After a given number of slices it ends the timeline for all
//! CPUs at the same time and only counts further slices, which bounds its memory.

use crate::offline::Offline;
use crate::throttled::Throttled;
use goodness_core::{CpuId, Event, Observer, Off, PerTask, TaskId, Time};

/// One slice: a task running on a CPU without interruption. Times in ns since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Task.
    pub task: TaskId,
    /// CPU.
    pub cpu: CpuId,
    /// Time of the switch-in.
    pub start: u64,
    /// Time of the switch-out, or the end of the recorded timeline.
    pub end: u64,
    /// Time it had been runnable when it was switched in.
    pub waited: u64,
    /// Wake-up since its previous slice; `None` without one, for example after a preemption.
    pub woken: Option<Woken>,
    /// Reason of the switch-out; `None` if the task was running at the end.
    pub off: Option<Off>,
}

/// The event that ended a task's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Another task, in its own context.
    By(TaskId),
    /// An interrupt, a timer, or the start of the run.
    ByInterrupt,
}

/// Length of a CPU's run queue from an instant on, without the running task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLength {
    /// Start of this length, in ns.
    pub at: u64,
    /// CPU of the queue.
    pub cpu: CpuId,
    /// Number of tasks.
    pub tasks: u32,
}

/// A task of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelineTask {
    /// Name; not unique, may contain any character.
    pub name: String,
    /// Displayed number: the recorded thread id, else the number in the run.
    pub id: u64,
    /// Priority as in Linux traces: 120 + nice, or 99 − real-time priority.
    pub priority: u32,
    /// Number that the threads of one process share; `None` if it is not known.
    pub process: Option<u32>,
}

/// The schedule of one run of one policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Index of the policy in [`Report::policies`](crate::Report::policies).
    pub policy: usize,
    /// Number of CPUs.
    pub cpus: u32,
    /// Tasks by [`TaskId`]; tasks beyond the list are shown by their number.
    pub tasks: Vec<TimelineTask>,
    /// Slices in order of their end, which on one CPU is that of their start.
    pub slices: Vec<Slice>,
    /// Changes of the queue lengths in order of time; empty unless requested.
    pub queues: Vec<QueueLength>,
    /// Times in which tasks were out of quota, by their begins; empty where no group has one.
    pub throttled: Vec<Throttled>,
    /// Times in which CPUs were offline, by their begins.
    pub offline: Vec<Offline>,
    /// End of the timeline in ns: the end of the run, or the time it reached its limit.
    pub end: u64,
    /// Slices after the cap was reached, which are not shown.
    pub left_out: u64,
}

impl Timeline {
    /// The slices of each CPU, in order of time.
    #[must_use]
    pub fn rows(&self) -> Vec<Vec<&Slice>> {
        let mut rows = vec![Vec::new(); self.cpus as usize];
        for slice in &self.slices {
            rows[slice.cpu.index()].push(slice);
        }
        rows
    }

    /// The timeline with these times out of quota, as far as it reaches.
    #[must_use]
    pub fn with_throttled(mut self, mut throttled: Vec<Throttled>) -> Timeline {
        let end = self.end;
        throttled.iter_mut().for_each(|it| it.to = it.to.min(end));
        throttled.retain(|it| it.from < it.to);
        throttled.sort_unstable_by_key(|it| (it.from, it.task));
        self.throttled = throttled;
        self
    }

    /// The timeline with these times of CPUs offline, as far as it reaches.
    #[must_use]
    pub fn with_offline(mut self, mut offline: Vec<Offline>) -> Timeline {
        offline.iter_mut().for_each(|it| it.to = it.to.min(self.end));
        offline.retain(|it| it.from < it.to);
        self.offline = offline;
        self
    }

    /// Name (cut if long) and number of a task, for text.
    #[must_use]
    pub fn task_label(&self, task: TaskId) -> String {
        match self.tasks.get(task.index()) {
            Some(known) => format!("{} {}", crate::figure::name(&known.name), known.id),
            None => task.to_string(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Running {
    task: TaskId,
    since: u64,
    waited: u64,
    woken: Option<Woken>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// Runnable since, while queued or between switch-out and switch-in.
    since: Option<u64>,
    /// CPU whose queue counts it.
    queued_on: Option<CpuId>,
    woken: Option<Woken>,
}

/// Collects a [`Timeline`] from the events of one run.
#[derive(Clone, Debug)]
pub struct Recorder {
    timeline: Timeline,
    cap: usize,
    is_full: bool,
    with_queues: bool,
    running: Vec<Option<Running>>,
    queued: Vec<u32>,
    waiting: PerTask<Waiting>,
}

impl Recorder {
    /// Keeps at most `cap` slices and one more for each of the machine's `cpus` CPUs.
    #[must_use]
    pub fn new(cpus: u32, cap: usize) -> Recorder {
        Recorder {
            timeline: Timeline { cpus, ..Timeline::default() },
            cap,
            is_full: false,
            with_queues: false,
            running: vec![None; cpus as usize],
            queued: vec![0; cpus as usize],
            waiting: PerTask::default(),
        }
    }

    /// Keeps queue lengths, too, for [`perfetto`](crate::perfetto).
    #[must_use]
    pub fn with_queues(mut self) -> Recorder {
        self.with_queues = true;
        self
    }

    /// The timeline of a run that ended at `end`. Tasks still running are shown up to there.
    #[must_use]
    pub fn finish(mut self, end: Time, policy: usize, tasks: Vec<TimelineTask>) -> Timeline {
        if !self.is_full {
            self.cut(end.ns());
        }
        self.timeline.policy = policy;
        self.timeline.tasks = tasks;
        self.timeline
    }

    fn close(&mut self, at: u64, cpu: CpuId, off: Option<Off>) {
        let Some(ran) = self.running[cpu.index()].take() else { return };
        if self.is_full {
            self.timeline.left_out += 1;
            return;
        }
        let Running { task, since, waited, woken } = ran;
        self.timeline.slices.push(Slice { task, cpu, start: since, end: at, waited, woken, off });
        if self.timeline.slices.len() == self.cap {
            self.cut(at);
        }
    }

    /// Ends the timeline here on all CPUs, so that none seems idle for lack of a switch-out.
    fn cut(&mut self, at: u64) {
        self.is_full = true;
        self.timeline.end = at;
        for (cpu, running) in self.running.iter_mut().enumerate() {
            if let Some(Running { task, since, waited, woken }) = running.take() {
                let cpu = CpuId(cpu as u32);
                self.timeline.slices.push(Slice { task, cpu, start: since, end: at, waited, woken, off: None });
            }
        }
    }

    fn requeue(&mut self, at: u64, task: TaskId, to: Option<CpuId>) {
        let from = std::mem::replace(&mut self.waiting.admit(task).queued_on, to);
        if from == to {
            return;
        }
        if let Some(cpu) = from {
            self.count(at, cpu, self.queued[cpu.index()] - 1);
        }
        if let Some(cpu) = to {
            self.count(at, cpu, self.queued[cpu.index()] + 1);
        }
    }

    fn count(&mut self, at: u64, cpu: CpuId, tasks: u32) {
        self.queued[cpu.index()] = tasks;
        if !self.with_queues || self.is_full {
            return;
        }
        // A length that lasted no time is replaced: a task that is woken and runs at once was never seen queued.
        match self.timeline.queues.last_mut() {
            Some(last) if last.at == at && last.cpu == cpu => last.tasks = tasks,
            _ => self.timeline.queues.push(QueueLength { at, cpu, tasks }),
        }
    }

    fn switch(&mut self, at: u64, cpu: CpuId, prev: Option<(TaskId, Off)>, next: Option<TaskId>) {
        self.close(at, cpu, prev.map(|(_, off)| off));
        if let Some((task, off)) = prev {
            let since = off.is_runnable().then_some(at);
            *self.waiting.admit(task) = Waiting { since, queued_on: self.waiting[task].queued_on, woken: None };
            self.requeue(at, task, off.is_runnable().then_some(cpu));
        }
        if let Some(task) = next {
            self.requeue(at, task, None);
            let Waiting { since, woken, .. } = self.waiting[task];
            let waited = since.map_or(0, |s| at - s);
            self.running[cpu.index()] = Some(Running { task, since: at, waited, woken });
            *self.waiting.admit(task) = Waiting::default();
        }
    }
}

impl Observer for Recorder {
    fn observe(&mut self, at: Time, event: &Event) {
        let at = at.ns();
        match *event {
            Event::Switch { cpu, prev, off, next } => self.switch(at, cpu, prev.map(|task| (task, off)), next),
            Event::Wakeup { task, waker, cpu, .. } => {
                let waiting = self.waiting.admit(task);
                waiting.since = Some(at);
                waiting.woken = Some(waker.map_or(Woken::ByInterrupt, Woken::By));
                self.requeue(at, task, Some(cpu));
            }
            Event::Migrate { task, to, .. } => {
                if self.waiting.admit(task).queued_on.is_some() {
                    self.requeue(at, task, Some(to));
                }
            }
            Event::Fork { .. } | Event::Overhead { .. } | Event::Exit { .. } => {}
            Event::Served { .. } | Event::Io(_) | Event::Contended { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::WakeSource;

    const A: TaskId = TaskId(0);
    const B: TaskId = TaskId(1);
    const CPU: CpuId = CpuId(0);

    fn wake(task: TaskId, cpu: CpuId) -> Event {
        Event::Wakeup { task, waker: (task == B).then_some(A), cpu, from: WakeSource::Task }
    }

    fn switch(prev: Option<TaskId>, off: Off, next: Option<TaskId>) -> Event {
        Event::Switch { cpu: CPU, prev, off, next }
    }

    fn watch(recorder: Recorder, events: &[(u64, Event)], end: u64) -> Timeline {
        let mut recorder = recorder;
        for (at, event) in events {
            recorder.observe(Time(*at), event);
        }
        recorder.finish(Time(end), 0, Vec::new())
    }

    fn a_then_b() -> Vec<(u64, Event)> {
        vec![
            (0, wake(A, CPU)),
            (0, switch(None, Off::Sleeping, Some(A))),
            (4, wake(B, CPU)),
            (10, switch(Some(A), Off::Preempted, Some(B))),
            (15, switch(Some(B), Off::Sleeping, Some(A))),
            (20, switch(Some(A), Off::Exited, None)),
        ]
    }

    #[test]
    fn a_slice_knows_when_where_how_long_it_waited_and_how_it_ended() {
        let timeline = watch(Recorder::new(1, 100), &a_then_b(), 30);
        let shown: Vec<_> =
            timeline.slices.iter().map(|s| (s.task, s.start, s.end, s.waited, s.woken, s.off)).collect();
        assert_eq!(
            shown,
            [
                (A, 0, 10, 0, Some(Woken::ByInterrupt), Some(Off::Preempted)),
                (B, 10, 15, 6, Some(Woken::By(A)), Some(Off::Sleeping)),
                (A, 15, 20, 5, None, Some(Off::Exited)),
            ]
        );
        assert_eq!((timeline.end, timeline.left_out), (30, 0));
    }

    #[test]
    fn a_task_still_running_at_the_end_is_shown_up_to_there() {
        let timeline = watch(Recorder::new(1, 100), &a_then_b()[..2], 30);
        assert_eq!(timeline.slices.len(), 1);
        assert_eq!((timeline.slices[0].end, timeline.slices[0].off), (30, None));
    }

    #[test]
    fn beyond_the_cap_slices_are_counted_and_the_end_says_where_it_was_reached() {
        let timeline = watch(Recorder::new(1, 1), &a_then_b(), 30);
        assert_eq!((timeline.slices.len(), timeline.left_out, timeline.end), (1, 2, 10));
    }

    #[test]
    fn times_out_of_quota_end_with_the_timeline() {
        let at = |from, to| Throttled { task: A, from, to };
        let timeline = Timeline { end: 10, ..Timeline::default() };
        assert_eq!(timeline.with_throttled(vec![at(8, 12), at(2, 5), at(10, 11)]).throttled, [at(2, 5), at(8, 10)]);
    }

    #[test]
    fn at_the_cap_all_cpus_end_together() {
        let elsewhere = Event::Switch { cpu: CpuId(1), prev: None, off: Off::Sleeping, next: Some(TaskId(2)) };
        let mut events = a_then_b();
        events.insert(1, (0, wake(TaskId(2), CpuId(1))));
        events.insert(2, (3, elsewhere));
        let timeline = watch(Recorder::new(2, 1), &events, 30);
        let shown: Vec<_> = timeline.slices.iter().map(|s| (s.cpu.0, s.start, s.end, s.off)).collect();
        assert_eq!(shown, [(0, 0, 10, Some(Off::Preempted)), (1, 3, 10, None)]);
    }

    #[test]
    fn queue_lengths_follow_wakeups_switches_and_migrations() {
        let other = CpuId(1);
        let events = [
            (0, wake(A, CPU)),
            (0, switch(None, Off::Sleeping, Some(A))),
            (2, wake(B, CPU)),
            (3, Event::Migrate { task: B, from: CPU, to: other }),
            (5, switch(Some(A), Off::Yielded, None)),
        ];
        let timeline = watch(Recorder::new(2, 100).with_queues(), &events, 9);
        let shown: Vec<_> = timeline.queues.iter().map(|q| (q.at, q.cpu.0, q.tasks)).collect();
        assert_eq!(shown, [(0, 0, 0), (2, 0, 1), (3, 0, 0), (3, 1, 1), (5, 0, 1)]);
        assert!(watch(Recorder::new(2, 100), &events, 9).queues.is_empty(), "kept only when asked for");
    }

    #[test]
    fn a_migration_at_a_wakeup_does_not_count_twice() {
        let events = [(0, Event::Migrate { task: A, from: CpuId(1), to: CPU }), (0, wake(A, CPU)), (4, wake(A, CPU))];
        let timeline = watch(Recorder::new(2, 100).with_queues(), &events, 9);
        assert_eq!(timeline.queues, [QueueLength { at: 0, cpu: CPU, tasks: 1 }]);
    }
}
