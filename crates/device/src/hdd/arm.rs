//! Who has the arm: the next command, a write that completed early, or read-ahead until somebody comes.

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

    /// What read-ahead brought by `now` is in its segment.
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

    /// Ends read-ahead: the arm is where it is.
    pub(super) fn stop_reading(&mut self, now: u64) {
        self.refresh(now);
        self.sweep.arm = self.plan.arm(now);
        self.reading = None;
    }

    /// Gives the arm to the next command, or to a write that completed early: to those when a write waits for room, or a
    /// flush for them.
    pub(super) fn dispatch(&mut self, now: u64) {
        if self.held != Held::Free || (self.waiting.is_empty() && self.cache.dirty.is_empty()) {
            return;
        }
        self.stop_reading(now);
        let forced = !self.blocked.is_empty() || !self.flushes.is_empty();
        if self.waiting.is_empty() || (forced && !self.cache.dirty.is_empty()) {
            let number = self.pick_dirty(now);
            self.sweep.address = self.cache.dirty[number].start;
            self.begin_destage(now, number);
            return;
        }
        let p = &self.parameters;
        let next = pick(&self.waiting, p.policy, p.age_limit.ns(), now, &mut self.sweep, &self.mechanics);
        let Waiting { slot, address, write, .. } = self.waiting.swap_remove(next.unwrap_or(0));
        self.sweep.address = address;
        if write { self.begin_write(now, slot) } else { self.begin_read(now, slot, address) }
    }

    /// The extent to write next, by the drive's policy.
    fn pick_dirty(&mut self, now: u64) -> usize {
        let waiting = self.cache.dirty.iter().enumerate().map(|(number, dirty)| Waiting {
            slot: number as u32,
            address: dirty.start,
            arm: dirty.arm,
            angle: dirty.angle,
            arrived: dirty.movable,
            movable: dirty.movable,
            turn: dirty.newest,
            write: true,
        });
        self.candidates.clear();
        self.candidates.extend(waiting);
        let p = &self.parameters;
        pick(&self.candidates, p.policy, p.age_limit.ns(), now, &mut self.sweep, &self.mechanics).unwrap_or(0)
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
