//! Scheduling class and nice of threads and of commands.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The number of `SCHED_EXT`, the class of tasks that a scheduler loaded by sched_ext has (Linux 6.12,
/// `include/uapi/linux/sched.h`).
pub const SCHED_EXT: i32 = 7;

/// Scheduling class of thread `tid`; `None` if it has ended.
pub fn class_of(tid: i32) -> Option<i32> {
    // SAFETY: no pointers.
    let class = unsafe { libc::sched_getscheduler(tid) };
    (class >= 0).then_some(class)
}

/// True if a class is one of the fair ones.
pub fn is_fair(class: i32) -> bool {
    matches!(class, libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE)
}

/// Sets the class of thread `tid` (0: the calling thread) to `class`, which must not be a real-time class.
///
/// # Errors
/// The error of sched_setscheduler(2).
pub fn set_class(tid: i32, class: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` outlives the call.
    match unsafe { libc::sched_setscheduler(tid, class, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes `command` start in the sched_ext class with this nice value; its children inherit both.
pub fn submit(command: &mut Command, nice: i32) {
    let set = move || set_nice(nice).and_then(|()| set_class(0, SCHED_EXT));
    // SAFETY: between fork and exec only system calls are made; nothing allocates or locks.
    unsafe { command.pre_exec(set) };
}

/// Puts the calling thread into `SCHED_IDLE` for good: all other tasks preempt it, and it preempts none.
///
/// # Errors
/// The error of sched_setscheduler(2).
pub fn become_least_urgent() -> io::Result<()> {
    set_class(0, libc::SCHED_IDLE)
}

/// The nice of the calling thread.
pub fn nice() -> i32 {
    // SAFETY: no pointers; 0 is the calling thread.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// Sets the nice value of the calling thread.
///
/// # Errors
/// The error of setpriority(2).
pub fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: no pointers; 0 is the calling thread.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
