//! Measures the study `fio-mixed` on a loop device of this machine: `fio_mixed FOLDER [ROUNDS [SECONDS]]` (root; blkio of
//! cgroup v1). Writes `published.toml` to the folder.
//!
//! Four jobs run together under each of the four elevators in turns, round after round, so that what else the machine does
//! hits all alike. The disk is a loop device over another one that the kernel limits to so many I/Os a second of each
//! direction, over a file in memory: without the limit a loop device is as fast as its machine's CPUs, and one measures those.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use goodness_core::Seed;
use goodness_live::disks::{Done, Job, LoopDisk, What, run};

const BYTES: u64 = 1 << 30;
/// I/Os a second of each direction.
const RATE: u64 = 400;
const ELEVATORS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
/// Name, what, bytes, depth.
const JOBS: [(&str, What, u32, u32); 4] = [
    ("reads-1", What::Reads, 4096, 1),
    ("reads-16", What::Reads, 4096, 16),
    ("writes-64k", What::Writes, 65_536, 8),
    ("writes-4", What::Writes, 4096, 4),
];
/// What is kept of one elevator, a number for each round.
#[derive(Default)]
struct Seen {
    total: Vec<f64>,
    p99: Vec<f64>,
    jobs: [Vec<f64>; 4],
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(words.first().expect("fio_mixed FOLDER [ROUNDS [SECONDS]]"));
    let number = |at: usize, usual: u64| words.get(at).map_or(usual, |word| word.parse().expect("a number"));
    let (rounds, seconds) = (number(1, 10), number(2, 2));
    let jobs = JOBS.map(|(_, what, bytes, depth)| Job {
        what,
        bytes,
        depth,
        batch: 1,
        pieces: u64::MAX,
        time: Duration::from_secs(seconds),
    });
    let below = Path::new("/dev/shm");
    let lower = LoopDisk::make(below, BYTES).expect("a loop device");
    // The file is filled first: a hole of a sparse file is read faster than data.
    let fill = Job { what: What::Writes, bytes: 1 << 20, depth: 2, batch: 1, pieces: 512, time: Duration::MAX };
    run(&lower.device(), BYTES, &[fill], Seed(0)).expect("filled");
    lower.limit(RATE, RATE).expect("blkio of cgroup v1");
    let disk = LoopDisk::above(&lower, below).expect("a loop device");
    let mut seen: [Seen; 4] = Default::default();
    for round in 0..rounds {
        for (elevator, seen) in ELEVATORS.iter().zip(&mut seen) {
            disk.set_elevator(elevator).expect("the kernel has it");
            let done = run(&disk.device(), BYTES, &jobs, Seed(round)).expect("I/O works");
            keep(seen, &done);
            eprintln!(
                "{round} {elevator}: {:.0} IOPS, p99 {:.0} us",
                seen.total[round as usize],
                seen.p99[round as usize] / 1e3
            );
        }
    }
    std::fs::write(folder.join("published.toml"), published(&seen, rounds, seconds)).expect("written");
}

fn keep(seen: &mut Seen, done: &[Done]) {
    let rate = |done: &Done| done.pieces as f64 / done.time.as_secs_f64();
    seen.total.push(done.iter().map(rate).sum());
    let mut latencies = done[0].latencies.clone();
    latencies.sort_unstable();
    seen.p99.push(latencies[latencies.len() * 99 / 100].as_nanos() as f64);
    for (kept, done) in seen.jobs.iter_mut().zip(done) {
        kept.push(rate(done));
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) }
}

fn published(seen: &[Seen; 4], rounds: u64, seconds: u64) -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut text = format!(
        "# Measured by scripts/measure-fio-mixed: Linux {}, {cpus} CPUs, a loop device over one that is limited to {RATE} reads\n\
         # and {RATE} writes a second (blkio.throttle), over a file in memory, all with direct I/O. Four jobs at random places:\n\
         # reads of 4 KiB at depth 1 and at depth 16, writes of 64 KiB at depth 8, writes of 4 KiB at depth 4.\n\
         # {rounds} rounds of {seconds} s under each elevator in turns; medians over the rounds. Those under none are what the\n\
         # model is fitted to.\n",
        kernel.trim().split('-').next().unwrap_or_default()
    );
    let alone = median(&seen[0].jobs[0]);
    for (elevator, seen) in ELEVATORS.iter().zip(seen) {
        if *elevator != "none" {
            let _ = write!(
                text,
                "\n[[number]]\nkey = \"ratio.{elevator}\"\nquantity = \"reads at depth 1 a second, {elevator} by none\"\nunit = \"ratio\"\n\
             value = {:.4}\nwhere = \"of the medians\"\ntolerance = {{ relative = 0.25 }}\nagainst = {{ value = 1.0 }}\n",
                median(&seen.jobs[0]) / alone
            );
        }
        let mut entry = |key: &str, quantity: &str, unit: &str, values: &[f64]| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(0.0, f64::max);
            let _ = write!(
                text,
                "\n[[number]]\nkey = \"{key}.{elevator}\"\nquantity = \"{quantity} under {elevator}\"\nunit = \"{unit}\"\n\
                 value = {:.1}\nwhere = \"median of {rounds} rounds, {low:.0} to {high:.0}\"\n\
                 tolerance = {{ relative = 0.25 }}\n",
                median(values)
            );
        };
        entry("iops", "I/Os a second, all jobs,", "per second", &seen.total);
        entry("p99", "p99 of the reads at depth 1", "ns", &seen.p99);
        for ((name, ..), values) in JOBS.iter().zip(&seen.jobs) {
            entry(name, &format!("I/Os a second of {name}"), "per second", values);
        }
    }
    text
}
