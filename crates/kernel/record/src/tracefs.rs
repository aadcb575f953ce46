//! The kernel's tracing files: finds them and creates an instance separate from other tracing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::error::RecordError;
use super::event::CALLS;
use super::format::EventFormat;
use super::pages::Layout;
use goodness_restore::{Action, MARK, Restore, Undo, process_start, runtime};
use goodness_sys as sys;

/// Required events: nothing can be replayed without them.
const REQUIRED: [&str; 2] = ["sched/sched_switch", "sched/sched_waking"];
/// Optional events, enabled where the kernel has them.
const WELCOME: [&str; 6] = [
    "sched/sched_wakeup",
    "sched/sched_wakeup_new",
    "sched/sched_process_fork",
    "sched/sched_process_exec",
    "sched/sched_process_exit",
    "sched/sched_migrate_task",
];
/// Optional events of block I/O, enabled where the kernel has them.
const BLOCK: [&str; 4] =
    ["block/block_rq_insert", "block/block_rq_issue", "block/block_rq_complete", "block/block_bio_queue"];
/// Calls that change how a task is scheduled, and moves between cgroups. System calls can be traced where the kernel
/// has `CONFIG_FTRACE_SYSCALLS`.
const CHANGES: [&str; 13] = [
    "syscalls/sys_enter_sched_setaffinity",
    "syscalls/sys_exit_sched_setaffinity",
    "syscalls/sys_enter_sched_setscheduler",
    "syscalls/sys_exit_sched_setscheduler",
    "syscalls/sys_enter_sched_setparam",
    "syscalls/sys_exit_sched_setparam",
    "syscalls/sys_enter_sched_setattr",
    "syscalls/sys_exit_sched_setattr",
    "syscalls/sys_enter_setpriority",
    "syscalls/sys_exit_setpriority",
    "syscalls/sys_enter_setsid",
    "syscalls/sys_exit_setsid",
    "cgroup/cgroup_attach_task",
];
/// Smallest ring buffer worth recording into, per CPU.
const SMALLEST_BUFFER: u64 = 1 << 20;
const CLOSE_OTHERS: &str = "Close other tracing tools, or see `dmesg` for the kernel's reason.";

/// A tracefs, mounted by the system or by us.
#[derive(Debug)]
pub struct Tracefs {
    /// Its root folder.
    pub root: PathBuf,
    /// Unmounts the tracefs that this process mounted.
    _mounted: Option<Undo>,
}

impl Tracefs {
    /// Finds the mounted tracefs, or mounts one at a private path named after `name`.
    ///
    /// # Errors
    /// [`RecordError::NoTracefs`] when neither works.
    pub fn find(name: &str, restore: &Restore) -> Result<Self, RecordError> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        if let Some(root) = mounted_at(&mounts).into_iter().find(|root| root.join("instances").is_dir()) {
            return Ok(Self { root, _mounted: None });
        }
        let at = runtime().join(format!("{name}.tracefs"));
        let undo = restore.before(&Action::Unmount(at.clone())).map_err(unnoted)?;
        let mount = fs::create_dir_all(&at).and_then(|()| sys::mount_tracefs(&at));
        mount.map_err(|source| RecordError::NoTracefs { source })?;
        Ok(Self { root: at, _mounted: Some(undo) })
    }
}

/// The error of a change that was not made because it could not be journalled.
pub fn unnoted(source: io::Error) -> RecordError {
    RecordError::System { what: "noting how a change is undone", source }
}

/// Removes instances named by a recorder whose process no longer exists, in case their journals are lost. Returns the
/// removed paths.
pub fn remove_orphans(tracefs: &Path) -> Vec<PathBuf> {
    let is_orphan = |path: &PathBuf| owner_named(path).is_some_and(|pid| process_start(pid).is_none());
    let instances = sys::listed(&tracefs.join("instances")).into_iter().filter(is_orphan);
    instances.filter(|path| fs::remove_dir(path).is_ok()).collect()
}

/// The process id in a name such as `goodness-812` or `goodness-812-2`.
fn owner_named(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?.strip_prefix(MARK)?;
    name.split(['-', '.']).next()?.parse().ok()
}

/// Mount points of tracefs in a mount table.
fn mounted_at(mounts: &str) -> Vec<PathBuf> {
    let fields = mounts.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let traced = fields.filter(|fields| fields.len() > 2 && fields[2] == "tracefs");
    traced.map(|fields| PathBuf::from(fields[1].replace("\\040", " "))).collect()
}

