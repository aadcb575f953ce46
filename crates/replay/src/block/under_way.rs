//! I/Os in flight, indexed by sector. A completion names sectors: it may end several I/Os merged into one request, or
//! part of one that was split.

use goodness_core::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Time after which an I/O counts as never completed in the trace. A choice: twice Linux's time-out for a disk command.
const TIMEOUT: Span = Span::from_s(60);

/// Key of flushes, which have no sector.
const FLUSH: u64 = u64::MAX;

/// Volume, first sector, and a number that distinguishes I/Os at the same place.
type Key = (u16, u64, u64);

/// An I/O in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Began {
    /// Its submitter.
    pub task: u32,
    /// All its sectors; 0 for a flush.
    pub sectors: u32,
    /// Its arrival.
    pub queued: Time,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    began: Began,
    /// Sectors that are not done yet.
    left: u32,
}

/// I/Os in flight.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    pieces: BTreeMap<Key, Piece>,
    /// In order of time, for expiry.
    oldest: VecDeque<(Time, Key)>,
    begun: u64,
}

impl UnderWay {
    /// Starts an I/O of `task`. `sectors` is 0 for a flush.
    pub fn begin(&mut self, now: Time, volume: u16, sector: u64, sectors: u32, task: u32) {
        let key = (volume, if sectors == 0 { FLUSH } else { sector }, self.begun);
        self.begun += 1;
        self.pieces.insert(key, Piece { began: Began { task, sectors, queued: now }, left: sectors });
        self.oldest.push_back((now, key));
    }

    /// Completes sectors, or for 0 of them a flush. Calls `done` with each I/O that is complete.
    pub fn end(&mut self, volume: u16, sector: u64, sectors: u32, mut done: impl FnMut(Began)) {
        let mut at = if sectors == 0 { FLUSH } else { sector };
        let end = sector.saturating_add(u64::from(sectors));
        loop {
            let next = self.pieces.range((volume, at, 0)..=(volume, end.max(at), u64::MAX)).next();
            let Some((&key, &piece)) = next.filter(|(key, _)| sectors == 0 || key.1 < end) else { return };
            self.pieces.remove(&key);
            let behind = key.1.saturating_add(u64::from(piece.left));
            if sectors > 0 && behind > end {
                let rest = Piece { left: (behind - end) as u32, ..piece };
                self.pieces.insert((volume, end, key.2), rest);
                self.oldest.push_back((piece.began.queued, (volume, end, key.2)));
                return;
            }
            done(piece.began);
            if sectors == 0 {
                return;
            }
            at = behind;
        }
    }

    /// Drops I/Os in flight for too long. Calls `lost` with their submitters.
    pub fn forget(&mut self, now: Time, mut lost: impl FnMut(u32)) {
        while let Some((_, key)) = self.oldest.front().copied().filter(|(begun, _)| now.since(*begun) > TIMEOUT) {
            self.oldest.pop_front();
            if let Some(piece) = self.pieces.remove(&key) {
                lost(piece.began.task);
            }
        }
    }

    /// Number of I/Os in flight.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(pieces: &[(u64, u32, u32)], ends: &[(u64, u32)]) -> (Vec<u32>, usize) {
        let mut under_way = UnderWay::default();
        for (sector, sectors, task) in pieces {
            under_way.begin(Time(1), 0, *sector, *sectors, *task);
        }
        let mut done = Vec::new();
        for (sector, sectors) in ends {
            under_way.end(0, *sector, *sectors, |piece| done.push(piece.task));
        }
        (done, under_way.len())
    }

    #[test]
    fn a_request_ends_all_the_pieces_that_were_merged_into_it() {
        assert_eq!(ended(&[(16, 8, 1), (8, 8, 2), (24, 8, 3), (64, 8, 4)], &[(8, 24)]), (vec![2, 1, 3], 1));
    }

    #[test]
    fn a_piece_that_was_cut_ends_with_its_last_part() {
        assert_eq!(ended(&[(0, 16, 1)], &[(0, 8)]), (vec![], 1));
        assert_eq!(ended(&[(0, 16, 1)], &[(0, 8), (8, 8)]), (vec![1], 0));
    }

    #[test]
    fn of_two_pieces_at_one_place_a_completion_ends_the_older() {
        assert_eq!(ended(&[(0, 8, 1), (0, 8, 2)], &[(0, 8)]), (vec![1], 1));
    }

    #[test]
    fn a_flush_ends_one_flush() {
        assert_eq!(ended(&[(0, 0, 1), (0, 0, 2), (0, 8, 3)], &[(0, 0)]), (vec![1], 2));
    }

    #[test]
    fn what_never_completes_is_given_up_after_a_minute() {
        let mut under_way = UnderWay::default();
        under_way.begin(Time(0), 0, 0, 8, 7);
        let mut lost = Vec::new();
        under_way.forget(Time(60_000_000_000), |task| lost.push(task));
        assert!(lost.is_empty());
        under_way.forget(Time(60_000_000_001), |task| lost.push(task));
        assert_eq!((lost, under_way.len()), (vec![7], 0));
    }
}
