//! Measures the study `fio-mixed` on a loop device of this machine (needs root).
//!
//! `fio_mixed FOLDER [ROUNDS [SECONDS]]` writes `loop.toml` and `service.toml` to the folder. `fio_mixed --on DEVICE
//! SECONDS` measures an existing device and prints the result.
//!
//! Four jobs run together under each of the four elevators in turn, round after round, so that other work on the
//! machine affects all alike. The disk is a loop device over a file in the folder, with direct I/O and 4 requests at a
//! time; further requests wait in the elevator. Run it on a quiet machine: the device is fast and shares the CPUs with
//! all other work. Each round also traces the device's service times under none, which become the model.

mod numbers;
mod service;

use std::path::Path;
use std::time::Duration;

use goodness_core::Seed;
use goodness_ublk::disks::{Done, Job, LoopDisk, What, run};

const BYTES: u64 = 1 << 30;
/// Queue depth of the device; the jobs have 29 I/Os in flight.
const TAGS: u32 = 4;
const ELEVATORS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
/// Name, operation, bytes, queue depth.
const JOBS: [(&str, What, u32, u32); 4] = [
    ("reads-1", What::Reads, 4096, 1),
    ("reads-16", What::Reads, 4096, 16),
    ("writes-64k", What::Writes, 65_536, 8),
    ("writes-4", What::Writes, 4096, 4),
];
/// Trace time per round.
const TRACED: Duration = Duration::from_secs(2);

/// Results of one elevator, one number per round.
#[derive(Default)]
struct Seen {
    total: Vec<f64>,
    p99: Vec<f64>,
    jobs: [Vec<f64>; 4],
}

/// `fio_mixed --on DEVICE SECONDS`: measures an existing device under each elevator.
fn on(device: &Path, seconds: u64) {
    let queue = Path::new("/sys/block").join(device.file_name().expect("a device")).join("queue");
    let jobs = jobs(seconds);
    let mut seen: [Seen; 4] = Default::default();
    for (elevator, seen) in ELEVATORS.iter().zip(&mut seen) {
        std::fs::write(queue.join("scheduler"), elevator).expect("the kernel has it");
        if *elevator != "none" {
            std::fs::write(queue.join("nr_requests"), "256").expect("an elevator may have them");
        }
        keep(seen, &run(device, BYTES, &jobs, Seed(0)).expect("I/O works"));
    }
    let about = format!(
        "a null device that completes each of {TAGS}\n# requests at a time after 500 us, in the guest of scripts/guest"
    );
    print!("{}", numbers::published("guest", &about, &seen, 1, seconds));
}

/// The jobs, on two CPUs if there are two.
fn jobs(seconds: u64) -> [Job; 4] {
    std::array::from_fn(|number| {
        let (_, what, bytes, depth) = JOBS[number];
        let (time, cpu) = (Duration::from_secs(seconds), Some(number as u32 % 2));
        Job { what, bytes, depth, batch: 1, pieces: u64::MAX, time, cpu }
    })
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "--on") {
        return on(Path::new(&words[1]), words[2].parse().expect("a number"));
    }
    let folder = Path::new(words.first().expect("fio_mixed FOLDER [ROUNDS [SECONDS]]"));
    let number = |at: usize, usual: u64| words.get(at).map_or(usual, |word| word.parse().expect("a number"));
    let (rounds, seconds) = (number(1, 10), number(2, 2));
    let jobs = jobs(seconds);
    let disk = LoopDisk::make(folder, BYTES).expect("a loop device");
    // The file is filled first: a hole of a sparse file is read faster than data.
    let fill =
        Job { what: What::Writes, bytes: 1 << 20, depth: 2, batch: 1, pieces: 4096, time: Duration::MAX, cpu: None };
    run(&disk.device(), BYTES, &[fill], Seed(0)).expect("filled");
    let short = jobs.map(|job| Job { time: TRACED, ..job });
    let mut seen: [Seen; 4] = Default::default();
    let mut stays = Vec::new();
    for round in 0..rounds {
        for (elevator, seen) in ELEVATORS.iter().zip(&mut seen) {
            disk.set_elevator_before(elevator, TAGS).expect("the kernel has it");
            let done = run(&disk.device(), BYTES, &jobs, Seed(round)).expect("I/O works");
            keep(seen, &done);
            let now = |values: &[f64]| values[round as usize] as u64;
            let shares = seen.jobs.each_ref().map(|job| now(job));
            eprintln!("{round} {elevator}: {} a second, {shares:?}, p99 {} ns", now(&seen.total), now(&seen.p99));
        }
        disk.set_elevator_before("none", TAGS).expect("every kernel has it");
        let (trace, _) = disk.traced(|| run(&disk.device(), BYTES, &short, Seed(rounds + round))).expect("traced");
        stays.push(service::stays(&trace));
    }
    let rotates = disk.fact("rotational") == Some(1);
    std::fs::write(folder.join("service.toml"), service::service(stays, rotates)).expect("written");
    let about =
        format!("a loop device over a file on a disk, with direct I/O,\n# that takes {TAGS} requests at a time");
    std::fs::write(folder.join("loop.toml"), numbers::published("loop", &about, &seen, rounds, seconds))
        .expect("written");
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
