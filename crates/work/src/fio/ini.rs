//! fio's INI dialect: sections of `key=value` lines and bare keys, in file order.

use std::fmt;
use std::sync::Arc;

/// Files deep in each other that may be included.
const DEPTH_MAX: usize = 16;

/// What a job file takes from outside: variables of the environment, and other files.
pub struct Outside<'a> {
    /// The value of a variable; `None` if it is not set.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of an included file, by its name there.
    pub file: &'a dyn Fn(&str) -> Result<String, String>,
}

impl Outside<'_> {
    /// Neither variables nor files.
    pub const NOTHING: Outside<'static> =
        Outside { variable: &|_| None, file: &|name| Err(format!("{name} is not given here")) };
}

/// A line of a job file or of one that it includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the file.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
}

impl Place {
    /// An error at this place.
    #[must_use]
    pub fn says(&self, why: &str) -> String {
        format!("{self}: {why}")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}, line {}", self.file, self.line)
    }
}

/// One line of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The option as written.
    pub key: String,
    /// Its value; `None` for a bare key.
    pub value: Option<String>,
    /// Its place.
    pub place: Place,
}

/// One section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Text between the brackets.
    pub name: String,
    /// The place of the bracket.
    pub place: Place,
    /// Its options in order.
    pub entries: Vec<Entry>,
}

/// Parses the sections of a text, which errors call `file`.
///
/// # Errors
/// One sentence with file, line and fault.
pub fn parse(file: &str, text: &str, outside: &Outside) -> Result<Vec<Section>, String> {
    let mut sections = Vec::new();
    parse_into(&mut sections, &file.into(), text, outside, 0)?;
    Ok(sections)
}

fn parse_into(
    sections: &mut Vec<Section>,
    file: &Arc<str>,
    text: &str,
    outside: &Outside,
    depth: usize,
) -> Result<(), String> {
    for (at, raw) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        let place = Place { file: Arc::clone(file), line: at + 1 };
        let raw = without_comment(raw);
        if raw.is_empty() {
            continue;
        }
        if let Some(rest) = raw.strip_prefix('[') {
            let name = name(rest).map_err(|why| place.says(&why))?;
            sections.push(Section { name, place, entries: Vec::new() });
            continue;
        }
        if let Some(other) = raw.strip_prefix("include ") {
            let other = other.trim();
            if depth == DEPTH_MAX {
                return Err(place.says(&format!("{DEPTH_MAX} files include each other; does one include itself?")));
            }
            let text = (outside.file)(other).map_err(|why| place.says(&format!("include: {why}")))?;
            parse_into(sections, &other.into(), &text, outside, depth + 1)?;
            continue;
        }
        let Some(section) = sections.last_mut() else {
            return Err(place.says("an option before the first section; write [global] or [NAME] above it"));
        };
        let (key, value) = option(raw, outside).map_err(|why| place.says(&why))?;
        section.entries.push(Entry { key, value, place });
    }
    Ok(())
}

/// The line without the comment at its end: as in fio, everything from `;` or `#` on.
fn without_comment(raw: &str) -> &str {
    raw.split([';', '#']).next().unwrap_or_default().trim()
}

/// The name before the closing bracket.
fn name(rest: &str) -> Result<String, String> {
    let Some((name, behind)) = rest.split_once(']') else {
        return Err("the section's name has no closing bracket; write [NAME]".into());
    };
    if !behind.is_empty() {
        let behind = behind.trim();
        return Err(format!("{behind:?} stands behind the section's name; put it on a line of its own"));
    }
    match name.trim() {
        "" => Err("the section has no name; write [NAME]".into()),
        name => Ok(name.into()),
    }
}

fn option(raw: &str, outside: &Outside) -> Result<(String, Option<String>), String> {
    let (key, value) = match raw.split_once('=') {
        Some((key, value)) => (key.trim(), Some(value.trim())),
        None => (raw, None),
    };
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(format!("{raw:?} is no option; write KEY=VALUE"));
    }
    let value = value.map(|value| replaced(unquoted(value), outside)).transpose();
    Ok((key.into(), value.map_err(|why| format!("{key}: {why}"))?))
}

