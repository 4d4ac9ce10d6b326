//! What a server sends while it works on a request: progress, and questions for the user.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Number, Value, value::RawValue};
use skillwire_protocol::{
    ErrorCode, RequestId, RpcError,
    message::{error_response, response},
    truncated,
};
use tokio::sync::mpsc;

use crate::client::RawAnswer;

/// The most messages that wait for the caller of one request.
const CAPACITY: usize = 64;

/// A message that a server sends before its answer.
#[derive(Debug)]
pub enum CallMessage {
    /// How far the server has come.
    Progress(ProgressReport),
    /// A question for the user, from a server of the legacy era.
    Question(Question),
}

/// How far a server has come with a request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ProgressReport {
    /// How much is done; it grows with each report.
    pub progress: Number,
    /// How much there is to do, if the server knows.
    #[serde(default)]
    pub total: Option<Number>,
    /// The server's words about it.
    #[serde(default)]
    pub message: Option<String>,
}

/// A question that waits for its answer. Dropping it tells the server that there will be none.
pub struct Question {
    params: Map<String, Value>,
    id: RequestId,
    send: Option<Box<dyn FnOnce(String) + Send>>,
}

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Question {
    /// Returns the parameters, as the server wrote them.
    pub fn params(&self) -> &Map<String, Value> {
        &self.params
    }

    /// Sends the answer.
    pub fn answer(mut self, result: &Value) {
        if let Some(send) = self.send.take() {
            send(response(&self.id, &result.to_string()));
        }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if let Some(send) = self.send.take() {
            send(refused(&self.id, "No user can be asked this question."));
        }
    }
}

fn refused(id: &RequestId, why: &str) -> String {
    error_response(Some(id), &RpcError::new(ErrorCode::InvalidRequest, why))
}

/// An answer that may ask for input first.
#[derive(Debug)]
pub enum CallAnswer {
    /// The result.
    Complete(RawAnswer),
    /// The server wants input, and then the same request again.
    InputRequired(RawAnswer),
}

/// The requests of a connection whose callers take messages before the answer.
#[derive(Debug, Default)]
pub(crate) struct Conversations(Mutex<HashMap<u64, mpsc::Sender<CallMessage>>>);

/// A request whose caller takes messages until this value is dropped.
#[derive(Debug)]
pub(crate) struct OpenConversation<'a> {
    all: &'a Conversations,
    id: u64,
}

impl Drop for OpenConversation<'_> {
    fn drop(&mut self) {
        self.all.0.lock().remove(&self.id);
    }
}

/// Creates the channel for the messages that precede one answer.
pub fn call_messages() -> (mpsc::Sender<CallMessage>, mpsc::Receiver<CallMessage>) {
    mpsc::channel(CAPACITY)
}

impl Conversations {
    pub(crate) fn open(&self, id: u64, caller: mpsc::Sender<CallMessage>) -> OpenConversation<'_> {
        self.0.lock().insert(id, caller);
        OpenConversation { all: self, id }
    }

    /// Delivers a progress notification to the request whose token it has. A caller that does not
    /// keep up misses some.
    pub(crate) fn progress(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Tokened {
            #[serde(rename = "progressToken")]
            token: u64,
        }
        let Some(text) = params.map(RawValue::get).filter(|text| text.starts_with('{')) else {
            return;
        };
        let Ok(Tokened { token }) = serde_json::from_str(text) else { return };
        let Ok(mut report) = serde_json::from_str::<ProgressReport>(text) else { return };
        report.message = report.message.as_deref().map(truncated);
        if let Some(caller) = self.0.lock().get(&token) {
            let _ = caller.try_send(CallMessage::Progress(report));
        }
    }

    /// Delivers a question of a legacy server to the request that it belongs to.
    ///
    /// On a channel that requests share, a question does not say whose it is. It is delivered only
    /// if one request alone is open: a user must never be asked the question of another caller.
    pub(crate) fn ask(
        &self,
        of: Option<u64>,
        id: RequestId,
        params: Option<&RawValue>,
        send: impl FnOnce(String) + Send + 'static,
    ) {
        let params = params.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let question =
            Question { params: params.unwrap_or_default(), id, send: Some(Box::new(send)) };
        let open = self.0.lock();
        let caller = match of {
            Some(of) => open.get(&of),
            None if open.len() == 1 => open.values().next(),
            None => None,
        };
        // A question that cannot be delivered is dropped, which refuses it.
        if let Some(caller) = caller.cloned() {
            drop(open);
            let _ = caller.try_send(CallMessage::Question(question));
        }
    }
}
