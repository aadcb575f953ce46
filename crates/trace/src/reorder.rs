//! Puts lines in order of time within a window, as when the buffers of several CPUs were merged wrongly.

use crate::error::TraceError;
use crate::line::EventLine;
use crate::repairs::{Repair, Repairs};
use std::collections::VecDeque;

/// Lines held back. Large enough for a merge that is wrong by a page of one CPU's ring buffer (4096 bytes hold
/// fewer than 150 scheduling events) on several CPUs.
const WINDOW: usize = 1024;
/// Most events, in percent, that may be too far out of order to be sorted. A choice: one jump of the clock leaves a
/// usable trace; the figures of a shuffled or reversed file would be those of its repairs.
const BACKWARDS_PERCENT_MAX: u64 = 10;

/// An item with a time and a position in its file.
pub(crate) trait Timed {
    /// Time in ns.
    fn at(&self) -> u64;
    /// Corrects the time.
    fn set_at(&mut self, at: u64);
    /// Line or record number, from 1.
    fn place(&self) -> u64;
}

impl Timed for EventLine {
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
pub(crate) struct Reorder<T = EventLine> {
    held: VecDeque<T>,
    /// Time of the line taken in last.
    previous: u64,
    /// Time of the last line returned.
    given: u64,
}

impl<T> Default for Reorder<T> {
    fn default() -> Reorder<T> {
        Reorder { held: VecDeque::new(), previous: 0, given: 0 }
    }
}

impl<T: Timed> Reorder<T> {
    /// Adds a line. Returns the earliest one if the window is full.
    #[inline]
    pub fn push(&mut self, mut line: T, repairs: &mut Repairs) -> Option<T> {
        if line.at() < self.given {
            repairs.add(Repair::ClockBackwards, 1, line.place());
            line.set_at(self.given);
        } else if line.at() < self.previous {
            repairs.add(Repair::OutOfOrder, 1, line.place());
        }
        self.previous = line.at();
        if self.held.back().is_none_or(|last| last.at() <= line.at()) {
            self.held.push_back(line);
        } else {
            let place = self.held.partition_point(|held| held.at() <= line.at());
            self.held.insert(place, line);
        }
        if self.held.len() > WINDOW { self.pop() } else { None }
    }

    /// Removes and returns the earliest line.
    pub fn pop(&mut self) -> Option<T> {
        let line = self.held.pop_front()?;
        self.given = line.at();
        Some(line)
    }

    /// Time of the line taken in last, for lines that carry no time.
    pub fn previous(&self) -> u64 {
        self.previous
    }
}

/// Refuses the trace `path` if too many of its events were too far out of order to be sorted.
pub(crate) fn check_order(path: &str, events: u64, repairs: &Repairs) -> Result<(), TraceError> {
    let backwards = repairs.of(Repair::ClockBackwards);
    if backwards.count.saturating_mul(100) <= events.saturating_mul(BACKWARDS_PERCENT_MAX) {
        return Ok(());
    }
    Err(TraceError::OutOfOrder {
        path: path.to_string(),
        line: backwards.first_line,
        count: backwards.count,
        events,
        window: WINDOW,
        most: BACKWARDS_PERCENT_MAX,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Context;
    use crate::line::Content;
    use crate::tasks::Comm;

    fn order(times: impl Iterator<Item = u64>) -> (Vec<u64>, Repairs) {
        let mut reorder = Reorder::default();
        let mut repairs = Repairs::default();
        let mut out = Vec::new();
        for (line, at) in times.enumerate() {
            let line = EventLine {
                at,
                line: line as u64 + 1,
                cpu: 0,
                current: None,
                tgid: None,
                comm: Comm::default(),
                context: Context::Unknown,
                resched: false,
                content: Content::Other,
            };
            out.extend(reorder.push(line, &mut repairs).map(|r| r.at));
        }
        while let Some(line) = reorder.pop() {
            out.push(line.at);
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
