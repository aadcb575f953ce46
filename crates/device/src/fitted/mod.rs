//! fitted: a device as `goodness calibrate --device` measured it.
//!
//! A command passes two stages. In the first it takes the time that a command takes among so many, with the measured
//! spread: command times by number in the stage say how much the device does at once. In the second it passes a link,
//! one command after the other, in a time that depends on its size: bandwidth. All that are in the device when the link
//! slows down are late together. Which times those are, [`fit`] finds from closed loops of one size and depth each.
//!
//! Not modelled: where a request lies (apart from succession), a write cache that fills up, garbage collection,
//! slowness that lasts. So it is no model of a rotating disk, and elevators that sort gain nothing on it.

pub mod closed_loop;
mod file;
pub mod fit;
pub mod loads;

pub use file::{is_file, read};

use goodness_core::{Device, DeviceFacts, Operation, Request, RequestId, Rng, SECTOR_BYTES, Seed, Span, Time};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Shares, in a ten-thousandth, at which spreads are known.
pub const SHARES: [u32; 12] = [0, 100, 500, 1000, 2500, 5000, 7500, 9000, 9500, 9900, 9990, 10_000];

/// Longest mean time in a device file, and longest time of a command in a stage, in ns: an hour. With it and
/// [`DEPTH_MAX`], no time overflows.
const LONGEST: u64 = 3_600_000_000_000;
/// The most commands in a device.
const DEPTH_MAX: u32 = 1 << 20;

/// Times of one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Numbers of commands in the device, ascending from 1, for which command times are known.
    pub depths: Vec<u32>,
    /// Mean time of a command in the first stage among so many, in ns.
    pub command_ns: Vec<u64>,
    /// Spread around the mean, for each of the numbers: per mille of the mean, at [`SHARES`].
    pub spread: Vec<Vec<u32>>,
    /// Time of a command that continues the one before, per mille of that of others.
    pub sequential: u32,
    /// Sizes in bytes, ascending, for which the time on the link is known.
    pub sizes: Vec<u64>,
    /// Mean of that time, in ns.
    pub link_ns: Vec<u64>,
    /// Its spread, per mille of the mean, at [`SHARES`].
    pub link_spread: Vec<u32>,
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
}

impl Direction {
    /// Checks that the lists fit together.
    fn check(&self) -> Result<(), String> {
        let rises = |list: &[u64]| list.windows(2).all(|pair| pair[0] < pair[1]);
        let depths: Vec<u64> = self.depths.iter().map(|depth| u64::from(*depth)).collect();
        let spread_fits = |spread: &Vec<u32>| spread.len() == SHARES.len() && spread.is_sorted();
        let is_short = |times: &[u64]| times.iter().all(|ns| *ns <= LONGEST);
        let faults = [
            (depths.first() != Some(&1) || !rises(&depths), "depths must ascend from 1"),
            (self.command_ns.len() != depths.len(), "command_ns needs one time for each of depths"),
            (self.spread.len() != depths.len(), "spread needs one list for each of depths"),
            (!self.spread.iter().all(spread_fits), "each list of spread needs 12 ascending numbers"),
            (self.sizes.is_empty() || !rises(&self.sizes), "sizes must ascend"),
            (self.link_ns.len() != self.sizes.len(), "link_ns needs one time for each of sizes"),
            (!spread_fits(&self.link_spread), "link_spread needs 12 ascending numbers"),
            (!is_short(&self.command_ns) || !is_short(&self.link_ns), "no time may be longer than an hour"),
        ];
        faults.iter().find(|(is_wrong, _)| *is_wrong).map_or(Ok(()), |(_, what)| Err((*what).into()))
    }

    /// Mean time among `count` commands: linear between the known numbers, in proportion beyond.
    fn command(&self, count: u32) -> u64 {
        let last = self.depths.len() - 1;
        if count >= self.depths[last] {
            return scaled(self.command_ns[last], count.into(), self.depths[last].into());
        }
        let (at, part, whole) = self.between(count);
        mixed(self.command_ns[at], self.command_ns[at + 1], part, whole)
    }

