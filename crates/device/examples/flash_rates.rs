//! Speed, warm-up time and write amplification of the flash model: the figures of `docs/devices.md`.
//!
//! `cargo run --release -p goodness-device --example flash_rates`

use goodness_core::{Device, Io, Operation, Request, RequestId, Seed, Submitter, Time};
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
    println!("\nnvme  load                               simulated");
    beside_the_data_sheet();
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

/// Compares `nvme` with the data sheet of the drive it models, empty and full.
fn beside_the_data_sheet() {
    for (load, op, depth, sectors) in [
        ("sequential reads, 128 KiB, 32", Operation::Read, 32, 256),
        ("sequential writes, 128 KiB, 32", Operation::Write, 32, 256),
        ("random reads, 4 KiB, 1", Operation::Read, 1, 8),
        ("random reads, 4 KiB, 128", Operation::Read, 128, 8),
        ("random writes, 4 KiB, 128", Operation::Write, 128, 8),
    ] {
        let start = if op == Operation::Write { Start::Empty } else { Start::Full };
        let mut drive = Flash::new(&Settings { start, ..Settings::nvme() }, Seed(1)).expect("presets are valid");
        let (mut rng, count) = (Seed(9).rng(), 200_000);
        let span = drive_with(&mut drive, depth, count, |n, space| {
            let sector = if sectors == 8 { rng.below(space / 8) * 8 } else { n * u64::from(sectors) % space };
            request(op, sector, sectors)
        });
        let (iops, rate) = (count * 1_000_000_000 / span, count * u64::from(sectors) * 512_000 / span);
        println!("      {load:30}  {iops:8} requests/s  {rate:6} MB/s");
    }
}

/// Steady-state write amplification of uniform random writes on a drive of 4 GiB.
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

/// Runs random 4 KiB commands at this queue depth. Returns the simulated nanoseconds.
fn run(drive: &mut Flash, depth: u32, count: u64, writes: u64) -> u64 {
    let mut rng = Seed(9).rng();
    drive_with(drive, depth, count, |_, space| {
        let op = if rng.below(100) < writes { Operation::Write } else { Operation::Read };
        request(op, rng.below(space / 8) * 8, 8)
    })
}

/// Runs commands made by `next` from their number and the drive's sectors.
fn drive_with(drive: &mut Flash, depth: u32, count: u64, mut next: impl FnMut(u64, u64) -> Request) -> u64 {
    let space = drive.facts().sectors;
    let mut done = Vec::with_capacity(depth as usize);
    let start = drive.next_event();
    let mut now = if start == Time::NEVER { Time::ZERO } else { start };
    let (begun, mut started, mut under_way) = (now, 0, 0);
    done.extend((0..depth).map(RequestId));
    while started < count || under_way > 0 {
        for id in done.drain(..) {
            if started < count {
                drive.start(now, id, &next(started, space));
                (started, under_way) = (started + 1, under_way + 1);
            }
        }
        now = drive.next_event();
        drive.advance(now, &mut done);
        under_way -= done.len();
    }
    (now - begun).0
}

fn request(op: Operation, sector: u64, sectors: u32) -> Request {
    Request::of(&Io { op, ..Io::read(Submitter(0), sector, sectors) }, Time::ZERO)
}
