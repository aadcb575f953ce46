//! Recovery of the tasks of a pool: cuts their programmes into services, and makes the client connect.
//!
//! The client's connections and replies start turns of its loop: the end of a connection starts with the server's
//! reply, and a new connection is made after the end of an older one.

use super::{Others, Recovery};
use crate::answers::Windows;
use crate::causes::{Cause, Rule};
use crate::history::History;
use crate::pools::{Pools, Visit};
use crate::program::Instruction;
use crate::requests::Requests;
use crate::services::Taken;
use crate::task_recovery::{Activity, Ending};
use crate::timers::Timer;
use goodness_core::{Off, TaskId, Time};
use goodness_trace::{Context, Wake};
use std::collections::VecDeque;

/// Recovery of one pool.
#[derive(Clone, Debug, Default)]
pub(super) struct Pooled {
    pub taken: Taken,
    /// The message with which a loop goes on after each connection it has ended and not replaced.
    ended: VecDeque<u32>,
}

/// The pools, if no task is left out, and the requests.
pub(super) fn shared_work(history: &History, rule: &Rule, windows: &Windows, others: Others) -> (Pools, Requests) {
    let pools = Pools::find(history, rule, windows);
    let requests = Requests::find(history, rule, windows, &pools);
    (if others == Others::Compete { pools } else { Pools::none(history) }, requests)
}

