//! Writes that are read again (`verify`): in the order in which they were written; where a random job may draw a place
//! twice, in the order of the places, the last write of each alone.

use super::job::Verify;
use std::collections::{BTreeMap, VecDeque};

/// What was written: file, first byte, bytes.
pub(super) type Written = (u32, u64, u64);

/// Writes to read again.
#[derive(Clone, Debug)]
enum Order {
    OfWriting(VecDeque<Written>),
    /// By file and first byte.
    OfPlaces(BTreeMap<(u32, u64), u64>),
}

/// Writes to read again.
#[derive(Clone, Debug)]
pub(super) struct Verifying {
    verify: Option<Verify>,
    written: Order,
    /// Writes that are read now, before anything else is done.
    now: usize,
}

impl Verifying {
    /// Nothing is written. `may_repeat`: places may be written twice.
    pub fn new(verify: Option<Verify>, may_repeat: bool) -> Verifying {
        let written = if may_repeat { Order::OfPlaces(BTreeMap::new()) } else { Order::OfWriting(VecDeque::new()) };
        Verifying { verify, written, now: 0 }
    }

    /// True if places are read in their order.
    pub const fn is_sorted(&self) -> bool {
        matches!(self.written, Order::OfPlaces(_))
    }

    /// This was written.
    pub fn wrote(&mut self, file: usize, offset: u64, bytes: u64) {
        let file = file as u32;
        match &mut self.written {
            Order::OfWriting(all) => all.push_back((file, offset, bytes)),
            Order::OfPlaces(all) => {
                while let Some((&place, _)) = overlapping(all, file, offset, bytes) {
                    all.remove(&place);
                }
                all.insert((file, offset), bytes);
            }
        }
    }

    fn len(&self) -> usize {
        match &self.written {
            Order::OfWriting(all) => all.len(),
            Order::OfPlaces(all) => all.len(),
        }
    }

    /// All is written. True if reading begins with that.
    pub fn end(&mut self) -> bool {
        let begins = self.now < self.len();
        self.now = self.len();
        begins
    }

    /// What is read next, if it is time for that.
    pub fn next(&mut self) -> Option<Written> {
        if let Some(Verify::After(backlog)) = self.verify
            && self.len() as u64 >= backlog
        {
            self.now = self.now.max(self.len());
        }
        if self.now == 0 {
            return None;
        }
        self.now -= 1;
        match &mut self.written {
            Order::OfWriting(all) => all.pop_front(),
            Order::OfPlaces(all) => all.pop_first().map(|((file, offset), bytes)| (file, offset, bytes)),
        }
    }
}

/// The last of those in the file that these bytes overlap.
fn overlapping(all: &BTreeMap<(u32, u64), u64>, file: u32, offset: u64, bytes: u64) -> Option<(&(u32, u64), &u64)> {
    let before = all.range((file, 0)..(file, offset.saturating_add(bytes)));
    before.last().filter(|((_, begin), len)| begin + **len > offset)
}
