//! Replays the kernel's recorded insertions and completions through a simulated elevator and counts the choices that
//! agree.
//!
//! The kernel records when a request was issued, not when it was chosen. Between the two lie the way to the driver and,
//! for one request at a time, a wait for a tag. So a choice agrees if the simulated elevator makes it at some instant
//! between the previous choice and the issue; several such instants are followed in parallel. Two CPUs may choose at
//! the same time and issue side by side; then only the order on each CPU counts. After a choice it does not make, the
//! simulated elevator is given the kernel's choice and continues.

use std::collections::{HashMap, VecDeque};

use goodness_core::{
    GroupId, HwQueue, IoPriority, Operation, QueueFacts, RegisteredElevator, Request, RequestId, Seed, Submitter, Time,
};
use goodness_referee::ElevatorReferee;
use goodness_referee::elevator::Place;
use goodness_trace::block::{BlockRecord, BlockStage};

/// Agreement of a simulated elevator with a recorded one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreement {
    /// Requests that the kernel chose.
    pub choices: u64,
    /// Choices on which the simulated elevator agreed.
    pub agreed: u64,
    /// Choices with only one request waiting, which any elevator makes.
    pub forced: u64,
}

impl Agreement {
    /// Agreed choices among those that were one.
    pub fn share(&self) -> f64 {
        (self.agreed - self.forced) as f64 / (self.choices - self.forced).max(1) as f64
    }
}

/// Limit of histories followed at a time.
const HISTORIES: usize = 6;

/// Window, in events, within which another CPU may have chosen at the same time.
const SIDE_BY_SIDE: usize = 64;

/// Replays `records` through a new elevator with default settings.
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

/// A state, and the events since its last choice.
type History<E> = (Replay<E>, VecDeque<BlockRecord>);

/// Keeps the histories in which the elevator chose `number`, or else the next request of another CPU, likeliest first.
/// Returns whether it had another choice.
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
            let forced = go_on.iter().all(|(state, _)| state.referee.waiting() == 0);
            go_on.truncate(HISTORIES);
            *histories = go_on;
            return Some((candidate, forced));
        }
    }
    None
}

/// Continues the likeliest history as if the elevator had chosen the request of `record`, which it did in no history.
fn tell<E: RegisteredElevator + Clone>(histories: &mut Vec<History<E>>, record: &BlockRecord) {
    histories.truncate(1);
    let (state, since) = &mut histories[0];
    since.drain(..).for_each(|event| state.happened(&event));
    state.is_told((record.op, record.sector));
}

#[derive(Clone)]
struct Replay<E> {
    referee: ElevatorReferee<E>,
    /// Live requests by operation and first sector; the load never has two of the same.
    known: HashMap<(Operation, u64), RequestId>,
    processes: HashMap<u32, Submitter>,
    /// Arrival of each request, counted in requests.
    arrivals: Vec<u64>,
    arrived: u64,
}

impl<E: RegisteredElevator + Clone> Replay<E> {
    fn new(facts: &QueueFacts) -> Self {
        let elevator = Box::new(E::new(facts, E::Settings::default(), Seed(1)));
        Replay {
            referee: ElevatorReferee::of(&E::ABOUT, *facts, elevator, 0),
            known: HashMap::new(),
            processes: HashMap::new(),
            arrivals: Vec::new(),
            arrived: 0,
        }
    }

    /// The latest and the earliest instant of `since` at which the elevator chooses the request of `key`, each with its
    /// continuation.
    fn choosing(&self, key: (Operation, u64), since: &VecDeque<BlockRecord>) -> Vec<History<E>> {
        let mut found = Vec::new();
        let mut state = self.clone();
        for passed in 0..=since.len() {
            if let Some(chosen) = state.known.get(&key).copied() {
                let mut after = state.clone();
                if after.referee.dispatch(HwQueue(0)) == Some(chosen) {
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

    /// Forces the kernel's choice on the elevator, by withdrawing all other requests for a moment. What it does not
    /// choose even then is issued past it.
    fn is_told(&mut self, key: (Operation, u64)) {
        let chosen = *self.known.get(&key).expect("what is issued was inserted");
        let mut others: Vec<RequestId> = self.referee.at(Place::Waiting).filter(|id| *id != chosen).collect();
        others.sort_unstable_by_key(|id| self.arrivals[id.index()]);
        others.iter().for_each(|other| self.referee.withdraw(*other));
        if self.referee.dispatch(HwQueue(0)) != Some(chosen) {
            self.referee.withdraw(chosen);
            self.referee.issue(chosen, HwQueue(0));
        }
        for other in others {
            let _ = self.referee.insert(other);
        }
    }

    /// An insertion or a completion.
    fn happened(&mut self, event: &BlockRecord) {
        self.referee.set_now(self.referee.now().max(event.at));
        while self.referee.expire() {}
        if event.stage == BlockStage::Insert { self.insert(event) } else { self.complete(event) }
    }

    fn insert(&mut self, event: &BlockRecord) {
        let count = self.processes.len() as u32;
        let submitter = *self.processes.entry(event.pid).or_insert(Submitter(count));
        let id = self.referee.take(Request {
            op: event.op,
            sector: event.sector,
            sectors: event.sectors,
            segments: 1,
            sync: event.is_sync(),
            durable: false,
            mergeable: true,
            submitter,
            owner: submitter,
            priority: IoPriority::DEFAULT,
            cpu: event.cpu,
            group: GroupId::ROOT,
            queue: HwQueue(0),
            allocated: event.at,
            inserted: event.at,
            issued: Time::NEVER,
        });
        self.arrivals.resize(self.referee.requests().slots(), 0);
        self.arrivals[id.index()] = self.arrived;
        self.arrived += 1;
        let before = self.known.insert((event.op, event.sector), id);
        assert_eq!(before, None, "the load asks for no place twice at a time");
        let _ = self.referee.insert(id);
    }

    fn complete(&mut self, event: &BlockRecord) {
        let id = self.known.remove(&(event.op, event.sector)).expect("what completes was inserted");
        let _ = self.referee.complete(id);
    }
}
