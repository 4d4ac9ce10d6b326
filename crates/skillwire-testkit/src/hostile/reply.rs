//! The replies of the server, down to the bytes.

use serde_json::{Value, json};
use skillwire_protocol::{Era, ErrorCode};

use tokio::sync::watch;

use super::ReceivedRequest;

/// The reply of a test's rule.
#[derive(Debug, Clone)]
pub enum ScriptedReply {
    /// The answer that the server gives without this rule.
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
    Held(ReplyGate, Box<Self>),
    /// These bytes, then nothing until the gate is open, then the rest of the message.
    Dripped(Vec<u8>, ReplyGate, Vec<u8>),
    /// These bytes (`$ID` becomes the id), then the filler again and again without end.
    Endless(Vec<u8>, Vec<u8>),
    /// These bytes, then the connection ends.
    CutOff(Vec<u8>),
    /// An HTTP status with this body; over pipes the body alone.
    Status(u16, Vec<u8>),
    /// An HTTP status with these headers; over pipes an internal error.
    Headers(u16, Vec<(String, String)>),
    /// No reply at all.
    Never,
}

impl ScriptedReply {
    /// An error whose message does not matter.
    pub fn error(code: i64) -> Self {
        Self::Error { code, message: "As told.".to_owned() }
    }

    /// An error that the protocol defines.
    pub fn known_error(code: ErrorCode) -> Self {
        Self::error(code.number().into())
    }
}

/// Holds a reply back until the test opens the gate; clones are the same gate.
#[derive(Debug, Clone)]
pub struct ReplyGate(watch::Sender<bool>);

impl Default for ReplyGate {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplyGate {
    /// Makes a closed gate.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Lets every reply through, now and later.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    /// Waits until the gate is open.
    pub async fn opened(&self) {
        let mut open = self.0.subscribe();
        // The sender is in `self`, so the wait ends only with an open gate.
        let _ = open.wait_for(|open| *open).await;
    }
}

/// One step of sending a reply.
#[derive(Debug, Clone)]
pub(super) enum SendStep {
    Bytes(Vec<u8>),
    Wait(ReplyGate),
    Repeat(Vec<u8>),
    Forever,
    HangUp,
}

/// The steps in which a reply is sent.
#[derive(Debug)]
pub(super) struct ReplyPlan {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// Messages that come before the reply.
    pub(super) before: Vec<String>,
    /// Gates to wait for before anything is sent.
    pub(super) held: Vec<ReplyGate>,
    pub(super) steps: Vec<SendStep>,
}

impl ReplyPlan {
    /// Plans the reply to a request.
    pub(super) fn of(reply: ScriptedReply, request: &ReceivedRequest) -> Self {
        let id = &request.id;
        let mut plan = Self {
            status: 200,
            headers: Vec::new(),
            before: Vec::new(),
            held: Vec::new(),
            steps: Vec::new(),
        };
        let with_id = |bytes: &[u8]| {
            // Bytes that are not UTF-8 are sent unchanged.
            match std::str::from_utf8(bytes) {
                Ok(text) => text.replace("$ID", id).into_bytes(),
                Err(_) => bytes.to_vec(),
            }
        };
        let internal =
            || error_text(id, ErrorCode::Internal.number().into(), "Pipes have no HTTP status.");
        plan.steps = match reply {
            ScriptedReply::Honest | ScriptedReply::Never => vec![SendStep::Forever],
            ScriptedReply::Result(result) => {
                vec![SendStep::Bytes(result_text(id, &result.to_string()))]
            }
            ScriptedReply::Text(text) => vec![SendStep::Bytes(result_text(id, &text))],
            ScriptedReply::Error { code, message } => {
                // Only modern servers send errors with a status.
                let unknown = ErrorCode::from_number(code) == Some(ErrorCode::MethodNotFound)
                    && request.era == Era::Modern;
                plan.status = if unknown { 404 } else { 200 };
                vec![SendStep::Bytes(error_text(id, code, &message))]
            }
            ScriptedReply::Message(bytes) => vec![SendStep::Bytes(with_id(&bytes))],
            ScriptedReply::After(before, reply) => {
                let mut inner = Self::of(*reply, request);
                inner.before.splice(0..0, before.iter().map(Value::to_string));
                return inner;
            }
            ScriptedReply::Held(gate, reply) => {
                let mut inner = Self::of(*reply, request);
                inner.held.insert(0, gate);
                return inner;
            }
            ScriptedReply::Dripped(first, gate, rest) => {
                vec![
                    SendStep::Bytes(with_id(&first)),
                    SendStep::Wait(gate),
                    SendStep::Bytes(with_id(&rest)),
                ]
            }
            ScriptedReply::Endless(first, filler) => {
                vec![SendStep::Bytes(with_id(&first)), SendStep::Repeat(filler)]
            }
            ScriptedReply::CutOff(bytes) => {
                vec![SendStep::Bytes(with_id(&bytes)), SendStep::HangUp]
            }
            ScriptedReply::Status(status, body) => {
                plan.status = status;
                vec![SendStep::Bytes(with_id(&body))]
            }
            ScriptedReply::Headers(status, headers) => {
                plan.status = status;
                plan.headers = headers;
                vec![SendStep::Bytes(internal())]
            }
        };
        plan
    }

    /// The whole message, when it can be sent in one piece.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        match self.steps.as_slice() {
            [SendStep::Bytes(bytes)] => Some(bytes),
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
