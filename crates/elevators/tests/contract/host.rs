//! A random block layer and device within the elevator's contract. The referee checks the elevator's answers and fails
//! the test on an invalid one.

use goodness_core::{
    Allocate, ElevatorEntry, Group, GroupId, Groups, HwQueue, Io, IoClass, IoPriority, Layer, MadeElevator, Merges,
    Operation, QueueFacts, Request, RequestId, Rng, Seed, Span, Submitter, Time, Tunable,
};
use goodness_referee::ElevatorReferee;
use goodness_referee::elevator::Place;

/// Processes that submit at the same time.
const PROCESSES: u64 = 5;

/// Groups of the processes: two weighted ones in the root, one of them with another in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// All are in the root.
    Flat,
    /// Each stays in a group.
    Fixed,
    /// Each goes on to the next group after 100 ms.
    Moving,
}

impl Grouping {
    /// Groups, the root included.
    const COUNT: u64 = 4;

    fn groups() -> Groups {
        let mut groups = Groups::default();
        let weighted = |name: &str, weight, parent| Group { io_weight: Some(weight), ..Group::new(name, parent) };
        groups.add(weighted("light", 10, GroupId::ROOT));
        let heavy = groups.add(weighted("heavy", 1000, GroupId::ROOT));
        groups.add(weighted("within", 300, heavy));
        groups
    }

    fn of(self, submitter: Submitter, now: Time) -> GroupId {
        let place = match self {
            Grouping::Flat => 0,
            Grouping::Fixed => u64::from(submitter.0),
            Grouping::Moving => u64::from(submitter.0) + now.0 / 100_000_000,
        };
        GroupId((place % Grouping::COUNT) as u32)
    }
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatched {
    pub at: Time,
    pub request: RequestId,
    pub sector: u64,
    pub inserted: Time,
}

/// An elevator behind its referee, driven at random.
pub struct RandomHost<'a> {
    name: &'a str,
    referee: ElevatorReferee,
    grouping: Grouping,
    processes: Vec<Submitter>,
    rng: Rng,
    pub dispatched: Vec<Dispatched>,
}

impl<'a> RandomHost<'a> {
    pub fn new(name: &'a str, entry: &ElevatorEntry, stream: (&[(String, String)], u64, Grouping)) -> Self {
        RandomHost::around(name, entry, stream, |made| made)
    }

    /// The host of an elevator that `around` makes of the one of `entry`.
    pub fn around(
        name: &'a str,
        entry: &ElevatorEntry,
        (settings, seed, grouping): (&[(String, String)], u64, Grouping),
        around: impl FnOnce(MadeElevator) -> MadeElevator,
    ) -> Self {
        let mut rng = Seed(seed).stream("contract", 0).rng();
        let pick = |rng: &mut Rng, of: &[u64]| of[rng.below(of.len() as u64) as usize];
        let queues = if entry.about.layer == Layer::Legacy { 1 } else { pick(&mut rng, &[1, 2]) as u16 };
        let depth = pick(&mut rng, &[1, 4, 32]) as u32;
        let facts = QueueFacts {
            hz: pick(&mut rng, &[100, 250, 1000]) as u32,
            depth,
            queues,
            cpus: pick(&mut rng, &[2, 4]) as u16,
            rotational: rng.below(2) == 0,
            sectors: 1 << 12,
            requests: 128,
        };
        let mut made = (entry.make)(facts, None, settings, Seed(seed)).expect("the settings are possible");
        if grouping != Grouping::Flat {
            made.elevator.share(&Grouping::groups());
        }
        RandomHost {
            name,
            grouping,
            referee: ElevatorReferee::new(around(made), 0),
            processes: (0..PROCESSES as u32).map(Submitter).collect(),
            rng,
            dispatched: Vec::new(),
        }
    }

    /// One random event and its consequences.
    pub fn step(&mut self) {
        match self.rng.below(12) {
            0..5 => {
                self.submit();
                // Else the queue is plugged.
                if self.rng.below(2) == 0 {
                    self.run_queue();
                }
            }
            5..8 => {
                if let Some(request) = self.any_in_flight() {
                    self.complete(request);
                    self.run_queue();
                }
            }
            8 => self.run_queue(),
            9..11 => self.pass_randomly(),
            _ => self.replace_process(),
        }
    }

    /// Dispatches and completes everything; timers expire on the way.
    pub fn finish(&mut self) {
        loop {
            self.serve_all();
            if self.referee.waiting() == 0 {
                break;
            }
            self.referee.goes_on();
            self.verify();
            let next = self.referee.next_timer().expect("the device has nothing, so a timer is set");
            self.pass_until(next.max(self.referee.now()));
        }
        self.verify();
    }

    /// Submits an I/O: it is merged, or becomes a request if the elevator permits.
    fn submit(&mut self) {
        let io = self.random_io();
        if self.join(&io) {
            return;
        }
        let is_legacy = self.referee.about().layer == Layer::Legacy;
        let queue = self.queue_of(io.cpu);
        let is_alike = |request: &RequestId| {
            let about = &self.referee.requests()[*request];
            if is_legacy { about.op.direction() == io.op.direction() } else { about.queue == queue }
        };
        let taken = [Place::Waiting, Place::InFlight].into_iter().flat_map(|place| self.referee.at(place));
        let used = taken.filter(is_alike).count() as u32;
        let say = self.referee.may_take(&io, used);
        self.verify();
        match say {
            Allocate::AsUsual if used >= self.referee.facts().requests_each() => {}
            // Slots have no numbers here.
            Allocate::Shallow(depth) if used >= depth => {}
            Allocate::AsUsual | Allocate::Always | Allocate::Shallow(_) => self.insert(&io),
            Allocate::Wait => {}
        }
    }

