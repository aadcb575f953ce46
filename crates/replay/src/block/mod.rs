//! Work recovered from a trace of block I/O: one task for each submitter, which submits the recorded I/O again.
//!
//! ```text
//!  trace ─▶ survey (disks, sizes, service times) ─▶ gather (pieces, dependencies, think times) ─▶ player ─▶ disks
//! ```
//!
//! Closed loop: each submitter waits for its own completions as it was seen to wait, thinks as long, and keeps as much
//! under way; a slower disk slows it down. When its recorded I/O is over it begins again, until the recorded time is
//! over. Open loop: everything at its recorded time.
//!
//! Not recovered: what submitters wait for besides their own I/O (each other, a CPU, a user), priorities, the plugs
//! (arrivals within 10 µs count as plugged together), flushes and durability within writes.
//!
//! | module | holds |
//! |---|---|
//! | `survey` | the first reading: disks |
//! | `sharing` | how fast a disk serves, by depth |
//! | `lags` | how long the way to a disk takes |
//! | `gather` | the second reading: submitters |
//! | `waits` | what each of their I/Os waits for |
//! | `under_way` | which pieces a completion ends |
//! | `player` | the behaviour of a submitter, and how far it is from the recording |

mod gather;
mod lags;
mod player;
mod sharing;
mod survey;
#[cfg(test)]
mod tests;
mod under_way;
mod waits;

use crate::{Arrivals, Ends};
use gather::{Gather, Gathered, Programme};
use goodness_core::{
    DeviceSample, DiskId, DiskSpec, Layout, Piece as Part, Remarked, Seed, Span, Start, StorageSpec, Task, TaskId,
    TaskSpec, Time, VolumeSpec, Workload, WorkloadSource,
};
use goodness_observe::Measured;
use goodness_trace::block::{About, BlockReader, BlockTrace};
use goodness_trace::{Repair, TraceError};
use player::{Player, Shared, rounded};
use sharing::Speeds;
use std::sync::{Arc, PoisonError};
use survey::Survey;

/// Default disk, if the trace has no service times.
pub const DEFAULT_DEVICE: &str = "sata-7200-4tb";

/// One in this many I/Os with an error, or lost events, make no doubt yet. A choice.
const FEW: u64 = 1000;
/// Threads of the kernel that write back what others wrote.
const KERNEL_THREADS: [&str; 6] = ["kworker/", "kswapd", "flush-", "pdflush", "bdflush", "kupdate"];

/// Limit of disks in one replay: one less than the 4096 numbers of 12 bits.
const VOLUMES_MAX: usize = 4095;

/// Events of the trace to submit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Events {
    /// Arrivals at the block layer.
    #[default]
    Queue,
    /// Issues to the device: the order the recorded elevator chose.
    Issue,
}

/// Options of a replay.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Closed loop or open.
    pub arrivals: Arrivals,
    /// Events to submit.
    pub events: Events,
    /// Device of every disk, with settings; `None`: the trace's own service times, else [`DEFAULT_DEVICE`].
    pub device: Option<String>,
    /// Behaviour of submitters when their recorded I/O is over.
    pub ends: Ends,
}

/// Counts of the requests that the replay leaves out or changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// I/Os of disks that pass them on to other disks of the trace.
    pub stacked: u64,
    /// I/Os more than a day after the first.
    pub late: u64,
    /// I/Os without a length.
    pub empty: u64,
    /// Writes whose durability flags are not replayed.
    pub marks: u64,
    /// I/Os without a completion in the trace.
    pub never_done: u64,
    /// Completions with an error.
    pub errors: u64,
    /// I/Os moved because the device is too small for them.
    pub wrapped: u64,
}

