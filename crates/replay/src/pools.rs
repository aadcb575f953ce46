//! Pools: tasks of one program that accept the connections of one client from one queue.
//!
//! The kernel wakes one task for each connection, the one that has waited longest (an exclusive wait). A task that is
//! still awake when it accepts again takes the oldest connection without a wait; the task that was woken for it then
//! finds none and waits again, last in the queue. So who serves a connection is an outcome of the schedule.
//!
//! A *visit* is a run of a task, from its waking until it sleeps again. It is short or long by its CPU time
//! (`requests::control_messages`). After a long visit the task waits for the end of its connection, after a
//! short one for the next connection:
//!
//! | it waited for | visit | |
//! |---|---|---|
//! | a connection | short | [`Visit::Fruitless`]: another task had taken it |
//! | a connection | long | [`Visit::Serves`] |
//! | the end of its connection | short | [`Visit::Ends`] |
//! | the end of its connection | long | [`Visit::EndsAndServes`]: a connection was waiting |
//!
//! The tasks of a program are a pool if all of this holds:
//!
//! 1. One event loop of another program sends to them ([`crate::answers`]), and makes nearly all of their wakings.
//! 2. Their visits are of these two lengths, which alternate.
//! 3. Of the tasks that wait for a connection, the one that has waited longest is woken: at least [`IN_ORDER`] out of
//!    ten times. By chance it would be one in as many as wait; on several CPUs, two that come at once may look swapped.
//!
//! The order also tells the visits whose length does not, because an interrupt prolonged them.
//!
//! Tasks that end during the recording are not in a pool, nor those whose attributes change.

use crate::answers::Windows;
use crate::causes::{Cause, Kinds, Rule};
use crate::history::History;
use crate::requests::control_messages::{self, limit};
use goodness_core::{Off, Span, TaskId, Time};
use goodness_trace::{Record, SchedEvent, Wake};
use std::collections::{BTreeMap, VecDeque};

/// Fewest wakings for a connection, of ten, that find the task that has waited longest. A choice.
pub const IN_ORDER: usize = 9;

/// Role of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// Woken for a connection that another task had taken.
    Fruitless,
    /// Serves a connection.
    Serves,
    /// Ends its connection.
    Ends,
    /// Ends its connection and serves another.
    EndsAndServes,
}

impl Visit {
    /// True if the task serves a connection that it has accepted during the visit.
    #[must_use]
    pub fn serves(self) -> bool {
        matches!(self, Visit::Serves | Visit::EndsAndServes)
    }

    /// True if the task had waited for a connection.
    #[must_use]
    pub fn accepts(self) -> bool {
        matches!(self, Visit::Fruitless | Visit::Serves)
    }
}

/// A pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The task that connects.
    pub client: TaskId,
    /// CPU time of the end of a connection: the median.
    pub end: Span,
    /// CPU time of a fruitless visit: the median.
    pub fruitless: Span,
}

/// The pools of a recording and the visits of their tasks.
#[derive(Debug, Default)]
pub struct Pools {
    /// All pools.
    pub all: Vec<Pool>,
    /// The pool of each task.
    of: Vec<Option<u32>>,
    /// Role of each visit, by the record of its waking.
    visits: BTreeMap<u32, Visit>,
}

impl Pools {
    /// Finds the pools.
    #[must_use]
    pub fn find(history: &History, rule: &Rule, windows: &Windows) -> Pools {
        let mut pools = Pools::none(history);
        for (program, client) in single_loops(history, windows) {
            let runs = Walk::new(history, program, client).through(rule);
            // A client that started later found all tasks waiting for connections.
            let is_later = history.participant(client).parent.is_some();
            if let Some((pool, visits)) = judged(&runs, client, is_later) {
                let number = pools.all.len() as u32;
                pools.all.push(pool);
                pools.visits.extend(visits);
                runs.iter().for_each(|run| pools.of[run.task.index()] = Some(number));
            }
        }
        pools
    }

    /// No pools.
    #[must_use]
    pub fn none(history: &History) -> Pools {
        Pools { of: vec![None; history.participants.len()], ..Pools::default() }
    }

    /// Number of tasks of the recording.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.of.len()
    }

    /// The pool of `task`.
    #[must_use]
    pub fn of(&self, task: TaskId) -> Option<u32> {
        self.of[task.index()]
    }

    /// Role of the visit that begins with this record's waking.
    #[must_use]
    pub fn visit(&self, record: u32) -> Option<Visit> {
        self.visits.get(&record).copied()
    }
}

