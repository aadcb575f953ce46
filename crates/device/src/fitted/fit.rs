//! The device whose closed loops are those that were measured; and how well it fits, on these and on unseen ones.

use super::closed_loop::{Load, Outcome, play};
use super::grid::scaled;
use super::{Direction, Fitted, Grid, Model, SHARES};
use goodness_core::{Device, DeviceFacts, Seed};
use std::collections::BTreeSet;

/// Commands of a load that is simulated to judge the fit.
const COMMANDS: usize = 30_000;
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
        let predicted = outcome(model, &cell.load)?;
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

fn outcome(model: &Model, load: &Load) -> Result<Outcome, String> {
    let mut device = Fitted::new(model.clone(), Seed(1))?;
    if load.depth > device.facts().depth {
        return Err(format!("the device takes {} commands at once, and a load has {}", model.depth, load.depth));
    }
    Ok(play(&mut device, load, COMMANDS, Seed(1)))
}

/// The device with these facts whose closed loops are those of `cells`. `flush_ns` is measured alone.
///
/// # Errors
/// Too few cells: random reads of one size, one in flight, are the least.
pub fn fit(facts: DeviceFacts, flush_ns: u64, cells: &[Cell]) -> Result<Model, String> {
    let direction = |writes| {
        let random = grid(cells, writes, false)?;
        Some(Direction { random, sequential: grid(cells, writes, true) })
    };
    Ok(Model {
        sectors: facts.sectors,
        depth: facts.depth,
        sectors_max: facts.sectors_max,
        rotational: facts.rotational,
        volatile_cache: facts.volatile_cache,
        flush_ns,
        read: direction(0).ok_or("no random reads were measured, one in flight; these are the least of a fit")?,
        write: direction(100),
        tried: None,
    })
}

/// Latencies of all loads of one size, of this direction and kind. Sizes that were not measured alone are left out. A
/// number that was not measured for a size has its latency in proportion to the next smaller number.
fn grid(cells: &[Cell], writes: u32, is_sequential: bool) -> Option<Grid> {
    let is_of = |load: &Load| load.writes == writes && load.is_sequential == is_sequential && load.sizes.len() == 1;
    let mine: Vec<&Cell> = cells.iter().filter(|cell| is_of(&cell.load)).collect();
    let is_alone = |cell: &&&Cell| cell.load.depth == 1;
    let sizes: BTreeSet<u32> = mine.iter().filter(is_alone).map(|cell| cell.load.sizes[0]).collect();
    let depths: BTreeSet<u32> = mine.iter().map(|cell| cell.load.depth).collect();
    let nearest = |bytes: u32, depth: u32| {
        let known = mine.iter().filter(|cell| cell.load.sizes[0] == bytes && cell.load.depth <= depth);
        known.max_by_key(|cell| cell.load.depth).expect("each size was measured alone")
    };
    let mean = |bytes, depth| {
        let cell = nearest(bytes, depth);
        scaled(cell.measured.mean_ns, depth.into(), cell.load.depth.into())
    };
    let row = |bytes: &u32| depths.iter().map(|depth| mean(*bytes, *depth)).collect();
    let spreads = |bytes: &u32| depths.iter().map(|depth| spread(&nearest(*bytes, *depth).measured)).collect();
    (!sizes.is_empty()).then(|| Grid {
        sizes: sizes.iter().copied().map(u64::from).collect(),
        depths: depths.iter().copied().map(u64::from).collect(),
        mean_ns: sizes.iter().map(row).collect(),
        spread: sizes.iter().map(spreads).collect(),
    })
}

/// Latencies per mille of their mean. The last is no latency: with it, straight lines between have the measured mean.
fn spread(measured: &Outcome) -> Vec<u32> {
    let of = |share: &u32| (measured.quantile(*share) * 1000 / measured.mean_ns).min(u32::MAX.into()) as u32;
    let mut spread: Vec<u32> = SHARES.iter().map(of).collect();
    let width = |at: usize| i64::from(SHARES[at + 1] - SHARES[at]);
    let twice = (0..).zip(spread.windows(2)).map(|(at, ends)| width(at) * (i64::from(ends[0]) + i64::from(ends[1])));
    let last = spread.len() - 1;
    let missing = 2 * 1000 * i64::from(SHARES[last]) - twice.take(last - 1).sum::<i64>();
    let end = missing / width(last - 1) - i64::from(spread[last - 1]);
    spread[last] = end.clamp(spread[last - 1].into(), u32::MAX.into()) as u32;
    spread
}

