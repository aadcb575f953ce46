//! One played task: its thread takes steps from the behaviour and executes them.

use super::kernel::{self, Attributes};
use super::parker::Woken;
use super::places::Waiting;
use super::play_state::{PlannedTask, PlayState};
use super::refuse::{allowed, class_number, stranded};
use super::tally::Log;
use goodness_core::{
    Behaviour, Channel, Class, GroupId, LockId, Nice, Rng, Span, Step, StepContext, Task, TaskId, Time,
};
use goodness_sys::{self as sys, monotonic_ns, thread_id};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Waits without an end of their own.
const FOR_EVER: u64 = u64::MAX / 2;

/// Result of a step: continue or end.
#[derive(PartialEq, Eq)]
enum Then {
    Next,
    End,
}

/// A task with all it needs.
pub struct TaskThread {
    state: Arc<PlayState>,
    thread: usize,
    start: Option<Time>,
    task: Task,
    behaviour: Box<dyn Behaviour>,
    rng: Rng,
    /// CPU time that the last compute step used too much, in ns.
    debt: u64,
    log: Log,
}

impl TaskThread {
    /// Body of the thread that runs `planned`.
    pub fn run(state: Arc<PlayState>, thread: usize, planned: PlannedTask, rng: Rng) -> Log {
        TaskThread::new(state, thread, planned, rng).play()
    }

    fn new(state: Arc<PlayState>, thread: usize, planned: PlannedTask, rng: Rng) -> TaskThread {
        let PlannedTask { task, start, behaviour, .. } = planned;
        TaskThread { state, thread, start, task, behaviour, rng, debt: 0, log: Log::default() }
    }

