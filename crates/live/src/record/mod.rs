//! Recording what the scheduler of this machine does, straight from tracefs, into a file anybody can replay.
//!
//! [`record`] makes a trace instance of its own, leaves everybody else's tracing alone, runs the command or waits,
//! and restores everything on every way out: at the normal end, on errors and panics by dropping what it made, after
//! a signal by ending early and saving what there is, after SIGKILL by a watchdog process, and should that be killed
//! too, by a journal that the next start reads. `docs/recording-format.md` describes the file.

mod cast;
mod command;
mod drain;
mod error;
mod event;
mod format;
mod header;
mod journal;
mod machine;
mod output;
mod pages;
mod save;
mod tasks;
mod text;
mod tracefs;
mod watchdog;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use error::RecordError;
pub use header::{CpuTime, Exit, Loss};

use crate::sys;
use command::{Running, Signals};
use drain::Drain;
use header::Window;
use journal::{Entry, Journal, MARK};
use output::Output;
use tasks::{Census, Seen};
use tracefs::{Instance, Tracefs};
use watchdog::Watchdog;

/// How long to record when neither a command nor a duration says so.
pub const DEFAULT_DURATION: Duration = Duration::from_secs(10);
/// The longest recording; a forgotten recorder must not fill a disk.
pub const LONGEST: Duration = Duration::from_secs(3600);
/// Ring buffer per CPU unless memory is short. At 0.3 M events/s on one CPU, 64 MiB hold about four seconds, so a
/// short recording is not read before its end and a long one wakes the recorder every two seconds.
const BUFFER_BYTES: u64 = 64 << 20;
/// All buffers together take at most this part of the memory available.
const MEMORY_SHARE: u64 = 8;
/// When the started command's tasks are looked at first: long enough for a launcher to have become the program.
const SETTLING: Duration = Duration::from_millis(100);
/// How often the recorder wakes when nothing asks for it, to look at the clock and at commands on old kernels.
const HEARTBEAT: Duration = Duration::from_millis(250);

/// What to record.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the recording goes; replaced only when it is complete.
    pub output: PathBuf,
    /// How long at most. Without a command and without this, [`DEFAULT_DURATION`].
    pub duration: Option<Duration>,
    /// The command and its arguments; empty to record what runs anyway.
    pub command: Vec<OsString>,
    /// CPUs to confine the command to, before it starts.
    pub confine_to: Option<Vec<u32>>,
    /// Processes already running that belong to the work, with all they started.
    pub pids: Vec<u32>,
    /// The same, by name.
    pub comms: Vec<String>,
    /// Rename tasks that belong to none of these, and drop the command's arguments.
    pub anonymize: bool,
    /// Record the block layer too.
    pub block: bool,
    /// Ring buffer per CPU in bytes, instead of the size chosen by available memory.
    pub buffer_bytes: Option<u64>,
    /// zstd level of the file.
    pub compression: i32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            output: PathBuf::from("recording.ftrace.zst"),
            duration: None,
            command: Vec::new(),
            confine_to: None,
            pids: Vec::new(),
            comms: Vec::new(),
            anonymize: false,
            block: false,
            buffer_bytes: None,
            compression: 3,
        }
    }
}

/// What the recorder is doing, for a progress display.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// Something an earlier, killed recorder left was removed.
    CleanedUp {
        /// The trace instance.
        instance: PathBuf,
    },
    /// The trace is running.
    Started {
        /// The recorded command's process.
        command: Option<u32>,
        /// Ring buffer per CPU in bytes.
        buffer_bytes: u64,
    },
    /// Still running.
    Recording {
        /// Since the start.
        elapsed: Duration,
        /// Until it ends by itself.
        longest: Duration,
        /// Bytes already taken out of the kernel.
        bytes: u64,
    },
    /// The trace has ended and tracing is restored; the file is being written.
    Writing {
        /// Events written.
        done: u64,
        /// Events in all.
        total: u64,
    },
}

/// Why a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The command ended.
    Command,
    /// The time was over.
    Duration,
    /// This signal came.
    Signal(i32),
}

impl Stop {
    fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Duration => "duration",
            Self::Signal(_) => "signal",
        }
    }
}

/// A finished recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Events in it.
    pub events: u64,
    /// What the kernel lost, per CPU.
    pub lost: Vec<Loss>,
    /// Length of the recorded window.
    pub duration: Duration,
    /// Why it ended.
    pub stopped_by: Stop,
    /// How the command ended, when it did by itself.
    pub exit: Option<Exit>,
    /// Tasks that belong to the command or a selected server.
    pub members: usize,
    /// Time the hypervisor took and others, per CPU.
    pub cpu_time: Vec<CpuTime>,
    /// What could not be read, as sentences.
    pub unreadable: Vec<String>,
}

