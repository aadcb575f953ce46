//! Closed loops on a bare device: what is measured to fit a device, and the same on a model of it.

use goodness_core::{Device, Io, Operation, Request, RequestId, Rng, SECTOR_BYTES, Seed, Submitter, Time};

/// A load: so many commands in flight, always.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Sizes in bytes; each is as likely.
    pub sizes: Vec<u32>,
    /// Commands in flight.
    pub depth: u32,
    /// True if each command continues the one before; at random places otherwise.
    pub is_sequential: bool,
    /// Writes among 100 commands.
    pub writes: u32,
}

impl Load {
    /// Commands of one size at random places.
    #[must_use]
    pub fn random(bytes: u32, depth: u32, writes: u32) -> Load {
        Load { sizes: vec![bytes], depth, is_sequential: false, writes }
    }

    /// Reads of one size in sequence.
    #[must_use]
    pub fn sequential(bytes: u32, depth: u32) -> Load {
        Load { sizes: vec![bytes], depth, is_sequential: true, writes: 0 }
    }

    /// The next command: its place in bytes, its size, and if it is a write. `cursor` is the end of the one before.
    pub fn next(&self, rng: &mut Rng, capacity: u64, cursor: &mut u64) -> (u64, u32, bool) {
        let bytes = self.sizes[rng.below(self.sizes.len() as u64) as usize];
        let places = (capacity / u64::from(bytes)).max(1);
        let offset = match self.is_sequential {
            true if *cursor + u64::from(bytes) <= capacity => *cursor,
            true => 0,
            false => rng.below(places) * u64::from(bytes),
        };
        *cursor = offset + u64::from(bytes);
        (offset, bytes, rng.below(100) < u64::from(self.writes))
    }
}

impl std::fmt::Display for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = if self.is_sequential { "sequential" } else { "random" };
        let what = match self.writes {
            0 => "reads".to_string(),
            100 => "writes".to_string(),
            share => format!("reads/{share} % writes"),
        };
        let sizes: Vec<String> = self.sizes.iter().map(|bytes| (bytes >> 10).to_string()).collect();
        write!(f, "{place} {what} {} KiB × {}", sizes.join("/"), self.depth)
    }
}

/// Results of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Commands done in 1000 s.
    pub per_1000_s: u64,
    /// Mean latency in ns.
    pub mean_ns: u64,
    /// Latencies in ns, ascending.
    pub latencies: Vec<u64>,
}

impl Outcome {
    /// Of latencies in any order, with `depth` commands in flight all the time. `None` of none.
    #[must_use]
    pub fn of(mut latencies: Vec<u64>, depth: u32) -> Option<Outcome> {
        latencies.sort_unstable();
        let sum: u128 = latencies.iter().map(|ns| u128::from(*ns)).sum();
        let mean = sum.checked_div(latencies.len() as u128)?.max(1);
        // Little's law: the commands in flight are the rate times the latency.
        let rate = u128::from(depth) * 1_000_000_000_000 / mean;
        Some(Outcome { per_1000_s: rate as u64, mean_ns: mean as u64, latencies })
    }

    /// Commands in a second.
    #[must_use]
    pub fn iops(&self) -> u64 {
        self.per_1000_s / 1000
    }

    /// The latency below which a share of all is, in ten-thousandths.
    #[must_use]
    pub fn quantile(&self, share: u32) -> u64 {
        let last = self.latencies.len() - 1;
        self.latencies[last * share.min(10_000) as usize / 10_000]
    }
}

/// Runs `load` on `device` until `count` commands are done, beside the first four of each in flight: those start
/// together, and are left out.
///
/// # Panics
/// No command, or none in flight.
#[must_use]
pub fn play(device: &mut dyn Device, load: &Load, count: usize, seed: Seed) -> Outcome {
    assert!(count > 0 && load.depth > 0, "{load} has no commands");
    let (mut rng, mut cursor) = (seed.stream("closed loop", 0).rng(), 0);
    let capacity = device.facts().sectors * SECTOR_BYTES;
    let mut begun = vec![Time::ZERO; load.depth as usize];
    let mut latencies = Vec::with_capacity(count);
    let mut start = |device: &mut dyn Device, slot: usize, now: Time| {
        let (offset, bytes, is_write) = load.next(&mut rng, capacity, &mut cursor);
        let (sector, sectors) = (offset / SECTOR_BYTES, bytes / SECTOR_BYTES as u32);
        let read = Io::read(Submitter(0), sector, sectors);
        let io = if is_write { Io { op: Operation::Write, ..read } } else { read };
        device.start(now, RequestId(slot as u32), &Request::of(&io, now));
    };
    (0..begun.len()).for_each(|slot| start(device, slot, Time::ZERO));
    let (mut done, mut left_out) = (Vec::new(), 4 * begun.len());
    while latencies.len() < count {
        let now = device.next_event();
        device.advance(now, &mut done);
        for id in done.drain(..) {
            let slot = id.index();
            match left_out {
                0 => latencies.push(now.since(begun[slot]).ns()),
                _ => left_out -= 1,
            }
            begun[slot] = now;
            start(device, slot, now);
        }
    }
    Outcome::of(latencies, load.depth).expect("there are commands")
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Direction, Fitted, Grid, Model, SHARES};
    use super::*;

    /// Commands take 40 us and 1 ns a byte alone, in sequence half of it, and wait for each other's bytes.
    pub(in super::super) fn plain() -> Model {
        let grid = |per: u64| {
            let (sizes, depths): (Vec<u64>, Vec<u64>) = (vec![4096, 262_144], vec![1, 4, 16, 64]);
            let row = |bytes: &u64| depths.iter().map(|count| (30_000 + count * (10_000 + bytes)) / per).collect();
            let mean_ns = sizes.iter().map(row).collect();
            let spread = vec![vec![vec![1000; SHARES.len()]; depths.len()]; sizes.len()];
            Grid { sizes, depths, mean_ns, spread }
        };
        Model {
            sectors: 1 << 21,
            depth: 64,
            sectors_max: 2560,
            rotational: false,
            volatile_cache: true,
            flush_ns: 1_000_000,
            read: Direction { random: grid(1), sequential: Some(grid(2)) },
            write: None,
            tried: None,
        }
    }

    fn of(load: &Load) -> Outcome {
        play(&mut Fitted::new(plain(), Seed(1)).unwrap(), load, 2000, Seed(1))
    }

    #[test]
    fn commands_take_the_latency_of_so_many_of_their_size() {
        assert_eq!(of(&Load::random(4096, 1, 0)).mean_ns, 44_096);
        assert_eq!(of(&Load::sequential(4096, 1)).mean_ns, 22_048);
        assert_eq!(of(&Load::random(65_536, 1, 100)).mean_ns, 40_000 + 65_536, "writes as reads");
        let wide = of(&Load::random(262_144, 8, 0));
        assert!(wide.mean_ns.abs_diff(30_000 + 8 * 272_144) < 5_000, "{}", wide.mean_ns);
        assert_eq!(wide.iops(), 8_000_000_000 / wide.mean_ns);
    }

    #[test]
    fn a_load_says_what_it_does() {
        let mixed = Load { sizes: vec![4096, 32_768], depth: 6, is_sequential: false, writes: 30 };
        assert_eq!(mixed.to_string(), "random reads/30 % writes 4/32 KiB × 6");
    }
}
