//! Maps each unit of the capacity to the write buffer, to flash, or to nothing.
//!
//! Both tables start as zeros, which mean "written in order before the run"; such entries are computed on demand. So a
//! full drive starts without touching its tables and uses memory only for what the run writes.

use super::settings::Geometry;

/// No unit, no place, or no block.
pub(crate) const NONE: u32 = u32::MAX;
/// Marks an entry as a slot of the write buffer.
const BUFFERED: u32 = 1 << 31;

/// Location of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Never written, or discarded.
    Nowhere,
    /// In this slot of the write buffer.
    Buffered(u32),
    /// In this unit of flash.
    Flash(u32),
}

/// Purpose of a search for a block to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    Forced,
    Idle,
}

/// The two tables and the count of valid units of each block.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// By unit: 0 for the initial state, a slot with [`BUFFERED`], [`NONE`], or a place plus one.
    forward: Vec<u32>,
    /// By place: 0 for the initial state, [`NONE`], or a unit plus one.
    backward: Vec<u32>,
    /// By block.
    valid: Vec<u32>,
    /// By LUN and [`Search`]: number of units invalidated, minus the number needed before a search can succeed. Search
    /// when positive.
    stale: Vec<[i64; 2]>,
    start: Initial,
}

/// Units `0..filled` written in order over the LUNs.
#[derive(Debug)]
struct Initial {
    filled: u32,
    luns: u32,
    units_per_row: u32,
    rows_per_lun: u32,
    order: Vec<u32>,
    /// By LUN: its index in `order`.
    position: Vec<u32>,
}

impl Initial {
    fn place(&self, unit: u32) -> Place {
        if unit >= self.filled {
            return Place::Nowhere;
        }
        let (row, slot) = (unit / self.units_per_row, unit % self.units_per_row);
        let lun = self.order[(row % self.luns) as usize];
        Place::Flash((lun * self.rows_per_lun + row / self.luns) * self.units_per_row + slot)
    }

    fn unit(&self, place: u32) -> Option<u32> {
        let (row, slot) = (place / self.units_per_row, place % self.units_per_row);
        let (lun, row) = (row / self.rows_per_lun, row % self.rows_per_lun);
        let striped = u64::from(row) * u64::from(self.luns) + u64::from(self.position[lun as usize]);
        let unit = striped * u64::from(self.units_per_row) + u64::from(slot);
        (unit < u64::from(self.filled)).then_some(unit as u32)
    }

    /// Units written to rows `from..to` of a LUN.
    fn count(&self, lun: u32, from: u32, to: u32) -> u32 {
        let (rows, rest) = (self.filled / self.units_per_row, self.filled % self.units_per_row);
        let position = self.position[lun as usize];
        let full = (rows + self.luns - 1 - position) / self.luns;
        let has_rest = rows % self.luns == position && (from..to).contains(&(rows / self.luns));
        (full.clamp(from, to) - from) * self.units_per_row + if has_rest { rest } else { 0 }
    }
}

impl Mapping {
    /// A mapping with units `0..filled` written.
    pub fn new(geometry: &Geometry, filled: u32) -> Mapping {
        let mut position = vec![0; geometry.luns as usize];
        for (index, lun) in geometry.order.iter().enumerate() {
            position[*lun as usize] = index as u32;
        }
        let start = Initial {
            filled,
            luns: geometry.luns,
            units_per_row: geometry.units_per_row,
            rows_per_lun: geometry.blocks * geometry.rows_per_block,
            order: geometry.order.clone(),
            position,
        };
        let rows = geometry.rows_per_block;
        let valid = (0..geometry.luns)
            .flat_map(|lun| (0..geometry.blocks).map(move |block| (lun, block * rows)))
            .map(|(lun, row)| start.count(lun, row, row + rows))
            .collect();
        Mapping {
            forward: vec![0; geometry.units as usize],
            backward: vec![0; geometry.places()],
            valid,
            stale: vec![[1; 2]; geometry.luns as usize],
            start,
        }
    }

    /// Location of `unit`.
    pub fn place(&self, unit: u32) -> Place {
        match self.forward[unit as usize] {
            0 => self.start.place(unit),
            NONE => Place::Nowhere,
            entry if entry & BUFFERED != 0 => Place::Buffered(entry & !BUFFERED),
            entry => Place::Flash(entry - 1),
        }
    }

    /// The unit with valid data in `place`.
    pub fn owner(&self, place: u32) -> Option<u32> {
        match self.backward[place as usize] {
            0 => self.start.unit(place),
            NONE => None,
            entry => Some(entry - 1),
        }
    }

    /// Valid units of a block.
    pub fn valid(&self, block: u32) -> u32 {
        self.valid[block as usize]
    }

