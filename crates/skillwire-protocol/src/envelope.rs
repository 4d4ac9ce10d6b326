//! The members of a JSON-RPC message from either side, not parsed yet.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of a message. A message that repeats a member cannot be read.
///
/// Serde would also accept an array, as the members in their order, so callers must check for the
/// opening brace first.
#[derive(Debug, Deserialize)]
pub struct Envelope<'a> {
    /// The version of JSON-RPC.
    #[serde(borrow, default, deserialize_with = "present")]
    pub jsonrpc: Option<&'a RawValue>,
    /// The identifier of a request, or of the request that this answers.
    #[serde(borrow, default, deserialize_with = "present")]
    pub id: Option<&'a RawValue>,
    /// The name of the method, in requests and notifications.
    #[serde(borrow, default, deserialize_with = "present")]
    pub method: Option<&'a RawValue>,
    /// The parameters of the method.
    #[serde(borrow, default, deserialize_with = "present")]
    pub params: Option<&'a RawValue>,
    /// The result of a successful answer.
    #[serde(borrow, default, deserialize_with = "present")]
    pub result: Option<&'a RawValue>,
    /// The error of a failed answer.
    #[serde(borrow, default, deserialize_with = "present")]
    pub error: Option<&'a RawValue>,
}

impl Envelope<'_> {
    /// Tells whether this is the version of JSON-RPC that MCP uses.
    pub fn is_version_2(&self) -> bool {
        self.jsonrpc.map(RawValue::get) == Some(r#""2.0""#)
    }
}

/// Keeps `null` apart from absence, which `Option` alone would not.
pub fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}
