//! Detects runs in which time does not advance: tasks that only yield or wake each other forever, or a policy that
//! keeps the host busy.

use super::Host;
use goodness_core::{TaskId, Time};

/// Events between two checks of the clock.
const EVENTS: u64 = 1 << 10;
/// Consecutive checks that may show the same time. A million tasks on 4096 CPUs start with about three million events
/// at one instant.
const LOOKS_MAX: u32 = 8192;

/// Counts events and checks now and then that time advances.
pub struct Standstill {
    events_max: u64,
    /// Number of the next event to check at: the next multiple of [`EVENTS`], or one above the limit.
    look_at: u64,
    /// Events until then.
    left: u64,
    /// Time at the last check.
    at: Time,
    /// Consecutive checks with the same time.
    looks: u32,
    /// The last task that took a step of zero duration, and the time of it.
    restless: Option<(TaskId, Time)>,
}

impl Standstill {
    /// The state before the first event; at most `events_max` events are allowed.
    pub fn new(events_max: u64) -> Standstill {
        let look_at = EVENTS.min(events_max.saturating_add(1));
        Standstill { events_max, look_at, left: look_at, at: Time::NEVER, looks: 0, restless: None }
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.look_at - self.left
    }

    /// Counts one event; true when a check is due.
    #[inline]
    pub fn counts(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// Records that `task` takes a step that may have zero duration.
    #[inline]
    pub fn note(&mut self, task: TaskId, now: Time) {
        self.restless = Some((task, now));
    }
}

impl Host<'_> {
    /// Ends the run if it exceeds its limit of events, if time does not advance, or if the pulse says so.
    #[cold]
    pub fn look_for_standstill(&mut self) {
        let now = self.now();
        if self.pulse.is_some_and(|pulse| pulse(now).is_break()) {
            self.is_stopped = true;
            self.agenda.horizon = Time::ZERO;
        }
        let it = &mut self.standstill;
        let events = it.events();
        if events > it.events_max {
            let what = format!("the run exceeded its limit of {} events", it.events_max);
            return self.at_fault(None, what);
        }
        it.look_at = (events + EVENTS).min(it.events_max.saturating_add(1));
        it.left = it.look_at - events;
        it.looks = if now == it.at { it.looks + 1 } else { 0 };
        it.at = now;
        if it.looks < LOOKS_MAX {
            return;
        }
        let what = format!("{} events in a row took no time", u64::from(LOOKS_MAX) * EVENTS);
        match it.restless.filter(|(_, at)| *at == now) {
            Some((task, _)) => self.at_fault(task, format!("goes on for ever without using time: {what}")),
            None => self.referee.refuse(&format!("keeps the run busy: {what}")),
        }
    }
}
