//! Writes messages of Protobuf: the few forms that OTLP needs.

/// A message that is being written.
#[derive(Debug, Default)]
pub(crate) struct MessageWriter(Vec<u8>);

/// The kinds of fields.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED_32: u64 = 5;

impl MessageWriter {
    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            // The lowest seven bits, and the mark that more follow.
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn tag(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    /// Writes a number of any size; a negative one as its two's complement, as the format wants.
    pub(crate) fn integer(&mut self, field: u64, value: i64) {
        self.tag(field, VARINT);
        self.varint(value.cast_unsigned());
    }

    pub(crate) fn fixed_64(&mut self, field: u64, value: u64) {
        self.tag(field, FIXED_64);
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn fixed_32(&mut self, field: u64, value: u32) {
        self.tag(field, FIXED_32);
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, field: u64, value: &[u8]) {
        self.tag(field, LENGTH);
        self.varint(value.len() as u64);
        self.0.extend(value);
    }

    pub(crate) fn text(&mut self, field: u64, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    pub(crate) fn message(&mut self, field: u64, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_specification() {
        let mut message = MessageWriter::default();
        message.integer(1, 150);
        message.text(2, "testing");
        message.message(3, |inner| inner.integer(1, 150));
        message.fixed_32(4, 1);
        message.fixed_64(5, 2);
        message.integer(6, -1);
        // The first three are the examples of the documentation of the format.
        let expected = [
            &[0x08, 0x96, 0x01][..],
            &[0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67],
            &[0x1a, 0x03, 0x08, 0x96, 0x01],
            &[0x25, 1, 0, 0, 0],
            &[0x29, 2, 0, 0, 0, 0, 0, 0, 0],
            &[0x30, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
        ]
        .concat();
        assert_eq!(message.finish(), expected);
    }
}