impl Lost {
    /// Each count with its meaning.
    #[must_use]
    pub fn counted(&self) -> [(&'static str, u64); 7] {
        [
            ("pieces of disks stacked on others of the trace, replayed on those only", self.stacked),
            ("pieces later than 24 h after the first, left out", self.late),
            ("pieces without a length, left out", self.empty),
            ("writes whose flush or durability (FUA) is not replayed", self.marks),
            ("pieces whose completion is not in the trace, taken as done after a minute", self.never_done),
            ("completions with an error, replayed as if done", self.errors),
            ("pieces beyond the end of the device, wrapped around to within it", self.wrapped),
        ]
    }
}

/// A trace of block I/O as it was.
pub struct Recorded {
    /// Its metrics, as those of a run from the first arrival to the last event.
    pub measured: Measured,
    /// True if its requests went through an elevator.
    pub has_elevator: bool,
    /// Reasons why it is unfit for predictions, as sentences.
    pub lacks: Vec<String>,
}

/// A trace of block I/O as work.
pub struct BlockReplay {
    name: String,
    programmes: Arc<Vec<Programme>>,
    names: Vec<String>,
    storage: StorageSpec,
    /// The end of the run, if submitters go on until then.
    horizon: Option<Time>,
    /// Service time of an I/O in the recording.
    usual: Option<Span>,
    /// The recording's own figures, if it has completions.
    pub recorded: Option<Recorded>,
    /// Omissions and changes.
    pub lost: Lost,
    /// Facts about the trace.
    pub about: About,
    /// Sentences about how it is replayed.
    pub notes: Vec<String>,
}

impl BlockReplay {
    /// Reads the trace that `open` opens, twice. Reports use `name`.
    ///
    /// # Errors
    /// A trace that cannot be read or has nothing to replay, or an unknown device; one sentence.
    pub fn read<'a>(
        name: &str,
        mut open: impl FnMut() -> Result<BlockTrace<'a>, TraceError>,
        options: &Options,
    ) -> Result<BlockReplay, String> {
        let mut trace = open().map_err(|why| why.to_string())?;
        let survey = Survey::of(&mut trace).map_err(|why| why.to_string())?;
        let about = trace.about().clone();
        drop(trace);
        refuse(name, &survey, &about, options)?;
        let gathered = Gather::all(&survey, options.events, &mut open().map_err(|why| why.to_string())?)
            .map_err(|e| e.to_string())?;
        Making { name, about, options }.replay(survey, gathered)
    }

    /// True if submitters go on until the end of the recorded window.
    #[must_use]
    pub fn is_measured_in_a_window(&self) -> bool {
        self.horizon.is_some()
    }

    /// Number of I/Os submitted.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.programmes.iter().map(|programme| programme.pieces.len()).sum()
    }
}

/// Refuses a trace that lacks the events `options` need.
fn refuse(name: &str, survey: &Survey, about: &About, options: &Options) -> Result<(), String> {
    if options.events == Events::Issue && survey.issues == 0 {
        return Err(format!(
            "{name}: --block-events issue: the trace has no issues ({}); replay arrivals, which is the default",
            about.format
        ));
    }
    if survey.volumes.is_empty() {
        let remedy = if survey.issues > 0 { "; replay issues with --block-events issue" } else { "" };
        return Err(format!("{name}: no disk of the trace has arrivals that can be replayed{remedy}"));
    }
    match survey.volumes.len() {
        0..=VOLUMES_MAX => Ok(()),
        many => Err(format!("{name}: the trace has {many} disks, and at most {VOLUMES_MAX} can be replayed")),
    }
}

struct Making<'a> {
    name: &'a str,
    about: About,
    options: &'a Options,
}

