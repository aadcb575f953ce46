//! Linux system calls that the standard library lacks, behind safe functions, and processes with scheduling attributes.

pub mod cpu_list;
pub mod forked;
pub mod process;
pub mod topology;

mod command;
mod signals;

pub use command::{Exit, Running};
pub use signals::Signals;

use std::ffi::{CString, OsStr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, io};

/// Bytes of an affinity mask: room for 8192 CPUs, the largest `NR_CPUS` of Linux.
const MASK_BYTES: usize = 1024;

/// The effective user id of this process.
pub fn effective_user() -> u32 {
    // SAFETY: takes no arguments, cannot fail.
    unsafe { libc::geteuid() }
}

/// Error number of this thread's last system call. Unlike [`io::Error::last_os_error`] it is safe between fork and
/// exec.
#[must_use]
pub fn errno() -> i32 {
    // SAFETY: the location belongs to this thread.
    unsafe { *libc::__errno_location() }
}

/// Nanoseconds on `CLOCK_MONOTONIC`, the clock the trace uses.
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec to write to; CLOCK_MONOTONIC always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// `unix` (seconds since 1970) as local time: `14:02`, preceded by the date unless it is today.
#[must_use]
pub fn local_time(unix: i64) -> String {
    let here = |unix: i64| {
        let unix = unix as libc::time_t;
        // SAFETY: tm is plain memory for which all zeroes is valid; both outlive the call.
        unsafe {
            let mut time: libc::tm = std::mem::zeroed();
            libc::localtime_r(&raw const unix, &raw mut time);
            time
        }
    };
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let (then, now) = (here(unix), here(since_1970.as_secs() as i64));
    let clock = format!("{:02}:{:02}", then.tm_hour, then.tm_min);
    if (then.tm_year, then.tm_yday) == (now.tm_year, now.tm_yday) {
        return clock;
    }
    format!("{}-{:02}-{:02} {clock}", 1900 + then.tm_year, then.tm_mon + 1, then.tm_mday)
}

/// Ticks a second in which `/proc/stat` counts.
pub fn user_hz() -> u64 {
    // SAFETY: sysconf reads a constant.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).unwrap_or(100).max(1)
}

/// The CPUs thread `tid` may run on, ascending; `None` if it has ended.
pub fn affinity_of(tid: i32) -> Option<Vec<u32>> {
    let mut mask = [0u8; MASK_BYTES];
    // The raw call, because the libc wrapper's fixed cpu_set_t fails on machines with more than 1024 CPUs.
    // SAFETY: the kernel writes at most MASK_BYTES bytes to `mask`.
    let written = unsafe { libc::syscall(libc::SYS_sched_getaffinity, tid, MASK_BYTES, mask.as_mut_ptr()) };
    let written = usize::try_from(written).ok()?;
    let cpus = (0..written * 8).filter(|cpu| mask[cpu / 8] & (1 << (cpu % 8)) != 0);
    Some(cpus.map(|cpu| cpu as u32).collect())
}

