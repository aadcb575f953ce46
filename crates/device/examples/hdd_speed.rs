//! Requests a second that the disk models simulate on one core.
//!
//! `cargo run --release -p goodness-device --example hdd_speed`

#[path = "../tests/common/mod.rs"]
mod common;

use common::request;
use goodness_core::{Device, Operation, RequestId, Rng, Seed, Time};
use rustix::time::{ClockId, clock_gettime};

const REQUESTS: u32 = 1_000_000;

const CASES: [(&str, &str, Load); 7] = [
    ("random reads, one at a time", "atlas-10k", Load::Random),
    ("random reads, 64 by arrival", "scsi-10k-36gb:policy=fcfs", Load::Random),
    ("random reads, 64 by positioning", "scsi-10k-36gb", Load::Random),
    ("random reads, 256 by positioning", "scsi-10k-36gb:depth=256", Load::Random),
    ("reads and writes, 64 by positioning", "scsi-10k-36gb:write_cache=on", Load::Mixed),
    ("reads and writes, 32 by positioning", "sata-7200-4tb", Load::Mixed),
    ("sequential reads, one at a time", "scsi-15k-36gb:depth=1", Load::Sequential),
];

#[derive(Clone, Copy)]
enum Load {
    Random,
    Mixed,
    Sequential,
}

fn main() {
    for (what, device, load) in CASES {
        let mut device = goodness_device::by_name(device, Seed(1)).expect("a drive");
        let begun = cpu_seconds();
        let simulated = run(&mut *device, load);
        let rate = f64::from(REQUESTS) / (cpu_seconds() - begun);
        println!(
            "{what:36} {:7.0} k requests/s  ({:.3} ms each)",
            rate / 1e3,
            simulated.ns() as f64 / 1e6 / f64::from(REQUESTS)
        );
    }
}

/// CPU time of this thread: other work on the machine does not count.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Keeps the queue full. Returns the simulated time.
fn run(device: &mut dyn Device, load: Load) -> Time {
    let (facts, mut rng, mut now) = (device.facts(), Seed(3).rng(), Time::ZERO);
    let mut done = Vec::new();
    let mut sent = 0;
    while sent < REQUESTS {
        if sent < facts.depth {
            done.push(RequestId(sent));
        } else {
            now = device.next_event();
            device.advance(now, &mut done);
        }
        for id in done.drain(..) {
            device.start(now, id, &next(load, sent, facts.sectors, &mut rng));
            sent += 1;
        }
    }
    now
}

fn next(load: Load, number: u32, sectors: u64, rng: &mut Rng) -> goodness_core::Request {
    let sector = match load {
        Load::Sequential => u64::from(number) * 8 % (sectors - 8),
        Load::Random | Load::Mixed => rng.below(sectors / 8 - 1) * 8,
    };
    let writes = matches!(load, Load::Mixed) && rng.below(3) == 0;
    request(if writes { Operation::Write } else { Operation::Read }, sector, 8)
}
