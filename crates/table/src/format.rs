//! File formats of tables.

use crate::csv;
use crate::table::Table;
use std::io::{self, Write};

/// A file format of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values.
    Csv,
    /// Arrow file (Feather 2).
    Arrow,
    /// Parquet file.
    Parquet,
}

impl Format {
    /// True if this build can write it: Arrow and Parquet need feature `arrow`.
    #[must_use]
    pub const fn is_built_in(self) -> bool {
        matches!(self, Format::Csv) || cfg!(feature = "arrow")
    }

    /// Writes a table that comes in `parts`, which have one schema. An Arrow file takes the memory of all parts, the
    /// others that of the largest.
    ///
    /// # Errors
    /// Those of `out`; the format is not built in.
    pub fn write(self, parts: &mut dyn Iterator<Item = Table>, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Format::Csv => csv::write_parts(parts, out),
            #[cfg(feature = "arrow")]
            Format::Arrow => {
                let whole = parts.reduce(Table::and);
                whole.map_or(Ok(()), |table| crate::arrow::write_arrow(&crate::arrow::batch(table), out))
            }
            #[cfg(feature = "arrow")]
            Format::Parquet => crate::arrow::write_parquet(&mut parts.map(crate::arrow::batch), &[], out),
            #[cfg(not(feature = "arrow"))]
            Format::Arrow | Format::Parquet => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// As [`Format::write`], of parts that may fail to be made.
    ///
    /// # Errors
    /// Those of the parts, too; `out` holds some of the parts then.
    pub fn write_tried(
        self,
        parts: &mut dyn Iterator<Item = io::Result<Table>>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut failed = None;
        let mut made = parts.map_while(|part| part.map_err(|why| failed = Some(why)).ok());
        self.write(&mut made, out)?;
        drop(made);
        failed.map_or(Ok(()), Err)
    }
}
