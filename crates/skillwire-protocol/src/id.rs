//! The id of a request.

use std::fmt;

use serde_json::value::RawValue;

/// A request id: a string or an integer, kept as the JSON text that is echoed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestId(Box<str>);

impl RequestId {
    /// Reads an id; returns none for `null`, fractions, objects and arrays.
    pub fn from_raw(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        if text.starts_with('"') {
            // The string is written anew, so that two spellings of it give the same id.
            let id: String = serde_json::from_str(text).ok()?;
            return Some(Self(serde_json::to_string(&id).ok()?.into()));
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        let integer = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        integer.then(|| Self(text.into()))
    }

    /// Returns the id as JSON text.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

impl From<u64> for RequestId {
    fn from(number: u64) -> Self {
        Self(number.to_string().into())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
