//! The flusher: writes the page cache's dirty pages in the background.

use super::Host;
use crate::calendar::{Entry, class};
use goodness_core::{CpuId, Io, Submitter, Time};

/// Limit of the flusher's I/Os in flight. A choice: the request pool of a queue.
const FLUSHER_MAX: usize = 128;

/// CPU that works for the flusher's I/O.
const FLUSHER_CPU: CpuId = CpuId(0);

/// State of the flusher.
#[derive(Default)]
pub struct Flusher {
    /// Its I/Os in flight.
    pub under_way: usize,
    /// True while its next look at the cache is in the calendar.
    is_armed: bool,
    /// Time until which it waits for its CPU, if it does; it keeps the run alive then.
    put_off: Option<Time>,
}

impl Host<'_> {
    /// Lets the flusher write pages that are old enough.
    pub fn flusher_due(&mut self) {
        let now = self.now();
        let flusher = &mut self.storage.as_mut().expect("only storage sets this time").flusher;
        if flusher.put_off == Some(now) {
            flusher.put_off = None;
            self.agenda.live -= 1;
        } else {
            flusher.is_armed = false;
        }
        self.flush();
        self.heed_disks();
    }

    /// Lets the flusher write, and checks again later while pages are dirty.
    pub fn flush(&mut self) {
        if self.charging.io && self.waits_for_its_cpu() {
            return;
        }
        let now = self.now();
        let by = Io::read(Submitter(self.referee.tasks().len() as u32), 0, 0);
        let storage = self.storage.as_mut().expect("asked by storage");
        let mut made = std::mem::take(&mut storage.transfers);
        storage.cache.write_back(now, FLUSHER_MAX - storage.flusher.under_way, &mut made);
        storage.flusher.under_way += made.len();
        for id in made.drain(..) {
            storage.submit_transfer(now, id, by);
        }
        storage.transfers = made;
        if !storage.flusher.is_armed && storage.cache.unclean() > 0 {
            storage.flusher.is_armed = true;
            let at = now + storage.cache.limits().period;
            self.agenda.calendar.push(at, class::WAKE, Entry::Flusher);
        }
    }

    /// True if the flusher's CPU has not done the work for earlier I/O. The flusher comes back when it has.
    fn waits_for_its_cpu(&mut self) -> bool {
        let until = self.cpus[FLUSHER_CPU.index()].io_until;
        if until <= self.now() {
            return false;
        }
        let flusher = &mut self.storage.as_mut().expect("asked by storage").flusher;
        if flusher.put_off.is_none() {
            flusher.put_off = Some(until);
            self.agenda.live += 1;
            self.agenda.calendar.push(until, class::WAKE, Entry::Flusher);
        }
        true
    }
}
