//! Outsiders, such as clients. They use no CPU, so policies and observers do not see them; their wakes are interrupts.
//! At one instant they act after the events that reached them, in that order.

use super::Host;
use crate::calendar::Entry;
use crate::calendar::class;
use crate::places::Waiting;
use goodness_core::{Behaviour, Channel, Outsider, Rng, Seed, Step, StepContext, TaskId, Time};

/// Most consecutive steps without time before an outsider counts as stuck.
const IDLE_STEPS: u32 = 100_000;

/// State of one outsider.
struct Actor {
    name: String,
    behaviour: Box<dyn Behaviour>,
    rng: Rng,
}

/// All outsiders. In channels they are numbered after the last task.
#[derive(Default)]
pub struct Outside {
    actors: Vec<Actor>,
    /// Outsiders to run at this instant.
    roused: Vec<u32>,
}

impl Outside {
    /// True if no outsider acts now.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.roused.is_empty()
    }

    /// Rouses `index`: the event it waited for has happened.
    #[inline]
    pub fn rouse(&mut self, index: u32) {
        self.roused.push(index);
    }
}

impl Host<'_> {
    /// Enters those outside and their starts. Call it after the tasks were entered.
    pub fn enlist_outside(&mut self, outsiders: Vec<Outsider>, seed: Seed) {
        self.outside.roused.reserve(outsiders.len());
        for (index, it) in outsiders.into_iter().enumerate() {
            let rng = seed.stream("outside", index as u64).rng();
            self.outside.actors.push(Actor { name: it.name, behaviour: it.behaviour, rng });
            self.agenda.calendar.push(it.start, class::WAKE, Entry::Outsider(index as u32));
            self.agenda.live += 1;
        }
    }

    /// Handles an outsider's start, or the end of its sleep.
    pub fn outsider_due(&mut self, index: u32) {
        self.agenda.live -= 1;
        self.outside.rouse(index);
    }

    /// Runs all outsiders reached by events of this instant, until they wait or sleep.
    #[cold]
    #[inline(never)]
    pub fn let_outsiders_act(&mut self) {
        let mut next = 0;
        while let Some(index) = self.outside.roused.get(next).copied() {
            next += 1;
            self.act(index);
            if self.is_at_fault() {
                break;
            }
        }
        self.outside.roused.clear();
    }

    fn act(&mut self, index: u32) {
        let me = TaskId(self.referee.tasks().len() as u32 + index);
        for _ in 0..IDLE_STEPS {
            let now = self.now();
            let actor = &mut self.outside.actors[index as usize];
            let step = actor.behaviour.next(&mut StepContext { now, task: me, rng: &mut actor.rng });
            let goes_on = match step {
                Step::Sleep(span) => self.outsider_sleeps(index, self.now() + span),
                Step::SleepUntil(at) => self.outsider_sleeps(index, at),
                Step::Wait(channel) | Step::WaitUninterruptible(channel) => self.outsider_waits(index, me, channel),
                Step::Wake(channel) | Step::WakeSync(channel) | Step::Interrupt(channel) => {
                    let known = self.outsider_knows(index, channel);
                    if known {
                        self.deliver(channel, None, false);
                    }
                    known
                }
                Step::Exit => false,
                other => {
                    self.outsider_errs(index, &format!("asked for {other:?}, which takes a CPU"));
                    false
                }
            };
            if !goes_on || self.is_at_fault() {
                return;
            }
        }
        self.outsider_errs(
            index,
            "took a hundred thousand steps in a row without any time; does it ever sleep or wait?",
        );
    }

    /// Puts an outsider to sleep; true if the sleep is already over.
    fn outsider_sleeps(&mut self, index: u32, until: Time) -> bool {
        if until <= self.now() {
            return true;
        }
        if until != Time::NEVER {
            self.agenda.live += 1;
            self.agenda.calendar.push(until, class::WAKE, Entry::Outsider(index));
        }
        false
    }

    /// Makes an outsider wait. Returns true if the event had already happened.
    fn outsider_waits(&mut self, index: u32, me: TaskId, channel: Channel) -> bool {
        if !self.outsider_knows(index, channel) {
            return false;
        }
        match self.places.wait(channel, me) {
            Waiting::Passed => true,
            Waiting::Waits => false,
            Waiting::Opened => {
                while let Some(woken) = self.places.wake_next(channel) {
                    self.wake_anyone(woken, None, false);
                }
                true
            }
        }
    }

    fn outsider_knows(&mut self, index: u32, channel: Channel) -> bool {
        let known = self.places.has_channel(channel);
        if !known {
            self.outsider_errs(index, &format!("used channel {}, which the workload does not have", channel.0));
        }
        known
    }

    #[cold]
    fn outsider_errs(&mut self, index: u32, what: &str) {
        let name = self.outside.actors[index as usize].name.clone();
        self.at_fault(None, format!("\"{name}\", who is outside the machine, {what}"));
    }
}
