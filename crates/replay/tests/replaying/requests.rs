//! Requests in written recordings, and in their replays.

use super::recorder::{Recorder, Written, run, switch, wakeup, waking};
use crate::reported::Reported;
use goodness_core::{CpuId, Machine, Off, Span, TaskId, Time};
use goodness_policies::{eevdf::Eevdf, fifo::Fifo};
use goodness_replay::{Replay, ReplayOptions, Requests, Role, recover};
use goodness_trace::Context;

/// A recording of one CPU, written event by event. Task 0 is a program, the others are another.
struct Script {
    written: Written,
    at: Time,
}

impl Script {
    fn new(tasks: usize) -> Script {
        let mut written = Recorder::new(1, tasks).of_network().written;
        written.participants.iter_mut().for_each(|it| it.judged = true);
        Script { written, at: Time::ZERO }
    }

    fn after_us(&mut self, us: u64) -> &mut Script {
        self.at += Span::from_us(us);
        self
    }

    fn wakes(&mut self, from: u32, to: u32, context: Context) -> &mut Script {
        self.written.say(self.at, CpuId(0), waking(to, Some(from), context));
        self.written.say(self.at, CpuId(0), wakeup(to));
        self
    }

    fn switches(&mut self, from: u32, off: Off, to: u32) -> &mut Script {
        self.written.say(self.at, CpuId(0), switch(Some(TaskId(from)), off, Some(TaskId(to))));
        self
    }

    /// Client 0 asks server 1, which answers 45 µs later and wakes it; it runs 50 µs after it asked.
    fn asks(&mut self, context: Context) {
        self.after_us(10).wakes(0, 1, context);
        self.after_us(5).switches(0, Off::Sleeping, 1);
        self.after_us(40).wakes(1, 0, context);
        self.after_us(5).switches(1, Off::Sleeping, 0);
    }

    fn requests(&self) -> Requests {
        recover(&self.written.history(), ReplayOptions::default()).requests
    }

    fn latencies_us(&self) -> Vec<u64> {
        self.requests().served(&self.written.records).iter().map(|it| it.latency.0 / 1000).collect()
    }
}

fn ten_requests(context: Context) -> Script {
    let mut script = Script::new(2);
    (0..10).for_each(|_| script.asks(context));
    script
}

#[test]
fn a_request_lasts_from_the_message_until_the_client_runs_again() {
    assert_eq!(ten_requests(Context::SoftIrq).latencies_us(), [50; 10]);
}

#[test]
fn a_recording_without_conversations_has_no_requests() {
    assert_eq!(ten_requests(Context::Task).requests().all, [], "a pipeline wakes to and fro as well");
    assert_eq!(ten_requests(Context::HardIrq).requests().all, []);
    let mut own = ten_requests(Context::SoftIrq);
    own.written.participants.iter_mut().for_each(|it| it.program = 0);
    assert_eq!(own.requests().all, [], "threads of one program");
    let mut others = ten_requests(Context::SoftIrq);
    others.written.participants[0].judged = false;
    assert_eq!(others.requests().all, [], "a client that is not judged");
}

#[test]
fn who_was_recorded_by_command_is_the_client_of_a_server_that_was_there_before() {
    let mut script = ten_requests(Context::SoftIrq);
    script.written.participants[0].role = Role::Selected;
    script.written.participants[1].role = Role::Command;
    let requests = script.requests();
    assert_eq!(requests.kinds[0].client.as_deref(), Some("t1"));
    assert_eq!(requests.all.len(), 9, "the tenth message of task 1 has no answer");
    script.written.participants[0].role = Role::Command;
    script.written.participants[1].role = Role::Selected;
    assert_eq!(script.requests().kinds[0].client.as_deref(), Some("t0"));
}

#[test]
fn of_two_that_were_there_before_the_one_with_the_higher_thread_id_is_the_client() {
    let mut script = ten_requests(Context::SoftIrq);
    let client = |script: &Script| script.requests().kinds[0].client.clone();
    assert_eq!(client(&script).as_deref(), Some("t0"));
    script.written.participants[1].pid = 1000;
    assert_eq!(client(&script).as_deref(), Some("t1"));
}

