//! Writes: those that complete early and are destaged later, and those that wait for the media.

use super::cache::Dirty;
use super::drive::{Command, Event, Hdd, Held};
use super::plan::Manner;

impl Hdd {
    pub(super) fn write_arrives(&mut self, now: u64, slot: u32, durable: bool) {
        self.statistics.writes += 1;
        let Command { start, end, .. } = self.commands[slot as usize];
        self.cache.invalidate(start, end);
        if let Some(segment) = self.reading
            && self.plan.first().min(self.cache.segment(segment).start) < end
            && start < self.plan.limit()
        {
            self.stop_reading(now);
            self.cache.invalidate(start, end);
        }
        let early = self.parameters.write_extents > 0 && !durable;
        let overhead = if early { self.parameters.write_hit } else { self.parameters.write_miss };
        self.commands[slot as usize].ready = now + self.overhead(overhead);
        let fits = end - start <= u64::from(self.parameters.segment_sectors);
        if early && fits {
            self.blocked.push_back(slot);
            self.admit();
        } else {
            let data_ready = self.receive(slot).0;
            self.commands[slot as usize].data_ready = data_ready;
            self.wait(slot, start);
        }
    }

    /// Receives a write's data over the bus. Returns the earliest start of the media write, and the end of the
    /// transfer.
    pub(super) fn receive(&mut self, slot: u32) -> (u64, u64) {
        let Command { start, end, ready, .. } = self.commands[slot as usize];
        let (begin, done) = self.take_bus(ready, end - start);
        let slots = self.mechanics.geometry.locate(start).slots;
        let media = (end - start) * self.mechanics.passing(1, slots) / 1000;
        (done.saturating_sub(media).max(begin + self.parameters.bus.ns()), done)
    }

    /// Completes waiting writes early, in order, while there is room.
    pub(super) fn admit(&mut self) {
        while let Some(slot) = self.blocked.front().copied() {
            let Command { start, end, turn, ready, .. } = self.commands[slot as usize];
            let place = self.mechanics.geometry.locate(start);
            let (arm, angle) = (place.arm, self.mechanics.angle(&place));
            let (oldest, newest, data_ready, movable) = (turn, turn, ready, ready);
            let write = Dirty { start, end, oldest, newest, data_ready, movable, arm, angle, under_way: false };
            if !self.cache.absorb(write) {
                return;
            }
            self.blocked.pop_front();
            let (data_ready, done) = self.receive(slot);
            let holder = self.cache.dirty.iter_mut().rfind(|dirty| dirty.newest == turn && !dirty.under_way);
            if let Some(dirty) = holder {
                dirty.data_ready = data_ready;
            }
            self.push(done, Event::Complete(slot));
        }
    }

    pub(super) fn begin_write(&mut self, now: u64, slot: u32) {
        let Command { start, end, ready, data_ready, .. } = self.commands[slot as usize];
        let done = self.write_media(now.max(ready), start, end, data_ready);
        self.push(done, Event::Complete(slot));
    }

    pub(super) fn begin_destage(&mut self, now: u64, number: usize) {
        let dirty = &mut self.cache.dirty[number];
        dirty.under_way = true;
        let Dirty { start, end, data_ready, movable, .. } = *dirty;
        self.write_media(now.max(movable), start, end, data_ready);
    }

    pub(super) fn write_media(&mut self, at: u64, start: u64, end: u64, data_ready: u64) -> u64 {
        let manner = Manner { write: true, zero_latency: self.parameters.zero_latency, free_blocks: false };
        self.plan.restart(self.sweep.arm, at, start, manner);
        let cost = self.plan.extend(&self.mechanics, end, end, data_ready);
        let done = self.plan.ready(end);
        self.account(cost, at, done);
        (self.reading, self.held, self.committed) = (None, Held::Access, done);
        self.push(done, Event::ArmFree);
        done
    }

    /// Ends a destage. The extent becomes a read segment if the drive serves reads from written data.
    pub(super) fn end_destage(&mut self) {
        let Some(number) = self.cache.dirty.iter().position(|dirty| dirty.under_way) else { return };
        let dirty = self.cache.dirty.swap_remove(number);
        if self.parameters.hits_on_writes && self.parameters.segments > 0 {
            let segment = self.cache.take(None);
            self.cache.fill(segment, dirty.start, dirty.end);
        }
        self.admit();
    }
}
