//! Connections of recorded calls, and replays of event loops that wait for any of them.

use crate::ONCE;
use crate::recorder::{Recorder, Written, run, switch, waking};
use goodness_core::{CpuId, Event, Machine, Off, Registered, Rng, Seed, Span, TaskId, Time};
use goodness_policies::{eevdf::Eevdf, fifo::Fifo, rr::RoundRobin};
use goodness_replay::causes::Rule;
use goodness_replay::connections::{Connection, Traffic};
use goodness_replay::program::{Instruction, Op};
use goodness_replay::{Recovered, Replay, ReplayOptions, recover};
use goodness_trace::{Call, Context, SchedEvent};
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};

/// Bytes of a request and of its answer.
const BYTES: [i32; 2] = [74, 4420];

/// Clients with several connections each, and servers, all of them event loops.
#[derive(Clone, Copy, Debug)]
struct Load {
    clients: usize,
    servers: usize,
    /// Connections of each client. The n-th of all is to the server n modulo their number.
    connections: usize,
    /// Requests of each connection.
    rounds: usize,
    cpus: usize,
    /// True if clients read what is there before they write.
    together: bool,
}

const LOAD: Load = Load { clients: 2, servers: 2, connections: 4, rounds: 40, cpus: 2, together: true };

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Runnable,
    Runs,
    Sleeps,
    Ended,
}

/// A task, which does these things one by one.
#[derive(Clone, Debug)]
struct Loop {
    state: State,
    /// Connections with a message for it, and those to which it has to write.
    inbox: VecDeque<usize>,
    outbox: VecDeque<usize>,
    /// The call it is in, by connection, and whether its message has arrived.
    sends: Option<(usize, bool)>,
    reads: Option<usize>,
    /// Messages that it will still read.
    left: usize,
}

struct World {
    load: Load,
    written: Written,
    at: u64,
    tasks: Vec<Loop>,
    on_cpu: Vec<Option<usize>>,
    /// Requests sent on each connection.
    sent: Vec<usize>,
}

impl World {
    fn new(load: Load) -> World {
        let (all, tasks) = (load.clients * load.connections, load.clients + load.servers);
        let mut written = Recorder::new(load.cpus, tasks).written;
        let quiet = Loop {
            state: State::Runnable,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            sends: None,
            reads: None,
            left: 0,
        };
        let mut loops = vec![quiet; tasks];
        for (task, it) in written.participants.iter_mut().enumerate() {
            (it.program, it.judged) = (u32::from(task >= load.clients), true);
        }
        for connection in 0..all {
            let [client, server] = World::ends(load, connection).map(|(task, _)| task);
            loops[client].outbox.push_back(connection);
            loops[client].left += load.rounds;
            loops[server].left += load.rounds;
        }
        World { load, written, at: 0, tasks: loops, on_cpu: vec![None; load.cpus], sent: vec![0; all] }
    }

    /// Client and server of a connection, and their descriptors.
    fn ends(load: Load, connection: usize) -> [(usize, u32); 2] {
        let descriptor = [4 + connection % load.connections, 20 - connection];
        [
            (connection / load.connections, descriptor[0] as u32),
            (load.clients + connection % load.servers, descriptor[1] as u32),
        ]
    }

    fn end(&self, task: usize, connection: usize) -> usize {
        usize::from(task >= self.load.clients && World::ends(self.load, connection)[1].0 == task)
    }

    fn say(&mut self, takes: u64, cpu: usize, event: SchedEvent) {
        self.at += takes;
        self.written.say(Time(self.at), CpuId(cpu as u32), event);
    }

    fn call(&mut self, takes: u64, cpu: usize, call: Call) {
        let by = self.on_cpu[cpu].map(|it| TaskId(it as u32));
        self.say(takes, cpu, SchedEvent::Call { by, call });
    }

