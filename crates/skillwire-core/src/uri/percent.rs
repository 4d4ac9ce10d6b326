//! Percent-encoding, which this crate writes in one way only: only reserved characters are escaped,
//! so that each resource has exactly one URI.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::InvalidUri;
use crate::path::RelPath;

/// The characters that are escaped in the first segment, the authority, where `:` and `@` would
/// mean something else.
const AUTHORITY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// The characters that are escaped in the other segments.
const SEGMENT: &AsciiSet = &AUTHORITY.remove(b':').remove(b'@');

/// The characters that are escaped in a path of several segments.
const PATH: &AsciiSet = &SEGMENT.remove(b'/');

/// Appends one segment, escaping what a URI cannot carry there.
pub(super) fn encode(segment: &str, authority: bool, out: &mut String) {
    out.extend(utf8_percent_encode(segment, if authority { AUTHORITY } else { SEGMENT }));
}

/// Writes a path as it stands below a directory's URI.
pub fn encode_path(path: &RelPath) -> Cow<'_, str> {
    utf8_percent_encode(path.as_str(), PATH).into()
}

/// Reads a path below a directory's URI, if it is written exactly as this crate writes it.
pub fn decode_path(text: &str) -> Option<Cow<'_, str>> {
    // The first piece ends where the first escape would begin, or is that escape.
    let plain = utf8_percent_encode(text, PATH).next().unwrap_or_default();
    if plain == text && !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let decoded: Option<Vec<String>> =
        text.split('/').map(|segment| decode(segment).ok()).collect();
    let path = RelPath::parse(&decoded?.join("/")).ok()?;
    (encode_path(&path) == text).then(|| Cow::Owned(path.to_string()))
}

/// Decodes one percent-encoded segment into the text it stands for.
///
/// Unlike most decoders, it refuses a `%` that is not followed by two hexadecimal digits.
pub fn decode(segment: &str) -> Result<String, InvalidUri> {
    let malformed = InvalidUri("has percent-encoding that is not UTF-8 text");
    let mut escapes = segment.split('%').skip(1).map(str::as_bytes);
    let hexadecimal = |escape: &[u8]| {
        escape.get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !escapes.all(hexadecimal) {
        return Err(malformed);
    }
    percent_decode_str(segment).decode_utf8().map(Cow::into_owned).map_err(|_| malformed)
}

/// Decodes a segment that an author wrote by hand, where a `%` may stand for itself.
pub fn decode_or_keep(segment: &str) -> String {
    decode(segment).unwrap_or_else(|_| segment.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_back_only_in_the_form_in_which_it_is_written_srv_20() {
        for (path, written) in [
            ("a.md", "a.md"),
            ("a b/é.md", "a%20b/%C3%A9.md"),
            ("%", "%25"),
            (" ", "%20"),
            ("a:b@c!$&'()*+,;=~", "a:b@c!$&'()*+,;=~"),
            ("\u{7f}\n", "%7F%0A"),
        ] {
            assert_eq!(encode_path(&RelPath::parse(path).unwrap()), written);
            assert_eq!(decode_path(written).unwrap(), path);
        }
        for other in [" ", "é", "%2f", "a%2Fb", "%61", "a%20b%c3%a9", "?", "a#b", "%", "[1]"] {
            assert_eq!(decode_path(other), None, "{other}");
        }
    }

    #[test]
    fn only_two_hexadecimal_digits_stand_for_a_byte_srv_71() {
        assert_eq!(decode("a%2Fb%c3%A9").unwrap(), "a/bé");
        for bad in ["%", "%1", "%+1", "%-1", "% 1", "%1+", "%g0", "%0g", "%é", "%C3", "%%20"] {
            assert!(decode(bad).is_err(), "{bad}");
        }
    }
}