/// Confines the calling thread to `cpus`; threads it starts afterwards inherit that.
///
/// # Errors
/// What sched_setaffinity(2) reports.
pub fn pin(cpus: &[u32]) -> io::Result<()> {
    let mask = mask_of(cpus);
    // SAFETY: reads MASK_BYTES bytes of `mask`.
    match unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, MASK_BYTES, mask.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn mask_of(cpus: &[u32]) -> [u8; MASK_BYTES] {
    let mut mask = [0u8; MASK_BYTES];
    for &cpu in cpus.iter().filter(|&&cpu| (cpu as usize) < MASK_BYTES * 8) {
        mask[cpu as usize / 8] |= 1 << (cpu % 8);
    }
    mask
}

/// The calling thread's id.
pub fn thread_id() -> i32 {
    // SAFETY: takes no arguments, cannot fail.
    unsafe { libc::gettid() }
}

/// Puts the calling thread into `SCHED_IDLE` for good: all other tasks preempt it, and it preempts none.
///
/// # Errors The error of sched_setscheduler(2).
pub fn become_least_urgent() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` outlives the call; pid 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Context switches of the calling thread so far.
pub fn switches() -> u64 {
    // SAFETY: rusage is plain memory for which all zeroes is valid; the kernel fills it.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `used` outlives the call.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut used) };
    used.ru_nvcsw as u64 + used.ru_nivcsw as u64
}

/// Time between two ticks of the kernel: `CLOCK_MONOTONIC_COARSE` advances with them. In ns; `None` where that clock
/// is missing.
pub fn tick_ns() -> Option<u64> {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `step` is a valid timespec to write to.
    let answer = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step) };
    let ns = step.tv_sec as u64 * 1_000_000_000 + step.tv_nsec as u64;
    (answer == 0 && ns > 0).then_some(ns)
}

/// Time of the latest tick on `CLOCK_MONOTONIC_COARSE`, ns; 0 if that clock is missing.
pub fn coarse_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Sleeps until `at` on `CLOCK_MONOTONIC`, ns, or until a signal.
pub fn sleep_until(at: u64) {
    let at = libc::timespec { tv_sec: (at / 1_000_000_000) as libc::time_t, tv_nsec: (at % 1_000_000_000) as _ };
    // SAFETY: `at` is a live timespec; of an absolute sleep nothing remains to be written.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const at, std::ptr::null_mut()) };
}

/// A child process that sends back every byte from `from` into `to`, until it reads [`STOP`] or its parent ends. To be
/// reaped with [`reap`].
///
/// # Errors
/// What fork(2) reports.
pub fn echo_process(from: &OwnedFd, to: &OwnedFd) -> io::Result<i32> {
    // SAFETY: between fork and exit the child makes only system calls; nothing allocates, locks or unwinds.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: no pointers.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            while let Some(byte) = read_byte(from).filter(|byte| *byte != STOP) {
                write_byte(to, byte);
            }
            // SAFETY: ends the child at once, without running anything that belongs to the parent.
            unsafe { libc::_exit(0) }
        }
        pid => Ok(pid),
    }
}

/// Waits until child `pid` has ended and removes it.
pub fn reap(pid: i32) {
    // SAFETY: the status is not asked for.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

/// The byte that ends an echo.
pub const STOP: u8 = b'q';

/// The next byte of `end`; `None` at its end or on an error.
pub fn read_byte(end: &OwnedFd) -> Option<u8> {
    let mut byte = 0u8;
    // SAFETY: room for one byte.
    let read = unsafe { libc::read(end.as_raw_fd(), (&raw mut byte).cast(), 1) };
    (read == 1).then_some(byte)
}

/// Makes `command` start with its affinity set to `cpus`; its children inherit it.
pub fn confine(command: &mut Command, cpus: &[u32]) {
    let mask = mask_of(cpus);
    let set = move || {
        // SAFETY: reads MASK_BYTES bytes of `mask`, which the closure owns.
        match unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, MASK_BYTES, mask.as_ptr()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec only one system call is made; nothing allocates or locks.
    unsafe { command.pre_exec(set) };
}

/// A descriptor that becomes readable when process `pid` ends. `None` on kernels before 5.3.
pub fn process_descriptor(pid: u32) -> Option<OwnedFd> {
    // SAFETY: no pointers; the returned descriptor is new and ours.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = RawFd::try_from(fd).ok().filter(|&fd| fd >= 0)?;
    // SAFETY: just returned by the kernel, owned by nobody else.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sends `signal` to process `pid`. A missing process is not an error.
pub fn send_signal(pid: u32, signal: i32) {
    // SAFETY: no pointers.
    unsafe { libc::kill(pid as libc::pid_t, signal) };
}

/// Whether child `pid` has ended. Does not reap it, so that its `/proc` entry stays readable.
pub fn has_ended(pid: u32) -> bool {
    // SAFETY: siginfo_t is plain memory for which all zeroes is valid; the kernel fills it.
    let mut seen: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `seen` outlives the call.
    let answer = unsafe { libc::waitid(libc::P_PID, pid, &raw mut seen, how) };
    // SAFETY: si_pid is set by waitid, or still zero when nothing has ended.
    answer == 0 && unsafe { seen.si_pid() } != 0
}

/// Waits until one of `descriptors` is readable or `patience` is over. Returns for each whether it is readable.
///
/// # Errors The error of poll(2). After a signal, none counts as readable.
pub fn wait_readable(descriptors: &[RawFd], patience: Duration) -> io::Result<Vec<bool>> {
    let mut asked: Vec<libc::pollfd> =
        descriptors.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: `asked` is a live array of the length given.
    let answer = unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, milliseconds) };
    if answer < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
        return Ok(vec![false; descriptors.len()]);
    }
    Ok(asked.iter().map(|fd| fd.revents != 0).collect())
}

/// The class of tasks that a scheduler loaded by sched_ext has.
pub const SCHED_EXT: i32 = 7;

/// Scheduling class of thread `tid`; `None` if it has ended.
pub fn class_of(tid: i32) -> Option<i32> {
    // SAFETY: no pointers.
    let class = unsafe { libc::sched_getscheduler(tid) };
    (class >= 0).then_some(class)
}

/// Whether a class is one of the fair ones.
pub fn is_fair(class: i32) -> bool {
    matches!(class, libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE)
}

/// Sets the class of thread `tid` (0: the calling thread) to `class`, which must not be a real-time class.
///
/// # Errors The error of sched_setscheduler(2).
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

/// The nice of the calling thread.
pub fn nice() -> i32 {
    // SAFETY: no pointers; 0 is the calling thread.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

/// Sets the nice value of the calling thread.
///
/// # Errors The error of setpriority(2).
pub fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: no pointers; 0 is the calling thread.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the timer slack of the calling thread to its minimum, so that waits end on time and not up to 50 us later.
pub fn end_waits_on_time() {
    // SAFETY: no pointers; 1 ns is the least slack.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
}

/// Waits for several descriptors again and again, without allocating. They are registered once: a wait costs the same for many.
#[derive(Debug)]
pub struct Watch {
    registered: OwnedFd,
    /// Latest events: positions in the list given to [`Watch::over`].
    ready: [libc::epoll_event; Watch::AT_ONCE],
}

impl Watch {
    /// Most events per wait; the rest come with the next one.
    const AT_ONCE: usize = 8;

    /// A watch over `descriptors`.
    ///
    /// # Errors
    /// What epoll_create1(2) and epoll_ctl(2) report.
    pub fn over(descriptors: &[RawFd]) -> io::Result<Watch> {
        // SAFETY: no pointers.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        let registered = unsafe { OwnedFd::from_raw_fd(fd) };
        for (place, &descriptor) in descriptors.iter().enumerate() {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: place as u64 };
            // SAFETY: the event is read during the call only.
            if unsafe { libc::epoll_ctl(fd, libc::EPOLL_CTL_ADD, descriptor, &raw mut event) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Watch { registered, ready: [libc::epoll_event { events: 0, u64: 0 }; Watch::AT_ONCE] })
    }

    /// Waits until one is readable or `patience` is over; whether any but the first is.
    ///
    /// # Errors
    /// What epoll_pwait2(2) reports; an interrupting signal counts as nothing readable.
    pub fn wait(&mut self, patience: Duration) -> io::Result<bool> {
        let span = libc::timespec {
            tv_sec: patience.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(patience.subsec_nanos()),
        };
        let (to, most) = (self.ready.as_mut_ptr(), Watch::AT_ONCE as libc::c_int);
        // SAFETY: the array has that length and lives as long as `self`; the signal mask is left alone.
        let count =
            unsafe { libc::epoll_pwait2(self.registered.as_raw_fd(), to, most, &raw const span, std::ptr::null()) };
        if count < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) };
        }
        Ok(self.ready[..count as usize].iter().any(|event| event.u64 != 0))
    }
}

/// Mounts a tracefs on the existing folder `at`.
///
/// # Errors
/// What mount(2) reports.
pub fn mount_tracefs(at: &Path) -> io::Result<()> {
    let target = c_path(at.as_os_str())?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    let kind = c"tracefs".as_ptr();
    // SAFETY: all pointers are NUL-terminated strings that outlive the call.
    match unsafe { libc::mount(kind, target.as_ptr(), kind, flags, std::ptr::null()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `text` as the kernel wants paths.
///
/// # Errors
/// When it holds a NUL byte.
pub fn c_path(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a path holds a NUL byte"))
}

/// A pipe closed on exec: (read, write).
///
/// # Errors The error of pipe2(2).
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends: [RawFd; 2] = [-1, -1];
    // SAFETY: room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both were just made and belong to nobody else.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Writes one byte to `end`. A closed reader is not an error.
pub fn write_byte(end: &OwnedFd, byte: u8) {
    // SAFETY: one byte from a live variable.
    unsafe { libc::write(end.as_raw_fd(), (&raw const byte).cast(), 1) };
}

/// Entries of a folder, sorted; empty if it cannot be read.
#[must_use]
pub fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
    let mut paths: Vec<PathBuf> = entries.unwrap_or_default();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_affinity_of_this_thread_names_at_least_one_cpu() {
        assert!(!affinity_of(0).expect("this thread exists").is_empty());
    }

    #[test]
    fn a_confined_command_sees_only_its_cpus() {
        let allowed = affinity_of(0).expect("this thread exists");
        let last = *allowed.last().expect("at least one");
        let mut command = Command::new("sh");
        command.args(["-c", "grep Cpus_allowed_list /proc/self/status"]);
        confine(&mut command, &[last]);
        let shown = String::from_utf8(command.output().expect("sh runs").stdout).expect("text");
        assert_eq!(shown.split_whitespace().last(), Some(last.to_string().as_str()));
    }

    #[test]
    fn an_ended_child_is_noticed_and_can_still_be_reaped() {
        let mut child = Command::new("true").spawn().expect("true runs");
        while !has_ended(child.id()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(child.wait().expect("still there to reap").success());
    }

    #[test]
    fn a_written_byte_makes_the_other_end_readable() {
        let (read, write) = pipe().expect("pipe");
        assert_eq!(wait_readable(&[read.as_raw_fd()], Duration::ZERO).expect("poll"), [false]);
        write_byte(&write, b'x');
        assert_eq!(wait_readable(&[read.as_raw_fd()], Duration::ZERO).expect("poll"), [true]);
    }
}
