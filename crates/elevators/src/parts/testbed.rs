//! A test host: an elevator, one simple disk, and processes. It replaces block layer and disk where a test asks what
//! an elevator makes of a load; nothing is plugged or merged.
//!
//! The disk serves one request after the other and takes `depth` of them at a time. A request that does not begin where
//! the one before it ended costs a seek of fixed length first.
//!
//! ```text
//! let mut bed = Testbed::<Noop>::new(facts(), Settings::default(), Disk::default());
//! let reader = bed.add(Job::reader(Submitter(1), 0, Span::from_us(500)));
//! bed.run(Span::from_s(1));
//! assert!(bed.done(reader).sectors > 0);
//! ```

use crate::parts::verb_driver::VerbDriver;
use goodness_core::{
    Allocate, GroupId, Io, IoPriority, Operation, QueueFacts, RegisteredElevator, RequestId, Rng, Seed, Span,
    Submitter, Time,
};
use std::collections::VecDeque;

/// A mechanism with two costs.
#[derive(Clone, Copy, Debug)]
pub struct Disk {
    /// Before a request that does not follow the one before it.
    pub seek: Span,
    /// For each sector.
    pub transfer: Span,
}

impl Default for Disk {
    /// 8 ms for a seek, 50 MB/s.
    fn default() -> Disk {
        Disk { seek: Span::from_ms(8), transfer: Span::from_us(10) }
    }
}

/// Access pattern of a process.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// On, from this sector.
    Sequential(u64),
    /// To a multiple of its request size between two sectors.
    Random(u64, u64),
}

/// Time between a process's requests.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// This long after a completion.
    Think(Span),
    /// At multiples of a period, independent of completions.
    Every(Span),
}

/// A process.
#[derive(Clone, Debug)]
pub struct Job {
    pub submitter: Submitter,
    pub op: Operation,
    pub sync: bool,
    pub priority: IoPriority,
    pub group: GroupId,
    pub place: Place,
    /// Sectors of a request.
    pub sectors: u32,
    pub pace: Pace,
    /// Most requests in flight, with [`Pace::Think`].
    pub outstanding: u32,
    /// Start time.
    pub start: Time,
    /// Requests after which it exits.
    pub count: u64,
}

impl Job {
    /// A synchronous sequential reader of 64 KiB pieces that thinks between them.
    pub fn reader(submitter: Submitter, from: u64, think: Span) -> Job {
        Job {
            submitter,
            op: Operation::Read,
            sync: true,
            priority: IoPriority::DEFAULT,
            group: GroupId::ROOT,
            place: Place::Sequential(from),
            sectors: 128,
            pace: Pace::Think(think),
            outstanding: 1,
            start: Time::ZERO,
            count: u64::MAX,
        }
    }

    /// A synchronous random reader of 4 KiB pieces that does not think.
    pub fn random_reader(submitter: Submitter, from: u64, to: u64) -> Job {
        Job { place: Place::Random(from, to), sectors: 8, ..Job::reader(submitter, from, Span::ZERO) }
    }

    /// Write-back that keeps `outstanding` sequential 64 KiB writes waiting.
    pub fn writer(submitter: Submitter, from: u64, outstanding: u32) -> Job {
        Job { op: Operation::Write, sync: false, outstanding, ..Job::reader(submitter, from, Span::ZERO) }
    }

    pub fn with_priority(self, priority: IoPriority) -> Job {
        Job { priority, ..self }
    }
}

/// One completed request.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// Number returned by [`Testbed::add`].
    pub job: usize,
    pub op: Operation,
    pub sectors: u32,
    pub submitted: Time,
    /// Time the disk got it.
    pub issued: Time,
    /// Time its service began.
    pub begun: Time,
    pub completed: Time,
    /// True if it needed a seek.
    pub seek: bool,
}

/// Totals of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub requests: u64,
    pub sectors: u64,
    /// Time of the mechanism.
    pub busy: Span,
    pub latency_max: Span,
}

struct Process {
    job: Job,
    /// Arrival times, earliest first.
    due: VecDeque<Time>,
    submitted: u64,
    completed: u64,
    next_sector: u64,
    rng: Rng,
}

struct Flight {
    request: RequestId,
    job: usize,
    begun: Time,
    completes: Time,
    seek: bool,
}

/// Elevator, disk and processes.
pub struct Testbed<E> {
    pub driver: VerbDriver<E>,
    /// Everything served so far, in order of completion.
    pub log: Vec<Served>,
    disk: Disk,
    processes: Vec<Process>,
    in_disk: VecDeque<Flight>,
    /// Job of each request.
    owners: Vec<usize>,
    /// Final position of the head after all requests given to it, and the time.
    head: u64,
    free: Time,
}

