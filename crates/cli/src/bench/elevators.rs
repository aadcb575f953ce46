//! `goodness bench --elevator`: cost of requests by number of waiting requests.

use super::Bench;
use crate::failure::Failure;
use crate::progress;
use goodness::ElevatorSpec;
use goodness_bench::{long, table, text};

/// Measures and prints.
///
/// # Errors
/// Unknown elevators or tunables, sizes out of range, faults.
pub(super) fn run(bench: &Bench) -> Result<u8, Failure> {
    if let Some(waiting) = bench.waiting.iter().find(|waiting| !(1..=1_000_000).contains(*waiting)) {
        return Err(Failure::usage(format!("--waiting {waiting} is outside 1 ..= 1000000")));
    }
    if bench.decisions == 0 {
        return Err(Failure::usage("--decisions 0 is outside 1 ..; the run times requests"));
    }
    let (elevators, budget) = (ElevatorSpec::all(&bench.elevator)?, bench.time()?);
    let bar = progress::bar((bench.waiting.len() * elevators.len()) as u64, "timing");
    let rows = table::request_rows(&elevators, &bench.waiting, budget, bench.decisions, &|| bar.inc(1));
    bar.finish_and_clear();
    let rows = rows.map_err(Failure::other)?;
    bench.json.show(&rows, |width| text::requests(&rows, width))?;
    bench.write(|| long::requests(&rows))
}
