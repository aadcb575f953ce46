//! A word of the calling thread that tells whether it lost its CPU, without a system call.
//!
//! A restartable sequence (rseq) is code that the kernel aborts if it preempts the thread within it. A thread names the
//! sequence in a word of its own, and the kernel clears that word if it preempts the thread elsewhere. So a thread that
//! names a sequence which it never runs finds the word cleared after it was preempted.
//!
//! Source: `include/uapi/linux/rseq.h` of the kernel, the chapter on restartable sequences of the glibc manual (2.35).

use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};

/// `struct rseq_cs`: code from `start` on, of `length` bytes.
#[repr(C, align(32))]
#[derive(Debug)]
struct Sequence {
    version: u32,
    flags: u32,
    start: u64,
    length: u64,
    abort: u64,
}

/// The kernel reads the signature that glibc registered in front of where it would continue after an abort.
static SIGNATURE: [u32; 2] = [0x5305_3053, 0];

/// A sequence of one byte, where no code is.
fn nowhere() -> u64 {
    static SEQUENCE: OnceLock<Sequence> = OnceLock::new();
    let abort = (&raw const SIGNATURE[1]) as u64;
    SEQUENCE.get_or_init(|| Sequence { version: 0, flags: 0, start: 1, length: 1, abort }) as *const Sequence as u64
}

/// The part of `struct rseq` that is read and written here.
#[repr(C)]
struct Area {
    cpu_start: AtomicI32,
    /// Below 0 if the area is not registered.
    cpu: AtomicI32,
    sequence: AtomicU64,
}

/// The distance of a thread's area from its thread pointer, if the C library has one.
fn offset() -> Option<isize> {
    static OFFSET: OnceLock<Option<isize>> = OnceLock::new();
    *OFFSET.get_or_init(|| {
        // SAFETY: the name ends with a zero byte; the symbol, if there is one, is a constant of that type.
        unsafe {
            let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
            symbol.as_ref().copied()
        }
    })
}

#[cfg(target_arch = "x86_64")]
fn thread_pointer() -> Option<*const u8> {
    let pointer: *const u8;
    // SAFETY: the first word at the thread pointer is the pointer itself (System V ABI, thread-local storage).
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, readonly)) };
    Some(pointer)
}

#[cfg(not(target_arch = "x86_64"))]
fn thread_pointer() -> Option<*const u8> {
    // The signature above is that of x86.
    None
}

/// The word of the calling thread, which must not leave it.
pub struct Mark(&'static AtomicU64, PhantomData<*const ()>);

impl Mark {
    /// The calling thread's, if its C library and its kernel have it. Set.
    pub fn set() -> Option<Mark> {
        let area = thread_pointer()?.wrapping_offset(offset()?).cast::<Area>();
        // SAFETY: glibc keeps the area there as long as the thread lives, and no other thread gets this reference.
        let area: &'static Area = unsafe { &*area };
        if area.cpu.load(Relaxed) < 0 {
            return None;
        }
        area.sequence.store(nowhere(), Relaxed);
        Some(Mark(&area.sequence, PhantomData))
    }

    /// True if the thread was preempted in user mode since it was last set. Sets it again. From about Linux 6.19 on, a
    /// thread that slept in a system call does not find it cleared.
    pub fn was_cleared(&self) -> bool {
        self.0.swap(nowhere(), Relaxed) == 0
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.0.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_sys::{pin, switches};

    #[test]
    fn a_thread_that_keeps_its_cpu_finds_its_mark_set() {
        let Some(mark) = Mark::set() else { return println!("no restartable sequences here") };
        let kept = |_: &u32| {
            let before = switches();
            mark.was_cleared();
            let is_cleared = mark.was_cleared();
            (switches() == before).then(|| assert!(!is_cleared, "it kept its CPU")).is_some()
        };
        assert!((0..200).filter(kept).count() > 10);
    }

    #[test]
    fn a_thread_that_is_preempted_finds_its_mark_cleared() {
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _ = pin(&[0]);
                while !stop.load(Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let judged = scope.spawn(|| {
                let _ = pin(&[0]);
                let Some(mark) = Mark::set() else { return };
                let before = switches();
                let begun = std::time::Instant::now();
                // Other work at a return to user mode may clear it, too.
                while !(mark.was_cleared() && switches() != before) {
                    assert!(begun.elapsed().as_secs() < 60, "never preempted beside another on its CPU");
                }
            });
            judged.join().expect("it ends");
            stop.store(true, Relaxed);
        });
    }
}
