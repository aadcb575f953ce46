//! Measures timer sleeps: the cost of the system call, the time the interrupt takes from the running task, and the
//! delay until the sleeper runs.
//!
//! Sleeper and companion share one CPU, and one of them is `SCHED_IDLE`: the companion if the sleeper is to preempt it,
//! the sleeper if the companion is only to be interrupted.

use goodness_sys as sys;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Sleeps of one figure.
pub const SLEEPS: usize = 201;
/// Fewest samples for a figure.
const LEAST: usize = 51;
/// Most attempts per sleep of a figure: other work may hold the CPU.
const TRIES: usize = 10;
/// Length of a sleep, ns.
const LENGTH: u64 = 200_000;
/// Window after the due time in which the timer interrupt is expected, ns.
const LATE: u64 = 100_000;
/// A gap counts as a pause if it is this many times longer than the usual gap between two readings.
const PAUSE: u64 = 8;

/// Extra work in ns added to each measured part. Tests use it to check that the part is measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Planted {
    /// In the call to sleep.
    pub call: u64,
    /// Before the sleeper is back.
    pub back: u64,
    /// In the interrupt.
    pub interrupt: u64,
}

fn compute(ns: u64) {
    if ns > 0 {
        let until = sys::monotonic_ns() + ns;
        while sys::monotonic_ns() < until {}
    }
}

/// From a sleeper and the one it preempts.
#[derive(Debug, Default)]
pub struct Sleeps {
    /// Time from before the call until the other thread runs, ns.
    pub call: Vec<u64>,
    /// Time from the other thread's last reading until the call returns, ns.
    pub back: Vec<u64>,
}

