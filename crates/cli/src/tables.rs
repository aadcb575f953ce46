//! Results as tables: CSV, Arrow and Parquet files.

use crate::failure::Failure;
use goodness_report::atomic;
use goodness_table::{Format, Table};
use std::io;
use std::path::{Path, PathBuf};

/// Files of every value, a row each.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Tables {
    /// Write every measured value as CSV, one a row.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the same as a Parquet file.
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
    /// Write the same as an Arrow file (Feather 2).
    #[arg(long, value_name = "FILE")]
    arrow: Option<PathBuf>,
}

impl Tables {
    /// The options with their files, to be checked with the other outputs.
    pub fn asked(&self) -> [(&Option<PathBuf>, &'static str); 3] {
        [(&self.csv, "--csv"), (&self.parquet, "--parquet"), (&self.arrow, "--arrow")]
    }

    fn formats(&self) -> impl Iterator<Item = (&Path, &'static str, Format)> {
        let formats = [Format::Csv, Format::Parquet, Format::Arrow];
        self.asked().into_iter().zip(formats).filter_map(|((path, option), it)| Some((path.as_deref()?, option, it)))
    }

    /// Refuses formats that are not in this build, before any work is done.
    ///
    /// # Errors
    /// A sentence that names the option and how to build it in.
    pub fn check(&self) -> Result<(), Failure> {
        match self.formats().find(|(_, _, format)| !format.is_built_in()) {
            None => Ok(()),
            Some((_, option, _)) => Err(Failure::usage(format!(
                "{option} is not in this build. Build it in: cargo build --release --features tables; or write --csv"
            ))),
        }
    }

    /// Writes the files. Returns their paths.
    ///
    /// # Errors
    /// One cannot be written.
    pub fn write<P: Iterator<Item = Table>>(&self, parts: impl Fn() -> P) -> Result<Vec<&Path>, Failure> {
        self.write_tried(|| parts().map(Ok))
    }

    /// As [`Tables::write`], of parts that may fail to be made.
    ///
    /// # Errors
    /// Those of the parts, too; no file is written then.
    pub fn write_tried<P>(&self, parts: impl Fn() -> P) -> Result<Vec<&Path>, Failure>
    where
        P: Iterator<Item = io::Result<Table>>,
    {
        let write = |(path, _, format): (_, _, Format)| {
            let written = atomic::write_with(path, |out| format.write_tried(&mut parts(), out));
            written.map(|()| path).map_err(Failure::other)
        };
        self.formats().map(write).collect()
    }
}
