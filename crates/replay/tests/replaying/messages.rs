//! Messages of recorded calls: what their conduits hold, how often a replay switches, and that none deadlocks.

use crate::recorder::{Recorder, Written, run, switch, waking};
use crate::{ONCE, us};
use goodness_core::{CpuId, Event, Machine, Off, Registered, Rng, Seed, TaskId, Time};
use goodness_policies::{eevdf::Eevdf, fifo::Fifo, rr::RoundRobin};
use goodness_replay::conduits::Conduit;
use goodness_replay::program::Instruction;
use goodness_replay::{Recovered, Replay, ReplayOptions, recover};
use goodness_trace::{Call, Context, Record, SchedEvent};
use proptest::prelude::*;
use std::collections::VecDeque;

/// Bytes of a message.
const BYTES: u32 = 100;

/// Senders that write to all receivers in turn, on one CPU, by the rules of a kernel.
#[derive(Clone, Copy, Debug)]
struct Load {
    senders: usize,
    receivers: usize,
    /// Messages of each sender to each receiver.
    messages: usize,
    /// Messages that fit, and those left when senders are woken.
    capacity: usize,
    low: usize,
    wakes_all: bool,
    /// Most calls before another task runs.
    calls: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Runnable,
    Waits,
    Ended,
}

struct Kernel {
    load: Load,
    written: Written,
    at: u64,
    state: Vec<State>,
    /// True between the begin and the end of a task's call.
    in_call: Vec<bool>,
    done: Vec<usize>,
    held: Vec<usize>,
    waiting: Vec<VecDeque<usize>>,
    /// Senders that were woken and have not gone on.
    woken: Vec<usize>,
}

impl Kernel {
    fn new(load: Load) -> Kernel {
        let tasks = load.senders + load.receivers;
        Kernel {
            load,
            written: Recorder::new(1, tasks).written,
            at: 0,
            state: vec![State::Runnable; tasks],
            in_call: vec![false; tasks],
            done: vec![0; tasks],
            held: vec![0; load.receivers],
            waiting: vec![VecDeque::new(); load.receivers],
            woken: vec![0; load.receivers],
        }
    }

    fn say(&mut self, takes: u64, event: SchedEvent) {
        self.at += takes;
        self.written.say(Time(self.at), CpuId(0), event);
    }

    fn call(&mut self, takes: u64, by: usize, call: Call) {
        self.say(takes, SchedEvent::Call { by: Some(TaskId(by as u32)), call });
    }

    fn wake(&mut self, task: usize, by: usize) {
        self.state[task] = State::Runnable;
        self.say(10, waking(task as u32, Some(by as u32), Context::Task));
    }

    fn wake_sender(&mut self, receiver: usize, by: usize) {
        if let Some(sender) = self.waiting[receiver].pop_front() {
            self.woken[receiver] += 1;
            self.wake(sender, by);
        }
    }

    /// Records `load`; `seed` decides who runs when and how long.
    fn record(load: Load, seed: u64) -> Written {
        let (mut kernel, mut rng) = (Kernel::new(load), Seed(seed).rng());
        let (mut last, mut off) = (None, Off::Preempted);
        while let Some(task) = kernel.choose(&mut rng, last) {
            let next = Some(TaskId(task as u32));
            kernel.say(50, switch(last.map(|it: usize| TaskId(it as u32)), off, next));
            kernel.work(task, &mut rng);
            last = Some(task);
            off = match kernel.state[task] {
                State::Runnable => Off::Preempted,
                State::Waits => Off::Sleeping,
                State::Ended => Off::Exited,
            };
        }
        kernel.say(50, switch(last.map(|it| TaskId(it as u32)), off, None));
        kernel.written
    }

    fn choose(&self, rng: &mut Rng, last: Option<usize>) -> Option<usize> {
        let runnable = || (0..self.state.len()).filter(|it| self.state[*it] == State::Runnable);
        let others: Vec<usize> = runnable().filter(|it| Some(*it) != last).collect();
        if others.is_empty() {
            return runnable().next().filter(|it| Some(*it) != last);
        }
        Some(others[rng.below(others.len() as u64) as usize])
    }

