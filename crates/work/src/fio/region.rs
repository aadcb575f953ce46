//! A job's region of one file: the next offset, and the amount done.

use super::distribution::Distribution;
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
    /// Distribution of random offsets.
    distribution: Distribution,
    /// Zone and gap of a sequential job, and the bytes moved in this zone.
    strides: Option<(u64, u64)>,
    in_zone: u64,
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
        let is_even = job.distribution == Distribution::Uniform;
        let map = if job.pattern.random && !job.no_map && is_even {
            if len / block > UsedMap::MOST {
                let most = UsedMap::MOST;
                return Err(format!("job {}: more than {most} blocks; write norandommap", job.name));
            }
            Some(UsedMap::new(len / block))
        } else {
            None
        };
        let (distribution, strides) = (job.distribution.clone(), job.strides);
        Ok(Region { start, len, next: [0; 3], moved: 0, map, distribution, strides, in_zone: 0, follow: (0, 0) })
    }

    /// A new round.
    pub fn begin(&mut self) {
        self.moved = 0;
        self.next = [0; 3];
        self.follow = (0, 0);
        self.in_zone = 0;
        if let Some(map) = &mut self.map {
            map.clear();
        }
    }

    /// True if a job that leaves gaps has reached the end of the file, which ends its round.
    pub fn is_at_end(&self, way: usize, skip: i64) -> bool {
        skip != 0 && self.next[way] >= self.len
    }

    /// The offset after the last I/O in this direction, and behind the gap; wraps around at the end. As in fio: no gap
    /// comes before the first byte, and a job that reads backwards goes on a gap before the end.
    pub fn sequential(&mut self, way: usize, wanted: u64, block: u64, skip: i64) -> (u64, u64) {
        let mut at = self.next[way];
        if at > 0 && skip != 0 {
            let behind = i128::from(at) + i128::from(skip);
            let wraps = if skip > 0 { 0 } else { i128::from(self.len) + i128::from(skip) };
            at = u64::try_from(behind).ok().filter(|at| *at < self.len).unwrap_or(wraps.max(0) as u64);
        }
        if self.len - at < block {
            at = 0;
        }
        let bytes = fitting(wanted, self.len - at, block);
        self.next[way] = at + bytes;
        self.stride(way, bytes);
        (at, bytes)
    }

    /// Goes on in the next zone when this one is done.
    fn stride(&mut self, way: usize, bytes: u64) {
        let Some((zone, gap)) = self.strides else { return };
        self.in_zone += bytes;
        if self.in_zone >= zone {
            self.in_zone = 0;
            self.next[way] = self.next[way].saturating_add(gap);
            if self.next[way] >= self.len {
                self.next[way] = 0;
            }
        }
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
                let drawn = |rng: &mut Rng| match &self.distribution {
                    Distribution::Uniform => rng.below(blocks - needed + 1),
                    other => other.draw(blocks, block, rng).min(blocks - needed),
                };
                let found = if follows { first } else { drawn(rng) };
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
