//! Buffer of events for the observer. Handing them over in blocks makes the simulator's code and the observer's evict
//! each other less often from the CPU's caches.

use goodness_core::{Class, CpuSet, Event, Nice, Observer, TaskId, Time};

/// Events handed over at a time.
const BLOCK: usize = 256;

/// Collects events for an observer. The host calls [`Outbox::flush`] at the end of a run.
pub struct Outbox<'a> {
    observer: &'a mut dyn Observer,
    block: Box<[(Time, Event); BLOCK]>,
    /// Events in the block.
    len: usize,
}

impl<'a> Outbox<'a> {
    pub fn new(observer: &'a mut dyn Observer) -> Outbox<'a> {
        let nothing = (Time::ZERO, Event::Exit { task: TaskId(0) });
        Outbox { observer, block: Box::new([nothing; BLOCK]), len: 0 }
    }

    #[inline]
    pub fn push(&mut self, at: Time, event: Event) {
        if self.len == BLOCK {
            self.flush();
        }
        // The mask changes nothing; it replaces a check of bounds.
        let len = self.len;
        self.len = len + 1;
        self.block[len % BLOCK] = (at, event);
    }

    /// Tells the observer which CPUs `task` may use from `at` on, after the events so far.
    pub fn confine(&mut self, at: Time, task: TaskId, cpus: &CpuSet) {
        self.flush();
        self.observer.confine(at, task, cpus);
    }

    /// Tells the observer that `task` has asked for this class and nice, after the events so far.
    pub fn reclass(&mut self, at: Time, task: TaskId, class: Class, nice: Nice) {
        self.flush();
        self.observer.reclass(at, task, class, nice);
    }

    /// Hands the remaining events to the observer.
    #[cold]
    #[inline(never)]
    pub fn flush(&mut self) {
        self.observer.observe_all(&self.block[..self.len]);
        self.len = 0;
    }
}
