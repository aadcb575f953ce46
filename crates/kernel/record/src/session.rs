//! One recording: setup, the wait while the trace runs, and cleanup in order.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::attributes::Attributes;
use super::changes::{Changes, Follower};
use super::command;
use super::connections::MostConnections;
use super::drain::{Drain, Spools};
use super::format::EventFormat;
use super::groups::Groups;
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
    instance: Option<Instance>,
    /// The trace of changes of scheduling attributes; dropped with it.
    changes: Option<Instance>,
    _tracefs: Tracefs,
    _unfinished: Undo,
}

/// Result of a recording once tracing is restored: pages and collected facts.
pub struct Captured {
    /// All pages.
    pub spools: Spools,
    /// Tasks read from `/proc`.
    pub census: Census,
    /// Attributes of the threads that were alive at the start.
    pub at_start: Vec<(i32, Attributes)>,
    /// Changes of attributes.
    pub changes: Changes,
    /// Cgroups of all tasks.
    pub groups: Groups,
    /// Threads of the selected servers at the start.
    pub selected: BTreeSet<i32>,
    /// TCP connections of the command and the selected servers.
    pub connections: MostConnections,
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
        let taken = |error: io::Error| RecordError::Output { path: options.output.clone(), reason: error.to_string() };
        restore.own(&output.resource()).map_err(taken)?;
        for stale in goodness_restore::find() {
            let what = stale.describe();
            // A change that cannot be undone stays in the journal; `doctor` shows it.
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
        let instance = Instance::create(&tracefs.root, &name, (options.block, options.messages), buffer, &restore)?;
        let changes = Instance::of_changes(&tracefs.root, &format!("{name}-changes"), &restore)?;
        let (instance, changes) = (Some(instance), Some(changes));
        Ok(Self { instance, changes, _tracefs: tracefs, _unfinished: unfinished })
    }

    /// Removes the traces.
    pub fn end_tracing(&mut self) {
        (self.instance, self.changes) = (None, None);
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
        let follower = self.follow_changes(cpus)?;
        let (mut census, mut connections) = (Census::default(), MostConnections::default());
        census.look_at_all(Seen::Start);
        let at_start = census.tasks.iter().map(|(tid, task)| (*tid, task.attributes.clone())).collect();
        let mut groups = census.groups();
        let selected = select(options, &mut census)?;
        let time_before = CpuTime::read_all();
        let mut window = Window { start_ns: sys::monotonic_ns(), end_ns: 0, started_at: unix_seconds() };
        instance.switch(true)?;
        let running = if options.command.is_empty() { None } else { Some(command::start(options)?) };
        let pid = running.as_ref().map(Running::pid);
        progress(Progress::Started { command: pid, buffer_bytes: instance.buffer_bytes });
        let looked_at = (&mut census, &mut connections, &selected);
        let mut watch = Watch { running: running.as_ref(), signals, looked_at, longest };
        let stopped_by = watch.until_the_end(&mut drain, progress)?;
        instance.switch(false)?;
        window.end_ns = sys::monotonic_ns();
        let cpu_time = CpuTime::between(&time_before, &CpuTime::read_all());
        let changes = look_at_the_end(&mut census, &mut groups, pid, follower);
        let command = running.map(|running| (running.pid(), running.finish()));
        let lost = losses(instance, cpus);
        Ok(Captured {
            spools: drain.finish()?,
            census,
            at_start,
            changes,
            groups,
            selected,
            connections,
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

impl Session {
    /// Starts the trace of changes, and following it.
    fn follow_changes(&self, cpus: &[u32]) -> Result<Follower, RecordError> {
        let changes = self.changes.as_ref().expect("a session has its instances until it has recorded");
        let follower = Follower::start(changes, cpus)
            .map_err(|source| RecordError::System { what: "following changes of scheduling attributes", source })?;
        changes.switch(true)?;
        Ok(follower)
    }
}

/// Reads all tasks and groups once more, after the recording of the command `pid`.
fn look_at_the_end(census: &mut Census, groups: &mut Groups, pid: Option<u32>, follower: Follower) -> Changes {
    // The command's own entry in `/proc` still exists, because it has not been reaped.
    if let Some(pid) = pid {
        census.look_at_tree(pid as i32, Seen::Later);
    }
    census.look_at_the_end();
    let mut changes = follower.finish();
    changes.list.iter().for_each(|it| it.task.iter().for_each(|task| census.keep_if_unknown(it.tid, task)));
    groups.merge(std::mem::take(&mut changes.groups));
    groups.merge(census.groups());
    groups.look_again();
    changes
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
    /// Tasks, connections, and the threads of the selected servers.
    looked_at: (&'a mut Census, &'a mut MostConnections, &'a BTreeSet<i32>),
    longest: Duration,
}

impl Watch<'_> {
    fn until_the_end(&mut self, drain: &mut Drain, progress: &mut dyn FnMut(Progress)) -> Result<Stop, RecordError> {
        let start = Instant::now();
        let buffers = drain.descriptors();
        let command = self.running.and_then(Running::descriptor);
        let polled: Vec<RawFd> = buffers.iter().copied().chain(self.signals.descriptors()).chain(command).collect();
        // Connections are looked at after twice as long each time, so that clients which connect late are met, too.
        let mut next_look = SETTLING;
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
            if let Some(running) = self.running.filter(|_| elapsed >= next_look) {
                let (census, connections, selected) = &mut self.looked_at;
                if next_look == SETTLING {
                    census.look_at_tree(running.pid() as i32, Seen::Later);
                }
                let servers = selected.iter().filter_map(|tid| Some(census.tasks.get(tid)?.tgid));
                connections.look_at_trees(servers.chain([running.pid() as i32]));
                next_look = elapsed * 2;
            }
            let is_settled = self.running.is_none() || next_look > SETTLING;
            let timeout = if is_settled { HEARTBEAT } else { SETTLING }.min(self.longest - elapsed);
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
