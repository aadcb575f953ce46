//! Lists whose entries contain their own key, written as a JSON object in list order.

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// An entry with a key.
pub trait Keyed {
    /// The key.
    fn key(&self) -> &str;
    /// Sets the key of an entry that was just read.
    fn set_key(&mut self, key: String);
}

/// Makes the field `name` the key of these types.
macro_rules! keyed_by_name {
    ($($entry:ty),+) => {
        $(impl $crate::keyed::Keyed for $entry {
            fn key(&self) -> &str {
                &self.name
            }
            fn set_key(&mut self, key: String) {
                self.name = key;
            }
        })+
    };
}
pub(crate) use keyed_by_name;

/// For `#[serde(with = "keyed")]`.
pub fn serialize<T: Keyed + Serialize, S: Serializer>(entries: &[T], out: S) -> Result<S::Ok, S::Error> {
    let mut map = out.serialize_map(Some(entries.len()))?;
    for entry in entries {
        map.serialize_entry(entry.key(), entry)?;
    }
    map.end()
}

/// For `#[serde(with = "keyed")]`.
pub fn deserialize<'de, T: Keyed + Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_map(Entries(PhantomData))
}

struct Entries<T>(PhantomData<T>);

impl<'de, T: Keyed + Deserialize<'de>> Visitor<'de> for Entries<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of named entries")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<T>, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let mut entry: T = map.next_value()?;
            entry.set_key(key);
            entries.push(entry);
        }
        Ok(entries)
    }
}
