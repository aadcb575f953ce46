//! Follows clients and the visits of their servers through a recording, and lists the requests.

use super::Request;
use super::clients::Clients;
use super::control_messages::Visit;
use crate::causes::{Cause, Kinds, Rule};
use crate::history::History;
use crate::pools::{Pools, Visit as PoolVisit};
use goodness_core::{Span, TaskId, Time};
use goodness_trace::{Record, SchedEvent};
use std::collections::VecDeque;

/// A request that has begun.
#[derive(Clone, Copy, Debug)]
struct Open {
    begin: u32,
    /// The server's task that serves it.
    server: TaskId,
    /// True if that task waits again.
    rested: bool,
    /// Record at which the client went to sleep after that.
    slept: Option<u32>,
}

/// Messages and open requests between a client's task and a server.
#[derive(Clone, Debug)]
struct Exchange {
    client: TaskId,
    kind: u32,
    open: Vec<Open>,
    /// Tasks of the server that have woken the client, which has not run since.
    answered: Vec<TaskId>,
    /// Record at which the client went to sleep without an open request: its message may have woken nobody.
    silent: Option<u32>,
    /// If there are control messages: messages that begin a request whose server's task is not yet known.
    begun: VecDeque<u32>,
    /// Visits under way.
    visits: usize,
}

/// A visit under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    exchange: usize,
    begin: u32,
    ran: u64,
    answered: bool,
    /// For a client on another machine: the program of the task that the server's task has woken last.
    woke: Option<u32>,
    /// For a client on another machine: record at which the server's task went to sleep. The request continues if the
    /// task is woken by that program.
    slept: Option<u32>,
}

impl UnderWay {
    fn new(exchange: usize, begin: u32) -> UnderWay {
        UnderWay { exchange, begin, ran: 0, answered: false, woke: None, slept: None }
    }
}

/// The state at the current record.
pub struct Follow<'a> {
    history: &'a History<'a>,
    clients: &'a Clients,
    /// Tasks that accept from one queue: they show which visit is a request.
    pools: &'a Pools,
    /// The longest control message of each kind.
    limits: Vec<Option<Span>>,
    exchanges: Vec<Exchange>,
    /// Exchanges of each task as a client.
    of_client: Vec<Vec<usize>>,
    /// Visit of each task as a server.
    under_way: Vec<Option<UnderWay>>,
    /// True if the last visit of the task was long, so the next message to it is a control message.
    was_long: Vec<bool>,
    on_cpu: Vec<Option<(TaskId, Time)>>,
    /// Completed visits, by kind.
    pub visits: Vec<Vec<Visit>>,
    /// Completed requests.
    pub found: Vec<Request>,
}

