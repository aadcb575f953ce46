//! The running kernel: its release, and the switch of its autogroups.

/// The file that turns autogroups on or off.
pub const AUTOGROUP: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// Release of the running kernel, as `uname -r` prints it; `None` where it cannot be read.
#[must_use]
pub fn kernel_release() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    Some(text.trim().to_string())
}
