//! Garbage collection: picks the block with the fewest valid units, moves them row by row to another block of the same
//! LUN, and erases the block.

use super::Flash;
use super::lun::Work;
use super::mapping::{NONE, Search};
use goodness_core::Time;

/// Operations on the flash, in mapping units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wear {
    /// Units that the host wrote.
    pub host: u64,
    /// Host units programmed. Units overwritten in the buffer do not count.
    pub written: u64,
    /// Units that collection moved.
    pub moved: u64,
    /// Units of rows that were programmed without contents.
    pub padding: u64,
    /// Blocks erased.
    pub erased: u64,
}

impl Wear {
    /// Write amplification in thousandths: units programmed per unit the host wrote; 0 before the first.
    #[must_use]
    pub fn amplification(&self) -> u64 {
        (1000 * (self.written + self.moved + self.padding)).checked_div(self.host).unwrap_or(0)
    }

    /// Difference to `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Wear) -> Wear {
        Wear {
            host: self.host - earlier.host,
            written: self.written - earlier.written,
            moved: self.moved - earlier.moved,
            padding: self.padding - earlier.padding,
            erased: self.erased - earlier.erased,
        }
    }
}

impl Flash {
    /// True if the LUN has a block to collect and must: its free blocks are the last.
    pub(super) fn must_collect(&mut self, lun: u32) -> bool {
        self.blocks.is_short(lun) && self.has_victim(lun, Search::Forced)
    }

    /// True if it has a block worth collecting while idle.
    pub(super) fn may_collect(&mut self, lun: u32) -> bool {
        self.blocks.free(lun) < self.geometry.background as usize && self.has_victim(lun, Search::Idle)
    }

    /// Most valid units of a block to collect. Collection must gain at least a row, or it would never end.
    fn valid_max(&self, search: Search) -> u32 {
        let units = self.geometry.units_per_block();
        let gaining = units - self.geometry.units_per_row;
        match search {
            Search::Forced => gaining,
            Search::Idle => gaining.min((u64::from(units) * self.settings.collect_valid / 100) as u32),
        }
    }

    /// True if a block is being collected, or one can be.
    fn has_victim(&mut self, lun: u32, search: Search) -> bool {
        if self.luns[lun as usize].collection.victim != NONE {
            return true;
        }
        if !self.mapping.is_worth_searching(lun, search) {
            return false;
        }
        let Some(victim) = self.blocks.victim(&self.geometry, &self.mapping, lun) else { return false };
        let missing = self.mapping.valid(victim).saturating_sub(self.valid_max(search));
        if missing > 0 {
            self.mapping.searched_in_vain(lun, search, missing);
            return false;
        }
        let collection = &mut self.luns[lun as usize].collection;
        (collection.victim, collection.row) = (victim, 0);
        true
    }

    /// The next step of the collection of a block.
    pub(super) fn collect(&mut self, now: Time, lun: u32) {
        let left = self.next_valid_row(lun);
        let gathered = self.luns[lun as usize].collection.gathered.len();
        let is_row = gathered >= self.geometry.units_per_row as usize;
        let (start, span, work) = if is_row || (left.is_none() && gathered > 0) {
            let place = self.blocks.move_row(&self.geometry, lun);
            (self.copy_over_channel(now, lun), self.settings.program, Work::MoveProgram(place))
        } else if let Some(row) = left {
            self.luns[lun as usize].collection.row = row;
            (now, self.read_span(self.is_upper(row)), Work::MoveRead)
        } else {
            (now, self.settings.erase, Work::Erase)
        };
        let span = self.jitter.apply(span);
        self.begin(start + span, lun, work);
    }

    /// Without copyback a moved row crosses the channel, to the controller and back.
    fn copy_over_channel(&mut self, now: Time, lun: u32) -> Time {
        if self.settings.copyback {
            return now;
        }
        let units = self.luns[lun as usize].collection.gathered.len().min(self.geometry.units_per_row as usize) as u64;
        self.over_channel(now, lun, units * self.settings.mapping_unit)
    }

    /// The next row of the block with valid data.
    fn next_valid_row(&self, lun: u32) -> Option<u32> {
        let collection = &self.luns[lun as usize].collection;
        if self.mapping.valid(collection.victim) == 0 {
            return None;
        }
        (collection.row..self.geometry.rows_per_block)
            .find(|row| self.row_places(collection.victim, *row).any(|place| self.mapping.owner(place).is_some()))
    }

    fn row_places(&self, block: u32, row: u32) -> std::ops::Range<u32> {
        let first = (block * self.geometry.rows_per_block + row) * self.geometry.units_per_row;
        first..first + self.geometry.units_per_row
    }

    /// Handles the end of a row read: gathers its valid units.
    pub(super) fn move_read_ended(&mut self, now: Time, lun: u32) {
        let (victim, row) = (self.luns[lun as usize].collection.victim, self.luns[lun as usize].collection.row);
        let before = self.luns[lun as usize].collection.gathered.len();
        for place in self.row_places(victim, row) {
            if let Some(unit) = self.mapping.owner(place) {
                self.luns[lun as usize].collection.gathered.push((unit, place));
            }
        }
        self.luns[lun as usize].collection.row += 1;
        if !self.settings.copyback {
            let gathered = (self.luns[lun as usize].collection.gathered.len() - before) as u64;
            self.over_channel(now, lun, gathered * self.settings.mapping_unit);
        }
    }

    /// Handles the end of programming gathered units at `place`.
    pub(super) fn move_ended(&mut self, lun: u32, place: u32) {
        let gathered = &mut self.luns[lun as usize].collection.gathered;
        let count = gathered.len().min(self.geometry.units_per_row as usize);
        let mut to = place;
        for (unit, from) in gathered.drain(..count) {
            self.mapping.copied(&self.geometry, unit, from, to);
            to += 1;
        }
        for empty in to..place + self.geometry.units_per_row {
            self.mapping.program(&self.geometry, None, empty);
        }
        self.blocks.programmed(&self.geometry, &mut self.mapping, place);
        self.wear.moved += count as u64;
        self.wear.padding += u64::from(self.geometry.units_per_row) - count as u64;
    }

    /// Handles the end of an erase: rows waiting for the block can be sent.
    pub(super) fn erase_ended(&mut self, now: Time, lun: u32) {
        let collection = &mut self.luns[lun as usize].collection;
        let victim = std::mem::replace(&mut collection.victim, NONE);
        self.blocks.erase(&self.geometry, victim);
        self.wear.erased += 1;
        self.drain(now);
    }
}