    /// The device serves all it can get, at no time.
    fn serve_all(&mut self) {
        self.run_queue();
        while let Some(request) = self.any_in_flight() {
            self.complete(request);
            self.run_queue();
        }
    }

    /// Time passes: little or much.
    fn pass_randomly(&mut self) {
        let scale = [10_000, 1_000_000, 50_000_000, 3_000_000_000][self.rng.below(4) as usize];
        let span = Span(self.rng.below(scale));
        self.pass_until(self.referee.now() + span);
    }

    fn pass_until(&mut self, until: Time) {
        while let Some(at) = self.referee.next_timer().filter(|at| *at <= until) {
            self.referee.set_now(at.max(self.referee.now()));
            self.referee.expire();
            self.verify();
            self.run_queue();
        }
        self.referee.set_now(until);
    }

    /// Dispatches until the device is full or nothing more comes.
    fn run_queue(&mut self) {
        let QueueFacts { queues, depth, .. } = *self.referee.facts();
        for queue in (0..queues).map(HwQueue) {
            while self.referee.in_flight() < depth {
                let Some(request) = self.referee.dispatch(queue) else { break };
                let Request { issued: at, sector, inserted, .. } = self.referee.requests()[request];
                self.dispatched.push(Dispatched { at, request, sector, inserted });
                self.verify();
            }
        }
        self.verify();
    }

    fn complete(&mut self, request: RequestId) {
        self.referee.complete(request);
        self.verify();
    }

    /// A process exits, and another one starts. Requests of the old one may still wait.
    fn replace_process(&mut self) {
        let next = Submitter(self.processes.iter().map(|p| p.0).max().unwrap_or(0) + 1);
        let which = self.rng.below(PROCESSES) as usize;
        let gone = std::mem::replace(&mut self.processes[which], next);
        self.referee.exit(gone);
        self.run_queue();
    }

    fn random_io(&mut self) -> Io {
        let rng = &mut self.rng;
        let submitter = self.processes[rng.below(PROCESSES) as usize];
        // A process has a region, so that streams are found and requests touch.
        let sector = u64::from(submitter.0 % 4) * 1024 + rng.below(128) * 8;
        let (op, sync) = match rng.below(20) {
            0..2 => (Operation::Discard, false),
            2..5 => (Operation::Write, true),
            5..10 => (Operation::Write, false),
            _ => (Operation::Read, true),
        };
        let class = match rng.below(10) {
            0 => IoClass::RealTime,
            1 => IoClass::Idle,
            _ => IoClass::BestEffort,
        };
        Io {
            op,
            sync,
            group: self.grouping.of(submitter, self.referee.now()),
            mergeable: matches!(op, Operation::Read | Operation::Write),
            priority: IoPriority { class, level: rng.below(8) as u8 },
            cpu: rng.below(u64::from(self.referee.facts().cpus)) as u16,
            ..Io::read(submitter, sector, 8)
        }
    }

    fn insert(&mut self, io: &Io) {
        let request = Request { queue: self.queue_of(io.cpu), ..Request::of(io, self.referee.now()) };
        let request = self.referee.take(request);
        let _ = self.referee.insert(request);
        self.verify();
    }

    /// The hardware queue of a CPU.
    fn queue_of(&self, cpu: u16) -> HwQueue {
        HwQueue(cpu % self.referee.facts().queues)
    }

    /// Merges `io` into a waiting request if possible, and the result with its neighbour.
    fn join(&mut self, io: &Io) -> bool {
        let referee = &self.referee;
        let takes = |request: RequestId| {
            let side = referee.touches(request, io)?;
            referee.may_join(request, side, io).then_some((request, side))
        };
        let found = referee.at(Place::Waiting).find_map(takes).filter(|_| io.mergeable);
        let Some((request, side)) = found else { return false };
        self.referee.grow(request, side, io.sectors);
        self.verify();
        if self.referee.merges() == Merges::All {
            self.absorb_neighbour(request);
        }
        true
    }

    /// Merges two adjacent waiting requests into the lower one, if the elevator permits.
    fn absorb_neighbour(&mut self, request: RequestId) {
        let pairs = self.referee.at(Place::Waiting).flat_map(|other| [(request, other), (other, request)]);
        let mut allowed = pairs.filter(|(survivor, absorbed)| self.referee.may_absorb(*survivor, *absorbed));
        if let Some((survivor, absorbed)) = allowed.next() {
            drop(allowed);
            self.referee.absorb(survivor, absorbed);
            self.verify();
        }
    }

    /// A random request in flight.
    fn any_in_flight(&mut self) -> Option<RequestId> {
        let which = self.rng.below(u64::from(self.referee.in_flight()).max(1)) as usize;
        self.referee.at(Place::InFlight).nth(which)
    }

    /// Fails if the referee refused an answer, or if `has_work` is wrong.
    fn verify(&mut self) {
        self.referee.verify_has_work();
        if let Some(refusal) = self.referee.refusal() {
            panic!("{}: {}, at {}", self.name, refusal.sentence, refusal.at);
        }
    }
}

/// Settings to test: the defaults, and each value of each choice and switch.
pub fn variants(tunables: &[Tunable]) -> Vec<Vec<(String, String)>> {
    let mut variants = vec![Vec::new()];
    for tunable in tunables {
        let values: Vec<&str> = match tunable.kind {
            "choice" => tunable.range.split(" | ").collect(),
            "switch" => vec!["on", "off"],
            _ => Vec::new(),
        };
        let others = values.into_iter().filter(|value| *value != tunable.default);
        variants.extend(others.map(|value| vec![(tunable.name.to_string(), value.to_string())]));
    }
    variants
}
