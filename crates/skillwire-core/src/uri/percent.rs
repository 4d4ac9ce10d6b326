//! Percent-encoding, which this crate writes in one way only.

use std::borrow::Cow;

use super::InvalidUri;
use crate::path::RelPath;

/// Appends one segment, percent-encoding what a URI cannot carry there.
///
/// The first segment is the authority, where `:` and `@` would mean something else.
pub(super) fn encode(segment: &str, authority: bool, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in segment.bytes() {
        if is_plain(byte, authority) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

/// Tells whether a byte stands for itself in a segment.
fn is_plain(byte: u8, authority: bool) -> bool {
    byte.is_ascii_alphanumeric()
        || b"-._~!$&'()*+,;=".contains(&byte)
        || (!authority && b":@".contains(&byte))
}

/// Reads a path below a directory's URI, if it is written exactly as this crate writes it.
pub fn decode_path(text: &str) -> Option<Cow<'_, str>> {
    let plain = |byte: u8| byte == b'/' || is_plain(byte, false);
    if text.bytes().all(plain) {
        return Some(Cow::Borrowed(text));
    }
    let decoded: Option<Vec<String>> =
        text.split('/').map(|segment| decode(segment).ok()).collect();
    let path = RelPath::parse(&decoded?.join("/")).ok()?;
    let mut encoded = String::with_capacity(text.len());
    for (index, segment) in path.segments().enumerate() {
        if index > 0 {
            encoded.push('/');
        }
        encode(segment, false, &mut encoded);
    }
    (encoded == text).then(|| Cow::Owned(path.to_string()))
}

/// Tells whether a path looks different in a URI.
pub(crate) fn encodes(path: &RelPath) -> bool {
    let mut encoded = String::new();
    path.segments().for_each(|segment| {
        encoded.push('/');
        encode(segment, false, &mut encoded);
    });
    encoded.trim_start_matches('/') != path.as_str()
}

/// Decodes one percent-encoded segment into the text it stands for.
pub fn decode(segment: &str) -> Result<String, InvalidUri> {
    let malformed = InvalidUri("has percent-encoding that is not UTF-8 text");
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    loop {
        rest = match rest {
            [] => break,
            [b'%', high, low, tail @ ..] => {
                let byte = digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low);
                bytes.push(byte.ok_or(malformed)?);
                tail
            }
            [b'%', ..] => return Err(malformed),
            [plain, tail @ ..] => {
                bytes.push(*plain);
                tail
            }
        };
    }
    String::from_utf8(bytes).map_err(|_| malformed)
}

/// Decodes a segment that somebody wrote by hand, where a `%` may stand for itself.
pub fn decode_or_keep(segment: &str) -> String {
    decode(segment).unwrap_or_else(|_| segment.to_owned())
}

/// The value of a hexadecimal digit. `u8::from_str_radix` would also take a sign for one.
fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_hexadecimal_digits_stand_for_a_byte_srv_71() {
        assert_eq!(decode("a%2Fb%c3%A9").unwrap(), "a/bé");
        for bad in ["%", "%1", "%+1", "%-1", "% 1", "%1+", "%g0", "%0g", "%é", "%C3", "%%20"] {
            assert!(decode(bad).is_err(), "{bad}");
        }
    }
}
