//! Measures a disk, fits a device to it, and tries it on loads that it was not fitted to.

use super::surroundings;
use crate::refusal::Refusal;
use goodness_device::fitted::fit::{ACCEPTED, Cell, Row, compare, fit};
use goodness_device::fitted::loads::{seen, unseen};
use goodness_device::fitted::tried::percent;
use goodness_device::fitted::{Model, Tried};
use goodness_play::calibrate::disk::{Disk, ROUNDS};
use goodness_report::table;
use goodness_table::Kind::{Float, Text, Whole};
use goodness_table::long::{MACHINE, METRIC, UNIT};
use goodness_table::{Cell as Field, Column, Table, column};
use serde::Serialize;
use std::path::Path;

/// A measured disk.
#[derive(Debug)]
pub struct Measured {
    model: Model,
    /// The loads that the device was fitted to.
    seen: Vec<Row>,
    /// Loads that it was not.
    unseen: Vec<Row>,
    path: String,
    remarks: Vec<String>,
}

/// The most calls of [`measure`] to `progress`.
#[must_use]
pub fn steps(with_writes: bool) -> u64 {
    ROUNDS * (seen(with_writes, u32::MAX).len() + unseen(with_writes, u32::MAX).len()) as u64
}

/// Measures the disk or file at `path`: reads only, unless writes are allowed.
///
/// # Errors
/// A path that cannot be measured, or the kernel's error.
pub fn measure(path: &Path, with_writes: bool, progress: impl FnMut() + Send) -> Result<Measured, Refusal> {
    let disk = Disk::open(path, with_writes).map_err(Refusal::usage)?;
    let facts = disk.facts;
    let fitted = seen(with_writes, facts.depth);
    let loads: Vec<_> = fitted.iter().cloned().chain(unseen(with_writes, facts.depth)).collect();
    let failed = |why: &dyn std::fmt::Display| Refusal::failed(format!("{} cannot be measured: {why}", path.display()));
    let cells = disk.measure(&loads, progress).map_err(|why| failed(&why))?;
    let flush_ns = disk.flush().map_err(|why| failed(&why))?;
    let (seen, unseen) = cells.split_at(fitted.len());
    let mut model = fit(facts, flush_ns, seen).map_err(|why| failed(&why))?;
    let rows = |cells: &[Cell]| compare(&model, cells).map_err(|why| failed(&why));
    let (seen, unseen) = (rows(seen)?, rows(unseen)?);
    model.tried = Some(Tried::of(&unseen));
    let shown = path.display().to_string();
    let mut remarks = vec![format!("disk: {shown}, {}", disk.described)];
    remarks.extend(surroundings());
    if !with_writes {
        remarks.push("writes were not measured and take the times of reads, flushes take none".into());
    }
    Ok(Measured { model, seen, unseen, path: shown, remarks })
}

impl Measured {
    /// True if the device is near enough to all unseen loads.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        Tried::of(&self.unseen).is_accepted()
    }

    /// The answer in a sentence.
    #[must_use]
    pub fn verdict(&self) -> String {
        let (right, all) = (self.unseen.iter().filter(|row| row.is_accepted()).count(), self.unseen.len());
        let [iops, p99] = Tried::of(&self.unseen).in_words();
        let trust = if right == all { "Trusted" } else { "Untrusted" };
        format!(
            "{trust}: IOPS and p99 are within {} % on {right} of {all} loads that the device was not fitted to (at \
             most {iops} in IOPS, {p99} in p99).",
            ACCEPTED / 10
        )
    }

    /// The device file.
    #[must_use]
    pub fn file(&self) -> String {
        let mut remarks = self.remarks.clone();
        remarks.push(self.verdict());
        self.model.render(&remarks)
    }

    /// The answer, the unseen loads, and how near those are that the device was fitted to, in `width` columns.
    #[must_use]
    pub fn text(&self, width: u16) -> String {
        let mut table = table::new(width);
        table.set_header(["load × in flight", "IOPS", "predicted", "rounds", "p99 us", "predicted"]);
        table.add_rows(self.unseen.iter().map(words));
        table::align_right(&mut table, 1..6);
        let [iops, p99] = Tried::of(&self.seen).in_words();
        let count = self.seen.len();
        let seen = format!(
            "The {count} loads that it was fitted to: at most {iops} in IOPS, {p99} in p99 (--json lists them)."
        );
        let [verdict, seen] = [self.verdict(), seen].map(|text| table::wrapped("", &text, width, ""));
        format!("{verdict}\n\n{}\n\n{seen}", table::trimmed(&table))
    }

    /// The measurement as data: schema `goodness.calibrate-disk/1`.
    #[must_use]
    pub fn document(&self) -> Document {
        let row = |row: &Row, is_fitted| DiskLoad {
            load: row.load.to_string(),
            is_fitted,
            iops: row.iops.1,
            iops_slowest_round: row.rounds.0,
            iops_fastest_round: row.rounds.1,
            iops_predicted: row.iops.0,
            p99_ns: row.p99_ns.1,
            p99_ns_predicted: row.p99_ns.0,
            samples: row.samples,
        };
        let unseen = self.unseen.iter().map(|it| row(it, false));
        Document {
            schema: "goodness.calibrate-disk/1",
            disk: self.path.clone(),
            is_trusted: self.is_accepted(),
            loads: unseen.chain(self.seen.iter().map(|it| row(it, true))).collect(),
        }
    }
}