    fn play(mut self) -> Log {
        let state = Arc::clone(&self.state);
        /// Marks the thread as ended, also if a behaviour panics.
        struct EndsThread<'a>(&'a PlayState, usize);
        impl Drop for EndsThread<'_> {
            fn drop(&mut self) {
                self.0.thread_ended(self.1);
            }
        }
        let _ends_thread = EndsThread(&state, self.thread);
        state.parkers[self.thread].tid.store(thread_id(), Ordering::SeqCst);
        if let Err(why) = self.set_attributes().and_then(|()| self.take_steps()) {
            state.fail(self.thread, &why);
        }
        self.log
    }

    /// Sets the thread's class, nice, affinity and timer slack.
    fn set_attributes(&mut self) -> Result<(), String> {
        let slack = if self.task.class.is_realtime() { 0 } else { self.state.timer_slack };
        kernel::set_timer_slack(slack);
        self.join(self.task.group)?;
        self.confine()?;
        let (nice, priority) = (self.task.nice, self.task.rt_priority);
        self.enter_class(self.task.class, priority, nice)
    }

    fn join(&self, group: GroupId) -> Result<(), String> {
        let Some(cgroups) = &self.state.cgroups else { return Ok(()) };
        cgroups.join(group).map_err(|error| format!("its cgroup cannot be joined: {error}"))
    }

    /// Sets the CPUs that the thread asks for and its group may use.
    fn confine(&self) -> Result<(), String> {
        let (own, group) = (&self.task.affinity, self.task.group);
        let wanted = self.state.cgroups.as_ref().map_or_else(|| own.clone(), |it| it.confine(own, group));
        if let Some(why) = stranded(&wanted, &self.state.cpus) {
            return Err(why);
        }
        let cpus: Vec<u32> = allowed(&wanted, &self.state.cpus).iter().map(|cpu| cpu.0).collect();
        sys::pin(&cpus).map_err(|error| format!("its affinity cannot be set: {error}"))
    }

    fn enter_class(&self, class: Class, priority: u8, nice: Nice) -> Result<(), String> {
        let normal = if self.state.is_outside(self.thread) { libc::SCHED_OTHER } else { self.state.normal };
        let policy = class_number(class, normal)?;
        let slice = self.task.slice.map_or(0, |slice| slice.0);
        let wanted = Attributes {
            policy,
            nice: if class.is_realtime() { 0 } else { nice.get() as i32 },
            priority: if class.is_realtime() { u32::from(priority.clamp(1, 99)) } else { 0 },
            slice: if matches!(policy, libc::SCHED_OTHER | libc::SCHED_BATCH) { slice } else { 0 },
        };
        kernel::set_attributes(wanted, false).map_err(|error| refusal(&error, wanted))?;
        let got = kernel::attributes().map_err(|error| format!("its class cannot be read: {error}"))?;
        if slice > 0 && got.slice != slice {
            return Err("this kernel does not let a task choose its slice (Linux 6.12 does); leave slice out".into());
        }
        Ok(())
    }

    /// Waits for the beginning, then does step after step.
    fn take_steps(&mut self) -> Result<(), String> {
        let state = Arc::clone(&self.state);
        if let Some(start) = self.start {
            let parker = &state.parkers[self.thread];
            parker.prepare();
            state.count_ready();
            if parker.wait(FOR_EVER, &state.end) == Woken::Over {
                return Ok(());
            }
            parker.prepare();
            if parker.wait(state.origin() + start.0, &state.end) == Woken::Over {
                return Ok(());
            }
        }
        while !state.end.is_over() {
            let now = state.time(monotonic_ns());
            let task = TaskId(self.thread as u32);
            let step = self.behaviour.next(&mut StepContext { now, task, rng: &mut self.rng });
            self.log.steps += 1;
            if self.perform(step)? == Then::End {
                break;
            }
        }
        Ok(())
    }

    fn perform(&mut self, step: Step) -> Result<Then, String> {
        match step {
            Step::Compute(work) => return Ok(self.compute(work)),
            Step::Sleep(span) if span > Span::ZERO => {
                return Ok(self.sleep_until(monotonic_ns().saturating_add(span.0)));
            }
            Step::Sleep(_) => {}
            Step::SleepUntil(at) if at <= self.state.time(monotonic_ns()) => {}
            Step::SleepUntil(at) => return Ok(self.sleep_until(self.state.origin().saturating_add(at.0))),
            Step::Wait(channel) => return self.wait(channel, None),
            Step::WaitUninterruptible(channel) => {
                self.log.nearly.uninterruptible += 1;
                return self.wait(channel, None);
            }
            Step::WaitUnlocked(channel, lock) => {
                let then = self.wait(channel, Some(lock))?;
                return if then == Then::Next { self.lock(lock, true) } else { Ok(then) };
            }
            Step::Wake(channel) => self.wake(channel)?,
            Step::WakeSync(channel) => {
                self.log.nearly.sync += 1;
                self.wake(channel)?;
            }
            Step::Interrupt(channel) => {
                self.log.nearly.interrupts += 1;
                self.wake(channel)?;
            }
            Step::WakeAll(channel) => self.wake_each(self.state.places.wake_all(channel)?),
            Step::Lock(lock) => return self.lock(lock, false),
            Step::Unlock(lock) => self.unlock(lock)?,
            Step::Exit => return Ok(Then::End),
            other => return self.perform_rare(other),
        }
        Ok(Then::Next)
    }

    fn perform_rare(&mut self, step: Step) -> Result<Then, String> {
        match step {
            Step::Yield => kernel::yield_cpu(),
            Step::Exec => self.log.nearly.execs += 1,
            Step::Fork(child) => self.state.start(child.0 as usize)?,
            Step::SetNice(nice) => {
                sys::set_nice(nice.get() as i32).map_err(|error| nice_refusal(&error, nice.get()))?;
                self.task.nice = nice;
            }
            Step::SetClass(class, priority) => self.enter_class(class, priority, self.task.nice)?,
            Step::SetGroup(group) => {
                self.join(group)?;
                self.task.group = group;
                self.confine()?;
            }
            Step::SetAffinity(cpus) => {
                self.task.affinity = cpus;
                self.confine()?;
            }
            Step::Served(_) if self.state.measures(monotonic_ns()) => self.log.served += 1,
            Step::Served(_) => {}
            other => return Err(format!("wants {other:?}, which exists in the simulator only")),
        }
        Ok(Then::Next)
    }

    fn compute(&mut self, work: Span) -> Then {
        let end = &self.state.end;
        if work == Span::MAX {
            self.state.pace.compute_for_ever(|now| end.is_over_at(now));
            return Then::End;
        }
        if !self.state.pace.compute(work.0, &mut self.debt, |now| end.is_over_at(now)) {
            return Then::End;
        }
        self.log.computed += work.0;
        Then::Next
    }

    /// Parks, after preparing, and records how late it woke up.
    fn park(&mut self, until: u64) -> Then {
        let reason = self.state.parkers[self.thread].wait(until, &self.state.end);
        let now = monotonic_ns();
        let since = match reason {
            Woken::Over => return Then::End,
            Woken::Due => until,
            Woken::At(woken) => woken,
        };
        if self.state.measures(now) {
            let latency = now.saturating_sub(since);
            self.log.latency.record(latency);
            if latency > self.log.worst.0 {
                self.log.worst = (latency, self.state.time(now).0);
            }
        }
        Then::Next
    }

    /// Sleeps. Counts as woken even if the time was over before the call.
    fn sleep_until(&mut self, until: u64) -> Then {
        self.state.parkers[self.thread].prepare();
        self.park(until)
    }

    /// Waits on a channel. A lock to release is released only after queueing there, so that no wake is lost.
    fn wait(&mut self, channel: Channel, release: Option<LockId>) -> Result<Then, String> {
        let state = Arc::clone(&self.state);
        state.parkers[self.thread].prepare();
        let waiting = state.places.wait(channel, self.thread as u32)?;
        if let Some(lock) = release {
            self.unlock(lock)?;
        }
        match waiting {
            Waiting::Passed => {}
            Waiting::Waits => return Ok(self.park(FOR_EVER)),
            Waiting::Opened(others) => self.wake_each(others),
        }
        Ok(Then::Next)
    }

    fn wake(&self, channel: Channel) -> Result<(), String> {
        self.wake_each(self.state.places.wake(channel)?);
        Ok(())
    }

    fn wake_each(&self, threads: impl IntoIterator<Item = u32>) {
        threads.into_iter().for_each(|thread| self.state.parkers[thread as usize].wake());
    }

    /// Takes a lock, after waiting for it. `slept` says whether the thread waited for it before.
    fn lock(&mut self, lock: LockId, mut slept: bool) -> Result<Then, String> {
        loop {
            self.state.parkers[self.thread].prepare();
            if self.state.places.lock(lock, self.thread as u32, slept)? {
                return Ok(Then::Next);
            }
            if self.park(FOR_EVER) == Then::End {
                return Ok(Then::End);
            }
            if self.state.places.passes_on(lock)? {
                return Ok(Then::Next);
            }
            slept = true;
        }
    }

    fn unlock(&self, lock: LockId) -> Result<(), String> {
        self.wake_each(self.state.places.unlock(lock, self.thread as u32)?);
        Ok(())
    }
}

/// Error text for a class the kernel refused, with a remedy.
fn refusal(error: &io::Error, wanted: Attributes) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM) if wanted.priority > 0 => "a real-time class needs root; run as root".into(),
        Some(libc::EPERM) => nice_refusal(error, i64::from(wanted.nice)),
        Some(libc::EINVAL) if wanted.policy == sys::SCHED_EXT => {
            "this kernel has no class ext (CONFIG_SCHED_CLASS_EXT, Linux 6.12); take --policy-class other".into()
        }
        Some(libc::EINVAL) if wanted.slice > 0 => {
            format!("the kernel refuses a slice of {}; it takes 100us to 100ms", Span(wanted.slice))
        }
        _ => format!("its class cannot be set: {error}"),
    }
}

fn nice_refusal(error: &io::Error, nice: i64) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => format!("nice {nice} is more than this user may ask for; run as root"),
        _ => format!("nice {nice} cannot be set: {error}"),
    }
}
