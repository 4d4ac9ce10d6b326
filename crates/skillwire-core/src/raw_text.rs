//! Strings in JSON that was read but not taken apart.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A string, borrowed unless it has escapes.
#[derive(Debug, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// Returns the string that a value is, if it is one; borrowed unless it has escapes.
pub fn as_text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let quoted = raw.get();
    let between = quoted.strip_prefix('"')?.strip_suffix('"')?;
    if between.contains('\\') {
        return serde_json::from_str(quoted).ok().map(|Text(text)| text);
    }
    // What is raw was read before, so without escapes this is the string.
    Some(Cow::Borrowed(between))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raw_string_is_read_as_any_other_srv_108() {
        for value in [
            r#""""#,
            r#""plain é ☃""#,
            r#""a\u0062\n\"\\""#,
            r#""\\""#,
            r#""\ud83d\ude00""#,
            r#""\ud83d""#,
            "7",
            "null",
            "[\"a\"]",
            "{\"a\":\"b\"}",
        ] {
            let raw: &RawValue = serde_json::from_str(value).unwrap();
            let expected = serde_json::from_str(value).ok().map(|Text(text)| text);
            assert_eq!(as_text(raw), expected, "{value}");
        }
        let raw: &RawValue = serde_json::from_str(r#""plain""#).unwrap();
        assert!(matches!(as_text(raw), Some(Cow::Borrowed("plain"))));
    }
}
