//! Requests by the calls of their clients, in recordings made with `--messages`.
//!
//! A request begins with a client's write to a descriptor and ends with the return of the next read of that descriptor
//! that has bytes, whoever slept meanwhile. Thus requests on several connections between two tasks are told apart.
//!
//! A descriptor is a connection to the server that woke the client last before most of its reads. What a client writes
//! to its own pipes and files is no request: no task of a server wakes it for those, or nothing is read there.

use super::Request;
use super::clients::Clients;
use crate::causes::{Cause, Kinds, Rule};
use crate::history::History;
use goodness_core::TaskId;
use goodness_trace::{Call, SchedEvent};
use std::collections::BTreeMap;

/// A read that finds nothing and one that a signal interrupts: `EAGAIN`, `EINTR`. Others end a connection.
const TRY_AGAIN: [i32; 2] = [-11, -4];

/// A descriptor of a client.
#[derive(Clone, Debug, Default)]
struct Connection {
    /// Record at which the request under way begins.
    asked: Option<u32>,
    /// Begin and end of each request.
    requests: Vec<(u32, u32)>,
    /// Reads after a waking by each program.
    after: BTreeMap<u32, u32>,
}

/// The state at the current record.
struct Calls {
    /// The call that each task is in, and its record.
    under_way: Vec<Option<(Call, u32)>>,
    /// Program whose task woke each task last.
    woken_by: Vec<Option<u32>>,
    connections: BTreeMap<(TaskId, u32), Connection>,
}

/// Requests of judged clients, by their calls. None if the recording has no calls.
pub fn find(history: &History, rule: &Rule, clients: &Clients) -> Vec<Request> {
    let tasks = history.participants.len();
    let mut calls = Calls { under_way: vec![None; tasks], woken_by: vec![None; tasks], connections: BTreeMap::new() };
    for (record, number) in history.records.iter().zip(0..) {
        if let Some(wake) = history.waking(record)
            && let Cause::Edge(by) = rule.judge(&wake, &mut Kinds::default())
        {
            calls.woken_by[wake.task.index()] = Some(history.participant(by).program);
        }
        if let SchedEvent::Call { by: Some(by), call } = record.event
            && history.participant(by).judged
        {
            calls.see(by, call, number);
        }
    }
    let mut found = Vec::new();
    for ((client, _), connection) in calls.connections {
        let from = history.participant(client).program;
        let Some(kind) = connection.server().and_then(|server| clients.kind(from, server)) else { continue };
        let request = |(begin, end)| Request { client, server: None, begin, end, kind };
        found.extend(connection.requests.into_iter().map(request));
    }
    found.sort_unstable_by_key(|it| (it.end, it.begin));
    found
}

/// The requests of each kind: those of calls, where they are at least half as many as wakings show. A client whose
/// calls are of other kinds than the recorded ones has fewer.
pub fn preferred(of_wakings: Vec<Request>, of_calls: Vec<Request>, kinds: usize) -> Vec<Request> {
    let count = |all: &[Request], kind: usize| all.iter().filter(|it| it.kind as usize == kind).count();
    let by_calls: Vec<bool> = (0..kinds)
        .map(|kind| {
            let calls = count(&of_calls, kind);
            calls > 0 && calls * 2 >= count(&of_wakings, kind)
        })
        .collect();
    let mut all = of_wakings;
    all.retain(|it| !by_calls[it.kind as usize]);
    all.extend(of_calls.into_iter().filter(|it| by_calls[it.kind as usize]));
    all
}

impl Calls {
    fn see(&mut self, task: TaskId, call: Call, record: u32) {
        let Call::Returned(bytes) = call else {
            self.under_way[task.index()] = Some((call, record));
            return;
        };
        let Some((call, begin)) = self.under_way[task.index()].take() else { return };
        match call {
            Call::Send(descriptor) if bytes > 0 => {
                self.connections.entry((task, descriptor)).or_default().asked.get_or_insert(begin);
            }
            Call::Receive(descriptor) => {
                let woken_by = self.woken_by[task.index()];
                let connection = self.connections.entry((task, descriptor)).or_default();
                connection.reads(bytes, record, woken_by);
            }
            Call::Send(_) | Call::Returned(_) => {}
        }
    }
}

impl Connection {
    fn reads(&mut self, bytes: i32, record: u32, woken_by: Option<u32>) {
        if bytes > 0 {
            if let Some(program) = woken_by {
                *self.after.entry(program).or_default() += 1;
            }
            if let Some(begin) = self.asked.take() {
                self.requests.push((begin, record));
            }
        } else if !TRY_AGAIN.contains(&bytes) {
            self.asked = None;
        }
    }

    /// The program that woke the client before more than half of the reads that a task caused.
    fn server(&self) -> Option<u32> {
        let all: u32 = self.after.values().sum();
        self.after.iter().find(|(_, count)| **count * 2 > all).map(|(program, _)| *program)
    }
}
