//! Reading what a client sent, and noting what it lacks.

use serde_json::Value;
use skillwire_protocol::{
    meta, method,
    version::{Era, MODERN},
};

use super::{Asked, HostileServer, log::Logged};
use crate::server::header_text;

/// Where a message came from.
pub(super) enum Via<'a> {
    Pipe,
    Http(&'a [(String, String)]),
}

impl HostileServer {
    /// Logs a message; a request is returned.
    pub(super) fn receive(&self, bytes: &[u8], via: &Via<'_>) -> Option<Asked> {
        let message: Value = serde_json::from_slice(bytes).unwrap_or(Value::Null);
        let method = message["method"].as_str();
        let params = if method.is_some() { &message["params"] } else { &message };
        let headers = match via {
            Via::Pipe => &[],
            Via::Http(headers) => *headers,
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
        self.0.log.push(Logged {
            method: method.unwrap_or("(response)").to_owned(),
            params: params.clone(),
            headers: headers.to_vec(),
            complaints,
        });
        let token = find(headers, "authorization").and_then(|text| text.strip_prefix("Bearer "));
        Some(Asked {
            method: method?.to_owned(),
            params: params.clone(),
            era,
            token: token.map(str::to_owned),
            id: message.get("id")?.to_string(),
        })
    }

    /// Logs something that is not a message.
    pub(super) fn note(&self, what: &str, headers: &[(String, String)]) {
        self.0.log.push(Logged {
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

/// Notes what the protocol asks of every request and this one lacks.
fn complain(complaints: &mut Vec<String>, method: &str, params: &Value, era: Era, via: &Via<'_>) {
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
    let Via::Http(headers) = via else { return };
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

/// The one legacy session.
pub(super) const SESSION: &str = "session-1";
