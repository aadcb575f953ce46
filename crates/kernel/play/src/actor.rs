//! One played task: its thread takes steps from the behaviour and executes them.

use super::kernel::{self, Attributes};
use super::places::Waiting;
use super::refuse::{allowed, class_number, stranded};
use super::seat::Woken;
use super::stage::{Role, Stage};
use super::tally::Log;
use goodness_core::{
    Behaviour, Channel, Class, CpuSet, LockId, Nice, Rng, Span, Step, StepContext, Task, TaskId, Time,
};
use goodness_sys::{monotonic_ns, thread_id};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Waits without an end of their own.
const FOR_EVER: u64 = u64::MAX / 2;

/// Result of a step: continue or end.
#[derive(PartialEq, Eq)]
enum Then {
    Next,
    Leave,
}

/// A task with all it needs.
pub struct Actor {
    stage: Arc<Stage>,
    seat: usize,
    start: Option<Time>,
    task: Task,
    behaviour: Box<dyn Behaviour>,
    rng: Rng,
    /// CPU time that the last compute step used too much, in ns.
    debt: u64,
    log: Log,
}

impl Actor {
    /// The whole life of the thread that does `role` on `stage`.
    pub fn live(stage: Arc<Stage>, seat: usize, role: Role, rng: Rng) -> Log {
        Actor::new(stage, seat, role, rng).play()
    }

    fn new(stage: Arc<Stage>, seat: usize, role: Role, rng: Rng) -> Actor {
        let Role { task, start, behaviour, .. } = role;
        Actor { stage, seat, start, task, behaviour, rng, debt: 0, log: Log::default() }
    }