/// The value with its variables, `${NAME}`, replaced by those of the environment.
fn replaced(value: &str, outside: &Outside) -> Result<String, String> {
    let (mut done, mut rest) = (String::new(), value);
    while let Some((before, name)) = rest.split_once("${") {
        let Some((name, behind)) = name.split_once('}') else {
            return Err(format!("{value:?} has no closing bracket; write ${{NAME}}"));
        };
        let found = (outside.variable)(name);
        let found = found.ok_or_else(|| format!("the variable {name} is not set; put {name}=VALUE before the command"));
        done = done + before + &found?;
        rest = behind;
    }
    Ok(done + rest)
}

/// The value without the quotes around it.
fn unquoted(value: &str) -> &str {
    let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    inner.unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: usize) -> Place {
        Place { file: "t.fio".into(), line }
    }

    /// Knows the variable `DISK`, and the files `tail` and `self`.
    fn parsed(text: &str) -> Result<Vec<Section>, String> {
        let variable = |name: &str| (name == "DISK").then(|| "sda".to_string());
        let file = |name: &str| match name {
            "tail" => Ok("bs=8k\n[b]\n".to_string()),
            "self" => Ok("include self\n".to_string()),
            _ => Err(format!("cannot read {name}")),
        };
        parse("t.fio", text, &Outside { variable: &variable, file: &file })
    }

    #[test]
    fn sections_and_entries_keep_their_order_and_places_and_comments_are_dropped() {
        let text =
            "; a comment\n[global]\nbs = 4k ; small\ntime_based # yes\n\n[a b] ; one job\n# more\nfilename=\"x y\"\n";
        let entry = |key: &str, value: Option<&str>, line| Entry {
            key: key.into(),
            value: value.map(Into::into),
            place: place(line),
        };
        assert_eq!(
            parsed(text),
            Ok(vec![
                Section {
                    name: "global".into(),
                    place: place(2),
                    entries: vec![entry("bs", Some("4k"), 3), entry("time_based", None, 4)]
                },
                Section { name: "a b".into(), place: place(6), entries: vec![entry("filename", Some("x y"), 8)] },
            ])
        );
    }

    #[test]
    fn variables_are_replaced_and_one_that_is_not_set_is_named() {
        let value = |text: &str| parsed(&format!("[a]\nfilename={text}")).map(|all| all[0].entries[0].value.clone());
        assert_eq!(value("/dev/${DISK}:/dev/${DISK}1"), Ok(Some("/dev/sda:/dev/sda1".into())));
        assert_eq!(value("a$b"), Ok(Some("a$b".into())));
        let wrong = value("/dev/${DISC}").expect_err("not set");
        assert_eq!(wrong, "t.fio, line 2: filename: the variable DISC is not set; put DISC=VALUE before the command");
        assert!(value("${DISK").is_err());
    }

    #[test]
    fn an_included_file_goes_on_where_it_is_included() {
        let all = parsed("[a]\ninclude tail\nsize=1m\n").expect("three options");
        let names: Vec<(&str, usize)> = all.iter().map(|it| (it.name.as_str(), it.entries.len())).collect();
        assert_eq!(names, [("a", 1), ("b", 1)]);
        assert_eq!(all[0].entries[0].place, Place { file: "tail".into(), line: 1 });
        assert!(parsed("include other").expect_err("no such file").contains("line 1: include: cannot read other"));
        assert!(parsed("include self").expect_err("endless").contains("does one include itself"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let wrong = |text: &str| parsed(text).expect_err(text);
        assert!(wrong("bs=4k").contains("before the first section"));
        assert!(wrong("[a]\n\n[b").starts_with("t.fio, line 3: "));
        assert!(wrong("[]").contains("no name"));
        assert!(wrong("[a] x").contains("behind the section's name"));
        assert!(wrong("[a]\n=4").contains("KEY=VALUE"));
    }
}
