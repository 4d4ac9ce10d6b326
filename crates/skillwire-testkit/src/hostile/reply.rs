//! What a server sends back, down to the bytes.

use serde_json::{Value, json};
use skillwire_protocol::{error::ErrorCode, version::Era};

use super::{Asked, Gate};

/// One reply.
#[derive(Debug, Clone)]
pub enum Reply {
    /// As if there were no rule.
    Honest,
    /// Exactly this result.
    Result(Value),
    /// Exactly this JSON text as the result, which may repeat keys or nest without end.
    Text(String),
    /// An error.
    Error {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
    },
    /// Exactly these bytes as the whole message; `$ID` in them becomes the request's id.
    Message(Vec<u8>),
    /// These notifications first, then the reply.
    After(Vec<Value>, Box<Self>),
    /// The reply, once the gate is open.
    Held(Gate, Box<Self>),
    /// These bytes, then nothing until the gate is open, then the rest of the message.
    Dripped(Vec<u8>, Gate, Vec<u8>),
    /// These bytes (`$ID` becomes the id), then the filler again and again without end.
    Endless(Vec<u8>, Vec<u8>),
    /// These bytes, then the connection ends.
    CutOff(Vec<u8>),
    /// A status of HTTP with this body; over pipes the body alone.
    Status(u16, Vec<u8>),
    /// A status of HTTP with these headers; over pipes an internal error.
    Headers(u16, Vec<(String, String)>),
    /// No reply at all.
    Never,
}

impl Reply {
    /// An error with a message of no interest.
    pub fn error(code: i64) -> Self {
        Self::Error { code, message: "As told.".to_owned() }
    }

    /// An error that the protocol defines.
    pub fn known_error(code: ErrorCode) -> Self {
        Self::error(code.number().into())
    }
}

/// One step of sending a reply.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Bytes(Vec<u8>),
    Wait(Gate),
    Repeat(Vec<u8>),
    Forever,
    HangUp,
}

/// A reply on its way.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// Messages before the one below.
    pub(super) before: Vec<String>,
    /// Waits before anything is sent.
    pub(super) held: Vec<Gate>,
    pub(super) steps: Vec<Step>,
}

impl Sending {
    /// Works out what a reply to a request is on the wire.
    pub(super) fn of(reply: Reply, asked: &Asked) -> Self {
        let id = &asked.id;
        let mut sending = Self {
            status: 200,
            headers: Vec::new(),
            before: Vec::new(),
            held: Vec::new(),
            steps: Vec::new(),
        };
        let with_id = |bytes: &[u8]| {
            // Bytes that are no text stay as they are.
            match std::str::from_utf8(bytes) {
                Ok(text) => text.replace("$ID", id).into_bytes(),
                Err(_) => bytes.to_vec(),
            }
        };
        let internal =
            || error_text(id, ErrorCode::Internal.number().into(), "A status of HTTP, over pipes.");
        sending.steps = match reply {
            Reply::Honest | Reply::Never => vec![Step::Forever],
            Reply::Result(result) => vec![Step::Bytes(result_text(id, &result.to_string()))],
            Reply::Text(text) => vec![Step::Bytes(result_text(id, &text))],
            Reply::Error { code, message } => {
                // Only modern servers send errors with a status.
                let unknown = ErrorCode::from_number(code) == Some(ErrorCode::MethodNotFound)
                    && asked.era == Era::Modern;
                sending.status = if unknown { 404 } else { 200 };
                vec![Step::Bytes(error_text(id, code, &message))]
            }
            Reply::Message(bytes) => vec![Step::Bytes(with_id(&bytes))],
            Reply::After(before, reply) => {
                let mut inner = Self::of(*reply, asked);
                inner.before.splice(0..0, before.iter().map(Value::to_string));
                return inner;
            }
            Reply::Held(gate, reply) => {
                let mut inner = Self::of(*reply, asked);
                inner.held.insert(0, gate);
                return inner;
            }
            Reply::Dripped(first, gate, rest) => {
                vec![Step::Bytes(with_id(&first)), Step::Wait(gate), Step::Bytes(with_id(&rest))]
            }
            Reply::Endless(first, filler) => {
                vec![Step::Bytes(with_id(&first)), Step::Repeat(filler)]
            }
            Reply::CutOff(bytes) => vec![Step::Bytes(with_id(&bytes)), Step::HangUp],
            Reply::Status(status, body) => {
                sending.status = status;
                vec![Step::Bytes(with_id(&body))]
            }
            Reply::Headers(status, headers) => {
                sending.status = status;
                sending.headers = headers;
                vec![Step::Bytes(internal())]
            }
        };
        sending
    }

    /// The whole message, when it can be sent in one piece.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        match self.steps.as_slice() {
            [Step::Bytes(bytes)] => Some(bytes),
            _ => None,
        }
    }
}

fn result_text(id: &str, result: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes()
}

pub(super) fn error_text(id: &str, code: i64, message: &str) -> Vec<u8> {
    let error = json!({ "code": code, "message": message });
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}