    fn work(&mut self, task: usize, rng: &mut Rng) {
        for _ in 0..1 + rng.below(self.load.calls) {
            if self.state[task] != State::Runnable {
                return;
            }
            let gap = 200 + rng.below(800);
            if task < self.load.senders { self.send(task, gap) } else { self.receive(task, gap) }
        }
        // Nobody else is there to run.
        while self.state[task] == State::Runnable
            && (0..self.state.len()).all(|it| it == task || self.state[it] != State::Runnable)
        {
            if task < self.load.senders { self.send(task, 300) } else { self.receive(task, 300) }
        }
    }

    fn send(&mut self, task: usize, gap: u64) {
        let receiver = self.done[task] % self.load.receivers;
        let was_woken = self.in_call[task];
        if was_woken {
            self.woken[receiver] -= 1;
        } else {
            self.call(gap, task, Call::Send(10 + receiver as u32));
        }
        self.in_call[task] = self.held[receiver] >= self.load.capacity;
        if self.in_call[task] {
            self.waiting[receiver].push_back(task);
            self.state[task] = State::Waits;
            return;
        }
        self.held[receiver] += 1;
        let reader = self.load.senders + receiver;
        if self.state[reader] == State::Waits {
            self.wake(reader, task);
        }
        if was_woken && !self.load.wakes_all && self.held[receiver] < self.load.capacity {
            self.wake_sender(receiver, task);
        }
        self.end_call(task, self.load.messages * self.load.receivers);
    }

    fn receive(&mut self, task: usize, gap: u64) {
        let receiver = task - self.load.senders;
        if !self.in_call[task] {
            self.call(gap, task, Call::Receive(3));
        }
        self.in_call[task] = self.held[receiver] == 0;
        if self.in_call[task] {
            self.state[task] = State::Waits;
            return;
        }
        self.held[receiver] -= 1;
        if self.held[receiver] <= self.load.low && (self.load.wakes_all || self.woken[receiver] == 0) {
            self.wake_sender(receiver, task);
            while self.load.wakes_all && !self.waiting[receiver].is_empty() {
                self.wake_sender(receiver, task);
            }
        }
        self.end_call(task, self.load.messages * self.load.senders);
    }

    fn end_call(&mut self, task: usize, all: usize) {
        self.call(300, task, Call::Returned(BYTES as i32));
        self.done[task] += 1;
        if self.done[task] == all {
            self.at += 100;
            self.state[task] = State::Ended;
        }
    }
}

const SOCKETS: Load =
    Load { senders: 4, receivers: 3, messages: 300, capacity: 40, low: 10, wakes_all: true, calls: 90 };

/// Switches of a replay, and the tasks that ended.
fn replayed<P: Registered>(recovered: Recovered) -> (usize, usize) {
    let mut seen: Vec<(Time, Event)> = Vec::new();
    run::<P>(&Machine::flat(1, 1000).expect("a machine"), &Replay::new("x", recovered), 0, &mut seen);
    let left = |is: &dyn Fn(Off) -> bool| {
        seen.iter().filter(|(_, e)| matches!(e, Event::Switch { prev: Some(_), off, .. } if is(*off))).count()
    };
    (left(&|_| true), left(&|off| off == Off::Exited))
}

fn without_calls(written: &Written) -> Written {
    let is_call = |record: &&Record| matches!(record.event, SchedEvent::Call { .. });
    let records = written.records.iter().filter(|record| !is_call(record)).copied().collect();
    Written { records, participants: written.participants.clone(), ..Written { cpus: 1, ..Written::default() } }
}

