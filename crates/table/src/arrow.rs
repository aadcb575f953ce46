//! Tables as Arrow record batches, Arrow files and Parquet files.

use crate::table::{Cell, Column, Kind, Table, Texts, Values};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayAccessor, ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TypedDictionaryArray, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

pub use arrow_array;
pub use arrow_schema;

/// Key of the schema's name in the metadata of Arrow schemas and Parquet files.
pub const SCHEMA_KEY: &str = "schema";

/// The schema of a table: columns with their meaning as metadata `about`, and the name of the schema as `schema`.
#[must_use]
pub fn schema(name: &str, columns: &[Column]) -> SchemaRef {
    let field = |column: &Column| {
        let kind = match column.kind {
            Kind::Text => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            Kind::Float => DataType::Float64,
            Kind::Whole => DataType::UInt64,
            Kind::Signed => DataType::Int64,
        };
        Field::new(column.name, kind, true).with_metadata(HashMap::from([("about".into(), column.about.into())]))
    };
    let metadata = HashMap::from([(SCHEMA_KEY.into(), name.into())]);
    Arc::new(Schema::new_with_metadata(columns.iter().map(field).collect::<Vec<_>>(), metadata))
}

/// The table as one record batch. Numbers are moved, not copied.
///
/// # Panics
/// Never: the columns of a table have its schema.
#[must_use]
pub fn batch(table: Table) -> RecordBatch {
    let schema = schema(table.schema(), table.columns());
    let arrays = table.into_values().into_iter().map(array).collect();
    RecordBatch::try_new(schema, arrays).expect("a table has one length and its schema")
}

fn array(values: Values) -> ArrayRef {
    match values {
        Values::Text(Texts { words, places, .. }) => {
            let words = Arc::new(StringArray::from(words));
            Arc::new(DictionaryArray::<Int32Type>::new(Int32Array::from(places), words))
        }
        Values::Float { values, present } => Arc::new(Float64Array::new(values.into(), nulls(present))),
        Values::Whole { values, present } => Arc::new(UInt64Array::new(values.into(), nulls(present))),
        Values::Signed { values, present } => Arc::new(Int64Array::new(values.into(), nulls(present))),
    }
}

/// `None` if nothing is missing.
fn nulls(present: Vec<bool>) -> Option<NullBuffer> {
    present.contains(&false).then(|| NullBuffer::from(present))
}

/// Writes an Arrow file (also called Feather 2).
///
/// # Errors
/// Those of `out`.
pub fn write_arrow(batch: &RecordBatch, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = FileWriter::try_new(out, &batch.schema()).map_err(from_arrow)?;
    writer.write(batch).and_then(|()| writer.finish()).map_err(from_arrow)
}