    /// Records `load`; `seed` decides who runs when and how long.
    fn record(load: Load, seed: u64) -> Written {
        let (mut world, mut rng) = (World::new(load), Seed(seed).rng());
        while world.tasks.iter().any(|it| it.state != State::Ended) {
            let cpu = rng.below(load.cpus as u64) as usize;
            match world.on_cpu[cpu] {
                None => world.pick(cpu, Off::Sleeping, &mut rng),
                Some(_) if rng.below(8) == 0 => world.pick(cpu, Off::Preempted, &mut rng),
                Some(task) => world.step(cpu, task, &mut rng),
            }
        }
        world.written
    }

    /// Another task gets the CPU, if one waits for it.
    fn pick(&mut self, cpu: usize, off: Off, rng: &mut Rng) {
        let waiting: Vec<usize> = (0..self.tasks.len()).filter(|it| self.tasks[*it].state == State::Runnable).collect();
        if waiting.is_empty() {
            return;
        }
        if let Some(before) = self.on_cpu[cpu] {
            self.tasks[before].state = State::Runnable;
        }
        self.switch(cpu, off, Some(waiting[rng.below(waiting.len() as u64) as usize]));
    }

    fn switch(&mut self, cpu: usize, off: Off, next: Option<usize>) {
        let id = |task: usize| TaskId(task as u32);
        let prev = std::mem::replace(&mut self.on_cpu[cpu], next);
        if let Some(next) = next {
            self.tasks[next].state = State::Runs;
        }
        self.say(50, cpu, switch(prev.map(id), off, next.map(id)));
    }

    fn leave(&mut self, cpu: usize, task: usize, state: State) {
        self.at += 20;
        self.tasks[task].state = state;
        self.switch(cpu, if state == State::Sleeps { Off::Sleeping } else { Off::Exited }, None);
    }

    /// `task` does the next thing.
    fn step(&mut self, cpu: usize, task: usize, rng: &mut Rng) {
        let gap = 100 + rng.below(400);
        let it = self.tasks[task].clone();
        if let Some((connection, has_arrived)) = it.sends {
            return if has_arrived { self.sent(cpu, task, connection) } else { self.deliver(cpu, task, connection) };
        }
        if let Some(connection) = it.reads {
            return self.has_read(cpu, task, connection);
        }
        let is_client = task < self.load.clients;
        let reads_first = is_client && self.load.together;
        let (read, write) = (it.inbox.front(), it.outbox.front());
        let begun =
            self.sent.iter().zip(0..).all(|(sent, place)| World::ends(self.load, place)[0].0 != task || *sent > 0);
        match (read, write) {
            (Some(&read), None) => self.read(gap, cpu, task, read),
            (Some(&read), Some(_)) if reads_first && begun => self.read(gap, cpu, task, read),
            (_, Some(&write)) => {
                let to = World::ends(self.load, write)[self.end(task, write)].1;
                self.tasks[task].outbox.pop_front();
                self.tasks[task].sends = Some((write, false));
                self.call(gap, cpu, Call::Send(to));
            }
            (None, None) => self.leave(cpu, task, if it.left > 0 { State::Sleeps } else { State::Ended }),
        }
    }

    fn read(&mut self, gap: u64, cpu: usize, task: usize, connection: usize) {
        let from = World::ends(self.load, connection)[self.end(task, connection)].1;
        self.tasks[task].inbox.pop_front();
        self.tasks[task].reads = Some(connection);
        self.call(gap, cpu, Call::Receive(from));
    }

    fn has_read(&mut self, cpu: usize, task: usize, connection: usize) {
        let is_client = task < self.load.clients;
        self.call(30, cpu, Call::Returned(BYTES[usize::from(is_client)]));
        self.tasks[task].reads = None;
        self.tasks[task].left -= 1;
        if !is_client || self.sent[connection] < self.load.rounds {
            self.tasks[task].outbox.push_back(connection);
        }
    }

