//! Gregory Travis's benchmark of 1998: contexts that only yield, or a parent that creates contexts that exit at once.
//!
//! All contexts share one CPU unless `pinned` is off. `yield_time` is the figure of the original: elapsed time divided
//! by the yields of all contexts. The kernel may let the yielding task continue; `switch_time` divides by actual
//! switches.

use super::contexts::{self, Body, Contexts};
use super::now;
use crate::load_error::LoadError;
use crate::measure::{Better, Measure};
use crate::parameter::Counts;
use crate::sweep::swept;
use goodness_core::{Span, choices, tunables};
use goodness_sys::forked::Forked;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::time::Duration;

choices! {
    /// Timed operation: yields, creation of contexts that exit at once, or both in turn.
    pub enum Timed { Yield = "yield", Create = "create", Both = "both" }
}

tunables! {
    /// Settings of the benchmark.
    pub struct Settings {
        /// Number of contexts. For creation: created one by one, then waited for.
        tasks: u64 = 40, in 1 => 10_000;
        /// Numbers of contexts to test in turn, instead of one; they are appended to the names of the measures.
        sweep: Counts = Counts::default();
        /// Processes or threads.
        contexts: Contexts = Contexts::Processes;
        /// Yields, creations, or both.
        timed: Timed = Timed::Yield;
        /// Run all contexts on one CPU, the last that this program may use.
        pinned: bool = true;
        /// Time for which yields or creations are counted.
        duration: Span = Span::from_s(1), in Span::from_ms(1) => Span::from_s(600);
    }
}

/// Yields between two readings of the clock.
const BATCH: u64 = 16;

/// Runs the benchmark.
///
/// # Errors
/// Contexts cannot be created.
pub fn run(settings: &Settings) -> Result<Vec<Measure>, LoadError> {
    if settings.pinned {
        pin()?;
    }
    swept(&settings.sweep, settings.tasks, |tasks| {
        let settings = Settings { tasks, ..settings.clone() };
        let mut all = Vec::new();
        if settings.timed != Timed::Create {
            all.extend(yields(&settings)?);
        }
        if settings.timed != Timed::Yield {
            all.extend(creations(&settings)?);
        }
        Ok(all)
    })
}

fn yields(settings: &Settings) -> Result<Vec<Measure>, LoadError> {
    // Time for all contexts to start; a late one only yields less.
    let from = now() + 20_000_000 + settings.tasks * 500_000;
    let until = from + settings.duration.ns();
    let body = || -> Body<'_> { Box::new(move || Ok(yield_between(from, until))) };
    let bodies = (0..settings.tasks).map(|_| body()).collect();
    let counts = contexts::run(settings.contexts, bodies, || Ok(()))?;
    let sum = |which: usize| counts.iter().filter_map(|counts| counts.get(which)).sum::<u64>() as f64;
    let (yields, switches, length) = (sum(0), sum(1), settings.duration.ns() as f64);
    if yields == 0.0 {
        return Err(LoadError("no context yielded; give it a longer duration".into()));
    }
    let mut all = vec![Measure::new("yield_time", "ns", Better::Lower, length / yields)];
    if switches > 0.0 {
        all.push(Measure::new("switch_time", "ns", Better::Lower, length / switches));
    }
    all.push(Measure::new("switches_per_yield", "1", Better::Higher, switches / yields));
    Ok(all)
}

/// Yields until the deadline. Returns the yields, and the switches to another context.
fn yield_between(from: u64, until: u64) -> Vec<u64> {
    std::thread::sleep(Duration::from_nanos(from.saturating_sub(now())));
    let (mut yields, before) = (0, switches());
    while now() < until {
        (0..BATCH).for_each(|_| std::thread::yield_now());
        yields += BATCH;
    }
    vec![yields, switches().saturating_sub(before)]
}

/// Context switches of this thread so far.
fn switches() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
    counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum()
}

/// Pins this thread, and so all contexts it creates, to its last allowed CPU.
fn pin() -> Result<(), LoadError> {
    let failed = |why: rustix::io::Errno| LoadError(format!("the contexts could not be put on one CPU: {why}"));
    let allowed = sched_getaffinity(None).map_err(failed)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu)).unwrap_or(0);
    let mut one = CpuSet::new();
    one.set(last);
    sched_setaffinity(None, &one).map_err(failed)
}

fn creations(settings: &Settings) -> Result<Vec<Measure>, LoadError> {
    let failed = |why: std::io::Error| LoadError(format!("a context could not be made: {why}"));
    let (begun, mut made) = (now(), 0);
    let until = begun + settings.duration.ns();
    while now() < until {
        match settings.contexts {
            Contexts::Processes => processes(settings.tasks).map_err(failed)?,
            Contexts::Threads => threads(settings.tasks).map_err(failed)?,
        }
        made += settings.tasks;
    }
    let each = (now() - begun) as f64 / made as f64;
    Ok(vec![Measure::new("creation_time", "ns", Better::Lower, each)])
}

fn processes(count: u64) -> std::io::Result<()> {
    let children: Result<Vec<Forked>, _> = (0..count).map(|_| Forked::run(|| ())).collect();
    children?.into_iter().try_for_each(|child| child.wait().map(|_| ()))
}

fn threads(count: u64) -> std::io::Result<()> {
    let make = || std::thread::Builder::new().stack_size(64 * 1024).spawn(|| ());
    let made: Result<Vec<_>, _> = (0..count).map(|_| make()).collect();
    made?.into_iter().for_each(|thread| {
        let _ = thread.join();
    });
    Ok(())
}
