//! Edits of a document as JSON: hostile text for names and sentences, extreme numbers, parts that are missing.

use super::markup::PLANTED;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Text number `number` in place of `was`.
pub fn text(number: u8, was: &str) -> String {
    match number % 8 {
        0 => PLANTED.into(),
        1 => format!("{was}{PLANTED}"),
        2 => String::new(),
        3 => format!("{PLANTED}{}", "a long name ".repeat(30)),
        4 => format!("{{{{data}}}}{{{{script}}}}{PLANTED}"),
        5 => format!("\u{1b}[31m\u{0}\u{202e}\n\r\t\u{7f}{PLANTED}"),
        6 => "\u{1f600}\u{301}µ".repeat(20),
        _ => was.to_uppercase(),
    }
}

/// A document, and the places at which it can be edited.
pub struct Editable {
    document: Value,
    places: Vec<String>,
    is_from_file: bool,
}

impl Editable {
    /// Names and sentences of a `T` are edited; all of it, if commands read it from files of users.
    pub fn new<T: DeserializeOwned>(document: Value, is_from_file: bool) -> Editable {
        let mut places = Vec::new();
        collect(&document, "", &mut places);
        // Words that stand for a choice take no other text: one try for all places that differ by numbers alone.
        let mut tried: BTreeMap<String, bool> = BTreeMap::new();
        let mut takes = |place: &String| {
            let kind = place.chars().filter(|it| !it.is_ascii_digit()).collect();
            *tried.entry(kind).or_insert_with(|| {
                let mut edited = document.clone();
                let found = edited.pointer_mut(place).expect("it was collected");
                let is_text = found.is_string();
                *found = text(0, "").into();
                serde_json::from_value::<T>(edited).is_ok() || is_from_file && !is_text
            })
        };
        places.retain(|place| takes(place));
        Editable { document, places, is_from_file }
    }

    /// The document after these edits, unless it is none any more.
    pub fn edited<T: DeserializeOwned>(&self, edits: &[[u8; 4]]) -> Option<T> {
        let mut document = self.document.clone();
        for [high, low, change, number] in edits {
            let place = usize::from(u16::from_be_bytes([*high, *low])) % self.places.len();
            // An edit before this one may have taken the place away.
            if let Some(found) = document.pointer_mut(&self.places[place]) {
                match found {
                    Value::String(was) => *was = text(*number, was),
                    Value::Null => *found = if self.is_from_file { value(*number) } else { text(*number, "").into() },
                    Value::Bool(was) if self.is_from_file => *was = !*was,
                    Value::Number(_) if self.is_from_file => *found = value(*number),
                    Value::Array(all) if self.is_from_file => edit_list(all, *change, *number),
                    Value::Object(all) if self.is_from_file => edit_entries(all, *change, *number),
                    _ => {}
                }
            }
        }
        serde_json::from_value(document).ok()
    }
}

fn collect(value: &Value, place: &str, places: &mut Vec<String>) {
    places.push(place.into());
    match value {
        Value::Array(all) => all.iter().enumerate().for_each(|(at, it)| collect(it, &format!("{place}/{at}"), places)),
        Value::Object(all) => all.iter().for_each(|(key, it)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            collect(it, &format!("{place}/{key}"), places);
        }),
        _ => {}
    }
}

/// A value that nobody means.
fn value(number: u8) -> Value {
    let values =
        [json!(null), json!(0), json!(1), json!(-1), json!(u64::MAX), json!(1e308), json!(-1e308), json!(5e-324)];
    values[usize::from(number) % values.len()].clone()
}

fn edit_list(all: &mut Vec<Value>, change: u8, number: u8) {
    let at = usize::from(number) % all.len().max(1);
    match change % 4 {
        0 => all.truncate(at),
        1 => all.reverse(),
        _ if all.is_empty() => {}
        2 => drop(all.remove(at)),
        _ => all.push(all[at].clone()),
    }
}

/// Removes an entry, or gives it another key.
fn edit_entries(all: &mut serde_json::Map<String, Value>, change: u8, number: u8) {
    let Some(key) = all.keys().nth(usize::from(change) % all.len().max(1)).cloned() else { return };
    let value = all.remove(&key);
    if let Some(value) = value.filter(|_| number > 0) {
        all.insert(text(number, &key), value);
    }
}
