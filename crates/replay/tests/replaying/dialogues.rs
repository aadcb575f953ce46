//! Replies that leave no trace where two tasks take turns.

use crate::recorder::{Recorder, Written, run, switch, wakeup, waking};
use crate::{ONCE, wake_ups};
use goodness_core::{CpuId, Event, Machine, Off, TaskId, Time};
use goodness_policies::fifo::Fifo;
use goodness_replay::{Replay, recover};
use goodness_trace::Context;

/// One CPU. Task 0 asks task 1 forty times. Every second time it sleeps until the answer; otherwise the answer is there
/// before it looks, and nothing shows it. `distracts`: it wakes task 2 before each answer.
fn asks_and_answers(distracts: bool) -> Written {
    let mut written = Recorder::new(1, 3).written;
    let mut say = |at: u64, event| written.say(Time(at * 1000), CpuId(0), event);
    let switch = |prev: u32, off, next: u32| switch(Some(TaskId(prev)), off, Some(TaskId(next)));
    say(0, switch(1, Off::Sleeping, 2));
    say(5, switch(2, Off::Sleeping, 0));
    for k in 0..40 {
        let at = 100 + 300 * k;
        say(at, waking(1, Some(0), Context::Task));
        say(at + 1, wakeup(1));
        if distracts {
            say(at + 2, waking(2, Some(0), Context::Task));
            say(at + 3, wakeup(2));
        }
        let sleeps = k % 2 == 0;
        say(at + 10, switch(0, if sleeps { Off::Sleeping } else { Off::Preempted }, 1));
        if sleeps {
            say(at + 100, waking(0, Some(1), Context::Task));
            say(at + 101, wakeup(0));
        }
        say(at + 110, switch(1, Off::Sleeping, if distracts { 2 } else { 0 }));
        if distracts {
            say(at + 120, switch(2, Off::Sleeping, 0));
        }
    }
    written
}

#[test]
fn who_takes_turns_also_waits_for_the_answers_that_it_was_too_late_to_sleep_for() {
    let recovered = recover(&asks_and_answers(false).history(), ONCE);
    assert_eq!(recovered.unknowns.inferred_answers, 20, "every second answer was there before anyone slept");
    let machine = Machine::flat(1, 1000).expect("a machine");
    let mut seen: Vec<(Time, Event)> = Vec::new();
    // First come, first served lets the one who asks run on until it waits.
    run::<Fifo>(&machine, &Replay::new("x", recovered), 0, &mut seen);
    assert!(wake_ups(&seen, 1).len() >= 40, "all but perhaps the first question find the other at rest");
}

#[test]
fn who_wakes_others_meanwhile_is_in_no_dialogue() {
    assert_eq!(recover(&asks_and_answers(true).history(), ONCE).unknowns.inferred_answers, 0);
}
