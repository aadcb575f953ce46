//! Plays a workload as real threads of this machine, under the scheduler its kernel runs.
//!
//! The simulator's behaviours run unchanged, with the same steps for the same seed. Each task is a thread: it computes
//! by using that much CPU time (see `pace`), waits on a futex, and passes locks to the next waiter in order, as in the
//! simulator. Measured are the kernel's counters for each thread (CPU time, switches) and wake-up latencies: how late a
//! task runs after its sleep was due or after it was woken.
//!
//! Differences from the simulator: sleeps end by futex timeout, which uses the same kernel timer as `clock_nanosleep`.
//! The tasks are threads of one process, so a switch between them does not change address spaces. Clients outside the
//! simulated machine are ordinary threads here and use a little CPU time.
//!
//! A play ends after its duration, at Ctrl-C, or when all tasks have ended. A task notices the end within 200 µs of its
//! own CPU time, and all threads have ended when [`play`] returns.

pub mod calibrate;
mod cgroups;
mod kernel;
mod mark;
mod pace;
mod parker;
mod places;
mod play_end;
mod play_state;
mod refuse;
mod tally;
mod task_thread;

use cgroups::Cgroups;
use goodness_core::{CpuId, CpuStat, Seed, Span, TaskId, Time, Workload};
use goodness_sys::{self as sys, Signals};
use kernel::Attributes;
use play_state::{PlayState, Setting};
use serde::Serialize;
use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use tally::{Nearly, Usage};
use task_thread::TaskThread;

pub use refuse::TASKS_MAX;
pub use tally::PlayedTask;

/// Time from the last thread's readiness to the start of the play, for all threads to wake up. A choice.
const RUN_UP: u64 = 20_000_000;
/// Added setup time per task.
const RUN_UP_EACH: u64 = 200_000;
/// Time limit for threads to start, and to end. A choice.
const TIMEOUT: u64 = 20_000_000_000;

/// The scheduling class of tasks that ask for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlayClass {
    /// The caller's class.
    #[default]
    Inherited,
    /// `SCHED_EXT`: the loaded policy, if any.
    Ext,
    /// `SCHED_OTHER`.
    Other,
    /// `SCHED_BATCH`.
    Batch,
    /// `SCHED_IDLE`.
    Idle,
}

/// Options of a play.
#[derive(Clone, Debug)]
pub struct Options {
    /// The CPUs that tasks may use, ascending; `None` for the caller's.
    pub cpus: Option<Vec<CpuId>>,
    /// Duration; `None` for the workload's own.
    pub duration: Option<Span>,
    /// The class of tasks that ask for none.
    pub class: PlayClass,
    /// Random seed of the tasks.
    pub seed: Seed,
}

/// Results of a play. Times in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Played {
    /// The CPUs that the tasks could use.
    pub cpus: Vec<u32>,
    /// The kernel's name of the class of ordinary tasks.
    pub class: String,
    /// For how long was measured: from the end of the warm-up to the end.
    pub measured_ns: u64,
    /// The signal that ended it early.
    pub interrupted_by: Option<i32>,
    /// True if the measuring thread got a higher priority than the tasks. If false, its readings may be late.
    pub watched_in_time: bool,
    /// The tasks.
    pub tasks: Vec<PlayedTask>,
    /// Clients outside the simulated machine, which used CPU time here.
    pub outside: Vec<PlayedTask>,
    /// The groups with a limit.
    pub groups: Vec<PlayedGroup>,
    /// Deviations from the workload, as sentences.
    pub remarks: Vec<String>,
}

/// One group with a limit, as the kernel's `cpu.stat` has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlayedGroup {
    /// Its name.
    pub name: String,
    /// Ends of periods.
    pub nr_periods: u64,
    /// Periods at whose end it was throttled on a CPU.
    pub nr_throttled: u64,
    /// Sum over the CPUs of the time throttled.
    pub throttled_ns: u64,
    /// Periods in which it used more than its quota.
    pub nr_bursts: u64,
    /// CPU time beyond the quota in those periods.
    pub burst_ns: u64,
}