impl Recorded {
    /// Events lost on all CPUs.
    pub fn lost_events(&self) -> u64 {
        self.lost.iter().map(Loss::total).sum()
    }

    /// The exit status for the command line: 128 + n when signal n ended the recording (which is saved all the same),
    /// else 0. The command's own status is reported in [`exit`](Self::exit) and does not decide this one: a failing
    /// command can be well recorded.
    pub fn exit_code(&self) -> i32 {
        match self.stopped_by {
            Stop::Signal(signal) => 128 + signal,
            Stop::Command | Stop::Duration => 0,
        }
    }
}

/// Records, and reports what it does to `progress`.
///
/// # Errors
/// [`RecordError`]; by then everything is restored and no output was written.
pub fn record(
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Recorded, RecordError> {
    let longest = bounded(options)?;
    let uid = sys::effective_user();
    if uid != 0 {
        return Err(RecordError::NotRoot { uid });
    }
    let cpus = machine::online();
    check_cpus(options, &cpus)?;
    let output = Output::prepare(&options.output)?;
    let mut signals = Signals::listen()?;
    let mut stage = Stage::set(options, &output, progress)?;
    let tape = stage.play(options, &cpus, &output, longest, &mut signals, progress)?;
    // The trace is over; watchdog and journal stay until the unfinished file has become the recording.
    stage.instance = None;
    save::save(options, tape, output, &mut signals, progress)
}

/// The duration asked for or the default, if it is sensible.
fn bounded(options: &Options) -> Result<Duration, RecordError> {
    let fallback = if options.command.is_empty() {
        DEFAULT_DURATION
    } else {
        LONGEST
    };
    let asked = options.duration.unwrap_or(fallback);
    let sensible = Duration::from_millis(1)..=LONGEST;
    if sensible.contains(&asked) {
        Ok(asked)
    } else {
        Err(RecordError::Duration {
            asked,
            longest: LONGEST,
        })
    }
}

fn check_cpus(options: &Options, online: &[u32]) -> Result<(), RecordError> {
    let asked = options.confine_to.iter().flatten();
    match asked.copied().find(|cpu| !online.contains(cpu)) {
        None => Ok(()),
        Some(cpu) => {
            let online = online
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join(", ");
            Err(RecordError::NoCpu { cpu, online })
        }
    }
}

/// Everything that has to be undone, in the order in which it is: fields drop from first to last.
struct Stage {
    instance: Option<Instance>,
    _tracefs: Tracefs,
    _journal: Journal,
    _watchdog: Watchdog,
}

/// What a recording leaves when tracing is restored: pages, and what was learned meanwhile.
struct Tape {
    spools: drain::Spools,
    census: Census,
    selected: BTreeSet<i32>,
    command: Option<(u32, Option<Exit>)>,
    window: Window,
    stopped_by: Stop,
    lost: Vec<Loss>,
    cpu_time: Vec<CpuTime>,
    cpus: Vec<u32>,
    events: Vec<String>,
    formats: Vec<format::EventFormat>,
}

impl Stage {
    /// Cleans up after killed recorders, then prepares an instance, with journal and watchdog in place before it
    /// exists.
    fn set(
        options: &Options,
        output: &Output,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, RecordError> {
        let name = unused_name();
        let tracefs = Tracefs::find(&name)?;
        for instance in journal::clean_stale(&journal::folder(), Some(&tracefs.root)) {
            progress(Progress::CleanedUp { instance });
        }
        let pid = std::process::id();
        let entry = Entry {
            pid,
            started: journal::process_start(pid),
            instance: tracefs.root.join("instances").join(&name),
            mounted: tracefs.mounted.clone(),
            unfinished: absolute(output.unfinished()),
        };
        let failed = |what| move |source| RecordError::System { what, source };
        let journal = Journal::write(&journal::folder(), &name, &entry)
            .map_err(failed("writing the restore journal"))?;
        let watchdog =
            Watchdog::start(&entry, &journal.path).map_err(failed("starting the watchdog"))?;
        let share = machine::available_memory().map_or(BUFFER_BYTES, |bytes| bytes / MEMORY_SHARE);
        let room = share / machine::online().len().max(1) as u64;
        let buffer = options.buffer_bytes.unwrap_or(BUFFER_BYTES.min(room));
        let instance = Instance::create(&tracefs.root, &name, options.block, buffer)?;
        Ok(Self {
            instance: Some(instance),
            _tracefs: tracefs,
            _journal: journal,
            _watchdog: watchdog,
        })
    }

    /// Records until the command ends, the time is over or a signal comes.
    fn play(
        &self,
        options: &Options,
        cpus: &[u32],
        output: &Output,
        longest: Duration,
        signals: &mut Signals,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Tape, RecordError> {
        let instance = self
            .instance
            .as_ref()
            .expect("a stage has its instance until it was played");
        let mut drain = Drain::open(instance, cpus, output.folder())?;
        let mut census = Census::default();
        census.look_at_all(Seen::Start);
        let selected = select(options, &mut census)?;
        let time_before = CpuTime::read_all();
        let mut window = Window {
            start_ns: 0,
            end_ns: 0,
            started_at: unix_seconds(),
        };
        instance.switch(true)?;
        window.start_ns = sys::monotonic_ns();
        let running = if options.command.is_empty() {
            None
        } else {
            Some(Running::start(options)?)
        };
        let pid = running.as_ref().map(Running::pid);
        progress(Progress::Started {
            command: pid,
            buffer_bytes: instance.buffer_bytes,
        });
        let mut watch = Watch {
            running: running.as_ref(),
            signals,
            census: &mut census,
            longest,
        };
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
        let lost = cpus.iter().filter_map(|&cpu| {
            let (overrun, dropped, commit_overrun) = instance.losses(cpu)?;
            Some(Loss {
                cpu,
                overrun,
                dropped,
                commit_overrun,
            })
        });
        let lost = lost.collect();
        Ok(Tape {
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

/// The loop while the trace runs.
struct Watch<'a> {
    running: Option<&'a Running>,
    signals: &'a mut Signals,
    census: &'a mut Census,
    longest: Duration,
}

impl Watch<'_> {
    fn until_the_end(
        &mut self,
        drain: &mut Drain,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Stop, RecordError> {
        let start = Instant::now();
        let buffers = drain.descriptors();
        let command = self.running.and_then(Running::descriptor);
        let polled: Vec<RawFd> = buffers
            .iter()
            .copied()
            .chain(self.signals.descriptors())
            .chain(command)
            .collect();
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
            let patience = if settled { HEARTBEAT } else { SETTLING }.min(self.longest - elapsed);
            // Rounded up, so that the last wait does not spin through its final millisecond.
            let ready = sys::wait_readable(&polled, patience + Duration::from_millis(1)).map_err(
                |source| RecordError::System {
                    what: "waiting for the trace",
                    source,
                },
            )?;
            drain.take((0..buffers.len()).filter(|&at| ready[at]))?;
            progress(Progress::Recording {
                elapsed: start.elapsed(),
                longest: self.longest,
                bytes: drain.bytes(),
            });
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
        add(
            format!("--pid {pid}"),
            census.trees(|tgid, _| tgid == pid as i32),
        )?;
    }
    for comm in &options.comms {
        // The kernel keeps 15 bytes of a name.
        let kept = &comm.as_bytes()[..comm.len().min(15)];
        add(
            format!("--comm {comm}"),
            census.trees(|_, task| task.comm == kept),
        )?;
    }
    let leaders: Vec<i32> = selected
        .iter()
        .copied()
        .filter(|tid| census.tasks[tid].tgid == *tid)
        .collect();
    for leader in leaders {
        census.note_group(leader);
    }
    Ok(selected)
}

/// `goodness-PID`, with a counter where one process records more than once.
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
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_always_bounded() {
        let bound = |duration, command: &[&str]| {
            let command = command.iter().map(Into::into).collect();
            bounded(&Options {
                duration,
                command,
                ..Options::default()
            })
        };
        assert_eq!(bound(None, &[]).expect("default"), DEFAULT_DURATION);
        assert_eq!(bound(None, &["ab"]).expect("until it ends"), LONGEST);
        let error = bound(Some(Duration::from_secs(7200)), &[]).expect_err("too long");
        assert_eq!(
            error.to_string(),
            "a recording of 7200s is outside 1ms ..= 3600s. Ask for less with -d."
        );
        assert!(bound(Some(Duration::ZERO), &[]).is_err());
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused_with_those_that_are() {
        let options = Options {
            confine_to: Some(vec![9]),
            ..Options::default()
        };
        let error = check_cpus(&options, &[0, 1]).expect_err("no such CPU");
        assert_eq!(error.to_string(), "CPU 9 is not online here. Online: 0, 1.");
    }

    #[test]
    fn a_server_that_does_not_run_is_an_error() {
        let options = Options {
            comms: vec!["no-such-server".to_string()],
            ..Options::default()
        };
        let error = select(&options, &mut Census::default()).expect_err("nobody");
        assert!(
            error
                .to_string()
                .starts_with("no running process matches --comm no-such-server."),
            "{error}"
        );
    }
}