impl Recovery<'_> {
    /// The cause that ends the wait of the woken task.
    pub(super) fn ending(&mut self, wake: &Wake, cause: Cause, at: Time) -> Ending {
        if let Some(ending) = self.waking_in_pool(wake.task, cause, at) {
            return ending;
        }
        match self.fire(wake.task, cause, at) {
            Ending::External => self.timer(wake, at).map_or(Ending::External, Ending::Expiry),
            ending => ending,
        }
    }

    /// The periodic timer that wakes a task. Work of a pool is done by whichever of its tasks takes it.
    fn timer(&self, wake: &Wake, at: Time) -> Option<Timer> {
        let waits = match self.recoveries[wake.task.index()].activity {
            Activity::Blocked(_, off) => off == Off::Sleeping,
            activity => matches!(activity, Activity::Running(_)),
        };
        let may = waits && wake.context == Context::HardIrq && self.pools.of(wake.task).is_none();
        self.timers.expiring(wake.task, at).filter(|_| may)
    }

    /// `who` waits again: a reply to the event loop that addressed it.
    pub(super) fn rests(&mut self, who: TaskId, off: Off, at: Time) {
        self.client_rests(who);
        if self.pools.of(who).is_some() {
            if off == Off::Sleeping {
                self.rest_in_pool(who, at);
            }
        } else if let Some(answer) = self.conversations.rests(who, at) {
            self.push(who, Instruction::Answer(answer), at);
        }
    }

    /// The waking of a task of a pool, at the current record. `None` if it is treated like any other waking.
    pub(super) fn waking_in_pool(&mut self, task: TaskId, cause: Cause, at: Time) -> Option<Ending> {
        let pool = self.pools.of(task)?;
        if self.is_contention(task, cause) || self.recoveries[task.index()].is_fruitless {
            return Some(Ending::Outcome);
        }
        let visit = self.pools.visit(self.record)?;
        self.recoveries[task.index()].visit = Some(visit);
        let client = self.pools.all[pool as usize].client;
        let by_client = cause == Cause::Edge(client);
        match (visit.accepts(), by_client) {
            (true, _) => {
                if by_client {
                    self.connect(pool, at);
                }
                Some(Ending::Outcome)
            }
            (false, true) => Some(self.end_connection(pool, task, at)),
            (false, false) => None,
        }
    }

    /// True if a task of the same pool ends a wait for a lock. Who waits for it is an outcome of the schedule.
    fn is_contention(&self, task: TaskId, cause: Cause) -> bool {
        let Cause::Edge(by) = cause else { return false };
        self.pools.of(by) == self.pools.of(task) && self.recoveries[task.index()].waits_uninterruptibly()
    }

    /// The client connects.
    fn connect(&mut self, pool: u32, at: Time) {
        let client = self.pools.all[pool as usize].client;
        if let Some(message) = self.pooled[pool as usize].ended.pop_front() {
            self.recoveries[client.index()].push(Instruction::BeginTurn(message));
        }
        self.mark(client, at);
        self.pooled[pool as usize].taken.connections += 1;
        self.push(client, Instruction::Connect(pool), at);
    }

    /// The client ends the connection that `task` serves, after its reply.
    fn end_connection(&mut self, pool: u32, task: TaskId, at: Time) -> Ending {
        let client = self.pools.all[pool as usize].client;
        if let Some(reply) = self.recoveries[task.index()].reply.take() {
            self.conversations.forget_message(client);
            self.unknowns.inferred_answers += 1;
            self.recoveries[client.index()].push(Instruction::BeginTurn(reply));
        }
        let edge = self.new_edge();
        self.mark(client, at);
        self.push(client, Instruction::Post(edge), at);
        let message = self.conversations.message();
        self.push(client, Instruction::Answer(message), at);
        self.pooled[pool as usize].ended.push_back(message);
        Ending::Edge(edge)
    }

    /// `task` runs after a waking: it takes a service if its visit is one.
    pub(super) fn come_in_pool(&mut self, task: TaskId, at: Time) {
        let Some(visit) = self.recoveries[task.index()].visit.take() else { return };
        let Some(pool) = self.pools.of(task) else { return };
        match visit {
            Visit::Fruitless => self.recoveries[task.index()].is_fruitless = true,
            Visit::Ends => {}
            Visit::Serves => {
                self.take_service(pool, task, at);
                self.begin_service(pool, task, at);
            }
            Visit::EndsAndServes => {
                self.take_service(pool, task, at);
                let end = self.pools.all[pool as usize].end;
                self.recoveries[task.index()].accepts_after = Some((end, pool));
            }
        }
    }

    /// `task` takes the next service. If no connection was seen for it, the client has made one that woke nobody.
    fn take_service(&mut self, pool: u32, task: TaskId, at: Time) {
        let taken = &mut self.pooled[pool as usize].taken;
        self.recoveries[task.index()].service = Some(taken.takers.len() as u32);
        taken.takers.push(task.0);
        if taken.takers.len() > taken.connections as usize {
            self.connect(pool, at);
        }
    }

    /// Puts a mark into the programme of `who`.
    pub(super) fn push_mark(&mut self, who: TaskId, mark: Instruction, at: Time) {
        let mark = self.marked(mark);
        self.push(who, mark, at);
    }

    /// A mark as it belongs into a programme: the request of a pool is that of the service that answered it.
    pub(super) fn marked(&mut self, mark: Instruction) -> Instruction {
        let Instruction::Served(request) = mark else { return mark };
        let service = || {
            let server = self.requests.all[request as usize].server?;
            Some((self.pools.of(server)?, self.recoveries[server.index()].service?))
        };
        let Some((pool, service)) = service() else { return mark };
        let taken = &mut self.pooled[pool as usize].taken;
        taken.reported.insert(service);
        taken.requests.insert(request);
        Instruction::ServedBy(pool, service)
    }

    /// The programme of `task` continues with its next service. Later laps begin with its first.
    pub(super) fn begin_service(&mut self, pool: u32, task: TaskId, at: Time) {
        if !std::mem::replace(&mut self.recoveries[task.index()].is_pooled, true) {
            self.push(task, Instruction::LapBegin, at);
        }
        self.push(task, Instruction::Accept(pool), at);
    }

    /// `task` of a pool sleeps: a reply, if its visit was a service.
    pub(super) fn rest_in_pool(&mut self, task: TaskId, at: Time) {
        let reply = self.conversations.message();
        self.push(task, Instruction::Answer(reply), at);
        let recovery = &mut self.recoveries[task.index()];
        (recovery.reply, recovery.is_fruitless) = (Some(reply), false);
    }

    /// The client sleeps: it has made all the connections that it was to make.
    pub(super) fn client_rests(&mut self, task: TaskId) {
        for (pooled, pool) in self.pooled.iter_mut().zip(&self.pools.all) {
            if pool.client == task {
                pooled.ended.clear();
            }
        }
    }
}
