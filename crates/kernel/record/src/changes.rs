//! Follows changes of scheduling attributes while the trace runs: a thread of the recorder wakes at each call that
//! changes them, and reads the changed threads' attributes from the kernel.
//!
//! A tracepoint shows a call and the time of its return, but not a mask or priority passed by address. So the time of a
//! change is exact, and its values are those at the reading, some ten microseconds later.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use goodness_sys as sys;

use super::calls::{Call, Calls, Decoder, Seen, Target};
use super::groups::Groups;
use super::pages::{self, Layout, Page};
use super::tasks::{Task, numbered};
use super::tracefs::Instance;

/// Most calls to follow: the recording must not slow down a load that changes attributes all the time.
const CALLS_MAX: usize = 20_000;
/// Longest wait of the thread for a change.
const PATIENCE: Duration = Duration::from_secs(60);

/// Attributes of a thread after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Time of the call's return.
    pub at_ns: u64,
    /// The thread.
    pub tid: i32,
    /// The thread's attributes; `None` if it had ended before they could be read.
    pub task: Option<Task>,
}

/// All changes of a recording.
#[derive(Debug, Default)]
pub struct Changes {
    /// In order of time.
    pub list: Vec<Change>,
    /// Groups of the changed threads.
    pub groups: Groups,
    /// Calls that were not followed.
    pub skipped: u64,
    /// True if this kernel shows no such calls.
    pub blind: bool,
}

/// The thread that follows changes. Dropping it ends it.
pub struct Follower {
    thread: Option<JoinHandle<Changes>>,
    stop: OwnedFd,
}

impl Follower {
    /// Starts following the calls that `instance` traces.
    pub fn start(instance: &Instance, cpus: &[u32]) -> std::io::Result<Self> {
        let (stopped, stop) = sys::pipe()?;
        let buffers = cpus.iter().map(|&cpu| instance.open_raw(cpu)).collect::<Result<Vec<_>, _>>()?;
        let decoder = Decoder::new(&instance.formats);
        // Moves between cgroups are always visible; calls only where system calls can be traced.
        let blind = !instance.events.iter().any(|event| event.starts_with("sys_exit_"));
        let layout = instance.layout;
        let changes = Changes { blind, ..Changes::default() };
        let thread = std::thread::Builder::new().name("changes".into()).spawn(move || match decoder {
            Some(decoder) => Following { buffers, layout, decoder, calls: Calls::default(), changes }.run(&stopped),
            None => changes,
        })?;
        Ok(Self { thread: Some(thread), stop })
    }

    /// Ends the thread and returns the changes.
    pub fn finish(mut self) -> Changes {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Changes> {
        sys::write_byte(&self.stop, sys::STOP);
        self.thread.take()?.join().ok()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.end();
    }
}

/// State of the thread.
struct Following {
    buffers: Vec<File>,
    layout: Layout,
    decoder: Decoder,
    calls: Calls,
    changes: Changes,
}

impl Following {
    fn run(mut self, stopped: &OwnedFd) -> Changes {
        // A higher priority, so that values are read soon after their change on a busy machine, too. It may be refused.
        let _ = sys::set_nice(-20);
        let polled: Vec<_> =
            std::iter::once(stopped.as_raw_fd()).chain(self.buffers.iter().map(AsRawFd::as_raw_fd)).collect();
        while let Ok(ready) = sys::wait_readable(&polled, PATIENCE) {
            // The stop flag is read first, so that events written before the stop are still read.
            let mut seen = self.read();
            let over = self.calls.join(&mut seen);
            self.follow(&over);
            if ready[0] {
                break;
            }
        }
        self.changes
    }

    /// The events in all buffers.
    fn read(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        let (mut bytes, mut page) = (vec![0u8; self.layout.page_size], Page::default());
        for buffer in &mut self.buffers {
            while let Ok(length @ 1..) = buffer.read(&mut bytes) {
                bytes[length..].fill(0);
                pages::split(&self.layout, &bytes, &mut page);
                let events = page.events.iter();
                seen.extend(events.filter_map(|it| self.decoder.decode(it.time_ns, &bytes[it.start..it.end])));
            }
        }
        seen
    }

    /// Reads the threads that `calls` changed. Of several calls for one thread that arrive together, the last counts,
    /// because the values in between are gone.
    fn follow(&mut self, calls: &[Call]) {
        let mut done = BTreeSet::new();
        let first = self.changes.list.len();
        for call in calls.iter().rev() {
            if self.changes.list.len() >= CALLS_MAX {
                self.changes.skipped += 1;
                continue;
            }
            match call.target {
                Target::Thread(tid) if done.insert(tid) => self.look_at(call.at_ns, tid),
                Target::Thread(_) => {}
                Target::Several => {
                    for tid in all_threads() {
                        if done.insert(tid) {
                            self.look_at(call.at_ns, tid);
                        }
                    }
                }
            }
        }
        self.changes.list[first..].sort_by_key(|change| change.at_ns);
    }

    fn look_at(&mut self, at_ns: u64, tid: i32) {
        let task = Task::read_thread(tid);
        if let Some(task) = &task {
            self.changes.groups.note(&task.attributes);
        }
        self.changes.list.push(Change { at_ns, tid, task });
    }
}

fn all_threads() -> Vec<i32> {
    let processes = numbered(Path::new("/proc"));
    processes.into_iter().flat_map(|tgid| numbered(&Path::new("/proc").join(tgid.to_string()).join("task"))).collect()
}
