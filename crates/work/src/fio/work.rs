//! fio jobs as work: one task per job, on one disk.
//!
//! Files are placed one after the other on the disk, each as long as its jobs need. Names below `/dev`, and files of
//! jobs without a `size` in bytes, are the whole disk. Jobs of a later wave (`stonewall`) start when all of the
//! previous wave have ended. The `ramp_time` of the first wave is not measured.

use super::ini::Outside;
use super::job::{Ends, FioJob};
use super::player::{Extent, Player};
use super::stream::FioStream;
use super::together::Together;
use super::units::Amount;
use super::wave::stonewall;
use goodness_core::{
    ChannelKind, Device, DiskId, DiskSpec, FileId, FileSpec, HORIZON_MAX, Layout, Outsider, PAGE_BYTES, Piece,
    SECTOR_BYTES, Seed, Span, Start, StorageSpec, Task, TaskId, TaskSpec, Time, VolumeId, VolumeSpec, Workload,
    WorkloadSource,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Default disk.
pub const DEFAULT_DEVICE: &str = "nvme";
/// Default CPU time of one I/O. A choice: the order of a direct read of 4 KiB by io_uring or pread on a processor of
/// the 2020s.
pub const DEFAULT_COST: Span = Span::from_us(2);
/// Size of the page cache: 256 MiB, as for experiments.
const CACHE_PAGES: u32 = 1 << 16;

/// Parameters that are not in a job file.
#[derive(Clone, Debug)]
pub struct Options {
    /// The disk, with settings.
    pub device: String,
    /// CPU time of submitting one I/O and of taking its completion.
    pub cost: Span,
}

impl Default for Options {
    fn default() -> Options {
        Options { device: DEFAULT_DEVICE.into(), cost: DEFAULT_COST }
    }
}

/// The jobs of a file as work.
#[derive(Clone, Debug)]
pub struct FioWork {
    /// Sentences about how the jobs are run.
    pub notes: Vec<String>,
    name: String,
    jobs: Vec<Arc<FioJob>>,
    /// Position of the files, by job.
    extents: Vec<Vec<Extent>>,
    storage: StorageSpec,
    cost: Span,
}

impl FioWork {
    /// Reads a job file; `file` names it in errors and reports.
    ///
    /// # Errors
    /// One sentence with file, line and remedy.
    pub fn read(file: &str, text: &str, options: &Options, outside: &Outside) -> Result<FioWork, String> {
        let jobs = super::read(file, text, outside)?;
        let bytes = goodness_device::by_name(&options.device, Seed(1))?.facts().sectors * SECTOR_BYTES;
        let mut layout = Places::of(&jobs, bytes);
        layout.place(&jobs, bytes)?;
        let extents: Vec<Vec<Extent>> = jobs.iter().map(|job| layout.extents(job)).collect();
        for (job, extents) in jobs.iter().zip(&extents) {
            FioStream::new(job, &lengths(extents), Seed(1)).map_err(|why| job.place.says(&why))?;
        }
        let disk = Piece { disk: DiskId(0), sector: 0, sectors: bytes / SECTOR_BYTES };
        let storage = StorageSpec {
            disks: vec![DiskSpec::of("disk", &options.device)],
            volumes: vec![VolumeSpec { name: "disk".into(), layout: Layout::Linear, pieces: vec![disk] }],
            files: layout.files,
            cache_pages: CACHE_PAGES,
            serves_ios: true,
        };
        let mut notes = notes(&jobs, options, &storage);
        notes.extend(jobs.iter().zip(&extents).filter(|(job, _)| job.clone == 0).filter_map(endless));
        notes.extend(jobs.iter().filter(|job| job.clone == 0).filter_map(without_depth));
        let jobs = jobs.into_iter().map(Arc::new).collect();
        Ok(FioWork { notes, name: file.into(), jobs, extents, storage, cost: options.cost })
    }

    /// The metric that tells apart jobs whose end is set by time, which end then under every elevator: I/Os a second,
    /// or the latency where each such job has a rate to keep. `None` if every job ends with its work.
    #[must_use]
    pub fn ranked_by(&self) -> Option<&'static str> {
        let timed = || self.jobs.iter().filter(|job| job.time_based || job.replay.is_some() && job.keeps_times());
        timed().next()?;
        Some(if timed().all(|job| job.keeps_times()) { "io_latency_p99" } else { "iops" })
    }

    fn waves(&self) -> u32 {
        self.jobs.last().map_or(0, |job| job.wave) + 1
    }

    /// What the jobs of a run share, if anything.
    fn together(&self) -> Option<Together> {
        let shares = self.jobs.iter().any(|job| job.flow.is_some() || job.ends != Ends::Itself);
        shares.then(|| Together::new(self.jobs.iter().map(|job| &**job)))
    }

    fn task(&self, job: &Arc<FioJob>, extents: &[Extent], seed: Seed, together: Option<Together>) -> TaskSpec {
        let stream = FioStream::new(job, &lengths(extents), seed).expect("the same job fitted when it was read");
        let player = Player::new(Arc::clone(job), stream, extents.to_vec(), self.cost);
        TaskSpec {
            name: job.name.clone(),
            start: Start::At(Time::ZERO),
            task: Task { io_priority: job.priority, ..Task::default() },
            behaviour: Box::new(player.beside(together)),
            judged: true,
        }
    }
}