impl Making<'_> {
    fn replay(self, mut survey: Survey, gathered: Gathered) -> Result<BlockReplay, String> {
        let Gathered { mut programmes, lags, measured, mut lost } = gathered;
        if programmes.is_empty() {
            let other = if survey.issues > 0 { "; replay issues with --block-events issue" } else { "" };
            return Err(format!("{}: no arrival of the trace can be replayed{other}", self.name));
        }
        let open = self.options.arrivals == Arrivals::Recorded || !self.about.allows_closed_loop();
        for programme in &mut programmes {
            programme.open = open || (programme.is_written_back() && self.is_kernel_thread(programme.pid));
            programme.lap = programme.lap.filter(|_| !programme.open && self.options.ends == Ends::Open);
        }
        let horizon = programmes.iter().any(|programme| programme.lap.is_some()).then(|| survey.window());
        let mut notes = vec![self.loop_sentence(open, &programmes)];
        notes.extend(latency_sentence(&measured));
        notes.extend(horizon.map(|end| self.window_sentence(end, &programmes)));
        let usual = measured.distributions.io_latency.quantile(5_000).map(Span);
        let recorded = self.about.allows_closed_loop().then(|| Recorded {
            lacks: self.lacks(&measured, &lost),
            measured,
            has_elevator: 2 * survey.inserts > survey.issues,
        });
        let storage = self.storage(&mut survey, lags, &mut notes)?;
        for piece in programmes.iter_mut().flat_map(|programme| &mut programme.pieces) {
            let sectors = storage.volumes[usize::from(piece.volume())].sectors();
            lost.wrapped += u64::from(wrap(&mut piece.sector, &mut piece.sectors, sectors));
        }
        let names = programmes.iter().map(|programme| self.name_of(programme.pid)).collect();
        Ok(BlockReplay {
            name: self.name.into(),
            programmes: Arc::new(programmes),
            names,
            storage,
            horizon,
            usual,
            recorded,
            lost,
            about: self.about,
            notes,
        })
    }

    fn loop_sentence(&self, open: bool, programmes: &[Programme]) -> String {
        let pieces: usize = programmes.iter().map(|programme| programme.pieces.len()).sum();
        let what = match self.options.events {
            Events::Queue => "arrivals at the block layer",
            Events::Issue => "issues to the device",
        };
        let how = match (open, self.options.arrivals) {
            (false, _) => {
                "closed loop: after each submitter's own completions, with its recorded think times and depth"
            }
            (true, Arrivals::Recorded) => "open loop: at the recorded times",
            (true, Arrivals::Delays) => "open loop: at the recorded times, since the trace has no completions",
        };
        format!("{pieces} {what} of {} submitters, format {}; {how}", programmes.len(), self.about.format)
    }

    fn window_sentence(&self, end: Time, programmes: &[Programme]) -> String {
        let going_on = programmes.iter().filter(|programme| programme.lap.is_some()).count();
        format!(
            "each elevator is measured in the recorded {}; {going_on} of {} submitters begin again when their recorded \
             I/O is over, --ends recorded replays it once",
            rounded(end.0),
            programmes.len()
        )
    }

    /// Reasons why the trace is unfit for predictions.
    fn lacks(&self, measured: &Measured, lost: &Lost) -> Vec<String> {
        let all = measured.get("iops").samples;
        let lost_events = self.about.repairs.of(Repair::LostEvents).count;
        let found = [
            (lost.errors, "of the recorded I/Os ended in an error, so their times are not those of a disk at work"),
            (lost_events, "events of the recording are lost, so what waited for what is partly unknown"),
        ];
        let many = found.into_iter().filter(|(count, _)| count * FEW > all);
        many.map(|(count, what)| format!("{count} {what} ({all} were done)")).collect()
    }

    /// True if `pid` writes for others, who do not wait for it.
    fn is_kernel_thread(&self, pid: u32) -> bool {
        self.about.processes.name(pid).is_some_and(|comm| {
            let name = comm.to_string();
            KERNEL_THREADS.iter().any(|thread| name.starts_with(thread))
        })
    }

    fn name_of(&self, pid: u32) -> String {
        match (pid, self.about.processes.name(pid)) {
            (0, _) => "unknown".into(),
            (_, Some(comm)) => comm.to_string(),
            (_, None) => format!("pid {pid}"),
        }
    }

    fn storage(
        &self,
        survey: &mut Survey,
        mut lags: Vec<Vec<Span>>,
        notes: &mut Vec<String>,
    ) -> Result<StorageSpec, String> {
        let mut storage = StorageSpec { cache_pages: 16, ..StorageSpec::default() };
        for (volume, disk) in survey.volumes.clone().into_iter().enumerate() {
            let name = self.about.disks.name(DiskId(disk as u16)).unwrap_or("disk").to_string();
            let end = survey.end(volume as u16);
            let found = match self.options.device {
                Some(_) => None,
                None => survey.disks[disk].sample(end),
            };
            let lags = lags.get_mut(volume).map(std::mem::take).unwrap_or_default();
            let found = found.map(|(sample, speeds)| (Arc::new(DeviceSample { lags, ..sample }), speeds));
            let (sample, speeds) = found.unzip();
            let device = self.options.device.as_deref().unwrap_or(DEFAULT_DEVICE);
            let (device, sectors) = match &sample {
                Some(sample) => ("recorded", sample.facts.sectors),
                None => (device, goodness_device::by_name(device, Seed(1))?.facts().sectors),
            };
            notes.push(device_sentence(
                &name,
                device,
                sample.as_deref().zip(speeds.as_ref()),
                self.options.device.is_some(),
            ));
            let whole = Part { disk: DiskId(volume as u16), sector: 0, sectors };
            storage.volumes.push(VolumeSpec { name: name.clone(), layout: Layout::Linear, pieces: vec![whole] });
            storage.disks.push(DiskSpec { sample, ..DiskSpec::of(&name, device) });
        }
        Ok(storage)
    }
}

