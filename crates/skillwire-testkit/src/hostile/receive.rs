//! Reads the messages of clients, and notes what they lack.

use serde_json::Value;
use skillwire_protocol::{Era, meta, method, version::MODERN};

use super::{HostileServer, ReceivedRequest, log::LoggedMessage};
use crate::test_server::header_text;

/// The channel that a message came through.
pub(super) enum Channel<'a> {
    Pipe,
    Http(&'a [(String, String)]),
}

impl HostileServer {
    /// Logs a message, and returns it if it is a request.
    pub(super) fn receive(&self, bytes: &[u8], via: &Channel<'_>) -> Option<ReceivedRequest> {
        let message: Value = serde_json::from_slice(bytes).unwrap_or(Value::Null);
        let method = message["method"].as_str();
        let params = if method.is_some() { &message["params"] } else { &message };
        let headers = match via {
            Channel::Pipe => &[],
            Channel::Http(headers) => *headers,
        };
        let era = match params["_meta"].get(meta::PROTOCOL_VERSION) {
            Some(_) => Era::Modern,
            None => Era::Legacy,
        };
        let mut complaints = Vec::new();
        if message["jsonrpc"] != "2.0" {
            complaints.push(format!("not a message: {}", String::from_utf8_lossy(bytes)));
        }
        if let (Some(method), Some(_)) = (method, message.get("id")) {
            complain(&mut complaints, method, params, era, via);
        }
        self.0.log.push(LoggedMessage {
            method: method.unwrap_or("(response)").to_owned(),
            params: params.clone(),
            headers: headers.to_vec(),
            complaints,
        });
        let token = find(headers, "authorization").and_then(|text| text.strip_prefix("Bearer "));
        Some(ReceivedRequest {
            method: method?.to_owned(),
            params: params.clone(),
            era,
            token: token.map(str::to_owned),
            id: message.get("id")?.to_string(),
        })
    }

    /// Logs an event that is not a message.
    pub(super) fn note(&self, what: &str, headers: &[(String, String)]) {
        self.0.log.push(LoggedMessage {
            method: what.to_owned(),
            params: Value::Null,
            headers: headers.to_vec(),
            complaints: Vec::new(),
        });
    }
}

/// The first header of that name.
pub(super) fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
}

/// Notes what the protocol requires of every request and this one lacks.
fn complain(
    complaints: &mut Vec<String>,
    method: &str,
    params: &Value,
    era: Era,
    via: &Channel<'_>,
) {
    let mut expect = |what: &str, found: Option<&str>, wanted: Option<&str>| {
        if found != wanted {
            complaints.push(format!("{method}: {what} is {found:?} and not {wanted:?}"));
        }
    };
    let meta = &params["_meta"];
    if era == Era::Modern {
        expect("the version", meta[meta::PROTOCOL_VERSION].as_str(), Some(MODERN));
        let capabilities = meta[meta::CLIENT_CAPABILITIES].is_object().then_some("an object");
        expect("`clientCapabilities`", capabilities, Some("an object"));
    }
    let Channel::Http(headers) = via else { return };
    let header = |name| find(headers, name);
    expect("`Content-Type`", header("content-type"), Some("application/json"));
    let accept = header("accept").unwrap_or("");
    for media_type in ["application/json", "text/event-stream"] {
        let accepted = accept.split(',').map(str::trim).find(|found| *found == media_type);
        expect("`Accept`", accepted, Some(media_type));
    }
    match era {
        Era::Modern => {
            expect("`MCP-Protocol-Version`", header("mcp-protocol-version"), Some(MODERN));
            expect("`Mcp-Method`", header("mcp-method"), Some(method));
            if method == method::RESOURCES_READ {
                let name = params["uri"].as_str().map(header_text);
                expect("`Mcp-Name`", header("mcp-name"), name.as_deref());
            }
        }
        Era::Legacy if method != method::INITIALIZE => {
            expect("`Mcp-Session-Id`", header("mcp-session-id"), Some(SESSION));
            let version = header("mcp-protocol-version").map(|_| "there");
            expect("`MCP-Protocol-Version`", version, Some("there"));
        }
        Era::Legacy => {}
    }
}

/// The id of the only legacy session.
pub(super) const SESSION: &str = "session-1";
