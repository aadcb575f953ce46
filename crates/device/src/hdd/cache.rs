//! The segmented buffer of a drive: read segments, and writes completed early.

use super::geometry::Arm;
use super::queue::Waiting;

/// A read segment: consecutive addresses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// First address.
    pub start: u64,
    /// The address after the last; equal to `start` in an empty segment.
    pub end: u64,
    /// Turn in which it was last used.
    used: u64,
}

/// A completed write that is not yet on the media.
#[derive(Clone, Copy, Debug)]
pub struct Dirty {
    /// First address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
    /// Number of its oldest write; later flushes wait for the extent.
    pub oldest: u64,
    /// Number of the newest write in it.
    pub newest: u64,
    /// Nanosecond from which the media may be written without waiting for the bus.
    pub data_ready: u64,
    /// Nanosecond from which the arm may move for it.
    pub movable: u64,
    /// Track of its first sector.
    pub arm: Arm,
    /// Angle of its first sector.
    pub angle: u64,
    /// True if it is being written.
    pub under_way: bool,
}

impl Dirty {
    /// The extent as a candidate for the arm, with this number.
    #[must_use]
    pub fn waiting(&self, number: usize) -> Waiting {
        Waiting {
            slot: number as u32,
            address: self.start,
            arm: self.arm,
            angle: self.angle,
            arrived: self.movable,
            movable: self.movable,
            turn: self.oldest,
            write: true,
        }
    }
}

/// Result of a cache lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// All of it, in this read segment, or in a dirty extent.
    Whole(Option<usize>),
    /// Its beginning, in this segment.
    Start(usize),
    /// None of it.
    Nothing,
}

/// Read segments and dirty extents.
#[derive(Clone, Debug)]
pub struct Cache {
    segments: Vec<Segment>,
    segment_sectors: u64,
    /// Writes that completed early.
    pub dirty: Vec<Dirty>,
    dirty_max: usize,
    turn: u64,
}

impl Cache {
    /// `segments` of `segment_sectors` each, and room for `dirty_max` extents of the same size.
    #[must_use]
    pub fn new(segments: usize, segment_sectors: u32, dirty_max: usize) -> Cache {
        Cache {
            segments: vec![Segment::default(); segments.max(1)],
            segment_sectors: u64::from(segment_sectors),
            dirty: Vec::with_capacity(dirty_max),
            dirty_max,
            turn: 0,
        }
    }

    /// Looks up `start..end`.
    #[must_use]
    pub fn find(&self, start: u64, end: u64) -> Found {
        if self.dirty.iter().any(|dirty| dirty.start <= start && end <= dirty.end) {
            return Found::Whole(None);
        }
        let mut found = Found::Nothing;
        for (number, segment) in self.segments.iter().enumerate() {
            if segment.start <= start && start < segment.end {
                if end <= segment.end {
                    return Found::Whole(Some(number));
                }
                found = Found::Start(number);
            }
        }
        found
    }

    /// Segment `number`.
    #[must_use]
    pub fn segment(&self, number: usize) -> Segment {
        self.segments[number]
    }

    /// The segment was read from.
    pub fn touch(&mut self, number: usize) {
        self.turn += 1;
        self.segments[number].used = self.turn;
    }

    /// Empties a segment and returns it: an empty one if there is one, else the least recently used; `keep` only if
    /// there is no other.
    pub fn take(&mut self, keep: Option<usize>) -> usize {
        let order = |number: &usize| {
            let segment = &self.segments[*number];
            (keep == Some(*number), segment.start < segment.end, segment.used)
        };
        let number = (0..self.segments.len()).min_by_key(order).expect("a cache has a segment");
        self.segments[number] = Segment::default();
        self.touch(number);
        number
    }

    /// Fills segment `number` with `start..end`, or as much of its end as fits.
    pub fn fill(&mut self, number: usize, start: u64, end: u64) {
        let segment = &mut self.segments[number];
        segment.start = start.max(end.saturating_sub(self.segment_sectors));
        segment.end = end;
    }

    /// Drops read segments that overlap `start..end`: their contents are stale.
    pub fn invalidate(&mut self, start: u64, end: u64) {
        for segment in &mut self.segments {
            if segment.start < end && start < segment.end {
                (segment.start, segment.end) = (0, 0);
            }
        }
    }