    /// The message of `task` arrives, which wakes its receiver.
    fn deliver(&mut self, cpu: usize, task: usize, connection: usize) {
        let is_client = task < self.load.clients;
        let to = World::ends(self.load, connection)[usize::from(is_client)].0;
        self.sent[connection] += usize::from(is_client);
        self.tasks[task].sends = Some((connection, true));
        self.tasks[to].inbox.push_back(connection);
        self.at += 60;
        if self.tasks[to].state == State::Sleeps {
            self.tasks[to].state = State::Runnable;
            self.say(10, cpu, waking(to as u32, Some(task as u32), Context::SoftIrq));
        }
    }

    fn sent(&mut self, cpu: usize, task: usize, _: usize) {
        let is_client = task < self.load.clients;
        self.tasks[task].sends = None;
        self.call(40, cpu, Call::Returned(BYTES[usize::from(!is_client)]));
    }
}

fn connections(written: &Written) -> Vec<Connection> {
    let history = written.history();
    Traffic::of(&history, &Rule::new(&history, None), |_| true).connections(&history)
}

fn pairs(written: &Written) -> BTreeSet<[(usize, u32); 2]> {
    let ends = |it: Connection| it.ends.map(|(task, descriptor)| (task.index(), descriptor));
    connections(written).into_iter().map(ends).collect()
}

fn all_of(load: Load) -> BTreeSet<[(usize, u32); 2]> {
    (0..load.clients * load.connections).map(|it| World::ends(load, it)).collect()
}

/// Exchanges two descriptors of a task in its calls from the record `from` on.
fn exchange(written: &mut Written, task: usize, (one, other): (u32, u32), from: usize) {
    let exchanged = |it: u32| match it {
        it if it == one => other,
        it if it == other => one,
        it => it,
    };
    for record in &mut written.records[from..] {
        if let SchedEvent::Call { by, call } = &mut record.event
            && *by == Some(TaskId(task as u32))
        {
            match call {
                Call::Send(it) | Call::Receive(it) => *it = exchanged(*it),
                Call::Returned(_) => {}
            }
        }
    }
}

#[test]
fn descriptors_of_both_ends_are_found_whatever_their_numbers() {
    for seed in 0..8 {
        let written = World::record(LOAD, seed);
        assert_eq!(pairs(&written), all_of(LOAD));
        let received = connections(&written).into_iter().flat_map(|it| it.received);
        assert!(received.into_iter().all(|it| it.len() == LOAD.rounds));
    }
}

#[test]
fn descriptors_exchanged_in_the_middle_are_rejected_and_the_others_are_found() {
    let mut written = World::record(LOAD, 1);
    let middle = written.records.len() / 2;
    let [(_, _), (server, one)] = World::ends(LOAD, 0);
    let other = World::ends(LOAD, 2)[1].1;
    exchange(&mut written, server, (one, other), middle);
    let right: BTreeSet<_> = all_of(LOAD).into_iter().filter(|it| it[1].1 != one && it[1].1 != other).collect();
    assert_eq!(pairs(&written), right);
}

#[test]
fn descriptors_exchanged_from_the_beginning_are_only_other_names() {
    let mut written = World::record(LOAD, 1);
    exchange(&mut written, LOAD.clients, (20, 18), 0);
    let named = |[client, (server, descriptor)]: [(usize, u32); 2]| match descriptor {
        20 => [client, (server, 18)],
        18 => [client, (server, 20)],
        _ => [client, (server, descriptor)],
    };
    assert_eq!(pairs(&written), all_of(LOAD).into_iter().map(named).collect());
}

