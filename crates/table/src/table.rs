//! A table in memory, by columns. A text that is repeated is stored once.

use std::collections::HashMap;

/// Name, kind and meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name: lower case, words joined by underscores.
    pub name: &'static str,
    /// Kind of its values.
    pub kind: Kind,
    /// Meaning, with the unit, in one sentence.
    pub about: &'static str,
}

/// A column with its name, kind and meaning.
#[must_use]
pub const fn column(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column { name, kind, about }
}

/// Kind of a column's values. Any value may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text; in Arrow a dictionary with keys of 32 bits.
    Text,
    /// Double-precision number.
    Float,
    /// Whole number of 64 bits, not negative.
    Whole,
    /// Whole number of 64 bits that may be negative.
    Signed,
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Text.
    Text(&'a str),
    /// Number; what is not finite is stored as missing.
    Float(f64),
    /// Whole number.
    Whole(u64),
    /// Whole number that may be negative.
    Signed(i64),
    /// Not measured, or not applicable.
    Missing,
}

impl From<Option<f64>> for Cell<'_> {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Cell::Missing, Cell::Float)
    }
}

impl From<Option<u64>> for Cell<'_> {
    fn from(value: Option<u64>) -> Self {
        value.map_or(Cell::Missing, Cell::Whole)
    }
}

impl From<Option<i64>> for Cell<'_> {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Cell::Missing, Cell::Signed)
    }
}

impl<'a> From<Option<&'a str>> for Cell<'a> {
    fn from(value: Option<&'a str>) -> Self {
        value.map_or(Cell::Missing, Cell::Text)
    }
}

/// Values of one column, by row.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Texts.
    Text(Texts),
    /// Numbers; 0 where `present` is false.
    Float {
        /// Values.
        values: Vec<f64>,
        /// False where the value is missing.
        present: Vec<bool>,
    },
    /// Whole numbers; 0 where `present` is false.
    Whole {
        /// Values.
        values: Vec<u64>,
        /// False where the value is missing.
        present: Vec<bool>,
    },
    /// Whole numbers that may be negative; 0 where `present` is false.
    Signed {
        /// Values.
        values: Vec<i64>,
        /// False where the value is missing.
        present: Vec<bool>,
    },
}

/// Texts of a column: the different ones, and which of them each row has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    /// The different texts, in the order of their first row.
    pub words: Vec<String>,
    /// Place in `words` for each row; `None` where it is missing.
    pub places: Vec<Option<i32>>,
    known: HashMap<String, i32>,
}

impl Texts {
    fn push(&mut self, text: Option<&str>) {
        let place = text.map(|text| match self.known.get(text) {
            Some(place) => *place,
            None => {
                let place = i32::try_from(self.words.len()).expect("fewer texts than rows");
                self.words.push(text.to_string());
                self.known.insert(text.to_string(), place);
                place
            }
        });
        self.places.push(place);
    }
}

/// A table of results.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    schema: &'static str,
    columns: &'static [Column],
    values: Vec<Values>,
    rows: usize,
}

