//! The flusher: writes the page cache's dirty pages in the background.

use super::Host;
use crate::calendar::{Entry, class};
use goodness_core::{CpuId, Io, Submitter, Time};

/// Limit of the flusher's writes in flight, for each domain: what a slow disk or a limit holds puts off no other. A
/// choice: the request pool of a queue.
const FLUSHER_MAX: usize = 128;

/// CPU that works for the flusher's I/O.
const FLUSHER_CPU: CpuId = CpuId(0);

/// State of the flusher.
pub struct Flusher {
    /// Its writes in flight, by domain.
    under_way: Vec<usize>,
    /// True while its next look at the cache is in the calendar.
    is_armed: bool,
    /// Time until which it waits for its CPU, if it does; it keeps the run alive then.
    put_off: Option<Time>,
}

impl Flusher {
    /// A flusher that does nothing, for `domains` domains.
    pub fn new(domains: usize) -> Flusher {
        Flusher { under_way: vec![0; domains], is_armed: false, put_off: None }
    }

    /// Counts a write of `domain`. Returns false if there are enough.
    fn admits(&mut self, domain: u32) -> bool {
        let count = &mut self.under_way[domain as usize];
        let has_room = *count < FLUSHER_MAX;
        *count += usize::from(has_room);
        has_room
    }

    /// A write of `domain` is done.
    pub fn done(&mut self, domain: u32) {
        self.under_way[domain as usize] -= 1;
    }

    /// True if no domain may have more.
    fn is_full(&self) -> bool {
        self.under_way.iter().all(|count| *count >= FLUSHER_MAX)
    }
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
        let flusher = &mut storage.flusher;
        if !flusher.is_full() {
            storage.cache.write_back(now, |domain| flusher.admits(domain), &mut made);
        }
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
