//! Follows clients and the visits of their servers through a recording, and lists the requests.

use super::Request;
use super::clients::Clients;
use super::courtesies::Visit;
use crate::causes::{Cause, Kinds, Rule};
use crate::history::History;
use goodness_core::{Span, TaskId, Time};
use goodness_trace::{Record, SchedEvent};
use std::collections::VecDeque;

/// A request that has begun.
#[derive(Clone, Copy, Debug)]
struct Open {
    begin: u32,
    /// The server's task that has it.
    server: TaskId,
    /// Whether that task waits again.
    rested: bool,
    /// Where the client went to sleep after that.
    slept: Option<u32>,
}

/// What a client has to do with a server.
#[derive(Clone, Debug)]
struct Talk {
    client: TaskId,
    kind: u32,
    open: Vec<Open>,
    /// Tasks of the server that have woken the client, which has not run since.
    answered: Vec<TaskId>,
    /// Where the client went to sleep without an open request: its message may have woken nobody.
    silent: Option<u32>,
    /// With courtesies: messages that begin a request, but not yet known which.
    begun: VecDeque<u32>,
    /// Visits under way.
    visits: usize,
}

/// A visit under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    talk: usize,
    begin: u32,
    ran: u64,
    answered: bool,
    /// From elsewhere: the program of the task that the server's task has woken last.
    woke: Option<u32>,
    /// From elsewhere: where the server's task went to sleep; its request goes on if who it has woken wakes it.
    slept: Option<u32>,
}

impl UnderWay {
    fn new(talk: usize, begin: u32) -> UnderWay {
        UnderWay { talk, begin, ran: 0, answered: false, woke: None, slept: None }
    }
}

/// The state at the current record.
pub struct Follow<'a> {
    history: &'a History<'a>,
    clients: &'a Clients,
    /// For each kind the longest courtesy.
    limits: Vec<Option<Span>>,
    talks: Vec<Talk>,
    /// Talks of each task as a client.
    of_client: Vec<Vec<usize>>,
    /// Visit of each task as a server.
    under_way: Vec<Option<UnderWay>>,
    /// Whether the last visit of the task was long: the next message to it is a courtesy.
    was_long: Vec<bool>,
    on_cpu: Vec<Option<(TaskId, Time)>>,
    /// Visits that are over, by kind.
    pub visits: Vec<Vec<Visit>>,
    /// Requests that are over.
    pub found: Vec<Request>,
}

impl<'a> Follow<'a> {
    /// The state before the first record.
    #[must_use]
    pub fn new(history: &'a History<'a>, clients: &'a Clients, limits: Vec<Option<Span>>) -> Follow<'a> {
        let tasks = history.participants.len();
        Follow {
            history,
            clients,
            visits: vec![Vec::new(); limits.len()],
            limits,
            talks: Vec::new(),
            of_client: vec![Vec::new(); tasks],
            under_way: vec![None; tasks],
            was_long: vec![false; tasks],
            on_cpu: vec![None; history.cpus],
            found: Vec::new(),
        }
    }

    /// The state after the last record.
    #[must_use]
    pub fn through(mut self, rule: &Rule) -> Follow<'a> {
        for (record, number) in self.history.records.iter().zip(0..) {
            if let Some(wake) = self.history.waking(record) {
                if let Cause::Edge(by) = rule.judge(&wake, &mut Kinds::default()) {
                    self.goes_on(wake.task, Some(by));
                    self.edge(by, wake.task, number);
                } else if rule.is_arrival(&wake) {
                    self.goes_on(wake.task, None);
                    self.arrives(wake.task, number);
                }
            }
            self.switch(record, number);
        }
        (0..self.under_way.len()).for_each(|task| self.goes_on(TaskId(task as u32), None));
        for talk in 0..self.talks.len() {
            let unread: Vec<Open> = self.talks[talk].open.drain(..).collect();
            for (open, slept) in unread.iter().filter_map(|open| Some((open, open.slept?))) {
                self.close(talk, open.begin, slept);
            }
        }
        self
    }

    fn edge(&mut self, by: TaskId, task: TaskId, record: u32) {
        let (from, to) = (self.history.participant(by), self.history.participant(task));
        if let Some(visit) = &mut self.under_way[by.index()] {
            visit.woke = Some(to.program);
        }
        if let Some(kind) = self.clients.kind(from.program, to.program).filter(|_| from.judged) {
            self.asks(by, task, kind, record);
        } else if let Some(kind) = self.clients.kind(to.program, from.program).filter(|_| to.judged) {
            self.answers(by, task, kind);
        }
    }

    /// A request from elsewhere wakes `server`.
    fn arrives(&mut self, server: TaskId, record: u32) {
        let it = self.history.participant(server);
        let Some(kind) = self.clients.kind_from_elsewhere(it.program).filter(|_| it.judged) else { return };
        let is_awake = self.on_cpu.iter().flatten().any(|(task, _)| *task == server);
        if is_awake || self.under_way[server.index()].is_some() {
            return;
        }
        let talk = self.talk(server, kind);
        self.talks[talk].visits += 1;
        self.under_way[server.index()] = Some(UnderWay::new(talk, record));
    }

    /// `task` wakes up, because of `by` or of something outside. A request from elsewhere that it had is over unless it
    /// waited for the program of `by`.
    fn goes_on(&mut self, task: TaskId, by: Option<TaskId>) {
        let Some(visit) = &mut self.under_way[task.index()] else { return };
        let Some(slept) = visit.slept.take() else { return };
        if by.is_none() || visit.woke != by.map(|by| self.history.participant(by).program) {
            self.ends(task, slept);
        }
    }

