//! A judge: what an elevator claims about a waiting request must agree with the requests, with what it dispatched
//! before and with what it dispatches now.

use goodness_core::{IoClass, IoContext, IoReason, Operation, Request, RequestId, Span};
use goodness_observe::asked_elevator::{AskerIo, DecidedIo, DidIo};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// The answer of an elevator, as it is or with a lie in it.
pub type Lie = fn(&IoContext, [Option<RequestId>; 2], Option<IoReason>) -> Option<IoReason>;

/// Findings of one run.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Names of the rules that were claimed.
    pub told: BTreeSet<&'static str>,
    /// The first claim that is wrong, in one sentence.
    pub wrong: Option<String>,
}

/// Age at which mq-deadline lets a lower class go first, less a jiffy at HZ 100.
const AGED: Span = Span::from_ms(9_990);

/// Requests among which an elevator keeps one order: their class or kind, where it has an order for each.
type Kind = (u8, usize);

pub struct Judge {
    elevator: &'static str,
    lie: Lie,
    found: Arc<Mutex<Found>>,
    /// Place of each request in the order of arrivals.
    arrivals: BTreeMap<RequestId, u64>,
    arrived: u64,
    /// First sector of each waiting request at the last dispatch of its kind.
    seen: BTreeMap<RequestId, u64>,
    /// End of the last request dispatched, of each kind and of all.
    heads: BTreeMap<Kind, u64>,
    head: u64,
    in_flight: BTreeSet<RequestId>,
    /// Direction of the last dispatch.
    direction: Option<usize>,
    /// True if the rule of the last dispatch was told to anybody.
    is_told: bool,
}

impl Judge {
    pub fn new(elevator: &'static str, lie: Lie, found: Arc<Mutex<Found>>) -> Judge {
        Judge {
            elevator,
            lie,
            found,
            arrivals: BTreeMap::new(),
            arrived: 0,
            seen: BTreeMap::new(),
            heads: BTreeMap::new(),
            head: 0,
            in_flight: BTreeSet::new(),
            direction: None,
            is_told: false,
        }
    }

    fn kind(&self, request: &Request) -> Kind {
        kind(self.elevator, request)
    }

    fn judge(&mut self, decided: &DecidedIo, ahead: Option<RequestId>) -> Option<String> {
        let mut told = BTreeSet::new();
        for waiting in decided.waiting {
            let said = (self.lie)(decided.cx, [ahead, Some(*waiting)], decided.why(*waiting));
            let Some(reason) = said else { continue };
            told.insert(reason.name());
            if !self.agrees(decided, ahead, *waiting, reason) {
                return Some(format!("at {}: {reason:?} of {ahead:?} ahead of {waiting:?}", decided.cx.now));
            }
        }
        self.is_told = !told.is_empty();
        self.found.lock().unwrap().told.append(&mut told);
        None
    }

    /// Notes a dispatch after it was judged.
    fn dispatched(&mut self, decided: &DecidedIo, ahead: RequestId) {
        let requests = decided.cx.requests;
        let about = &requests[ahead];
        let kind = self.kind(about);
        (self.head, self.direction) = (about.end(), Some(about.op.direction()));
        self.heads.insert(kind, about.end());
        for waiting in decided.waiting.iter().filter(|it| self::kind(self.elevator, &requests[**it]) == kind) {
            // One that was displaced was chosen some time ago, and with it the one after it.
            if self.is_told {
                self.seen.insert(*waiting, requests[*waiting].sector);
            } else {
                self.seen.remove(waiting);
            }
        }
    }

    fn agrees(&self, decided: &DecidedIo, ahead: Option<RequestId>, waiting: RequestId, reason: IoReason) -> bool {
        let waits = &decided.cx.requests[waiting];
        match ahead {
            Some(ahead) => self.is_ahead(decided, [ahead, waiting], reason),
            None => self.is_held_back(decided, waits, reason),
        }
    }

    /// The claim agrees with the two requests.
    fn is_ahead(&self, decided: &DecidedIo, [ahead, waiting]: [RequestId; 2], reason: IoReason) -> bool {
        let cx = decided.cx;
        let (goes, waits) = (&cx.requests[ahead], &cx.requests[waiting]);
        let came_first = self.arrivals[&ahead] <= self.arrivals[&waiting];
        let [goes_rank, waits_rank] = [goes, waits].map(|it| rank(it.priority.class));
        let are_one_process = goes.submitter == waits.submitter && goes.sync && waits.sync;
        let age = cx.now.since(goes.inserted);
        match reason {
            IoReason::First => came_first,
            IoReason::Class { ahead: own, waiting: other } => {
                [goes.priority.class, waits.priority.class] == [own, other] && goes_rank < waits_rank
            }
            IoReason::Aged => goes_rank > waits_rank && age >= AGED,
            IoReason::Batch => {
                goes.op.direction() != waits.op.direction() && self.direction == Some(goes.op.direction())
            }
            IoReason::ReadsFirst => goes.op == Operation::Read && waits.op != Operation::Read,
            IoReason::WritesStarved => goes.op != Operation::Read && waits.op == Operation::Read,
            IoReason::Expired { age: claimed } => {
                claimed == age && age >= Span::from_ms(100) && came_first && self.kind(goes) == self.kind(waits)
            }
            IoReason::SectorOrder => self.is_next_by_sector(decided.cx, [ahead, waiting]),
            IoReason::Nearer { ahead, waiting } => {
                [goes, waits].map(|it| it.sector.abs_diff(self.head)) == [ahead, waiting] && ahead <= waiting
            }
            IoReason::QueueOrder => goes.submitter == waits.submitter || !goes.sync && !waits.sync,
            IoReason::InService if self.elevator == "bfq" => !are_one_process && goes.group == waits.group,
            IoReason::InService | IoReason::Injected => !are_one_process,
            IoReason::GroupTurn => self.elevator == "bfq" && goes.group != waits.group,
            IoReason::Round => goes.submitter != waits.submitter,
            IoReason::CpuTurn => goes.cpu != waits.cpu && goes.queue == waits.queue,
            IoReason::KindTurn => (goes.op, goes.sync) != (waits.op, waits.sync),
            IoReason::TokensUsedUp { tokens } => self.have_tokens(cx, waits) >= tokens.max(1),
            IoReason::NoSlot | IoReason::WriteBack | IoReason::DeviceFull => false,
            IoReason::Idles { .. } | IoReason::Drains | IoReason::HeadMoves => false,
        }
    }

