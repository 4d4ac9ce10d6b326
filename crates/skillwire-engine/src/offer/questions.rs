//! Forms for the user, and the answers of legacy clients to them.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use skillwire_protocol::{RequestId, RpcError};
use tokio::sync::oneshot;

/// Questions one client may be looking at; more would not be read.
const MAX_OPEN: usize = 16;

/// The longest answer, in bytes: forms have a few short fields.
const MAX_ANSWER_BYTES: usize = 8 * 1024;

/// A form that a client shows its user.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    message: String,
    schema: Value,
}

impl Form {
    /// Makes a form: what the user should read, and an object of flat properties to fill in.
    pub fn new(message: impl Into<String>, properties: &Value, required: &[&str]) -> Self {
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        Self { message: message.into(), schema }
    }

    /// What the user reads.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The parameters of the request, which are the same on both eras.
    pub(super) fn params(&self) -> Value {
        json!({ "message": self.message, "requestedSchema": self.schema })
    }
}

/// What the user did with a form.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicited {
    /// Filled it in; nothing about the values was checked.
    Accepted(Map<String, Value>),
    /// Said no.
    Declined,
    /// Closed it without a choice.
    Dismissed,
    /// Was not reached: the client shows no forms, or did not answer in time.
    Unavailable,
}

#[derive(Deserialize)]
struct RawElicited {
    action: String,
    #[serde(default)]
    content: Option<Map<String, Value>>,
}

impl Elicited {
    /// Reads the result a client sent.
    pub(super) fn read(raw: &RawValue) -> Result<Self, RpcError> {
        let malformed = || {
            RpcError::invalid_params(
                "The answer to a form must be an object with an `action` that is `accept`, \
                 `decline` or `cancel`.",
            )
        };
        let text = raw.get();
        // An array would be taken for the members in their order.
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

/// What a legacy client was asked and has not answered.
#[derive(Debug, Default)]
pub struct Questions {
    next: AtomicU64,
    open: Mutex<HashMap<RequestId, oneshot::Sender<Elicited>>>,
}

impl Questions {
    /// Takes the answer to a question; what was never asked, or is answered again, is nothing.
    pub fn answered(&self, id: &RequestId, result: Option<&RawValue>) {
        let Some(asker) = self.lock().remove(id) else { return };
        // A client that fails to ask its user has not reached them.
        let answer = result.and_then(|raw| Elicited::read(raw).ok());
        let _ = asker.send(answer.unwrap_or(Elicited::Unavailable));
    }

    /// Makes room for a question, unless there are too many.
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

    /// Forgets a question; tells whether it was still open.
    pub(super) fn close(&self, id: &RequestId) -> bool {
        self.lock().remove(id).is_some()
    }

    /// Gives up all questions, because their client is gone.
    pub fn abandon(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, oneshot::Sender<Elicited>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