/// A private trace instance: its own buffers, events and clock. Removed on drop.
#[derive(Debug)]
pub struct Instance {
    /// Its folder.
    pub root: PathBuf,
    /// Names of the events switched on.
    pub events: Vec<String>,
    /// Their descriptions.
    pub formats: Vec<EventFormat>,
    /// Layout of its pages.
    pub layout: Layout,
    /// Bytes each CPU's buffer got.
    pub buffer_bytes: u64,
    _undo: Undo,
}

/// The trace clock: comparable between CPUs, not adjusted, and the same as `CLOCK_MONOTONIC`.
pub const CLOCK: &str = "mono";

impl Instance {
    /// Creates an instance called `name` for the events of a recording, tracing off.
    ///
    /// # Errors
    /// Names the file and the failed action; the instance is removed by then.
    pub fn create(
        tracefs: &Path,
        name: &str,
        (block, messages): (bool, bool),
        buffer_bytes: u64,
        restore: &Restore,
    ) -> Result<Self, RecordError> {
        require_events(tracefs)?;
        let block: &[&str] = if block { &BLOCK } else { &[] };
        let calls = CALLS.map(|name| format!("syscalls/{name}"));
        let calls = calls.iter().filter(|_| messages).map(String::as_str);
        let events: Vec<&str> = REQUIRED.iter().chain(&WELCOME).chain(block).copied().chain(calls).collect();
        // Wake the reader when a buffer is half full; kernels before 5.0 wake it earlier, which costs but works.
        Self::with_events(tracefs, name, &events, "50", buffer_bytes, restore)
    }

    /// Creates an instance called `name` for calls that change how tasks are scheduled, tracing off. Its reader wakes
    /// at each event.
    ///
    /// # Errors
    /// As [`Instance::create`].
    pub fn of_changes(tracefs: &Path, name: &str, restore: &Restore) -> Result<Self, RecordError> {
        Self::with_events(tracefs, name, &CHANGES, "0", SMALLEST_BUFFER, restore)
    }

    fn with_events(
        tracefs: &Path,
        name: &str,
        events: &[&str],
        percent: &str,
        buffer_bytes: u64,
        restore: &Restore,
    ) -> Result<Self, RecordError> {
        let root = tracefs.join("instances").join(name);
        let undo = restore.before(&Action::TraceInstance(root.clone())).map_err(unnoted)?;
        fs::create_dir(&root).map_err(|source| refused(&root, "create a trace instance", source, CLOSE_OTHERS))?;
        let layout = Layout::default();
        let mut instance = Self { root, events: Vec::new(), formats: Vec::new(), layout, buffer_bytes: 0, _undo: undo };
        instance.set("tracing_on", "0", "stop the trace")?;
        instance.set("options/overwrite", "1", "choose what happens when a buffer is full")?;
        // The kernel's record of task names is not needed: our reader takes names from the events.
        let _ = instance.set("options/record-cmd", "0", "");
        let _ = instance.set("buffer_percent", percent, "");
        instance.set("trace_clock", CLOCK, "choose the clock `mono`")?;
        instance.buffer_bytes = instance.size_buffers(buffer_bytes)?;
        instance.enable(events)?;
        // Read last: changing the size of sub-buffers changes the layout.
        instance.layout = instance.read_layout()?;
        Ok(instance)
    }

    fn enable(&mut self, events: &[&str]) -> Result<(), RecordError> {
        for event in events {
            let folder = self.root.join("events").join(event);
            if !folder.is_dir() {
                continue;
            }
            let path = folder.join("format");
            let text = fs::read_to_string(&path)
                .map_err(|source| refused(&path, "read how an event is laid out", source, CLOSE_OTHERS))?;
            let format = EventFormat::parse(&text).map_err(|problem| RecordError::Format { path, problem })?;
            self.set(&format!("events/{event}/enable"), "1", "switch an event on")?;
            self.events.push(format.name.clone());
            self.formats.push(format);
        }
        Ok(())
    }