    /// `waits` is not on the way of the head, or has come there since.
    fn is_next_by_sector(&self, cx: &IoContext, [ahead, waiting]: [RequestId; 2]) -> bool {
        let (goes, waits) = (&cx.requests[ahead], &cx.requests[waiting]);
        let head = *self.heads.get(&self.kind(goes)).unwrap_or(&0);
        let one_way = |sector: u64| (sector < head, sector);
        let (from, to) = (head.min(goes.sector), head.max(goes.sector));
        let is_passed_over = from < waits.sector && waits.sector < to;
        let is_new = self.seen.get(&waiting) != Some(&waits.sector);
        // The next one may have grown at its front.
        let has_moved = self.seen.get(&ahead).is_some_and(|seen| *seen != goes.sector);
        is_new || has_moved || one_way(goes.sector) <= one_way(waits.sector) || !is_passed_over
    }

    /// Requests of the kind of `waits` that hold a token, at most.
    fn have_tokens(&self, cx: &IoContext, waits: &Request) -> u32 {
        let is_read = |it: &Request| it.op == Operation::Read;
        self.in_flight.iter().filter(|it| is_read(&cx.requests[**it]) == is_read(waits)).count() as u32
    }

    /// The claim agrees with a device that gets nothing.
    fn is_held_back(&self, decided: &DecidedIo, waits: &Request, reason: IoReason) -> bool {
        let requests = decided.cx.requests;
        let mut in_flight = self.in_flight.iter().map(|it| &requests[*it]);
        match reason {
            IoReason::Class { ahead, waiting } => {
                waits.priority.class == waiting
                    && rank(ahead) < rank(waiting)
                    && in_flight.any(|it| it.priority.class == ahead)
            }
            IoReason::TokensUsedUp { tokens } => self.have_tokens(decided.cx, waits) >= tokens.max(1),
            IoReason::Idles { submitter } => {
                let is_its = |it: &RequestId| requests[*it].submitter == submitter && requests[*it].counts_as_sync();
                !decided.waiting.iter().chain(&self.in_flight).any(is_its)
            }
            IoReason::InService => {
                let is_own = |it: &Request| it.submitter == waits.submitter && waits.counts_as_sync();
                let is_beside = |it: &Request| self.elevator != "bfq" || it.group == waits.group;
                in_flight.any(|it| it.counts_as_sync() && !is_own(it) && is_beside(it))
            }
            IoReason::GroupTurn => {
                self.elevator == "bfq" && in_flight.any(|it| it.counts_as_sync() && it.group != waits.group)
            }
            IoReason::Drains => self.elevator == "as" && !self.in_flight.is_empty(),
            IoReason::HeadMoves => matches!(self.elevator, "scan" | "cscan"),
            _ => false,
        }
    }
}

impl AskerIo for Judge {
    fn ask(&mut self, decided: &DecidedIo) {
        match decided.did {
            DidIo::Inserted(request) => {
                self.arrived += 1;
                self.arrivals.insert(request, self.arrived);
                self.seen.remove(&request);
            }
            DidIo::Absorbed(survivor, absorbed) => {
                let earlier = self.arrivals[&survivor].min(self.arrivals[&absorbed]);
                self.arrivals.insert(survivor, earlier);
            }
            DidIo::Dispatched(_, ahead) => {
                self.in_flight.extend(ahead);
                if self.found.lock().unwrap().wrong.is_none() {
                    let wrong = self.judge(decided, ahead);
                    self.found.lock().unwrap().wrong = wrong;
                }
                if let Some(ahead) = ahead {
                    self.dispatched(decided, ahead);
                }
            }
            DidIo::Completed(request) => drop(self.in_flight.remove(&request)),
        }
    }
}

fn kind(elevator: &str, request: &Request) -> Kind {
    match elevator {
        "mq-deadline" => (rank(request.priority.class), request.op.direction()),
        "deadline" => (0, request.op.direction()),
        "as" => (0, usize::from(request.counts_as_sync())),
        _ => (0, 0),
    }
}

fn rank(class: IoClass) -> u8 {
    match class {
        IoClass::RealTime => 0,
        IoClass::BestEffort => 1,
        IoClass::Idle => 2,
    }
}
