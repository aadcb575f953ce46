//! Buffer of events for the observer. Handing them over in blocks makes the simulator's code and the observer's evict
//! each other less often from the CPU's caches.

use goodness_core::{Event, Observer, Time};

/// Events handed over at a time.
const BLOCK: usize = 256;

/// Collects events for an observer. The host calls [`Outbox::flush`] at the end of a run.
pub struct Outbox<'a> {
    observer: &'a mut dyn Observer,
    events: Vec<(Time, Event)>,
}

impl<'a> Outbox<'a> {
    pub fn new(observer: &'a mut dyn Observer) -> Outbox<'a> {
        Outbox { observer, events: Vec::with_capacity(BLOCK) }
    }

    #[inline]
    pub fn push(&mut self, at: Time, event: Event) {
        if self.events.len() == BLOCK {
            self.flush();
        }
        self.events.push((at, event));
    }

    /// Hands the remaining events to the observer.
    #[cold]
    #[inline(never)]
    pub fn flush(&mut self) {
        self.observer.observe_all(&self.events);
        self.events.clear();
    }
}
