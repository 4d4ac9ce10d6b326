//! Forms for the user, and the answers of legacy clients to them.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use skillwire_protocol::{RequestId, RpcError};
use tokio::sync::oneshot;

/// The most open questions of one client.
const MAX_OPEN: usize = 16;

/// The longest answer, in bytes: forms have a few short fields.
const MAX_ANSWER_BYTES: usize = 8 * 1024;

/// A form that a client shows its user.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    message: String,
    schema: Value,
    /// What an answer must agree with besides the form itself.
    occasion: String,
}

impl Form {
    /// Creates a form with a message for the user and an object of flat properties to fill in.
    pub fn new(message: impl Into<String>, properties: &Value, required: &[&str]) -> Self {
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        Self { message: message.into(), schema, occasion: String::new() }
    }

    /// Creates a form from a schema that another server wrote.
    pub fn with_schema(message: impl Into<String>, schema: Value) -> Self {
        Self { message: message.into(), schema, occasion: String::new() }
    }

    /// Binds answers to an occasion, which the user is not shown: an answer that was given on one
    /// occasion does not count on another, even if the form is the same.
    #[must_use]
    pub fn on_occasion(self, occasion: impl Into<String>) -> Self {
        Self { occasion: occasion.into(), ..self }
    }

    /// Returns what an answer must agree with besides the form itself.
    pub(super) fn occasion(&self) -> &str {
        &self.occasion
    }

    /// Returns the message for the user.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the parameters of the request, which are the same in both eras.
    pub(super) fn params(&self) -> Value {
        json!({ "message": self.message, "requestedSchema": self.schema })
    }
}

/// The user's reaction to a form.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicited {
    /// The user filled it in; the values have not been checked.
    Accepted(Map<String, Value>),
    /// The user declined.
    Declined,
    /// The user closed it without a choice.
    Dismissed,
    /// The user was not reached: the client shows no forms, or did not answer in time.
    Unavailable,
}

#[derive(Deserialize)]
struct RawElicited {
    action: String,
    #[serde(default)]
    content: Option<Map<String, Value>>,
}

impl Elicited {
    /// Reads the result that a client sent.
    pub(super) fn read(raw: &RawValue) -> Result<Self, RpcError> {
        let malformed = || {
            RpcError::invalid_params(
                "The answer to a form must be an object with an `action` that is `accept`, \
                 `decline` or `cancel`.",
            )
        };
        let text = raw.get();
        // serde would accept an array as the members in order.
        if text.len() > MAX_ANSWER_BYTES || !text.starts_with('{') {
            return Err(malformed());
        }
        let read: RawElicited = serde_json::from_str(text).map_err(|_| malformed())?;
        match read.action.as_str() {
            "accept" => Ok(Self::Accepted(read.content.unwrap_or_default())),
            "decline" => Ok(Self::Declined),
            "cancel" => Ok(Self::Dismissed),
            _ => Err(malformed()),
        }
    }
}

/// The questions that a legacy client has not answered yet.
#[derive(Debug, Default)]
pub struct Questions {
    next: AtomicU64,
    open: Mutex<HashMap<RequestId, oneshot::Sender<Elicited>>>,
}

impl Questions {
    /// Takes the answer to a question; ignores answers to questions that are not open.
    pub fn answered(&self, id: &RequestId, result: Option<&RawValue>) {
        let Some(asker) = self.lock().remove(id) else { return };
        // If the client reports an error, its user was not reached.
        let answer = result.and_then(|raw| Elicited::read(raw).ok());
        let _ = asker.send(answer.unwrap_or(Elicited::Unavailable));
    }

    /// Opens a question, unless too many are open.
    pub(super) fn open(&self) -> Option<(RequestId, oneshot::Receiver<Elicited>)> {
        let mut open = self.lock();
        if open.len() >= MAX_OPEN {
            return None;
        }
        let id = RequestId::from(self.next.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, receiver) = oneshot::channel();
        open.insert(id.clone(), sender);
        Some((id, receiver))
    }

    /// Closes a question and tells whether it was still open.
    pub(super) fn close(&self, id: &RequestId) -> bool {
        self.lock().remove(id).is_some()
    }

    /// Closes all questions, because their client is gone.
    pub fn abandon(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, oneshot::Sender<Elicited>>> {
        self.open.lock()
    }
}
