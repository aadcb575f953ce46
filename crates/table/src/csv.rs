//! Comma-separated values, as RFC 4180 has them, with a header line. A missing value is an empty field.

use crate::table::{Cell, Table};
use std::io::{self, Write};

/// Writes a table that comes in `parts`, under one header.
///
/// # Errors
/// Those of `out`.
pub fn write_parts(parts: &mut dyn Iterator<Item = Table>, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    for (place, part) in parts.enumerate() {
        if place == 0 {
            csv.write_record(part.columns().iter().map(|column| column.name))?;
        }
        write_rows(&part, &mut csv)?;
    }
    csv.flush()
}

fn write_rows(table: &Table, csv: &mut csv::Writer<impl Write>) -> io::Result<()> {
    for row in 0..table.rows() {
        for column in 0..table.columns().len() {
            match table.cell(row, column) {
                Cell::Text(text) => csv.write_field(text)?,
                Cell::Float(value) => csv.write_field(value.to_string())?,
                Cell::Whole(value) => csv.write_field(value.to_string())?,
                Cell::Signed(value) => csv.write_field(value.to_string())?,
                Cell::Missing => csv.write_field("")?,
            }
        }
        csv.write_record(None::<&[u8]>)?;
    }
    Ok(())
}

/// The table as text.
///
/// # Panics
/// Never: names and values are UTF-8, and memory takes them.
#[must_use]
pub fn render(table: &Table) -> String {
    let mut text = Vec::new();
    write_parts(&mut std::iter::once(table.clone()), &mut text).expect("memory takes everything");
    String::from_utf8(text).expect("made of UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Kind};

    #[test]
    fn names_with_commas_quotes_and_line_ends_stay_one_field() {
        const COLUMNS: &[Column] = &[
            Column { name: "task", kind: Kind::Text, about: "" },
            Column { name: "value", kind: Kind::Float, about: "" },
        ];
        let mut table = Table::new("t/1", COLUMNS);
        table.push(&[Cell::Text("a,\"b\"\nc"), Cell::Float(0.1)]);
        table.push(&[Cell::Missing, Cell::Float(1e-9)]);
        assert_eq!(render(&table), "task,value\n\"a,\"\"b\"\"\nc\",0.1\n,0.000000001\n");
    }
}