impl PlayedGroup {
    fn new(name: String, stat: CpuStat) -> PlayedGroup {
        PlayedGroup {
            name,
            nr_periods: stat.periods,
            nr_throttled: stat.throttled_periods,
            throttled_ns: stat.throttled.0,
            nr_bursts: stat.bursts,
            burst_ns: stat.burst.0,
        }
    }
}

/// Error of a play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayError {
    task: Option<TaskId>,
    sentence: String,
    refused: bool,
}

impl PlayError {
    pub(crate) fn refused(task: Option<TaskId>, sentence: impl Into<String>) -> PlayError {
        PlayError { task, sentence: sentence.into(), refused: true }
    }

    pub(crate) fn failed(task: Option<TaskId>, sentence: impl Into<String>) -> PlayError {
        PlayError { task, sentence: sentence.into(), refused: false }
    }

    /// The task concerned.
    #[must_use]
    pub fn task(&self) -> Option<TaskId> {
        self.task
    }

    /// True if the workload was refused before anything was started.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.refused
    }
}

impl fmt::Display for PlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for PlayError {}

/// Plays `work` to its end.
///
/// # Errors
/// Work that threads cannot do (refused before anything starts), an operation without permission such as a
/// class that needs root, or a system that refuses threads.
pub fn play(work: Workload, options: Options) -> Result<Played, PlayError> {
    // A separate thread, so that its class can be raised without changing the caller's.
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| Watch::begin(work, options)?.run());
        watch.join().unwrap_or_else(|_| Err(PlayError::failed(None, "the play ended by a panic")))
    })
}

/// The CPUs the calling thread may use, ascending. A play uses these by default.
#[must_use]
pub fn playable_cpus() -> Vec<CpuId> {
    sys::affinity_of(0).unwrap_or_default().into_iter().map(CpuId).collect()
}

/// CPUs by number, if the calling thread may use all of them.
///
/// # Errors
/// One that it may not use, and those it may, in a sentence.
pub fn usable(numbers: &[u32]) -> Result<Vec<CpuId>, String> {
    let cpus: Vec<CpuId> = numbers.iter().copied().map(CpuId).collect();
    let mine = playable_cpus();
    match cpus.iter().find(|cpu| !mine.contains(cpu)) {
        None => Ok(cpus),
        Some(cpu) => {
            let list: Vec<String> = mine.iter().map(|cpu| cpu.0.to_string()).collect();
            Err(format!("CPU {} is none of those of this command: {}", cpu.0, list.join(",")))
        }
    }
}

/// Ticks per second of the running kernel, if it reports them.
#[must_use]
pub fn ticks_per_second() -> Option<u32> {
    let ns = sys::tick_ns()?;
    u32::try_from((1_000_000_000 + ns / 2) / ns).ok()
}

fn system(what: &str, error: &dyn fmt::Display) -> PlayError {
    PlayError::failed(None, format!("{what}: {error}"))
}

/// The kernel's counters of the threads, and of the groups with a limit.
type Counters = (Vec<Usage>, Vec<(String, CpuStat)>);

/// Starts and ends the play and takes the measurements.
struct Watch {
    state: Arc<PlayState>,
    signals: Signals,
    notified: OwnedFd,
    /// From the beginning to the end, in ns.
    length: u64,
    warmup: u64,
    class: &'static str,
    in_time: bool,
    names: Vec<(String, Option<i64>)>,
    interrupted_by: Option<i32>,
}

