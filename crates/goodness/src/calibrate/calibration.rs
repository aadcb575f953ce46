//! The measurement of `goodness calibrate`, of the CPUs or of a disk, to be written and shown.

use super::disk::{self, Measured};
use super::{Document, render, surroundings, text};
use crate::refusal::Refusal;
use goodness_play::calibrate::{Found, STEPS, measure};
use goodness_table::Table;
use serde::Serialize;
use std::path::Path;

/// The costs of this machine, or a disk.
#[derive(Debug)]
pub enum Calibration {
    /// Scheduling costs.
    Machine(Found),
    /// A disk, and the device fitted to it.
    Disk(Box<Measured>),
}

impl Calibration {
    /// The most calls to `progress`.
    #[must_use]
    pub fn steps(of_disk: bool, with_writes: bool) -> u64 {
        if of_disk { disk::steps(with_writes) } else { STEPS }
    }

    /// Measures the disk at `path`, or this machine without one.
    ///
    /// # Errors
    /// A disk or machine that cannot be measured; writes allowed without a disk.
    pub fn measured(
        path: Option<&Path>,
        with_writes: bool,
        mut progress: impl FnMut(&'static str) + Send,
    ) -> Result<Calibration, Refusal> {
        match path {
            Some(path) => disk::measure(path, with_writes, || progress("measuring the disk"))
                .map(|it| Calibration::Disk(Box::new(it))),
            None => {
                let failed = |why| Refusal::failed(format!("this machine cannot be measured: {why}"));
                measure(progress).map(Calibration::Machine).map_err(failed)
            }
        }
    }

    /// The machine or device file, and the option that uses it.
    #[must_use]
    pub fn file(&self) -> (String, &'static str) {
        match self {
            Calibration::Machine(found) => (render(found, &surroundings()), "--machine"),
            Calibration::Disk(disk) => (disk.file(), "--device"),
        }
    }

    /// The figures, in `width` columns.
    #[must_use]
    pub fn text(&self, width: u16) -> String {
        match self {
            Calibration::Machine(found) => text(found, width),
            Calibration::Disk(disk) => disk.text(width),
        }
    }

    /// Every figure as a table.
    #[must_use]
    pub fn table(&self) -> Table {
        match self {
            Calibration::Machine(found) => Document::of(found).table(),
            Calibration::Disk(disk) => disk.document().table(),
        }
    }

    /// False if a fitted device misses what was measured.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        match self {
            Calibration::Machine(_) => true,
            Calibration::Disk(disk) => disk.is_accepted(),
        }
    }
}

impl Serialize for Calibration {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Calibration::Machine(found) => Document::of(found).serialize(serializer),
            Calibration::Disk(disk) => disk.document().serialize(serializer),
        }
    }
}
