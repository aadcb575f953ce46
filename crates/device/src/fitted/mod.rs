//! fitted: a device as `goodness calibrate --device` measured it.
//!
//! The latency of a command is drawn from what was measured among as many commands of that size, at random places or in
//! sequence: a [`Grid`] of closed loops, straight lines between. So a closed loop of one size comes back as it was
//! measured, by its mean and its quantiles.
//!
//! Where sizes mix, the bytes in the device decide: the latency is that among commands of their mean size, and as much
//! of the difference to the own size is added as a queue does not explain (`Grid::own`): nothing where commands wait
//! for each other's bytes, all of it where they are served side by side. A slow moment is slow for all that are in the
//! device: one draw holds for as many commands as are in it.
//!
//! Not modelled: where a request lies (apart from succession), a write cache that fills up, garbage collection,
//! slowness that lasts. So it is no model of a rotating disk, and elevators that sort gain nothing on it.

pub mod closed_loop;
mod file;
pub mod fit;
mod grid;
pub mod loads;
pub mod tried;

pub use file::{is_file, read};
pub use grid::{Grid, SHARES};
pub use tried::Tried;

use goodness_core::{Device, DeviceFacts, Operation, Request, RequestId, Rng, SECTOR_BYTES, Seed, Span, Time};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Longest latency in a device file and of a command, in ns: an hour. With it and [`DEPTH_MAX`], no time overflows.
const LONGEST: u64 = 3_600_000_000_000;
/// The most commands in a device.
const DEPTH_MAX: u32 = 1 << 20;

/// Latencies of one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Commands at random places.
    pub random: Grid,
    /// Commands that continue the one before, if they were measured; others are taken for random ones.
    pub sequential: Option<Grid>,
}

impl Direction {
    fn check(&self) -> Result<(), String> {
        self.random.check().map_err(|why| format!("random: {why}"))?;
        self.sequential.as_ref().map_or(Ok(()), |grid| grid.check().map_err(|why| format!("sequential: {why}")))
    }
}

/// A device as it was measured: what is in its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Capacity in sectors of 512 bytes.
    pub sectors: u64,
    /// The most commands in the device.
    pub depth: u32,
    /// Largest command in sectors.
    pub sectors_max: u32,
    /// True if seeks take time.
    pub rotational: bool,
    /// True if a completed write may be lost on power failure.
    pub volatile_cache: bool,
    /// Time of a flush behind one write, in ns.
    pub flush_ns: u64,
    /// Reads.
    pub read: Direction,
    /// Writes, if they were measured; they take the times of reads otherwise.
    pub write: Option<Direction>,
    /// Its error on loads that it was not fitted to, if some were measured.
    pub tried: Option<Tried>,
}

impl Model {
    /// Checks that the device can work.
    ///
    /// # Errors
    /// A device that cannot work, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        for (name, number) in [("sectors", self.sectors), ("depth", self.depth.into())] {
            if number == 0 {
                return Err(format!("{name} is 0; give 1 or more"));
            }
        }
        if self.depth > DEPTH_MAX {
            return Err(format!("depth is {}; give at most {DEPTH_MAX}", self.depth));
        }
        if self.flush_ns > LONGEST {
            return Err("flush_ns is longer than an hour; measure again".into());
        }
        if self.sectors_max == 0 || self.sectors > goodness_core::storage::SECTORS_MAX {
            return Err("sectors_max is 0, or sectors are more than 64-bit bytes count; measure again".into());
        }
        self.read.check().map_err(|why| format!("[read]: {why}"))?;
        self.write.as_ref().map_or(Ok(()), |write| write.check().map_err(|why| format!("[write]: {why}")))
    }

    fn direction(&self, op: Operation) -> &Direction {
        match op {
            Operation::Read => &self.read,
            _ => self.write.as_ref().unwrap_or(&self.read),
        }
    }
}

/// The device.
#[derive(Debug)]
pub struct Fitted {
    model: Model,
    /// Commands in the device that move data, and their bytes.
    inside: u32,
    bytes: u64,
    /// The share of all latencies that the commands lie at, and for how many more.
    share: u32,
    share_left: u32,
    /// Ends of last read and write.
    ends: [u64; 2],
    begun: u64,
    /// Time of completion, order of start, request, its bytes.
    due: BinaryHeap<Reverse<(Time, u64, RequestId, u64)>>,
    rng: Rng,
}

impl Fitted {
    /// A device with the latencies of `model`.
    ///
    /// # Errors
    /// A model that does not fit together, as a sentence.
    pub fn new(model: Model, seed: Seed) -> Result<Fitted, String> {
        model.check()?;
        let rng = seed.stream("fitted", 0).rng();
        let due = BinaryHeap::new();
        Ok(Fitted { model, inside: 0, bytes: 0, share: 0, share_left: 0, ends: [u64::MAX; 2], begun: 0, due, rng })
    }

