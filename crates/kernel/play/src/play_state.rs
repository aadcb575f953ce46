//! Shared state of all tasks of a play; starts and joins their threads.

use super::cgroups::Cgroups;
use super::pace::Pace;
use super::parker::Parker;
use super::places::{Places, held};
use super::play_end::PlayEnd;
use super::tally::{Log, Usage};
use super::{PlayError, kernel};
use goodness_core::{CpuId, Rng, Seed, Task, TaskId, Time, Workload};
use goodness_sys as sys;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Stack size of a task's thread. A choice: a behaviour needs a few KiB, and 2048 threads then take 0.5 GiB of address
/// space.
const STACK: usize = 256 << 10;

/// Everything that all tasks of a play share.
pub struct PlayState {
    /// Names of the tasks, then of the clients outside.
    names: Vec<String>,
    /// Futexes, by task.
    pub parkers: Vec<Parker>,
    /// Channels and locks.
    pub places: Places,
    /// Measured speed of this machine.
    pub pace: Pace,
    /// The end.
    pub end: PlayEnd,
    /// The CPUs that tasks may use; the file's CPU n is the n-th.
    pub cpus: Vec<CpuId>,
    /// The kernel's number of the class of ordinary tasks.
    pub normal: i32,
    /// Timer slack, in ns.
    pub timer_slack: u64,
    /// Start of the play, in ns on `CLOCK_MONOTONIC`; 0 if not known yet.
    origin: AtomicU64,
    /// End of the warm-up, in ns on `CLOCK_MONOTONIC`.
    warm: AtomicU64,
    seed: Seed,
    /// Number of parkers that belong to tasks.
    tasks: usize,
    /// Tasks not started yet.
    waiting: Vec<Mutex<Option<PlannedTask>>>,
    /// Total usage of each thread, once it has ended.
    ended: Vec<Mutex<Option<Usage>>>,
    thread_function: ThreadFunction,
    /// The cgroups of the tasks, if they have groups.
    pub cgroups: Option<Cgroups>,
    threads: Mutex<Vec<(usize, JoinHandle<Log>)>>,
    /// Threads that have been started and have not ended.
    living: AtomicUsize,
    /// Threads that are set up and wait for the start.
    ready: AtomicUsize,
    /// Gets a byte whenever a thread is ready, and when the last one has ended.
    notify: OwnedFd,
    fault: Mutex<Option<PlayError>>,
}

/// Usage of a thread: as stored when it `ended`, else as the kernel reports while it is `running`. The thread stores
/// its usage before the kernel discards it, so it may safely end between the two calls.
fn used(ended: impl Fn() -> Option<Usage>, running: impl FnOnce() -> Option<Usage>) -> Usage {
    ended().or_else(running).or_else(ended).unwrap_or_default()
}

/// A task that has not started.
pub struct PlannedTask {
    /// Name for people.
    pub name: String,
    /// Class, nice and affinity.
    pub task: Task,
    /// Start time; `None` for a task that is forked.
    pub start: Option<Time>,
    /// Source of its steps.
    pub behaviour: Box<dyn goodness_core::Behaviour>,
}

/// Thread function of a task: state of the play, the thread's number, the task and its random numbers.
pub type ThreadFunction = fn(Arc<PlayState>, usize, PlannedTask, Rng) -> Log;

/// Options of a play's state.
pub struct Setting {
    /// The CPUs that tasks may use.
    pub cpus: Vec<CpuId>,
    /// The kernel's number of the class of ordinary tasks.
    pub normal: i32,
    /// Random seed of the tasks.
    pub seed: Seed,
    /// Gets a byte whenever a thread is ready, and when the last one has ended.
    pub notify: OwnedFd,
    /// The cgroups of the tasks, if they have groups.
    pub cgroups: Option<Cgroups>,
    /// Thread function.
    pub thread_function: ThreadFunction,
}

impl PlayState {
    /// The state of a play of `work`, with no threads yet.
    pub fn new(work: Workload, setting: Setting) -> PlayState {
        let places = Places::of(&work);
        let tasks = work.tasks.len();
        let of_task = |spec: goodness_core::TaskSpec| {
            let start = match spec.start {
                goodness_core::Start::At(at) | goodness_core::Start::WokenAt(at) => Some(at),
                goodness_core::Start::Forked => None,
            };
            PlannedTask { name: spec.name, task: spec.task, start, behaviour: spec.behaviour }
        };
        let of_outsider = |it: goodness_core::Outsider| PlannedTask {
            name: it.name,
            task: Task::default(),
            start: Some(it.start),
            behaviour: it.behaviour,
        };
        let planned: Vec<PlannedTask> =
            work.tasks.into_iter().map(of_task).chain(work.outside.into_iter().map(of_outsider)).collect();
        PlayState {
            names: planned.iter().map(|planned| planned.name.clone()).collect(),
            parkers: planned.iter().map(|_| Parker::default()).collect(),
            places,
            pace: Pace::measure(),
            end: PlayEnd::new(),
            cpus: setting.cpus,
            normal: setting.normal,
            timer_slack: work.timer_slack.0,
            origin: AtomicU64::new(0),
            warm: AtomicU64::new(u64::MAX),
            seed: setting.seed,
            tasks,
            ended: planned.iter().map(|_| Mutex::default()).collect(),
            waiting: planned.into_iter().map(|planned| Mutex::new(Some(planned))).collect(),
            threads: Mutex::default(),
            living: AtomicUsize::new(0),
            ready: AtomicUsize::new(0),
            notify: setting.notify,
            thread_function: setting.thread_function,
            cgroups: setting.cgroups,
            fault: Mutex::default(),
        }
    }

