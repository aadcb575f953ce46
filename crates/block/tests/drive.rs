//! Runs without CPUs end when all I/O is done, and fail with a sentence otherwise.

mod common;

use common::device::Unruly;
use goodness_block::{Arrival, Drive, Driven, Outcome, Queue, QueueOptions, Source, Storage, by_name};
use goodness_core::storage::VolumeId;
use goodness_core::{
    Device, DeviceFacts, Elevator, ElevatorAbout, Event, HwQueue, Io, IoContext, IoStage, Layer, Operation, QueueFacts,
    RegisteredElevator, Request, RequestId, Rng, Run, Seed, Submitter, Time,
};

const MS: u64 = 1_000_000;

/// A process that makes this many reads, one after the other, or all at given times.
struct Loop {
    left: u64,
    next: Time,
    io: Io,
    waits: bool,
}

impl Source for Loop {
    fn next_arrival(&self) -> Time {
        if self.left > 0 { self.next } else { Time::NEVER }
    }
    fn arrive(&mut self, _: Time, ios: &mut Vec<Io>) -> Arrival {
        ios.push(self.io);
        self.left -= 1;
        self.next = Time::NEVER;
        Arrival { volume: VolumeId(0), waits: self.waits }
    }
    fn told(&mut self, now: Time, outcome: Outcome) {
        if matches!(outcome, Outcome::Done { .. }) {
            self.next = now;
        }
    }
}

/// A faulty device that completes each request twice.
struct Stutters(Box<dyn Device>);

impl Device for Stutters {
    fn facts(&self) -> DeviceFacts {
        self.0.facts()
    }
    fn start(&mut self, now: Time, id: RequestId, request: &Request) {
        self.0.start(now, id, request);
    }
    fn next_event(&self) -> Time {
        self.0.next_event()
    }
    fn advance(&mut self, now: Time, done: &mut Vec<RequestId>) {
        self.0.advance(now, done);
        done.extend_from_within(..);
    }
}

#[test]
#[should_panic(expected = "request 0 is completed by the device: there is no such request")]
fn a_device_that_completes_a_request_twice_is_found_out() {
    let device = Stutters(goodness_device::by_name("null:latency=1ms", Seed(1)).unwrap());
    let disk = by_name("noop", &QueueOptions::default(), Box::new(device)).unwrap();
    let _ = Drive::new(&mut Storage::single(disk)).run(&mut reads(1), Time::NEVER);
}

fn reads(count: u64) -> Loop {
    Loop { left: count, next: Time::ZERO, io: Io::read(Submitter(0), 80, 8), waits: true }
}

fn storage(elevator: &str) -> Storage {
    let device = goodness_device::by_name("null:latency=1ms", Seed(1)).unwrap();
    Storage::single(by_name(elevator, &QueueOptions::default(), device).unwrap())
}

#[test]
fn a_closed_loop_submits_again_when_it_is_done_and_ends_when_it_is_dry() {
    let driven = Drive::new(&mut storage("noop")).run(&mut reads(10), Time::NEVER).unwrap();
    assert_eq!(driven, Driven { end: Time(10 * MS), submitted: 10, done: 10 });
    // No submitter waits, so each read is plugged for three milliseconds.
    let mut patient = Loop { waits: false, ..reads(10) };
    let driven = Drive::new(&mut storage("noop")).run(&mut patient, Time::NEVER).unwrap();
    assert_eq!(driven.end, Time(40 * MS));
}

#[test]
fn a_run_can_end_by_the_clock() {
    let driven = Drive::new(&mut storage("none")).run(&mut reads(10), Time(5 * MS)).unwrap();
    assert_eq!((driven.submitted, driven.done), (6, 5));
}

#[test]
fn an_observer_sees_every_station_in_order_of_time() {
    let mut seen: Vec<(Time, Event)> = Vec::new();
    Drive::new(&mut storage("noop")).observed(&mut seen).run(&mut reads(2), Time::NEVER).unwrap();
    let stages: Vec<(u64, IoStage)> = seen
        .iter()
        .map(|(at, event)| match event {
            Event::Io(event) => (at.0, event.stage),
            other => panic!("{other:?}"),
        })
        .collect();
    use IoStage::{Completed, Done, Inserted, Issued, Queued};
    let round = |at| [(at, Queued), (at, Inserted), (at, Issued), (at + MS, Completed), (at + MS, Done)];
    assert_eq!(stages, [round(0), round(MS)].concat());
}

#[test]
fn what_a_volume_does_not_hold_is_a_sentence() {
    let fault = |io| {
        let mut source = Loop { io, ..reads(1) };
        Drive::new(&mut storage("noop")).run(&mut source, Time::NEVER).unwrap_err().0
    };
    assert!(fault(Io::read(Submitter(0), u64::MAX, 8)).contains("volume 0 has 488281250 sectors"));
    assert!(fault(Io::read(Submitter(0), 488_281_250, 8)).contains("read of 8 sectors at sector 488281250"));
    assert!(fault(Io::read(Submitter(0), 0, 0)).contains("only a flush"));
    assert!(fault(Io { op: Operation::Flush, ..Io::read(Submitter(0), 0, 8) }).contains("only a flush"));
}