/// A client that sends on two descriptors, then a server that reads both and answers both. With `sleeps`, the client
/// sleeps after it has read the first answer, before the second is sent.
fn in_step(sleeps: bool) -> Written {
    let mut world = World::new(Load { clients: 1, servers: 1, connections: 2, rounds: 0, cpus: 1, together: true });
    let (client, server, mut task) = (Some(0), Some(1), None);
    let mut does = |world: &mut World, by: Option<usize>, call: Call, bytes: usize| {
        if task != by {
            world.switch(0, Off::Sleeping, by);
            task = by;
        }
        world.call(100, 0, call);
        if matches!(call, Call::Send(_)) {
            let woken = 1 - by.expect("a task") as u32;
            world.say(10, 0, waking(woken, Some(1 - woken), Context::SoftIrq));
        }
        world.call(100, 0, Call::Returned(BYTES[bytes]));
    };
    for _ in 0..20 {
        for descriptor in [4, 5] {
            does(&mut world, client, Call::Send(descriptor), 0);
        }
        for descriptor in [8, 9] {
            does(&mut world, server, Call::Receive(descriptor), 0);
        }
        for (to, from) in [(8, 4), (9, 5)] {
            does(&mut world, server, Call::Send(to), 1);
            if sleeps {
                does(&mut world, client, Call::Receive(from), 1);
            }
        }
        for descriptor in [4, 5].into_iter().filter(|_| !sleeps) {
            does(&mut world, client, Call::Receive(descriptor), 1);
        }
    }
    world.written
}

#[test]
fn connections_whose_bytes_and_sleeps_do_not_tell_them_apart_stay_undecided() {
    assert_eq!(connections(&in_step(false)), []);
    assert_eq!(recover(&in_step(false).history(), ONCE).rounds.rounds(), 0, "and begin no turn");
    assert_eq!(pairs(&in_step(true)), BTreeSet::from([[(0, 4), (1, 8)], [(0, 5), (1, 9)]]));
}

#[test]
fn what_a_descriptor_received_before_the_first_message_is_of_another_file() {
    let mut written = World::record(LOAD, 1);
    let mut first = written.records[0];
    let file = [Call::Receive(4), Call::Returned(832)];
    let calls = file.map(|call| {
        first.event = SchedEvent::Call { by: Some(TaskId(0)), call };
        first
    });
    let place =
        written.records.iter().position(|it| matches!(it.event, SchedEvent::Switch { next: Some(TaskId(0)), .. }));
    let place = place.expect("it runs") + 1;
    let (at, cpu) = (written.records[place - 1].at, written.records[place - 1].cpu);
    written.records.splice(place..place, calls.map(|it| goodness_trace::Record { at, cpu, ..it }));
    assert_eq!(pairs(&written), all_of(LOAD));
}

#[test]
fn requests_at_once_are_told_apart_if_all_connections_are_matched() {
    let mut written = World::record(LOAD, 1);
    let at_once = |written: &Written| {
        let mut history = written.history();
        history.connections = [(0, 8), (1, 8)].into();
        recover(&history, ONCE).requests.at_once.len()
    };
    assert_eq!(at_once(&written), 0);
    let middle = written.records.len() / 2;
    exchange(&mut written, LOAD.clients, (20, 18), middle);
    assert_eq!(at_once(&written), 1, "two connections are not");
}

/// Times at which tasks ended in a replay, by their places, and how often each was switched in.
fn replayed<P: Registered>(mut recovered: Recovered, cpus: u32) -> (Vec<Option<Time>>, Vec<u32>) {
    let tasks = recovered.tasks.len();
    for task in &mut recovered.tasks {
        task.cpu = task.cpu.min(CpuId(cpus - 1));
    }
    let mut seen: Vec<(Time, Event)> = Vec::new();
    run::<P>(&Machine::flat(cpus, 1000).expect("a machine"), &Replay::new("x", recovered), 0, &mut seen);
    let (mut ended, mut comes) = (vec![None; tasks], vec![0; tasks]);
    for (at, event) in seen {
        if let Event::Switch { prev, off, next, .. } = event {
            if let Some(prev) = prev.filter(|_| off == Off::Exited) {
                ended[prev.index()] = Some(at);
            }
            if let Some(next) = next {
                comes[next.index()] += 1;
            }
        }
    }
    (ended, comes)
}