/// The programs without event loops to which one loop sends, with that loop.
fn single_loops(history: &History, windows: &Windows) -> BTreeMap<u32, TaskId> {
    let mut loops = BTreeMap::<u32, Vec<TaskId>>::new();
    for (sender, program) in windows.loops() {
        loops.entry(program).or_default().push(sender);
    }
    // Turns of a loop have places in its own programme, so its tasks are in no pool.
    for (sender, _) in windows.loops() {
        loops.remove(&history.participant(sender).program);
    }
    loops
        .into_iter()
        .filter(|(_, senders)| senders.len() == 1)
        .map(|(program, senders)| (program, senders[0]))
        .collect()
}

/// A visit as the records show it.
#[derive(Clone, Copy, Debug)]
struct Run {
    task: TaskId,
    /// Record of its waking; `None` if it began before the recording.
    woken: Option<u32>,
    by_client: bool,
    ran: Span,
    /// True if it woke the client's program.
    answered: bool,
    /// Record with which it ends; `None` if the recording ends first.
    rested: Option<u32>,
}

/// The pool of these visits and their roles, if they are those of a pool.
fn judged(runs: &[Run], client: TaskId, is_later: bool) -> Option<(Pool, BTreeMap<u32, Visit>)> {
    let woken = runs.iter().filter(|run| run.woken.is_some()).count();
    let by_client: Vec<&Run> = runs.iter().filter(|run| run.by_client).collect();
    if by_client.len() * 10 < woken * 9 {
        return None;
    }
    let told = |run: &&&Run| run.rested.is_some();
    let visit = |run: &&Run| control_messages::Visit { task: run.task, ran: run.ran, answered: run.answered };
    let visits: Vec<control_messages::Visit> = by_client.iter().filter(told).map(visit).collect();
    let limit = limit(&visits)?;
    let order = Order::of(runs, limit);
    if order.of < control_messages::TELLING || order.in_order * 10 < order.of * IN_ORDER {
        return None;
    }
    let roles = order.roles(is_later);
    let median = |of: Visit| {
        let role = |run: &&Run| run.woken.is_some_and(|woken| roles.get(&woken) == Some(&of));
        let mut ran: Vec<Span> = runs.iter().filter(role).map(|run| run.ran).collect();
        ran.sort_unstable();
        ran.get(ran.len() / 2).copied().unwrap_or_default()
    };
    Some((Pool { client, end: median(Visit::Ends), fruitless: median(Visit::Fruitless) }, roles))
}

/// Cause of the wait of a task after a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Connection,
    End,
}

/// Follows who waits for a connection.
struct Order<'a> {
    runs: &'a [Run],
    limit: Span,
    /// Cause of the wait after each visit; at first, its length decides.
    waits: Vec<Wait>,
    /// The visits after which tasks wait for a connection, or may do so, in order.
    waiting: VecDeque<usize>,
    /// Wakings for a connection that found the task that had waited longest.
    in_order: usize,
    /// All wakings for a connection.
    of: usize,
}

