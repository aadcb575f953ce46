//! Queues of connections in a replay: any task of a pool ([`super::pools`]) takes the next service.
//!
//! A *service* is what a task did for one connection, from accepting it until it accepts again. Recovery cuts the
//! programmes of a pool's tasks into services, in the order in which they were taken. In a replay, the client's
//! [`Instruction::Connect`] adds a connection and wakes the task that has waited longest. [`Instruction::Accept`] takes
//! the next service if a connection is waiting, and waits otherwise. A task that was woken and finds no connection runs
//! for the time of a fruitless visit, and waits again behind all others.
//!
//! Connections have no identity: the first one to come gets the first service. So services begin in the recorded order
//! under any policy, each after as many connections as in the recording. That is why the proof in
//! [`super::recover`](mod@super::recover) still holds.

use crate::draft::Draft;
use crate::pools::Pools;
use crate::program::{Instruction, Op, permuted};
use goodness_core::{Channel, Seed, Span};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The queue of one pool.
#[derive(Clone, Debug)]
pub struct Queue {
    /// The services, each followed by [`Instruction::Accept`].
    ops: Arc<[Op]>,
    /// First instruction of each service, in the recorded order.
    begins: Vec<u32>,
    /// CPU time of a task that was woken and finds no connection.
    fruitless: Span,
    /// Services with a request that the client reports.
    is_reported: Vec<bool>,
    /// True if the services start over after the last.
    goes_on: bool,
}

impl Queue {
    /// Number of services.
    #[must_use]
    pub fn len(&self) -> usize {
        self.begins.len()
    }

    /// True if there are no services.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.begins.is_empty()
    }

    /// The services, each followed by [`Instruction::Accept`].
    #[must_use]
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The services with similar bursts and delays shuffled among each other.
    #[must_use]
    pub fn permuted(&self, seed: Seed) -> Queue {
        Queue { ops: permuted(&self.ops, seed), ..self.clone() }
    }
}

/// A queue as recovered so far.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// Number of connections so far.
    pub connections: u32,
    /// The task of each service, in the order in which they were taken.
    pub takers: Vec<u32>,
    /// Services with a request that the client reports.
    pub reported: BTreeSet<u32>,
    /// The requests that these services answer: they begin with the connection.
    pub requests: BTreeSet<u32>,
}

/// Moves the services out of the `programmes` of the pools' tasks into queues. Each of these tasks keeps what it did
/// before its first service, and accepts from then on.
pub fn arrange(
    programmes: &mut [Vec<Op>],
    drafts: &[Draft],
    pools: &Pools,
    taken: Vec<Taken>,
    goes_on: bool,
) -> Vec<Queue> {
    let mut queues = Vec::with_capacity(taken.len());
    for ((taken, pool), number) in taken.into_iter().zip(&pools.all).zip(0..) {
        let accept = Op::new(Instruction::Accept(number));
        let mut services = vec![Vec::new(); pools.tasks()];
        for (ops, draft) in programmes.iter_mut().zip(drafts) {
            if pools.of(draft.recorded) == Some(number) {
                services[draft.recorded.index()] = cut(ops, accept);
            }
        }
        let mut services: Vec<_> = services.into_iter().map(Vec::into_iter).collect();
        let (mut ops, mut begins) = (Vec::new(), Vec::new());
        for taker in &taken.takers {
            begins.push(ops.len() as u32);
            ops.extend(services[*taker as usize].next().unwrap_or_default());
            ops.push(accept);
        }
        let is_reported = (0..taken.takers.len() as u32).map(|service| taken.reported.contains(&service)).collect();
        queues.push(Queue { ops: ops.into(), begins, fruitless: pool.fruitless, is_reported, goes_on });
    }
    queues
}

/// Removes the connections that nobody has served, and the begins of requests that begin with their connection.
pub fn remove_unserved(programmes: &mut [Vec<Op>], drafts: &[Draft], pools: &Pools, taken: &[Taken]) {
    for ((taken, pool), number) in taken.iter().zip(&pools.all).zip(0..) {
        for (ops, _) in programmes.iter_mut().zip(drafts).filter(|(_, draft)| draft.recorded == pool.client) {
            remove_connections(ops, number, taken);
        }
    }
}

/// Cuts the services out of a programme, which accepts instead.
fn cut(ops: &mut Vec<Op>, accept: Op) -> Vec<Vec<Op>> {
    let first = ops.iter().position(|op| *op == accept).unwrap_or(ops.len());
    let rest = ops.split_off(first);
    let is_end = |op: &&Op| op.instruction() == Instruction::Cut;
    if rest.is_empty() {
        // It served nobody after its first wait: from then on it accepts.
        ops.pop_if(|op| op.instruction() == Instruction::Cut);
    }
    ops.push(accept);
    rest.split(|op| *op == accept).skip(1).map(|it| it.iter().filter(|op| !is_end(op)).copied().collect()).collect()
}

fn remove_connections(ops: &mut Vec<Op>, queue: u32, taken: &Taken) {
    let mut seen = 0;
    ops.retain(|op| match op.instruction() {
        Instruction::Connect(other) if other == queue => {
            seen += 1;
            seen <= taken.takers.len()
        }
        Instruction::Ask(request) => !taken.requests.contains(&request),
        _ => true,
    });
}

/// Counts of one queue in a run.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    connections: u64,
    taken: u64,
}

/// The queues of one run, shared by the run's players.
#[derive(Debug)]
pub struct QueueState {
    queues: Vec<Queue>,
    channels: Channel,
    /// Locked because behaviours may move between threads. A run is one thread, so the lock is never contended.
    counts: Mutex<Vec<Counts>>,
}

impl QueueState {
    /// Empty queues. Their channels, which are conditions, are numbered from `channels`.
    #[must_use]
    pub fn new(queues: Vec<Queue>, channels: Channel) -> QueueState {
        let counts = Mutex::new(vec![Counts::default(); queues.len()]);
        QueueState { queues, channels, counts }
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Vec<Counts>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The channel on which tasks wait for a connection.
    #[must_use]
    pub fn channel(&self, queue: u32) -> Channel {
        Channel(self.channels.0 + queue)
    }

    /// The instruction at this place of a queue's services.
    #[must_use]
    pub fn op(&self, queue: u32, place: usize) -> Option<Op> {
        self.queues[queue as usize].ops.get(place).copied()
    }

    /// CPU time of a fruitless visit; never zero.
    #[must_use]
    pub fn fruitless(&self, queue: u32) -> Span {
        self.queues[queue as usize].fruitless.max(Span(1))
    }

    /// Adds a connection. Returns its service, if that has a request which the client reports.
    pub fn connect(&self, queue: u32) -> Option<u32> {
        let connections = &mut self.counts()[queue as usize].connections;
        *connections += 1;
        let reported = &self.queues[queue as usize].is_reported;
        let service = (*connections - 1) % reported.len().max(1) as u64;
        reported.get(service as usize).is_some_and(|it| *it).then_some(service as u32)
    }

    /// Takes the next service: its first instruction and its lap. `None` if no connection is waiting.
    #[must_use]
    pub fn take(&self, queue: u32) -> Option<(usize, u32)> {
        let it = &self.queues[queue as usize];
        let counts = &mut self.counts()[queue as usize];
        let services = it.begins.len() as u64;
        if counts.taken == counts.connections || !it.goes_on && counts.taken == services {
            return None;
        }
        let begin = it.begins[(counts.taken % services) as usize];
        let lap = (counts.taken / services) as u32;
        counts.taken += 1;
        Some((begin as usize, lap))
    }
}
