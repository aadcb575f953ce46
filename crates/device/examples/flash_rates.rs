//! How fast the flash model runs, how soon a drive is ready, and what it amplifies: the figures of `docs/devices.md`.
//!
//! `cargo run --release -p goodness-device --example flash_rates`

use goodness_core::{Device, HwQueue, IoPriority, Operation, Request, RequestId, Seed, Submitter, Time};
use goodness_device::Flash;
use goodness_device::flash::{Settings, Start};
use std::time::Instant;

fn main() {
    println!("preset  start  ready_ms  load              requests/s  simulated_iops");
    for (name, preset) in [("ssd", Settings::ssd()), ("nvme", Settings::nvme()), ("femu", Settings::femu())] {
        for (load, writes) in [("4 KiB reads", 0), ("30 % writes", 30), ("4 KiB writes", 100)] {
            speed(name, &preset, load, writes);
        }
    }
    println!("\npages_per_block  over_provision_%  write_amplification");
    for pages in [32, 128, 256] {
        for over_provision in [7, 15, 28, 50] {
            println!("{pages:15}  {over_provision:16}  {:.2}", amplification(pages, over_provision));
        }
    }
}

fn speed(name: &str, preset: &Settings, load: &str, writes: u64) {
    let begun = Instant::now();
    let mut drive = Flash::new(preset, Seed(1)).expect("presets are valid");
    let ready = begun.elapsed().as_secs_f64() * 1e3;
    let count = 1_000_000;
    run(&mut drive, 32, count / 10, writes);
    let begun = Instant::now();
    let span = run(&mut drive, 32, count, writes);
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    let iops = count * 1_000_000_000 / span;
    println!("{name:6}  {:5}  {ready:8.1}  {load:16}  {rate:10.0}  {iops:14}", "full");
}

/// Write amplification of uniform random writes on a drive of 4 GiB, after as many writes as make it steady.
fn amplification(pages_per_block: u64, over_provision: u64) -> f64 {
    let settings = Settings {
        sectors: 1 << 23,
        channels: 4,
        luns: 2,
        planes: 1,
        page: 4096,
        pages_per_block,
        over_provision,
        max_iops: 0,
        start: Start::Aged,
        ..Settings::ssd()
    };
    let mut drive = Flash::new(&settings, Seed(1)).expect("the drive is valid");
    let pages = settings.sectors / 8;
    run(&mut drive, 32, 2 * pages, 100);
    let before = drive.wear();
    run(&mut drive, 32, pages, 100);
    drive.wear().since(&before).amplification() as f64 / 1000.0
}

/// Random 4 KiB commands, `depth` under way at a time; returns the simulated nanoseconds.
fn run(drive: &mut Flash, depth: u32, count: u64, writes: u64) -> u64 {
    let mut rng = Seed(9).rng();
    let sectors = drive.facts().sectors / 8;
    let mut done = Vec::with_capacity(depth as usize);
    let start = drive.next_event();
    let mut now = if start == Time::NEVER { Time::ZERO } else { start };
    let (begun, mut left, mut under_way) = (now, count, 0);
    done.extend((0..depth).map(RequestId));
    while left > 0 || under_way > 0 {
        for id in done.drain(..) {
            if left > 0 {
                let op = if rng.below(100) < writes { Operation::Write } else { Operation::Read };
                drive.start(now, id, &request(op, rng.below(sectors) * 8));
                (left, under_way) = (left - 1, under_way + 1);
            }
        }
        now = drive.next_event();
        drive.advance(now, &mut done);
        under_way -= done.len();
    }
    (now - begun).0
}

fn request(op: Operation, sector: u64) -> Request {
    Request {
        op,
        sector,
        sectors: 8,
        segments: 1,
        sync: true,
        durable: false,
        mergeable: true,
        submitter: Submitter(0),
        priority: IoPriority::DEFAULT,
        cpu: 0,
        queue: HwQueue(0),
        allocated: Time::ZERO,
        inserted: Time::ZERO,
        issued: Time::ZERO,
    }
}
