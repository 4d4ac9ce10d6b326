//! The client of a running call.

use skillwire_protocol::Era;

use super::{
    link::Link,
    progress::Progress,
    questions::{Elicited, Form},
    reply::Interrupt,
    state::{Answers, Carried, StateSeal},
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

    /// Ends a call that is passed on with the questions of its server. If the client sends the
    /// request again, [`Self::carried`] returns `state` and the answers.
    ///
    /// Only the modern era can end a call this way; a legacy client is [asked](Self::ask).
    pub fn interrupt(&self, forms: &[(String, Form)], state: String) -> Interrupt {
        let keys = forms.iter().map(|(key, _)| key.clone()).collect();
        Interrupt::passing_on(forms, self.asked.seal.carry(state, keys))
    }

    /// Returns what an earlier [`Self::interrupt`] of the same request kept, with the answers.
    pub fn carried(&self) -> Option<&Carried> {
        self.asked.answers.carried()
    }

    /// Returns the progress of the call, for reports to the client.
    pub fn progress(&self) -> &Progress {
        &self.asked.progress
    }
}
