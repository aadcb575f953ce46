//! Requests: what clients in a recording ask of servers, from the message to the answer.
//!
//! A client and a server are two programs that exchange messages over the network of the recorded machine (`clients`).
//! A request begins with the client's message that wakes a task of the server. If the server was busy, the message woke
//! nobody; then the request begins when the client goes to sleep. It ends when the client runs again, woken by the
//! server. If the client never slept, it ends with the client's next message to the same task, or when it goes to
//! sleep.
//!
//! If the clients of a selected server are on other machines, a request begins with the soft interrupt that wakes a
//! task of the server. It ends when that task waits again, unless it waits for a task that it has woken.
//!
//! If the recording has the calls of a client, its requests are those of its own calls (`by_calls`).
//!
//! A message that only closes a connection is no request: `control_messages` tells them apart.
//!
//! The marks for begin and end of a request are at records of its client. Recovery puts them into the client's
//! programme, so a replay reports its requests as a modelled client does. The same marks measure the recording.

mod at_once;
mod by_calls;
mod clients;
pub(crate) mod control_messages;
mod follow;

use crate::answers::Windows;
use crate::causes::Rule;
use crate::history::History;
use crate::pools::Pools;
use clients::Clients;
use control_messages::limit;
use follow::Follow;
use goodness_core::TaskId;
use goodness_trace::{Record, Served};

/// A request: the records of its begin and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The client's task; the server's if the client is on another machine.
    pub client: TaskId,
    /// The server's task, if it is known.
    pub server: Option<TaskId>,
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
    /// Name of the client; `None` if it is on another machine.
    pub client: Option<String>,
    /// Name of the server.
    pub server: String,
}

/// Several requests at once between two tasks, which a recording does not tell apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtOnce {
    /// Client and server.
    pub kind: Kind,
    /// Connections between them.
    pub connections: u32,
    /// Pairs of tasks that exchange messages.
    pub pairs: u32,
}

/// Kind of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The request ends.
    Served,
    /// The request begins, with the client's message.
    Asked,
    /// The request begins, from another machine.
    Arrived,
}

/// A mark in the programme of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its record.
    pub record: u32,
    /// The task whose programme contains it.
    pub task: TaskId,
    /// Number of the request.
    pub request: u32,
    /// Its kind.
    pub what: What,
}

/// The requests of a recording.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// All of them.
    pub all: Vec<Request>,
    /// Client and server of each kind.
    pub kinds: Vec<Kind>,
    /// Kinds whose requests cannot be told apart.
    pub at_once: Vec<AtOnce>,
}

impl Requests {
    /// Finds the requests of the judged clients in `history`.
    #[must_use]
    pub fn find(history: &History, rule: &Rule, windows: &Windows, pools: &Pools) -> Requests {
        let clients = Clients::find(history, rule, windows);
        if clients.is_empty() {
            return Requests::default();
        }
        let first = Follow::new(history, &clients, pools, vec![None; clients.len()]).through(rule);
        let limits = first.visits.iter().map(|visits| limit(visits)).collect();
        let of_wakings = Follow::new(history, &clients, pools, limits).through(rule).found;
        let all = by_calls::preferred(of_wakings, by_calls::find(history, rule, &clients), clients.len());
        let kinds = clients.kinds(history);
        let at_once = at_once::find(history, rule, &clients, &kinds);
        Requests { all, kinds, at_once }
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

    /// The requests as a run would report them, in order of records.
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

    /// Requests that `ab` reported, that the rule finds, and that it would find without control messages.
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
        let pools = Pools::find(&history, &rule, &windows);
        let planted = Follow::new(&history, &clients, &pools, vec![None; clients.len()]).through(&rule).found;
        (reported, Requests::find(&history, &rule, &windows, &pools).all.len(), planted.len())
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

    /// Number, median and 99th percentile in µs of ascending `latencies`.
    fn summary(latencies: &[u64]) -> [u64; 3] {
        let at = |percent: usize| latencies[(latencies.len() * percent).div_ceil(100) - 1];
        [latencies.len() as u64, at(50), at(99)]
    }

    /// The report of `wrk` on `name`, and the requests found by the calls, or without them.
    fn of_wrk(name: &str, has_calls: bool) -> ([u64; 3], [u64; 3]) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/guest");
        let report = std::fs::read_to_string(folder.join(format!("{name}.csv"))).expect("the report is shipped");
        let rows = report.lines().skip(1).map(|line| line.split_once(',').expect("two columns"));
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let reported: Vec<u64> = rows.flat_map(|(us, count)| vec![number(us); number(count) as usize]).collect();
        let mut recording = load(&folder.join(format!("{name}.ftrace.zst"))).expect("the recording is shipped");
        recording.records.retain(|it| has_calls || !matches!(it.event, SchedEvent::Call { .. }));
        let history = History::of(&recording);
        let rule = Rule::new(&history, TickGrid::find(&history));
        let windows = Windows::find(&history, &rule);
        let pools = Pools::find(&history, &rule, &windows);
        let served = Requests::find(&history, &rule, &windows, &pools).served(&recording.records);
        let mut found: Vec<u64> = served.iter().map(|it| it.latency.0 / 1000).collect();
        found.sort_unstable();
        (summary(&reported), summary(&found))
    }

    /// True if the number is off by at most 2 %, median and 99th percentile by at most 10 %.
    fn is_near(reported: [u64; 3], found: [u64; 3]) -> bool {
        let off = |at: usize, percent: u64| found[at].abs_diff(reported[at]) * 100 <= reported[at] * percent;
        off(0, 2) && off(1, 10) && off(2, 10)
    }

    #[test]
    fn requests_on_several_connections_are_those_that_wrk_reported_if_the_calls_are_recorded() {
        for name in ["nginx-wrk-t1c8", "nginx-wrk-t2c16-2cpu"] {
            let (reported, found) = of_wrk(name, true);
            println!("{name}: {found:?} found, {reported:?} reported");
            assert!(is_near(reported, found), "{name}: {found:?} found, {reported:?} reported");
            let (_, without) = of_wrk(name, false);
            assert!(!is_near(reported, without), "{name}: {without:?} found without calls, {reported:?} reported");
        }
    }

    #[test]
    fn requests_from_elsewhere_are_as_many_as_the_client_reported() {
        let (reported, found, planted) = of_ab("apache-ab-c24-1cpu", without_ab);
        assert!(found.abs_diff(reported) * 50 <= reported, "{found} found, {reported} reported, {planted} visits");
    }
}
