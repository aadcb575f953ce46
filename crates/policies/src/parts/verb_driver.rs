//! One CPU driven verb by verb in whole milliseconds, for tests that read a policy's own state.

use goodness_core::{
    Context, CpuId, EffortMeter, Enqueue, Machine, Nice, Registered, Resched, Seed, Span, Stop, Task, TaskId,
    TaskTable, Time, WakeSource,
};

pub(crate) const CPU: CpuId = CpuId(0);

pub(crate) struct VerbDriver<P> {
    pub machine: Machine,
    pub tasks: TaskTable,
    effort: EffortMeter,
    pub now: Time,
    pub policy: P,
}

impl<P: Registered> VerbDriver<P> {
    /// A machine of `cpus` CPUs at HZ 1000.
    pub fn with(cpus: u32, settings: P::Settings) -> Self {
        let machine = Machine::flat(cpus, 1000).unwrap();
        let policy = P::new(&machine, settings, Seed(1));
        VerbDriver { machine, tasks: TaskTable::default(), effort: EffortMeter::default(), now: Time::ZERO, policy }
    }

    pub fn call<T>(&mut self, verb: impl FnOnce(&mut P, &Context) -> T) -> T {
        let cx = Context { now: self.now, machine: &self.machine, tasks: &self.tasks, effort: &self.effort };
        verb(&mut self.policy, &cx)
    }

    /// A task that exists, blocked.
    pub fn admit(&mut self, nice: i64) -> TaskId {
        self.admit_as(Task { nice: Nice::new(nice).unwrap(), ..Task::default() }, None)
    }

    pub fn admit_as(&mut self, task: Task, parent: Option<TaskId>) -> TaskId {
        let task = self.tasks.push(Task { address_space: Some(0), ..task });
        self.call(|policy, cx| policy.admit(cx, task, parent)).unwrap();
        task
    }

    pub fn pass(&mut self, ms: u64) {
        self.now += Span::from_ms(ms);
    }

    /// An interrupt wakes `task`.
    pub fn wake(&mut self, task: TaskId) -> Resched {
        self.wake_from(task, WakeSource::Interrupt)
    }

    pub fn wake_from(&mut self, task: TaskId, from: WakeSource) -> Resched {
        let why = Enqueue::Wakeup { waker: None, on: CPU, sync: false, from };
        self.call(|policy, cx| policy.enqueue(cx, CPU, task, why))
    }

    pub fn pick(&mut self) -> TaskId {
        self.call(|policy, cx| policy.pick_next(cx, CPU)).expect("somebody is runnable").task
    }

    /// `task` leaves the CPU and had run since the last charge.
    pub fn stop_after(&mut self, task: TaskId, ran: Span, why: Stop) {
        let _ = self.call(|policy, cx| policy.charge(cx, CPU, task, ran, why));
    }

    pub fn stop(&mut self, task: TaskId, why: Stop) {
        self.stop_after(task, Span::ZERO, why);
    }

    /// Lets whoever is best run for `ticks`; who ran from when on, in milliseconds.
    pub fn spin(&mut self, mut task: TaskId, ticks: u64) -> Vec<(u64, TaskId)> {
        let began = self.now;
        let mut history = vec![(0, task)];
        for _ in 0..ticks {
            self.pass(1);
            let answer = self.call(|policy, cx| policy.charge(cx, CPU, task, Span::from_ms(1), Stop::Tick));
            if answer == Resched::Preempt(CPU) {
                self.stop(task, Stop::Preempted);
                let _ = self.call(|policy, cx| policy.enqueue(cx, CPU, task, Enqueue::Preempted));
                let next = self.pick();
                if next != task {
                    history.push((self.now.since(began).0 / 1_000_000, next));
                }
                task = next;
            }
        }
        history
    }
}
