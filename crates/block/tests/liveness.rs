//! Disks under closed loads: no request starves, neither in a device nor on the way to it, for all devices under all
//! elevators; and the load is measured as it is.

mod common;

use common::MS;
use goodness_block::{Disk, Out, Outcome, QueueOptions, by_name};
use goodness_core::{
    Device, DeviceFacts, Event, Io, Observer, Operation, Request, RequestId, Rng, Seed, Span, Submitter, Time,
};
use goodness_observe::{Ending, Measured, MetricsAndCheckers, Violation};

/// The age limit of `sata-7200-4tb`.
const AGE_LIMIT: u64 = 1000 * MS;

/// Location of a stream's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    Sequential,
    Random,
}

/// A stream that keeps this many requests of one kind in flight.
#[derive(Clone, Copy, Debug)]
struct Stream {
    op: Operation,
    pattern: Pattern,
    sectors: u32,
    depth: u64,
}

/// Completed requests of a stream, and the longest wait, including requests in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Served {
    done: u64,
    longest: u64,
}

/// The figures of a load.
struct Outcomes {
    served: Vec<Served>,
    measured: Measured,
    violations: Vec<Violation>,
}

const READS: Stream = Stream { op: Operation::Read, pattern: Pattern::Sequential, sectors: 256, depth: 4 };
const WRITES: Stream = Stream { op: Operation::Write, pattern: Pattern::Random, sectors: 8, depth: 32 };

/// A disk under streams that replace each request as it completes.
struct Loaded {
    disk: Box<dyn Disk>,
    watch: MetricsAndCheckers,
    streams: Vec<Stream>,
    next: Vec<u64>,
    /// Stream and time of submission, by tag.
    sent: Vec<(usize, u64)>,
    is_done: Vec<bool>,
    served: Vec<Served>,
    rng: Rng,
    writes_are_sync: bool,
    out: Out,
}

impl Loaded {
    fn new(elevator: &str, device: Box<dyn Device>, streams: &[Stream], seed: u64) -> Loaded {
        Loaded::throttled(elevator, device, streams, (seed, None))
    }

    /// A load whose writes are write-back that is throttled for reads, if there is a latency.
    fn throttled(
        elevator: &str,
        device: Box<dyn Device>,
        streams: &[Stream],
        (seed, wbt_lat): (u64, Option<Span>),
    ) -> Loaded {
        let options = QueueOptions { wbt_lat, ..QueueOptions::default() };
        let disk = by_name(elevator, &options, device).expect("a disk");
        Loaded {
            watch: MetricsAndCheckers::new(1, Time::ZERO, &[]).with_age_limits(vec![disk.device().age_limit]),
            disk,
            streams: streams.to_vec(),
            next: vec![0; streams.len()],
            sent: Vec::new(),
            is_done: Vec::new(),
            served: vec![Served::default(); streams.len()],
            rng: Seed(seed).rng(),
            writes_are_sync: wbt_lat.is_none(),
            out: Out::with_events(),
        }
    }

    fn submit(&mut self, now: u64, number: usize) {
        let Stream { op, pattern, sectors, .. } = self.streams[number];
        let size = u64::from(sectors.max(1));
        let sector = match pattern {
            Pattern::Sequential => self.next[number] % (self.disk.facts().sectors / size * size),
            Pattern::Random => self.rng.below(self.disk.facts().sectors / size) * size,
        };
        self.next[number] = sector + size;
        let tag = self.sent.len() as u64;
        let sync = op != Operation::Write || self.writes_are_sync;
        let io = Io { op, sync, tag, ..Io::read(Submitter(number as u32), sector, sectors) };
        self.sent.push((number, now));
        self.is_done.push(false);
        self.disk.submit(Time(now), &[io], &mut self.out);
        self.disk.unplug(Time(now), &mut self.out);
    }

