//! The way back to a client while one of its requests is under way.

use std::sync::Arc;

use serde_json::json;
use skillwire_protocol::{ClientCapabilities, message, method};
use tokio::{
    sync::mpsc,
    time::{Duration, timeout},
};

use super::questions::{Elicited, Form, Questions};
use crate::payload::OutgoingMessage;

/// How long a user may look at a form.
const PATIENCE: Duration = Duration::from_mins(10);

/// What a transport knows about the client of a request.
#[derive(Debug, Clone, Default)]
pub struct Link {
    /// Where messages go that are not the answer.
    pub messages: Option<mpsc::Sender<OutgoingMessage>>,
    /// The legacy session the request belongs to.
    pub session: Option<LegacyLink>,
}

/// What a transport knows about a legacy client.
#[derive(Debug, Clone)]
pub struct LegacyLink {
    /// The session's id.
    pub id: Arc<str>,
    /// What the client declared when it opened the session.
    pub capabilities: ClientCapabilities,
    /// What the client was asked and has not answered.
    pub questions: Arc<Questions>,
}

impl Link {
    /// A link on which nothing but the answer can be sent.
    pub fn none() -> Self {
        Self::default()
    }

    /// Asks a legacy client to show its user a form.
    pub(super) async fn ask(&self, form: &Form) -> Elicited {
        let (Some(messages), Some(session)) = (&self.messages, &self.session) else {
            return Elicited::Unavailable;
        };
        let Some((id, answer)) = session.questions.open() else { return Elicited::Unavailable };
        // When this future is dropped, also because the call was cancelled, the client closes the form.
        let _open = Open { id: id.clone(), link: self };
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

/// A question that is closed when the call stops waiting for its answer.
struct Open<'a> {
    id: skillwire_protocol::RequestId,
    link: &'a Link,
}

impl Drop for Open<'_> {
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