#[cfg(test)]
mod tests {
    use super::super::Tried;
    use super::super::closed_loop::tests::plain;
    use super::super::loads;
    use super::*;

    type Make<'a> = &'a dyn Fn() -> Box<dyn Device>;

    fn cells(make: Make, loads: Vec<Load>) -> Vec<Cell> {
        let cell = |load: Load| {
            let measured = play(&mut make(), &load, 4000, Seed(7));
            Cell { rounds: (measured.iops(), measured.iops()), load, measured }
        };
        loads.into_iter().map(cell).collect()
    }

    fn fitted(make: Make) -> Model {
        fit(make().facts(), 1_000_000, &cells(make, loads::seen(true, make().facts().depth))).unwrap()
    }

    /// Predictions of `found` for the loads that it was not fitted to, beside what the made device does.
    fn unseen(found: &Model, make: Make) -> Vec<Row> {
        compare(found, &cells(make, loads::unseen(true, make().facts().depth))).unwrap()
    }

    /// A device with a spread, whose writes differ from its reads.
    fn planted() -> Model {
        let mut model = plain();
        let spread = vec![700, 720, 800, 830, 900, 960, 1040, 1150, 1300, 1900, 2600, 4000];
        model.read.random.spread.iter_mut().flatten().for_each(|of| of.clone_from(&spread));
        let mut write = model.read.clone();
        write.random.mean_ns.iter_mut().flatten().for_each(|ns| *ns *= 3);
        model.write = Some(write);
        model
    }

    fn device(model: &Model) -> Box<dyn Device> {
        Box::new(Fitted::new(model.clone(), Seed(3)).unwrap())
    }

    /// Between their shares latencies lie on straight lines, whose mean is the measured one unless the last would have
    /// to be below the one before.
    #[test]
    fn a_spread_has_the_mean_of_what_was_measured() {
        let (model, mut free) = (planted(), 0);
        for cell in cells(&|| device(&model), loads::seen(true, 64)) {
            let spread = spread(&cell.measured);
            let pieces = SHARES.windows(2).zip(spread.windows(2));
            let twice: u64 =
                pieces.map(|(of, ends)| u64::from(of[1] - of[0]) * (u64::from(ends[0]) + u64::from(ends[1]))).sum();
            let mean = twice / 2 / u64::from(SHARES[SHARES.len() - 1]);
            let is_cut = spread[SHARES.len() - 1] == spread[SHARES.len() - 2];
            assert!(mean.abs_diff(1000) <= 1 || is_cut, "{mean} per mille: {spread:?}");
            free += u32::from(!is_cut);
        }
        assert!(free > 0, "the last has room");
    }

    #[test]
    fn a_load_deeper_than_the_device_has_no_prediction() {
        let model = planted();
        let load = |depth| Load { depth, ..loads::seen(true, 64).remove(0) };
        assert!(outcome(&model, &load(model.depth)).is_ok());
        let refused = outcome(&model, &load(model.depth + 1)).err().unwrap_or_default();
        assert!(refused.starts_with("the device takes ") && refused.ends_with("and a load has 65"), "{refused}");
    }

    #[test]
    fn a_planted_device_is_recovered_from_its_closed_loops() {
        let model = planted();
        let found = fitted(&|| device(&model));
        for (bytes, depth) in [(4096, 1), (8192, 3), (65_536, 16), (131_072, 8)] {
            let near =
                |is: u64, wanted: u64| assert!(is.abs_diff(wanted) * 100 <= 6 * wanted, "{is} ns, planted {wanted}");
            near(found.read.random.mean(depth, bytes), model.read.random.mean(depth, bytes));
            let writes = |it: &Model| it.write.as_ref().unwrap().random.mean(depth, bytes);
            near(writes(&found), writes(&model));
        }
        let rows = unseen(&found, &|| device(&model));
        assert!(rows.iter().all(Row::is_accepted), "{rows:?}");
    }