#[test]
fn buffers_come_back_with_their_capacity_and_with_when_they_wake_senders() {
    for (load, all) in [(SOCKETS, true), (Load { low: 36, wakes_all: false, ..SOCKETS }, false)] {
        let recovered = recover(&Kernel::record(load, 1).history(), ONCE);
        let conduit = |receiver| Conduit {
            receiver: TaskId(receiver),
            capacity: 4000,
            low: load.low as u64 * 100,
            wakes_all: all,
            is_cut_off: true,
        };
        assert_eq!(recovered.conduits[..], [4, 5, 6].map(conduit));
        assert!(recovered.unknowns.unseen_messages > 3000, "{}", recovered.unknowns.unseen_messages);
    }
}

#[test]
fn a_replay_with_messages_switches_as_the_recorded_kernel_and_without_them_less() {
    // First come, first served, as the recorded kernel would have done it.
    let written = Kernel::record(SOCKETS, 1);
    let first = |written: &Written| replayed::<Fifo>(recover(&written.history(), ONCE));
    let ((with, ended), (without, _)) = (first(&written), first(&without_calls(&written)));
    assert_eq!(ended, 7);
    // 3600 messages, of which 40 fit each buffer: no task goes on for more than a buffer of each receiver.
    let fewest = 2 * 3600 / (3 * 40);
    assert!(with >= fewest, "{with} of {fewest}");
    assert!(without * 4 < with * 3, "without the calls {without} of {with}");
}

#[test]
fn a_descriptor_that_was_another_file_before_does_not_mislead() {
    let mut written = Kernel::record(SOCKETS, 1);
    let reader = Some(TaskId(4));
    let first = written.records.iter().position(|it| matches!(it.event, SchedEvent::Call { by, .. } if by == reader));
    let (place, at) = first.map(|place| (place, written.records[place].at)).expect("it receives");
    let before = [Call::Receive(3), Call::Returned(832)].map(|call| Record {
        at,
        event: SchedEvent::Call { by: reader, call },
        ..written.records[place]
    });
    written.records.splice(place..place, before);
    let recovered = recover(&written.history(), ONCE);
    assert_eq!(recovered.conduits.len(), 3);
    let received = recovered.tasks[4].ops.iter().map(|op| match op.instruction() {
        Instruction::Receive(_, bytes) => u64::from(bytes),
        _ => 0,
    });
    assert_eq!(received.sum::<u64>(), 120_000, "its messages, and nothing of the file");
    assert_eq!(replayed::<Fifo>(recovered).1, 7);
}

#[test]
fn calls_that_wake_and_wait_cost_what_they_did() {
    let recovered = recover(&Kernel::record(SOCKETS, 1).history(), ONCE);
    // The recorded kernel takes 10 ns for a waking, and as long for a wait as for none, but for the switch.
    assert_eq!(recovered.transfer_costs.wake, goodness_core::Span(10));
    assert!(recovered.transfer_costs.wait < us(1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_policy_deadlocks_messages(
        (senders, receivers, messages) in (1..5_usize, 1..4_usize, 1..60_usize),
        (capacity, low, wakes_all) in (1..30_usize, 0..30_usize, any::<bool>()),
        (calls, seed) in (1..60_u64, any::<u64>()),
    ) {
        let load = Load { senders, receivers, messages, capacity, low: low.min(capacity - 1), wakes_all, calls };
        let written = Kernel::record(load, seed);
        let recovered = || recover(&written.history(), ONCE);
        let all = senders + receivers;
        prop_assert_eq!(replayed::<Fifo>(recovered()).1, all);
        prop_assert_eq!(replayed::<RoundRobin>(recovered()).1, all);
        prop_assert_eq!(replayed::<Eevdf>(recovered()).1, all);
        // Cut off in the middle, so that tasks start over.
        let mut cut = Written { cpus: 1, participants: written.participants.clone(), ..Written::default() };
        cut.records = written.records[..written.records.len() * 2 / 3].to_vec();
        let open = recover(&cut.history(), ReplayOptions::default());
        let ended = replayed::<Eevdf>(open).1;
        prop_assert!(ended < all);
    }
}
