//! Requests: what clients in a recording ask of servers, from the message to the answer.
//!
//! A client and a server are two programs that talk over the network of the recorded machine (`clients`). A request
//! begins with the client's message that wakes a task of the server, and ends when the client has the answer: when it
//! runs again, woken by the server; or, where it never slept, with its next message to the same task, or when it goes
//! to sleep. Where the server was busy, the message woke nobody: then the request begins when the client goes to sleep.
//!
//! Where the clients of a selected server are elsewhere, a request begins with the soft interrupt that wakes a task of
//! the server, and ends when that task waits again, and not for a task that it has woken meanwhile.
//!
//! A message that only closes a connection or thanks is no request: `courtesies` tells them apart.
//!
//! Both marks of a request lie at records of its client. Recovery puts them into the client's programme, so a replay
//! reports its requests as a modelled client does, and the recording is measured by the same marks.

mod clients;
mod courtesies;
mod follow;

use crate::answers::Windows;
use crate::causes::Rule;
use crate::history::History;
use clients::Clients;
use courtesies::limit;
use follow::Follow;
use goodness_core::TaskId;
use goodness_trace::{Record, Served};

/// A request: two records of the recording, at which its client has its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The task that asked; the one that was asked if the client is elsewhere.
    pub client: TaskId,
    /// The record with which it begins.
    pub begin: u32,
    /// The record with which it ends.
    pub end: u32,
    /// Its place in [`Requests::kinds`].
    pub kind: u32,
}

/// Requests of one program to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Name of the program that asks; `None` if it is elsewhere.
    pub client: Option<String>,
    /// Name of the program that answers.
    pub server: String,
}

/// What a mark says of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The answer is there.
    Served,
    /// The client asks.
    Asked,
    /// It arrives from elsewhere.
    Arrived,
}

/// A mark in the programme of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The record at which it stands.
    pub record: u32,
    /// In whose programme it stands.
    pub task: TaskId,
    /// Number of the request.
    pub request: u32,
    /// What it says.
    pub what: What,
}

/// The requests of a recording.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// All of them.
    pub all: Vec<Request>,
    /// Who asks whom.
    pub kinds: Vec<Kind>,
}

impl Requests {
    /// Finds the requests of the judged clients in `history`.
    #[must_use]
    pub fn find(history: &History, rule: &Rule, windows: &Windows) -> Requests {
        let clients = Clients::find(history, rule, windows);
        if clients.is_empty() {
            return Requests::default();
        }
        let first = Follow::new(history, &clients, vec![None; clients.len()]).through(rule);
        let limits = first.visits.iter().map(|visits| limit(visits)).collect();
        let all = Follow::new(history, &clients, limits).through(rule).found;
        Requests { all, kinds: clients.kinds(history) }
    }

    /// Number of requests of each kind that has any.
    #[must_use]
    pub fn counted(&self) -> Vec<(&Kind, usize)> {
        let count = |kind: usize| self.all.iter().filter(|request| request.kind as usize == kind).count();
        self.kinds.iter().enumerate().map(|(at, kind)| (kind, count(at))).filter(|(_, count)| *count > 0).collect()
    }

    /// Their marks in order of records. At one record ends come before beginnings.
    #[must_use]
    pub fn marks(&self) -> Vec<Mark> {
        let mut marks = Vec::with_capacity(2 * self.all.len());
        for (request, it) in self.all.iter().enumerate() {
            let mark = |record, what| Mark { record, task: it.client, request: request as u32, what };
            let is_local = self.kinds[it.kind as usize].client.is_some();
            let begins = if is_local { What::Asked } else { What::Arrived };
            marks.extend([mark(it.begin, begins), mark(it.end, What::Served)]);
        }
        marks.sort_unstable_by_key(|mark| (mark.record, mark.what, mark.request));
        marks
    }

    /// What a run would report of them, in order of records.
    #[must_use]
    pub fn served(&self, records: &[Record]) -> Vec<Served> {
        let at = |record: u32| records[record as usize].at;
        let told = |it: &Request| Served { record: it.end, task: it.client, latency: at(it.end).since(at(it.begin)) };
        let mut served: Vec<Served> = self.all.iter().map(told).collect();
        served.sort_by_key(|it| it.record);
        served
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::TickGrid;
    use goodness_trace::{Recording, SchedEvent, load};
    use std::path::Path;

    /// Requests that `ab` reported, found by the rule, and found if no message were a courtesy.
    fn of_ab(name: &str, change: fn(&mut Recording)) -> (usize, usize, usize) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
        let report = std::fs::read_to_string(folder.join(format!("{name}.csv"))).expect("the report is shipped");
        let requests = report.lines().skip(1).map(|line| line.split(',').nth(1).expect("two columns"));
        let reported = requests.map(|count| count.parse::<usize>().expect("a number")).sum();
        let mut recording = load(&folder.join(format!("{name}.ftrace.zst"))).expect("the recording is shipped");
        change(&mut recording);
        let history = History::of(&recording);
        let rule = Rule::new(&history, TickGrid::find(&history));
        let windows = Windows::find(&history, &rule);
        let clients = Clients::find(&history, &rule, &windows);
        let planted = Follow::new(&history, &clients, vec![None; clients.len()]).through(&rule).found;
        (reported, Requests::find(&history, &rule, &windows).all.len(), planted.len())
    }

    #[test]
    fn requests_are_as_many_as_the_client_reported_and_a_wrong_match_shows_in_the_count() {
        let (reported, found, planted) = of_ab("apache-ab-c24-1cpu", |_| ());
        let is_held = |count: usize| count.abs_diff(reported) * 50 <= reported;
        assert!(is_held(found), "{found} found, {reported} reported");
        assert!(!is_held(planted), "{planted} if the ends of connections were requests, too");
    }

    /// Takes `ab` out of the recording, as if it ran on another machine.
    fn without_ab(recording: &mut Recording) {
        let is_ab: Vec<bool> = recording.tasks.iter().map(|(_, entry)| entry.comm.to_string() == "ab").collect();
        let others = |task: Option<TaskId>| task.filter(|task| !is_ab[task.index()]);
        for record in &mut recording.records {
            match &mut record.event {
                SchedEvent::Switch { prev, next, .. } => (*prev, *next) = (others(*prev), others(*next)),
                SchedEvent::Waking(wake) | SchedEvent::Wakeup(wake) | SchedEvent::WakeupNew(wake) => {
                    wake.current = others(wake.current);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn requests_from_elsewhere_are_as_many_as_the_client_reported() {
        let (reported, found, planted) = of_ab("apache-ab-c24-1cpu", without_ab);
        assert!(found.abs_diff(reported) * 50 <= reported, "{found} found, {reported} reported, {planted} visits");
    }
}