impl<'a> Order<'a> {
    /// Follows `runs`, which are in order of their ends.
    fn of(runs: &'a [Run], limit: Span) -> Order<'a> {
        let by_length = |run: &Run| if run.ran < limit { Wait::Connection } else { Wait::End };
        let waits = runs.iter().map(by_length).collect();
        let mut order = Order { runs, limit, waits, waiting: VecDeque::new(), in_order: 0, of: 0 };
        let mut last = BTreeMap::new();
        let mut records = Vec::with_capacity(2 * runs.len());
        for (number, run) in runs.iter().enumerate() {
            records.extend(run.woken.zip(last.insert(run.task, number)).map(|(woken, last)| (woken, last, true)));
            records.extend(run.rested.map(|rested| (rested, number, false)));
        }
        records.sort_unstable();
        for (_, number, is_woken) in records {
            if is_woken {
                order.wakes(number);
            } else if order.is_unclear(number) || order.waits[number] == Wait::Connection {
                order.waiting.push_back(number);
            }
        }
        order
    }

    /// True if a short visit may have been as long as this one, prolonged by an interrupt.
    fn is_unclear(&self, number: usize) -> bool {
        let ran = self.runs[number].ran;
        ran >= self.limit && ran < self.limit * 2
    }

    /// The task that waits since this visit is woken. Whoever it overtakes does not wait for a connection.
    fn wakes(&mut self, number: usize) {
        let Some(ahead) = self.waiting.iter().position(|other| *other == number) else {
            self.of += usize::from(self.waits[number] == Wait::Connection);
            return;
        };
        let overtakes = self.waiting.iter().take(ahead).any(|other| !self.is_unclear(*other));
        if self.is_unclear(number) && (overtakes || self.waiting.len() > 1) {
            self.waits[number] = if overtakes { Wait::End } else { Wait::Connection };
        }
        if self.waits[number] == Wait::End {
            self.waiting.remove(ahead);
            return;
        }
        self.of += 1;
        self.in_order += usize::from(!overtakes);
        for other in self.waiting.drain(..=ahead).take(ahead) {
            if self.runs[other].ran >= self.limit {
                self.waits[other] = Wait::End;
            }
        }
    }

    /// The role of each visit whose wait the recording shows, by the record of its waking. If the client `is_later`
    /// than the recording, the tasks waited for a connection at first.
    fn roles(&self, is_later: bool) -> BTreeMap<u32, Visit> {
        let mut before = BTreeMap::<TaskId, Wait>::new();
        let mut roles = BTreeMap::new();
        for (run, after) in self.runs.iter().zip(&self.waits) {
            let first = (is_later && run.woken.is_some()).then_some(Wait::Connection);
            let Some(before) = before.insert(run.task, *after).or(first) else { continue };
            let role = match (before, after) {
                (Wait::Connection, Wait::Connection) => Visit::Fruitless,
                (Wait::Connection, Wait::End) => Visit::Serves,
                (Wait::End, Wait::Connection) => Visit::Ends,
                (Wait::End, Wait::End) => Visit::EndsAndServes,
            };
            roles.extend(run.woken.map(|woken| (woken, role)));
        }
        roles
    }
}

/// Collects the visits of a program's tasks.
struct Walk<'a> {
    history: &'a History<'a>,
    /// Tasks that may be in the pool.
    members: Vec<bool>,
    client: TaskId,
    on_cpu: Vec<Option<(TaskId, Time)>>,
    under_way: Vec<Option<Run>>,
    /// A waking of a task that was still running, and whether the client made it.
    early: Vec<Option<(u32, bool)>>,
    /// Complete visits, in order of their end, then those that the recording cut off.
    runs: Vec<Run>,
}

impl<'a> Walk<'a> {
    fn new(history: &'a History<'a>, program: u32, client: TaskId) -> Walk<'a> {
        let mut members: Vec<bool> =
            history.participants.iter().map(|it| it.program == program && it.changes.is_empty()).collect();
        for record in history.records {
            if let SchedEvent::Exit { task } = record.event {
                members[task.index()] = false;
            }
        }
        let tasks = members.len();
        let (under_way, early) = (vec![None; tasks], vec![None; tasks]);
        Walk { history, members, client, on_cpu: vec![None; history.cpus], under_way, early, runs: Vec::new() }
    }

    fn through(mut self, rule: &Rule) -> Vec<Run> {
        for (record, number) in self.history.records.iter().zip(0..) {
            if let Some(wake) = self.history.waking(record) {
                self.wakes(&wake, rule, number);
            }
            self.switches(record, number);
        }
        self.runs.extend(self.under_way.into_iter().flatten());
        self.runs
    }

    fn wakes(&mut self, wake: &Wake, rule: &Rule, record: u32) {
        let cause = rule.judge(wake, &mut Kinds::default());
        if let Cause::Edge(by) = cause
            && let Some(run) = &mut self.under_way[by.index()]
        {
            let program = |task: TaskId| self.history.participant(task).program;
            run.answered |= program(wake.task) == program(self.client);
        }
        let task = wake.task.index();
        if !self.members[task] {
            return;
        }
        let by_client = cause == Cause::Edge(self.client);
        if self.on_cpu.iter().flatten().any(|(on_cpu, _)| *on_cpu == wake.task) {
            self.early[task] = Some((record, by_client));
        } else if self.under_way[task].is_none() {
            self.under_way[task] = Some(run_of(wake.task, Some((record, by_client))));
        }
    }

    fn switches(&mut self, record: &Record, number: u32) {
        let SchedEvent::Switch { prev, next, prev_state, .. } = record.event else { return };
        if let Some((task, since)) = self.on_cpu[record.cpu.index()].take()
            && let Some(run) = &mut self.under_way[task.index()]
        {
            run.ran += record.at.since(since);
        }
        if let Some(prev) = prev.filter(|prev| self.members[prev.index()]) {
            self.leaves(prev, prev_state.off(), number);
        }
        if let Some(next) = next {
            self.on_cpu[record.cpu.index()] = Some((next, record.at));
            if self.members[next.index()] {
                self.under_way[next.index()].get_or_insert_with(|| run_of(next, None));
            }
        }
    }

    /// A wait for a lock or a device is part of a visit.
    fn leaves(&mut self, task: TaskId, off: Off, record: u32) {
        let early = self.early[task.index()].take();
        if off == Off::Sleeping {
            let run = self.under_way[task.index()].take();
            self.runs.extend(run.map(|run| Run { rested: Some(record), ..run }));
            self.under_way[task.index()] = early.map(|early| run_of(task, Some(early)));
        }
    }
}

