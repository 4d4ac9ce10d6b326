//! Reads one JSON-RPC message and writes its answer.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{error::Category, value::RawValue};
use skillwire_core::raw_text::as_text;

use crate::{
    envelope::{Envelope, present},
    error::{ErrorCode, RpcError},
    id::RequestId,
};

/// One message from the peer.
#[derive(Debug)]
pub enum Message<'a> {
    /// A message that needs an answer.
    Request(Request<'a>),
    /// A message that gets no answer.
    Notification(Notification<'a>),
    /// The answer to a request of ours.
    Response(Response<'a>),
}

/// An answer to a request of ours, whose result is not parsed yet.
#[derive(Debug)]
pub struct Response<'a> {
    /// The id of the request that it answers; none if the peer sent no usable id.
    pub id: Option<RequestId>,
    /// The result; none if the peer answered with an error.
    pub result: Option<&'a RawValue>,
}

/// A message that the receiver must answer under the same id.
#[derive(Debug)]
pub struct Request<'a> {
    /// The identifier that the answer repeats.
    pub id: RequestId,
    /// The name of the method.
    pub method: Cow<'a, str>,
    /// Every parameter this project knows.
    pub params: Params<'a>,
}

/// A message without an id, which the receiver does not answer.
#[derive(Debug)]
pub struct Notification<'a> {
    /// The name of the method, which says what happened.
    pub method: Cow<'a, str>,
    /// Every parameter this project knows.
    pub params: Params<'a>,
}

/// The parameters of all methods, not parsed yet; unknown ones are ignored.
#[derive(Debug, Default, Deserialize)]
pub struct Params<'a> {
    /// Request metadata.
    #[serde(rename = "_meta", borrow, default, deserialize_with = "present")]
    pub meta: Option<&'a RawValue>,
    /// The URI of a resource, skill or directory.
    #[serde(borrow, default, deserialize_with = "present")]
    pub uri: Option<&'a RawValue>,
    /// The cursor of the page of a listing.
    #[serde(borrow, default, deserialize_with = "present")]
    pub cursor: Option<&'a RawValue>,
    /// The subscription filter.
    #[serde(borrow, default, deserialize_with = "present")]
    pub notifications: Option<&'a RawValue>,
    /// The prompt or resource template that a completion is for.
    #[serde(rename = "ref", borrow, default, deserialize_with = "present")]
    pub reference: Option<&'a RawValue>,
    /// The argument a completion completes.
    #[serde(borrow, default, deserialize_with = "present")]
    pub argument: Option<&'a RawValue>,
    /// The arguments that the user has already filled in.
    #[serde(borrow, default, deserialize_with = "present")]
    pub context: Option<&'a RawValue>,
    /// The protocol revision that the client of an `initialize` asks for.
    #[serde(rename = "protocolVersion", borrow, default, deserialize_with = "present")]
    pub protocol_version: Option<&'a RawValue>,
    /// The id of the request that the sender cancels.
    #[serde(rename = "requestId", borrow, default, deserialize_with = "present")]
    pub request_id: Option<&'a RawValue>,
    /// The name of a tool or prompt, or of a skill in older dialects.
    #[serde(borrow, default, deserialize_with = "present")]
    pub name: Option<&'a RawValue>,
    /// The arguments of a tool, prompt, skill or script.
    #[serde(borrow, default, deserialize_with = "present")]
    pub arguments: Option<&'a RawValue>,
    /// A file of a skill, in an older dialect.
    #[serde(rename = "reference", borrow, default, deserialize_with = "present")]
    pub skill_reference: Option<&'a RawValue>,
    /// A script of a skill, in an older dialect.
    #[serde(borrow, default, deserialize_with = "present")]
    pub script: Option<&'a RawValue>,
    /// The user's answers to the questions of an `input_required` result.
    #[serde(rename = "inputResponses", borrow, default, deserialize_with = "present")]
    pub input_responses: Option<&'a RawValue>,
    /// The state of an `input_required` result, which the client sends back unchanged.
    #[serde(rename = "requestState", borrow, default, deserialize_with = "present")]
    pub request_state: Option<&'a RawValue>,
    /// The name and version that the client of an `initialize` gives itself.
    #[serde(rename = "clientInfo", borrow, default, deserialize_with = "present")]
    pub client_info: Option<&'a RawValue>,
    /// The capabilities that the client of an `initialize` declares.
    #[serde(borrow, default, deserialize_with = "present")]
    pub capabilities: Option<&'a RawValue>,
}

