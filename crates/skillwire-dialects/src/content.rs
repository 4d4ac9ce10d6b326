//! The bytes of a file inside an answer: `text` or `blob`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::InvalidDocument;

/// The bytes of one content.
pub(crate) fn read(content: &Value) -> Result<Vec<u8>, InvalidDocument> {
    let text = |key: &str| content.get(key).and_then(Value::as_str);
    match (text("text"), text("blob")) {
        (Some(text), None) => Ok(text.as_bytes().to_vec()),
        (None, Some(blob)) => {
            STANDARD.decode(blob).map_err(|_| "a `blob` that is not canonical base64".into())
        }
        _ => Err("neither or both of `text` and `blob`".into()),
    }
}

/// Bytes as one content: text where they are UTF-8, otherwise base64.
#[cfg(test)]
pub(crate) fn write(uri: &str, bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => serde_json::json!({ "uri": uri, "text": text }),
        Err(_) => serde_json::json!({ "uri": uri, "blob": STANDARD.encode(bytes) }),
    }
}
