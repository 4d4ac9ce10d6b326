//! A request on its way out.

use serde_json::{Map, Value, json};
use skillwire_protocol::{Era, SKILLS_EXTENSION, meta, method, version::MODERN};

use super::endpoint::ClientOptions;

/// One request, ready to be sent over any transport.
#[derive(Debug)]
pub(super) struct Call {
    /// Its id, which no other request of the connection has.
    pub(super) id: u64,
    /// What is asked for.
    pub(super) method: String,
    /// The name or URI it is about, which HTTP repeats in a header.
    pub(super) name: Option<String>,
    /// The revision it is made under; `initialize` has none yet.
    pub(super) version: Option<&'static str>,
    /// The message.
    pub(super) text: String,
}

impl Call {
    /// Makes a request under a revision, with the metadata that revision asks for.
    pub(super) fn new(
        id: u64,
        version: Option<&'static str>,
        method: &str,
        mut params: Map<String, Value>,
        options: &ClientOptions,
    ) -> Self {
        if version == Some(MODERN) {
            add_metadata(&mut params, options);
        }
        let name = match method {
            method::RESOURCES_READ => params.get("uri"),
            method::TOOLS_CALL | method::PROMPTS_GET => params.get("name"),
            _ => None,
        };
        let name = name.and_then(Value::as_str).map(str::to_owned);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        Self { id, method: method.to_owned(), name, version, text: message.to_string() }
    }

    /// The era the request is made in.
    pub(super) fn era(&self) -> Era {
        if self.version == Some(MODERN) { Era::Modern } else { Era::Legacy }
    }

    /// Whether letting go of the request may be told to the server; a handshake is never cancelled.
    pub(super) fn may_be_cancelled(&self) -> bool {
        self.method != method::INITIALIZE
    }
}

/// Adds what every modern request says about itself, next to metadata that is there already.
fn add_metadata(params: &mut Map<String, Value>, options: &ClientOptions) {
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    if let Value::Object(meta) = meta {
        meta.insert(meta::PROTOCOL_VERSION.to_owned(), MODERN.into());
        meta.insert(meta::CLIENT_INFO.to_owned(), client_info(options));
        meta.insert(meta::CLIENT_CAPABILITIES.to_owned(), capabilities());
    }
}

/// What the client calls itself.
pub(super) fn client_info(options: &ClientOptions) -> Value {
    json!({ "name": options.client_name, "version": options.client_version })
}

/// What the client can do: nothing a server could ask for. That it knows skills is harmless to say.
pub(super) fn capabilities() -> Value {
    json!({ "extensions": { SKILLS_EXTENSION: {} } })
}

/// The notification that a request is no longer wanted.
pub(super) fn cancelled(id: u64) -> String {
    let params = json!({ "requestId": id, "reason": "The answer is no longer wanted." });
    skillwire_protocol::message::notification(method::CANCELLED, &params)
}