/// A message that cannot be read, with the error to answer it with.
#[derive(Debug)]
pub struct Malformed {
    /// The id, when it could be read.
    pub id: Option<RequestId>,
    /// The error to answer with.
    pub error: RpcError,
}

/// The deepest nesting that a message may have; far more than any method needs.
const MAX_DEPTH: usize = 64;

/// Tells whether a JSON text nests deeper than `limit`.
///
/// This counts brackets without recursion, so that a peer cannot exhaust the stack of the parser
/// that reads the text afterwards.
pub fn nests_deeper_than(text: &str, limit: usize) -> bool {
    // Most messages have fewer brackets than the limit, and counting them all is quick.
    if text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() <= limit {
        return false;
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    text.bytes().any(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > limit
    })
}

/// Reads one message, which must be UTF-8, no batch, and not nested too deeply.
pub fn read(bytes: &[u8]) -> Result<Message<'_>, Malformed> {
    let malformed = |id, code, message: &str| Malformed { id, error: RpcError::new(code, message) };
    let text = std::str::from_utf8(bytes)
        .map_err(|_| malformed(None, ErrorCode::Parse, "The message is not UTF-8."))?;
    if text.trim_start().starts_with('[') {
        let message = "Batches are not supported; send one message at a time.";
        return Err(malformed(None, ErrorCode::InvalidRequest, message));
    }
    if nests_deeper_than(text, MAX_DEPTH) {
        let message = "The message nests too deeply.";
        return Err(malformed(None, ErrorCode::InvalidRequest, message));
    }
    let envelope: Envelope<'_> =
        serde_json::from_str(text).map_err(|error| match error.classify() {
            Category::Data => malformed(
                None,
                ErrorCode::InvalidRequest,
                "The message is not a JSON-RPC object, or repeats a member.",
            ),
            _ => malformed(None, ErrorCode::Parse, "The message is not JSON."),
        })?;
    let id = envelope.id.map(RequestId::from_raw);
    let invalid =
        |message: &str| malformed(id.clone().flatten(), ErrorCode::InvalidRequest, message);
    if !envelope.is_version_2() {
        return Err(invalid("`jsonrpc` must be \"2.0\"."));
    }
    let Some(method) = envelope.method else {
        return if envelope.result.is_some() || envelope.error.is_some() {
            Ok(Message::Response(Response { id: id.flatten(), result: envelope.result }))
        } else {
            Err(invalid("The message has no `method`."))
        };
    };
    let method = as_text(method).ok_or_else(|| invalid("`method` must be a string."))?;
    if matches!(id, Some(None)) {
        return Err(invalid("`id` must be a string or an integer."));
    }
    let params = read_params(envelope.params)
        .map_err(|error| Malformed { id: id.clone().flatten(), error })?;
    Ok(match id.flatten() {
        Some(id) => Message::Request(Request { id, method, params }),
        None => Message::Notification(Notification { method, params }),
    })
}

fn read_params(raw: Option<&RawValue>) -> Result<Params<'_>, RpcError> {
    let Some(raw) = raw else { return Ok(Params::default()) };
    if !raw.get().starts_with('{') {
        return Err(RpcError::invalid_params("`params` must be an object."));
    }
    serde_json::from_str(raw.get())
        .map_err(|_| RpcError::invalid_params("`params` repeats a member."))
}

/// Reads a parameter that must be a string; it is borrowed unless it has escapes.
pub fn string<'a>(raw: &'a RawValue, name: &str) -> Result<Cow<'a, str>, RpcError> {
    as_text(raw).ok_or_else(|| RpcError::invalid_params(format!("`{name}` must be a string.")))
}

