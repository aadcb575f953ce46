//! Measures wake-up latency across CPUs, and the time to pass a word between them.

use super::Sample;
use goodness_sys as sys;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Wake-ups of one figure.
const WAKES: usize = 201;
/// Long enough for a CPU to become idle.
const PAUSE: Duration = Duration::from_micros(300);
/// Number of checks that the sleeper is asleep before a wake-up is skipped because the machine is too busy.
const LOOKS: u32 = 100;

/// A thread that waits for a byte, notes its arrival time and replies.
#[derive(Default)]
struct Sleeper {
    thread: AtomicI32,
    woken: AtomicU64,
}

impl Sleeper {
    fn wait(&self, from: &OwnedFd, to: &OwnedFd) {
        self.thread.store(sys::thread_id(), Ordering::SeqCst);
        while let Some(byte) = sys::read_byte(from).filter(|byte| *byte != sys::STOP) {
            self.woken.store(sys::monotonic_ns(), Ordering::SeqCst);
            sys::write_byte(to, byte);
        }
    }

    /// True if it sleeps by now.
    fn sleeps(&self) -> bool {
        (0..LOOKS).any(|look| {
            if look > 0 {
                std::thread::sleep(PAUSE);
            }
            let thread = self.thread.load(Ordering::SeqCst);
            let state = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
            state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
        })
    }
}

/// Wakes the sleeper repeatedly. Returns the times from before the write until the sleeper has its byte, ns.
fn wakes(sleeper: &Sleeper, to: &OwnedFd, answers: &OwnedFd) -> Vec<u64> {
    let mut times = Vec::with_capacity(WAKES);
    for _ in 0..WAKES {
        if sleeper.sleeps() {
            // The check itself must not keep the sleeper's CPU busy.
            std::thread::sleep(PAUSE);
            let begun = sys::monotonic_ns();
            sys::write_byte(to, 1);
            let _ = sys::read_byte(answers);
            times.push(sleeper.woken.load(Ordering::SeqCst).saturating_sub(begun));
        }
    }
    sys::write_byte(to, sys::STOP);
    times
}

/// Times in ns from before the write until the reader on CPU `other` has its byte. With `busy`, a `SCHED_IDLE` task
/// computes on that CPU; otherwise the CPU is idle except for other work on this machine.
///
/// # Errors
/// No pipe can be created.
pub fn latency(other: u32, busy: bool) -> io::Result<Vec<u64>> {
    let (there, back) = (sys::pipe()?, sys::pipe()?);
    let (sleeper, stop) = (Sleeper::default(), AtomicBool::new(!busy));
    Ok(std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = sys::pin(&[other]);
            sleeper.wait(&there.0, &back.1);
        });
        scope.spawn(|| {
            if sys::pin(&[other]).is_ok() && sys::become_least_urgent().is_ok() {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        });
        let times = wakes(&sleeper, &there.1, &back.0);
        stop.store(true, Ordering::Relaxed);
        times
    }))
}

/// Round trips of one repetition.
const TURNS: u32 = 200;

/// Time to pass a word to a thread that spins on CPU `other`, in one direction.
///
/// # Errors
/// None so far; the signature matches the other measurements.
pub fn handover(other: u32) -> io::Result<Option<Sample>> {
    let word = AtomicU32::new(0);
    let end = TURNS * WAKES as u32;
    let wait_for = |turn: u32| {
        while word.load(Ordering::Acquire) != turn {
            std::hint::spin_loop();
        }
    };
    Ok(std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = sys::pin(&[other]);
            for turn in (1..2 * end).step_by(2) {
                wait_for(turn);
                word.store(turn + 1, Ordering::Release);
            }
        });
        let mut times = Vec::with_capacity(WAKES);
        let mut turn = 0;
        for _ in 0..WAKES {
            let begun = sys::monotonic_ns();
            for _ in 0..TURNS {
                word.store(turn + 1, Ordering::Release);
                wait_for(turn + 2);
                turn += 2;
            }
            times.push((sys::monotonic_ns() - begun) / u64::from(2 * TURNS));
        }
        Sample::of(times)
    }))
}
