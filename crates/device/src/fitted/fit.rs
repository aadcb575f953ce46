//! The device whose closed loops are those that were measured; and how well it fits, on these and on unseen ones.
//!
//! Command times come from random commands of the smallest size, one depth after the other; link times from the deepest
//! loop of each larger size. Each is first taken as measured, then corrected by what the model makes of the same load.

use super::closed_loop::{Load, Outcome, play};
use super::{Direction, Fitted, Model, SHARES, scaled};
use goodness_core::{Device, DeviceFacts, Seed};

/// Corrections of the times. A choice: differences fall by half or more with each.
const ROUNDS: usize = 12;
/// Commands of a load that is simulated to correct a time, and to judge the fit.
const SHORT: usize = 3_000;
const LONG: usize = 30_000;
/// Accepted error in I/Os per second and p99 of unseen loads, per mille.
pub const ACCEPTED: u64 = 150;

/// A load and what was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The load.
    pub load: Load,
    /// All rounds together.
    pub measured: Outcome,
    /// Commands in a second of the slowest and the fastest round.
    pub rounds: (u64, u64),
}

/// Predicted and measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The load.
    pub load: Load,
    /// Commands in a second: predicted, measured, measured in the slowest and the fastest round.
    pub iops: (u64, u64),
    /// The same of the rounds: slowest, fastest.
    pub rounds: (u64, u64),
    /// 99th percentile of the latency in ns: predicted, measured.
    pub p99_ns: (u64, u64),
    /// Commands measured.
    pub samples: usize,
}

impl Row {
    /// Errors of the predictions, per mille of what was measured: commands in a second, p99.
    #[must_use]
    pub fn off(&self) -> (i64, i64) {
        let off = |(predicted, measured): (u64, u64)| {
            let difference = i128::from(predicted) - i128::from(measured);
            (difference * 1000 / i128::from(measured.max(1))) as i64
        };
        (off(self.iops), off(self.p99_ns))
    }

    /// True if both are accepted.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        let (iops, p99) = self.off();
        iops.unsigned_abs() <= ACCEPTED && p99.unsigned_abs() <= ACCEPTED
    }
}

/// Predictions of `model` for the loads, beside what was measured.
///
/// # Errors
/// A model that does not fit together.
pub fn compare(model: &Model, cells: &[Cell]) -> Result<Vec<Row>, String> {
    let row = |cell: &Cell| {
        let predicted = outcome(model, &cell.load, LONG)?;
        Ok(Row {
            load: cell.load.clone(),
            iops: (predicted.iops(), cell.measured.iops()),
            rounds: cell.rounds,
            p99_ns: (predicted.quantile(9_900), cell.measured.quantile(9_900)),
            samples: cell.measured.latencies.len(),
        })
    };
    cells.iter().map(row).collect()
}

fn outcome(model: &Model, load: &Load, count: usize) -> Result<Outcome, String> {
    let mut device = Fitted::new(model.clone(), Seed(1))?;
    if load.depth > device.facts().depth {
        return Err(format!("the device takes {} commands at once, and a load has {}", model.depth, load.depth));
    }
    Ok(play(&mut device, load, count, Seed(1)))
}

/// The device with these facts whose closed loops are nearest to `cells`. `flush_ns` is measured alone.
///
/// # Errors
/// Too few cells: random reads of one size, one in flight, are the least.
pub fn fit(facts: DeviceFacts, flush_ns: u64, cells: &[Cell]) -> Result<Model, String> {
    let (reads, writes) = (Parts::of(cells, 0), Parts::of(cells, 100));
    let read = reads.first().ok_or("no random reads were measured, one in flight; these are the least of a fit")?;
    let mut model = Model {
        sectors: facts.sectors,
        depth: facts.depth,
        sectors_max: facts.sectors_max,
        rotational: facts.rotational,
        volatile_cache: facts.volatile_cache,
        flush_ns,
        read,
        write: writes.first(),
    };
    for _ in 0..ROUNDS {
        let was = model.clone();
        reads.correct(&was, &mut model.read)?;
        if let Some(write) = &mut model.write {
            writes.correct(&was, write)?;
        }
    }
    Ok(model)
}

