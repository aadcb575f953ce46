//! Measures context switches between two tasks on one CPU, by `sched_yield` and by a byte sent through pipes.

use goodness_sys as sys;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Repetitions, each of [`ROUNDS`] rounds.
const REPETITIONS: usize = 101;
const ROUNDS: u64 = 100;

/// Cost of a pipe without a context switch: median ns to write and to read a byte.
pub struct Pipe {
    pub write: u64,
    pub read: u64,
}

/// The other side of the ping-pong.
#[derive(Clone, Copy)]
pub enum Partner {
    Thread,
    Process,
}

/// Times in ns of a switch between two threads that call sched_yield, less the time of a call that does not switch.
/// Leaves out repetitions in which fewer than nine yields in ten switched.
pub fn yields() -> Vec<u64> {
    let alone = yields_of_one().into_iter().map(|(ns, _)| ns).collect();
    let alone = super::Sample::of(alone).map_or(0, |sample| sample.median);
    let stop = AtomicBool::new(false);
    let together = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        });
        let times = yields_of_one();
        stop.store(true, Ordering::Relaxed);
        times
    });
    // Each of the two threads yields once per round.
    let switched = together.into_iter().filter(|(_, switches)| *switches >= ROUNDS * 9 / 10);
    switched.map(|(ns, _)| (ns / 2).saturating_sub(alone)).collect()
}

/// Repetitions of one yield: its time in ns and the switches away from this thread.
fn yields_of_one() -> Vec<(u64, u64)> {
    let mut times = Vec::with_capacity(REPETITIONS);
    for _ in 0..REPETITIONS {
        let (begun, switches) = (sys::monotonic_ns(), super::switches());
        (0..ROUNDS).for_each(|_| std::thread::yield_now());
        times.push(((sys::monotonic_ns() - begun) / ROUNDS, super::switches() - switches));
    }
    times
}

/// Writes and reads a pipe within one thread.
///
/// # Errors
/// The pipe cannot be made.
pub fn pipe_alone() -> io::Result<Pipe> {
    let (read, write) = sys::pipe()?;
    let (mut writes, mut reads) = (Vec::with_capacity(REPETITIONS), Vec::with_capacity(REPETITIONS));
    for _ in 0..REPETITIONS {
        let begun = sys::monotonic_ns();
        (0..ROUNDS).for_each(|_| sys::write_byte(&write, 1));
        let written = sys::monotonic_ns();
        for _ in 0..ROUNDS {
            let _ = sys::read_byte(&read);
        }
        writes.push((written - begun) / ROUNDS);
        reads.push((sys::monotonic_ns() - written) / ROUNDS);
    }
    let median = |times| super::Sample::of(times).map_or(0, |sample| sample.median);
    Ok(Pipe { write: median(writes), read: median(reads) })
}

/// Times in ns from one side's write to the other's read, on the CPU the thread is pinned to (half a round trip).
///
/// # Errors
/// No pipe or process can be created.
pub fn ping_pong(partner: Partner) -> io::Result<Vec<u64>> {
    let (there, back) = (sys::pipe()?, sys::pipe()?);
    match partner {
        Partner::Process => {
            let child = sys::echo_process(&there.0, &back.1)?;
            let times = rounds(&there.1, &back.0);
            sys::reap(child);
            Ok(times)
        }
        Partner::Thread => Ok(std::thread::scope(|scope| {
            scope.spawn(|| {
                while let Some(byte) = sys::read_byte(&there.0).filter(|byte| *byte != sys::STOP) {
                    sys::write_byte(&back.1, byte);
                }
            });
            rounds(&there.1, &back.0)
        })),
    }
}

/// Plays all rounds and stops the partner.
fn rounds(to: &OwnedFd, from: &OwnedFd) -> Vec<u64> {
    let mut times = Vec::with_capacity(REPETITIONS);
    for _ in 0..REPETITIONS {
        let begun = sys::monotonic_ns();
        for _ in 0..ROUNDS {
            sys::write_byte(to, 1);
            let _ = sys::read_byte(from);
        }
        times.push((sys::monotonic_ns() - begun) / (2 * ROUNDS));
    }
    sys::write_byte(to, sys::STOP);
    times
}
