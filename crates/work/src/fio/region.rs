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
    /// Bytes with the rest behind the last whole block.
    pub size: u64,
    /// Ends of the last read, write and trim, from `start`.
    next: [u64; 3],
    /// Begins of the last ones.
    last: [u64; 3],
    /// Bytes moved in this round; a round ends when all files have moved their length.
    pub moved: u64,
    /// Random jobs with a map.
    map: Option<UsedMap>,
    /// Distribution of random offsets.
    distribution: Distribution,
    /// Zone and gap of a sequential job, and the bytes moved in this zone.
    strides: Option<(u64, u64)>,
    in_zone: u64,
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
        let size = size.min(room);
        let len = size / block * block;
        if len == 0 {
            return Err(format!(
                "job {}: from byte {start} on, {} bytes hold no block of {block}; make size larger or offset smaller",
                job.name, size
            ));
        }
        let map = if job.pattern.random && !job.draws_used() {
            if len / block > UsedMap::MOST {
                let most = UsedMap::MOST;
                return Err(format!("job {}: more than {most} blocks; write norandommap", job.name));
            }
            Some(UsedMap::new(len / block))
        } else {
            None
        };
        let (distribution, strides) = (job.distribution.clone(), job.strides);
        Ok(Region { start, len, size, next: [0; 3], last: [0; 3], moved: 0, map, distribution, strides, in_zone: 0 })
    }

    /// A new round. As in fio, places that were drawn count as used until all were.
    pub fn begin(&mut self) {
        self.moved = 0;
        self.next = [0; 3];
        self.last = [0; 3];
        self.in_zone = 0;
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

    /// A new random offset.
    pub fn random(&mut self, way: usize, wanted: u64, block: u64, rng: &mut Rng) -> (u64, u64) {
        let blocks = self.len / block;
        let (found, bytes) = match &mut self.map {
            Some(map) => {
                if map.is_full() {
                    map.clear();
                }
                let found = map.next_free(rng.below(blocks)).unwrap_or(0);
                let free = map.free_run(found, wanted.div_ceil(block));
                (0..free).for_each(|step| map.insert(found + step));
                (found, wanted.min(free * block))
            }
            None => {
                let needed = wanted.div_ceil(block).min(blocks);
                let found = match &self.distribution {
                    Distribution::Uniform => rng.below(blocks - needed + 1),
                    // As in fio, the rest behind the last block counts as one.
                    other => other.draw(self.size.div_ceil(block), block, rng).min(blocks - needed),
                };
                (found, wanted.min((blocks - found) * block))
            }
        };
        self.at(way, found * block, bytes)
    }

    /// The offset of a random job that goes on where it was, or stays there if it `repeats`; `None` at the end. As in
    /// fio, it may have been used before, and does not count as used.
    pub fn onward(&mut self, way: usize, wanted: u64, block: u64, repeats: bool) -> Option<(u64, u64)> {
        let at = if repeats { self.last[way] } else { self.next[way] };
        (self.len - at >= block).then(|| self.at(way, at, fitting(wanted, self.len - at, block)))
    }

    /// Notes where a random job is.
    fn at(&mut self, way: usize, at: u64, bytes: u64) -> (u64, u64) {
        (self.last[way], self.next[way]) = (at, at + bytes);
        (at, bytes)
    }
}

/// `wanted` if it fits into `room`, else the largest multiple of `block` that does.
const fn fitting(wanted: u64, room: u64, block: u64) -> u64 {
    if wanted <= room { wanted } else { room / block * block }
}
