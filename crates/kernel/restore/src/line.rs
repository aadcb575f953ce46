//! Parses journal lines without allocating, because the guard uses it too.
//!
//! Format: `NUMBER VERB FIELD FIELD`, separated by single spaces. In a field, bytes up to the space, `%` and DEL are
//! written as `%XX`; an empty field is `%`.

/// Longest path or value, with its NUL: PATH_MAX.
pub const MOST: usize = 4096;

/// A line split into parts. Fields are not decoded yet.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The number of the change.
    pub number: u64,
    /// Action to undo.
    pub verb: &'a [u8],
    /// Everything after the verb.
    rest: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Splits a line, given without its line end.
    pub fn of(line: &'a [u8]) -> Option<Parts<'a>> {
        let (number, rest) = cut(line);
        let (verb, rest) = cut(rest);
        Some(Parts { number: number_of(number)?, verb, rest })
    }

    /// Field `at`, still encoded.
    pub fn field(&self, at: usize) -> Option<&'a [u8]> {
        let mut rest = self.rest;
        for _ in 0..at {
            rest = cut(rest).1;
        }
        Some(cut(rest).0).filter(|field| !field.is_empty())
    }
}

/// Splits at the first space.
fn cut(text: &[u8]) -> (&[u8], &[u8]) {
    match text.iter().position(|byte| *byte == b' ') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}

/// A whole number in decimal.
pub fn number_of(text: &[u8]) -> Option<u64> {
    let digit = |value: u64, byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    };
    if text.is_empty() { None } else { text.iter().try_fold(0, digit) }
}

/// Appends `field`, encoded.
pub fn encode(field: &[u8], to: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    if field.is_empty() {
        to.push(b'%');
    }
    for &byte in field {
        if byte <= b' ' || byte == b'%' || byte == 0x7f {
            to.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        } else {
            to.push(byte);
        }
    }
}

/// A decoded field with a NUL, in a buffer of fixed size.
pub struct Text {
    bytes: [u8; MOST],
    length: usize,
}

impl Text {
    /// Decodes `field`; `None` if it is too long, contains a NUL, or is malformed.
    pub fn of(field: &[u8]) -> Option<Text> {
        let mut text = Text { bytes: [0; MOST], length: 0 };
        let mut at = 0;
        while at < field.len() && field != b"%" {
            let byte = match field[at] {
                b'%' => {
                    let byte = hex(*field.get(at + 1)?)? << 4 | hex(*field.get(at + 2)?)?;
                    at += 2;
                    byte
                }
                byte => byte,
            };
            at += 1;
            text.push(byte)?;
        }
        Some(text)
    }

    /// The same text with `end` behind it.
    pub fn with(&self, end: &[u8]) -> Option<Text> {
        let mut text = Text { bytes: self.bytes, length: self.length };
        for &byte in end {
            text.push(byte)?;
        }
        Some(text)
    }

    fn push(&mut self, byte: u8) -> Option<()> {
        // The last byte stays 0.
        if byte == 0 || self.length + 1 >= MOST {
            return None;
        }
        self.bytes[self.length] = byte;
        self.length += 1;
        Some(())
    }

    /// The bytes without the NUL.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// For the kernel.
    pub fn pointer(&self) -> *const libc::c_char {
        self.bytes.as_ptr().cast()
    }
}

fn hex(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|value| value as u8)
}

/// A decoded field, where allocating is allowed.
pub fn decoded(field: &[u8]) -> Option<Vec<u8>> {
    Text::of(field).map(|text| text.bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_place() {
        let parts = Parts::of(b"12 put /a%20b %").expect("a line");
        assert_eq!((parts.number, parts.verb), (12, b"put".as_slice()));
        assert_eq!(parts.field(0).and_then(decoded), Some(b"/a b".to_vec()));
        assert_eq!(parts.field(1).and_then(decoded), Some(Vec::new()));
        assert_eq!(parts.field(2), None);
    }

    #[test]
    fn what_is_no_line_is_refused() {
        assert!(Parts::of(b"").is_none() && Parts::of(b"x put").is_none());
        assert!(Parts::of(b"99999999999999999999 put").is_none());
        assert!(decoded(b"%0").is_none() && decoded(b"%00").is_none() && decoded(b"%zz").is_none());
        assert!(decoded(&vec![b'a'; MOST]).is_none());
    }
}
