//! The members of a JSON-RPC message, unread, whichever side sent it.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of a message; one that is repeated makes it unreadable.
///
/// An array would be taken for the members in their order, so whoever reads one looks for the brace
/// first.
#[derive(Debug, Deserialize)]
pub struct Envelope<'a> {
    /// The version of JSON-RPC.
    #[serde(borrow, default, deserialize_with = "present")]
    pub jsonrpc: Option<&'a RawValue>,
    /// What is asked or answered.
    #[serde(borrow, default, deserialize_with = "present")]
    pub id: Option<&'a RawValue>,
    /// What is asked for or told.
    #[serde(borrow, default, deserialize_with = "present")]
    pub method: Option<&'a RawValue>,
    /// The parameters of the method.
    #[serde(borrow, default, deserialize_with = "present")]
    pub params: Option<&'a RawValue>,
    /// What a successful answer carries.
    #[serde(borrow, default, deserialize_with = "present")]
    pub result: Option<&'a RawValue>,
    /// What a failed answer carries.
    #[serde(borrow, default, deserialize_with = "present")]
    pub error: Option<&'a RawValue>,
}

impl Envelope<'_> {
    /// Tells whether this is the version of JSON-RPC that MCP uses.
    pub fn is_version_2(&self) -> bool {
        self.jsonrpc.map(RawValue::get) == Some(r#""2.0""#)
    }
}

/// A string, borrowed unless it has escapes.
#[derive(Debug, Deserialize)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// The string that a value is, if it is one; borrowed unless it has escapes.
pub fn as_text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let quoted = raw.get();
    let between = quoted.strip_prefix('"')?.strip_suffix('"')?;
    if between.contains('\\') {
        return serde_json::from_str(quoted).ok().map(|Text(text)| text);
    }
    // What is raw was read before, so without escapes this is the string.
    Some(Cow::Borrowed(between))
}

/// Keeps `null` apart from absence, which `Option` alone would not.
pub fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srv_108_a_raw_string_is_read_as_any_other() {
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
