//! The results of calls.

use serde_json::{Value, json};
use skillwire_protocol::{ErrorCode, RpcError, method};

use super::questions::Form;

/// The result of a tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolReply {
    /// Blocks of content, in the form of the base protocol.
    pub content: Vec<Value>,
    /// The same content as structured data, for programs.
    pub structured: Option<Value>,
    /// Whether the tool failed in a way that the model should see.
    pub is_error: bool,
    /// The result of another server, a JSON object that is sent instead of the other members.
    pub verbatim: Option<Box<str>>,
}

impl ToolReply {
    /// Creates a result that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        let block = json!({ "type": "text", "text": text.into() });
        Self { content: vec![block], ..Self::default() }
    }

    /// Creates a failure that the model should see.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Adds the content as structured data, for programs.
    #[must_use]
    pub fn structured(self, value: Value) -> Self {
        Self { structured: Some(value), ..self }
    }

    /// Adds a block of content.
    #[must_use]
    pub fn with(mut self, block: Value) -> Self {
        self.content.push(block);
        self
    }
}

/// The result of a prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptReply {
    /// The purpose of the prompt.
    pub description: Option<String>,
    /// Messages, each with a `role` and a `content`.
    pub messages: Vec<Value>,
    /// The result of another server, a JSON object that is sent instead of the other members.
    pub verbatim: Option<Box<str>>,
}

/// The reason why a call has no result.
#[derive(Debug)]
pub struct Interrupt(Kind);

#[derive(Debug)]
pub(crate) enum Kind {
    Failed(RpcError),
    /// The error of another server, which stays an error.
    PassedOn(RpcError),
    InputRequired(InputRequired),
}

/// A question for the user, and what the client must send with the answer.
#[derive(Debug)]
pub(crate) struct InputRequired {
    pub(crate) requests: Value,
    pub(crate) state: String,
}

impl From<RpcError> for Interrupt {
    fn from(error: RpcError) -> Self {
        Self(Kind::Failed(error))
    }
}

impl Interrupt {
    /// Ends a call with the error of another server, which stays an error whatever its code is.
    pub fn passed_on(error: RpcError) -> Self {
        Self(Kind::PassedOn(error))
    }

    /// Returns the error of a call that failed; none if it waits for an answer.
    pub fn error(&self) -> Option<&RpcError> {
        match &self.0 {
            Kind::Failed(error) | Kind::PassedOn(error) => Some(error),
            Kind::InputRequired(_) => None,
        }
    }

    /// Ends a call with questions of another server, by their keys.
    pub(super) fn passing_on(forms: &[(String, Form)], state: String) -> Self {
        let requests = forms.iter().map(|(key, form)| (key.clone(), request(form)));
        let requests = Value::Object(requests.collect());
        Self(Kind::InputRequired(InputRequired { requests, state }))
    }

    /// Ends a call with a question to the user.
    pub(super) fn asking(key: &str, form: &Form, state: String) -> Self {
        let requests = json!({ key: request(form) });
        Self(Kind::InputRequired(InputRequired { requests, state }))
    }

    /// Turns an error about the arguments into a result: a model sees results and can correct its
    /// call, while many clients keep errors of the protocol to themselves.
    pub(crate) fn into_readable(self) -> Result<ToolReply, Self> {
        match self.0 {
            Kind::Failed(error) if error.code == ErrorCode::InvalidParams => {
                Ok(ToolReply::error(error.message))
            }
            kind => Err(Self(kind)),
        }
    }

    pub(crate) fn into_kind(self) -> Kind {
        self.0
    }
}

fn request(form: &Form) -> Value {
    let mut params = form.params();
    params["mode"] = "form".into();
    json!({ "method": method::ELICIT, "params": params })
}
