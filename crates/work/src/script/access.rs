//! An access of a script to a volume or a file.

use goodness_core::{FileId, IoStep, Operation, Rng, Step, VolumeId};

/// Target of an access: sectors of a volume (bypassing the page cache), or pages of a file (through it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A volume.
    Volume(VolumeId),
    /// A file.
    File(FileId),
}

/// Offset in the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// After the last access with this cursor of the script; wraps around.
    Next(u16),
    /// Drawn evenly from the multiples of the size.
    Random,
    /// Here.
    At(u64),
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Target.
    pub target: Target,
    /// Its size in units; at least as large as the access.
    pub extent: u64,
    /// Position.
    pub place: Place,
    /// Number of units.
    pub units: u32,
    /// Write instead of read.
    pub write: bool,
    /// True if a write is synchronous.
    pub sync: bool,
}

impl Access {
    /// The step, with `cursors` of the task moved on.
    pub fn step(&self, cursors: &mut [u64], rng: &mut Rng) -> Step {
        let last = self.extent.saturating_sub(u64::from(self.units));
        let first = match self.place {
            Place::At(unit) => unit,
            Place::Random => rng.below(last / u64::from(self.units) + 1) * u64::from(self.units),
            Place::Next(cursor) => {
                let cursor = &mut cursors[usize::from(cursor)];
                let first = if *cursor > last { 0 } else { *cursor };
                *cursor = first + u64::from(self.units);
                first
            }
        };
        Step::Io(match (self.target, self.write) {
            (Target::File(file), false) => IoStep::Read { file, page: first as u32, pages: self.units },
            (Target::File(file), true) => IoStep::Write { file, page: first as u32, pages: self.units },
            (Target::Volume(volume), write) => {
                let op = if write { Operation::Write } else { Operation::Read };
                IoStep::Submit { volume, op, sector: first, sectors: self.units, sync: self.sync }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Seed;

    fn first(step: Step) -> u64 {
        match step {
            Step::Io(IoStep::Submit { sector, .. }) => sector,
            Step::Io(IoStep::Read { page, .. } | IoStep::Write { page, .. }) => page.into(),
            other => panic!("{other:?} is no access"),
        }
    }

    #[test]
    fn a_cursor_goes_on_and_begins_again_where_the_next_access_does_not_fit() {
        let target = Target::File(FileId(3));
        let access = Access { target, extent: 10, place: Place::Next(0), units: 4, write: false, sync: false };
        let (mut cursors, mut rng) = ([0], Seed(1).rng());
        let places: Vec<u64> = (0..4).map(|_| first(access.step(&mut cursors, &mut rng))).collect();
        assert_eq!(places, [0, 4, 0, 4]);
    }

    #[test]
    fn a_random_place_is_a_multiple_of_the_size_and_inside() {
        let target = Target::Volume(VolumeId(0));
        let access = Access { target, extent: 67, place: Place::Random, units: 8, write: true, sync: false };
        let mut rng = Seed(1).rng();
        let mut seen = [0; 8];
        for _ in 0..1000 {
            let sector = first(access.step(&mut [], &mut rng));
            assert!(sector.is_multiple_of(8) && sector + 8 <= 67);
            seen[sector as usize / 8] += 1;
        }
        assert!(seen.iter().all(|times| *times > 80), "{seen:?}");
    }
}
