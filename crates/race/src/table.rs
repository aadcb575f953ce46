//! The values of a race as a table.

use crate::engine::Outcome;
use goodness_table::Table;
use goodness_table::long::{self, OneRun};

/// Every value of every counted run, and the load of the machine in all runs: schema `goodness.runs/1`. The number of a
/// run is that of its block; the first blocks are warm-up.
#[must_use]
pub fn values(outcome: &Outcome) -> Table {
    let mut table = long::runs();
    let of = OneRun {
        input: Some(&outcome.race),
        machine: Some(&outcome.kernel),
        seed: Some(outcome.seed),
        ..OneRun::default()
    };
    for arm in &outcome.arms {
        let arm_of = OneRun { arm: Some(&arm.name), settings: Some(&arm.sets), ..of };
        for measure in &arm.measures {
            for (block, value) in (u64::from(outcome.warmup)..).zip(&measure.values) {
                let run = OneRun { run: Some(block), ..arm_of };
                run.push(&mut table, &measure.name, measure.shown_unit(), *value);
            }
        }
        for it in outcome.runs.iter().filter(|it| it.arm == arm.name) {
            let run = OneRun { run: Some(u64::from(it.block)), ..arm_of };
            run.push(&mut table, "run_time", "ns", Some(it.took_ns as f64));
            run.push(&mut table, "outside_load", "share", it.others);
            run.push(&mut table, "stolen_time", "share", Some(it.stolen));
        }
    }
    table
}
