//! What the block layer and an elevator cost: requests per second on the null device, without and with events. On Linux
//! the seconds are CPU time, so that other programs on the machine do not count.
//!
//! `cargo run --release -p goodness-block --example speed [ELEVATOR…]`

use goodness_block::{Arrival, Drive, Outcome, QueueOptions, Source, Storage, by_name};
use goodness_core::storage::VolumeId;
use goodness_core::{Event, Io, Observer, Rng, Seed, Submitter, Time};
use std::time::Instant;

const REQUESTS: u64 = 1_000_000;
/// Pieces of I/O under way.
const OUTSTANDING: u64 = 64;
/// Pieces that are submitted in one go.
const PLUG: u64 = 16;

/// So many random 4 KiB reads and writes under way, until there were enough.
struct Random {
    rng: Rng,
    sectors: u64,
    under_way: u64,
    left: u64,
    now: Time,
}

impl Source for Random {
    fn next_arrival(&self) -> Time {
        if self.left > 0 && self.under_way + PLUG <= OUTSTANDING { self.now } else { Time::NEVER }
    }

    fn arrive(&mut self, _: Time, ios: &mut Vec<Io>) -> Arrival {
        for _ in 0..PLUG.min(self.left) {
            let bits = self.rng.bits();
            let sector = (bits >> 8) % (self.sectors / 8) * 8;
            let submitter = Submitter((bits & 7) as u32);
            ios.push(if bits & 128 == 0 { Io::read(submitter, sector, 8) } else { Io::write(submitter, sector, 8) });
        }
        self.under_way += ios.len() as u64;
        self.left -= ios.len() as u64;
        Arrival { volume: VolumeId(0), waits: true }
    }

    fn told(&mut self, now: Time, outcome: Outcome) {
        if matches!(outcome, Outcome::Done { .. }) {
            self.under_way -= 1;
            self.now = now;
        }
    }
}

/// Counts, so that events are looked at.
struct Count(u64);

impl Observer for Count {
    fn observe(&mut self, _: Time, _: &Event) {
        self.0 += 1;
    }
}

/// CPU time of this thread in seconds; where the kernel does not tell, the time since `begin`.
fn seconds(begin: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = told.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    ns.map_or_else(|| begin.elapsed().as_secs_f64(), |ns| ns as f64 / 1e9)
}

fn speed(elevator: &str, with_events: bool) -> f64 {
    let device = goodness_device::by_name("null:depth=16,latency=10us", Seed(1)).expect("null is registered");
    let disk = by_name(elevator, &QueueOptions::default(), device).unwrap_or_else(|problem| panic!("{problem}"));
    let mut storage = Storage::single(disk);
    let sectors = storage.sectors(VolumeId(0));
    let mut source = Random { rng: Seed(7).rng(), sectors, under_way: 0, left: REQUESTS, now: Time::ZERO };
    let mut count = Count(0);
    let mut drive = Drive::new(&mut storage);
    if with_events {
        drive = drive.observed(&mut count);
    }
    let begin = Instant::now();
    let before = seconds(begin);
    let driven = drive.run(&mut source, Time::NEVER).unwrap_or_else(|problem| panic!("{problem}"));
    let rate = driven.done as f64 / (seconds(begin) - before);
    assert_eq!((driven.done, count.0 > 0), (REQUESTS, with_events));
    rate
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let all = || goodness_io::ALL.iter().map(|about| about.name.to_string()).collect();
    println!("{:<16} {:>16} {:>16}", "elevator", "requests/s", "with events");
    for elevator in if asked.is_empty() { all() } else { asked } {
        // The best of three: what else runs on the machine only takes away.
        let best = |with_events| (0..3).map(|_| speed(&elevator, with_events)).fold(0.0, f64::max);
        println!("{elevator:<16} {:>14.2} M {:>14.2} M", best(false) / 1e6, best(true) / 1e6);
    }
}