    /// Latency of a command of `bytes` bytes that is in the device already.
    fn latency(&mut self, request: &Request, bytes: u64) -> Span {
        // A log that is flushed after each write is still written in sequence.
        let end = &mut self.ends[request.op.direction()];
        let is_sequential = std::mem::replace(end, request.end()) == request.sector;
        if self.share_left == 0 {
            self.share = self.rng.below(SHARES[SHARES.len() - 1].into()) as u32;
            self.share_left = self.inside;
        }
        self.share_left -= 1;
        let times = self.model.direction(request.op);
        let grid = times.sequential.as_ref().filter(|_| is_sequential).unwrap_or(&times.random);
        Span(grid.latency(self.inside, bytes, self.bytes / u64::from(self.inside), self.share))
    }
}

impl Device for Fitted {
    fn facts(&self) -> DeviceFacts {
        DeviceFacts {
            sectors: self.model.sectors,
            depth: self.model.depth,
            queues: 1,
            rotational: self.model.rotational,
            sectors_max: self.model.sectors_max,
            volatile_cache: self.model.volatile_cache,
            age_limit: None,
        }
    }

    fn start(&mut self, now: Time, id: RequestId, request: &Request) {
        let bytes = match request.op {
            Operation::Read | Operation::Write => u64::from(request.sectors) * SECTOR_BYTES,
            Operation::Flush | Operation::Discard => 0,
        };
        let span = match request.op {
            Operation::Flush => Span(self.model.flush_ns),
            _ if bytes == 0 => Span::ZERO,
            _ => {
                (self.inside, self.bytes) = (self.inside + 1, self.bytes + bytes);
                self.latency(request, bytes)
            }
        };
        self.begun += 1;
        self.due.push(Reverse((now + span, self.begun, id, bytes)));
    }

    fn next_event(&self) -> Time {
        self.due.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<RequestId>) {
        while let Some(Reverse((at, _, id, bytes))) = self.due.peek().copied() {
            if at > now {
                return;
            }
            self.due.pop();
            if bytes > 0 {
                (self.inside, self.bytes) = (self.inside - 1, self.bytes - bytes);
            }
            done.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::closed_loop::tests::plain;
    use super::closed_loop::{Load, play};
    use super::*;
    use goodness_core::{Io, Submitter};

    #[test]
    fn the_longest_times_that_a_file_may_have_do_not_overflow() {
        let mut model = plain();
        (model.depth, model.flush_ns) = (DEPTH_MAX, LONGEST);
        let grid = &mut model.read.random;
        (grid.sizes, grid.depths) = (vec![1, 1 << 62], vec![1, 2, u32::MAX.into()]);
        grid.mean_ns = vec![vec![LONGEST; 3]; 2];
        grid.spread = vec![vec![vec![u32::MAX; SHARES.len()]; 3]; 2];
        let mut device = Fitted::new(model.clone(), Seed(1)).unwrap();
        let found = play(&mut device, &Load::random(4096, 8, 0), 50, Seed(1));
        assert_eq!(found.latencies.last(), Some(&LONGEST));
        let refused = |change: fn(&mut Model)| {
            let mut other = model.clone();
            change(&mut other);
            Fitted::new(other, Seed(1)).err().unwrap_or_default()
        };
        let why = refused(|it| it.read.random.mean_ns[1][0] += 1);
        assert_eq!(why, "[read]: random: no time may be longer than an hour");
        assert!(refused(|it| it.flush_ns += 1).contains("flush_ns"));
        assert!(refused(|it| it.depth += 1).contains("at most 1048576"));
    }

    #[test]
    fn a_flush_between_writes_does_not_break_their_sequence() {
        let mut device = Fitted::new(plain(), Seed(1)).unwrap();
        let mut takes = |now: u64, op, sector, sectors| {
            let io = Io { op, ..Io::read(Submitter(0), sector, sectors) };
            device.start(Time(now), RequestId(0), &Request::of(&io, Time(now)));
            let (mut done, end) = (Vec::new(), device.next_event());
            device.advance(end, &mut done);
            end.since(Time(now)).ns()
        };
        assert_eq!(takes(0, Operation::Write, 800, 8), 44_096);
        assert_eq!(takes(1_000_000, Operation::Flush, 0, 0), 1_000_000);
        assert_eq!(takes(2_000_000, Operation::Write, 808, 8), 22_048, "it continues the one before");
    }
}
