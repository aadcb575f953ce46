//! Keys of files: what the readers accept, and what the reference prints.

/// A key of a table. The reader refuses every other one.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key itself.
    pub name: &'static str,
    /// Type, and range or unit of its value.
    pub kind: &'static str,
    /// Value if the key is left out, as TOML; or what that means, in words.
    pub default: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// A use of it, with the keys that it needs; lines of TOML.
    pub example: &'static str,
}

/// A table of keys in a file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Its name.
    pub name: &'static str,
    /// How it is written.
    pub written: &'static str,
    /// Its meaning in one sentence.
    pub summary: &'static str,
    /// The keys it may have.
    pub keys: &'static [Key],
}

/// A key of a table.
pub(crate) const fn key(
    name: &'static str,
    kind: &'static str,
    default: &'static str,
    meaning: &'static str,
    example: &'static str,
) -> Key {
    Key { name, kind, default, meaning, example }
}
