//! `events/*/*/format`: the offsets of event fields. Offsets differ between kernels and are never assumed.

use std::collections::BTreeMap;

/// Encoding of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A number, or text of fixed room.
    Plain,
    /// `__data_loc`: a word with the offset (from the start of the event) and length of text behind the fields.
    Located,
    /// `__rel_loc`: as above, but the offset counts from the end of the word.
    LocatedAfter,
}

/// Position and encoding of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Bytes from the start of the event.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
    signed: bool,
    shape: Shape,
}

impl Field {
    /// Parses the name and position from a `field:` line. `None` for any other line.
    pub fn parse(line: &str) -> Option<(String, Self)> {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let declaration = parts.next()?;
        let number = |part: &str| part.split_once(':').and_then(|(_, value)| value.trim().parse::<usize>().ok());
        let (offset, size) = (number(parts.next()?)?, number(parts.next()?)?);
        let signed = parts.next().and_then(number) == Some(1);
        let shape = match declaration.split_whitespace().next()? {
            "__data_loc" => Shape::Located,
            "__rel_loc" => Shape::LocatedAfter,
            _ => Shape::Plain,
        };
        let name = declaration.rsplit([' ', '\t', '*']).next()?.split('[').next()?;
        Some((name.to_string(), Self { offset, size, signed, shape }))
    }

    /// The number in this field of `event`; `None` when the event is too short.
    pub fn number(&self, event: &[u8]) -> Option<i64> {
        let bytes = event.get(self.offset..self.offset + self.size)?;
        Some(match (self.size, self.signed) {
            (1, false) => i64::from(bytes[0]),
            (1, true) => i64::from(bytes[0] as i8),
            (2, false) => i64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
            (2, true) => i64::from(i16::from_ne_bytes(bytes.try_into().ok()?)),
            (4, false) => i64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
            (4, true) => i64::from(i32::from_ne_bytes(bytes.try_into().ok()?)),
            (8, _) => i64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }

    /// The text in this field of `event`, without the terminating NUL.
    pub fn text<'a>(&self, event: &'a [u8]) -> Option<&'a [u8]> {
        let whole = match self.shape {
            Shape::Plain => event.get(self.offset..self.offset + self.size)?,
            Shape::Located | Shape::LocatedAfter => {
                let word = u32::from_ne_bytes(event.get(self.offset..self.offset + 4)?.try_into().ok()?);
                let base = if self.shape == Shape::LocatedAfter { self.offset + 4 } else { 0 };
                let start = base + (word & 0xffff) as usize;
                event.get(start..start + (word >> 16) as usize)?
            }
        };
        Some(whole.split(|&byte| byte == 0).next().unwrap_or(whole))
    }
}

/// Description of one event, from its `format` file.
#[derive(Debug, Clone)]
pub struct EventFormat {
    /// The event's name.
    pub name: String,
    /// The number that marks its records.
    pub id: u16,
    fields: BTreeMap<String, Field>,
    print: String,
}

impl EventFormat {
    /// Parses the text of a `format` file.
    ///
    /// # Errors
    /// Names the missing part.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let name = value("name:").ok_or("it gives no name")?.to_string();
        let id = value("ID:").and_then(|id| id.parse().ok()).ok_or("it gives no numeric ID")?;
        let fields = text.lines().filter_map(Field::parse).collect();
        Ok(Self { name, id, fields, print: value("print fmt:").unwrap_or_default().to_string() })
    }

    /// The field `name`.
    ///
    /// # Errors
    /// Names the missing field.
    pub fn field(&self, name: &str) -> Result<Field, String> {
        self.optional(name).ok_or_else(|| format!("event {} has no field `{name}`", self.name))
    }

    /// The field `name`, if this kernel has it.
    pub fn optional(&self, name: &str) -> Option<Field> {
        self.fields.get(name).copied()
    }
}

/// The letters of `prev_state`, read from the print format of `sched_switch` because they differ between kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateLetters {
    letters: Vec<(u64, String)>,
    mask: u64,
    preempted: u64,
}

