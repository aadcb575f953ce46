//! Puts lines in order of time within a window, as when the buffers of several CPUs were merged wrongly.

use crate::raw::Raw;
use crate::repairs::{Repair, Repairs};
use std::collections::VecDeque;

/// Lines held back. Large enough for a merge that is wrong by a page of one CPU's ring buffer (4096 bytes hold
/// fewer than 150 scheduling events) on several CPUs.
pub(crate) const WINDOW: usize = 1024;

/// What has a time and a place in its file.
pub(crate) trait Timed {
    /// When, in ns.
    fn at(&self) -> u64;
    /// Corrects the time.
    fn set_at(&mut self, at: u64);
    /// Line, or number of the record; from 1.
    fn place(&self) -> u64;
}

impl Timed for Raw {
    fn at(&self) -> u64 {
        self.at
    }
    fn set_at(&mut self, at: u64) {
        self.at = at;
    }
    fn place(&self) -> u64 {
        self.line
    }
}

/// Holds lines back until nothing earlier can come.
pub(crate) struct Reorder<T = Raw> {
    held: VecDeque<T>,
    /// Time of the line taken in last.
    previous: u64,
    /// Time of the line given out last.
    given: u64,
}

impl<T> Default for Reorder<T> {
    fn default() -> Reorder<T> {
        Reorder { held: VecDeque::new(), previous: 0, given: 0 }
    }
}

impl<T: Timed> Reorder<T> {
    /// Takes a line in; gives the earliest one out when the window is full.
    #[inline]
    pub fn push(&mut self, mut raw: T, repairs: &mut Repairs) -> Option<T> {
        if raw.at() < self.given {
            repairs.add(Repair::ClockBackwards, 1, raw.place());
            raw.set_at(self.given);
        } else if raw.at() < self.previous {
            repairs.add(Repair::OutOfOrder, 1, raw.place());
        }
        self.previous = raw.at();
        if self.held.back().is_none_or(|last| last.at() <= raw.at()) {
            self.held.push_back(raw);
        } else {
            let place = self.held.partition_point(|held| held.at() <= raw.at());
            self.held.insert(place, raw);
        }
        if self.held.len() > WINDOW { self.pop() } else { None }
    }

    /// Gives the earliest line out.
    pub fn pop(&mut self) -> Option<T> {
        let raw = self.held.pop_front()?;
        self.given = raw.at();
        Some(raw)
    }

    /// Time of the line taken in last, for lines that carry no time.
    pub fn previous(&self) -> u64 {
        self.previous
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::RawWhat;
    use crate::record::Context;
    use crate::tasks::Comm;

    fn order(times: impl Iterator<Item = u64>) -> (Vec<u64>, Repairs) {
        let mut reorder = Reorder::default();
        let mut repairs = Repairs::default();
        let mut out = Vec::new();
        for (line, at) in times.enumerate() {
            let raw = Raw {
                at,
                line: line as u64 + 1,
                cpu: 0,
                current: None,
                tgid: None,
                comm: Comm::default(),
                context: Context::Unknown,
                resched: false,
                what: RawWhat::Other,
            };
            out.extend(reorder.push(raw, &mut repairs).map(|r| r.at));
        }
        while let Some(raw) = reorder.pop() {
            out.push(raw.at);
        }
        (out, repairs)
    }

    #[test]
    fn lines_wrong_within_the_window_come_out_in_order() {
        let (out, repairs) = order((0..5000u64).map(|n| if n % 100 < 50 { n + 50 } else { n - 50 }));
        assert!(out.is_sorted());
        assert_eq!(repairs.of(Repair::OutOfOrder).count, 50);
        assert_eq!(repairs.of(Repair::ClockBackwards).count, 0);
    }

    #[test]
    fn a_clock_that_jumps_back_cannot_reverse_time() {
        let (out, repairs) = order((10_000..15_000).chain(0..100));
        assert!(out.is_sorted());
        assert_eq!(repairs.of(Repair::ClockBackwards).count, 100);
        assert_eq!(repairs.of(Repair::ClockBackwards).first_line, 5001);
    }

    #[test]
    fn one_line_far_in_the_future_does_not_drag_the_others_along() {
        let (out, repairs) = order((0..3000).map(|n| if n == 10 { 1 << 60 } else { n }));
        assert_eq!(out[2500], 2501);
        assert_eq!(repairs.of(Repair::OutOfOrder).count, 1);
        assert_eq!(repairs.of(Repair::ClockBackwards).count, 0);
    }
}
