//! Several requests at once between two tasks: a recording does not tell them apart.
//!
//! Wake-ups show messages between tasks, not connections. While a server's task is awake, a further message to it wakes
//! nobody, and a client's task that has several connections to it sends such messages, without sleeping. Then requests
//! are missing and their times are wrong. So a recording with more connections between two programs than pairs of tasks
//! that exchange messages is not trusted. (A connection that the server has not accepted yet does not count: it waits
//! for a free task, which is another pair.)

use super::clients::{Clients, messages};
use super::{AtOnce, Kind};
use crate::causes::Rule;
use crate::history::History;
use goodness_core::TaskId;
use std::collections::BTreeSet;

/// Kinds with more connections than pairs of tasks. None if the recording does not count connections.
pub fn find(history: &History, rule: &Rule, clients: &Clients, kinds: &[Kind]) -> Vec<AtOnce> {
    if history.connections.is_empty() {
        return Vec::new();
    }
    let mut pairs: Vec<BTreeSet<(TaskId, TaskId)>> = vec![BTreeSet::new(); kinds.len()];
    let program = |task: TaskId| history.participant(task).program;
    for (from, to) in messages(history, rule) {
        let asked = clients.kind(program(from), program(to)).map(|kind| (kind, (from, to)));
        let answered = || clients.kind(program(to), program(from)).map(|kind| (kind, (to, from)));
        if let Some((kind, pair)) = asked.or_else(answered) {
            pairs[kind as usize].insert(pair);
        }
    }
    let of = |program: u32| history.connections.get(&program).copied().unwrap_or_default();
    let connections = clients.local().map(|((client, server), kind)| (kind, of(client).min(of(server))));
    let found = connections.filter_map(|(kind, connections)| {
        let pairs = pairs[kind as usize].len() as u32;
        (connections > pairs).then(|| AtOnce { kind: kinds[kind as usize].clone(), connections, pairs })
    });
    found.collect()
}
