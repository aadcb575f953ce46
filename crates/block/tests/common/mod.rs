//! Shared by the tests: an observed disk.
#![allow(dead_code)] // each test binary uses a part

pub mod device;

use goodness_block::{Disk, Out, Outcome, QueueOptions, by_name};
use goodness_core::{Device, Io, IoEvent, IoStage, Operation, Seed, Time};

pub const MS: u64 = 1_000_000;

/// A disk, with its output by time.
pub struct Watched {
    pub disk: Box<dyn Disk>,
    pub events: Vec<(u64, IoEvent)>,
    pub outcomes: Vec<(u64, Outcome)>,
    out: Out,
}

impl Watched {
    pub fn new(elevator: &str, device: &str, options: &QueueOptions) -> Watched {
        Watched::on(elevator, goodness_device::by_name(device, Seed(1)).unwrap(), options)
    }

    pub fn on(elevator: &str, device: Box<dyn Device>, options: &QueueOptions) -> Watched {
        let disk = by_name(elevator, options, device).unwrap();
        Watched { disk, events: Vec::new(), outcomes: Vec::new(), out: Out::with_events() }
    }

    pub fn submit(&mut self, at: u64, ios: &[Io]) {
        self.pass_until(at);
        self.disk.submit(Time(at), ios, &mut self.out);
        self.keep(at);
    }

    pub fn unplug(&mut self, at: u64) {
        self.pass_until(at);
        self.disk.unplug(Time(at), &mut self.out);
        self.keep(at);
    }

    /// Advances through `until`.
    pub fn pass_until(&mut self, until: u64) {
        while self.disk.next_event().0 <= until {
            let at = self.disk.next_event();
            self.disk.advance(at, &mut self.out);
            self.keep(at.0);
        }
    }

    /// Advances until nothing is scheduled.
    pub fn finish(&mut self) {
        self.pass_until(u64::MAX - 1);
        assert_eq!((self.disk.waiting(), self.disk.in_flight()), (0, 0), "work is left with {}", self.disk.elevator());
    }

    fn keep(&mut self, at: u64) {
        self.outcomes.extend(self.out.outcomes.iter().map(|outcome| (at, *outcome)));
        self.events.extend(self.out.events.iter().flatten().map(|event| (at, *event)));
        self.out.clear();
    }

    /// The requests issued to the device: time, first sector, number of sectors.
    pub fn issued(&self) -> Vec<(u64, u64, u32)> {
        let issued = self.events.iter().filter(|(_, event)| event.stage == IoStage::Issued);
        issued.map(|(at, event)| (*at, event.sector, event.sectors)).collect()
    }

    pub fn count(&self, stage: IoStage) -> usize {
        self.events.iter().filter(|(_, event)| event.stage == stage && event.op != Operation::Flush).count()
    }

    pub fn count_all(&self, stage: IoStage) -> usize {
        self.events.iter().filter(|(_, event)| event.stage == stage).count()
    }
}
