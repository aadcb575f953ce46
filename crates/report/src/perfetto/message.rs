//! Messages of Protocol Buffers, written field by field.

use crate::pack::put_varint;
use std::io::{self, Write};

/// Writes one `Trace.packet`.
pub(super) fn packet(out: &mut dyn Write, message: &Message) -> io::Result<()> {
    let mut head = Message::default();
    put_varint(&mut head.0, 1 << 3 | 2);
    put_varint(&mut head.0, message.0.len() as u64);
    out.write_all(&head.0)?;
    out.write_all(&message.0)
}

/// A protobuf message under construction.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn number(&mut self, field: u64, value: u64) -> &mut Message {
        put_varint(&mut self.0, field << 3);
        put_varint(&mut self.0, value);
        self
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Message {
        put_varint(&mut self.0, field << 3 | 2);
        put_varint(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn fixed(&mut self, field: u64, value: u64) -> &mut Message {
        put_varint(&mut self.0, field << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(super) fn text(&mut self, field: u64, text: &str) -> &mut Message {
        self.bytes(field, text.as_bytes())
    }

    pub(super) fn message(&mut self, field: u64, message: &Message) -> &mut Message {
        self.bytes(field, &message.0)
    }

    pub(super) fn packed(&mut self, field: u64, values: impl Iterator<Item = u64>) {
        let mut bytes = Vec::new();
        values.for_each(|v| put_varint(&mut bytes, v));
        self.bytes(field, &bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_encoded_as_the_protocol_buffers_guide_shows() {
        let mut inner = Message::default();
        inner.number(1, 150);
        assert_eq!(inner.0, [0x08, 0x96, 0x01]);
        let mut outer = Message::default();
        outer.text(2, "testing").message(3, &inner).packed(4, [3, 270, 86942].into_iter());
        let expected: [&[u8]; 3] = [
            &[0x12, 0x07, b't', b'e', b's', b't', b'i', b'n', b'g'],
            &[0x1a, 0x03, 0x08, 0x96, 0x01],
            &[0x22, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05],
        ];
        assert_eq!(outer.0, expected.concat());
    }
}