/// Writes a response around a result that is already JSON.
pub fn response(id: &RequestId, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// Writes an error response; an unknown id is left out, never null.
pub fn error_response(id: Option<&RequestId>, error: &RpcError) -> String {
    let error = serde_json::to_string(error).unwrap_or_else(|_| {
        let code = ErrorCode::Internal.number();
        format!(r#"{{"code":{code},"message":"The server could not answer."}}"#)
    });
    match id {
        Some(id) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
        None => format!(r#"{{"jsonrpc":"2.0","error":{error}}}"#),
    }
}

/// Writes a request.
pub fn request(id: &RequestId, method: &str, params: &serde_json::Value) -> String {
    let method = serde_json::Value::from(method);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#)
}

/// Writes a notification.
pub fn notification(method: &str, params: &serde_json::Value) -> String {
    serde_json::json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> ErrorCode {
        read(text.as_bytes()).unwrap_err().error.code
    }

    #[test]
    fn batches_are_one_invalid_message_v_09() {
        assert_eq!(
            code(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#),
            ErrorCode::InvalidRequest
        );
    }

    #[test]
    fn malformed_messages_have_the_right_code_v_10() {
        for text in ["", "{", "nonsense", "{\"jsonrpc\":\"2.0\",}"] {
            assert_eq!(code(text), ErrorCode::Parse, "{text}");
        }
        for text in [
            "1",
            "null",
            r#"{"id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        ] {
            assert_eq!(code(text), ErrorCode::InvalidRequest, "{text}");
        }
        assert!(read(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}").is_err());
        let nested = |open: &str, close: &str| {
            let (open, close) = (open.repeat(100_000), close.repeat(100_000));
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{open}{close}}}}}"#)
        };
        assert_eq!(code(&nested("[", "]")), ErrorCode::InvalidRequest);
        assert_eq!(code(&nested("{\"a\":", "}")), ErrorCode::InvalidRequest);
        let brackets_in_a_string =
            nested("[", "]").replace("\"x\":", "\"x\":\"").replace("]}}", "]\"}}");
        assert!(matches!(read(brackets_in_a_string.as_bytes()), Ok(Message::Request(_))));
    }

    #[test]
    fn duplicate_parameters_are_refused_v_10() {
        let text =
            r#"{"jsonrpc":"2.0","id":1,"method":"skills/get","params":{"uri":"a","uri":"b"}}"#;
        assert_eq!(code(text), ErrorCode::InvalidParams);
    }

    #[test]
    fn ids_are_echoed_and_never_null_srv_108() {
        let Ok(Message::Request(request)) =
            read(br#"{"jsonrpc":"2.0","id":"a\u0062","method":"ping"}"#)
        else {
            panic!("not a request");
        };
        assert_eq!(response(&request.id, "{}"), r#"{"jsonrpc":"2.0","id":"ab","result":{}}"#);
        let error = error_response(None, &RpcError::internal());
        assert!(!error.contains("\"id\""));
    }

    #[test]
    fn a_readable_id_is_echoed_however_wrong_the_rest_is_srv_108() {
        for text in
            [r#"{"jsonrpc":"2.0","id":7,"method":5}"#, r#"{"jsonrpc":2,"id":7,"method":"a"}"#]
        {
            let malformed = read(text.as_bytes()).unwrap_err();
            assert_eq!(malformed.error.code, ErrorCode::InvalidRequest);
            assert_eq!(malformed.id.unwrap().as_json(), "7", "{text}");
        }
    }

    #[test]
    fn responses_are_recognised_v_16() {
        let response = |text: &'static str| match read(text.as_bytes()) {
            Ok(Message::Response(response)) => (response.id, response.result.map(RawValue::get)),
            other => panic!("{other:?} is no response"),
        };
        let id = RequestId::from(1);
        assert_eq!(
            response(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            (Some(id.clone()), Some("{}"))
        );
        assert_eq!(response(r#"{"jsonrpc":"2.0","id":1,"error":{}}"#), (Some(id), None));
        assert_eq!(response(r#"{"jsonrpc":"2.0","error":{}}"#), (None, None));
    }
}
