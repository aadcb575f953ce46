//! The candidates of a tuning as a table, a row each.

use super::Tuning;
use goodness_table::Kind::{Float, Text, Whole};
use goodness_table::{Cell, Column, Table};

/// Columns of [`candidates`]: schema `goodness.tune-candidates/1`.
pub const CANDIDATES: &[Column] = &[
    Column { name: "stage", kind: Text, about: "search, or held-out for the final score." },
    Column { name: "arm", kind: Text, about: "The setting; base for the default." },
    Column { name: "round", kind: Whole, about: "Round of the search that proposed it, from 1; 0 for the default." },
    Column { name: "runs", kind: Whole, about: "Runs on each input." },
    Column { name: "metric", kind: Text, about: "The objective." },
    Column { name: "unit", kind: Text, about: "Unit of the value." },
    Column { name: "value", kind: Float, about: "Mean of the objective; missing if it was not measured." },
    Column { name: "ratio", kind: Float, about: "Value over the default's, paired by run." },
    Column { name: "ratio_low", kind: Float, about: "Lower end of the ratio's 95 % interval." },
    Column { name: "ratio_high", kind: Float, about: "Upper end of the ratio's 95 % interval." },
    Column { name: "result", kind: Text, about: "Reason it was dropped, or the finalist's result; missing otherwise." },
];

/// Every candidate of the search, then the finalists with their final score.
#[must_use]
pub fn candidates(tuning: &Tuning) -> Table {
    let mut table = Table::new("goodness.tune-candidates/1", CANDIDATES);
    let goal = &tuning.objective;
    let mut push =
        |head: (&str, &str, u32, u32), value: Option<f64>, ratio: Option<f64>, ends: Option<[f64; 2]>, result| {
            let (stage, arm, round, runs) = head;
            table.push(&[
                Cell::Text(stage),
                Cell::Text(arm),
                Cell::Whole(round.into()),
                Cell::Whole(runs.into()),
                Cell::Text(&goal.metric),
                Cell::Text(&goal.unit),
                value.into(),
                ratio.into(),
                ends.map(|it| it[0]).into(),
                ends.map(|it| it[1]).into(),
                result,
            ]);
        };
    for it in &tuning.candidates {
        let result = it.dropped.map_or(Cell::Missing, |why| Cell::Text(why.name()));
        push(("search", &it.arm, it.round, it.runs), it.value, it.ratio, it.ratio_ci95, result);
    }
    for it in &tuning.finalists {
        let round = tuning.candidates.iter().find(|known| known.arm == it.arm).map_or(0, |known| known.round);
        let head = ("held-out", it.arm.as_str(), round, tuning.held_out_runs);
        push(head, it.score.value, it.ratio, it.ratio_ci95, Cell::Text(it.standing.name()));
    }
    table
}
