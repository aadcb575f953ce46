//! CPU time by function, sampled with perf, and the number of runnable tasks meanwhile.
//!
//! The kernel has no counters for this: `/proc/schedstat` has calls and waiting times but no CPU time of the scheduler,
//! and tracing its functions costs more than they do. Samples are taken by a timer, which also works in virtual
//! machines without counters. A timer interrupt is delayed while interrupts are off, so time inside a switch is charged
//! to the function that enables them again, itself part of the scheduler.

use super::Program;
use super::process::Process;
use crate::load_error::LoadError;
use crate::role::Role;
use crate::workspace::Workspace;
use goodness_core::Span;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

pub(super) const PERF: Program = Program { name: "perf", package: "linux-perf" };
/// Samples a second of each CPU; no divisor of the kernel's own tick rates.
const RATE: &str = "499";
/// Time limit for perf to start, write and report.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Sampling interval of the number of runnable tasks.
const LOOK: Duration = Duration::from_millis(20);

/// Name prefixes of scheduler functions: picking, queueing, waking, placing and switching.
const SCHEDULER: [&str; 46] = [
    "__calc_delta",
    "__dequeue_",
    "__enqueue_",
    "__pick_",
    "__resched_curr",
    "__schedule",
    "__switch_to",
    "__update_load_avg",
    "activate_task",
    "available_idle_cpu",
    "avg_vruntime",
    "balance_fair",
    "check_preempt",
    "context_switch",
    "cpuacct_charge",
    "deactivate_task",
    "dequeue_",
    "enqueue_",
    "entity_eligible",
    "finish_task_switch",
    "load_balance",
    "newidle_balance",
    "pick_",
    "place_entity",
    "prepare_task_switch",
    "psi_task_",
    "put_prev_",
    "resched_curr",
    "reweight_",
    "sched_balance",
    "sched_tick",
    "schedule",
    "select_idle",
    "select_task_rq",
    "set_next_",
    "switch_mm",
    "task_tick_",
    "tick_nohz_idle",
    "try_to_wake_up",
    "ttwu_",
    "update_cfs_group",
    "update_curr",
    "update_load_avg",
    "update_rq_clock",
    "vruntime_eligible",
    "wakeup_preempt",
];
/// Functions in which a CPU idles.
const RESTING: [&str; 7] =
    ["acpi_idle", "cpuidle_", "default_idle", "intel_idle", "mwait_idle", "native_safe_halt", "pv_native_safe_halt"];

/// Sampled shares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shares {
    /// CPU time in the scheduler over busy CPU time.
    pub(super) scheduler: f64,
    /// Idle CPU time over all.
    pub(super) idle: f64,
}

/// A profile that is being taken.
pub(super) struct Profile {
    perf: Process,
    file: PathBuf,
}

impl Profile {
    /// Profiles all CPUs for `length`, after `warmup`.
    pub(super) fn start(workspace: &Workspace, warmup: Span, length: Span) -> Result<Profile, LoadError> {
        let file = workspace.folder().join("perf.data");
        let mut command = Command::new(PERF.find()?);
        command.args(["record", "-q", "-a", "-e", "cpu-clock", "-F", RATE, "-o"]).arg(&file);
        command.arg(format!("--delay={}", (warmup.ns() / 1_000_000).max(1)));
        let seconds = (warmup.ns() + length.ns()) as f64 / 1e9;
        command.args(["--", "sleep", &format!("{seconds:.3}")]);
        let perf = Process::start(workspace, Role::Client, "perf", &mut command, None)?;
        Ok(Profile { perf, file })
    }

    /// Waits until it is taken and reads it.
    pub(super) fn read(self, workspace: &Workspace, length: Span) -> Result<Shares, LoadError> {
        self.perf.finish(Duration::from_nanos(length.ns()) + TIMEOUT)?;
        let mut command = Command::new(PERF.find()?);
        command.args(["report", "--stdio", "-q", "--no-children", "-F", "sample,sym", "-i"]).arg(&self.file);
        let report = Process::start(workspace, Role::Client, "perf-report", &mut command, None)?;
        shares(&report.finish(TIMEOUT)?)
    }
}

/// Reads lines of samples, mode and function.
fn shares(report: &str) -> Result<Shares, LoadError> {
    let (mut all, mut named, mut idle, mut scheduler) = (0u64, 0u64, 0u64, 0u64);
    for line in report.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let (Some(count), Some(mode), Some(function)) = (words.next(), words.next(), words.next()) else { continue };
        let Ok(count) = count.parse::<u64>() else { continue };
        let is = |starts: &[&str]| mode == "[k]" && starts.iter().any(|start| function.starts_with(start));
        all += count;
        named += if mode == "[k]" && !function.starts_with("0x") { count } else { 0 };
        idle += if is(&RESTING) { count } else { 0 };
        scheduler += if is(&SCHEDULER) { count } else { 0 };
    }
    if named == 0 {
        return Err(LoadError(
            "perf named no function of the kernel; run as root, and see /proc/sys/kernel/kptr_restrict".into(),
        ));
    }
    let busy = (all - idle).max(1);
    Ok(Shares { scheduler: scheduler as f64 / busy as f64, idle: idle as f64 / all as f64 })
}

/// Mean number of runnable tasks, including running ones but not the caller, for `length` after `warmup`.
pub(super) fn runnable(warmup: Span, length: Span) -> f64 {
    std::thread::sleep(Duration::from_nanos(warmup.ns()));
    let (begun, mut sum, mut looks) = (Instant::now(), 0u64, 0u64);
    while begun.elapsed() < Duration::from_nanos(length.ns()) {
        let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let running = text.split_whitespace().nth(3).and_then(|word| word.split_once('/')?.0.parse::<u64>().ok());
        sum += running.unwrap_or(1).saturating_sub(1);
        looks += 1;
        std::thread::sleep(LOOK);
    }
    sum as f64 / looks.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the form of `perf report --stdio -q --no-children -F sample,sym`, 6.1.
    const REPORT: &str = "\n       50  [k] pv_native_safe_halt\n       20  [.] ap_process_request\n        6  [k] \
        __schedule\n\
                          \x20       3  [k] try_to_wake_up\n        1  [.] schedule_of_lessons\n       20  [k] \
                          tcp_sendmsg\n";

    #[test]
    fn shares_are_of_busy_time_and_of_the_kernel_s_functions_only() {
        assert_eq!(shares(REPORT).unwrap(), Shares { scheduler: 9.0 / 50.0, idle: 0.5 });
        assert!(SCHEDULER.is_sorted() && RESTING.is_sorted());
    }

    #[test]
    fn a_profile_without_names_of_the_kernel_is_refused() {
        for report in ["", "   20  [.] ap_process_request\n", "  7  [k] 0xffffffff81000000\n", "no samples\n"] {
            assert!(shares(report).unwrap_err().0.contains("kptr_restrict"), "{report}");
        }
    }
}
