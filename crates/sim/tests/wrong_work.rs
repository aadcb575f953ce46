//! Work that does what it may not: the run ends, names the task and says what is wrong.

mod lab;

use goodness_core::*;
use goodness_policies::fifo::Fifo;
use goodness_sim::{Blame, Options, simulate};
use lab::{MS, task};

const NO_CHANNEL: Channel = Channel(1);
const NO_LOCK: LockId = LockId(1);

/// What is said of a task that takes one step of its own after a millisecond, on a machine with one CPU, one channel,
/// one lock and the group of all; with its number.
fn said(step: Step) -> Option<(Option<TaskId>, String)> {
    let honest = task(&[Step::Compute(MS(3))]);
    let odd = task(&[Step::Compute(MS(1)), step]);
    let work = Workload {
        tasks: vec![honest, odd],
        channels: vec![ChannelKind::Semaphore],
        locks: vec![LockKind::Normal],
        horizon: Some(Time::ZERO + MS(20)),
        ..Workload::default()
    };
    let machine = Machine::flat(1, 250).expect("a machine");
    let end = simulate::<Fifo>(&machine, Default::default(), work, &mut (), Options::default());
    end.err().map(|fault| {
        assert_eq!(fault.blame, Blame::Workload, "{fault}");
        (fault.task, fault.sentence)
    })
}

#[test]
fn a_task_that_uses_what_is_not_there_ends_the_run_and_is_named() {
    let no_channel = "used channel 1, which the workload does not have";
    let no_lock = "used lock 1, which the workload does not have";
    for (step, expected) in [
        (Step::Wait(NO_CHANNEL), no_channel),
        (Step::WaitUninterruptible(NO_CHANNEL), no_channel),
        (Step::Wake(NO_CHANNEL), no_channel),
        (Step::WakeSync(NO_CHANNEL), no_channel),
        (Step::WakeAll(NO_CHANNEL), no_channel),
        (Step::Interrupt(NO_CHANNEL), no_channel),
        (Step::Lock(NO_LOCK), no_lock),
        (Step::LockShared(NO_LOCK), no_lock),
        (Step::Unlock(NO_LOCK), no_lock),
        (Step::WaitUnlocked(Channel(0), NO_LOCK), no_lock),
        (Step::Unlock(LockId(0)), "released lock 0, which it does not hold"),
        (Step::Fork(BehaviourId(7)), "forked task 7, which is not there to be forked or was forked before"),
        (Step::Fork(BehaviourId(0)), "forked task 0, which is not there to be forked or was forked before"),
        (Step::SetGroup(GroupId(1)), "asked for a group that does not exist"),
        (Step::SetAffinity(CpuSet::Small(2)), "asked for an affinity without any CPU of this machine"),
    ] {
        let told = format!("{step:?}");
        assert_eq!(said(step), Some((Some(TaskId(1)), expected.into())), "{told}");
    }
}

/// The control: what is there may be used.
#[test]
fn a_task_that_uses_what_is_there_is_not_at_fault() {
    let here = Channel(0);
    let waits = [Step::Wait(here), Step::WaitUninterruptible(here)];
    let wakes = [Step::Wake(here), Step::WakeSync(here), Step::WakeAll(here), Step::Interrupt(here)];
    let others = [Step::Lock(LockId(0)), Step::SetGroup(GroupId::ROOT), Step::SetAffinity(CpuSet::Small(1))];
    for step in waits.into_iter().chain(wakes).chain(others) {
        assert_eq!(said(step), None);
    }
}
