//! The reasons of a policy: what it claims about a waiting task must agree with the tasks, with what it claims besides,
//! and with what it picks.

use crate::leads::{Leads, are_of_one_weight};
use crate::placements;
use goodness_core::{Class, Context, Enqueue, MadePolicy, PerTask, Reason, Span, State, TaskId, Time};
use goodness_observe::asked::{Asked, Asker, Decided, Did, Placed};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Numbers of answers that were checked; 0 for a policy that does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Rules by which tasks wait.
    pub rules: usize,
    /// Rules by which tasks were placed.
    pub placements: usize,
}

/// The findings of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub answers: Answers,
    /// The first one that is wrong, in one sentence.
    pub wrong: Option<String>,
}

/// `made`, whose reasons are checked; the result goes to `found`.
pub(crate) fn checked(made: MadePolicy, cpus: usize, found: Rc<RefCell<Found>>) -> MadePolicy {
    let one_cpu = cpus == 1;
    let (arrivals, claims, leads) = (PerTask::default(), BTreeMap::new(), Leads::default());
    Asked::around(made, cpus, Judge { found, one_cpu, arrivals, next: 0, claims, leads })
}

/// Places in the order of arrivals at which a task may have joined its queue: a preempted one may keep its place, or
/// be put before all others.
#[derive(Clone, Copy, Debug, Default)]
struct Arrival {
    earliest: u64,
    latest: u64,
}

/// A claim about a waiting task at the last pick.
#[derive(Clone, Copy, Debug)]
struct Claim {
    reason: Reason,
    at: Time,
}

/// Least goodness of a real-time task in Linux 2.0 to 2.4.
const GOODNESS_OF_REALTIME: i32 = 1_000;

struct Judge {
    found: Rc<RefCell<Found>>,
    one_cpu: bool,
    arrivals: PerTask<Arrival>,
    next: u64,
    /// By waiting task: the last claim at a pick, until the task is queued anew.
    claims: BTreeMap<TaskId, Claim>,
    leads: Leads,
}

impl Asker for Judge {
    fn ask(&mut self, decided: &Decided) {
        if self.found.borrow().wrong.is_some() {
            return;
        }
        let wrong = self.judge(decided).err();
        self.found.borrow_mut().wrong = wrong.map(|it| format!("at {}: {it}", decided.cx.now));
    }

    fn placed(&mut self, placed: &Placed) {
        let mut found = self.found.borrow_mut();
        let Some(claim) = placed.rule().filter(|_| found.wrong.is_none()) else { return };
        found.answers.placements += 1;
        if !placements::agrees(placed, claim) {
            let Placed { cx, task, cpu, why, .. } = *placed;
            found.wrong = Some(format!("at {}: {claim:?} is claimed of {cpu:?} for {task:?}, {why:?}", cx.now));
        }
    }
}

impl Judge {
    fn judge(&mut self, decided: &Decided) -> Result<(), String> {
        if let Did::Queued(task, why) = decided.did {
            self.arrive(task, why);
        }
        let is_pick = matches!(decided.did, Did::Picked(_));
        let Some(ahead) = decided.running else { return Ok(()) };
        if is_pick {
            self.leads.begin(decided.cx.now, ahead);
            self.keeps_its_word(decided, ahead)?;
        }
        let cx = decided.cx;
        for waiting in decided.waiting.iter().filter(|it| **it != ahead && cx.tasks.state(**it) == State::Queued) {
            let Some(reason) = decided.why(*waiting) else { continue };
            self.found.borrow_mut().answers.rules += 1;
            if !self.agrees(decided, [ahead, *waiting], reason) {
                return Err(format!("{reason:?} is claimed of {ahead:?} ahead of {waiting:?}"));
            }
            if is_pick {
                self.claims.insert(*waiting, Claim { reason, at: cx.now });
            }
        }
        Ok(())
    }

    fn arrive(&mut self, task: TaskId, why: Enqueue) {
        self.next += 1;
        let arrival = self.arrivals.admit(task);
        arrival.latest = self.next;
        match why {
            // On one CPU it is behind those that were before it when it was picked; others may have passed them over.
            Enqueue::Preempted if self.one_cpu => {}
            // The tick that ended its slice may have placed it, before those that arrived since, or have left it.
            Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Migrated if !self.one_cpu => arrival.earliest = 0,
            _ => arrival.earliest = self.next,
        }
        self.claims.remove(&task);
        self.leads.forget(task);
    }

    /// The pick agrees with what was claimed at the last one: nobody was claimed to be nearer by the same rule. A task
    /// with less CPU time may be passed over if the policy says now that it is.
    fn keeps_its_word(&mut self, decided: &Decided, picked: TaskId) -> Result<(), String> {
        let cx = decided.cx;
        let Some(own) = self.claims.remove(&picked) else { return Ok(()) };
        if let Reason::Throttled { until: Some(until) } = own.reason
            && cx.now < until
            && own.at < cx.now
        {
            return Err(format!("{picked:?} was throttled until {until}, and runs"));
        }
        let nearer = self.claims.iter().find(|(task, other)| {
            let is_waiting = cx.tasks.state(**task) == State::Queued;
            let is_told = self.one_cpu && is_waiting && other.at == own.at;
            is_told
                && (is_nearer(other.reason, own.reason)
                    || is_less_served(cx, (**task, other.reason), (picked, own.reason))
                        && !is_passed_over(decided.why(**task)))
        });
        match nearer {
            Some((task, other)) => Err(format!(
                "{picked:?} runs, of which {:?} was claimed, and not {task:?}: {:?}",
                own.reason, other.reason
            )),
            None => Ok(()),
        }
    }

