//! The letters for operation and flags in blkparse's and the kernel's text.

use super::record::BlockFlags;
use goodness_core::Operation;

/// Decoded letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Letters {
    /// `None`: a command that is none of the four operations.
    pub op: Option<Operation>,
    pub flags: BlockFlags,
}

/// Parses letters such as `WS`, `FWFS`, `RA`, `DE`; `None` if invalid. An `F` before the operation means a preceding
/// flush, one after it FUA; an `F` without operation is a flush.
pub(crate) fn letters(text: &[u8]) -> Option<Letters> {
    if text.is_empty() || text.len() > 8 || !text.iter().all(u8::is_ascii_uppercase) {
        return None;
    }
    let (op, rest, before) = match text {
        [b'F', b'F', rest @ ..] => (Some(Operation::Flush), rest, false),
        [b'F', b'W', rest @ ..] => (Some(Operation::Write), rest, true),
        [b'F', b'R', rest @ ..] => (Some(Operation::Read), rest, true),
        [b'F', b'D', rest @ ..] => (Some(Operation::Discard), rest, true),
        [b'F', b'N', rest @ ..] | [b'F', rest @ ..] => (Some(Operation::Flush), rest, false),
        [b'D', b'E', rest @ ..] | [b'D', rest @ ..] => (Some(Operation::Discard), rest, false),
        // Writes whose place the drive chooses within a zone.
        [b'Z', b'A', rest @ ..] | [b'W', rest @ ..] => (Some(Operation::Write), rest, false),
        [b'R', rest @ ..] => (Some(Operation::Read), rest, false),
        [b'N' | b'Z', rest @ ..] => (None, rest, false),
        _ => return None,
    };
    let mut flags = BlockFlags::NONE.with_if(before, BlockFlags::FLUSH_BEFORE);
    for letter in rest {
        flags = flags.with(match letter {
            b'S' => BlockFlags::SYNC,
            b'M' => BlockFlags::META,
            b'F' => BlockFlags::DURABLE,
            b'A' => BlockFlags::READ_AHEAD,
            _ => BlockFlags::NONE,
        });
    }
    Some(Letters { op, flags })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_an_f_tells_flush_from_durable() {
        let read = |text: &str| letters(text.as_bytes()).map(|l| (l.op, l.flags));
        let (write, none) = (Some(Operation::Write), BlockFlags::NONE);
        assert_eq!(read("W"), Some((write, none)));
        assert_eq!(read("WFS"), Some((write, BlockFlags::DURABLE.with(BlockFlags::SYNC))));
        assert_eq!(
            read("FWFSM"),
            Some((
                write,
                BlockFlags::FLUSH_BEFORE.with(BlockFlags::DURABLE).with(BlockFlags::SYNC).with(BlockFlags::META)
            ))
        );
        for flush in ["F", "FF", "FN"] {
            assert_eq!(read(flush), Some((Some(Operation::Flush), none)), "{flush}");
        }
        assert_eq!(read("RA"), Some((Some(Operation::Read), BlockFlags::READ_AHEAD)));
        assert_eq!(read("DS"), Some((Some(Operation::Discard), BlockFlags::SYNC)));
        assert_eq!(read("DE"), Some((Some(Operation::Discard), none)));
        assert_eq!(read("N"), Some((None, none)));
        assert_eq!(read("w"), None);
        assert_eq!(read("X"), None);
        assert_eq!(read(""), None);
    }
}