fn lengths(extents: &[Extent]) -> Vec<u64> {
    extents.iter().map(|extent| extent.bytes).collect()
}

fn notes(jobs: &[FioJob], options: &Options, storage: &StorageSpec) -> Vec<String> {
    let mut notes = vec![format!(
        "jobs: {}, on {}; each I/O takes {} of CPU time (--io-cost)",
        jobs.len(),
        options.device,
        options.cost
    )];
    if !storage.files.is_empty() {
        let mib = (u64::from(storage.cache_pages) * PAGE_BYTES) >> 20;
        notes.push(format!("files of jobs without direct=1 go through a page cache of {mib} MiB, empty at the start"));
    }
    let unstopped: BTreeSet<&str> = jobs.iter().flat_map(|job| job.unstopped.iter().copied()).collect();
    if !unstopped.is_empty() {
        let names: Vec<&str> = unstopped.into_iter().collect();
        notes.push(format!("fio may end a job early for {}; here the jobs go on", names.join(", ")));
    }
    let first = |job: &&FioJob| job.wave == 0;
    let ramp = |job: &FioJob| job.start_delay + job.ramp_time;
    let (least, most) = (jobs.iter().filter(first).map(ramp).min(), jobs.iter().map(ramp).max());
    let is_uneven = least != most && jobs.iter().any(|job| job.ramp_time > Span::ZERO);
    if is_uneven {
        notes.push("measurements of all jobs begin after the longest ramp_time of the first wave".into());
    }
    notes
}

/// Says that a job without a size in bytes does as many as its files have: fio's files exist and have their own.
fn endless((job, extents): (&FioJob, &Vec<Extent>)) -> Option<String> {
    let has_end = job.runtime.is_some() || job.io_size.is_some() || job.number_ios.is_some() || job.replay.is_some();
    let share = match job.size {
        Some(Amount::Bytes(_)) => return None,
        _ if has_end => return None,
        None => 100,
        Some(Amount::Percent(percent)) => percent,
    };
    let all: u64 = lengths(extents).iter().map(|bytes| (u128::from(*bytes) * u128::from(share) / 100) as u64).sum();
    let gib = all as f64 / (1_u64 << 30) as f64;
    let size = if job.size.is_none() { "no size" } else { "a size in percent" };
    Some(format!("job {}: {size}, so it does {gib:.1} GiB of the disk; runtime=10s ends it sooner", job.name))
}

/// Says that a depth has no effect, as in fio.
fn without_depth(job: &FioJob) -> Option<String> {
    let asked = job.depth;
    (asked > job.in_flight())
        .then(|| format!("job {}: iodepth={asked} has no effect, its engine waits for each I/O", job.name))
}

/// Positions of files on the disk.
struct Places {
    /// By name: bytes needed (`None` for the whole disk), start on the disk, and whether it is cached.
    by_name: BTreeMap<String, (Option<u64>, u64, bool)>,
    files: Vec<FileSpec>,
    numbers: BTreeMap<String, FileId>,
    disk: u64,
}

impl Places {
    fn of(jobs: &[FioJob], disk: u64) -> Places {
        let mut by_name: BTreeMap<String, (Option<u64>, u64, bool)> = BTreeMap::new();
        for job in jobs {
            for (at, name) in job.files.iter().enumerate() {
                let needed = needed(job, at).filter(|_| !name.starts_with("/dev/"));
                let known = by_name.entry(name.clone()).or_insert((Some(0), 0, false));
                known.0 = known.0.zip(needed).map(|(a, b)| a.max(b));
                known.2 |= !job.direct;
            }
        }
        Places { by_name, files: Vec::new(), numbers: BTreeMap::new(), disk }
    }