/// Sleeps beside a `SCHED_IDLE` task that computes, until that task has run during `count` sleeps.
///
/// # Errors
/// The reason there is no figure, as a sentence.
pub fn sleeps(count: usize, planted: Planted) -> Result<Sleeps, String> {
    // Times at which the other thread ran first and last since the request, ns; 0 requests them.
    let (first, last, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let other = || {
        if sys::become_least_urgent().is_ok() {
            while !stop.load(Relaxed) {
                // This order matters: a time read before the thread lost its CPU must not answer a later request.
                let asked = first.load(Relaxed) == 0;
                let now = sys::monotonic_ns();
                if asked {
                    first.store(now, Relaxed);
                }
                last.store(now, Relaxed);
            }
        }
    };
    let mut times = Sleeps::default();
    std::thread::scope(|scope| {
        scope.spawn(other);
        sys::end_waits_on_time();
        for _ in 0..count * TRIES {
            if times.call.len() == count {
                break;
            }
            first.store(0, Relaxed);
            let begun = sys::monotonic_ns();
            compute(planted.call);
            sys::sleep_until(sys::monotonic_ns() + LENGTH);
            compute(planted.back);
            let (back, ran) = (sys::monotonic_ns(), first.load(Relaxed));
            if ran > begun {
                times.call.push(ran - begun);
                times.back.push(back.saturating_sub(last.load(Relaxed)));
            }
        }
        stop.store(true, Relaxed);
    });
    enough(times.call.len(), count)?;
    Ok(times)
}

fn enough(seen: usize, of: usize) -> Result<(), String> {
    if seen < LEAST.min(of) {
        let tried = of * TRIES;
        return Err(format!("others had this CPU: only {seen} of {tried} sleeps could be followed"));
    }
    Ok(())
}

/// Time in ns that the interrupt ending a sleep takes from a computing thread the sleeper does not preempt.
///
/// # Errors
/// The reason there is no figure, as a sentence.
pub fn interrupts(count: usize, planted: Planted) -> Result<Vec<u64>, String> {
    let (due, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let sleeper = || {
        sys::end_waits_on_time();
        if sys::become_least_urgent().is_ok() {
            while !stop.load(Relaxed) {
                let at = sys::monotonic_ns() + 2 * LENGTH;
                due.store(at, Relaxed);
                sys::sleep_until(at);
            }
        }
    };
    let usual = between_readings();
    let times = std::thread::scope(|scope| {
        scope.spawn(sleeper);
        sys::end_waits_on_time();
        let mut times = Vec::with_capacity(count);
        for _ in 0..count * TRIES {
            if times.len() == count {
                break;
            }
            // The other thread gets the CPU and sleeps for twice as long.
            sys::sleep_until(sys::monotonic_ns() + LENGTH);
            let (at, before) = (due.load(Relaxed), sys::switches());
            if at > sys::monotonic_ns() {
                let pause = first_pause(at, usual * PAUSE, planted.interrupt);
                // If the thread lost the CPU, the gap is another task's slice, not an interrupt.
                times.extend(pause.filter(|_| sys::switches() == before).map(|ns| ns.saturating_sub(usual)));
            }
        }
        stop.store(true, Relaxed);
        times
    });
    enough(times.len(), count)?;
    Ok(times)
}

/// Median time in ns from one reading of the clock to the next.
fn between_readings() -> u64 {
    let mut last = sys::monotonic_ns();
    let mut step = || {
        let now = sys::monotonic_ns();
        now - std::mem::replace(&mut last, now)
    };
    let mut times: Vec<u64> = (0..1_001).map(|_| step()).collect();
    times.sort_unstable();
    times[times.len() / 2].max(1)
}

/// Computes until the first pause longer than `least` that ends after `due`. Returns its length in ns.
fn first_pause(due: u64, least: u64, planted: u64) -> Option<u64> {
    let mut last = sys::monotonic_ns();
    let mut planted = Some(planted);
    while last < due + LATE {
        let mut now = sys::monotonic_ns();
        if let Some(ns) = planted.take_if(|ns| now > due && *ns > 0) {
            compute(ns);
            now = sys::monotonic_ns();
        }
        if now > due && now - last > least {
            return Some(now - last);
        }
        last = now;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, PoisonError};

    /// Length of work, ns: longer than any of the costs, shorter than other tasks' time slices.
    const WORK: u64 = 1_000_000;
    /// Both tests want the same CPU for themselves.
    static CPU: Mutex<()> = Mutex::new(());

    fn median(times: &[u64]) -> u64 {
        crate::calibrate::Sample::of(times.to_vec()).unwrap().median
    }

    /// Runs `work` pinned to one CPU, as calibration does.
    fn on_one_cpu<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        let _mine = CPU.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::scope(|scope| {
            let pinned = || {
                let cpus = sys::affinity_of(0).unwrap();
                sys::pin(&cpus[..1]).unwrap();
                work()
            };
            scope.spawn(pinned).join().unwrap()
        })
    }

    #[test]
    fn a_slower_call_to_sleep_and_a_later_return_are_each_measured_where_they_are() {
        let measure = |planted| on_one_cpu(move || sleeps(41, planted));
        let (plain, call, back) = (
            measure(Planted::default()),
            measure(Planted { call: WORK, ..Planted::default() }),
            measure(Planted { back: WORK, ..Planted::default() }),
        );
        let (Ok(plain), Ok(call), Ok(back)) = (plain, call, back) else {
            println!("SKIPPED: others have this CPU, so that who is least urgent never runs");
            return;
        };
        let shown = format!("{plain:?} {call:?} {back:?}");
        assert!(median(&plain.call) > 0 && median(&plain.back) > 0, "{shown}");
        assert!(median(&call.call) > median(&plain.call) + WORK / 2, "{shown}");
        assert!(median(&back.back) > median(&plain.back) + WORK / 2, "{shown}");
        assert!(median(&call.back) < median(&back.back) && median(&back.call) < median(&call.call), "{shown}");
    }

    #[test]
    fn a_slower_interrupt_is_measured() {
        let measure = |planted| on_one_cpu(move || interrupts(41, planted));
        let plain = measure(Planted::default());
        let slow = measure(Planted { interrupt: WORK, ..Planted::default() });
        let (Ok(plain), Ok(slow)) = (plain, slow) else {
            println!("SKIPPED: others have this CPU, so that no interrupt can be followed");
            return;
        };
        assert!(plain.iter().all(|ns| *ns > 0), "{plain:?}");
        assert!(slow.iter().all(|ns| *ns > WORK / 2), "{slow:?}");
        assert!(median(&plain) + WORK / 2 < median(&slow), "{plain:?} {slow:?}");
    }
}
