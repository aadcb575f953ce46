//! Locks that servers hand to each other, in written recordings.

use super::recorder::{Recorder, Written, instructions, switch, wakeup, waking};
use goodness_core::{CpuId, Off, Span, TaskId, Time};
use goodness_replay::program::Instruction;
use goodness_replay::{ReplayOptions, recover};
use goodness_trace::Context;

/// Client 0, and servers 1 and 2 of another program, on one CPU.
struct Script {
    written: Written,
    at: Time,
}

impl Script {
    /// Both servers have answered the client this often and wait for it.
    fn new(times: usize) -> Script {
        let mut script = Script { written: Recorder::new(1, 3).of_network().written, at: Time::ZERO };
        for server in [1, 2].repeat(times) {
            script.wakes(0, server);
            script.switches(0, Off::Sleeping, server);
            script.wakes(server, 0);
            script.switches(server, Off::Sleeping, 0);
        }
        script
    }

    fn wakes(&mut self, from: u32, to: u32) {
        self.at += Span::from_us(10);
        self.written.say(self.at, CpuId(0), waking(to, Some(from), Context::Task));
        self.written.say(self.at, CpuId(0), wakeup(to));
    }

    fn switches(&mut self, from: u32, off: Off, to: u32) {
        self.at += Span::from_us(10);
        self.written.say(self.at, CpuId(0), switch(Some(TaskId(from)), off, Some(TaskId(to))));
    }

    /// Server 1 sleeps until server 2 wakes it, in the middle of requests of its own if the client has asked `server`.
    fn with_waiter_asked_by(mut self, server: u32) -> Vec<Vec<Instruction>> {
        self.wakes(0, 2);
        self.wakes(0, server);
        self.switches(0, Off::Sleeping, 2);
        self.switches(2, Off::Preempted, 1);
        self.switches(1, Off::Sleeping, 2);
        self.wakes(2, 1);
        self.switches(2, Off::Sleeping, 1);
        self.switches(1, Off::Sleeping, 0);
        let recovered = recover(&self.written.history(), ReplayOptions::default());
        ["t1", "t2"].map(|name| instructions(&recovered, name)).to_vec()
    }
}

#[test]
fn a_waiter_waits_for_a_holder_that_has_begun_its_request() {
    let found = Script::new(20).with_waiter_asked_by(1);
    let waits = |it: &Instruction| matches!(it, Instruction::WaitHeld(_));
    assert_eq!(found[0].iter().filter(|it| waits(it)).count(), 1, "{:?}", found[0]);
    assert!(found[1].contains(&Instruction::Cycle(19)), "{:?}", found[1]);
    assert!(!found[1].iter().any(waits), "{:?}", found[1]);
}

#[test]
fn a_task_without_a_request_of_its_own_waits_for_a_message() {
    let mut script = Script::new(20);
    // Server 1 is woken for something else than a request, and waits again.
    script.written.say(script.at, CpuId(0), waking(1, None, Context::HardIrq));
    script.written.say(script.at, CpuId(0), wakeup(1));
    let found = script.with_waiter_asked_by(2);
    assert!(!found.iter().flatten().any(is_of_lock), "{found:?}");
}

#[test]
fn a_lock_that_is_often_taken_keeps_its_order() {
    let found = Script::new(2).with_waiter_asked_by(1);
    assert!(!found.iter().flatten().any(is_of_lock), "{found:?}");
}

fn is_of_lock(it: &Instruction) -> bool {
    matches!(it, Instruction::WaitHeld(_) | Instruction::Cycle(_))
}
