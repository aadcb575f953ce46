//! A small parser for hand-written JSON: comments, trailing commas, single quotes and duplicate keys. Members keep the
//! file's order and know their line.

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `null`, `true`, `false` or a number, as written.
    Bare(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// An object, duplicates included.
    Object(Vec<Member>),
}

/// One member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its key.
    pub key: String,
    /// The line of the key, from 1.
    pub line: usize,
    /// Its value.
    pub value: Value,
}

/// Objects and arrays may nest this deep; rt-app files need five levels.
const DEPTH_MAX: usize = 64;

/// Parses one value.
///
/// # Errors
/// The line number and the expected token.
pub fn parse(text: &str) -> Result<Value, (usize, String)> {
    let mut reader = Reader { bytes: text.as_bytes(), at: 0, line: 1 };
    let value = reader.value(0).and_then(|value| {
        reader.blank()?;
        match reader.peek() {
            None => Ok(value),
            Some(_) => Err(reader.found("the end of the file")),
        }
    });
    value.map_err(|why| (reader.line, why))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn bump(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        self.line += usize::from(byte == b'\n');
        Some(byte)
    }

    fn found(&self, wanted: &str) -> String {
        match self.peek() {
            None => format!("expected {wanted}, but the file ends here"),
            Some(byte) => format!("expected {wanted}, found {:?}", char::from(byte)),
        }
    }

    /// Skips white space and comments.
    fn blank(&mut self) -> Result<(), String> {
        loop {
            match (self.peek(), self.bytes.get(self.at + 1)) {
                (Some(b' ' | b'\t' | b'\r' | b'\n'), _) => drop(self.bump()),
                (Some(0xef), _) if self.at == 0 && self.bytes.starts_with(b"\xef\xbb\xbf") => self.at = 3,
                (Some(b'/'), Some(b'/')) | (Some(b'#'), _) => {
                    while self.peek().is_some_and(|b| b != b'\n') {
                        self.bump();
                    }
                }
                (Some(b'/'), Some(b'*')) => self.block_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn block_comment(&mut self) -> Result<(), String> {
        let begun = self.line;
        self.at += 2;
        while !self.bytes[self.at..].starts_with(b"*/") {
            if self.bump().is_none() {
                return Err(format!("the comment that begins in line {begun} has no end; write */"));
            }
        }
        self.at += 2;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEPTH_MAX {
            return Err(format!("objects nest deeper than {DEPTH_MAX} levels"));
        }
        self.blank()?;
        match self.peek() {
            Some(b'{') => self.object(depth).map(Value::Object),
            Some(b'[') => self.list(depth).map(Value::List),
            Some(b'"' | b'\'') => self.text().map(Value::Text),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') => Ok(Value::Bare(self.bare())),
            _ => Err(self.found("a value")),
        }
    }

    fn bare(&mut self) -> String {
        let begin = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b"+-._".contains(&b)) {
            self.at += 1;
        }
        String::from_utf8_lossy(&self.bytes[begin..self.at]).into_owned()
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Member>, String> {
        let mut members = Vec::new();
        self.bump();
        loop {
            self.blank()?;
            if self.peek() == Some(b'}') {
                self.bump();
                return Ok(members);
            }
            let line = self.line;
            let key = match self.peek() {
                Some(b'"' | b'\'') => self.text()?,
                _ => return Err(self.found("a key in quotes or \"}\"")),
            };
            self.blank()?;
            if self.peek() != Some(b':') {
                return Err(self.found(&format!("\":\" after \"{key}\"")));
            }
            self.bump();
            members.push(Member { key, line, value: self.value(depth + 1)? });
            self.separator(b'}')?;
        }
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Value>, String> {
        let mut values = Vec::new();
        self.bump();
        loop {
            self.blank()?;
            if self.peek() == Some(b']') {
                self.bump();
                return Ok(values);
            }
            values.push(self.value(depth + 1)?);
            self.separator(b']')?;
        }
    }

    fn separator(&mut self, close: u8) -> Result<(), String> {
        self.blank()?;
        match self.peek() {
            Some(b',') => {
                self.bump();
                Ok(())
            }
            Some(byte) if byte == close => Ok(()),
            _ => Err(self.found(&format!("\",\" or \"{}\"", char::from(close)))),
        }
    }

    fn text(&mut self) -> Result<String, String> {
        let begun = self.line;
        let quote = self.bump();
        let mut bytes = Vec::new();
        loop {
            match self.bump() {
                None => return Err(format!("the string that begins in line {begun} has no end")),
                Some(b'\\') => self.escape(&mut bytes)?,
                byte if byte == quote => break,
                Some(byte) => bytes.push(byte),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        let plain = match self.bump() {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'u') => {
                let digits = self.bytes.get(self.at..self.at + 4).and_then(|d| std::str::from_utf8(d).ok());
                let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
                let letter = code.map(|c| char::from_u32(c).unwrap_or('\u{fffd}'));
                let letter = letter.ok_or_else(|| self.found("four hexadecimal digits after \\u"))?;
                self.at += 4;
                out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            Some(byte) => byte,
            None => return Err(self.found("a character after the backslash")),
        };
        out.push(plain);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_keys_keep_the_order_of_the_file() {
        let text = "/* a */ { 'run': 1, \"sleep\" : 2, // b\n \"run\": 3, \"l\": [1, 2,], }";
        let Value::Object(members) = parse(text).unwrap() else { panic!("an object") };
        let keys: Vec<(&str, usize)> = members.iter().map(|m| (m.key.as_str(), m.line)).collect();
        assert_eq!(keys, [("run", 1), ("sleep", 1), ("run", 2), ("l", 2)]);
        assert_eq!(members[3].value, Value::List(vec![Value::Bare("1".into()), Value::Bare("2".into())]));
    }

    #[test]
    fn an_error_names_the_line_and_what_was_expected() {
        assert_eq!(parse("{\n\"a\" 1}").unwrap_err(), (2, "expected \":\" after \"a\", found '1'".into()));
        assert!(parse("{\"a\": ").unwrap_err().1.contains("the file ends"));
        assert!(parse("").unwrap_err().1.contains("a value"));
        assert!(parse("{} x").unwrap_err().1.contains("end of the file"));
        assert!(parse("/* x").unwrap_err().1.contains("no end"));
        assert!(parse("\"x").unwrap_err().1.contains("no end"));
    }

    #[test]
    fn deep_nesting_is_refused_instead_of_overflowing() {
        assert!(parse(&"[".repeat(100_000)).unwrap_err().1.contains("nest deeper"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[\\[\\]{}:,\"'/*\\\\ua0-9 \n-]{0,60}") {
            let _ = parse(&text);
        }
    }
}
