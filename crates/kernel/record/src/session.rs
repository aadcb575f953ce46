//! One recording: setup, the wait while the trace runs, and cleanup in order.

use std::collections::BTreeSet;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::command;
use super::drain::{Drain, Spools};
use super::format::EventFormat;
use super::header::{CpuTime, Loss, Window};
use super::output::Output;
use super::tasks::{Census, Seen};
use super::tracefs::{Instance, Tracefs, remove_orphans, unnoted};
use super::{Options, Progress, RecordError, Stop, machine};
use goodness_restore::{Action, MARK, Restore, Undo};
use goodness_sys::{self as sys, Exit, Running, Signals};

/// Ring buffer per CPU unless memory is short. At 0.3 M events/s on one CPU, 64 MiB last about four seconds: a short
/// recording is read only after its end, and a long one wakes the recorder every two seconds.
const BUFFER_BYTES: u64 = 64 << 20;
/// Divisor of the available memory: all buffers together take at most 1/8 of it.
const MEMORY_SHARE: u64 = 8;
/// Delay before the started command's tasks are read: long enough for a launcher to have executed the program.
const SETTLING: Duration = Duration::from_millis(100);
/// Longest time between two checks of the clock, and of the command on kernels without pidfd.
const HEARTBEAT: Duration = Duration::from_millis(250);

/// Everything to clean up, in order: fields drop from first to last.
pub struct Session {
    /// The trace; dropped as soon as the recording ends.
    pub instance: Option<Instance>,
    _tracefs: Tracefs,
    _unfinished: Undo,
}

/// Result of a recording once tracing is restored: pages and collected facts.
pub struct Captured {
    /// All pages.
    pub spools: Spools,
    /// Tasks read from `/proc`.
    pub census: Census,
    /// Threads of the selected servers at the start.
    pub selected: BTreeSet<i32>,
    /// The command's process, with its exit status if it ended by itself.
    pub command: Option<(u32, Option<Exit>)>,
    /// Start and end.
    pub window: Window,
    /// Reason it ended.
    pub stopped_by: Stop,
    /// Losses per CPU.
    pub lost: Vec<Loss>,
    /// CPU time by state.
    pub cpu_time: Vec<CpuTime>,
    /// CPUs recorded.
    pub cpus: Vec<u32>,
    /// Events switched on.
    pub events: Vec<String>,
    /// Their layouts.
    pub formats: Vec<EventFormat>,
}

impl Session {
    /// Cleans up after killed recorders, then sets up an instance. Journal and guard are in place before the instance
    /// exists.
    pub fn set_up(options: &Options, output: &Output, progress: &mut dyn FnMut(Progress)) -> Result<Self, RecordError> {
        let restore = Restore::of_this_process().map_err(unnoted)?;
        for stale in goodness_restore::find() {
            let what = stale.describe();
            // What is stuck stays in its journal; `doctor` shows it.
            let _ = stale.undo();
            what.into_iter().for_each(|what| progress(Progress::CleanedUp { what }));
        }
        let unfinished = restore.before(&Action::RemoveFile(absolute(output.unfinished()))).map_err(unnoted)?;
        let name = unused_name();
        let tracefs = Tracefs::find(&name, &restore)?;
        for instance in remove_orphans(&tracefs.root) {
            progress(Progress::CleanedUp { what: Action::TraceInstance(instance).to_string() });
        }
        let share = machine::available_memory().map_or(BUFFER_BYTES, |bytes| bytes / MEMORY_SHARE);
        let room = share / machine::online().len().max(1) as u64;
        let buffer = options.buffer_bytes.unwrap_or(BUFFER_BYTES.min(room));
        let instance = Instance::create(&tracefs.root, &name, options.block, buffer, &restore)?;
        Ok(Self { instance: Some(instance), _tracefs: tracefs, _unfinished: unfinished })
    }