/// Writes a Parquet file of `batches`, which have one schema, compressed with Snappy, with `facts` as key-value
/// metadata. Equal batches give equal bytes. Writes nothing without a batch.
///
/// # Errors
/// Those of `out`.
pub fn write_parquet(
    batches: &mut dyn Iterator<Item = RecordBatch>,
    facts: &[(&str, &str)],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut batches = batches.peekable();
    let Some(first) = batches.peek() else { return Ok(()) };
    let facts = facts.iter().map(|(key, value)| KeyValue::new((*key).to_string(), (*value).to_string()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(facts.collect()))
        .build();
    // The writer wants an output that may be sent to another thread.
    let mut writer = ArrowWriter::try_new(Vec::new(), first.schema(), Some(properties))?;
    for batch in batches {
        writer.write(&batch)?;
        out.write_all(writer.inner())?;
        writer.inner_mut().clear();
    }
    out.write_all(&writer.into_inner()?)
}

/// Adds the rows of `batch` for which `is_meant`, given the text in the first column, to `table`. `None` if the batch
/// has other columns.
pub fn take_rows(table: &mut Table, batch: &RecordBatch, is_meant: impl Fn(&str) -> bool) -> Option<()> {
    let columns = table.columns();
    let arrays = columns.iter().map(|column| Reader::of(column, batch)).collect::<Option<Vec<_>>>()?;
    for row in 0..batch.num_rows() {
        let cells: Vec<Cell> = arrays.iter().map(|array| array.cell(row)).collect();
        if matches!(cells[0], Cell::Text(text) if is_meant(text)) {
            table.push(&cells);
        }
    }
    Some(())
}

/// A column of a batch.
enum Reader<'a> {
    Text(TypedDictionaryArray<'a, Int32Type, StringArray>),
    Float(&'a Float64Array),
    Whole(&'a UInt64Array),
    Signed(&'a Int64Array),
}

impl<'a> Reader<'a> {
    fn of(column: &Column, batch: &'a RecordBatch) -> Option<Reader<'a>> {
        let array = batch.column_by_name(column.name)?;
        Some(match column.kind {
            Kind::Text => Reader::Text(array.as_dictionary_opt::<Int32Type>()?.downcast_dict()?),
            Kind::Float => Reader::Float(array.as_primitive_opt()?),
            Kind::Whole => Reader::Whole(array.as_primitive_opt()?),
            Kind::Signed => Reader::Signed(array.as_primitive_opt()?),
        })
    }

    fn cell(&self, row: usize) -> Cell<'a> {
        match self {
            Reader::Text(texts) => texts.is_valid(row).then(|| texts.value(row)).into(),
            Reader::Float(values) => values.is_valid(row).then(|| values.value(row)).into(),
            Reader::Whole(values) => values.is_valid(row).then(|| values.value(row)).into(),
            Reader::Signed(values) => values.is_valid(row).then(|| values.value(row)).into(),
        }
    }
}

/// Batches of a Parquet file with its key-value metadata.
pub struct Parquet {
    /// Rows, in one batch or more.
    pub batches: Vec<RecordBatch>,
    /// Key-value metadata, without the Arrow schema.
    pub facts: HashMap<String, String>,
}

/// Reads a Parquet file whole, with only the columns that are named in `columns` if any are.
///
/// # Errors
/// It cannot be opened, or is not a Parquet file with these columns.
pub fn read_parquet(file: File, columns: &[&str]) -> io::Result<Parquet> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let facts = reader.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    let facts = facts.filter_map(|it| Some((it.key.clone(), it.value.clone()?))).collect();
    let schema = reader.parquet_schema();
    let mask = match columns.is_empty() {
        true => parquet::arrow::ProjectionMask::all(),
        false => parquet::arrow::ProjectionMask::columns(schema, columns.iter().copied()),
    };
    let batches = reader.with_projection(mask).build()?.collect::<Result<_, _>>().map_err(from_arrow)?;
    Ok(Parquet { batches, facts })
}

fn from_arrow(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Float64Type;
    use std::io::Seek;
    use std::iter::once;

    const COLUMNS: &[Column] = &[
        Column { name: "arm", kind: Kind::Text, about: "Name of the arm." },
        Column { name: "seed", kind: Kind::Whole, about: "Random seed." },
        Column { name: "value", kind: Kind::Float, about: "Value." },
    ];

    fn sample() -> Table {
        let mut table = Table::new("goodness.test/1", COLUMNS);
        for row in 0..5_000u64 {
            let value = if row % 7 == 0 { Cell::Missing } else { Cell::Float(row as f64 / 3.0) };
            table.push(&[Cell::Text(if row % 2 == 0 { "eevdf" } else { "cfs" }), Cell::Whole(u64::MAX - row), value]);
        }
        table
    }

    #[test]
    fn numbers_are_moved_into_the_batch() {
        let table = sample();
        let Values::Float { values, .. } = &table.clone().into_values()[2] else { panic!("numbers") };
        let (before, length) = (values.clone(), values.len());
        let Values::Float { values, .. } = table.into_values().remove(2) else { panic!("numbers") };
        let at = values.as_ptr();
        let array = Float64Array::new(values.into(), None);
        assert_eq!((array.values().as_ptr(), array.len()), (at, length));
        assert_eq!(array.values().to_vec(), before);
    }

    #[test]
    fn a_parquet_file_reads_back_as_it_was_with_its_facts() {
        let batch = batch(sample());
        let mut file = tempfile();
        write_parquet(&mut once(batch.clone()), &[("cell", "abc")], &mut file).unwrap();
        file.rewind().unwrap();
        let read = read_parquet(file.try_clone().unwrap(), &[]).unwrap();
        assert_eq!(read.facts.get("cell").map(String::as_str), Some("abc"));
        let rows: usize = read.batches.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(rows, batch.num_rows());
        let first = &read.batches[0];
        for column in [1, 2] {
            assert_eq!(first.column(column), &batch.column(column).slice(0, first.num_rows()));
        }
        let arm = first.column(0).as_dictionary::<Int32Type>().downcast_dict::<StringArray>().expect("a text");
        assert_eq!((arm.value(0), arm.value(1)), ("eevdf", "cfs"));
        let mut table = Table::new("goodness.test/1", COLUMNS);
        read.batches.iter().for_each(|batch| take_rows(&mut table, batch, |_| true).expect("its columns"));
        assert_eq!(crate::csv::render(&table), crate::csv::render(&sample()));
        let mut some = Table::new("goodness.test/1", COLUMNS);
        assert_eq!(take_rows(&mut some, &read.batches[0], |arm| arm == "cfs"), Some(()));
        assert_eq!(some.cell(0, 0), Cell::Text("cfs"));
        file.rewind().unwrap();
        assert_eq!(read_parquet(file, &["seed"]).unwrap().batches[0].num_columns(), 1);
    }

    #[test]
    fn parts_become_one_file_whatever_their_number() {
        let mut file = tempfile();
        // Enough rows for two row groups: the bytes of the first leave memory before the last part comes.
        let mut parts = (0..250).map(|_| batch(sample()));
        write_parquet(&mut parts, &[], &mut file).unwrap();
        file.rewind().unwrap();
        let read = read_parquet(file, &["value"]).unwrap();
        assert_eq!(read.batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 250 * 5_000);
        let last = read.batches.last().unwrap();
        assert_eq!(last.column(0).as_primitive::<Float64Type>().value(last.num_rows() - 1), 4_999.0 / 3.0);
    }

    #[test]
    fn equal_tables_give_equal_bytes() {
        let bytes = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            out
        };
        let batch = batch(sample());
        let parquet = |out: &mut Vec<u8>| write_parquet(&mut once(batch.clone()), &[], out).unwrap();
        let arrow = |out: &mut Vec<u8>| write_arrow(&batch, out).unwrap();
        assert_eq!(bytes(&parquet), bytes(&parquet));
        assert_eq!(bytes(&arrow), bytes(&arrow));
        assert!(bytes(&arrow).starts_with(b"ARROW1"));
    }

    fn tempfile() -> File {
        tempfile::tempfile().unwrap()
    }
}