impl<E: RegisteredElevator> Testbed<E> {
    pub fn new(facts: QueueFacts, settings: E::Settings, disk: Disk) -> Testbed<E> {
        Testbed {
            driver: VerbDriver::with(facts, settings),
            log: Vec::new(),
            disk,
            processes: Vec::new(),
            in_disk: VecDeque::new(),
            owners: Vec::new(),
            head: 0,
            free: Time::ZERO,
        }
    }

    /// Adds a process. Returns its number.
    pub fn add(&mut self, job: Job) -> usize {
        let number = self.processes.len();
        let first = match job.pace {
            Pace::Think(_) => job.outstanding as usize,
            Pace::Every(_) => 1,
        };
        let next_sector = match job.place {
            Place::Sequential(from) | Place::Random(from, _) => from,
        };
        self.processes.push(Process {
            due: std::iter::repeat_n(job.start, first).collect(),
            submitted: 0,
            completed: 0,
            next_sector,
            rng: Seed(1).stream("testbed", number as u64).rng(),
            job,
        });
        number
    }

    /// Advances the time by `span`.
    pub fn run(&mut self, span: Span) {
        let until = self.driver.now() + span;
        while let Some(at) = self.next_event().filter(|at| *at <= until) {
            let now = at.max(self.driver.now());
            self.driver.set_now(now);
            self.step();
            self.feed();
        }
        self.driver.set_now(until);
    }

    /// Totals of `job` so far.
    pub fn done(&self, job: usize) -> Done {
        self.done_since(job, Time::ZERO)
    }

    /// Totals of `job` over requests completed at or after `since`.
    pub fn done_since(&self, job: usize, since: Time) -> Done {
        let mut done = Done::default();
        for served in self.log.iter().filter(|served| served.job == job && served.completed >= since) {
            done.requests += 1;
            done.sectors += u64::from(served.sectors);
            done.busy += served.completed.since(served.begun);
            done.latency_max = done.latency_max.max(served.completed.since(served.submitted));
        }
        done
    }

    /// Number of switches of service from one job to another.
    pub fn switches(&self) -> usize {
        self.log.windows(2).filter(|pair| pair[0].job != pair[1].job).count()
    }

    /// Number of seeks.
    pub fn seeks(&self) -> usize {
        self.log.iter().filter(|served| served.seek).count()
    }