    /// Submits the successor of each request that is done.
    fn replace(&mut self, now: u64) {
        self.check(now);
        while !self.out.outcomes.is_empty() {
            let outcomes = std::mem::take(&mut self.out.outcomes);
            for outcome in outcomes {
                let Outcome::Done { tag } = outcome else { continue };
                let (number, since) = self.sent[tag as usize];
                self.is_done[tag as usize] = true;
                let served = &mut self.served[number];
                (served.done, served.longest) = (served.done + 1, served.longest.max(now - since));
                self.submit(now, number);
            }
            self.check(now);
        }
    }

    fn check(&mut self, now: u64) {
        let events = self.out.events.iter_mut().flat_map(|events| events.drain(..));
        events.for_each(|event| self.watch.observe(Time(now), &Event::Io(event)));
    }

    /// Runs to time `until`, or until so many requests are done.
    fn run(mut self, until: u64, most: u64) -> Outcomes {
        for number in 0..self.streams.len() {
            (0..self.streams[number].depth).for_each(|_| self.submit(0, number));
        }
        self.replace(0);
        let mut now = 0;
        while self.disk.next_event().0 <= until && self.served.iter().map(|it| it.done).sum::<u64>() < most {
            now = self.disk.next_event().0;
            self.disk.advance(Time(now), &mut self.out);
            self.replace(now);
        }
        for ((number, since), _) in self.sent.iter().zip(&self.is_done).filter(|(_, is_done)| !**is_done) {
            let served = &mut self.served[*number];
            served.longest = served.longest.max(now - since);
        }
        let (measured, checked) = self.watch.finish(Time(now), Ending::Horizon);
        Outcomes { served: self.served, measured, violations: checked.violations }
    }
}

fn device(name: &str) -> Box<dyn Device> {
    goodness_device::by_name(name, Seed(1)).expect("a device")
}

#[test]
fn sequential_reads_and_random_writes_both_go_on_beside_a_full_write_cache() {
    for about in goodness_elevators::ALL {
        let loaded = Loaded::new(about.name, device("sata-7200-4tb"), &[READS, WRITES], 1);
        let Outcomes { served, violations, .. } = loaded.run(4000 * MS, u64::MAX);
        let [reads, writes] = served[..] else { panic!("two streams") };
        assert!(4 * reads.done >= reads.done + writes.done, "{}: {reads:?} beside {writes:?}", about.name);
        assert!(reads.longest.max(writes.longest) < 10 * AGE_LIMIT, "{}: {reads:?} beside {writes:?}", about.name);
        assert_eq!(violations, [], "{}", about.name);
    }
}

#[test]
fn readers_and_throttled_writers_all_go_on_under_any_elevator() {
    let random = Stream { pattern: Pattern::Random, sectors: 8, ..READS };
    for name in ["ssd", "nvme", "sata-7200-4tb"] {
        for about in goodness_elevators::ALL {
            for wbt_lat in [Span(1), Span::from_ms(75)] {
                let loaded = Loaded::throttled(about.name, device(name), &[random, WRITES], (1, Some(wbt_lat)));
                let Outcomes { served, violations, .. } = loaded.run(4000 * MS, 60_000);
                let context = format!("{name}, {}, {wbt_lat:?}: {served:?}", about.name);
                assert!(served.iter().all(|it| it.done > 0 && it.longest < 10 * AGE_LIMIT), "{context}");
                assert_eq!(violations, [], "{context}");
            }
        }
    }
}

