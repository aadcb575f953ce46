//! fio's INI dialect: sections of `key=value` lines and bare keys, in file order.

/// One line of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The option as written.
    pub key: String,
    /// Its value; `None` for a bare key.
    pub value: Option<String>,
    /// Its line, from 1.
    pub line: usize,
}

/// One section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Text between the brackets.
    pub name: String,
    /// The line of the bracket, from 1.
    pub line: usize,
    /// Its options in order.
    pub entries: Vec<Entry>,
}

/// Parses the sections of a text.
///
/// # Errors
/// The line number and the fault.
pub fn parse(text: &str) -> Result<Vec<Section>, (usize, String)> {
    let mut sections: Vec<Section> = Vec::new();
    for (at, raw) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        let (line, raw) = (at + 1, raw.trim());
        if raw.is_empty() || raw.starts_with([';', '#']) {
            continue;
        }
        if let Some(rest) = raw.strip_prefix('[') {
            sections.push(Section { name: name(rest, line)?, line, entries: Vec::new() });
            continue;
        }
        if raw.starts_with("include ") {
            return Err((line, "\"include\" is not honoured; put the text of that file here".into()));
        }
        let Some(section) = sections.last_mut() else {
            return Err((line, "an option before the first section; write [global] or [NAME] above it".into()));
        };
        section.entries.push(entry(raw, line)?);
    }
    Ok(sections)
}

/// The name before the closing bracket; a comment may follow it.
fn name(rest: &str, line: usize) -> Result<String, (usize, String)> {
    let Some((name, behind)) = rest.split_once(']') else {
        return Err((line, "the section's name has no closing bracket; write [NAME]".into()));
    };
    let behind = behind.trim();
    if !behind.is_empty() && !behind.starts_with([';', '#']) {
        return Err((line, format!("{behind:?} stands behind the section's name; put it on a line of its own")));
    }
    match name.trim() {
        "" => Err((line, "the section has no name; write [NAME]".into())),
        name => Ok(name.into()),
    }
}

fn entry(raw: &str, line: usize) -> Result<Entry, (usize, String)> {
    let (key, value) = match raw.split_once('=') {
        Some((key, value)) => (key.trim(), Some(value.trim())),
        None => (raw, None),
    };
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err((line, format!("{raw:?} is no option; write KEY=VALUE")));
    }
    if value.is_some_and(|value| value.contains("${") || value.starts_with('$')) {
        return Err((line, format!("the variable in {key:?} is not replaced here; write its value")));
    }
    Ok(Entry { key: key.into(), value: value.map(unquoted), line })
}

/// The value without the quotes around it.
fn unquoted(value: &str) -> String {
    let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    inner.unwrap_or(value).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_and_entries_keep_their_order_and_lines() {
        let text = "; a comment\n[global]\nbs = 4k\ntime_based\n\n[a b] ; one job\n# more\nfilename=\"x y\"\n";
        let entry =
            |key: &str, value: Option<&str>, line| Entry { key: key.into(), value: value.map(Into::into), line };
        assert_eq!(
            parse(text),
            Ok(vec![
                Section {
                    name: "global".into(),
                    line: 2,
                    entries: vec![entry("bs", Some("4k"), 3), entry("time_based", None, 4)]
                },
                Section { name: "a b".into(), line: 6, entries: vec![entry("filename", Some("x y"), 8)] },
            ])
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let wrong = |text: &str| parse(text).expect_err(text);
        assert!(wrong("bs=4k").1.contains("before the first section"));
        assert_eq!(wrong("[a]\n\n[b").0, 3);
        assert!(wrong("[]").1.contains("no name"));
        assert!(wrong("[a] x").1.contains("behind the section's name"));
        assert!(wrong("[a]\n=4").1.contains("KEY=VALUE"));
        assert!(wrong("[a]\nfilename=${DISK}").1.contains("variable"));
        assert!(wrong("[a]\ninclude other.fio").1.contains("include"));
    }
}