impl Watch {
    fn begin(work: Workload, options: Options) -> Result<Watch, PlayError> {
        let cpus = options.cpus.unwrap_or_else(playable_cpus);
        refuse::check(&work, &cpus)?;
        let horizon = work.horizon.map_or(goodness_core::HORIZON_MAX, |end| end.since(Time::ZERO));
        let length = options.duration.unwrap_or(horizon).0;
        let warmup = work.warmup.0;
        if warmup >= length {
            let why = format!("the warm-up of {} leaves nothing of {}; play longer", Span(warmup), Span(length));
            return Err(PlayError::refused(None, why));
        }
        let named = |name: &String, realtime: bool, nice: i64| (name.clone(), (!realtime).then_some(nice));
        let names = (work.tasks.iter())
            .map(|spec| named(&spec.name, spec.task.class.is_realtime(), spec.task.nice.get()))
            .chain(work.outside.iter().map(|it| named(&it.name, false, 0)))
            .collect();
        let urgency = work.tasks.iter().map(|spec| u32::from(spec.task.rt_priority)).max().unwrap_or_default();
        let (normal, class) = normal_class(options.class)?;
        let (notified, notify) = sys::pipe().map_err(|error| system("no pipe can be made", &error))?;
        let signals = Signals::listen().map_err(|error| system("signals cannot be heard", &error))?;
        let cgroups = Cgroups::make(&work.groups).map_err(|why| PlayError::refused(None, why))?;
        let setting = Setting { cpus, normal, seed: options.seed, notify, cgroups, thread_function: TaskThread::run };
        let state = Arc::new(PlayState::new(work, setting));
        let urgent = Attributes { policy: libc::SCHED_FIFO, priority: (urgency + 1).min(99), ..Attributes::default() };
        let ordinary = Attributes { policy: libc::SCHED_OTHER, ..Attributes::default() };
        let in_time = kernel::set_attributes(urgent, true).is_ok();
        if !in_time {
            // Leaves the class of a loaded policy. This may fail if nice was raised; then nothing changes.
            let _ = kernel::set_attributes(ordinary, true);
        }
        Ok(Watch { state, signals, notified, length, warmup, class, in_time, names, interrupted_by: None })
    }

    fn run(mut self) -> Result<Played, PlayError> {
        let starting = self.state.starting_threads();
        for thread in &starting {
            if let Err(why) = self.state.start(*thread) {
                self.state.fail(*thread, &why);
                break;
            }
        }
        let timeout = sys::monotonic_ns() + TIMEOUT;
        let all_ready = |state: &PlayState| state.ready() >= starting.len();
        if !self.wait(timeout, all_ready) && self.interrupted_by.is_none() && self.state.fault().is_none() {
            let why = "the threads were not set up within 20 s; the machine is too busy";
            self.state.give_up(PlayError::failed(None, why));
        }
        let origin = sys::monotonic_ns() + RUN_UP + RUN_UP_EACH * starting.len() as u64;
        let (warm, end) = (origin + self.warmup, origin.saturating_add(self.length));
        if self.interrupted_by.is_none() && self.state.fault().is_none() {
            self.state.begin(origin, warm, end);
        }
        let over = |state: &PlayState| state.is_empty();
        self.wait(warm, over);
        let before = (self.state.usage(), self.cpu_stats());
        self.wait(end, over);
        let measured = sys::monotonic_ns().min(end).saturating_sub(warm);
        let after = (self.state.usage(), self.cpu_stats());
        self.state.end_now();
        if !self.wait(sys::monotonic_ns() + TIMEOUT, over) && !self.state.is_empty() {
            return Err(PlayError::failed(
                None,
                "a task did not end within 20 s of the play's end; the process ends now",
            ));
        }
        self.report(measured, &before, &after)
    }

    fn cpu_stats(&self) -> Vec<(String, CpuStat)> {
        self.state.cgroups.as_ref().map(Cgroups::cpu_stats).unwrap_or_default()
    }

