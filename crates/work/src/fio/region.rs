//! A job's region of one file: the next offset, and the amount done.

use super::job::FioJob;
use super::map::UsedMap;
use super::units::Amount;
use goodness_core::Rng;

/// A job's region of one file.
#[derive(Clone, Debug)]
pub(super) struct Region {
    /// First byte.
    pub start: u64,
    /// Bytes, whole blocks.
    pub len: u64,
    /// Offsets of the next sequential read, write and trim, from `start`.
    next: [u64; 3],
    /// Bytes moved in this round; a round ends when all files have moved their length.
    pub moved: u64,
    /// Random jobs with a map.
    map: Option<UsedMap>,
    /// For random jobs: the end of the last I/O, and the number of I/Os that follow it sequentially.
    follow: (u64, u64),
}

impl Region {
    pub fn new(job: &FioJob, block: u64, whole: u64) -> Result<Region, String> {
        let increment = job.offset_increment.of(whole).saturating_mul(job.clone.into());
        let start = job.offset.of(whole).saturating_add(increment);
        let room = whole.saturating_sub(start);
        let files = job.files.len() as u64;
        let size = match job.size {
            None => room,
            Some(Amount::Bytes(bytes)) => bytes / files,
            Some(share) => share.of(whole),
        };
        let len = size.min(room) / block * block;
        if len == 0 {
            return Err(format!(
                "job {}: from byte {start} on, {} bytes hold no block of {block}; make size larger or offset smaller",
                job.name,
                size.min(room)
            ));
        }
        let map = if job.pattern.random && !job.no_map {
            if len / block > UsedMap::MOST {
                let most = UsedMap::MOST;
                return Err(format!("job {}: more than {most} blocks; write norandommap", job.name));
            }
            Some(UsedMap::new(len / block))
        } else {
            None
        };
        Ok(Region { start, len, next: [0; 3], moved: 0, map, follow: (0, 0) })
    }

    /// A new round.
    pub fn begin(&mut self) {
        self.moved = 0;
        self.next = [0; 3];
        self.follow = (0, 0);
        if let Some(map) = &mut self.map {
            map.clear();
        }
    }

    /// The offset after the last I/O in this direction; wraps around at the end.
    pub fn sequential(&mut self, way: usize, wanted: u64, block: u64, skip: i64) -> (u64, u64) {
        let mut at = self.next[way];
        if self.len - at < block {
            at = 0;
        }
        let bytes = fitting(wanted, self.len - at, block);
        let next = at as i128 + i128::from(bytes) + i128::from(skip);
        // A job that reads backwards continues from the end.
        let last = (self.len - bytes) / block * block;
        self.next[way] = u64::try_from(next).unwrap_or(last).min(self.len);
        (at, bytes)
    }

    /// A random offset, or the one after the last I/O as often as the pattern requires.
    pub fn random(&mut self, wanted: u64, block: u64, run: i64, rng: &mut Rng) -> (u64, u64) {
        let (end, left) = self.follow;
        let blocks = self.len / block;
        let first = end.div_ceil(block);
        let follows = left > 0 && first < blocks && self.map.as_ref().is_none_or(|map| !map.contains(first));
        let (at, bytes) = match &mut self.map {
            Some(map) => {
                if map.is_full() {
                    map.clear();
                }
                let from = if follows { first } else { rng.below(blocks) };
                let found = map.next_free(from).unwrap_or(0);
                let free = map.free_run(found, wanted.div_ceil(block));
                (0..free).for_each(|step| map.insert(found + step));
                (found, wanted.min(free * block))
            }
            None => {
                let needed = wanted.div_ceil(block).min(blocks);
                let found = if follows { first } else { rng.below(blocks - needed + 1) };
                (found, wanted.min((blocks - found) * block))
            }
        };
        let left = if follows { left - 1 } else { run.max(1) as u64 - 1 };
        self.follow = (at * block + bytes, left);
        (at * block, bytes)
    }
}

/// `wanted` if it fits into `room`, else the largest multiple of `block` that does.
const fn fitting(wanted: u64, room: u64, block: u64) -> u64 {
    if wanted <= room { wanted } else { room / block * block }
}
