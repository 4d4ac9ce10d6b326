//! The client of a call that is under way.

use skillwire_protocol::Era;

use super::{
    link::Link,
    progress::Progress,
    questions::{Elicited, Form},
    reply::Interrupt,
    state::{Answers, StateSeal},
};
use crate::caller::Caller;

/// Everything a request says about who sent it.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) caller: Caller,
    pub(crate) era: Era,
    /// Whether its user can be shown a form.
    pub(crate) forms: bool,
    pub(crate) progress: Progress,
    pub(crate) link: Link,
    pub(crate) answers: Answers,
    pub(crate) seal: StateSeal,
}

/// Who asks, how to tell of progress, and how to ask the user.
#[derive(Debug)]
pub struct Client {
    asked: Asked,
}

impl Client {
    pub(crate) fn new(asked: Asked) -> Self {
        Self { asked }
    }

    /// Who is asking.
    pub fn caller(&self) -> &Caller {
        &self.asked.caller
    }

    /// The era of the request.
    pub fn era(&self) -> Era {
        self.asked.era
    }

    /// The legacy session of the request; modern requests stand alone.
    pub fn session(&self) -> Option<&str> {
        self.asked.link.session.as_ref().map(|session| &*session.id)
    }

    /// Tells whether the user can be shown a form.
    pub fn can_ask(&self) -> bool {
        self.asked.forms
    }

    /// Tells whether the answer to a form came with the request, so that asking does not interrupt the call.
    pub fn has_answer(&self, key: &str, form: &Form) -> bool {
        self.era() == Era::Modern && self.asked.answers.to(key, form).is_ok_and(|it| it.is_some())
    }

    /// Shows the user a form and waits for what they do with it.
    ///
    /// On the modern era the call is interrupted, which the error says and which must be passed on;
    /// the client sends the request again with the answer, and the call runs again from its
    /// beginning. The same form under the same key then has its answer; another form, because what
    /// it is about has changed meanwhile, is asked anew.
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

    /// The way to tell the client how far the call has come.
    pub fn progress(&self) -> &Progress {
        &self.asked.progress
    }
}
