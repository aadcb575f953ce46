//! CPU time of block I/O: submitting, completing, and the elevators' decisions under their locks.
//!
//! A task's CPU works for a submission before the I/Os reach the block layer. The rest the block layer says when it has
//! done it, and the CPU is busy with it from then on: a running task goes on behind it, a task picked meanwhile begins
//! behind it. It is reported as it passes: when more is charged, at each switch, and at the end of the run.
//!
//! Departures: behind an elevator the device starts when the elevator's work begins instead of when it ends, and a
//! woken task is queued when the interrupt begins. The submission of all that a task has plugged is one piece of work,
//! which the CPU finishes even if the task is preempted or moved meanwhile, at the expense of the next. I/O of the page
//! cache is charged after its submission, and the flusher's to the first CPU; the flusher waits until that CPU has done
//! what it was charged with.

use super::Host;
use super::elevator_lock::ElevatorLock;
use goodness_block::Work;
use goodness_core::{CpuId, Io, Overhead, Span, TaskId, Time};

impl Host<'_> {
    /// Charges the CPUs for what the block layer has done since the last call.
    #[cold]
    pub fn charge_io(&mut self) {
        let storage = self.storage.as_mut().expect("asked by storage");
        let mut work = std::mem::take(&mut storage.work);
        if let Some(done) = &mut storage.out.work {
            std::mem::swap(done, &mut work);
        }
        work.drain(..).for_each(|work| self.charge_work(&work));
        self.storage.as_mut().expect("as above").work = work;
    }

    /// Makes `cpu` work for the submission of the I/Os that `task` has plugged, unless the task `adds` to them. Returns
    /// true if it has to; the task comes back here when it has.
    pub fn works_for_io(&mut self, cpu: CpuId, task: TaskId, adds: bool) -> bool {
        let storage = self.storage.as_mut().expect("asked by storage");
        if storage.plug_submitted(task) {
            return false;
        }
        let costs = &self.machine.costs.io;
        let each = |io: &Io| Work::of_submission(io).unlocked(costs);
        let ios = storage.take_plugged(task, adds).iter();
        let spent = ios.fold(Span::ZERO, |sum, (_, io)| sum + each(io));
        if spent == Span::ZERO {
            storage.plug_submitted(task);
            return false;
        }
        self.occupy(cpu, spent, Span::ZERO);
        true
    }

    /// Charges one CPU: first what needs no lock, then the elevator's part under its lock.
    fn charge_work(&mut self, work: &Work) {
        let costs = &self.machine.costs.io;
        let is_prepaid = self.storage.as_ref().is_some_and(|storage| storage.is_prepaid);
        let work = &if is_prepaid { Work { submitted: 0, pages: 0, ..*work } } else { *work };
        let (unlocked, elevator) = (work.unlocked(costs), work.elevator(costs));
        let spent = unlocked + elevator;
        if spent == Span::ZERO {
            return;
        }
        let cpu = CpuId(u32::from(work.cpu) % self.machine.cpu_count() as u32);
        let begins = self.free_for_io(cpu);
        let wait = self.wait_for_elevator(work, begins + unlocked, elevator);
        self.occupy(cpu, spent, wait);
    }

    /// Time at which `cpu` has done all other work of the host.
    fn free_for_io(&mut self, cpu: CpuId) -> Time {
        self.settle(cpu);
        let run = &self.cpus[cpu.index()];
        let working = self.referee.current(cpu).map_or(Time::ZERO, |_| run.working);
        self.referee.now().max(run.io_until).max(working)
    }

    /// Occupies `cpu` with block I/O behind its other work: `spent` working, after `waited` for a lock.
    fn occupy(&mut self, cpu: CpuId, spent: Span, waited: Span) {
        let ends = self.free_for_io(cpu) + spent + waited;
        self.report_io(cpu);
        let run = &mut self.cpus[cpu.index()];
        run.io_until = ends;
        run.io_unreported = [run.io_unreported[0] + spent, run.io_unreported[1] + waited];
        if let Some(task) = self.referee.current(cpu) {
            run.working = ends;
            self.arm(cpu, task);
        }
    }

    /// Reports the time of `cpu` that has passed since it was charged: to the slice of the task that runs, if any. Call
    /// it before every switch.
    pub fn report_io(&mut self, cpu: CpuId) {
        let now = self.now();
        let run = &mut self.cpus[cpu.index()];
        let [spent, waited] = run.io_unreported;
        let left = run.io_until.since(now);
        let spent_left = left.min(spent);
        let waited_left = (left - spent_left).min(waited);
        run.io_unreported = [spent_left, waited_left];
        self.overhead(cpu, Overhead::Io, spent - spent_left);
        self.overhead(cpu, Overhead::IoLock, waited - waited_left);
    }

    /// Reports, at the end of the run, the time of all CPUs that has passed.
    pub fn report_all_io(&mut self) {
        self.machine.cpu_ids().for_each(|cpu| self.report_io(cpu));
    }

    /// Time that a CPU spins for the elevator's lock from `at`, which it then holds for `held`.
    fn wait_for_elevator(&mut self, work: &Work, at: Time, held: Span) -> Span {
        let Some(number) = work.lock.map(usize::from) else { return Span::ZERO };
        let now = self.referee.now();
        let locks = &mut self.storage.as_mut().expect("asked by storage").locks[usize::from(work.disk.0)];
        if locks.len() <= number {
            locks.resize(number + 1, ElevatorLock::default());
        }
        locks[number].take(now, at, held, self.machine.costs.lock_handover)
    }
}