    /// The claim agrees with the two tasks.
    fn agrees(&mut self, decided: &Decided, [ahead, waiting]: [TaskId; 2], reason: Reason) -> bool {
        let (cx, is_pick) = (decided.cx, matches!(decided.did, Did::Picked(_)));
        let tasks = &cx.tasks;
        match reason {
            Reason::SliceNotOver | Reason::RunsOn | Reason::AwaitsTick => !is_pick,
            Reason::Drawn { tickets, of } => is_pick && 0 < tickets && tickets <= of,
            Reason::HigherRatio { ahead, waiting } => is_pick && ahead >= waiting,
            // An idle group makes its tasks idle.
            Reason::Class { ahead: own, waiting: other } => {
                let is_its = |task: TaskId, class: Class| {
                    tasks.class(task) == class || class == Class::Deadline && tasks[task].reservation.is_some()
                };
                rank(own) > rank(other) && (other == Class::Idle || is_its(ahead, own) && is_its(waiting, other))
            }
            Reason::Priority { ahead: own, waiting: other } => {
                let [first, second] = [ahead, waiting].map(|task| tasks.class(task).is_realtime());
                // A priority on the policy's own scale counts more than a class. So does goodness of Linux 2.2, which
                // exceeds that of real-time tasks for nice -20 where HZ is 1000.
                own > other && (first || !second || tasks[ahead].priority.is_some() || own > GOODNESS_OF_REALTIME)
            }
            Reason::Level { ahead, waiting } => ahead < waiting,
            Reason::ShorterBurst { ahead, waiting } => ahead < waiting,
            Reason::ShorterPeriod { by } => {
                let [own, other] = [ahead, waiting].map(|task| tasks[task].reservation.map(|it| it.period));
                own.zip(other).is_some_and(|(own, other)| own + by == other)
            }
            Reason::First => self.arrivals[ahead].earliest <= self.arrivals[waiting].latest,
            Reason::Throttled { until } => until.is_none_or(|until| until >= decided.cx.now),
            Reason::NotEligible { .. } => self.has_groups(decided) || is_owed(decided, waiting) != Some(true),
            Reason::EarlierDeadline { .. } => self.has_groups(decided) || is_earlier(decided, [ahead, waiting]),
            Reason::SliceProtected { left } => left > Span::ZERO,
            Reason::Favoured => is_pick,
            // It must have begun to wait before, or its better level would count.
            Reason::Aged => is_pick && self.arrivals[ahead].earliest < self.arrivals[waiting].latest,
            // Rounds are compared with the next picks, figures with those of the next claims, too.
            Reason::LessRuntime { .. } | Reason::LeadTooShort { .. } => self.leads.agree(cx, [ahead, waiting], reason),
            Reason::SmallerPass { .. } | Reason::RoundUsedUp => true,
        }
    }

    fn has_groups(&self, decided: &Decided) -> bool {
        decided.cx.groups.count() > 1
    }
}

/// Classes in the order in which they are served.
fn rank(class: Class) -> u8 {
    match class {
        Class::Deadline => 4,
        Class::Fifo | Class::RoundRobin => 3,
        Class::Iso => 2,
        Class::Normal | Class::Batch => 1,
        Class::Idle => 0,
    }
}

/// True if the policy's own figures owe CPU time to `task`.
fn is_owed(decided: &Decided, task: TaskId) -> Option<bool> {
    decided.standing(task).map(|it| it.lag > 0)
}

/// False if by the policy's own figures the deadline of the first task is later.
fn is_earlier(decided: &Decided, tasks: [TaskId; 2]) -> bool {
    match tasks.map(|task| decided.standing(task)) {
        [Some(own), Some(other)] => own.deadline <= other.deadline,
        _ => true,
    }
}

/// True if of two waiting tasks of equal weight `other` had less CPU time than `own`, by the figures of one claim.
fn is_less_served(cx: &Context, other: (TaskId, Reason), own: (TaskId, Reason)) -> bool {
    match (other.1, own.1) {
        (Reason::LessRuntime { by: lesser }, Reason::LessRuntime { by }) => {
            are_of_one_weight(cx, [other.0, own.0]) && lesser < by
        }
        _ => false,
    }
}

/// True if the picked task had more CPU time by this reason, too.
fn is_passed_over(reason: Option<Reason>) -> bool {
    matches!(reason, Some(Reason::Favoured | Reason::LeadTooShort { .. }))
}

/// True if of two waiting tasks the one with `other` must be picked before the one with `own`, by one rule whose
/// figures do not change while they wait.
fn is_nearer(other: Reason, own: Reason) -> bool {
    match (other, own) {
        (Reason::Level { waiting: nearer, .. }, Reason::Level { waiting: farther, .. }) => nearer < farther,
        (Reason::ShorterBurst { waiting: nearer, .. }, Reason::ShorterBurst { waiting: farther, .. }) => {
            nearer < farther
        }
        (Reason::ShorterPeriod { by: nearer }, Reason::ShorterPeriod { by: farther }) => nearer < farther,
        // Who still has a share of the round goes first.
        (Reason::RoundUsedUp, Reason::RoundUsedUp) => false,
        (Reason::Priority { .. } | Reason::First | Reason::Level { .. }, Reason::RoundUsedUp) => true,
        _ => false,
    }
}