/// One to three streams, small and large, of every kind that a device has.
fn draw(rng: &mut Rng, facts: DeviceFacts) -> Vec<Stream> {
    // Without a volatile cache a flush completes at once.
    let ops = if facts.volatile_cache { 4 } else { 3 };
    let stream = |rng: &mut Rng| {
        let op = [Operation::Read, Operation::Write, Operation::Write, Operation::Flush][rng.below(ops) as usize];
        let pattern = if rng.below(2) == 0 { Pattern::Sequential } else { Pattern::Random };
        let sectors = if op == Operation::Flush { 0 } else { [8, 8, 64, 256][rng.below(4) as usize] };
        Stream { op, pattern, sectors, depth: [1, 4, 32][rng.below(3) as usize] }
    };
    let others = rng.below(3);
    let mut streams = vec![Stream { op: Operation::Read, ..stream(rng) }];
    streams[0].sectors = streams[0].sectors.max(8);
    streams.extend((0..others).map(|_| stream(rng)));
    streams
}

#[test]
fn no_command_of_a_drawn_load_stays_too_long_in_any_device_under_any_elevator() {
    let mut seed = 0;
    for kind in goodness_device::DEVICES {
        for about in goodness_elevators::ALL {
            seed += 1;
            let mut rng = Seed(seed).rng();
            let device = device(kind.name);
            let (streams, limit) = (draw(&mut rng, device.facts()), device.facts().age_limit);
            let loaded = Loaded::new(about.name, device, &streams, seed);
            let Outcomes { served, violations, .. } = loaded.run(15 * AGE_LIMIT, 600);
            let context = format!("seed {seed}, {}, {}: {streams:?} {served:?} {limit:?}", kind.name, about.name);
            assert_eq!(violations, [], "{context}");
            assert!(served.iter().map(|it| it.done).sum::<u64>() > 0, "{context}");
        }
    }
}

/// Holds back reads while it has anything else: the planted fault.
struct Starving {
    inner: Box<dyn Device>,
    others: Vec<RequestId>,
    reads: Vec<(RequestId, Request)>,
}

impl Device for Starving {
    fn facts(&self) -> DeviceFacts {
        self.inner.facts()
    }

    fn start(&mut self, now: Time, id: RequestId, request: &Request) {
        if request.op == Operation::Read {
            return self.reads.push((id, *request));
        }
        self.others.push(id);
        self.inner.start(now, id, request);
    }

    fn next_event(&self) -> Time {
        self.inner.next_event()
    }

    fn advance(&mut self, now: Time, done: &mut Vec<RequestId>) {
        self.inner.advance(now, done);
        self.others.retain(|id| !done.contains(id));
        if self.others.is_empty() {
            self.reads.drain(..).for_each(|(id, request)| self.inner.start(now, id, &request));
        }
    }
}

#[test]
fn a_device_that_starves_reads_is_found() {
    for elevator in ["none", "mq-deadline", "noop"] {
        let inner = device("sata-7200-4tb:depth=16");
        let starving = Starving { inner, others: Vec::new(), reads: Vec::new() };
        let Outcomes { served, violations, .. } =
            Loaded::new(elevator, Box::new(starving), &[READS, WRITES], 1).run(15 * AGE_LIMIT, u64::MAX);
        assert_eq!(served[0].done, 0, "{elevator}: {served:?}");
        let found = violations.iter().find(|it| it.checker == "bounded_service");
        assert!(found.is_some_and(|it| it.sentence.contains("times the age limit")), "{elevator}: {violations:?}");
    }
}

#[test]
fn a_disk_is_busy_all_the_time_and_as_deep_as_the_closed_load_on_it() {
    for (name, elevator) in [("null:latency=1ms,depth=32", "none"), ("sata-7200-4tb", "mq-deadline"), ("nvme", "bfq")] {
        for depth in [1, 4] {
            let stream = Stream { pattern: Pattern::Random, sectors: 8, depth, ..READS };
            let outcomes = Loaded::new(elevator, device(name), &[stream], 1).run(2000 * MS, 2000);
            let value = |metric: &str| outcomes.measured.get(metric).value.unwrap_or(0.0);
            let (busy, queue) = (value("disk_busy"), value("queue_depth"));
            assert!((busy - 1.0).abs() < 1e-6 && (queue - depth as f64).abs() < 1e-6, "{name}: {busy} {queue}");
        }
    }
}
