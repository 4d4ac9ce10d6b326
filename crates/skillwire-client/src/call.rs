//! An outgoing request.

use serde_json::{Map, Value, json};
use skillwire_protocol::{Era, SKILLS_EXTENSION, meta, method, version::MODERN};

use super::endpoint::ClientOptions;

/// What the caller of a request takes besides the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CallTerms {
    /// Whether the caller wants reports of progress.
    pub progress: bool,
    /// Whether the caller can show its user a form. In the legacy era a connection says this once,
    /// when it is opened.
    pub forms: bool,
}

impl CallTerms {
    /// Says whether the caller wants reports of progress.
    #[must_use]
    pub fn with_progress(self, progress: bool) -> Self {
        Self { progress, ..self }
    }

    /// Says whether the caller can show its user a form.
    #[must_use]
    pub fn with_forms(self, forms: bool) -> Self {
        Self { forms, ..self }
    }
}

/// One request, ready to be sent over any transport.
#[derive(Debug)]
pub(super) struct OutgoingRequest {
    /// Its id, which no other request of the connection has.
    pub(super) id: u64,
    /// The JSON-RPC method.
    pub(super) method: String,
    /// The name or URI the request is about, which HTTP repeats in a header.
    pub(super) name: Option<String>,
    /// The protocol revision of the request; `initialize` has none yet.
    pub(super) version: Option<&'static str>,
    /// The JSON text of the message.
    pub(super) text: String,
}

impl OutgoingRequest {
    /// Creates a request under a revision, with the metadata that the revision requires.
    pub(super) fn new(
        id: u64,
        version: Option<&'static str>,
        method: &str,
        mut params: Map<String, Value>,
        options: &ClientOptions,
        terms: CallTerms,
    ) -> Self {
        if version == Some(MODERN) {
            add_metadata(&mut params, options, terms.forms);
        }
        if terms.progress
            && let Value::Object(meta) = params.entry("_meta").or_insert_with(|| json!({}))
        {
            meta.insert("progressToken".to_owned(), id.into());
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

    /// Returns the era of the request.
    pub(super) fn era(&self) -> Era {
        if self.version == Some(MODERN) { Era::Modern } else { Era::Legacy }
    }

    /// Tells whether the client may tell the server that it dropped the request; a handshake is
    /// never cancelled.
    pub(super) fn may_be_cancelled(&self) -> bool {
        self.method != method::INITIALIZE
    }
}

/// Adds the metadata of a modern request, next to metadata that is there already.
fn add_metadata(params: &mut Map<String, Value>, options: &ClientOptions, forms: bool) {
    let meta = params.entry("_meta").or_insert_with(|| json!({}));
    if let Value::Object(meta) = meta {
        meta.insert(meta::PROTOCOL_VERSION.to_owned(), MODERN.into());
        meta.insert(meta::CLIENT_INFO.to_owned(), client_info(options));
        meta.insert(meta::CLIENT_CAPABILITIES.to_owned(), capabilities(forms));
    }
}

/// Returns the name and version that the client reports to servers.
pub(super) fn client_info(options: &ClientOptions) -> Value {
    json!({ "name": options.client_name, "version": options.client_version })
}

/// Returns the client's capabilities. Unless a caller can show forms, it declares none that would
/// let a server send it requests; declaring that it knows skills is harmless.
pub(super) fn capabilities(forms: bool) -> Value {
    let mut declared = json!({ "extensions": { SKILLS_EXTENSION: {} } });
    if forms {
        declared["elicitation"] = json!({ "form": {} });
    }
    declared
}

/// Returns the notification that cancels a request.
pub(super) fn cancelled(id: u64) -> String {
    let params = json!({ "requestId": id, "reason": "The answer is no longer wanted." });
    skillwire_protocol::message::notification(method::CANCELLED, &params)
}