    /// Waits until `done`, until `until` (ns on `CLOCK_MONOTONIC`), or until a signal arrives. Returns `done`.
    fn wait(&mut self, until: u64, done: impl Fn(&PlayState) -> bool) -> bool {
        let fds: Vec<RawFd> = self.signals.descriptors().chain([self.notified.as_raw_fd()]).collect();
        loop {
            let now = sys::monotonic_ns();
            let interrupted = self.interrupted_by.is_some() && !self.state.end.is_over();
            if done(&self.state) || now >= until || interrupted || self.state.fault().is_some() && self.state.is_empty()
            {
                return done(&self.state);
            }
            kernel::wait_until(&fds, now, until);
            let readable = sys::wait_readable(&[self.notified.as_raw_fd()], std::time::Duration::ZERO);
            if readable.is_ok_and(|ends| ends == [true]) {
                sys::read_byte(&self.notified);
            }
            self.interrupted_by = self.interrupted_by.or(self.signals.take());
        }
    }

    fn report(self, measured: u64, before: &Counters, after: &Counters) -> Result<Played, PlayError> {
        let mut logs: Vec<tally::Log> = self.names.iter().map(|_| tally::Log::default()).collect();
        for (thread, log) in self.state.logs() {
            logs[thread] = log;
        }
        if let Some(fault) = self.state.fault() {
            return Err(fault);
        }
        let mut nearly = Nearly::default();
        logs.iter().for_each(|log| nearly.add(log.nearly));
        let room = measured * self.state.cpus.len() as u64;
        let entry = |(thread, log): (usize, &tally::Log)| {
            let used = after.0[thread].since(before.0[thread]);
            let (name, nice) = &self.names[thread];
            PlayedTask {
                name: name.clone(),
                id: thread as u64 + 1,
                nice: *nice,
                cpu_time_ns: used.cpu,
                share: (room > 0).then(|| used.cpu as f64 / room as f64),
                wait_ns: used.waited,
                switches: used.voluntary + used.involuntary,
                voluntary_switches: used.voluntary,
                involuntary_switches: used.involuntary,
                wakeups: log.latency.count(),
                wakeup_latency_p50_ns: log.latency.quantile(5_000),
                wakeup_latency_p99_ns: log.latency.quantile(9_900),
                wakeup_latency_max_ns: log.latency.max(),
                wakeup_latency_max_at_ns: log.latency.max().map(|_| log.worst.1),
                served: log.served,
                steps: log.steps,
                computed_ns: log.computed,
            }
        };
        let mut tasks: Vec<PlayedTask> = logs.iter().enumerate().map(entry).collect();
        let outside = tasks.split_off((0..tasks.len()).take_while(|thread| !self.state.is_outside(*thread)).count());
        let groups =
            after.1.iter().zip(&before.1).map(|((name, after), (_, before))| (name.clone(), after.since(*before)));
        Ok(Played {
            cpus: self.state.cpus.iter().map(|cpu| cpu.0).collect(),
            class: self.class.into(),
            measured_ns: measured,
            interrupted_by: self.interrupted_by,
            watched_in_time: self.in_time,
            tasks,
            outside,
            groups: groups.map(|(name, stat)| PlayedGroup::new(name, stat)).collect(),
            remarks: nearly.sentences(),
        })
    }
}

/// The kernel's number and name of the class that ordinary tasks get.
fn normal_class(asked: PlayClass) -> Result<(i32, &'static str), PlayError> {
    let number = match asked {
        PlayClass::Ext => sys::SCHED_EXT,
        PlayClass::Other => libc::SCHED_OTHER,
        PlayClass::Batch => libc::SCHED_BATCH,
        PlayClass::Idle => libc::SCHED_IDLE,
        PlayClass::Inherited => {
            kernel::attributes().map_err(|error| system("the class of this process cannot be read", &error))?.policy
        }
    };
    match number {
        libc::SCHED_OTHER => Ok((number, "SCHED_OTHER")),
        libc::SCHED_BATCH => Ok((number, "SCHED_BATCH")),
        libc::SCHED_IDLE => Ok((number, "SCHED_IDLE")),
        sys::SCHED_EXT => Ok((number, "SCHED_EXT")),
        _ => Err(PlayError::refused(None, "the player was started in a real-time class; name one with --policy-class")),
    }
}
