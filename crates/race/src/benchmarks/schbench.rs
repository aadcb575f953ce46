//! schbench: workers are woken by a message thread, sleep briefly, compute, and ask to be woken again.
//!
//! `wakeup_latency` is the time from the message thread's decision to wake a worker until the worker runs;
//! `request_latency` from then to the end of the work, as in the original tool. Differences: a request computes for a
//! given CPU time, independent of caches and clock rate; no per-CPU lock; requests per second do not come in bursts,
//! because workers ask for the next one themselves.

use super::{cpu_time, now};
use crate::latency::latencies;
use crate::load_error::LoadError;
use crate::measure::{Better, Measure};
use goodness_core::{Span, tunables};
use goodness_observe::Histogram;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread::{Builder, JoinHandle, Thread};
use std::time::Duration;

tunables! {
    /// Settings of the benchmark.
    pub struct Settings {
        /// Message threads.
        message_threads: u64 = 1, in 1 => 100;
        /// Workers of each message thread.
        workers: u64 = 2, in 1 => 1000;
        /// Sleep at the beginning of a request; 0 for none.
        sleep: Span = Span::from_us(100), in Span::ZERO => Span::from_s(10);
        /// CPU time of a request.
        work: Span = Span::from_us(1000), in Span::from_us(1) => Span::from_s(10);
        /// Time before anything is counted.
        warmup: Span = Span::from_ms(500), in Span::ZERO => Span::from_s(600);
        /// Time that is counted.
        duration: Span = Span::from_s(5), in Span::from_ms(10) => Span::from_s(600);
    }
}

/// Data shared by a worker and its message thread.
#[derive(Default)]
struct Desk {
    thread: OnceLock<Thread>,
    /// Time it was woken; 0 while it waits.
    woken: AtomicU64,
}

/// A message thread and its workers.
struct Office {
    posts: Mutex<Vec<usize>>,
    desks: Vec<Desk>,
    stop: AtomicBool,
}

impl Office {
    fn posts(&self) -> MutexGuard<'_, Vec<usize>> {
        self.posts.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Measurements of one worker.
#[derive(Default)]
struct Seen {
    wakeups: Histogram,
    requests: Histogram,
}

/// Runs the benchmark.
///
/// # Errors
/// Threads cannot be created, or no request completed.
pub fn run(settings: &Settings) -> Result<Vec<Measure>, LoadError> {
    let from = now() + settings.warmup.ns();
    let until = from + settings.duration.ns();
    let offices: Result<Vec<_>, _> = (0..settings.message_threads).map(|_| open(settings, from, until)).collect();
    let offices = offices.map_err(|why| LoadError(format!("a thread could not be made: {why}")))?;
    let mut all = Seen::default();
    for (office, boss, workers) in offices {
        for worker in workers {
            let seen = worker.join().map_err(|_| LoadError("a worker of schbench panicked".into()))?;
            all.wakeups.merge(&seen.wakeups);
            all.requests.merge(&seen.requests);
        }
        office.stop.store(true, Ordering::Release);
        boss.thread().unpark();
        let _ = boss.join();
    }
    if all.requests.count() == 0 {
        return Err(LoadError("no request of schbench ended in time; give it a longer duration or less work".into()));
    }
    let rate = all.requests.count() as f64 * 1e9 / settings.duration.ns() as f64;
    let mut measures = vec![Measure::new("throughput", "1/s", Better::Higher, rate)];
    measures.extend(latencies("wakeup_latency", &all.wakeups, None));
    measures.extend(latencies("request_latency", &all.requests, None));
    Ok(measures)
}

type Staff = (Arc<Office>, JoinHandle<()>, Vec<JoinHandle<Seen>>);

fn open(settings: &Settings, from: u64, until: u64) -> std::io::Result<Staff> {
    let desks = (0..settings.workers).map(|_| Desk::default()).collect();
    let office = Arc::new(Office { posts: Mutex::default(), desks, stop: AtomicBool::new(false) });
    let thread = || Builder::new().stack_size(128 * 1024);
    let boss = {
        let office = Arc::clone(&office);
        thread().name("message".into()).spawn(move || answer(&office))?
    };
    let mut workers = Vec::new();
    for desk in 0..settings.workers as usize {
        let (office, boss) = (Arc::clone(&office), boss.thread().clone());
        let (sleep, work) = (Duration::from_nanos(settings.sleep.ns()), settings.work.ns());
        let serve = move || {
            let mut seen = Seen::default();
            let _ = office.desks[desk].thread.set(std::thread::current());
            while now() < until {
                let (woken, begun) = ask(&office, desk, &boss);
                serve(sleep, work);
                let ended = now();
                if (from..until).contains(&woken) {
                    seen.wakeups.record(begun.saturating_sub(woken));
                }
                if (from..until).contains(&ended) {
                    seen.requests.record(ended - begun);
                }
            }
            seen
        };
        workers.push(thread().name("worker".into()).spawn(serve)?);
    }
    Ok((office, boss, workers))
}

/// The message thread: wakes posted workers until told to stop.
fn answer(office: &Office) {
    let mut taken = Vec::new();
    while !office.stop.load(Ordering::Acquire) {
        std::mem::swap(&mut *office.posts(), &mut taken);
        if taken.is_empty() {
            std::thread::park();
        }
        for desk in taken.drain(..) {
            let desk = &office.desks[desk];
            desk.woken.store(now(), Ordering::Release);
            if let Some(thread) = desk.thread.get() {
                thread.unpark();
            }
        }
    }
}

/// Posts and waits. Returns the time of the wake-up call and the time this worker ran.
fn ask(office: &Office, desk: usize, boss: &Thread) -> (u64, u64) {
    let woken = &office.desks[desk].woken;
    woken.store(0, Ordering::Release);
    office.posts().push(desk);
    boss.unpark();
    loop {
        match woken.load(Ordering::Acquire) {
            0 => std::thread::park(),
            at => return (at, now()),
        }
    }
}

/// A request: a short sleep, then work.
fn serve(sleep: Duration, work: u64) {
    if !sleep.is_zero() {
        std::thread::sleep(sleep);
    }
    let begun = cpu_time();
    let mut product = 1u64;
    while cpu_time() - begun < work {
        for factor in 1..2000u64 {
            product = std::hint::black_box(product.wrapping_mul(factor | 1));
        }
    }
}
