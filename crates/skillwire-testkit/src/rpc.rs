//! JSON-RPC messages as tests write and read them.

use serde_json::{Map, Value, json};
use skillwire_protocol::{meta, version};

/// The metadata every modern request carries.
pub fn modern_meta() -> Value {
    json!({
        meta::PROTOCOL_VERSION: version::MODERN,
        meta::CLIENT_INFO: { "name": "testkit", "version": "1" },
        meta::CLIENT_CAPABILITIES: {},
    })
}

/// A modern request; `params` is an object and gets the metadata.
pub fn modern_request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    let mut params = match params {
        Value::Object(params) => params,
        _ => Map::new(),
    };
    params.entry("_meta").or_insert_with(modern_meta);
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

/// A legacy request.
#[expect(clippy::needless_pass_by_value, reason = "tests write both kinds of request alike")]
pub fn legacy_request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

/// The parameters of an `initialize` request.
pub fn initialize_params(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": { "name": "testkit", "version": "1" },
    })
}

/// The answer to one request.
#[derive(Debug, Clone)]
pub struct RpcReply(pub Value);

impl RpcReply {
    /// Returns the result; panics with the error if there is one.
    pub fn result(&self) -> &Value {
        self.0.get("result").unwrap_or_else(|| panic!("no result in {}", self.0))
    }

    /// Returns the error code; panics with the result if there is one.
    pub fn code(&self) -> i64 {
        self.0["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error in {}", self.0))
    }

    /// The error's message.
    pub fn message(&self) -> &str {
        self.0["error"]["message"].as_str().unwrap_or_else(|| panic!("no error in {}", self.0))
    }
}
