//! Encodes numbers and texts, and decodes them from bytes that may be anything.

/// Appends a length or a count.
pub(super) fn put_number(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&(number as u64).to_le_bytes()[..5]);
}

/// Appends bytes whose number is known.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
}

/// Appends a text with its length.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len());
    put_bytes(out, text.as_bytes());
}

/// Decodes bytes from the beginning to the end; every step returns `None` for invalid bytes.
pub(super) struct ByteReader<'a> {
    rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The number of bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn number(&mut self) -> Option<usize> {
        let low: [u8; 5] = self.array()?;
        let mut bytes = [0; 8];
        bytes[..5].copy_from_slice(&low);
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let length = self.number()?;
        std::str::from_utf8(self.bytes(length)?).ok()
    }

    /// Reads a counted list. It allocates only for items that are there, whatever the count says.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let count = self.number()?;
        // Every item takes at least one byte.
        if count > self.rest.len() {
            return None;
        }
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        Some(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_read_and_what_was_not_is_nothing() {
        let mut out = Vec::new();
        put_number(&mut out, 2);
        put_text(&mut out, "one");
        put_text(&mut out, "");
        let mut reader = ByteReader::new(&out);
        let texts = reader.list(ByteReader::text);
        assert_eq!(texts, Some(vec!["one", ""]));
        assert!(reader.is_at_end());
        for end in 0..out.len() {
            assert_eq!(ByteReader::new(&out[..end]).list(ByteReader::text), None, "{end}");
        }
        assert_eq!(ByteReader::new(&[0xff; 32]).list(ByteReader::byte), None);
        assert_eq!(ByteReader::new(&[1, 0, 0, 0, 0, 0xff]).text(), None);
    }
}
