//! CPUs that go offline and come back, as in Linux's hot-unplug.
//!
//! An offline CPU is one that no task may use: the root group's CPUs are those online, so that what is left of each
//! task's affinity names no other. Policies place tasks by their affinities, so they need no verb of their own: the
//! CPU picks once more, finds nobody who may run there, and idles. A task is taken off its queue only if its CPU went
//! offline, and an urgent one, of a real-time class or with a reservation, also if it may use a single CPU now or did
//! so before, which policies note when they queue it. The others keep their place.

use super::Host;
use crate::calendar::{Entry, class};
use goodness_core::{Class, CpuId, CpuSet, Dequeue, Enqueue, Event, State, TaskId, Time};

impl Host<'_> {
    /// True while `cpu` is offline.
    #[inline]
    pub fn is_offline(&self, cpu: CpuId) -> bool {
        self.offline > 0 && self.cpus[cpu.index()].offline > Time::ZERO
    }

    /// The CPU that an interrupt for `task` reaches: its last one, or the first online if that is offline.
    #[inline]
    pub fn interrupted_cpu(&self, task: TaskId) -> CpuId {
        let cpu = self.cpu_of(task);
        if self.is_offline(cpu) { self.first_online() } else { cpu }
    }

    #[cold]
    fn first_online(&self) -> CpuId {
        self.machine.cpu_ids().find(|cpu| !self.is_offline(*cpu)).expect("the last CPU never goes offline")
    }

    /// `cpu` goes offline until `until`: its tasks move to others.
    pub fn goes_offline(&mut self, cpu: CpuId, until: Time) {
        let was_offline = self.is_offline(cpu);
        let others = self.machine.cpu_ids().filter(|it| *it != cpu);
        // Those that are back at this instant may be the only ones.
        others.for_each(|it| self.comes_online(it));
        if !was_offline && self.offline + 1 == self.machine.cpu_count() {
            return self.at_fault(None, format!("a fault takes {cpu} offline, the last CPU that is online"));
        }
        let run = &mut self.cpus[cpu.index()];
        run.offline = run.offline.max(until);
        self.agenda.calendar.push(run.offline, class::WAKE, Entry::Online(cpu));
        if was_offline {
            return;
        }
        self.offline += 1;
        self.confine_all();
        if self.referee.is_asked(cpu) {
            // A request on its way is answered before the CPU is gone: the policy may have counted on it.
            self.asked.push(cpu);
        }
    }

    /// `cpu` is back, unless another fault keeps it offline: tasks may use it again, and it looks for one.
    pub fn comes_online(&mut self, cpu: CpuId) {
        if !self.is_offline(cpu) || self.cpus[cpu.index()].offline != self.now() {
            return;
        }
        self.cpus[cpu.index()].offline = Time::ZERO;
        self.offline -= 1;
        self.confine_all();
        if self.referee.ask(cpu) {
            self.asked.push(cpu);
        }
    }

    /// Confines each task to the CPUs that are online. One that runs or waits for a CPU and has none left may use all
    /// of them for good, as in Linux. One that sleeps, or is a thread of the kernel, may use all of them until its own
    /// are back; Linux sets sleepers free, too, if they wake before.
    fn confine_all(&mut self) {
        let online = CpuSet::among(self.machine.cpu_count(), |cpu| !self.is_offline(cpu));
        self.referee.set_online(online);
        for index in 0..self.referee.tasks().len() {
            let task = TaskId(index as u32);
            if self.referee.tasks().state(task) != State::Exited && !self.is_at_fault() {
                self.confine(task);
            }
        }
    }

    fn confine(&mut self, task: TaskId) {
        let (cpu, state) = (self.cpu_of(task), self.referee.tasks().state(task));
        let is_of_work = task.index() < self.referee.tasks().len() - self.agenda.workers;
        let is_wanted = matches!(state, State::Queued | State::Running);
        let is_stranded = is_wanted && is_of_work && self.referee.is_stranded(task);
        if is_stranded {
            self.set_free.push((task, self.now()));
        }
        let (before, after) = (self.referee.tasks().affinity(task), self.referee.allowed(task));
        if *before == after && !is_stranded {
            return;
        }
        let must_leave = !after.contains(cpu);
        let is_urgent = matches!(self.task(task).class, Class::Fifo | Class::RoundRobin | Class::Deadline);
        let is_noted = is_urgent && before.is_single() != after.is_single();
        let is_queued = state == State::Queued && (must_leave || is_noted);
        if is_queued {
            self.referee.dequeue(task, if must_leave { Dequeue::Migrate } else { Dequeue::Change });
        }
        self.referee.edit(task, |it| {
            if is_stranded {
                it.affinity = CpuSet::All;
            }
        });
        self.tell_affinity(task);
        match state {
            State::Running if must_leave => self.move_running(task, cpu),
            State::Queued if is_queued && must_leave => self.move_queued(task, cpu),
            State::Queued if is_queued => self.enqueue(task, cpu, Enqueue::Restored, cpu),
            _ => {}
        }
    }

    fn move_running(&mut self, task: TaskId, from: CpuId) {
        if let Some(to) = self.referee.select_cpu(task, &Enqueue::Restored) {
            self.evict(task, from, to);
        }
    }

    /// Queues a task that was taken off the queue of `from` elsewhere.
    fn move_queued(&mut self, task: TaskId, from: CpuId) {
        if let Some(to) = self.referee.select_cpu(task, &Enqueue::Restored) {
            self.emit(Event::Migrate { task, from, to });
            self.enqueue(task, to, Enqueue::Migrated, to);
        }
    }
}