impl<'a> Follow<'a> {
    /// The state before the first record.
    #[must_use]
    pub fn new(
        history: &'a History<'a>,
        clients: &'a Clients,
        pools: &'a Pools,
        limits: Vec<Option<Span>>,
    ) -> Follow<'a> {
        let tasks = history.participants.len();
        Follow {
            history,
            clients,
            pools,
            visits: vec![Vec::new(); limits.len()],
            limits,
            exchanges: Vec::new(),
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
        for exchange in 0..self.exchanges.len() {
            let unread: Vec<Open> = self.exchanges[exchange].open.drain(..).collect();
            for (open, slept) in unread.iter().filter_map(|open| Some((open, open.slept?))) {
                self.close(exchange, open.begin, slept, Some(open.server));
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

    /// A request from another machine wakes `server`.
    fn arrives(&mut self, server: TaskId, record: u32) {
        let it = self.history.participant(server);
        let Some(kind) = self.clients.kind_from_elsewhere(it.program).filter(|_| it.judged) else { return };
        let is_awake = self.on_cpu.iter().flatten().any(|(task, _)| *task == server);
        if is_awake || self.under_way[server.index()].is_some() {
            return;
        }
        let exchange = self.exchange(server, kind);
        self.exchanges[exchange].visits += 1;
        self.under_way[server.index()] = Some(UnderWay::new(exchange, record));
    }

    /// `task` is woken by `by` or from outside. Its request from another machine is complete unless it waited for the
    /// program of `by`.
    fn goes_on(&mut self, task: TaskId, by: Option<TaskId>) {
        let Some(visit) = &mut self.under_way[task.index()] else { return };
        let Some(slept) = visit.slept.take() else { return };
        if by.is_none() || visit.woke != by.map(|by| self.history.participant(by).program) {
            self.ends(task, slept);
        }
    }

    /// The exchange of `client` in this kind.
    fn exchange(&mut self, client: TaskId, kind: u32) -> usize {
        if let Some(exchange) =
            self.of_client[client.index()].iter().find(|exchange| self.exchanges[**exchange].kind == kind)
        {
            return *exchange;
        }
        let (open, answered, begun) = (Vec::new(), Vec::new(), VecDeque::new());
        self.exchanges.push(Exchange { client, kind, open, answered, silent: None, begun, visits: 0 });
        self.of_client[client.index()].push(self.exchanges.len() - 1);
        self.exchanges.len() - 1
    }

    /// `client` wakes `server`: it has read the earlier answer of `server`, and sends a request or a control message.
    fn asks(&mut self, client: TaskId, server: TaskId, kind: u32, record: u32) {
        let exchange = self.exchange(client, kind);
        self.reads(exchange, record);
        let read = self.exchanges[exchange].open.iter().position(|open| open.server == server && open.rested);
        if let Some(open) = read.map(|at| self.exchanges[exchange].open.remove(at)) {
            self.close(exchange, open.begin, open.slept.unwrap_or(record), Some(server));
        }
        let is_visited = self.under_way[server.index()].is_some();
        if !is_visited {
            self.under_way[server.index()] = Some(UnderWay::new(exchange, record));
            self.exchanges[exchange].visits += 1;
        }
        let it = &mut self.exchanges[exchange];
        if self.limits[kind as usize].is_some() {
            let accepts = self.pools.visit(record).map_or(!self.was_long[server.index()], PoolVisit::accepts);
            if !is_visited && accepts {
                it.begun.push_back(record);
            }
        } else if it.open.iter().all(|open| open.server != server) {
            it.open.push(Open { begin: record, server, rested: false, slept: None });
        }
    }

    /// `server` wakes `client`.
    fn answers(&mut self, server: TaskId, client: TaskId, kind: u32) {
        let exchange = self.exchange(client, kind);
        if let Some(visit) = &mut self.under_way[server.index()] {
            visit.answered |= visit.exchange == exchange;
        }
        if self.limits[kind as usize].is_none() {
            self.exchanges[exchange].answered.push(server);
        }
    }

    /// The client reads the answers that woke it. Each belongs to the request that the server's task serves, else to
    /// the oldest request, else to one that woke nobody.
    fn reads(&mut self, exchange: usize, record: u32) {
        for server in std::mem::take(&mut self.exchanges[exchange].answered) {
            let it = &mut self.exchanges[exchange];
            let own = it.open.iter().position(|open| open.server == server);
            let read = match own.or((!it.open.is_empty()).then_some(0)) {
                Some(at) => Some(it.open.remove(at)).map(|open| (open.begin, Some(open.server))),
                None => it.silent.take().map(|begin| (begin, None)),
            };
            if let Some((begin, server)) = read {
                self.close(exchange, begin, record, server);
            }
        }
    }

    fn close(&mut self, exchange: usize, begin: u32, end: u32, server: Option<TaskId>) {
        let Exchange { client, kind, .. } = self.exchanges[exchange];
        self.found.push(Request { client, server, begin, end, kind });
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

    /// The client `task` goes to sleep: it has read all answers so far.
    fn sleeps(&mut self, task: TaskId, record: u32) {
        for at in 0..self.of_client[task.index()].len() {
            let exchange = self.of_client[task.index()][at];
            self.reads(exchange, record);
            let has_control_messages = self.limits[self.exchanges[exchange].kind as usize].is_some();
            let it = &mut self.exchanges[exchange];
            for open in it.open.iter_mut().filter(|open| open.rested) {
                open.slept.get_or_insert(record);
            }
            it.silent = (it.open.is_empty() && !has_control_messages).then_some(record);
        }
    }

    /// The server's `task` waits again. Its visit is complete, unless its client is on another machine and it waits for
    /// a task of this one.
    fn rests(&mut self, task: TaskId, record: u32) {
        let Some(visit) = &mut self.under_way[task.index()] else { return };
        let is_from_elsewhere = self.exchanges[visit.exchange].client == task;
        if is_from_elsewhere && visit.woke.is_some() {
            visit.slept = Some(record);
        } else {
            self.ends(task, record);
        }
    }

    /// The visit of the server's `task` ended at `record`.
    fn ends(&mut self, task: TaskId, record: u32) {
        let Some(UnderWay { exchange, begin, ran, answered, .. }) = self.under_way[task.index()].take() else { return };
        let ran = Span(ran);
        let it = &mut self.exchanges[exchange];
        it.visits -= 1;
        self.visits[it.kind as usize].push(Visit { task, ran, answered });
        if it.client == task {
            if self.limits[it.kind as usize].is_none_or(|limit| ran >= limit) {
                self.close(exchange, begin, record, Some(task));
            }
            return;
        }
        let Some(limit) = self.limits[it.kind as usize] else {
            for open in it.open.iter_mut().filter(|open| open.server == task) {
                open.rested = true;
            }
            return;
        };
        let serves = self.pools.visit(begin).map_or(ran >= limit, PoolVisit::serves);
        self.was_long[task.index()] = serves;
        if serves {
            // A free task takes the oldest connection that no task has taken.
            let begin = it.begun.pop_front().unwrap_or(begin);
            it.open.push(Open { begin, server: task, rested: true, slept: None });
        } else {
            // It found no other connection: the rest are taken by tasks still at work.
            let taken = it.begun.len().saturating_sub(it.visits);
            it.begun.drain(..taken);
        }
    }
}
