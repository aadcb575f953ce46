//! The disk, the load and the counters of a recording.

use std::fs;
use std::path::Path;
use std::time::Duration;

use goodness_core::{QueueFacts, Seed};
use goodness_trace::block::{BlockRecord, BlockStage, load_block_bytes};
use goodness_ublk::disks::{Job, LoopDisk, What, run};

/// The kernel's elevators, `none` first.
pub const ELEVATORS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// Bytes of the disk.
pub const BYTES: u64 = 1 << 30;

/// A folder in memory, if there is one: the storage behind the device does not matter here.
pub fn below() -> &'static Path {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory } else { Path::new("/var/tmp") }
}

/// Reason the kernel's elevators cannot be tested here, if any.
pub fn hindrance() -> Option<String> {
    let root = fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
    if !root {
        return Some("loop devices need root; run the tests with sudo".into());
    }
    let disk = match LoopDisk::make(below(), BYTES) {
        Err(why) => return Some(why.to_string()),
        Ok(disk) => disk,
    };
    if let Err(why) = disk.traced(|| ()) {
        return Some(why.to_string());
    }
    let has = disk.elevators();
    let lacks: Vec<&str> = ELEVATORS.into_iter().filter(|name| !has.iter().any(|one| one == name)).collect();
    (!lacks.is_empty()).then(|| format!("this kernel lacks {}", lacks.join(" and ")))
}

/// A job of 4 KiB reads and writes.
pub fn mixed(depth: u32, batch: u32, pieces: u64) -> Job {
    Job { what: What::Both, bytes: 4096, depth, batch, pieces, time: Duration::from_secs(60), cpu: None }
}

/// Block events of the kernel's `elevator` under `jobs`, in order, with the queue's attributes.
pub fn recorded(disk: &LoopDisk, elevator: &str, jobs: &[Job], seed: u64) -> (Vec<BlockRecord>, QueueFacts) {
    disk.set_elevator(elevator).expect("the kernel has it");
    let load = || run(&disk.device(), BYTES, jobs, Seed(seed)).expect("I/O on our own device works");
    let (text, _) = disk.traced(load).expect("traced");
    let recording = load_block_bytes("trace", text.as_bytes()).expect("the kernel's own text");
    assert!(recording.about.warnings.is_empty(), "{:?}", recording.about.warnings);
    let kept = |record: &&BlockRecord| {
        matches!(
            record.stage,
            BlockStage::Insert | BlockStage::Issue | BlockStage::Complete { .. } | BlockStage::BackMerge
        )
    };
    let facts = QueueFacts {
        hz: 250,
        depth: 128,
        queues: 1,
        cpus: machine_cpus(),
        rotational: disk.fact("rotational") == Some(1),
        sectors: BYTES / 512,
        requests: disk.fact("nr_requests").expect("readable") as u32,
    };
    (recording.records.iter().filter(kept).copied().collect(), facts)
}

/// CPUs of the machine: the kernel uses more than this process may.
fn machine_cpus() -> u16 {
    let text = std::fs::read_to_string("/proc/cpuinfo").expect("/proc is mounted");
    text.lines().filter(|line| line.starts_with("processor")).count().max(1) as u16
}

/// Number of events at the given stages.
pub fn count(records: &[BlockRecord], is_counted: impl Fn(BlockStage) -> bool) -> usize {
    records.iter().filter(|record| is_counted(record.stage)).count()
}

/// Fraction of issues at a higher sector than the previous issue.
pub fn ascending(records: &[BlockRecord]) -> f64 {
    let issues = records.iter().filter(|record| record.stage == BlockStage::Issue);
    let sectors: Vec<u64> = issues.map(|record| record.sector).collect();
    let pairs = sectors.windows(2);
    pairs.clone().filter(|pair| pair[0] < pair[1]).count() as f64 / pairs.count().max(1) as f64
}
