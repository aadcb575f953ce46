//! Locks that servers hand to each other, in written recordings.

use super::recorder::{Recorder, Written, instructions, switch, wakeup, waking};
use goodness_core::{Channel, CpuId, Off, Seed, Span, Step, StepContext, TaskId, Time, Workload, WorkloadSource};
use goodness_replay::open_end::GoesOn;
use goodness_replay::program::{Instruction, Op};
use goodness_replay::{Recovered, Replay, ReplayOptions, recover};
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
    fn with_waiter_asked_by(self, server: u32) -> Vec<Vec<Instruction>> {
        let recovered = self.recovered(server);
        ["t1", "t2"].map(|name| instructions(&recovered, name)).to_vec()
    }

    fn recovered(mut self, server: u32) -> Recovered {
        self.wakes(0, 2);
        self.wakes(0, server);
        self.switches(0, Off::Sleeping, 2);
        self.switches(2, Off::Preempted, 1);
        self.switches(1, Off::Sleeping, 2);
        self.wakes(2, 1);
        self.switches(2, Off::Sleeping, 1);
        self.switches(1, Off::Sleeping, 0);
        recover(&self.written.history(), ReplayOptions::default())
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

/// Takes the next `count` steps of `task`.
fn steps(work: &mut Workload, task: TaskId, count: usize) -> Vec<Step> {
    let (behaviour, mut rng) = (&mut work.tasks[task.index()].behaviour, Seed(1).rng());
    (0..count).map(|_| behaviour.next(&mut StepContext { now: Time::ZERO, task, rng: &mut rng })).collect()
}

#[test]
fn a_late_holder_leaves_no_signal_for_the_next_lap() {
    let mut recovered = Script::new(20).recovered(1);
    let (edge, held) = recovered.holders.iter().next().map(|(edge, it)| (*edge, *it)).expect("a lock");
    let at = recovered.tasks.iter().position(|it| it.participant.name == "t1").expect("the waiter");
    let (waiter, holder) = (TaskId(at as u32), held.task);
    use Instruction::{Cut, Cycle, Post, Run, WaitHeld};
    let ops = |it: &[Instruction]| it.iter().map(|it| Op::new(*it)).collect();
    recovered.tasks[waiter.index()].ops = ops(&[WaitHeld(edge), Run(Span(1)), Cut]);
    recovered.tasks[holder.index()].ops = ops(&[Run(Span(2)), Cycle(held.cycle), Post(edge), Run(Span(3)), Cut]);
    recovered.going_on.fill(GoesOn::Itself);
    let mut work = Replay::new("locks", recovered).build(Seed(1), 0);
    let ran = |ns| Step::Compute(Span(ns));
    assert_eq!(steps(&mut work, waiter, 1), [ran(1)], "the holder has not begun");
    assert_eq!(steps(&mut work, holder, 3), [2, 3, 2].map(ran), "it signals nobody");
    assert_eq!(steps(&mut work, holder, 1), [Step::Wake(Channel(edge))], "in the second lap it does");
    assert_eq!(steps(&mut work, waiter, 2), [Step::Wait(Channel(edge)), ran(1)]);
}

fn is_of_lock(it: &Instruction) -> bool {
    matches!(it, Instruction::WaitHeld(_) | Instruction::Cycle(_))
}