    /// The known number below `count`, and how far towards the next `count` is. There is a next.
    fn between(&self, count: u32) -> (usize, u64, u64) {
        let at = self.depths.partition_point(|depth| *depth <= count).max(1) - 1;
        let low = self.depths[at];
        (at, u64::from(count.max(low) - low), u64::from(self.depths[at + 1] - low))
    }

    /// The factor per mille that a share of all commands stays below, among `count`.
    fn factor(&self, count: u32, share: u32) -> u64 {
        let of = |spread: &[u32]| below(spread, share);
        let last = self.depths.len() - 1;
        if count >= self.depths[last] {
            return of(&self.spread[last]);
        }
        let (at, part, whole) = self.between(count);
        mixed(of(&self.spread[at]), of(&self.spread[at + 1]), part, whole)
    }

    /// Time on the link: linear between the known sizes, in proportion beyond.
    fn link(&self, bytes: u64) -> u64 {
        let last = self.sizes.len() - 1;
        if bytes >= self.sizes[last] || last == 0 {
            return scaled(self.link_ns[last], bytes, self.sizes[last].max(1));
        }
        let at = self.sizes.partition_point(|size| *size <= bytes).max(1) - 1;
        let low = self.sizes[at];
        mixed(self.link_ns[at], self.link_ns[at + 1], bytes.max(low) - low, self.sizes[at + 1] - low)
    }
}

/// The factor that a share of all stays below in a spread.
fn below(spread: &[u32], share: u32) -> u64 {
    let at = SHARES.partition_point(|known| *known <= share).clamp(1, SHARES.len() - 1) - 1;
    let (low, high) = (u64::from(spread[at]), u64::from(spread[at + 1]));
    mixed(low, high, u64::from(share - SHARES[at]), u64::from(SHARES[at + 1] - SHARES[at]))
}

/// From `low` to `high`, `part` of `whole` of the way.
fn mixed(low: u64, high: u64, part: u64, whole: u64) -> u64 {
    let [low, high, part, whole] = [low, high, part, whole].map(u128::from);
    ((low * (whole - part) + high * part) / whole) as u64
}

/// `ns` times `by` and divided by `per`, or an hour if that is longer.
fn scaled(ns: u64, by: u64, per: u64) -> u64 {
    (u128::from(ns) * u128::from(by) / u128::from(per)).min(LONGEST.into()) as u64
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

/// The place of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Command { link_ns: u64 },
    Link,
}

/// The device.
#[derive(Debug)]
pub struct Fitted {
    model: Model,
    /// Commands in the first stage.
    among: u32,
    /// Commands in the device.
    inside: u32,
    link_free: Time,
    /// Speed of the link, and for how many more commands.
    link_factor: u64,
    link_left: u32,
    /// Ends of last read and write.
    ends: [u64; 2],
    begun: u64,
    due: BinaryHeap<Reverse<(Time, u64, RequestId, Stage)>>,
    rng: Rng,
}

impl Fitted {
    /// A device with the times of `model`.
    ///
    /// # Errors
    /// A model that does not fit together, as a sentence.
    pub fn new(model: Model, seed: Seed) -> Result<Fitted, String> {
        model.check()?;
        let rng = seed.stream("fitted", 0).rng();
        Ok(Fitted {
            model,
            among: 0,
            inside: 0,
            link_free: Time::ZERO,
            link_factor: 0,
            link_left: 0,
            ends: [u64::MAX; 2],
            begun: 0,
            due: BinaryHeap::new(),
            rng,
        })
    }