    /// Places the files one after the other, in the order in which jobs name them.
    fn place(&mut self, jobs: &[FioJob], disk: u64) -> Result<(), String> {
        let mut end = 0u64;
        for (job, name) in jobs.iter().flat_map(|job| job.files.iter().map(move |name| (job, name))) {
            if self.numbers.contains_key(name) {
                continue;
            }
            let Some((bytes, start, is_cached)) = self.by_name.get_mut(name) else { continue };
            if let Some(bytes) = *bytes {
                *start = end;
                end = end.saturating_add(bytes).checked_next_multiple_of(PAGE_BYTES).unwrap_or(u64::MAX);
                if end > disk {
                    let smaller = if job.replay.is_some() { "write replay_scale" } else { "make size smaller" };
                    return Err(job.place.says(&format!(
                        "file {name} ends at byte {end}, and the disk has {disk}; {smaller}, or name a larger disk \
                         with --device"
                    )));
                }
            }
            self.numbers.insert(name.clone(), FileId(self.files.len() as u32));
            let pages = (bytes.unwrap_or(disk) / PAGE_BYTES).max(1);
            if *is_cached {
                let pages = u32::try_from(pages).map_err(|_| {
                    job.place.says(&format!("file {name} has more than 16 TiB, too many for a cached file"))
                })?;
                let sector = *start / SECTOR_BYTES;
                self.files.push(FileSpec { name: name.clone(), volume: VolumeId(0), sector, pages, fragments: None });
            }
        }
        Ok(())
    }

    fn extents(&self, job: &FioJob) -> Vec<Extent> {
        let of = |name: &String| {
            let (bytes, start, _) = self.by_name.get(name).copied().unwrap_or((None, 0, false));
            let file = self.numbers.get(name).copied().unwrap_or(FileId(0));
            Extent { file, start, bytes: bytes.unwrap_or(self.disk) }
        };
        job.files.iter().map(of).collect()
    }
}

/// End of a job's region in a file, in bytes; `None` for all of the file.
fn needed(job: &FioJob, file: usize) -> Option<u64> {
    if let Some(replay) = &job.replay {
        return replay.ends[file].max(1).checked_next_multiple_of(PAGE_BYTES);
    }
    let bytes = |amount: Amount| match amount {
        Amount::Bytes(bytes) => Some(bytes),
        Amount::Percent(_) => None,
    };
    let increment = bytes(job.offset_increment)?.saturating_mul(job.clone.into());
    let size = bytes(job.size?)? / job.files.len() as u64;
    bytes(job.offset)?.saturating_add(increment).saturating_add(size).checked_next_multiple_of(PAGE_BYTES)
}

impl WorkloadSource for FioWork {
    fn name(&self) -> &str {
        &self.name
    }

    fn what_varies(&self) -> &str {
        "chance that jobs do not repeat (randrepeat=0, directions, sizes), chance within the device and the phase of \
            the tick"
    }

    fn build(&self, seed: Seed, replication: u32) -> Workload {
        let seed = seed.stream("fio", replication.into());
        let together = self.together();
        let task = |(job, extents): (&Arc<FioJob>, &Vec<Extent>)| self.task(job, extents, seed, together.clone());
        let tasks = self.jobs.iter().zip(&self.extents).map(task).collect();
        let first = self.jobs.iter().filter(|job| job.wave == 0);
        let warmup = first.filter(|job| job.ramp_time > Span::ZERO).map(|job| job.start_delay + job.ramp_time).max();
        let mut members = vec![0u32; self.waves() as usize];
        self.jobs.iter().for_each(|job| members[job.wave as usize] += 1);
        let outside = match members.len() {
            1 => Vec::new(),
            _ => {
                vec![Outsider { name: "stonewall".into(), start: Time::ZERO, behaviour: Box::new(stonewall(members)) }]
            }
        };
        Workload {
            tasks,
            outside,
            channels: vec![ChannelKind::Semaphore; 2 * self.waves() as usize],
            horizon: Some(Time::ZERO + HORIZON_MAX),
            warmup: warmup.unwrap_or(Span::ZERO),
            storage: self.storage.clone(),
            ..Workload::default()
        }
    }

    fn place_of(&self, task: TaskId) -> Option<String> {
        self.jobs.get(task.index()).map(|job| job.place.to_string())
    }

    fn asks_for_elevator(&self) -> bool {
        true
    }
}