impl Table {
    /// An empty table with these columns, under the name and version of its schema: `goodness.runs/1`.
    #[must_use]
    pub fn new(schema: &'static str, columns: &'static [Column]) -> Table {
        let empty = |column: &Column| match column.kind {
            Kind::Text => Values::Text(Texts::default()),
            Kind::Float => Values::Float { values: Vec::new(), present: Vec::new() },
            Kind::Whole => Values::Whole { values: Vec::new(), present: Vec::new() },
            Kind::Signed => Values::Signed { values: Vec::new(), present: Vec::new() },
        };
        Table { schema, columns, values: columns.iter().map(empty).collect(), rows: 0 }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// It has another number of values than the table has columns, or a value of another kind than its column.
    pub fn push(&mut self, row: &[Cell]) {
        assert_eq!(row.len(), self.columns.len(), "a value for each column of {}", self.schema);
        for ((values, cell), column) in self.values.iter_mut().zip(row).zip(self.columns) {
            match (values, *cell) {
                (Values::Text(texts), Cell::Text(text)) => texts.push(Some(text)),
                (Values::Text(texts), Cell::Missing) => texts.push(None),
                (Values::Float { values, present }, Cell::Float(value)) if value.is_finite() => {
                    values.push(value);
                    present.push(true);
                }
                (Values::Float { values, present }, Cell::Float(_) | Cell::Missing) => {
                    values.push(0.0);
                    present.push(false);
                }
                (Values::Whole { values, present }, Cell::Whole(value)) => {
                    values.push(value);
                    present.push(true);
                }
                (Values::Whole { values, present }, Cell::Missing) => {
                    values.push(0);
                    present.push(false);
                }
                (Values::Signed { values, present }, Cell::Signed(value)) => {
                    values.push(value);
                    present.push(true);
                }
                (Values::Signed { values, present }, Cell::Missing) => {
                    values.push(0);
                    present.push(false);
                }
                (_, cell) => panic!("column {} of {} does not hold {cell:?}", column.name, self.schema),
            }
        }
        self.rows += 1;
    }

    /// The rows of this table, then those of `other`.
    ///
    /// # Panics
    /// They have other columns.
    #[must_use]
    pub fn and(mut self, other: Table) -> Table {
        for row in 0..other.rows {
            let cells: Vec<Cell> = (0..other.columns.len()).map(|column| other.cell(row, column)).collect();
            self.push(&cells);
        }
        self
    }

    /// Name and version of the schema.
    #[must_use]
    pub fn schema(&self) -> &'static str {
        self.schema
    }

    /// Columns.
    #[must_use]
    pub fn columns(&self) -> &'static [Column] {
        self.columns
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The value of `column`, by its place, in `row`.
    ///
    /// # Panics
    /// There is no such row or column.
    #[must_use]
    pub fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        match &self.values[column] {
            Values::Text(texts) => texts.places[row].map(|place| texts.words[place as usize].as_str()).into(),
            Values::Float { values, present } => present[row].then_some(values[row]).into(),
            Values::Whole { values, present } => present[row].then_some(values[row]).into(),
            Values::Signed { values, present } => present[row].then_some(values[row]).into(),
        }
    }

    /// The columns' values, in the order of the columns.
    #[must_use]
    pub fn into_values(self) -> Vec<Values> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column { name: "arm", kind: Kind::Text, about: "" },
        Column { name: "run", kind: Kind::Whole, about: "" },
        Column { name: "value", kind: Kind::Float, about: "" },
    ];

    #[test]
    fn what_is_pushed_is_there_and_repeated_text_is_stored_once() {
        let mut table = Table::new("t/1", COLUMNS);
        table.push(&[Cell::Text("a"), Cell::Whole(u64::MAX), Cell::Float(0.5)]);
        table.push(&[Cell::Text("a"), Cell::Missing, Cell::Float(f64::NAN)]);
        table.push(&[Cell::Missing, Cell::Whole(0), Cell::Missing]);
        assert_eq!(table.rows(), 3);
        assert_eq!(
            [table.cell(0, 0), table.cell(1, 0), table.cell(2, 0)],
            [Cell::Text("a"), Cell::Text("a"), Cell::Missing]
        );
        assert_eq!((table.cell(0, 1), table.cell(1, 1)), (Cell::Whole(u64::MAX), Cell::Missing));
        assert_eq!((table.cell(0, 2), table.cell(1, 2)), (Cell::Float(0.5), Cell::Missing));
        let Values::Text(texts) = &table.into_values()[0] else { panic!("text") };
        assert_eq!(texts.words, ["a"]);
    }

    #[test]
    #[should_panic(expected = "column run of t/1 does not hold Text(\"1\")")]
    fn a_value_of_another_kind_is_a_mistake_of_the_caller() {
        Table::new("t/1", COLUMNS).push(&[Cell::Text("a"), Cell::Text("1"), Cell::Missing]);
    }
}
