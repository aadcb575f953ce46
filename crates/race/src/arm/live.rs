//! `live`: a policy of this project on the running kernel, through sched_ext and `goodness live`.
//!
//! The policy is loaded for the run only. All processes of the load, servers and clients, start in the class
//! `SCHED_EXT`; everything else stays with the kernel's own scheduler. Clients are included because the kernel runs
//! this class only on CPUs without fair tasks: a computing client would block the servers until the kernel unloads the
//! policy.

use super::{Kind, MachineChanges, Setting, Value};
use goodness_restore::{Action, Undo, process_start};
use goodness_sys::cgroup::Hierarchies;
use goodness_sys::process::{Class, Conditions};
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

pub(super) const KIND: Kind = Kind {
    key: "live",
    summary: "A policy of this project, loaded into the kernel for the run (sched_ext, Linux 6.12 and later).",
    example: "\"staircase:interactive=off\"",
    read,
};

const STATE: &str = "/sys/kernel/sched_ext/state";
/// Time limit for loading and unloading.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The process that runs the policy. Dropping it ends the process; the kernel then schedules the tasks again.
#[derive(Debug)]
pub struct LiveDaemon {
    daemon: Child,
    // Undone after it has ended, then without effect.
    undo: Option<Undo>,
}

impl Drop for LiveDaemon {
    fn drop(&mut self) {
        goodness_sys::process::ask_to_end(self.daemon.id());
        let begun = Instant::now();
        while begun.elapsed() < TIMEOUT && matches!(self.daemon.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

#[derive(Debug)]
struct Live(String);

fn read(value: &Value) -> Result<Box<dyn Setting>, String> {
    match value {
        Value::Text(policy) if !policy.is_empty() && !policy.starts_with('-') => Ok(Box::new(Live(policy.clone()))),
        _ => Err("a policy is a name in quotes, with settings behind a colon".into()),
    }
}

fn state() -> String {
    fs::read_to_string(STATE).unwrap_or_default().trim().to_string()
}

impl Setting for Live {
    fn describe(&self) -> String {
        format!("live {}", self.0)
    }

    fn check(&self, _: &Hierarchies) -> Result<(), String> {
        match state().as_str() {
            "" => {
                Err("this kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT); `goodness doctor` says which have".into())
            }
            "disabled" => Ok(()),
            other => Err(format!("another sched_ext scheduler is loaded (state {other}); unload it first")),
        }
    }

    fn condition(&self, conditions: &mut Conditions) {
        conditions.class = Some(Class::Ext);
    }

    fn policy(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn apply(&self, changes: &mut MachineChanges) -> Result<(), String> {
        let mut command =
            goodness_sys::program::again().map_err(|why| format!("this program cannot be found: {why}"))?;
        command.args(["live", &self.0]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.process_group(0);
        let daemon = command.spawn().map_err(|why| format!("`goodness live` cannot be started: {why}"))?;
        let leader = daemon.id();
        changes.daemons.push(LiveDaemon { daemon, undo: None });
        let note = Action::Group { leader, started: process_start(leader).unwrap_or_default() };
        let undo = changes.restore.before(&note).map_err(|why| format!("noting how it is stopped: {why}"))?;
        if let Some(loaded) = changes.daemons.last_mut() {
            loaded.undo = Some(undo);
        }
        let begun = Instant::now();
        while state() != "enabled" {
            let daemon = changes.daemons.last_mut().map(|loaded| loaded.daemon.try_wait());
            let ended = matches!(daemon, Some(Ok(Some(_))));
            if ended || begun.elapsed() > TIMEOUT {
                return Err(format!("`goodness live {}` did not load its policy; run it alone to see why", self.0));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}