impl StateLetters {
    /// Parses the pairs `{ 0x1, "S" }, …` of the flags list. The bit for "preempted while leaving" is the one above the
    /// highest listed, in every kernel since 2.6.
    ///
    /// # Errors
    /// The print format has no such list.
    pub fn parse(format: &EventFormat) -> Result<Self, String> {
        let mut letters = Vec::new();
        for pair in format.print.split('{').skip(1) {
            let Some((number, rest)) = pair.split_once(',') else {
                continue;
            };
            let number = number.trim();
            let bit = match number.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok(),
                None => number.parse().ok(),
            };
            let letter = rest.split('"').nth(1);
            if let (Some(bit), Some(letter)) = (bit, letter) {
                letters.push((bit, letter.to_string()));
            }
        }
        let highest = letters.iter().map(|(bit, _)| *bit).max();
        let preempted = highest.and_then(|bit| bit.checked_mul(2)).ok_or("it lists no letters for prev_state")?;
        Ok(Self { letters, mask: preempted - 1, preempted })
    }

    /// Appends the text of `state`, as the kernel prints it.
    pub fn write(&self, state: i64, out: &mut Vec<u8>) {
        let state = state as u64;
        let mut rest = state & self.mask;
        if rest == 0 {
            out.push(b'R');
        }
        let mut first = true;
        for (bit, letter) in &self.letters {
            if *bit != 0 && rest & bit == *bit {
                if !std::mem::take(&mut first) {
                    out.push(b'|');
                }
                out.extend(letter.as_bytes());
                rest &= !bit;
            }
        }
        if rest != 0 {
            let bar = if first { "" } else { "|" };
            out.extend(format!("{bar}0x{rest:x}").as_bytes());
        }
        if state & self.preempted != 0 {
            out.push(b'+');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORK: &str = "name: sched_process_fork\nID: 366\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:__data_loc char[] parent_comm;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:pid_t parent_pid;\toffset:12;\tsize:4;\tsigned:1;\n\
        \tfield:char child_comm[16];\toffset:16;\tsize:16;\tsigned:0;\n\nprint fmt: \"comm=%s\", x\n";

    #[test]
    fn fields_of_both_text_kinds_and_numbers_are_read() {
        let format = EventFormat::parse(FORK).expect("a good format");
        assert_eq!((format.name.as_str(), format.id), ("sched_process_fork", 366));
        let mut event = vec![0u8; 32];
        event[8..12].copy_from_slice(&(32u32 | 5 << 16).to_ne_bytes());
        event[12..16].copy_from_slice(&(-3i32).to_ne_bytes());
        event[16..19].copy_from_slice(b"ab ");
        event.extend(b"init\0");
        assert_eq!(format.field("parent_comm").expect("there").text(&event), Some(b"init".as_slice()));
        assert_eq!(format.field("child_comm").expect("there").text(&event), Some(b"ab ".as_slice()));
        assert_eq!(format.field("parent_pid").expect("there").number(&event), Some(-3));
        assert_eq!(format.field("parent_pid").expect("there").number(&event[..13]), None);
    }

    #[test]
    fn a_missing_field_is_named() {
        let format = EventFormat::parse(FORK).expect("a good format");
        assert_eq!(format.field("prio"), Err("event sched_process_fork has no field `prio`".to_string()));
    }

    fn letters(print: &str) -> StateLetters {
        let text = format!("name: sched_switch\nID: 1\nprint fmt: {print}\n");
        StateLetters::parse(&EventFormat::parse(&text).expect("a good format")).expect("letters")
    }

    fn shown(letters: &StateLetters, state: i64) -> String {
        let mut out = Vec::new();
        letters.write(state, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn state_letters_follow_the_kernels_own_list() {
        let new = letters(r#"{ 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000010, "X" }, { 0x00000080, "I" }"#);
        assert_eq!(shown(&new, 0), "R");
        assert_eq!(shown(&new, 1), "S");
        assert_eq!(shown(&new, 0x100), "R+");
        assert_eq!(shown(&new, 0x80), "I");
        assert_eq!(shown(&new, 0x12), "D|X");
        let old = letters(r#"{ 1, "S"} , { 2, "D" }, { 1024, "N" }"#);
        assert_eq!(shown(&old, 2048), "R+");
        assert_eq!(shown(&old, 4), "0x4");
    }
}
