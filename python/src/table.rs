//! Tables of results: read by data-frame libraries through the Arrow PyCapsule interface, without a copy.

use crate::error::{failure, usage};
use goodness_table::arrow::arrow_array::ffi_stream::FFI_ArrowArrayStream;
use goodness_table::arrow::arrow_array::{RecordBatch, RecordBatchIterator};
use goodness_table::arrow::arrow_schema::ffi::FFI_ArrowSchema;
use goodness_table::{Cell, Format, arrow};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use std::path::PathBuf;

/// Rows that a table shows of itself.
const SHOWN: usize = 10;

/// A table of results: named columns of one kind each.
#[pyclass(frozen, module = "goodness")]
pub struct Table {
    /// Values by row, for text.
    rows: goodness_table::Table,
    /// The same values, shared with everyone who reads them.
    batch: RecordBatch,
}

impl Table {
    /// `table` for Python.
    pub fn of(table: goodness_table::Table) -> Table {
        Table { batch: arrow::batch(table.clone()), rows: table }
    }

    fn text(&self, row: usize, column: usize) -> String {
        match self.rows.cell(row, column) {
            Cell::Text(text) => text.into(),
            Cell::Float(value) => format!("{value:.6}").trim_end_matches('0').trim_end_matches('.').into(),
            Cell::Whole(value) => value.to_string(),
            Cell::Signed(value) => value.to_string(),
            Cell::Missing => String::new(),
        }
    }

    fn shown(&self) -> impl Iterator<Item = Vec<String>> {
        (0..self.rows.rows().min(SHOWN)).map(|row| (0..self.rows.columns().len()).map(|c| self.text(row, c)).collect())
    }

    fn left_out(&self) -> String {
        let count = self.rows.rows().saturating_sub(SHOWN);
        if count > 0 { format!("{count} more rows") } else { String::new() }
    }
}

#[pymethods]
impl Table {
    /// A stream of one record batch that shares the table's memory.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A reader that asks for another schema casts the columns itself.
        let _ = requested_schema;
        let reader = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// The schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref());
        PyCapsule::new_with_value(py, schema.map_err(|why| failure(why.to_string()))?, c"arrow_schema")
    }

    /// Name and version of the schema.
    #[getter]
    fn schema_name(&self) -> &'static str {
        self.rows.schema()
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&'static str> {
        self.rows.columns().iter().map(|column| column.name).collect()
    }

    /// Meaning of each column, with its unit.
    #[getter]
    fn about<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = PyDict::new(py);
        self.rows.columns().iter().try_for_each(|column| about.set_item(column.name, column.about))?;
        Ok(about)
    }

    fn __len__(&self) -> usize {
        self.rows.rows()
    }

    /// Values of a column; None where one is missing.
    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyList>> {
        let place = self.rows.columns().iter().position(|it| it.name == column);
        let place = place.ok_or_else(|| {
            let names = self.columns().join(", ");
            usage(format!("{} has no column \"{column}\"; its columns are {names}", self.rows.schema()))
        })?;
        let values = PyList::empty(py);
        for row in 0..self.rows.rows() {
            match self.rows.cell(row, place) {
                Cell::Text(text) => values.append(text)?,
                Cell::Float(value) => values.append(value)?,
                Cell::Whole(value) => values.append(value)?,
                Cell::Signed(value) => values.append(value)?,
                Cell::Missing => values.append(py.None())?,
            }
        }
        Ok(values)
    }

    /// The rows as dictionaries.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let columns: Vec<_> = self.columns().iter().map(|it| self.__getitem__(py, it)).collect::<PyResult<_>>()?;
        let rows = PyList::empty(py);
        for row in 0..self.rows.rows() {
            let dict = PyDict::new(py);
            for (name, values) in self.columns().iter().zip(&columns) {
                dict.set_item(name, values.get_item(row)?)?;
            }
            rows.append(dict)?;
        }
        Ok(rows)
    }

    /// A polars DataFrame.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        needed(slf.py(), "polars")?.call_method1("DataFrame", (slf,))
    }

    /// A pandas DataFrame.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        needed(slf.py(), "pandas")?;
        Table::to_arrow(slf)?.call_method0("to_pandas")
    }

    /// A pyarrow Table.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        needed(slf.py(), "pyarrow")?.call_method1("table", (slf,))
    }

    /// Writes a file: .csv, .parquet or .arrow.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let format = match path.extension().and_then(|it| it.to_str()) {
            Some("csv") => Format::Csv,
            Some("parquet") => Format::Parquet,
            Some("arrow" | "feather") => Format::Arrow,
            _ => {
                let path = path.display();
                return Err(usage(format!("{path}: name a file that ends with .csv, .parquet or .arrow")));
            }
        };
        let write = |out: &mut dyn std::io::Write| format.write(&mut std::iter::once(self.rows.clone()), out);
        goodness_report::atomic::write_with(&path, write).map_err(failure)
    }

    fn __repr__(&self) -> String {
        let head: Vec<String> = self.columns().iter().map(ToString::to_string).collect();
        let all: Vec<Vec<String>> = std::iter::once(head).chain(self.shown()).collect();
        let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..all[0].len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
        };
        let lines: Vec<String> = all.iter().map(line).collect();
        let size = format!("{} rows, schema {}", self.rows.rows(), self.rows.schema());
        let left_out = self.left_out();
        let more = if left_out.is_empty() { String::new() } else { format!("… {left_out}\n") };
        format!("{}\n{more}({size})", lines.join("\n"))
    }

    fn _repr_html_(&self) -> String {
        crate::notebook::table(&self.columns(), self.shown(), &self.left_out())
    }
}

/// A module that must be installed for this.
fn needed<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|why| {
        let error = failure(format!("{name} is not installed; run: pip install {name}"));
        error.set_cause(py, Some(why));
        error
    })
}
