//! Rust text with comments and literals blanked out, at unchanged positions, so that words in them do not count; and a
//! search for functions, names and test modules in it.

use std::ops::Range;

/// `text` with comments, strings and characters replaced by blanks; line ends stay.
#[must_use]
pub fn only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => line_end(bytes, at),
            b'/' if bytes[at..].starts_with(b"/*") => comment_end(bytes, at),
            b'"' => string_end(bytes, at + 1),
            b'r' | b'b' | b'c' if !joins_word(bytes, at) => raw_string_end(bytes, at).unwrap_or(at),
            b'\'' => character_end(bytes, at).unwrap_or(at),
            _ => at,
        };
        for byte in &mut out[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    String::from_utf8(out).expect("whole characters were blanked")
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n)
}

fn comment_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// End of `r"…"`, `r#"…"#`, `b"…"`, `br"…"` and the like.
fn raw_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let letters = bytes[at..].iter().take_while(|b| matches!(b, b'r' | b'b' | b'c')).count();
    let raw = bytes[at..at + letters].contains(&b'r');
    let hashes = bytes[at + letters..].iter().take_while(|b| **b == b'#').count();
    let open = at + letters + hashes;
    if letters > 2 || bytes.get(open) != Some(&b'"') || (!raw && hashes > 0) {
        return None;
    }
    if !raw {
        return Some(string_end(bytes, open + 1));
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let length = bytes[open + 1..].windows(close.len()).position(|w| w == close)?;
    Some(open + 1 + length + close.len())
}

/// The end of a character literal; `None` for a lifetime.
fn character_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at + 1) == Some(&b'\\') {
        return bytes[at + 3..].iter().position(|b| *b == b'\'').map(|n| at + 3 + n + 1);
    }
    let text = std::str::from_utf8(&bytes[at + 1..]).ok()?;
    let width = text.chars().next()?.len_utf8();
    (bytes.get(at + 1 + width) == Some(&b'\'')).then_some(at + width + 2)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// True if the byte at `at` continues a word.
fn joins_word(bytes: &[u8], at: usize) -> bool {
    at > 0 && is_word(bytes[at - 1])
}

/// Places of `word` in `code`, not as a part of a longer word.
pub fn places<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = code.as_bytes();
    let first_joins = word.bytes().next().is_some_and(is_word);
    let last_joins = word.bytes().next_back().is_some_and(is_word);
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let after = bytes.get(at + word.len()).is_some_and(|b| is_word(*b));
        let before = joins_word(bytes, *at);
        !(first_joins && before || last_joins && after)
    })
}

/// Names that follow `keyword` (`fn`, `struct`, …) in `code`, with their positions.
pub fn names<'a>(code: &'a str, keyword: &'a str) -> impl Iterator<Item = (usize, &'a str)> + 'a {
    places(code, keyword).filter_map(move |at| {
        let rest = &code[at + keyword.len()..];
        let start = rest.len() - rest.trim_start().len();
        let length = rest[start..].bytes().take_while(|b| is_word(*b)).count();
        let begins = rest[start..].bytes().next().is_some_and(|b| !b.is_ascii_digit());
        (start > 0 && length > 0 && begins).then(|| (at, &rest[start..start + length]))
    })
}

/// From the opening brace at or after `from` to its closing one; `None` if a `;` comes first, as in a trait.
#[must_use]
pub fn body(code: &str, from: usize) -> Option<Range<usize>> {
    let bytes = code.as_bytes();
    let mut open = from;
    let mut nested = 0;
    loop {
        match bytes.get(open)? {
            b'(' | b'[' => nested += 1,
            b')' | b']' => nested -= 1,
            b';' if nested == 0 => return None,
            b'{' if nested == 0 => break,
            _ => {}
        }
        open += 1;
    }
    let mut depth = 0;
    for (at, byte) in bytes.iter().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(open..at + 1);
        }
    }
    None
}

/// `code` with the items marked `#[cfg(test)]` blanked.
#[must_use]
pub fn without_tests(code: &str) -> String {
    let mut out = code.as_bytes().to_vec();
    for at in places(code, "#[cfg(test)]") {
        let end = body(code, at + "#[cfg(test)]".len()).map_or(at, |b| b.end);
        for byte in &mut out[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    String::from_utf8(out).expect("whole characters were blanked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_comments_and_literals_are_no_code() {
        let text = "a // b\n/* c /* d */ e */ f \"g \\\" h\" r#\"i\" j\"# 'k' '\\n' b\"l\" m 'n: 'ö' o";
        let code = only(text);
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "f", "m", "'n:", "o"]);
        assert_eq!(code.len(), text.len());
    }

    #[test]
    fn a_word_is_found_only_as_a_whole() {
        assert_eq!(places("thread threads my_thread thread::spawn", "thread").collect::<Vec<_>>(), [0, 25]);
        assert_eq!(places("println!(1) eprintln!(2)", "println!").collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn a_body_ends_with_its_own_brace() {
        let code = "fn a(x: [u8; 2]) { if b { c } } fn d();";
        assert_eq!(&code[body(code, 2).unwrap()], "{ if b { c } }");
        assert_eq!(body(code, 33), None);
        assert_eq!(names(code, "fn").map(|(_, name)| name).collect::<Vec<_>>(), ["a", "d"]);
    }

    #[test]
    fn modules_of_tests_can_be_left_out() {
        let code = without_tests("fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\nfn c() {}");
        assert_eq!(names(&code, "fn").map(|(_, name)| name).collect::<Vec<_>>(), ["a", "c"]);
    }
}
