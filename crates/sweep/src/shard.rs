//! Shards: a Parquet file for each block of cells, one value a row.

use crate::cell::Cell;
use crate::compute::{ByCell, Finished};
use goodness::Refusal;
use goodness_table::arrow::arrow_array::cast::AsArray;
use goodness_table::arrow::arrow_array::types::{Float64Type, Int32Type, UInt64Type};
use goodness_table::arrow::arrow_array::{Array, ArrayAccessor, RecordBatch, StringArray};
use goodness_table::arrow::{batch, read_parquet, take_rows, write_parquet};
use goodness_table::long::RUNS;
use goodness_table::{Cell as Value, Column, Kind, Table, column};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

/// Columns of a shard: schema `goodness.sweep-runs/1`: the cell's name, then the columns of `goodness.runs/1`, in which
/// `settings` are the sweep's parameters.
static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    let cell = column("cell", Kind::Text, "Name of the cell: the hash of all that decides it.");
    std::iter::once(cell).chain(RUNS.iter().copied()).collect()
});

/// An empty table of shards.
pub(crate) fn table() -> Table {
    Table::new("goodness.sweep-runs/1", &COLUMNS)
}

/// Facts in the metadata of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Hash of the definition's cells.
    pub definition: String,
    /// Number of the block.
    pub block: usize,
    /// Cells that failed, and are not in the shard.
    pub failed: usize,
}

/// Writes the block's cells with their results, in order, at once.
pub(crate) fn write(path: &Path, facts: &Facts, cells: &[(&Cell, &Finished)]) -> Result<(), Refusal> {
    let mut table = table();
    cells.iter().for_each(|(cell, finished)| push(&mut table, cell, finished));
    let (block, failed) = (facts.block.to_string(), facts.failed.to_string());
    let facts = [("definition", facts.definition.as_str()), ("block", &block), ("failed", &failed)];
    let mut batch = std::iter::once(batch(table));
    goodness_output::write_with(path, |out| write_parquet(&mut batch, &facts, out)).map_err(Refusal::failed)
}

fn push(table: &mut Table, cell: &Cell, finished: &Finished) {
    for (metric, values) in &finished.values {
        let about = goodness_observe::METRICS.iter().find(|it| it.name == metric);
        for (run, value) in values.iter().enumerate() {
            table.push(&[
                Value::Text(&cell.name),
                Value::Text(&cell.input),
                Value::Text(&cell.arm),
                Value::Text(&cell.settings),
                Value::Text(cell.machine.as_deref().unwrap_or(&finished.machine)),
                Value::Whole(cell.seed),
                Value::Whole(run as u64),
                Value::Text(metric),
                Value::Text(about.map_or("", goodness::unit_of)),
                (*value).into(),
            ]);
        }
    }
}

/// The rows of a shard that belong to the cells for which `is_meant`.
///
/// # Errors
/// It cannot be read, or is no shard.
pub(crate) fn rows(path: &Path, is_meant: impl Fn(&str) -> bool) -> io::Result<Table> {
    let mut table = table();
    for batch in &read_parquet(File::open(path)?, &[])?.batches {
        let other = || io::Error::other(format!("{}: its columns have other kinds", path.display()));
        take_rows(&mut table, batch, &is_meant).ok_or_else(other)?;
    }
    Ok(table)
}

/// Results of a shard that was read.
pub(crate) struct Shard {
    pub facts: Facts,
    /// By cell, then metric: the value of each run. Only the metrics asked for.
    pub values: ByCell,
    /// By cell: the name of its machine.
    machines: HashMap<String, String>,
}

/// Reads a shard; of metrics other than `metric` nothing, if one is named.
///
/// # Errors
/// It cannot be read, or is no shard.
pub(crate) fn read(path: &Path, metric: Option<&str>) -> Result<Shard, Refusal> {
    let damaged = |why: String| {
        Refusal::usage(format!("the shard is damaged: {why}"))
            .at(path.display().to_string())
            .remedy("delete the file; its cells are computed again")
    };
    let file = File::open(path).map_err(|why| damaged(why.to_string()))?;
    let read =
        read_parquet(file, &["cell", "machine", "run", "metric", "value"]).map_err(|why| damaged(why.to_string()))?;
    let fact = |name: &str| read.facts.get(name).cloned().ok_or_else(|| damaged(format!("it has no {name}")));
    let number = |name: &str| fact(name)?.parse().map_err(|_| damaged(format!("its {name} is no number")));
    let facts = Facts { definition: fact("definition")?, block: number("block")?, failed: number("failed")? };
    let mut shard = Shard { facts, values: ByCell::new(), machines: HashMap::new() };
    for batch in &read.batches {
        shard.take(batch, metric).ok_or_else(|| damaged("its columns have other kinds".into()))?;
    }
    Ok(shard)
}

impl Shard {
    /// The cells as they were when they were finished, in no order.
    pub(crate) fn into_finished(self) -> impl Iterator<Item = Finished> {
        let Shard { values, mut machines, .. } = self;
        values.into_iter().map(move |(cell, values)| Finished {
            machine: machines.remove(&cell).unwrap_or_default(),
            cell,
            values,
            failed: None,
        })
    }

    fn take(&mut self, batch: &RecordBatch, metric: Option<&str>) -> Option<()> {
        let text =
            |name: &str| batch.column_by_name(name)?.as_dictionary_opt::<Int32Type>()?.downcast_dict::<StringArray>();
        let (cells, machines, metrics) = (text("cell")?, text("machine")?, text("metric")?);
        let runs = batch.column_by_name("run")?.as_primitive_opt::<UInt64Type>()?;
        let values = batch.column_by_name("value")?.as_primitive_opt::<Float64Type>()?;
        for row in 0..batch.num_rows() {
            let (cell, name) = (cells.value(row), metrics.value(row));
            let of_cell = match self.values.get_mut(cell) {
                Some(known) => known,
                None => {
                    self.machines.insert(cell.to_string(), machines.value(row).to_string());
                    self.values.entry(cell.to_string()).or_default()
                }
            };
            if metric.is_some_and(|it| it != name) {
                continue;
            }
            if of_cell.last().is_none_or(|(known, _)| known != name) {
                of_cell.push((name.to_string(), Vec::new()));
            }
            let of_metric = &mut of_cell.last_mut()?.1;
            of_metric.resize(runs.value(row) as usize + 1, None);
            *of_metric.last_mut()? = values.is_valid(row).then(|| values.value(row));
        }
        Some(())
    }
}
