//! A test driver: calls a policy for one CPU behind its referee, in whole milliseconds, for tests that inspect the
//! policy's own state. An invalid answer fails the test.

use goodness_core::{
    CpuId, Enqueue, Machine, Nice, Pick, Registered, Seed, Span, Stop, Task, TaskId, Time, WakeSource,
};
use goodness_referee::policy::Asked;
use goodness_referee::{Choice, Referee};
use std::ops::{Deref, DerefMut};

pub(crate) const CPU: CpuId = CpuId(0);

/// One policy behind its referee; dereferences to the referee.
pub(crate) struct VerbDriver<P>(Referee<P>);

impl<P> Deref for VerbDriver<P> {
    type Target = Referee<P>;
    fn deref(&self) -> &Referee<P> {
        &self.0
    }
}

impl<P> DerefMut for VerbDriver<P> {
    fn deref_mut(&mut self) -> &mut Referee<P> {
        &mut self.0
    }
}

impl<P: Registered> VerbDriver<P> {
    /// A machine of `cpus` CPUs at HZ 1000.
    pub fn with(cpus: u32, settings: P::Settings) -> Self {
        Self::on(Machine::flat(cpus, 1000).unwrap(), settings)
    }

    pub fn on(machine: Machine, settings: P::Settings) -> Self {
        let policy = Box::new(P::new(&machine, settings, Seed(1)));
        VerbDriver(Referee::of(&P::ABOUT, machine, policy, 0))
    }

    /// A task that exists, blocked.
    pub fn admit(&mut self, nice: i64) -> TaskId {
        self.admit_as(Task { nice: Nice::new(nice).unwrap(), ..Task::default() }, None)
    }

    /// A user task that exists, blocked.
    pub fn admit_as(&mut self, task: Task, parent: Option<TaskId>) -> TaskId {
        self.admit_exactly(Task { address_space: Some(0), ..task }, parent)
    }

    /// Like [`VerbDriver::admit_as`]; without an address space, the task is a kernel thread.
    pub fn admit_exactly(&mut self, task: Task, parent: Option<TaskId>) -> TaskId {
        let task = self.add(task);
        self.0.admit(task, parent).unwrap();
        self.begin_asleep(task);
        task
    }

    /// `task` begins to be runnable.
    pub fn fork(&mut self, task: TaskId, parent: Option<TaskId>) -> Asked {
        self.enqueue(task, CPU, Enqueue::Fork { parent })
    }

    pub fn pass(&mut self, ms: u64) {
        self.pass_for(Span::from_ms(ms));
    }

    pub fn pass_for(&mut self, span: Span) {
        let now: Time = self.now() + span;
        self.set_now(now);
    }

    /// An interrupt wakes `task`.
    pub fn wake(&mut self, task: TaskId) -> Asked {
        self.wake_from(task, WakeSource::Interrupt)
    }

    pub fn wake_from(&mut self, task: TaskId, from: WakeSource) -> Asked {
        self.enqueue(task, CPU, Enqueue::Wakeup { waker: None, on: CPU, sync: false, from })
    }

    /// Runs the task chosen by the policy.
    pub fn pick(&mut self) -> TaskId {
        self.choice().task
    }

    /// Like [`VerbDriver::pick`]; also returns the slice.
    pub fn choice(&mut self) -> Pick {
        match self.choose(CPU) {
            Choice::Run { pick, .. } => pick,
            other => panic!("{other:?}: {:?}", self.refusal()),
        }
    }

    /// Charges the running task for `ran` and stops it. It is queued again unless it blocks or exits.
    pub fn stop_after(&mut self, ran: Span, why: Stop) {
        let _ = self.charge(CPU, ran, why);
        let back = match why {
            Stop::Preempted => Enqueue::Preempted,
            Stop::Yielded => Enqueue::Yielded,
            Stop::SliceEnd => Enqueue::SliceEnd,
            _ => {
                let task = self.take_off(CPU);
                if why == Stop::Exited {
                    self.exit(task);
                }
                return;
            }
        };
        let _ = self.requeue(CPU, back);
    }

    pub fn stop(&mut self, why: Stop) {
        self.stop_after(Span::ZERO, why);
    }

    /// Runs the best task for `ticks`. Returns the running tasks with their start times in milliseconds.
    pub fn spin(&mut self, ticks: u64) -> Vec<(u64, TaskId)> {
        let began = self.now();
        let mut history = vec![(0, self.current(CPU).expect("somebody runs"))];
        for _ in 0..ticks {
            self.pass(1);
            let _ = self.tick(CPU, Span::from_ms(1));
            if self.is_asked(CPU) {
                self.stop(Stop::Preempted);
                let next = self.pick();
                if history.last().unwrap().1 != next {
                    history.push((self.now().since(began).0 / 1_000_000, next));
                }
            }
        }
        history
    }
}
