//! A simulated elevator beside the kernel's: it gets the recorded insertions and completions and must make the recorded
//! choices.
//!
//! The kernel says when a request was issued, not when it was chosen: between the two lie the way to the driver and,
//! for one request at a time, waiting for a tag. So a choice counts as agreed if the simulated elevator makes it at
//! some instant between the choice before and the issue; several such instants are followed up. Two CPUs may choose at
//! the same time and hand over what they chose side by side: then the order on each CPU counts, not that of both
//! together. After a choice that it does not make, the simulated elevator is told of it and goes on.

use std::collections::{HashMap, VecDeque};

use goodness_core::{
    HwQueue, IoContext, IoPriority, Operation, QueueFacts, RegisteredElevator, Request, RequestId, RequestTable, Seed,
    Submitter, Time,
};
use goodness_trace::block::{BlockRecord, BlockStage};

/// How a simulated elevator stands to a recorded one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreement {
    /// Requests that the kernel chose.
    pub choices: u64,
    /// Choices that the simulated elevator made too.
    pub agreed: u64,
    /// Those of them for which nothing else waited: any elevator makes them.
    pub forced: u64,
}

impl Agreement {
    /// Agreed choices among those that were one.
    pub fn share(&self) -> f64 {
        (self.agreed - self.forced) as f64 / (self.choices - self.forced).max(1) as f64
    }
}

/// What the elevator of `$replay` sees.
macro_rules! context {
    ($replay:expr) => {
        IoContext { now: $replay.now, requests: &$replay.requests, facts: $replay.facts, in_flight: $replay.in_flight }
    };
}

/// So many histories are followed at a time.
const HISTORIES: usize = 6;

/// So far ahead lies what another CPU has chosen at the same time, in events.
const SIDE_BY_SIDE: usize = 64;

/// Replays `records` through an elevator of its own with default settings.
pub fn agreement<E: RegisteredElevator + Clone>(records: &[BlockRecord], facts: &QueueFacts) -> Agreement {
    let mut agreement = Agreement::default();
    let mut histories = vec![(Replay::<E>::new(facts), VecDeque::new())];
    let mut is_past = vec![false; records.len()];
    for (number, record) in records.iter().enumerate() {
        match record.stage {
            BlockStage::Issue => {
                while !is_past[number] {
                    let found = chosen(&mut histories, records, number, &is_past);
                    let (chosen, forced) = found.unwrap_or((number, false));
                    if found.is_none() {
                        tell(&mut histories, record);
                    }
                    is_past[chosen] = true;
                    agreement.choices += 1;
                    agreement.agreed += u64::from(found.is_some());
                    agreement.forced += u64::from(forced);
                }
            }
            BlockStage::Insert | BlockStage::Complete { .. } => {
                histories.iter_mut().for_each(|(_, since)| since.push_back(*record));
            }
            other => panic!("the load leaves no place for {other:?}"),
        }
    }
    agreement
}

/// A state and what happened since its last choice.
type History<'a, E> = (Replay<'a, E>, VecDeque<BlockRecord>);

/// Which issue the elevator has chosen in some history: that of `number`, or else the next of another CPU. Those
/// histories go on, the likeliest first. Tells whether it had no other choice.
fn chosen<E: RegisteredElevator + Clone>(
    histories: &mut Vec<History<E>>,
    records: &[BlockRecord],
    number: usize,
    is_past: &[bool],
) -> Option<(usize, bool)> {
    let ahead = (number..records.len().min(number + SIDE_BY_SIDE))
        .filter(|other| records[*other].stage == BlockStage::Issue && !is_past[*other]);
    let mut seen = Vec::new();
    for candidate in ahead {
        if seen.contains(&records[candidate].cpu) {
            continue;
        }
        seen.push(records[candidate].cpu);
        let key = (records[candidate].op, records[candidate].sector);
        let mut go_on: Vec<History<E>> =
            histories.iter().flat_map(|(state, since)| state.choosing(key, since)).collect();
        if !go_on.is_empty() {
            let forced = go_on.iter().all(|(state, _)| state.waiting == 0);
            go_on.truncate(HISTORIES);
            *histories = go_on;
            return Some((candidate, forced));
        }
    }
    None
}

/// The elevator has chosen the request of `record` in no history: the likeliest goes on as if it had.
fn tell<E: RegisteredElevator + Clone>(histories: &mut Vec<History<E>>, record: &BlockRecord) {
    histories.truncate(1);
    let (state, since) = &mut histories[0];
    since.drain(..).for_each(|event| state.happened(&event));
    state.is_told((record.op, record.sector));
}

