//! CPU affinity of threads and of commands.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Bytes of an affinity mask: room for 8192 CPUs, the largest `NR_CPUS` of Linux.
const MASK_BYTES: usize = 1024;

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

/// Confines the calling thread to `cpus`; threads it starts later inherit that.
///
/// # Errors
/// The error of sched_setaffinity(2).
pub fn pin(cpus: &[u32]) -> io::Result<()> {
    set_mask(&mask_of(cpus))
}

/// Sets the affinity of the calling thread. Makes one system call and allocates nothing.
fn set_mask(mask: &[u8; MASK_BYTES]) -> io::Result<()> {
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

/// Makes `command` start with its affinity set to `cpus`; its children inherit it.
pub fn confine(command: &mut Command, cpus: &[u32]) {
    let mask = mask_of(cpus);
    // SAFETY: between fork and exec only one system call is made; nothing allocates or locks.
    unsafe { command.pre_exec(move || set_mask(&mask)) };
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
}
