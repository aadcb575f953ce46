//! Tells how far a simulation has come, every so many events.

use crate::progress::{Progress, Watch};
use goodness_core::{Event, Observer, Time};

/// Events between two messages: tens of milliseconds.
const EVENTS: usize = 1 << 16;

/// An observer that only tells the time.
pub(crate) struct Pulse<'a> {
    watch: &'a Watch<'a>,
    /// Number of the simulation, from 0.
    simulation: u64,
    /// End of the simulation, if it has one.
    until: Option<Time>,
    /// Events until the next message.
    left: usize,
}

impl<'a> Pulse<'a> {
    pub fn new(watch: &'a Watch<'a>, simulation: u64, until: Option<Time>) -> Pulse<'a> {
        Pulse { watch, simulation, until, left: EVENTS }
    }

    #[cold]
    fn tell(&mut self, now: Time) {
        self.left = EVENTS;
        let Pulse { simulation, until, .. } = *self;
        // A simulation that runs is not cancelled.
        let _ = (self.watch)(Progress::Advanced { simulation, now, until });
    }
}

impl Observer for Pulse<'_> {
    fn observe(&mut self, at: Time, event: &Event) {
        self.observe_all(&[(at, *event)]);
    }

    fn observe_all(&mut self, events: &[(Time, Event)]) {
        self.left = self.left.saturating_sub(events.len());
        if self.left == 0
            && let Some((now, _)) = events.last()
        {
            self.tell(*now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::TaskId;
    use std::ops::ControlFlow;
    use std::sync::Mutex;

    #[test]
    fn it_tells_the_time_every_65536_events() {
        let told = Mutex::new(Vec::new());
        let watch = |progress: Progress| {
            let Progress::Advanced { simulation: 3, now, until: None } = progress else { panic!("{progress:?}") };
            told.lock().unwrap().push(now.0);
            ControlFlow::Continue(())
        };
        let mut pulse = Pulse::new(&watch, 3, None);
        for block in 0..600u64 {
            let events: Vec<_> = (0..256).map(|n| (Time(block * 256 + n), Event::Exit { task: TaskId(0) })).collect();
            pulse.observe_all(&events);
        }
        assert_eq!(*told.lock().unwrap(), [65_535, 131_071]);
    }
}
