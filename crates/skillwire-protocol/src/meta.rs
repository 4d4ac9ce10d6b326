//! The metadata every modern request carries.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use skillwire_core::raw_text::as_text;

use crate::{capabilities::ClientCapabilities, error::RpcError, id::RequestId, trace::TraceParent};

/// Key of the request's protocol version.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Key of the client's capabilities.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Key of the client's name and version.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// Key of the server's name and version.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Key of the subscription a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

#[derive(Deserialize)]
struct RawMeta<'a> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion", borrow, default)]
    protocol_version: Option<&'a RawValue>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities", borrow, default)]
    client_capabilities: Option<&'a RawValue>,
    #[serde(rename = "io.modelcontextprotocol/clientInfo", borrow, default)]
    client_info: Option<&'a RawValue>,
    #[serde(rename = "progressToken", borrow, default)]
    progress_token: Option<&'a RawValue>,
    #[serde(rename = "traceparent", borrow, default)]
    trace_parent: Option<&'a RawValue>,
}

/// The metadata of a modern request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestMeta<'a> {
    /// The protocol revision that the client names, not yet checked.
    pub protocol_version: Cow<'a, str>,
}

/// Tells whether metadata carries a protocol version, which makes the request modern.
pub fn is_modern(meta: Option<&RawValue>) -> bool {
    lenient(meta).is_some_and(|meta| meta.protocol_version.is_some())
}

/// Returns the capabilities of the client of a modern request; none if the request declares none.
pub fn capabilities(meta: Option<&RawValue>) -> ClientCapabilities {
    let meta = lenient(meta);
    ClientCapabilities::read(meta.and_then(|meta| meta.client_capabilities))
}

/// Returns the name that the client of a modern request gives itself.
pub fn client_name(meta: Option<&RawValue>) -> Option<String> {
    name_in(lenient(meta)?.client_info)
}

/// Returns the name in the information that a client gives about itself, in either era.
pub fn name_in(client_info: Option<&RawValue>) -> Option<String> {
    #[derive(Deserialize)]
    struct ClientInfo {
        name: String,
    }
    // Serde would also accept an array, as the members in their order.
    let raw = client_info.filter(|raw| raw.get().starts_with('{'))?;
    serde_json::from_str::<ClientInfo>(raw.get()).ok().map(|info| info.name)
}

/// Returns the token under which the client wants progress notifications, in either era.
pub fn progress_token(meta: Option<&RawValue>) -> Option<RequestId> {
    lenient(meta)?.progress_token.and_then(RequestId::from_raw)
}

/// Returns the trace that the client sends a request in, in either era.
pub fn trace_parent(meta: Option<&RawValue>) -> Option<TraceParent> {
    as_text(lenient(meta)?.trace_parent?)?.parse().ok()
}

/// Reads metadata without requiring any member; none if it is no object.
fn lenient(meta: Option<&RawValue>) -> Option<RawMeta<'_>> {
    // Serde would also accept an array, as the members in their order.
    let raw = meta.filter(|raw| raw.get().starts_with('{'))?;
    serde_json::from_str(raw.get()).ok()
}

/// Reads the metadata of a modern request; a missing required member is an error.
pub fn read(meta: Option<&RawValue>) -> Result<RequestMeta<'_>, RpcError> {
    let missing = |key: &str| {
        RpcError::invalid_params(format!("`params._meta` must hold `{key}` on every request."))
    };
    let raw = meta.ok_or_else(|| missing(PROTOCOL_VERSION))?;
    let malformed = || RpcError::invalid_params("`params._meta` must be an object.");
    // Serde would also accept an array, as the members in their order.
    if !raw.get().starts_with('{') {
        return Err(malformed());
    }
    let meta: RawMeta<'_> = serde_json::from_str(raw.get()).map_err(|_| malformed())?;
    let version = meta.protocol_version.ok_or_else(|| missing(PROTOCOL_VERSION))?;
    let protocol_version = as_text(version).ok_or_else(|| {
        RpcError::invalid_params(format!(
            "`params._meta[\"{PROTOCOL_VERSION}\"]` must be a string."
        ))
    })?;
    let capabilities = meta.client_capabilities.ok_or_else(|| missing(CLIENT_CAPABILITIES))?;
    if !capabilities.get().starts_with('{') {
        return Err(RpcError::invalid_params(format!(
            "`params._meta[\"{CLIENT_CAPABILITIES}\"]` must be an object."
        )));
    }
    Ok(RequestMeta { protocol_version })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_must_be_an_object_with_both_members_srv_94() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let good = format!(r#"{{"{PROTOCOL_VERSION}":"x","{CLIENT_CAPABILITIES}":{{}}}}"#);
        assert_eq!(read(Some(&raw(&good))).unwrap().protocol_version, "x");
        for bad in [
            "[\"x\",{}]".to_owned(),
            "null".to_owned(),
            "{}".to_owned(),
            good.replace("{}", "[]"),
            good.replace("\"x\"", "5"),
        ] {
            assert!(read(Some(&raw(&bad))).is_err(), "{bad}");
        }
        assert!(!is_modern(Some(&raw("[\"x\",{}]"))));
    }

    #[test]
    fn a_progress_token_is_a_string_or_a_whole_number() {
        let token = |text: &str| {
            let raw = RawValue::from_string(format!(r#"{{"progressToken":{text}}}"#)).unwrap();
            progress_token(Some(&raw)).map(|token| token.to_string())
        };
        assert_eq!(token(r#""a""#).as_deref(), Some(r#""a""#));
        assert_eq!(token("7").as_deref(), Some("7"));
        for bad in ["null", "1.5", "{}", "true"] {
            assert_eq!(token(bad), None, "{bad}");
        }
    }
}
