//! Tables of results: named columns of one kind each, written as CSV and, with feature `arrow`, as Arrow and Parquet.
//!
//! ```
//! use goodness_table::{Cell, Column, Kind, Table};
//!
//! const COLUMNS: &[Column] = &[
//!     Column { name: "arm", kind: Kind::Text, about: "Name of the arm." },
//!     Column { name: "value", kind: Kind::Float, about: "Value in `unit`; missing if not measured." },
//! ];
//! let mut table = Table::new("goodness.example/1", COLUMNS);
//! table.push(&[Cell::Text("eevdf"), Cell::Float(1.5)]);
//! table.push(&[Cell::Text("eevdf"), Cell::Missing]);
//! assert_eq!(goodness_table::csv::render(&table), "arm,value\neevdf,1.5\neevdf,\n");
//! ```

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod csv;
mod format;
pub mod long;
mod table;

pub use format::Format;
pub use table::{Cell, Column, Kind, Table, Values, column};
