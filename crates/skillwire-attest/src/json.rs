//! Bounded, strict reading of the JSON that signatures are made of.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};
use skillwire_core::{
    Digest,
    strict_json::{self, JsonLimits},
};

use crate::not_verified::NotVerified;

/// A statement has six values for each file, and a skill has at most some thousand files.
const LIMITS: JsonLimits = JsonLimits::new(16, 400_000);

/// Reads bytes as one JSON object without duplicate keys; `what` names it in errors.
pub(crate) fn object(bytes: &[u8], what: &str) -> Result<Map<String, Value>, NotVerified> {
    let text = std::str::from_utf8(bytes).map_err(|error| NotVerified::Malformed {
        what: what.into(),
        problem: "is not UTF-8".into(),
        source: Some(error.into()),
    })?;
    strict_json::object(text, LIMITS).map_err(|error| NotVerified::Malformed {
        what: what.into(),
        problem: "is not a JSON object without repeated keys".into(),
        source: Some(error.into()),
    })
}

/// The members of an object, with the name of the object for errors.
#[derive(Clone, Copy)]
pub(crate) struct Members<'a> {
    map: &'a Map<String, Value>,
    what: &'a str,
}

impl<'a> Members<'a> {
    pub(crate) fn new(map: &'a Map<String, Value>, what: &'a str) -> Self {
        Self { map, what }
    }

    /// Takes a value that must be an object.
    pub(crate) fn of(value: &'a Value, what: &'a str) -> Result<Self, NotVerified> {
        match value {
            Value::Object(map) => Ok(Self { map, what }),
            _ => Err(NotVerified::malformed(what, "is not an object")),
        }
    }

    fn wrong(&self, key: &str, expected: &str) -> NotVerified {
        NotVerified::malformed(self.what, format!("needs {expected} as `{key}`"))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&self, key: &str) -> Result<&'a str, NotVerified> {
        self.get(key).and_then(Value::as_str).ok_or_else(|| self.wrong(key, "a text"))
    }

    pub(crate) fn object(&self, key: &str) -> Result<&'a Map<String, Value>, NotVerified> {
        self.get(key).and_then(Value::as_object).ok_or_else(|| self.wrong(key, "an object"))
    }

    pub(crate) fn array(&self, key: &str) -> Result<&'a [Value], NotVerified> {
        let array = self.get(key).and_then(Value::as_array).map(Vec::as_slice);
        array.ok_or_else(|| self.wrong(key, "a list"))
    }

    /// A list that may be missing.
    pub(crate) fn optional_array(&self, key: &str) -> Result<&'a [Value], NotVerified> {
        if self.get(key).is_none() { Ok(&[]) } else { self.array(key) }
    }

    /// Bytes in base64 with padding and nothing else in between.
    pub(crate) fn base64(&self, key: &str) -> Result<Vec<u8>, NotVerified> {
        STANDARD.decode(self.text(key)?).map_err(|error| NotVerified::Malformed {
            what: self.what.into(),
            problem: format!("needs base64 as `{key}`").into(),
            source: Some(error.into()),
        })
    }

    /// A number that JSON of protocol buffers may write as a text.
    pub(crate) fn number(&self, key: &str) -> Result<u64, NotVerified> {
        let number = match self.get(key) {
            Some(Value::String(text)) => text.parse().ok(),
            Some(value) => value.as_u64(),
            None => None,
        };
        number.ok_or_else(|| self.wrong(key, "a whole number"))
    }

    /// A SHA-256 digest as 64 hexadecimal digits.
    pub(crate) fn hex_digest(&self, key: &str) -> Result<Digest, NotVerified> {
        let digest = format!("sha256:{}", self.text(key)?).parse();
        digest.map_err(|_| self.wrong(key, "64 lower-case hexadecimal digits"))
    }
}