    #[test]
    fn the_largest_error_is_the_largest_factor_whichever_way() {
        let row = |predicted, measured| Row {
            load: loads::unseen(false, 64).remove(0),
            iops: (predicted, measured),
            rounds: (measured, measured),
            p99_ns: (measured, measured),
            samples: 1,
        };
        let tried = Tried::of(&[row(130, 100), row(75, 100), row(100, 100)]);
        assert_eq!(tried, Tried { loads: 3, iops_per_mille: -250, p99_per_mille: 0 });
        assert!((Tried::factor(-250) - 4.0 / 3.0).abs() < 1e-12 && !tried.is_accepted());
        assert!(Tried::of(&[row(86, 100)]).is_accepted() && !Tried::of(&[row(84, 100)]).is_accepted());
    }

    #[test]
    fn drives_that_are_built_otherwise_are_predicted() {
        // The latencies of `femu` are a few multiples of a time: between two loads, its p99 is a jump.
        for (name, p99_within) in [("nvme", ACCEPTED), ("ssd", ACCEPTED), ("femu", 200)] {
            let make = || crate::by_name(name, Seed(1)).unwrap();
            let mut rows = unseen(&fitted(&make), &make);
            rows.retain(|row| row.load.writes == 0);
            let off: Vec<(i64, i64)> = rows.iter().map(Row::off).collect();
            let is_near = |off: &(i64, i64)| off.0.unsigned_abs() <= ACCEPTED && off.1.unsigned_abs() <= p99_within;
            assert!(off.len() == 3 && off.iter().all(is_near), "{name}: {off:?}");
        }
    }

    #[test]
    fn a_device_that_is_none_of_this_kind_is_rejected() {
        // Another drive has the unseen loads: half as slow again, then with a tail, then with half the bandwidth.
        let changed = |change: fn(&mut Grid)| {
            let mut other = planted();
            change(&mut other.read.random);
            other
        };
        let found = fitted(&|| device(&planted()));
        let others = [
            changed(|grid| grid.mean_ns.iter_mut().flatten().for_each(|ns| *ns = *ns * 3 / 2)),
            changed(|grid| grid.spread.iter_mut().flatten().for_each(|spread| spread[9..].fill(9000))),
            changed(|grid| grid.mean_ns[1].iter_mut().for_each(|ns| *ns *= 2)),
        ];
        for other in others {
            let rows = unseen(&found, &|| device(&other));
            assert!(rows.iter().any(|row| !row.is_accepted()), "{rows:?}");
        }
        // A disk with an arm is not what this model can be.
        let disk = || crate::by_name("atlas-10k:write_cache=off,depth=64", Seed(1)).unwrap();
        let rows = unseen(&fitted(&disk), &disk);
        assert!(rows.iter().any(|row| !row.is_accepted()), "{rows:?}");
    }

    #[test]
    fn means_and_quantiles_come_back_though_one_command_took_a_hundred_times_as_long() {
        let mut latencies: Vec<u64> = (0..5000).map(|at| 50_000 + at * 10 + (at / 4900) * 40_000).collect();
        latencies[17] = 9_000_000;
        let measured = Outcome::of(latencies, 1).unwrap();
        let load = Load::random(4096, 1, 0);
        let cell = Cell { load: load.clone(), measured: measured.clone(), rounds: (1, 1) };
        let model = fit(device(&plain()).facts(), 0, &[cell]).unwrap();
        let is = play(&mut device(&model), &load, 100_000, Seed(5));
        assert!(is.mean_ns.abs_diff(measured.mean_ns) * 100 < measured.mean_ns, "{} {}", is.mean_ns, measured.mean_ns);
        for share in [1000, 5000, 9000, 9900] {
            let (is, wanted) = (is.quantile(share), measured.quantile(share));
            assert!(is.abs_diff(wanted) * 50 < wanted, "{share}: {is} ns, measured {wanted}");
        }
    }

    #[test]
    fn a_fit_without_single_reads_says_what_is_missing() {
        let model = device(&plain());
        assert!(fit(model.facts(), 0, &[]).unwrap_err().contains("one in flight"));
    }
}