#[test]
fn a_loop_follows_its_messages_and_not_the_recorded_order() {
    // One client of each server is late; the other's requests do not wait for it.
    let load = Load { clients: 2, servers: 1, connections: 2, rounds: 50, cpus: 3, together: false };
    let written = World::record(load, 3);
    assert_eq!(pairs(&written), all_of(load));
    let delayed = |mut recovered: Recovered| {
        let mut ops = recovered.tasks[0].ops.to_vec();
        assert!(matches!(ops[0].instruction(), Instruction::Run(_)));
        ops[0] = Op::new(Instruction::Run(Span::from_ms(50)));
        recovered.tasks[0].ops = ops.into();
        replayed::<Fifo>(recovered, 3).0[1].expect("it ends")
    };
    assert!(delayed(recover(&written.history(), ONCE)) < Time::ZERO + Span::from_ms(10));
    let is_call = |it: &goodness_trace::Record| matches!(it.event, SchedEvent::Call { .. });
    let mut without = World::record(load, 3);
    without.records.retain(|it| !is_call(it));
    assert!(delayed(recover(&without.history(), ONCE)) > Time::ZERO + Span::from_ms(50), "by wakings it does");
}

#[test]
fn what_comes_while_a_loop_is_busy_queues_and_wakes_nobody() {
    // Recorded on two CPUs; on one, first come, first served, each handles all that is there before the other runs.
    let load = Load { clients: 1, servers: 1, connections: 4, rounds: 50, cpus: 2, together: true };
    let written = World::record(load, 5);
    let recovered = recover(&written.history(), ONCE);
    assert_eq!(recovered.rounds.rounds(), 2);
    assert!(recovered.unknowns.unseen_messages > 50, "{}", recovered.unknowns.unseen_messages);
    let (ended, comes) = replayed::<Fifo>(recovered, 1);
    assert!(ended.iter().all(Option::is_some));
    assert!(comes.iter().all(|it| (50..=52).contains(it)), "{comes:?}");
}

#[test]
fn a_loop_that_reads_together_answers_after_it_has_read_all_and_keeps_each_answer_with_its_connection() {
    let load = Load { clients: 1, servers: 1, connections: 4, rounds: 50, cpus: 2, together: true };
    let programme = |together| {
        let recovered = recover(&World::record(Load { together, ..load }, 5).history(), ONCE);
        recovered.tasks[0].ops.iter().map(|op| op.instruction()).collect::<Vec<Instruction>>()
    };
    let (divided, whole) = (programme(true), programme(false));
    let parts = |ops: &[Instruction]| ops.iter().filter(|it| matches!(it, Instruction::HasRead(_))).count();
    assert_eq!((parts(&divided), parts(&whole)), (4 * 49, 0));
    let turns: Vec<&[Instruction]> = divided.split(|it| matches!(it, Instruction::BeginTurn(_))).collect();
    let answers = |ops: &[Instruction]| ops.iter().filter(|it| matches!(it, Instruction::Answer(_))).count();
    assert!(turns[1..].iter().all(|turn| answers(turn) == parts(turn)), "one message for each that was read");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_connection_is_wrong_and_no_policy_deadlocks_turns(
        (clients, servers, connections) in (1..4_usize, 1..3_usize, 1..5_usize),
        (rounds, cpus, together) in (1..30_usize, 1..4_usize, any::<bool>()),
        seed in any::<u64>(),
    ) {
        let load = Load { clients, servers, connections, rounds, cpus, together };
        let written = World::record(load, seed);
        prop_assert!(pairs(&written).is_subset(&all_of(load)));
        let recovered = || recover(&written.history(), ONCE);
        let all_end = |(ended, _): (Vec<Option<Time>>, Vec<u32>)| ended.iter().all(Option::is_some);
        prop_assert!(all_end(replayed::<Fifo>(recovered(), 1)));
        prop_assert!(all_end(replayed::<RoundRobin>(recovered(), 2)));
        prop_assert!(all_end(replayed::<Eevdf>(recovered(), 1)));
        // Cut off in the middle, so that tasks start over.
        let mut cut = Written { cpus, participants: written.participants.clone(), ..Written::default() };
        cut.records = written.records[..written.records.len() * 2 / 3].to_vec();
        replayed::<Eevdf>(recover(&cut.history(), ReplayOptions::default()), 1);
    }
}