/// The cells of one direction, by what they tell.
struct Parts<'a> {
    /// Random commands of the smallest size, by depth.
    base: Vec<&'a Cell>,
    /// Of each larger size the deepest, by size.
    links: Vec<&'a Cell>,
    /// Commands in sequence, one in flight, of the smallest size.
    sequential: Option<&'a Cell>,
}

impl<'a> Parts<'a> {
    fn of(cells: &'a [Cell], writes: u32) -> Parts<'a> {
        let mine = || cells.iter().filter(move |cell| cell.load.writes == writes && cell.load.sizes.len() == 1);
        let random = || mine().filter(|cell| !cell.load.is_sequential);
        let least = random().map(size).min().unwrap_or(0);
        let mut base: Vec<&Cell> = random().filter(|cell| size(cell) == least).collect();
        base.sort_by_key(|cell| cell.load.depth);
        let mut links: Vec<&Cell> = random().filter(|cell| size(cell) > least).collect();
        links.sort_by_key(|cell| (size(cell), std::cmp::Reverse(cell.load.depth)));
        links.dedup_by_key(|cell| size(cell));
        let sequential = mine().find(|cell| cell.load.is_sequential && cell.load.depth == 1 && size(cell) == least);
        Parts { base, links, sequential }
    }

    /// Times as measured. `None` without commands that are alone in the device.
    fn first(&self) -> Option<Direction> {
        let least = self.base.first().filter(|cell| cell.load.depth == 1)?;
        // The best that a large size does of each byte.
        let each = |cell: &&Cell| cell.measured.mean_ns * 1000 / u64::from(cell.load.depth) / size(cell);
        let per_kilobyte = self.links.iter().map(each).min().unwrap_or(0);
        let sizes: Vec<u64> = std::iter::once(least).chain(&self.links).map(|cell| size(cell)).collect();
        let link_ns: Vec<u64> = sizes.iter().map(|bytes| bytes * per_kilobyte / 1000).collect();
        let alone = |cell: &&Cell| cell.measured.mean_ns.saturating_sub(link_ns[0]).max(1);
        Some(Direction {
            depths: self.base.iter().map(|cell| cell.load.depth).collect(),
            command_ns: self.base.iter().map(alone).collect(),
            spread: self.base.iter().map(|cell| spread(&cell.measured)).collect(),
            sequential: 1000,
            sizes,
            link_ns,
            // The deepest loop of the largest size keeps the link busy.
            link_spread: spread(&self.links.last().unwrap_or(least).measured),
        })
    }

    /// Corrects `times` by what `model` makes of the loads.
    fn correct(&self, model: &Model, times: &mut Direction) -> Result<(), String> {
        for (at, cell) in self.base.iter().enumerate() {
            let is = outcome(model, &cell.load, SHORT)?.mean_ns;
            let wanted = (times.command_ns[at] + cell.measured.mean_ns).saturating_sub(is);
            times.command_ns[at] = wanted.max(times.command_ns[at] / 2).max(1);
        }
        for (at, cell) in self.links.iter().enumerate() {
            let is = outcome(model, &cell.load, SHORT)?.mean_ns;
            let wanted = scaled(times.link_ns[at + 1], cell.measured.mean_ns, is);
            // A larger command does not take less of the link.
            times.link_ns[at + 1] = wanted.max(times.link_ns[at]);
        }
        if let Some(cell) = self.sequential {
            let is = outcome(model, &cell.load, SHORT)?.mean_ns as i64;
            let step = (cell.measured.mean_ns as i64 - is) * 1000 / times.command_ns[0] as i64;
            times.sequential = (i64::from(times.sequential) + step).clamp(1, 100_000) as u32;
        }
        Ok(())
    }
}

fn size(cell: &Cell) -> u64 {
    cell.load.sizes[0].into()
}

/// Latencies per mille of their mean.
fn spread(measured: &Outcome) -> Vec<u32> {
    let of = |share: &u32| (measured.quantile(*share) * 1000 / measured.mean_ns).min(u32::MAX.into()) as u32;
    SHARES.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::closed_loop::tests::plain;
    use super::*;

    type Make<'a> = &'a dyn Fn() -> Box<dyn Device>;

    fn cell(make: Make, load: Load) -> Cell {
        let measured = play(&mut make(), &load, 4000, Seed(7));
        Cell { rounds: (measured.iops(), measured.iops()), load, measured }
    }

    fn seen(make: Make) -> Vec<Cell> {
        let at = |bytes: u32, writes: u32, depths: &[u32]| -> Vec<Load> {
            depths.iter().map(|depth| Load::random(bytes, *depth, writes)).collect()
        };
        let groups = [
            at(4096, 0, &[1, 2, 4, 8, 16, 32]),
            at(65_536, 0, &[1, 16]),
            at(262_144, 0, &[1, 8]),
            at(4096, 100, &[1, 4, 16]),
            at(65_536, 100, &[8]),
            vec![Load::sequential(4096, 1)],
        ];
        groups.concat().into_iter().map(|load| cell(make, load)).collect()
    }

    fn unseen(make: Make) -> Vec<Cell> {
        let mixed = Load { sizes: vec![4096, 32_768, 131_072], depth: 6, is_sequential: false, writes: 0 };
        let loads = [Load::random(8192, 3, 0), mixed, Load::sequential(32_768, 12)];
        loads.into_iter().map(|load| cell(make, load)).collect()
    }

    /// A device with a spread, whose writes differ from its reads.
    fn planted() -> Model {
        let mut model = plain();
        let spread = vec![700, 720, 800, 830, 900, 960, 1040, 1150, 1300, 1900, 2600, 4000];
        model.read.spread = vec![spread.clone(); 3];
        model.read.link_spread = spread.iter().map(|share| 1000 + (share / 4) - 250).collect();
        model.write = Some(Direction { command_ns: vec![20_000, 70_000, 300_000], ..model.read.clone() });
        model
    }

    fn device(model: &Model) -> Box<dyn Device> {
        Box::new(Fitted::new(model.clone(), Seed(3)).unwrap())
    }

    #[test]
    fn a_planted_device_is_recovered_from_its_closed_loops() {
        let model = planted();
        let found = fit(device(&model).facts(), 1_000_000, &seen(&|| device(&model))).unwrap();
        let near = |is: u64, wanted: u64| is.abs_diff(wanted) * 100 <= 6 * wanted;
        for (at, depth) in found.read.depths.iter().enumerate() {
            let (is, wanted) = (found.read.command_ns[at], model.read.command(*depth));
            assert!(near(is, wanted), "depth {depth}: {is} ns, planted {wanted}");
        }
        let wide = (found.read.link(262_144), found.read.link(65_536));
        assert!(near(wide.0, 262_144) && near(wide.1, 65_536), "{wide:?}");
        assert!(found.read.sequential.abs_diff(500) < 50, "{}", found.read.sequential);
        let write = found.write.as_ref().unwrap();
        assert!(near(write.command_ns[2], 300_000), "{write:?}");
        let rows = compare(&found, &unseen(&|| device(&model))).unwrap();
        assert!(rows.iter().all(Row::is_accepted), "{rows:?}");
    }

    #[test]
    fn a_device_that_is_none_of_this_kind_is_rejected() {
        // Another drive has the unseen loads: twice as slow, then with a tail, then with a narrow link.
        let slower = |change: fn(&mut Model)| {
            let mut other = planted();
            change(&mut other);
            other
        };
        let found = fit(device(&planted()).facts(), 0, &seen(&|| device(&planted()))).unwrap();
        let others = [
            slower(|model| model.read.command_ns.iter_mut().for_each(|ns| *ns = *ns * 3 / 2)),
            slower(|model| model.read.spread.iter_mut().for_each(|spread| spread[9..].fill(9000))),
            slower(|model| model.read.link_ns[1] *= 2),
        ];
        for other in others {
            let rows = compare(&found, &unseen(&|| device(&other))).unwrap();
            assert!(rows.iter().any(|row| !row.is_accepted()), "{rows:?}");
        }
        // A disk with an arm is not what this model can be.
        let disk = || crate::by_name("atlas-10k:write_cache=off,depth=64", Seed(1)).unwrap();
        let found = fit(disk().facts(), 0, &seen(&disk)).unwrap();
        let rows = compare(&found, &unseen(&disk)).unwrap();
        assert!(rows.iter().any(|row| !row.is_accepted()), "{rows:?}");
    }

    #[test]
    fn a_fit_without_single_reads_says_what_is_missing() {
        let model = device(&plain());
        assert!(fit(model.facts(), 0, &[]).unwrap_err().contains("one in flight"));
    }
}