    /// True if the thread is a client outside the machine.
    pub fn is_outside(&self, thread: usize) -> bool {
        thread >= self.tasks
    }

    /// The parkers of the tasks that no other task forks.
    pub fn starting_threads(&self) -> Vec<usize> {
        let starts =
            |thread: &usize| held(&self.waiting[*thread]).as_ref().is_some_and(|planned| planned.start.is_some());
        (0..self.parkers.len()).filter(starts).collect()
    }

    /// Starts thread number `thread`. It begins at its own time, or now if forked.
    ///
    /// # Errors
    /// No unstarted task has this number, or the system refuses another thread.
    pub fn start(self: &Arc<Self>, thread: usize) -> Result<(), String> {
        let planned = self.waiting.get(thread).and_then(|it| held(it).take());
        let planned = planned.ok_or_else(|| format!("forked task {thread}, which is not there to be forked"))?;
        // The standard library panics on a name with a NUL byte.
        let name: String = planned.name.chars().filter(|c| *c != '\0').collect();
        let stream = match thread.checked_sub(self.tasks) {
            None => self.seed.stream("task", thread as u64),
            Some(outsider) => self.seed.stream("outside", outsider as u64),
        };
        let (state, thread_function) = (Arc::clone(self), self.thread_function);
        self.living.fetch_add(1, Ordering::SeqCst);
        let started = std::thread::Builder::new()
            .name(name)
            .stack_size(STACK)
            .spawn(move || thread_function(state, thread, planned, stream.rng()));
        match started {
            Ok(handle) => {
                held(&self.threads).push((thread, handle));
                Ok(())
            }
            Err(error) => {
                self.one_thread_less();
                Err(format!("no thread can be started: {error}"))
            }
        }
    }

    /// Counts one more thread as set up.
    pub fn count_ready(&self) {
        self.ready.fetch_add(1, Ordering::SeqCst);
        sys::write_byte(&self.notify, b'r');
    }

    /// Number of threads set up.
    pub fn ready(&self) -> usize {
        self.ready.load(Ordering::SeqCst)
    }

    /// Sets start, end of warm-up and end, and releases all threads.
    pub fn begin(&self, origin: u64, warm: u64, end: u64) {
        self.end.set(end);
        self.warm.store(warm, Ordering::SeqCst);
        self.origin.store(origin, Ordering::SeqCst);
        self.parkers.iter().for_each(Parker::wake);
    }

    /// Ends the play.
    pub fn end_now(&self) {
        self.end.end_now();
        self.parkers.iter().for_each(Parker::wake);
    }

    /// Start of the play, in ns on `CLOCK_MONOTONIC`.
    pub fn origin(&self) -> u64 {
        self.origin.load(Ordering::SeqCst)
    }

    /// Time of the play at `ns` on `CLOCK_MONOTONIC`.
    pub fn time(&self, ns: u64) -> Time {
        Time(ns.saturating_sub(self.origin()))
    }

    /// True if the time `ns` lies in the measured part.
    pub fn measures(&self, ns: u64) -> bool {
        ns >= self.warm.load(Ordering::Relaxed)
    }

    /// Records a task's error, unless there is an earlier one, and ends the play.
    pub fn fail(&self, thread: usize, why: &str) {
        let task = (!self.is_outside(thread)).then_some(TaskId(thread as u32));
        self.give_up(PlayError::failed(task, format!("\"{}\": {why}", self.names[thread])));
    }

    /// Records an error, unless there is an earlier one, and ends the play.
    pub fn give_up(&self, error: PlayError) {
        held(&self.fault).get_or_insert(error);
        self.end_now();
    }

    /// The recorded error.
    pub fn fault(&self) -> Option<PlayError> {
        held(&self.fault).clone()
    }

    /// The calling thread is done with its part.
    pub fn thread_ended(&self, thread: usize) {
        *held(&self.ended[thread]) = Some(Usage::of_this_thread());
        self.one_thread_less();
    }

    fn one_thread_less(&self) {
        if self.living.fetch_sub(1, Ordering::SeqCst) == 1 {
            sys::write_byte(&self.notify, b'e');
        }
    }

    /// True if every thread that was started has ended its part.
    pub fn is_empty(&self) -> bool {
        self.living.load(Ordering::SeqCst) == 0
    }

    /// Usage of all threads so far, by thread. CPU times are read first, close together, because the rest takes longer.
    pub fn usage(&self) -> Vec<Usage> {
        let threads: Vec<i32> = self.parkers.iter().map(|parker| parker.tid.load(Ordering::SeqCst)).collect();
        let cpu: Vec<Option<u64>> = threads.iter().map(|tid| kernel::cpu_ns_of(*tid).filter(|_| *tid > 0)).collect();
        let one = |thread: usize| used(|| *held(&self.ended[thread]), || Usage::of(threads[thread], cpu[thread]?));
        (0..self.parkers.len()).map(one).collect()
    }

    /// Joins all threads and returns their logs, by thread.
    pub fn logs(&self) -> Vec<(usize, Log)> {
        let threads = std::mem::take(&mut *held(&self.threads));
        let mut logs = Vec::with_capacity(threads.len());
        for (thread, handle) in threads {
            match handle.join() {
                Ok(log) => logs.push((thread, log)),
                Err(_) => self.fail(thread, "its programme ended by a panic"),
            }
        }
        logs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn what_a_thread_used_that_ends_while_it_is_asked_is_not_lost() {
        let noted = Cell::new(None);
        let ends_now = || {
            noted.set(Some(Usage { cpu: 7, ..Usage::default() }));
            None
        };
        assert_eq!(used(|| noted.get(), ends_now).cpu, 7);
    }
}
