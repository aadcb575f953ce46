//! Finds the issue that a completion ends, in bounded memory.

use super::record::{BlockRecord, BlockStage};
use crate::repairs::{Repair, Repairs};
use goodness_core::{DiskId, Time};
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Most I/Os per generation. Up to two generations are kept; older ones are dropped.
const GENERATION: usize = 1 << 16;

/// An I/O in flight.
#[derive(Clone, Copy)]
struct Begun {
    at: Time,
    sectors: u32,
}

type Table = HashMap<(DiskId, u64), Begun, Mixer>;

/// Issues that wait for their completion; on disks without issues (stacked devices), queueings.
#[derive(Default)]
pub(crate) struct Pairs {
    young: Table,
    /// The previous generation, dropped as a whole when the current one is full.
    old: Table,
    /// For each disk, true if it issues requests.
    issues: Vec<bool>,
}

impl Pairs {
    /// Records the start of an I/O, and sets the response time of a completion.
    #[inline]
    pub fn follow(&mut self, record: &mut BlockRecord, place: u64, repairs: &mut Repairs) {
        if record.disk == BlockRecord::NO_DISK || record.response.is_some() {
            return;
        }
        match record.stage {
            BlockStage::Issue => {
                *self.issues_of(record.disk) = true;
                self.begin(record);
            }
            BlockStage::Queue if !*self.issues_of(record.disk) => self.begin(record),
            BlockStage::Requeue => drop(self.end(record)),
            BlockStage::Complete { .. } => match self.end(record) {
                Some(begun) => record.response = Some(record.at.since(begun.at)),
                None => repairs.add(Repair::UnmatchedCompletion, 1, place),
            },
            _ => {}
        }
    }

    fn issues_of(&mut self, disk: DiskId) -> &mut bool {
        let at = usize::from(disk.0);
        if at >= self.issues.len() {
            self.issues.resize(at + 1, false);
        }
        &mut self.issues[at]
    }

    fn begin(&mut self, record: &BlockRecord) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert((record.disk, record.sector), Begun { at: record.at, sectors: record.sectors });
    }

    /// Removes the I/O that `record` completes. A partial completion leaves the rest behind its last sector.
    fn end(&mut self, record: &BlockRecord) -> Option<Begun> {
        let key = (record.disk, record.sector);
        let begun = self.young.remove(&key).or_else(|| self.old.remove(&key))?;
        if record.sectors > 0 && record.sectors < begun.sectors && matches!(record.stage, BlockStage::Complete { .. }) {
            let rest = Begun { sectors: begun.sectors - record.sectors, ..begun };
            self.young.insert((record.disk, record.end()), rest);
        }
        Some(begun)
    }
}

/// Hashes two small numbers with a random key per run, so that no file can force collisions. Nothing depends on the
/// order of the table.
#[derive(Clone)]
struct Mixer(u64);

impl Default for Mixer {
    fn default() -> Mixer {
        Mixer(RandomState::new().build_hasher().finish() | 1)
    }
}

impl BuildHasher for Mixer {
    type Hasher = Mix;
    fn build_hasher(&self) -> Mix {
        Mix { key: self.0, state: self.0 }
    }
}

/// Multiply and fold, word by word.
struct Mix {
    key: u64,
    state: u64,
}

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u16(&mut self, word: u16) {
        self.write_u64(u64::from(word));
    }
    fn write_u64(&mut self, word: u64) {
        let wide = u128::from(self.state ^ word).wrapping_mul(u128::from(self.key ^ 0x9e37_79b9_7f4a_7c15));
        self.state = (wide as u64 ^ (wide >> 64) as u64).wrapping_add(self.key);
    }
    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{Operation, Span};

    fn at(ns: u64, stage: BlockStage, sector: u64, sectors: u32) -> BlockRecord {
        BlockRecord { stage, ..BlockRecord::queue(Time(ns), DiskId(0), Operation::Read, sector, sectors) }
    }

    fn responses(records: &[BlockRecord]) -> (Vec<Option<u64>>, u64) {
        let (mut pairs, mut repairs) = (Pairs::default(), Repairs::default());
        let times = records
            .iter()
            .map(|record| {
                let mut record = *record;
                pairs.follow(&mut record, 1, &mut repairs);
                record.response.map(Span::ns)
            })
            .collect();
        (times, repairs.of(Repair::UnmatchedCompletion).count)
    }

    const DONE: BlockStage = BlockStage::Complete { error: 0 };

    #[test]
    fn a_completion_is_timed_from_its_issue_and_not_from_its_queueing() {
        let records = [
            at(5, BlockStage::Issue, 0, 8),
            at(10, BlockStage::Queue, 8, 8),
            at(20, BlockStage::Issue, 8, 8),
            at(50, DONE, 8, 8),
        ];
        assert_eq!(responses(&records), (vec![None, None, None, Some(30)], 0));
    }

    #[test]
    fn a_disk_that_never_issues_is_timed_from_the_queueing() {
        let records = [at(10, BlockStage::Queue, 8, 8), at(50, DONE, 8, 8)];
        assert_eq!(responses(&records), (vec![None, Some(40)], 0));
    }

    #[test]
    fn a_request_completed_in_parts_is_timed_for_each_part() {
        let records = [at(10, BlockStage::Issue, 8, 8), at(30, DONE, 8, 2), at(50, DONE, 10, 6)];
        assert_eq!(responses(&records), (vec![None, Some(20), Some(40)], 0));
    }

    #[test]
    fn a_requeued_request_counts_from_its_second_issue() {
        let records = [
            at(10, BlockStage::Issue, 8, 8),
            at(20, BlockStage::Requeue, 8, 8),
            at(30, BlockStage::Issue, 8, 8),
            at(50, DONE, 8, 8),
        ];
        assert_eq!(responses(&records), (vec![None, None, None, Some(20)], 0));
    }

    #[test]
    fn a_completion_without_issue_is_counted_and_has_no_time() {
        assert_eq!(responses(&[at(50, DONE, 8, 8)]), (vec![None], 1));
    }

    #[test]
    fn what_never_completes_is_forgotten_in_the_end() {
        let mut pairs = Pairs::default();
        for n in 0..500_000 {
            pairs.follow(&mut at(n, BlockStage::Issue, n * 8, 8), n, &mut Repairs::default());
            assert!(pairs.young.len() + pairs.old.len() <= 2 * GENERATION);
        }
    }
}