#[derive(Clone)]
struct Replay<'a, E> {
    elevator: E,
    facts: &'a QueueFacts,
    requests: RequestTable,
    /// Requests in existence by operation and first sector: the load asks for no place twice at a time.
    known: HashMap<(Operation, u64), RequestId>,
    processes: HashMap<u32, Submitter>,
    /// By request: when it came, counted in requests.
    arrivals: Vec<u64>,
    arrived: u64,
    /// By request: whether the elevator chose it and awaits its completion.
    chosen_here: Vec<bool>,
    waiting: u32,
    in_flight: u32,
    now: Time,
}

impl<'a, E: RegisteredElevator + Clone> Replay<'a, E> {
    fn new(facts: &'a QueueFacts) -> Self {
        Replay {
            elevator: E::new(facts, E::Settings::default(), Seed(1)),
            facts,
            requests: RequestTable::default(),
            known: HashMap::new(),
            processes: HashMap::new(),
            arrivals: Vec::new(),
            arrived: 0,
            chosen_here: Vec::new(),
            waiting: 0,
            in_flight: 0,
            now: Time::ZERO,
        }
    }

    /// The latest and the earliest instant of `since` at which the elevator chooses the request of `key`, and how it
    /// goes on.
    fn choosing(&self, key: (Operation, u64), since: &VecDeque<BlockRecord>) -> Vec<History<'a, E>> {
        let mut found = Vec::new();
        let mut state = self.clone();
        for passed in 0..=since.len() {
            if let Some(chosen) = state.known.get(&key).copied() {
                let mut after = state.clone();
                let cx = context!(after);
                if after.elevator.dispatch(&cx, HwQueue(0)) == Some(chosen) {
                    after.took(key, true);
                    found.push((after, since.range(passed..).copied().collect()));
                }
            }
            if let Some(event) = since.get(passed) {
                state.happened(event);
            }
        }
        if found.len() > 2 {
            found.drain(1..found.len() - 1);
        }
        found.reverse();
        found
    }

    /// The elevator did not choose it, and is told that the kernel did: it chooses while all others are away for a
    /// moment.
    fn is_told(&mut self, key: (Operation, u64)) {
        let chosen = *self.known.get(&key).expect("what is issued was inserted");
        let waits = |id: &RequestId| *id != chosen && self.requests[*id].issued == Time::NEVER;
        let mut others: Vec<RequestId> = self.known.values().copied().filter(waits).collect();
        others.sort_unstable_by_key(|id| self.arrivals[id.index()]);
        let cx = context!(self);
        others.iter().for_each(|other| self.elevator.remove(&cx, *other));
        let obeys = self.elevator.dispatch(&cx, HwQueue(0)) == Some(chosen);
        if !obeys {
            self.elevator.remove(&cx, chosen);
        }
        for other in others {
            let _ = self.elevator.insert(&cx, other);
        }
        self.took(key, obeys);
    }

    /// A request has left the elevator: by its own choice, or because the kernel said so.
    fn took(&mut self, key: (Operation, u64), here: bool) {
        let chosen = self.known[&key];
        self.chosen_here[chosen.index()] = here;
        self.requests[chosen].issued = self.now;
        self.waiting -= 1;
        self.in_flight += 1;
    }

    /// An insertion or a completion.
    fn happened(&mut self, event: &BlockRecord) {
        self.now = self.now.max(event.at);
        while self.elevator.next_timer().is_some_and(|at| at <= self.now) {
            let cx = context!(self);
            self.elevator.timer(&cx);
        }
        if event.stage == BlockStage::Insert { self.insert(event) } else { self.complete(event) }
    }

    fn insert(&mut self, event: &BlockRecord) {
        let count = self.processes.len() as u32;
        let submitter = *self.processes.entry(event.pid).or_insert(Submitter(count));
        let request = Request {
            op: event.op,
            sector: event.sector,
            sectors: event.sectors,
            segments: 1,
            sync: event.is_sync(),
            durable: false,
            mergeable: true,
            submitter,
            priority: IoPriority::DEFAULT,
            cpu: event.cpu,
            queue: HwQueue(0),
            allocated: event.at,
            inserted: event.at,
            issued: Time::NEVER,
        };
        let id = self.requests.take(request);
        self.chosen_here.resize(self.requests.slots(), false);
        self.arrivals.resize(self.requests.slots(), 0);
        self.arrivals[id.index()] = self.arrived;
        self.arrived += 1;
        let before = self.known.insert((event.op, event.sector), id);
        assert_eq!(before, None, "the load asks for no place twice at a time");
        let cx = context!(self);
        let _ = self.elevator.insert(&cx, id);
        self.waiting += 1;
    }

    fn complete(&mut self, event: &BlockRecord) {
        let id = self.known.remove(&(event.op, event.sector)).expect("what completes was inserted");
        self.in_flight -= 1;
        if std::mem::take(&mut self.chosen_here[id.index()]) {
            let cx = context!(self);
            self.elevator.complete(&cx, id);
        }
        self.requests.give_back(id);
    }
}