    /// Gaps between the end of one request and the start of the next, with the latter.
    pub fn pauses(&self) -> impl Iterator<Item = (Span, Served)> + '_ {
        self.log.windows(2).map(|pair| (pair[1].begun.since(pair[0].completed), pair[1]))
    }

    fn next_event(&self) -> Option<Time> {
        let arrivals = self.processes.iter().filter_map(|process| process.due.front().copied());
        let completion = self.in_disk.front().map(|flight| flight.completes);
        arrivals.chain(completion).chain(self.driver.next_timer()).min()
    }

    /// Handles one event: completions before timers before arrivals.
    fn step(&mut self) {
        let now = self.driver.now();
        if self.in_disk.front().is_some_and(|flight| flight.completes <= now) {
            return self.complete();
        }
        if self.driver.expire() {
            return;
        }
        self.driver.expect_no_refusal();
        let number = self.processes.iter().position(|process| process.due.front().is_some_and(|at| *at <= now));
        self.submit(number.expect("something happens at the time of the next event"));
    }

    fn submit(&mut self, number: usize) {
        let now = self.driver.now();
        let process = &mut self.processes[number];
        process.due.pop_front();
        let job = &process.job;
        let sector = match job.place {
            Place::Sequential(_) => process.next_sector,
            Place::Random(from, to) => {
                let size = u64::from(job.sectors);
                from + process.rng.below((to - from) / size) * size
            }
        };
        let read = Io::read(job.submitter, sector, job.sectors);
        let io = Io { op: job.op, sync: job.sync, priority: job.priority, group: job.group, ..read };
        let used = self.requests_of(io.op == Operation::Read);
        let process = &mut self.processes[number];
        let waits = match self.driver.may_take(&io, used) {
            Allocate::Wait => true,
            Allocate::Shallow(depth) => used >= depth,
            Allocate::AsUsual | Allocate::Always => false,
        };
        if waits {
            // Asks again a millisecond later: this testbed has no list of waiters, and its slots have no numbers.
            process.due.push_front(now + Span::from_ms(1));
            return;
        }
        process.next_sector = io.end();
        process.submitted += 1;
        if let Pace::Every(period) = process.job.pace
            && process.submitted < process.job.count
        {
            process.due.push_back(now + period);
        }
        let (request, _) = self.driver.insert_told(io);
        self.owners.resize(self.driver.requests().slots().max(self.owners.len()), usize::MAX);
        self.owners[request.index()] = number;
    }

    /// Requests of a direction in existence.
    fn requests_of(&self, reads: bool) -> u32 {
        let owned = self.owners.iter().filter(|owner| **owner != usize::MAX);
        owned.filter(|owner| (self.processes[**owner].job.op == Operation::Read) == reads).count() as u32
    }

    fn complete(&mut self) {
        let flight = self.in_disk.pop_front().expect("the disk has a request");
        let request = self.driver.requests()[flight.request];
        self.log.push(Served {
            job: flight.job,
            op: request.op,
            sectors: request.sectors,
            submitted: request.allocated,
            issued: request.issued,
            begun: flight.begun,
            completed: flight.completes,
            seek: flight.seek,
        });
        self.owners[flight.request.index()] = usize::MAX;
        self.driver.complete(flight.request);
        let now = self.driver.now();
        let process = &mut self.processes[flight.job];
        process.completed += 1;
        if let Pace::Think(think) = process.job.pace
            && process.submitted + (process.due.len() as u64) < process.job.count
        {
            process.due.push_back(now + think);
        }
        if process.completed == process.job.count {
            let submitter = process.job.submitter;
            self.driver.exit(submitter);
        }
    }

    /// Dispatches from the elevator to the disk while both agree.
    fn feed(&mut self) {
        while self.driver.in_flight() < self.driver.facts().depth {
            let Some(request) = self.driver.dispatch() else { return };
            let Disk { seek, transfer } = self.disk;
            let (sector, end) = (self.driver.requests()[request].sector, self.driver.requests()[request].end());
            let sectors = self.driver.requests()[request].sectors;
            let begun = self.free.max(self.driver.now());
            let seeks = sector != self.head;
            let cost = Span(transfer.0 * u64::from(sectors) + if seeks { seek.0 } else { 0 });
            (self.head, self.free) = (end, begun + cost);
            let job = self.owners[request.index()];
            self.in_disk.push_back(Flight { request, job, begun, completes: self.free, seek: seeks });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noop::{Noop, Settings};
    use crate::parts::verb_driver::facts;

    fn bed(depth: u32) -> Testbed<Noop> {
        Testbed::new(QueueFacts { depth, ..facts() }, Settings::default(), Disk::default())
    }

    #[test]
    fn a_lone_sequential_reader_seeks_never_and_thinks_between_requests() {
        let mut bed = bed(1);
        let reader = bed.add(Job::reader(Submitter(0), 0, Span::from_us(720)));
        bed.run(Span::from_ms(200));
        // 128 sectors take 1.28 ms, and the next comes 0.72 ms later.
        assert_eq!((bed.done(reader).requests, bed.seeks()), (100, 0));
        assert!(bed.pauses().all(|(pause, _)| pause == Span::from_us(720)));
    }

    #[test]
    fn two_streams_seek_at_every_request_in_order_of_arrival() {
        let mut bed = bed(1);
        let first = bed.add(Job::reader(Submitter(0), 0, Span::ZERO));
        let second = bed.add(Job::reader(Submitter(1), 1 << 20, Span::ZERO));
        bed.run(Span::from_s(1));
        assert!(bed.done(first).requests.abs_diff(bed.done(second).requests) <= 1);
        assert_eq!((bed.switches(), bed.seeks()), (bed.log.len() - 1, bed.log.len() - 1));
    }

    #[test]
    fn the_disk_takes_as_many_requests_as_it_is_deep_and_serves_one_at_a_time() {
        let mut bed = bed(4);
        bed.add(Job::writer(Submitter(0), 0, 8));
        bed.run(Span::from_ms(100));
        assert_eq!(bed.driver.in_flight(), 4);
        assert!(bed.log.windows(2).all(|pair| pair[1].begun >= pair[0].completed));
    }

    #[test]
    fn a_periodic_process_submits_whatever_completes_and_exits_after_its_count() {
        let mut bed = bed(1);
        let pace = Pace::Every(Span::from_ms(5));
        let job = bed.add(Job { pace, count: 7, ..Job::random_reader(Submitter(0), 0, 1 << 20) });
        bed.run(Span::from_s(1));
        let submitted: Vec<u64> = bed.log.iter().map(|served| served.submitted.0 / 1_000_000).collect();
        assert_eq!(submitted, [0, 5, 10, 15, 20, 25, 30]);
        assert_eq!(bed.done(job).latency_max, bed.log[6].completed.since(bed.log[6].submitted));
    }
}