fn device_sentence(disk: &str, device: &str, sample: Option<(&DeviceSample, &Speeds)>, is_asked: bool) -> String {
    match sample {
        Some((sample, speeds)) => {
            let depth = sample.facts.depth;
            let speed = match speeds.are_shown {
                true => format!(
                    "does with {depth} commands at once {}.{:02} times what it does with one",
                    speeds.together(depth) / 100,
                    speeds.together(depth) % 100
                ),
                false => format!("serves {depth} commands at once: the trace does not show how many slow it down"),
            };
            format!(
                "disk {disk}: takes {} service times of the trace by operation, size and succession, and {speed}; \
                 where a request lies makes no difference to it, --device NAME gives a disk to which it does",
                sample.services.len(),
            )
        }
        None if is_asked => format!("disk {disk}: {device}"),
        None => format!("disk {disk}: {device}, since the trace has no service times; --device NAME changes it"),
    }
}

fn latency_sentence(measured: &Measured) -> Option<String> {
    let latency = &measured.distributions.io_latency;
    let (mean, p50) = (rounded(latency.mean()? as u64), rounded(latency.quantile(5_000)?));
    let p99 = rounded(latency.quantile(9_900)?);
    Some(format!("in the recording a piece took {mean} on average, {p50} at the median, {p99} at the 99th percentile"))
}

/// Moves an I/O into a disk of `size` sectors. Returns true if it was outside.
fn wrap(sector: &mut u64, sectors: &mut u32, size: u64) -> bool {
    if sector.checked_add(u64::from(*sectors)).is_some_and(|end| end <= size) {
        return false;
    }
    *sectors = u64::from(*sectors).min(size) as u32;
    *sector = (*sector % size).min(size - u64::from(*sectors));
    true
}

impl WorkloadSource for BlockReplay {
    fn name(&self) -> &str {
        &self.name
    }

    fn what_varies(&self) -> &str {
        "the submitters are the same in every replication; chance within the devices and the phase of the tick differ"
    }

    fn build(&self, _: Seed, _: u32) -> Workload {
        let timing = Shared::default();
        let tasks = self.programmes.iter().zip(&self.names).enumerate().map(|(which, (programme, name))| TaskSpec {
            name: name.clone(),
            start: Start::At(programme.pieces[0].at),
            task: Task::default(),
            behaviour: Box::new(Player::new(Arc::clone(&self.programmes), which, Arc::clone(&timing))),
            judged: true,
        });
        let tasks = tasks.collect();
        let usual = self.usual;
        let remarks = move || {
            let timing = timing.lock().unwrap_or_else(PoisonError::into_inner);
            Remarked {
                notes: timing.sentence().into_iter().collect(),
                doubts: usual.and_then(|usual| timing.doubt(usual)).into_iter().collect(),
            }
        };
        Workload {
            tasks,
            storage: self.storage.clone(),
            horizon: self.horizon,
            remarks: Some(Box::new(remarks)),
            ..Workload::default()
        }
    }

    fn id_of(&self, task: TaskId) -> u64 {
        self.programmes.get(task.index()).map_or(u64::from(task.0) + 1, |programme| programme.pid.into())
    }

    fn asks_for_elevator(&self) -> bool {
        true
    }
}
