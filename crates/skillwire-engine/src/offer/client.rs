//! The client of a running call.

use skillwire_protocol::Era;

use super::{
    link::Link,
    progress::Progress,
    questions::{Elicited, Form},
    reply::Interrupt,
    state::{Answers, StateSeal},
};
use crate::caller::Caller;

/// Everything that a request says about its sender.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) caller: Caller,
    pub(crate) era: Era,
    /// Whether the client can show its user a form.
    pub(crate) forms: bool,
    pub(crate) progress: Progress,
    pub(crate) link: Link,
    pub(crate) answers: Answers,
    pub(crate) seal: StateSeal,
}

/// The client of a call: who calls, how to report progress, and how to ask the user.
#[derive(Debug)]
pub struct Client {
    asked: Asked,
}

impl Client {
    pub(crate) fn new(asked: Asked) -> Self {
        Self { asked }
    }

    /// Returns the caller.
    pub fn caller(&self) -> &Caller {
        &self.asked.caller
    }

    /// Returns the era of the request.
    pub fn era(&self) -> Era {
        self.asked.era
    }

    /// Returns the legacy session of the request; modern requests have none.
    pub fn session(&self) -> Option<&str> {
        self.asked.link.session.as_ref().map(|session| &*session.id)
    }

    /// Tells whether the client can show its user a form.
    pub fn can_ask(&self) -> bool {
        self.asked.forms
    }

    /// Tells whether the answer to a form came with the request, so that asking does not interrupt
    /// the call.
    pub fn has_answer(&self, key: &str, form: &Form) -> bool {
        self.era() == Era::Modern && self.asked.answers.to(key, form).is_ok_and(|it| it.is_some())
    }

    /// Shows the user a form and waits for the answer.
    ///
    /// In the modern era the call is interrupted: this returns an error that the caller must pass
    /// on. The client sends the request again with the answer, and the call runs again from its
    /// beginning. The same form under the same key then has its answer. If the form differs,
    /// because its subject has changed meanwhile, the user is asked again.
    pub async fn ask(&self, key: &str, form: &Form) -> Result<Elicited, Interrupt> {
        if !self.can_ask() {
            return Ok(Elicited::Unavailable);
        }
        if self.era() == Era::Legacy {
            return Ok(self.asked.link.ask(form).await);
        }
        if let Some(answer) = self.asked.answers.to(key, form)? {
            return Ok(answer);
        }
        let state = self.asked.seal.seal(&self.asked.answers, key, form);
        Err(Interrupt::asking(key, form, state))
    }

    /// Returns the progress of the call, for reports to the client.
    pub fn progress(&self) -> &Progress {
        &self.asked.progress
    }
}