    /// Time in the first stage, and on the link.
    fn times(&mut self, request: &Request) -> (Span, u64) {
        match request.op {
            Operation::Flush => return (Span(self.model.flush_ns), 0),
            Operation::Discard => return (Span::ZERO, 0),
            Operation::Read | Operation::Write => {}
        }
        // A log that is flushed after each write is still written in sequence.
        let end = &mut self.ends[request.op.direction()];
        let is_sequential = std::mem::replace(end, request.end()) == request.sector;
        let shares = u64::from(SHARES[SHARES.len() - 1]);
        let share = self.rng.below(shares) as u32;
        let times = self.model.direction(request.op);
        if self.link_left == 0 {
            self.link_factor = below(&times.link_spread, self.rng.below(shares) as u32);
            self.link_left = self.inside;
        }
        self.link_left -= 1;
        let mean = times.command(self.among);
        let usual = if is_sequential { scaled(mean, times.sequential.into(), 1000) } else { mean };
        let link = times.link(u64::from(request.sectors) * SECTOR_BYTES);
        (Span(scaled(usual, times.factor(self.among, share), 1000)), scaled(link, self.link_factor, 1000))
    }

    fn push(&mut self, at: Time, id: RequestId, stage: Stage) {
        self.begun += 1;
        self.due.push(Reverse((at, self.begun, id, stage)));
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
        (self.among, self.inside) = (self.among + 1, self.inside + 1);
        let (span, link_ns) = self.times(request);
        self.push(now + span, id, Stage::Command { link_ns });
    }

    fn next_event(&self) -> Time {
        self.due.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<RequestId>) {
        while let Some(Reverse((at, _, id, stage))) = self.due.peek().copied() {
            if at > now {
                return;
            }
            self.due.pop();
            match stage {
                Stage::Link => {
                    self.inside -= 1;
                    done.push(id);
                }
                Stage::Command { link_ns } => {
                    self.among -= 1;
                    self.link_free = self.link_free.max(at) + Span(link_ns);
                    let end = self.link_free;
                    self.push(end, id, Stage::Link);
                }
            }
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
        for (at, size) in [1, 1 << 62].into_iter().enumerate() {
            model.read.sizes[at] = size;
        }
        (model.read.depths, model.read.sequential) = (vec![1, 2, u32::MAX], u32::MAX);
        model.read.command_ns.fill(LONGEST);
        model.read.link_ns.fill(LONGEST);
        model.read.link_spread.fill(u32::MAX);
        model.read.spread.iter_mut().for_each(|spread| spread.fill(u32::MAX));
        let mut device = Fitted::new(model.clone(), Seed(1)).unwrap();
        let found = play(&mut device, &Load::sequential(4096, 8), 50, Seed(1));
        assert_eq!(found.latencies.last(), Some(&(8 * LONGEST)), "one command after the other on the link");
        let refused = |change: fn(&mut Model)| {
            let mut other = model.clone();
            change(&mut other);
            Fitted::new(other, Seed(1)).err().unwrap_or_default()
        };
        assert_eq!(refused(|it| it.read.command_ns[1] += 1), "[read]: no time may be longer than an hour");
        assert_eq!(refused(|it| it.read.link_ns[1] += 1), "[read]: no time may be longer than an hour");
        assert!(refused(|it| it.flush_ns += 1).contains("flush_ns"));
        assert!(refused(|it| it.depth += 1).contains("at most 1048576"));
    }

    #[test]
    fn a_flush_between_writes_does_not_break_their_sequence() {
        let mut device = Fitted::new(plain(), Seed(1)).unwrap();
        let mut ends = |now: u64, op, sector, sectors| {
            let io = Io { op, ..Io::read(Submitter(0), sector, sectors) };
            device.start(Time(now), RequestId(0), &Request::of(&io, Time(now)));
            let mut done = Vec::new();
            while done.is_empty() {
                device.advance(device.next_event(), &mut done);
            }
            device.link_free.since(Time(now)).ns()
        };
        assert_eq!(ends(0, Operation::Write, 800, 8), 44_096);
        assert_eq!(ends(1_000_000, Operation::Flush, 0, 0), 1_000_000);
        assert_eq!(ends(2_000_000, Operation::Write, 808, 8), 24_096, "it continues the one before");
    }
}