    /// Sets the buffers to `wanted` bytes per CPU, or less if memory is short.
    fn size_buffers(&self, wanted: u64) -> Result<u64, RecordError> {
        let mut bytes = wanted.max(SMALLEST_BUFFER);
        loop {
            let kilobytes = (bytes / 1024).to_string();
            match self.set("buffer_size_kb", &kilobytes, "reserve the trace buffers") {
                Err(RecordError::Tracefs { source, .. })
                    if source.raw_os_error() == Some(libc::ENOMEM) && bytes > SMALLEST_BUFFER =>
                {
                    bytes = (bytes / 2).max(SMALLEST_BUFFER);
                }
                other => return other.map(|()| bytes),
            }
        }
    }

    fn read_layout(&self) -> Result<Layout, RecordError> {
        let path = self.root.join("events/header_page");
        let text = read_at_once(&path)
            .map_err(|source| refused(&path, "read how trace pages are laid out", source, CLOSE_OTHERS))?;
        Layout::parse(&text).map_err(|problem| RecordError::Format { path, problem })
    }

    /// Starts or stops writing to the buffers.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn switch(&self, on: bool) -> Result<(), RecordError> {
        self.set("tracing_on", if on { "1" } else { "0" }, "start or stop the trace")
    }

    fn set(&self, file: &str, value: &str, action: &'static str) -> Result<(), RecordError> {
        let path = self.root.join(file);
        fs::write(&path, value).map_err(|source| refused(&path, action, source, CLOSE_OTHERS))
    }

    /// Opens the raw buffer of `cpu` for non-blocking reads.
    ///
    /// # Errors
    /// The error of open(2).
    pub fn open_raw(&self, cpu: u32) -> io::Result<File> {
        let path = self.root.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
    }

    /// The kernel's counters of lost events on `cpu`: (overrun, dropped, commit overrun).
    pub fn losses(&self, cpu: u32) -> Option<(u64, u64, u64)> {
        let text = fs::read_to_string(self.root.join(format!("per_cpu/cpu{cpu}/stats"))).ok()?;
        parse_stats(&text)
    }
}

/// Reads a file with a single call. `header_page` returns nothing to a second call, and the standard library starts
/// with a short read.
fn read_at_once(path: &Path) -> io::Result<String> {
    let mut bytes = vec![0; 1 << 16];
    let length = File::open(path)?.read(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

fn require_events(tracefs: &Path) -> Result<(), RecordError> {
    for event in REQUIRED {
        let path = tracefs.join("events").join(event);
        if !path.is_dir() {
            let event = event.rsplit('/').next().unwrap_or(event).to_string();
            return Err(RecordError::NoEvent { event, path });
        }
    }
    Ok(())
}

fn refused(path: &Path, action: &'static str, source: io::Error, remedy: &'static str) -> RecordError {
    RecordError::Tracefs { path: path.to_path_buf(), action, source, remedy }
}

/// Reads a `per_cpu/cpuN/stats` file.
fn parse_stats(text: &str) -> Option<(u64, u64, u64)> {
    let value = |key: &str| {
        let line = text.lines().find(|line| line.split(':').next() == Some(key))?;
        line.split(':').nth(1)?.trim().parse::<u64>().ok()
    };
    Some((value("overrun")?, value("dropped events")?, value("commit overrun")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracefs_is_found_among_other_mounts() {
        let mounts = "proc /proc proc rw 0 0\nnodev /sys/kernel/tracing tracefs rw 0 0\n\
                      tracefs /mnt/my\\040trace tracefs rw 0 0\nshort\n";
        assert_eq!(mounted_at(mounts), [PathBuf::from("/sys/kernel/tracing"), PathBuf::from("/mnt/my trace")]);
    }

    #[test]
    fn losses_are_read_from_the_kernels_statistics() {
        let text = "entries: 12\noverrun: 3\ncommit overrun: 1\nbytes: 400\noldest event ts:  1.2\ndropped events: 7\n";
        assert_eq!(parse_stats(text), Some((3, 7, 1)));
        assert_eq!(parse_stats("entries: 12\n"), None);
    }

    #[test]
    fn names_tell_their_process() {
        assert_eq!(owner_named(Path::new("/x/goodness-812-2")), Some(812));
        assert_eq!(owner_named(Path::new("/x/goodness-812")), Some(812));
        assert_eq!(owner_named(Path::new("/x/trace-812")), None);
    }

    #[test]
    fn a_kernel_without_scheduler_events_is_named_as_such() {
        let scratch = tempfile::tempdir().expect("scratch");
        let error = require_events(scratch.path()).expect_err("nothing there");
        assert!(error.to_string().contains("has no trace event `sched_switch`"), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
}