    /// The talk of `client` in this kind.
    fn talk(&mut self, client: TaskId, kind: u32) -> usize {
        if let Some(talk) = self.of_client[client.index()].iter().find(|talk| self.talks[**talk].kind == kind) {
            return *talk;
        }
        let (open, answered, begun) = (Vec::new(), Vec::new(), VecDeque::new());
        self.talks.push(Talk { client, kind, open, answered, silent: None, begun, visits: 0 });
        self.of_client[client.index()].push(self.talks.len() - 1);
        self.talks.len() - 1
    }

    /// `client` wakes `server`: it has read what `server` answered before, and asks or thanks.
    fn asks(&mut self, client: TaskId, server: TaskId, kind: u32, record: u32) {
        let talk = self.talk(client, kind);
        self.reads(talk, record);
        let read = self.talks[talk].open.iter().position(|open| open.server == server && open.rested);
        if let Some(open) = read.map(|at| self.talks[talk].open.remove(at)) {
            self.close(talk, open.begin, open.slept.unwrap_or(record));
        }
        let is_visited = self.under_way[server.index()].is_some();
        if !is_visited {
            self.under_way[server.index()] = Some(UnderWay::new(talk, record));
            self.talks[talk].visits += 1;
        }
        let it = &mut self.talks[talk];
        if self.limits[kind as usize].is_some() {
            if !is_visited && !self.was_long[server.index()] {
                it.begun.push_back(record);
            }
        } else if it.open.iter().all(|open| open.server != server) {
            it.open.push(Open { begin: record, server, rested: false, slept: None });
        }
    }

    /// `server` wakes `client`.
    fn answers(&mut self, server: TaskId, client: TaskId, kind: u32) {
        let talk = self.talk(client, kind);
        if let Some(visit) = &mut self.under_way[server.index()] {
            visit.answered |= visit.talk == talk;
        }
        if self.limits[kind as usize].is_none() {
            self.talks[talk].answered.push(server);
        }
    }

    /// The client has the answers that woke it: each is to the request that the server's task has, else to the oldest,
    /// else to one that woke nobody.
    fn reads(&mut self, talk: usize, record: u32) {
        for server in std::mem::take(&mut self.talks[talk].answered) {
            let it = &mut self.talks[talk];
            let own = it.open.iter().position(|open| open.server == server);
            let begin = match own.or((!it.open.is_empty()).then_some(0)) {
                Some(at) => Some(it.open.remove(at).begin),
                None => it.silent.take(),
            };
            if let Some(begin) = begin {
                self.close(talk, begin, record);
            }
        }
    }

    fn close(&mut self, talk: usize, begin: u32, end: u32) {
        let Talk { client, kind, .. } = self.talks[talk];
        self.found.push(Request { client, begin, end, kind });
    }

    fn switch(&mut self, record: &Record, number: u32) {
        let SchedEvent::Switch { prev, next, prev_state, .. } = record.event else { return };
        let cpu = record.cpu.index();
        if let Some((task, since)) = self.on_cpu[cpu].take()
            && let Some(visit) = &mut self.under_way[task.index()]
        {
            visit.ran += record.at.since(since).0;
        }
        if let Some(prev) = prev.filter(|_| !prev_state.is_runnable()) {
            self.rests(prev, number);
            self.sleeps(prev, number);
        }
        if let Some(next) = next {
            self.on_cpu[cpu] = Some((next, record.at));
            for at in 0..self.of_client[next.index()].len() {
                self.reads(self.of_client[next.index()][at], number);
            }
        }
    }

    /// The client `task` goes to sleep: it has read all answers that were there.
    fn sleeps(&mut self, task: TaskId, record: u32) {
        for at in 0..self.of_client[task.index()].len() {
            let talk = self.of_client[task.index()][at];
            self.reads(talk, record);
            let has_courtesies = self.limits[self.talks[talk].kind as usize].is_some();
            let it = &mut self.talks[talk];
            for open in it.open.iter_mut().filter(|open| open.rested) {
                open.slept.get_or_insert(record);
            }
            it.silent = (it.open.is_empty() && !has_courtesies).then_some(record);
        }
    }

    /// The server's `task` waits again: its visit is over, unless it came from elsewhere and waits for somebody here.
    fn rests(&mut self, task: TaskId, record: u32) {
        let Some(visit) = &mut self.under_way[task.index()] else { return };
        let is_from_elsewhere = self.talks[visit.talk].client == task;
        if is_from_elsewhere && visit.woke.is_some() {
            visit.slept = Some(record);
        } else {
            self.ends(task, record);
        }
    }

    /// The visit of the server's `task` ended at `record`.
    fn ends(&mut self, task: TaskId, record: u32) {
        let Some(UnderWay { talk, begin, ran, answered, .. }) = self.under_way[task.index()].take() else { return };
        let ran = Span(ran);
        let it = &mut self.talks[talk];
        it.visits -= 1;
        self.visits[it.kind as usize].push(Visit { task, ran, answered });
        if it.client == task {
            if self.limits[it.kind as usize].is_none_or(|limit| ran >= limit) {
                self.close(talk, begin, record);
            }
            return;
        }
        let Some(limit) = self.limits[it.kind as usize] else {
            for open in it.open.iter_mut().filter(|open| open.server == task) {
                open.rested = true;
            }
            return;
        };
        self.was_long[task.index()] = ran >= limit;
        if ran >= limit {
            // Whichever task is free takes a connection: the oldest that none has taken.
            let begin = it.begun.pop_front().unwrap_or(begin);
            it.open.push(Open { begin, server: task, rested: true, slept: None });
        } else {
            // It found no other connection: those that are left are with tasks still at work.
            let taken = it.begun.len().saturating_sub(it.visits);
            it.begun.drain(..taken);
        }
    }
}
