//! By which rule an elevator has its choice ahead of the choice of the other side, or holds that one back.

use super::decisions::{Choice, Track};
use super::first::Parting;
use goodness_core::{DiskId, IoReason, MadeElevator, Operation, Request, RequestId, Time};
use goodness_observe::asked_elevator::{AskedElevator, AskerIo, DecidedIo, DidIo};
use std::sync::{Arc, Mutex, PoisonError};

/// The reason for which a side did not issue what the other one did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// This request waits, by this rule.
    Rule(IoReason, Request),
    /// The elevator did not have the request.
    NotThere(Sought),
}

/// A question to the elevator of one side. Asking changes nothing in its run.
#[derive(Clone)]
pub(super) struct DiskQuestion {
    disk: DiskId,
    /// Time of the side's own decision, or until when it goes on as before.
    at: Time,
    /// The request that it issues; `None` if it goes on as before.
    own: Option<Sought>,
    /// The request that the other side issues; `None` if that one goes on as before.
    other: Option<Sought>,
    /// Elevators can go to other threads.
    answer: Arc<Mutex<Option<Answer>>>,
}

/// A request as the disk got it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sought {
    pub op: Operation,
    pub sector: u64,
}

impl Sought {
    fn of(parting: &Parting, index: usize) -> Option<Sought> {
        match parting.of[index]?.decision.choice {
            Choice::Issued { op, sector, .. } => Some(Sought { op, sector }),
            _ => None,
        }
    }

    /// True if `request` is this one, whatever was merged into it.
    fn is(self, request: &Request) -> bool {
        let has_it = request.sector == self.sector || (request.sector..request.end()).contains(&self.sector);
        request.op == self.op && has_it
    }

    fn among(self, decided: &DecidedIo) -> Option<RequestId> {
        decided.waiting.iter().copied().find(|it| self.is(&decided.cx.requests[*it]))
    }
}

impl DiskQuestion {
    /// The question to side `index`; `None` if the sides do not differ in what a disk gets.
    pub fn of(parting: &Parting, index: usize) -> Option<DiskQuestion> {
        let Track::Disk(disk) = parting.track else { return None };
        Some(DiskQuestion {
            disk,
            at: parting.of[index].map_or(parting.at, |it| it.decision.at),
            own: Sought::of(parting, index),
            other: Sought::of(parting, 1 - index),
            answer: Arc::default(),
        })
    }

    /// The elevator of `disk`, which is asked this if it is the one.
    pub fn to(&self, disk: DiskId, made: MadeElevator) -> MadeElevator {
        if disk == self.disk { AskedElevator::around(made, self.clone()) } else { made }
    }

    pub fn answer(&self) -> Option<Answer> {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answers(&self, answer: Option<Answer>) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    /// After a dispatch of what this side issues: why the other side's choice waits, or the first that waits by a rule.
    fn ask_of_pick(&self, decided: &DecidedIo) {
        let why = |waiting: RequestId| Some(Answer::Rule(decided.why(waiting)?, decided.cx.requests[waiting]));
        self.answers(match self.other {
            Some(other) => other.among(decided).map_or(Some(Answer::NotThere(other)), why),
            None => decided.waiting.iter().copied().find_map(why),
        });
    }

    /// The reason for which the other side's choice still waits. The last answer counts as long as it does.
    fn ask_of_rest(&self, decided: &DecidedIo) {
        let Some(other) = self.other else { return };
        let Some(waiting) = other.among(decided) else { return self.answers(Some(Answer::NotThere(other))) };
        let is_full = decided.cx.in_flight >= decided.cx.facts.depth;
        let reason = match decided.did {
            DidIo::Inserted(request) if request == waiting && is_full => Some(IoReason::DeviceFull),
            _ => decided.why(waiting),
        };
        if let Some(reason) = reason {
            self.answers(Some(Answer::Rule(reason, decided.cx.requests[waiting])));
        }
    }
}

impl AskerIo for DiskQuestion {
    fn ask(&mut self, decided: &DecidedIo) {
        if decided.cx.now > self.at {
            return;
        }
        match (self.own, decided.did) {
            (None, _) => self.ask_of_rest(decided),
            (Some(own), DidIo::Dispatched(_, Some(request))) if own.is(&decided.cx.requests[request]) => {
                self.ask_of_pick(decided);
            }
            (Some(_), _) => {}
        }
    }
}
