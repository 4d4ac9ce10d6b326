//! Questions of a server to the user of the client that calls it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use skillwire_client::RawAnswer;
use skillwire_engine::offer::{Elicited, Form};
use skillwire_protocol::method;
use skillwire_trust::ServerLabel;

/// The most questions of one answer.
const MAX_QUESTIONS: usize = 8;

/// The longest question, and the longest state that a server gives a client to keep, in bytes.
const MAX_BYTES: usize = 32 * 1024;

/// What a modern server wants before it answers.
#[derive(Debug)]
pub(super) struct WantedInput {
    /// The forms by their keys.
    pub(super) forms: Vec<(String, Form)>,
    /// What the server wants back.
    pub(super) state: Option<String>,
}

/// The reason why a question is not passed on, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotPassedOn {
    #[error("The server asks for `{0}`, which is not passed on.")]
    Kind(String),
    #[error("The server asks more than is passed on.")]
    TooMuch,
    #[error("The server asks a question that cannot be read.")]
    Malformed,
}

#[derive(Deserialize)]
struct RawInput {
    #[serde(rename = "inputRequests", default)]
    requests: BTreeMap<String, RawRequest>,
    #[serde(rename = "requestState", default)]
    state: Option<String>,
}

#[derive(Deserialize)]
struct RawRequest {
    method: String,
    #[serde(default)]
    params: Map<String, Value>,
}

impl WantedInput {
    /// Reads what a server wants. Everything but forms is refused: a gateway has no model and no
    /// folders of its own to offer.
    pub(super) fn read(answer: &RawAnswer, asker: Asker<'_>) -> Result<Self, NotPassedOn> {
        let raw: RawInput = answer.read().map_err(|_| NotPassedOn::Malformed)?;
        let long_state = raw.state.as_ref().is_some_and(|state| state.len() > MAX_BYTES);
        if raw.requests.len() > MAX_QUESTIONS || long_state {
            return Err(NotPassedOn::TooMuch);
        }
        if raw.requests.is_empty() && raw.state.is_none() {
            return Err(NotPassedOn::Malformed);
        }
        let forms = raw.requests.into_iter().map(|(key, request)| {
            if request.method != method::ELICIT {
                let shown = skillwire_protocol::truncated(&request.method);
                return Err(NotPassedOn::Kind(shown));
            }
            Ok((key, asker.form(&request.params)?))
        });
        Ok(Self { forms: forms.collect::<Result<_, _>>()?, state: raw.state })
    }
}

/// The server that asks, if the user has to be told which one it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asker<'a>(pub(super) Option<&'a ServerLabel>);

impl Asker<'_> {
    /// Makes the form that the user is shown. Where several servers share a mount, it says which of
    /// them asks, as the client knows only this server.
    pub(super) fn form(self, params: &Map<String, Value>) -> Result<Form, NotPassedOn> {
        match params.get("mode").map(Value::as_str) {
            None | Some(Some("form")) => {}
            Some(_) => return Err(NotPassedOn::Kind("an address to open".to_owned())),
        }
        let message = params.get("message").and_then(Value::as_str);
        let message = message.ok_or(NotPassedOn::Malformed)?;
        let schema = params.get("requestedSchema").filter(|schema| schema.is_object());
        let schema = schema.ok_or(NotPassedOn::Malformed)?;
        if message.len() + schema.to_string().len() > MAX_BYTES {
            return Err(NotPassedOn::TooMuch);
        }
        let message = match self.0 {
            Some(label) => format!("The server `{label}` asks: {message}"),
            None => message.to_owned(),
        };
        Ok(Form::with_schema(message, schema.clone()))
    }
}

/// Writes the user's answer for the server. A user who was not reached made no choice.
pub(super) fn answer_text(answer: Option<&Elicited>) -> Value {
    match answer {
        Some(Elicited::Accepted(content)) => json!({ "action": "accept", "content": content }),
        Some(Elicited::Declined) => json!({ "action": "decline" }),
        Some(Elicited::Dismissed | Elicited::Unavailable) | None => json!({ "action": "cancel" }),
    }
}