    /// Records until the command ends, the time is over or a signal arrives.
    pub fn record(
        &self,
        options: &Options,
        cpus: &[u32],
        output: &Output,
        longest: Duration,
        signals: &mut Signals,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Captured, RecordError> {
        let instance = self.instance.as_ref().expect("a session has its instance until it has recorded");
        let mut drain = Drain::open(instance, cpus, output.folder())?;
        let mut census = Census::default();
        census.look_at_all(Seen::Start);
        let selected = select(options, &mut census)?;
        let time_before = CpuTime::read_all();
        let mut window = Window { start_ns: sys::monotonic_ns(), end_ns: 0, started_at: unix_seconds() };
        instance.switch(true)?;
        let running = if options.command.is_empty() { None } else { Some(command::start(options)?) };
        let pid = running.as_ref().map(Running::pid);
        progress(Progress::Started { command: pid, buffer_bytes: instance.buffer_bytes });
        let mut watch = Watch { running: running.as_ref(), signals, census: &mut census, longest };
        let stopped_by = watch.until_the_end(&mut drain, progress)?;
        instance.switch(false)?;
        window.end_ns = sys::monotonic_ns();
        let cpu_time = CpuTime::between(&time_before, &CpuTime::read_all());
        // The command's own entry is still there, because it has not been reaped.
        if let Some(pid) = pid {
            census.look_at_tree(pid as i32, Seen::Later);
        }
        census.look_at_all(Seen::Later);
        let command = running.map(|running| (running.pid(), running.finish()));
        let lost = losses(instance, cpus);
        Ok(Captured {
            spools: drain.finish()?,
            census,
            selected,
            command,
            window,
            stopped_by,
            lost,
            cpu_time,
            cpus: cpus.to_vec(),
            events: instance.events.clone(),
            formats: instance.formats.clone(),
        })
    }
}

/// Lost events on each of `cpus`, as counted by the kernel.
fn losses(instance: &Instance, cpus: &[u32]) -> Vec<Loss> {
    let loss = |&cpu: &u32| {
        let (overrun, dropped, commit_overrun) = instance.losses(cpu)?;
        Some(Loss { cpu, overrun, dropped, commit_overrun })
    };
    cpus.iter().filter_map(loss).collect()
}

/// The loop while the trace runs.
struct Watch<'a> {
    running: Option<&'a Running>,
    signals: &'a mut Signals,
    census: &'a mut Census,
    longest: Duration,
}

impl Watch<'_> {
    fn until_the_end(&mut self, drain: &mut Drain, progress: &mut dyn FnMut(Progress)) -> Result<Stop, RecordError> {
        let start = Instant::now();
        let buffers = drain.descriptors();
        let command = self.running.and_then(Running::descriptor);
        let polled: Vec<RawFd> = buffers.iter().copied().chain(self.signals.descriptors()).chain(command).collect();
        let mut settled = self.running.is_none();
        loop {
            let elapsed = start.elapsed();
            if let Some(signal) = self.signals.take() {
                return Ok(Stop::Signal(signal));
            }
            if self.running.is_some_and(Running::has_ended) {
                return Ok(Stop::Command);
            }
            if elapsed >= self.longest {
                return Ok(Stop::Duration);
            }
            if let Some(running) = self.running.filter(|_| !settled && elapsed >= SETTLING) {
                self.census.look_at_tree(running.pid() as i32, Seen::Later);
                settled = true;
            }
            let timeout = if settled { HEARTBEAT } else { SETTLING }.min(self.longest - elapsed);
            // Rounded up, so that the last wait does not spin through its final millisecond.
            let ready = sys::wait_readable(&polled, timeout + Duration::from_millis(1))
                .map_err(|source| RecordError::System { what: "waiting for the trace", source })?;
            drain.take((0..buffers.len()).filter(|&at| ready[at]))?;
            progress(Progress::Recording { elapsed: start.elapsed(), longest: self.longest, bytes: drain.bytes() });
        }
    }
}

/// The threads of the servers `options` selects; each selection must match something.
fn select(options: &Options, census: &mut Census) -> Result<BTreeSet<i32>, RecordError> {
    let mut selected = BTreeSet::new();
    let mut add = |what: String, found: BTreeSet<i32>| {
        if found.is_empty() {
            return Err(RecordError::NoServer { what });
        }
        selected.extend(found);
        Ok(())
    };
    for &pid in &options.pids {
        add(format!("--pid {pid}"), census.trees(|tgid, _| tgid == pid as i32))?;
    }
    for comm in &options.comms {
        // The kernel keeps 15 bytes of a name.
        let kept = &comm.as_bytes()[..comm.len().min(15)];
        add(format!("--comm {comm}"), census.trees(|_, task| task.comm == kept))?;
    }
    let leaders: Vec<i32> = selected.iter().copied().filter(|tid| census.tasks[tid].tgid == *tid).collect();
    for leader in leaders {
        census.note_group(leader);
    }
    Ok(selected)
}

/// An unused name: `goodness-PID`, with a counter if the process records more than once.
fn unused_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let pid = std::process::id();
    match COUNT.fetch_add(1, Ordering::Relaxed) {
        0 => format!("{MARK}{pid}"),
        count => format!("{MARK}{pid}-{count}"),
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_run_is_an_error() {
        let options = Options { comms: vec!["no-such-server".to_string()], ..Options::default() };
        let error = select(&options, &mut Census::default()).expect_err("nobody");
        assert!(error.to_string().starts_with("no running process matches --comm no-such-server."), "{error}");
    }
}