goodness_core::tunables! {
    pub struct Settings {
        /// Sets its timer again and again.
        restless: bool = false;
    }
}

/// A faulty elevator that takes requests and never dispatches one.
struct Miser {
    waiting: u32,
    restless: bool,
}

impl RegisteredElevator for Miser {
    const ABOUT: ElevatorAbout =
        ElevatorAbout { name: "miser", summary: "Keeps all.", source: "This test", layer: Layer::MultiQueue };
    type Settings = Settings;
    fn new(_: &QueueFacts, settings: Settings, _: Seed) -> Miser {
        Miser { waiting: 0, restless: settings.restless }
    }
}

impl Elevator for Miser {
    fn remove(&mut self, _: &IoContext, _: RequestId) {
        self.waiting -= 1;
    }
    fn insert(&mut self, _: &IoContext, _: RequestId) -> Run {
        self.waiting += 1;
        Run::WhenUnplugged
    }
    fn dispatch(&mut self, _: &IoContext, _: HwQueue) -> Option<RequestId> {
        None
    }
    fn next_timer(&self) -> Option<Time> {
        (self.restless && self.waiting > 0).then_some(Time(7))
    }
    fn has_work(&self) -> bool {
        self.waiting > 0
    }
}

#[test]
fn work_that_waits_while_nobody_will_act_is_a_fault_of_the_elevator() {
    let fault = |restless| {
        let device = goodness_device::by_name("null", Seed(1)).unwrap();
        let disk = Queue::of::<Miser>(Settings { restless }, &QueueOptions::default(), device);
        Drive::new(&mut Storage::single(Box::new(disk))).run(&mut reads(1), Time::NEVER).unwrap_err().0
    };
    assert!(fault(false).starts_with("miser stalls at 0: 1 requests wait at disk 0"), "{}", fault(false));
    assert!(fault(true).starts_with("miser asks again and again"), "{}", fault(true));
}

/// Keeps this many random 4 KiB reads and writes outstanding, each submitted alone.
struct Jobs {
    outstanding: u32,
    under_way: u32,
    left: u32,
    now: Time,
    rng: Rng,
}

impl Source for Jobs {
    fn next_arrival(&self) -> Time {
        if self.left > 0 && self.under_way < self.outstanding { self.now } else { Time::NEVER }
    }
    fn arrive(&mut self, _: Time, ios: &mut Vec<Io>) -> Arrival {
        let (sector, submitter) = (self.rng.below(1 << 13) * 8, Submitter(self.left % 4));
        let io = [Io::read(submitter, sector, 8), Io::sync_write(submitter, sector, 8)][self.rng.below(2) as usize];
        ios.push(Io { mergeable: false, ..io });
        (self.under_way, self.left) = (self.under_way + 1, self.left - 1);
        Arrival { volume: VolumeId(0), waits: true }
    }
    fn told(&mut self, now: Time, outcome: Outcome) {
        self.now = now;
        self.under_way -= u32::from(matches!(outcome, Outcome::Done { .. }));
    }
}

#[test]
fn every_registered_device_completes_what_every_elevator_gives_it() {
    for kind in goodness_device::DEVICES {
        for about in goodness_elevators::ALL {
            let device = goodness_device::by_name(kind.name, Seed(6)).unwrap();
            let disk = by_name(about.name, &QueueOptions::default(), device).unwrap();
            let mut jobs = Jobs { outstanding: 40, under_way: 0, left: 300, now: Time::ZERO, rng: Seed(8).rng() };
            let driven = Drive::new(&mut Storage::single(disk)).run(&mut jobs, Time::NEVER);
            let done = driven.map(|driven| (driven.submitted, driven.done));
            assert_eq!(done, Ok((300, 300)), "{} on {}", about.name, kind.name);
        }
    }
}

/// Number of requests out of a hundred that start behind the previous one, with 128 tags.
fn ascending(elevator: &str, outstanding: u32) -> usize {
    let device = Unruly::new(128, 1, 10 * MS, Seed(2));
    let disk = by_name(elevator, &QueueOptions::default(), Box::new(device)).unwrap();
    let mut jobs = Jobs { outstanding, under_way: 0, left: 6000, now: Time::ZERO, rng: Seed(4).rng() };
    let mut seen: Vec<(Time, Event)> = Vec::new();
    Drive::new(&mut Storage::single(disk)).observed(&mut seen).run(&mut jobs, Time::NEVER).unwrap();
    let issued: Vec<u64> = seen
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Io(io) if io.stage == IoStage::Issued => Some(io.sector),
            _ => None,
        })
        .skip(500)
        .collect();
    100 * issued.windows(2).filter(|pair| pair[1] > pair[0]).count() / issued.len()
}

#[test]
fn an_elevator_sorts_what_waits_without_a_tag_and_nothing_else() {
    // T-MQD-5, T-MQD-6
    let sorted = ascending("mq-deadline", 512);
    assert!((85..=98).contains(&sorted), "{sorted} %");
    for (elevator, outstanding) in [("mq-deadline", 128), ("none", 128), ("none", 512)] {
        let share = ascending(elevator, outstanding);
        assert!((48..=52).contains(&share), "{elevator} with {outstanding}: {share} %");
    }
}
