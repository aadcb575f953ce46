//! Reads: hits, partial hits, misses and read-ahead.

use super::cache::Found;
use super::drive::{Command, Event, Hdd, Held};
use super::parameters::ReadAhead;
use super::plan::Manner;

impl Hdd {
    pub(super) fn read_arrives(&mut self, now: u64, slot: u32) {
        self.statistics.reads += 1;
        let Command { start, end, .. } = self.commands[slot as usize];
        let found = self.find(now, start, end);
        let hit = now + self.overhead(self.parameters.read_hit);
        self.commands[slot as usize].ready = now + self.overhead(self.parameters.read_miss);
        match found {
            Found::Whole(segment) => {
                self.statistics.whole_hits += 1;
                if let Some(segment) = segment {
                    self.cache.touch(segment);
                    self.read_on(now, segment, end);
                }
                self.push(hit, Event::Transfer(slot));
            }
            Found::Start(segment) => {
                self.statistics.partial_hits += 1;
                self.cache.touch(segment);
                if self.read_on(now, segment, end) {
                    let sent = self.plan.sent(start, end, self.parameters.bus.ns());
                    let bus = (end - start) * self.parameters.bus.ns();
                    self.push(hit.max(sent.saturating_sub(bus)), Event::Transfer(slot));
                    self.commit(self.plan.ready(end));
                } else {
                    self.commands[slot as usize].continues = Some(segment);
                    let from = self.cache.segment(segment).end;
                    self.wait(slot, from);
                }
            }
            Found::Nothing => self.wait(slot, start),
        }
    }

    fn find(&self, now: u64, start: u64, end: u64) -> Found {
        if self.parameters.segments == 0 {
            return Found::Nothing;
        }
        let found = self.cache.find(start, end);
        let next = self.parameters.near_hits && self.plan.end() > now && self.plan.reached(now) == start;
        match self.reading {
            Some(segment) if found == Found::Nothing && next => Found::Start(segment),
            _ => found,
        }
    }

    /// Extends a running read-ahead of `segment` past `end`. Returns false if none is running.
    pub(super) fn read_on(&mut self, now: u64, segment: usize, end: u64) -> bool {
        if self.reading != Some(segment) || self.plan.end() <= now {
            return false;
        }
        let limit = self.read_ahead_limit(end, self.cache.segment(segment).start).max(end);
        self.plan.forget(now);
        self.plan.extend(&self.mechanics, end, limit, 0);
        true
    }

    /// The arm may not leave before nanosecond `until`.
    pub(super) fn commit(&mut self, until: u64) {
        self.committed = self.committed.max(until);
        if self.held == Held::Free {
            self.held = Held::Access;
            self.push(until, Event::ArmFree);
        }
    }

    /// End of the read-ahead after a request up to `end`, in a segment that starts at `segment_start`.
    pub(super) fn read_ahead_limit(&self, end: u64, segment_start: u64) -> u64 {
        let limit = match self.parameters.read_ahead {
            ReadAhead::None => end,
            ReadAhead::Sectors(sectors) => end + u64::from(sectors),
            ReadAhead::Track => {
                let track = self.mechanics.geometry.locate(end);
                let more = if segment_start < track.first { u64::from(track.slots) } else { 0 };
                (track.end + more).max(end)
            }
        };
        // Data not yet requested must not be overwritten by later data.
        limit.min(end + u64::from(self.parameters.segment_sectors)).min(self.facts.sectors)
    }

    pub(super) fn begin_read(&mut self, now: u64, slot: u32, from: u64) {
        let Command { start, end, ready, continues, .. } = self.commands[slot as usize];
        let goes_on = continues.filter(|segment| {
            let segment = self.cache.segment(*segment);
            segment.start <= start && segment.end == from
        });
        let from = if goes_on.is_some() { from } else { start };
        let (zero_latency, free_blocks) = (self.parameters.zero_latency, self.parameters.free_blocks);
        let manner = Manner { write: false, zero_latency, free_blocks: free_blocks && goes_on.is_none() };
        self.plan.restart(self.sweep.arm, now.max(ready), from, manner);
        let segment_start = goes_on.map_or(start, |segment| self.cache.segment(segment).start);
        let limit = self.read_ahead_limit(end, segment_start);
        let cost = self.plan.extend(&self.mechanics, end, limit, 0);
        let ready = self.plan.ready(end);
        self.account(cost, now.max(self.commands[slot as usize].ready), ready);
        self.reading = (self.parameters.segments > 0).then(|| goes_on.unwrap_or_else(|| self.cache.take(self.reading)));
        let bus = self.parameters.bus.ns();
        let sent = self.plan.sent(start, end, bus);
        self.push(sent.saturating_sub((end - start) * bus).max(now), Event::Transfer(slot));
        self.committed = ready;
        if self.parameters.preseek {
            self.held = Held::Access;
            self.push(ready, Event::ArmFree);
        } else {
            self.held = Held::Command(slot);
        }
    }
}