    /// True if a search for a block to collect can succeed.
    pub fn is_worth_searching(&self, lun: u32, search: Search) -> bool {
        self.stale[lun as usize][search as usize] > 0
    }

    /// A search failed: every block has at least `missing` valid units too many.
    pub fn searched_in_vain(&mut self, lun: u32, search: Search, missing: u32) {
        self.stale[lun as usize][search as usize] = 1 - i64::from(missing);
    }

    /// A block became full: it was not among those that were searched.
    pub fn block_is_full(&mut self, lun: u32) {
        for stale in &mut self.stale[lun as usize] {
            *stale = (*stale).max(1);
        }
    }

    /// Maps `unit` to the buffer; its data in flash becomes invalid.
    pub fn buffer(&mut self, geometry: &Geometry, unit: u32, slot: u32) {
        self.forget(geometry, unit);
        self.forward[unit as usize] = BUFFERED | slot;
    }

    /// Discards the data of `unit`. Returns its old location.
    pub fn discard(&mut self, geometry: &Geometry, unit: u32) -> Place {
        let place = self.forget(geometry, unit);
        self.forward[unit as usize] = NONE;
        place
    }

    fn forget(&mut self, geometry: &Geometry, unit: u32) -> Place {
        let place = self.place(unit);
        if let Place::Flash(place) = place {
            let block = geometry.block_of_place(place);
            self.backward[place as usize] = NONE;
            self.valid[block as usize] -= 1;
            for stale in &mut self.stale[geometry.lun_of_block(block) as usize] {
                *stale += 1;
            }
        }
        place
    }

    /// Records that `slot` of `unit` was programmed at `place`. The copy is valid unless the unit was overwritten or
    /// discarded meanwhile.
    pub fn settle(&mut self, geometry: &Geometry, unit: u32, slot: u32, place: u32) {
        let is_current = self.forward[unit as usize] == BUFFERED | slot;
        self.program(geometry, is_current.then_some(unit), place);
    }

    /// `unit` was copied; the copy is valid unless it was overwritten or discarded meanwhile.
    pub fn copied(&mut self, geometry: &Geometry, unit: u32, from: u32, to: u32) {
        let is_current = self.owner(from) == Some(unit);
        if is_current {
            self.forget(geometry, unit);
        }
        self.program(geometry, is_current.then_some(unit), to);
    }

    /// Records that `place` was programmed with valid data of `unit`, or without valid data.
    pub fn program(&mut self, geometry: &Geometry, unit: Option<u32>, place: u32) {
        let Some(unit) = unit else {
            self.backward[place as usize] = NONE;
            return;
        };
        self.forward[unit as usize] = place + 1;
        self.backward[place as usize] = unit + 1;
        self.valid[geometry.block_of_place(place) as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::{Settings, Start};
    use super::*;

    fn small() -> Geometry {
        let settings =
            Settings { sectors: 1 << 16, pages_per_block: 16, over_provision: 150, luns: 2, ..Settings::nvme() };
        Geometry::new(&settings).unwrap()
    }

    #[test]
    fn what_was_written_before_the_run_lies_where_its_owner_is_found_and_blocks_count_it() {
        let geometry = small();
        assert_eq!(Settings::default().start, Start::Full);
        for filled in [0, 1, 4099, geometry.units] {
            let mapping = Mapping::new(&geometry, filled);
            let mut counted = vec![0; (geometry.luns * geometry.blocks) as usize];
            for unit in 0..filled {
                let Place::Flash(place) = mapping.place(unit) else { panic!("unit {unit} lies nowhere") };
                assert_eq!(mapping.owner(place), Some(unit));
                counted[geometry.block_of_place(place) as usize] += 1;
            }
            assert_eq!(counted, mapping.valid, "{filled} units");
            assert_eq!((0..geometry.places() as u32).filter(|p| mapping.owner(*p).is_some()).count(), filled as usize);
        }
    }

    #[test]
    fn a_copy_of_what_was_overwritten_meanwhile_is_not_valid() {
        let geometry = small();
        let mut mapping = Mapping::new(&geometry, geometry.units);
        let Place::Flash(from) = mapping.place(5) else { panic!("the drive is full") };
        let to = geometry.places() as u32 - 1;
        mapping.buffer(&geometry, 5, 3);
        mapping.copied(&geometry, 5, from, to);
        assert_eq!((mapping.place(5), mapping.owner(to)), (Place::Buffered(3), None));
        mapping.settle(&geometry, 5, 3, to - 1);
        assert_eq!((mapping.place(5), mapping.owner(to - 1)), (Place::Flash(to - 1), Some(5)));
    }
}