    fn play(mut self) -> Log {
        let stage = Arc::clone(&self.stage);
        /// Leaves the stage whatever happens, a panic of a behaviour included.
        struct Leaves<'a>(&'a Stage, usize);
        impl Drop for Leaves<'_> {
            fn drop(&mut self) {
                self.0.leave(self.1);
            }
        }
        let _leaves = Leaves(&stage, self.seat);
        stage.seats[self.seat].thread.store(thread_id(), Ordering::SeqCst);
        if let Err(why) = self.dress().and_then(|()| self.act()) {
            stage.fail(self.seat, &why);
        }
        self.log
    }

    /// Sets the thread's class, nice, affinity and timer slack.
    fn dress(&mut self) -> Result<(), String> {
        let slack = if self.task.class.is_realtime() { 0 } else { self.stage.timer_slack };
        kernel::set_timer_slack(slack);
        self.confine(&self.task.affinity)?;
        let (nice, priority) = (self.task.nice, self.task.rt_priority);
        self.enter_class(self.task.class, priority, nice)
    }

    fn confine(&self, wanted: &CpuSet) -> Result<(), String> {
        if let Some(why) = stranded(wanted, &self.stage.cpus) {
            return Err(why);
        }
        kernel::set_affinity(&allowed(wanted, &self.stage.cpus))
            .map_err(|error| format!("its affinity cannot be set: {error}"))
    }

    fn enter_class(&self, class: Class, priority: u8, nice: Nice) -> Result<(), String> {
        let normal = if self.stage.is_outside(self.seat) { libc::SCHED_OTHER } else { self.stage.normal };
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
    fn act(&mut self) -> Result<(), String> {
        let stage = Arc::clone(&self.stage);
        if let Some(start) = self.start {
            let seat = &stage.seats[self.seat];
            seat.prepare();
            stage.is_ready();
            if seat.wait(FOR_EVER, &stage.curtain) == Woken::Over {
                return Ok(());
            }
            seat.prepare();
            if seat.wait(stage.origin() + start.0, &stage.curtain) == Woken::Over {
                return Ok(());
            }
        }
        while !stage.curtain.is_down() {
            let now = stage.time(monotonic_ns());
            let task = TaskId(self.seat as u32);
            let step = self.behaviour.next(&mut StepContext { now, task, rng: &mut self.rng });
            self.log.steps += 1;
            if self.perform(step)? == Then::Leave {
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
            Step::SleepUntil(at) if at <= self.stage.time(monotonic_ns()) => {}
            Step::SleepUntil(at) => return Ok(self.sleep_until(self.stage.origin().saturating_add(at.0))),
            Step::Wait(channel) => return self.wait(channel, None),
            Step::WaitUninterruptible(channel) => {
                self.log.nearly.uninterruptible += 1;
                return self.wait(channel, None);
            }
            Step::WaitUnlocked(channel, lock) => {
                let then = self.wait(channel, Some(lock))?;
                return if then == Then::Next { self.lock(lock) } else { Ok(then) };
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
            Step::WakeAll(channel) => self.call_all(self.stage.places.wake_all(channel)?),
            Step::Lock(lock) => return self.lock(lock),
            Step::Unlock(lock) => self.unlock(lock)?,
            Step::Exit => return Ok(Then::Leave),
            other => return self.perform_rare(other),
        }
        Ok(Then::Next)
    }

    fn perform_rare(&mut self, step: Step) -> Result<Then, String> {
        match step {
            Step::Yield => kernel::yield_cpu(),
            Step::Fork(child) => self.stage.start(child.0 as usize)?,
            Step::SetNice(nice) => {
                kernel::set_nice(nice.get() as i32).map_err(|error| nice_refusal(&error, nice.get()))?;
                self.task.nice = nice;
            }
            Step::SetClass(class, priority) => self.enter_class(class, priority, self.task.nice)?,
            Step::SetAffinity(cpus) => self.confine(&cpus)?,
            Step::Served(_) if self.stage.measures(monotonic_ns()) => self.log.served += 1,
            Step::Served(_) => {}
            other => return Err(format!("wants {other:?}, which exists in the simulator only")),
        }
        Ok(Then::Next)
    }

    fn compute(&mut self, work: Span) -> Then {
        let curtain = &self.stage.curtain;
        if work == Span::MAX {
            self.stage.pace.compute_for_ever(|now| curtain.is_down_at(now));
            return Then::Leave;
        }
        if !self.stage.pace.compute(work.0, &mut self.debt, |now| curtain.is_down_at(now)) {
            return Then::Leave;
        }
        self.log.computed += work.0;
        Then::Next
    }

    /// Waits in its prepared seat and records how late it woke up.
    fn sit(&mut self, until: u64) -> Then {
        let woken = self.stage.seats[self.seat].wait(until, &self.stage.curtain);
        let now = monotonic_ns();
        let since = match woken {
            Woken::Over => return Then::Leave,
            Woken::Due => until,
            Woken::At(called) => called,
        };
        if self.stage.measures(now) {
            let latency = now.saturating_sub(since);
            self.log.latency.record(latency);
            if latency > self.log.worst.0 {
                self.log.worst = (latency, self.stage.time(now).0);
            }
        }
        Then::Next
    }

    /// Sleeps, and counts as woken even if the time has come before the call was made.
    fn sleep_until(&mut self, until: u64) -> Then {
        self.stage.seats[self.seat].prepare();
        self.sit(until)
    }

    /// Waits on a channel. A lock to release is released only after queueing there, so that no wake is lost.
    fn wait(&mut self, channel: Channel, release: Option<LockId>) -> Result<Then, String> {
        let stage = Arc::clone(&self.stage);
        stage.seats[self.seat].prepare();
        let waiting = stage.places.wait(channel, self.seat as u32)?;
        if let Some(lock) = release {
            self.unlock(lock)?;
        }
        match waiting {
            Waiting::Passed => {}
            Waiting::Waits => return Ok(self.sit(FOR_EVER)),
            Waiting::Opened(others) => self.call_all(others),
        }
        Ok(Then::Next)
    }

    fn wake(&self, channel: Channel) -> Result<(), String> {
        self.call_all(self.stage.places.wake(channel)?);
        Ok(())
    }

    fn call_all(&self, seats: impl IntoIterator<Item = u32>) {
        seats.into_iter().for_each(|seat| self.stage.seats[seat as usize].call());
    }

    fn lock(&mut self, lock: LockId) -> Result<Then, String> {
        self.stage.seats[self.seat].prepare();
        let free = self.stage.places.lock(lock, self.seat as u32)?;
        Ok(if free { Then::Next } else { self.sit(FOR_EVER) })
    }

    fn unlock(&self, lock: LockId) -> Result<(), String> {
        self.call_all(self.stage.places.unlock(lock, self.seat as u32)?);
        Ok(())
    }
}

/// Error text for a class the kernel refused, with a remedy.
fn refusal(error: &io::Error, wanted: Attributes) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM) if wanted.priority > 0 => "a real-time class needs root; run as root".into(),
        Some(libc::EPERM) => nice_refusal(error, i64::from(wanted.nice)),
        Some(libc::EINVAL) if wanted.policy == kernel::SCHED_EXT => {
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