    /// Takes a write of `start..end` that may complete early: it lies within or directly behind a waiting dirty extent,
    /// or there is room for a new extent. Returns false otherwise. `write` tells when its data arrives.
    pub fn absorb(&mut self, write: Dirty) -> bool {
        if write.end - write.start > self.segment_sectors {
            return false;
        }
        for dirty in self.dirty.iter_mut().filter(|dirty| !dirty.under_way) {
            let inside = dirty.start <= write.start && write.end <= dirty.end;
            let behind = dirty.end == write.start && write.end - dirty.start <= self.segment_sectors;
            if inside || behind {
                dirty.end = dirty.end.max(write.end);
                dirty.newest = write.newest;
                dirty.data_ready = dirty.data_ready.max(write.data_ready);
                return true;
            }
        }
        if self.dirty.len() == self.dirty_max {
            return false;
        }
        self.dirty.push(write);
        true
    }

    /// True if extents with writes numbered up to `turn` are not on the media yet. An extent counts by its oldest
    /// write, so a flush may wait for a newer write that joined it, but never completes before an older one is on the
    /// media.
    #[must_use]
    pub fn holds_writes_until(&self, turn: u64) -> bool {
        self.dirty.iter().any(|dirty| dirty.oldest <= turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(start: u64, end: u64) -> Dirty {
        Dirty {
            start,
            end,
            oldest: 1,
            newest: 1,
            data_ready: 0,
            movable: 0,
            arm: Arm::default(),
            angle: 0,
            under_way: false,
        }
    }

    #[test]
    fn the_least_recently_used_segment_is_taken_but_not_the_kept_one() {
        let mut cache = Cache::new(3, 100, 0);
        for start in [1000, 2000, 3000] {
            let number = cache.take(None);
            cache.fill(number, start, start + 50);
        }
        assert_eq!(cache.find(1000, 1010), Found::Whole(Some(0)));
        cache.touch(0);
        assert_eq!(cache.take(Some(1)), 2);
        cache.fill(2, 4000, 4010);
        assert_eq!(cache.find(3000, 3001), Found::Nothing);
        assert_eq!(cache.find(2040, 2060), Found::Start(1));
        assert_eq!(cache.find(1990, 2010), Found::Nothing, "the beginning is what counts");
    }

    #[test]
    fn a_segment_keeps_the_end_of_what_it_cannot_hold() {
        let mut cache = Cache::new(1, 100, 0);
        cache.fill(0, 0, 130);
        assert_eq!((cache.find(29, 40), cache.find(30, 40)), (Found::Nothing, Found::Whole(Some(0))));
    }

    #[test]
    fn sequential_writes_share_an_extent_and_the_room_is_bounded() {
        let mut cache = Cache::new(1, 100, 2);
        assert!(cache.absorb(write(0, 10)) && cache.absorb(write(10, 20)) && cache.absorb(write(4, 8)));
        assert_eq!((cache.dirty.len(), cache.dirty[0].end), (1, 20));
        assert!(cache.absorb(write(50, 60)));
        assert!(!cache.absorb(write(80, 90)), "two extents is the limit");
        assert!(!cache.absorb(write(20, 101)), "an extent is no larger than a segment");
        cache.dirty[0].under_way = true;
        assert!(!cache.absorb(write(20, 30)), "what is being written does not grow");
        assert_eq!(cache.find(4, 20), Found::Whole(None));
    }

    #[test]
    fn an_extent_that_a_newer_write_joined_still_holds_its_oldest() {
        let mut cache = Cache::new(1, 100, 2);
        let numbered = |start, end, turn| Dirty { oldest: turn, newest: turn, ..write(start, end) };
        assert!(cache.absorb(numbered(0, 10, 5)) && cache.absorb(numbered(10, 20, 7)));
        assert_eq!((cache.dirty.len(), cache.dirty[0].newest), (1, 7));
        assert!(cache.holds_writes_until(6) && !cache.holds_writes_until(4));
    }

    #[test]
    fn a_write_drops_what_it_overlaps() {
        let mut cache = Cache::new(2, 100, 0);
        cache.fill(0, 0, 50);
        cache.fill(1, 200, 250);
        cache.invalidate(49, 60);
        assert_eq!((cache.find(0, 10), cache.find(200, 210)), (Found::Nothing, Found::Whole(Some(1))));
    }
}
