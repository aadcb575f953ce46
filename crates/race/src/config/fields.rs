//! A table of a race file, whose keys are taken one by one; remaining keys are unknown.

use crate::arm::Value;
use goodness_core::spelling::suggest;
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An error and its byte position in the file.
#[derive(Debug)]
pub(super) struct Fault {
    at: usize,
    what: String,
}

impl Fault {
    pub(super) fn at(at: usize, what: impl Into<String>) -> Fault {
        Fault { at, what: what.into() }
    }

    /// The sentence with file and line.
    pub(super) fn placed(&self, file: &str, text: &str) -> String {
        let line = text.as_bytes().iter().take(self.at).filter(|byte| **byte == b'\n').count() + 1;
        format!("{file}:{line}: {}", self.what)
    }
}

/// Position of a key, the key, and its value.
type Entry<'a> = (usize, String, Spanned<DeValue<'a>>);

/// A table.
#[derive(Debug)]
pub(super) struct Fields<'a>(Vec<Entry<'a>>);

/// A value with its position; `None` if the field is absent.
type Found<T> = Result<Option<(usize, T)>, Fault>;

impl<'a> Fields<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Fields<'a>, Fault> {
        let table = DeTable::parse(text);
        let table = table.map_err(|e| Fault::at(e.span().map_or(0, |span| span.start), e.message()))?;
        Ok(Fields::of(table.into_inner()))
    }

    fn of(table: DeTable<'a>) -> Fields<'a> {
        let entry = |(key, value): (Spanned<std::borrow::Cow<str>>, Spanned<DeValue<'a>>)| {
            (key.span().start, key.into_inner().into_owned(), value)
        };
        Fields(table.into_iter().map(entry).collect())
    }

    fn take(&mut self, key: &str) -> Option<(usize, DeValue<'a>)> {
        let found = self.0.iter().position(|(_, known, _)| known == key)?;
        let (at, _, value) = self.0.remove(found);
        Some((at, value.into_inner()))
    }

    pub(super) fn take_text(&mut self, key: &str) -> Found<String> {
        match self.take(key) {
            None => Ok(None),
            Some((at, DeValue::String(text))) if !text.trim().is_empty() => Ok(Some((at, text.into_owned()))),
            Some((at, _)) => Err(Fault::at(at, format!("{key} is a text in quotes"))),
        }
    }

    pub(super) fn take_with<T>(&mut self, key: &str, read: impl Fn(&str) -> Result<T, String>) -> Found<T> {
        let Some((at, text)) = self.take_text(key)? else { return Ok(None) };
        read(&text).map(|value| Some((at, value))).map_err(|why| Fault::at(at, format!("{key}: {why}")))
    }

    pub(super) fn take_number(&mut self, key: &str, range: RangeInclusive<u64>) -> Found<u64> {
        let Some((at, value)) = self.take(key) else { return Ok(None) };
        let number = match &value {
            DeValue::Integer(digits) => u64::from_str_radix(digits.as_str(), digits.radix()).ok(),
            _ => None,
        };
        match number.filter(|number| range.contains(number)) {
            Some(number) => Ok(Some((at, number))),
            None => Err(Fault::at(at, format!("{key} is a whole number, {} to {}", range.start(), range.end()))),
        }
    }

    pub(super) fn take_texts(&mut self, key: &str) -> Found<Vec<String>> {
        let Some((at, value)) = self.take(key) else { return Ok(None) };
        let wrong = || Fault::at(at, format!("{key} is a list of texts in quotes: [\"throughput\"]"));
        let DeValue::Array(list) = value else { return Err(wrong()) };
        let text = |value: Spanned<DeValue>| match value.into_inner() {
            DeValue::String(text) => Ok(text.into_owned()),
            _ => Err(wrong()),
        };
        list.into_iter().map(text).collect::<Result<_, _>>().map(|texts| Some((at, texts)))
    }

    pub(super) fn take_table(&mut self, key: &str) -> Found<Fields<'a>> {
        match self.take(key) {
            None => Ok(None),
            Some((at, DeValue::Table(table))) => Ok(Some((at, Fields::of(table)))),
            Some((at, _)) => Err(Fault::at(at, format!("{key} is a table: [{key}]"))),
        }
    }

    /// The tables under `[[key]]`, each with its location.
    pub(super) fn take_tables(&mut self, key: &str) -> Result<Vec<(usize, Fields<'a>)>, Fault> {
        let Some((at, value)) = self.take(key) else { return Ok(Vec::new()) };
        let wrong = || Fault::at(at, format!("each {key} is a table of its own: [[{key}]]"));
        let DeValue::Array(list) = value else { return Err(wrong()) };
        let table = |value: Spanned<DeValue<'a>>| {
            let at = value.span().start;
            match value.into_inner() {
                DeValue::Table(table) => Ok((at, Fields::of(table))),
                _ => Err(wrong()),
            }
        };
        list.into_iter().map(table).collect()
    }

    /// All keys not taken yet.
    pub(super) fn take_rest(self) -> Result<Vec<(usize, String, Value)>, Fault> {
        let read = |(at, key, value): Entry| Ok((at, key, plain(at, value.into_inner())?));
        self.0.into_iter().map(read).collect()
    }

    pub(super) fn refuse_rest<'k>(self, known: impl Iterator<Item = &'k str>) -> Result<(), Fault> {
        match self.0.first() {
            None => Ok(()),
            Some((at, key, _)) => Err(Fault::at(*at, format!("a race file has no \"{key}\"; {}", suggest(key, known)))),
        }
    }

    /// Rejects keys that are not in `known`, taken or not.
    pub(super) fn refuse_others<'k>(&self, known: impl Iterator<Item = &'k str> + Clone) -> Result<(), Fault> {
        match self.0.iter().find(|(_, key, _)| !known.clone().any(|name| name == key)) {
            None => Ok(()),
            Some((at, key, _)) => Err(Fault::at(*at, format!("a race file has no \"{key}\"; {}", suggest(key, known)))),
        }
    }
}

/// A value without its location.
fn plain(at: usize, value: DeValue) -> Result<Value, Fault> {
    match value {
        DeValue::String(text) => Ok(Value::Text(text.into_owned())),
        DeValue::Boolean(flag) => Ok(Value::Flag(flag)),
        DeValue::Integer(digits) => {
            let number = i64::from_str_radix(digits.as_str(), digits.radix());
            number.map(Value::Number).map_err(|_| Fault::at(at, "a number that large cannot be held"))
        }
        DeValue::Table(table) => {
            let entries = Fields::of(table).take_rest()?;
            Ok(Value::Table(entries.into_iter().map(|(_, key, value)| (key, value)).collect()))
        }
        _ => Err(Fault::at(at, "only texts, whole numbers, true, false and tables are taken here")),
    }
}
