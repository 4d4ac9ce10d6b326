//! The connection back to a client while one of its requests is running.

use std::sync::Arc;

use serde_json::json;
use skillwire_protocol::{ClientCapabilities, message, method};
use tokio::{
    sync::mpsc,
    time::{Duration, timeout},
};

use super::questions::{Elicited, Form, Questions};
use crate::payload::OutgoingMessage;

/// How long the server waits for a user to answer a form.
const PATIENCE: Duration = Duration::from_mins(10);

/// The means by which a transport reaches the client of a request.
#[derive(Debug, Clone, Default)]
pub struct Link {
    /// The channel for messages that precede the answer.
    pub messages: Option<mpsc::Sender<OutgoingMessage>>,
    /// The legacy session the request belongs to.
    pub session: Option<LegacyLink>,
}

/// The legacy session of a client, as its transport knows it.
#[derive(Debug, Clone)]
pub struct LegacyLink {
    /// The session's id.
    pub id: Arc<str>,
    /// The capabilities that the client declared when it opened the session.
    pub capabilities: ClientCapabilities,
    /// The questions that the client has not answered yet.
    pub questions: Arc<Questions>,
}

impl Link {
    /// Creates a link over which only the answer can be sent.
    pub fn none() -> Self {
        Self::default()
    }

    /// Asks a legacy client to show its user a form.
    pub(super) async fn ask(&self, form: &Form) -> Elicited {
        let (Some(messages), Some(session)) = (&self.messages, &self.session) else {
            return Elicited::Unavailable;
        };
        let Some((id, answer)) = session.questions.open() else { return Elicited::Unavailable };
        // Dropping this closes the form on the client, also when the call is cancelled.
        let _open = OpenQuestion { id: id.clone(), link: self };
        let request = message::request(&id, method::ELICIT, &form.params());
        if messages.send(request.into()).await.is_err() {
            return Elicited::Unavailable;
        }
        match timeout(PATIENCE, answer).await {
            Ok(Ok(elicited)) => elicited,
            Ok(Err(_)) | Err(_) => Elicited::Unavailable,
        }
    }
}

/// A question that is closed when the call no longer waits for its answer.
struct OpenQuestion<'a> {
    id: skillwire_protocol::RequestId,
    link: &'a Link,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let (Some(messages), Some(session)) = (&self.link.messages, &self.link.session) else {
            return;
        };
        if session.questions.close(&self.id) {
            let id: serde_json::Value = serde_json::from_str(self.id.as_json()).unwrap_or_default();
            let params = json!({ "requestId": id, "reason": "The question is closed." });
            let _ = messages.try_send(message::notification(method::CANCELLED, &params).into());
        }
    }
}