#[test]
fn a_message_to_a_busy_server_begins_its_request_when_the_client_goes_to_sleep() {
    let mut script = ten_requests(Context::SoftIrq);
    // Another client's message wakes the server; that of client 0 finds it awake.
    script.written.participants.push(Recorder::new(1, 3).of_network().written.participants[2].clone());
    script.written.participants[2].program = 0;
    script.written.participants[2].pid = 200;
    script.written.participants[2].judged = true;
    script.after_us(5).wakes(0, 2, Context::Task).switches(0, Off::Preempted, 2);
    script.after_us(10).wakes(2, 1, Context::SoftIrq).switches(2, Off::Sleeping, 0);
    script.after_us(7).switches(0, Off::Sleeping, 1);
    script.after_us(30).wakes(1, 2, Context::SoftIrq);
    script.after_us(30).wakes(1, 0, Context::SoftIrq);
    script.after_us(1).switches(1, Off::Sleeping, 2);
    script.after_us(1).switches(2, Off::Sleeping, 0);
    assert_eq!(script.latencies_us()[10..], [68, 62], "those of client 2 and client 0");
}

/// Requests from elsewhere to task 1, a server that was selected.
fn from_elsewhere(count: u32, mut serves: impl FnMut(&mut Script)) -> Script {
    let mut script = Script::new(3);
    script.written.participants[1].role = Role::Selected;
    script.written.participants[2].program = 2;
    for _ in 0..count {
        script.after_us(100);
        script.written.say(script.at, CpuId(0), waking(1, None, Context::SoftIrq));
        script.written.say(script.at, CpuId(0), wakeup(1));
        script.after_us(3);
        script.written.say(script.at, CpuId(0), switch(None, Off::Sleeping, Some(TaskId(1))));
        serves(&mut script);
        script.written.say(script.at, CpuId(0), switch(Some(TaskId(1)), Off::Sleeping, None));
    }
    script
}

fn serves_40_us(script: &mut Script) {
    script.after_us(40);
}

#[test]
fn a_request_from_elsewhere_lasts_from_the_interrupt_until_the_server_waits_again() {
    let mut script = from_elsewhere(40, serves_40_us);
    assert_eq!(script.latencies_us(), [43; 40]);
    assert_eq!(script.requests().kinds[0].client, None);
    let replay = Replay::new("written", recover(&script.written.history(), ReplayOptions::default()));
    let mut fifo = Reported::default();
    run::<Fifo>(&Machine::flat(1, 1000).expect("a machine"), &replay, 0, &mut fifo);
    assert!(fifo.0.len() >= 40 && fifo.0.iter().all(|it| *it == Span::from_us(40)), "{:?}", fifo.0);
    script.written.participants[1].role = Role::Command;
    assert_eq!(script.requests().all, [], "what a client waits for looks the same");
    assert_eq!(from_elsewhere(20, serves_40_us).requests().all, [], "too few to tell");
}

#[test]
fn a_request_from_elsewhere_goes_on_while_the_server_waits_for_another_task() {
    let asks_database = |script: &mut Script| {
        script.after_us(10).wakes(1, 2, Context::Task).switches(1, Off::Sleeping, 2);
        script.after_us(20).wakes(2, 1, Context::Task).switches(2, Off::Sleeping, 1);
        script.after_us(10);
    };
    assert_eq!(from_elsewhere(40, asks_database).latencies_us(), [43; 40]);
}

#[test]
fn a_replay_reports_the_requests_of_its_recording() {
    let mut script = ten_requests(Context::SoftIrq);
    script.after_us(10).switches(0, Off::Exited, 1);
    let recovered = recover(&script.written.history(), ReplayOptions::default());
    let machine = Machine::flat(1, 1000).expect("a machine");
    let replay = Replay::new("written", recovered);
    let (mut fifo, mut eevdf) = (Reported::default(), Reported::default());
    run::<Fifo>(&machine, &replay, 0, &mut fifo);
    run::<Eevdf>(&machine, &replay, 1, &mut eevdf);
    assert_eq!(fifo.0, [Span::from_us(50); 10]);
    assert_eq!(eevdf.0.len(), 10);
}

#[test]
fn more_connections_than_pairs_of_tasks_are_requests_at_once() {
    let script = ten_requests(Context::SoftIrq);
    let at_once = |client: u32, server: u32| {
        let mut history = script.written.history();
        let programs = [0, 1].map(|task| history.participants[task].program);
        history.connections = programs.into_iter().zip([client, server]).collect();
        let found = recover(&history, ReplayOptions::default()).requests.at_once;
        found.iter().map(|it| (it.connections, it.pairs)).collect::<Vec<_>>()
    };
    assert_eq!(at_once(3, 3), [(3, 1)], "three connections between one client and one task of the server");
    assert_eq!(at_once(1, 1), [], "each request is answered before the next");
    assert_eq!(at_once(3, 1), [], "two are not accepted yet, or are to another server");
    assert_eq!(script.requests().at_once, [], "a recording that does not count connections");
}