/// A visit of `task` that begins.
fn run_of(task: TaskId, woken: Option<(u32, bool)>) -> Run {
    let by_client = woken.is_some_and(|(_, by_client)| by_client);
    let woken = woken.map(|(record, _)| record);
    Run { task, woken, by_client, ran: Span::ZERO, answered: false, rested: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::TickGrid;
    use goodness_trace::{Recording, load};
    use std::path::Path;

    fn shipped(name: &str) -> Recording {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
        load(&folder.join(format!("{name}.ftrace.zst"))).expect("the recording is shipped")
    }

    fn found(history: &History) -> Pools {
        let rule = Rule::new(history, TickGrid::find(history));
        Pools::find(history, &rule, &Windows::find(history, &rule))
    }

    /// The visits of the pool of a recording, and its client.
    fn of_apache(history: &History) -> (Vec<Run>, TaskId) {
        let rule = Rule::new(history, TickGrid::find(history));
        let loops = single_loops(history, &Windows::find(history, &rule));
        let (program, client) = loops.into_iter().next().expect("an event loop");
        (Walk::new(history, program, client).through(&rule), client)
    }

    #[test]
    fn the_tasks_of_apache_are_a_pool_and_those_of_other_servers_are_not() {
        let recording = shipped("apache-ab-c4-1cpu");
        let pools = found(&History::of(&recording));
        let of = |visit| pools.visits.values().filter(|it| **it == visit).count();
        let services = of(Visit::Serves) + of(Visit::EndsAndServes);
        assert!(services.abs_diff(8263) * 100 < 8263, "{services} services for 8263 requests");
        assert!(of(Visit::Fruitless) > 2000 && of(Visit::EndsAndServes) > 2000);
        assert!(pools.all[0].fruitless < Span::from_us(6) && pools.all[0].end > Span::from_us(10), "{:?}", pools.all);
        for name in ["redis-benchmark-8", "mariadb-sysbench-16", "mixed-cpu"] {
            let recording = shipped(name);
            assert_eq!(found(&History::of(&recording)).all, [], "{name}");
        }
    }

    #[test]
    fn the_same_visits_in_another_order_of_waking_are_no_pool() {
        let recording = shipped("apache-ab-c4-1cpu");
        let history = History::of(&recording);
        let (mut runs, client) = of_apache(&history);
        let limit = Span::from_us(60);
        let order = Order::of(&runs, limit);
        assert_eq!((order.in_order, order.of), (order.of, order.of), "the kernel wakes in order");
        assert!(judged(&runs, client, true).is_some());
        // The wakings of each visit and the one after next change places, where both tasks were asleep.
        for at in (2..runs.len()).step_by(3) {
            let (first, second) = (runs[at - 2], runs[at]);
            let both =
                |record: u32| first.rested.is_some_and(|r| record < r) && second.rested.is_some_and(|r| record < r);
            if first.woken.is_some_and(both) && second.woken.is_some_and(both) {
                (runs[at - 2].woken, runs[at].woken) = (second.woken, first.woken);
            }
        }
        assert_eq!(judged(&runs, client, true), None);
    }
}
