//! Schedules the arm: commands, destaging of early writes, and read-ahead when idle.

use super::cache::Dirty;
use super::drive::{Event, Hdd, Held};
use super::plan::Cost;
use super::queue::{Waiting, pick};
use goodness_core::Operation;

impl Hdd {
    pub(super) fn wait(&mut self, slot: u32, address: u64) {
        let command = self.commands[slot as usize];
        let place = self.mechanics.geometry.locate(address);
        self.waiting.push(Waiting {
            slot,
            address,
            arm: place.arm,
            angle: self.mechanics.angle(&place),
            arrived: command.arrived,
            movable: command.ready,
            turn: command.turn,
            write: command.op == Operation::Write,
        });
    }

    /// Adds the read-ahead completed by `now` to its segment.
    pub(super) fn refresh(&mut self, now: u64) {
        let Some(segment) = self.reading else { return };
        let (first, reached) = (self.plan.first(), self.plan.reached(now));
        let before = self.cache.segment(segment);
        if before.start < before.end && before.end >= first {
            self.cache.fill(segment, before.start, reached.max(before.end));
        } else if reached > first {
            self.cache.fill(segment, first, reached);
        }
        if self.plan.end() <= now {
            self.sweep.arm = self.plan.arm(now);
            self.reading = None;
        }
    }

    /// Ends read-ahead; the arm stays.
    pub(super) fn stop_reading(&mut self, now: u64) {
        self.refresh(now);
        self.sweep.arm = self.plan.arm(now);
        self.reading = None;
    }

    /// Starts the next access: a command, or a write to destage.
    pub(super) fn dispatch(&mut self, now: u64) {
        if self.held != Held::Free || (self.waiting.is_empty() && self.cache.dirty.is_empty()) {
            return;
        }
        self.stop_reading(now);
        let (policy, limit) = (self.parameters.policy, self.parameters.age_limit.ns());
        self.destages = self.waiting.is_empty() || (!self.destages && self.wants_destage(now));
        if self.destages {
            self.candidates.clear();
            self.candidates.extend(self.cache.dirty.iter().enumerate().map(|(number, dirty)| dirty.waiting(number)));
            let turn = &mut self.destages_for_age;
            let next = pick(&self.candidates, policy, limit, now, &mut self.sweep, turn, &self.mechanics).unwrap_or(0);
            self.sweep.address = self.candidates[next].address;
            return self.begin_destage(now, next);
        }
        let turn = &mut self.serves_for_age;
        let next = pick(&self.waiting, policy, limit, now, &mut self.sweep, turn, &self.mechanics).unwrap_or(0);
        let Waiting { slot, address, write, .. } = self.waiting.swap_remove(next);
        self.sweep.address = address;
        if write { self.begin_write(now, slot) } else { self.begin_read(now, slot, address) }
    }

    /// True if a write must be destaged although commands wait: a write waits for its room, a flush waits for it, or it
    /// has passed the age limit.
    fn wants_destage(&self, now: u64) -> bool {
        let limit = self.parameters.age_limit.ns();
        let overdue = |dirty: &Dirty| now.saturating_sub(dirty.movable) > limit;
        let wanted = !self.blocked.is_empty() || !self.flushes.is_empty() || self.cache.dirty.iter().any(overdue);
        wanted && !self.cache.dirty.is_empty()
    }

    pub(super) fn arm_free(&mut self, now: u64) {
        if now < self.committed {
            self.held = Held::Access;
            self.push(self.committed, Event::ArmFree);
            return;
        }
        self.held = Held::Free;
        self.end_destage();
        self.end_flushes(now);
        self.dispatch(now);
    }

    pub(super) fn end_flushes(&mut self, now: u64) {
        let mut at = 0;
        while at < self.flushes.len() {
            let slot = self.flushes[at];
            let turn = self.commands[slot as usize].turn;
            let blocked = self.blocked.iter().any(|slot| self.commands[*slot as usize].turn < turn);
            if blocked || self.cache.holds_writes_until(turn) {
                at += 1;
                continue;
            }
            self.flushes.swap_remove(at);
            self.push(now.max(self.commands[slot as usize].ready), Event::Complete(slot));
        }
    }

    pub(super) fn account(&mut self, cost: Cost, began: u64, done: u64) {
        let s = &mut self.statistics;
        s.accesses += 1;
        s.seek_ns += cost.seek;
        s.latency_ns += cost.latency;
        s.transfer_ns += done.saturating_sub(began + cost.seek + cost.latency);
    }
}