/// Load, measured values, how far predictions are off, and how far half the span of the rounds is.
fn words(row: &Row) -> [String; 6] {
    let (iops, p99) = row.off();
    let spread = (row.rounds.1 - row.rounds.0) * 50 / row.iops.1.max(1);
    [
        row.load.to_string(),
        row.iops.1.to_string(),
        percent(iops),
        format!("±{spread} %"),
        (row.p99_ns.1 / 1000).to_string(),
        percent(p99),
    ]
}

/// Columns of a measured disk: schema `goodness.disk-loads/1`.
pub const DISK_LOADS: &[Column] = &[
    MACHINE,
    column("load", Text, "Commands, their sizes, and their number in flight behind ×."),
    column("use", Text, "fitted: the device was fitted to it; unseen: it was not."),
    METRIC,
    UNIT,
    column("value", Float, "Measured value."),
    column("predicted", Float, "Value of the fitted device."),
    column("samples", Whole, "Commands measured."),
];

/// A measured disk: schema `goodness.calibrate-disk/1`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// Always `goodness.calibrate-disk/1`.
    schema: &'static str,
    /// The path that was measured.
    disk: String,
    /// True if all unseen loads are predicted within 15 %.
    is_trusted: bool,
    /// Every load.
    loads: Vec<DiskLoad>,
}

/// A load, measured and predicted.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct DiskLoad {
    /// Commands, their sizes and their number in flight.
    load: String,
    /// True if the device was fitted to it.
    is_fitted: bool,
    /// Commands in a second.
    iops: u64,
    /// The same of the slowest round.
    iops_slowest_round: u64,
    /// The same of the fastest round.
    iops_fastest_round: u64,
    /// The same of the fitted device.
    iops_predicted: u64,
    /// 99th percentile of the latency in ns.
    p99_ns: u64,
    /// The same of the fitted device.
    p99_ns_predicted: u64,
    /// Commands measured.
    samples: usize,
}

impl Document {
    /// Every value as a table: schema `goodness.disk-loads/1`.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table::new("goodness.disk-loads/1", DISK_LOADS);
        let kernel = goodness_sys::kernel_release();
        for load in &self.loads {
            let used = if load.is_fitted { "fitted" } else { "unseen" };
            let metrics = [
                ("iops", "1/s", load.iops, load.iops_predicted),
                ("io_latency_p99", "ns", load.p99_ns, load.p99_ns_predicted),
            ];
            for (metric, unit, value, predicted) in metrics {
                table.push(&[
                    kernel.as_deref().into(),
                    Field::Text(&load.load),
                    Field::Text(used),
                    Field::Text(metric),
                    Field::Text(unit),
                    Field::Float(value as f64),
                    Field::Float(predicted as f64),
                    Field::Whole(load.samples as u64),
                ]);
            }
        }
        table
    }
}
