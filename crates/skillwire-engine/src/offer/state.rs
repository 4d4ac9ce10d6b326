//! The state that a modern client carries for the server between a question and its answer.
//!
//! The client sends its request again with the user's answers and with the state, which says what
//! was asked. Trust boundary: the client could change the state, so it is sealed. It opens only for
//! the same caller, tool and arguments, for a short time, and in this process. An answer counts
//! only for the exact form it was given to, so what the user agreed to is what they were shown.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use skillwire_catalog::CursorSeal;
use skillwire_core::Digest;
use skillwire_protocol::RpcError;

use super::questions::{Elicited, Form};

/// How long the user may take to answer.
const LIFE: Duration = Duration::from_mins(30);

/// The most answers that one request may collect.
const MAX_ANSWERS: usize = 8;

/// Seals the state of requests.
#[derive(Debug, Clone)]
pub(crate) struct StateSeal {
    seal: CursorSeal,
    /// The start of the engine; counting from here makes changes of the system clock harmless.
    start: Instant,
    /// The caller, method, name and arguments of the request.
    scope: [String; 4],
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct SealedState {
    /// When the state expires, in seconds since the start.
    until: u64,
    /// The key of the last question, and the digest of its form.
    asked: (String, String),
    /// The earlier answers: key, digest of the form, and answer.
    answered: Vec<(String, String, Box<RawValue>)>,
    /// What another server wants back with the answers, and the keys of its questions.
    #[serde(default)]
    carried: Option<(String, Vec<String>)>,
}

/// The answers that came with a request.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// Key, digest of the form, and answer.
    known: Vec<(String, String, Box<RawValue>)>,
    carried: Option<Carried>,
}

/// What a call that is passed on kept between a question of its server and the answer.
#[derive(Debug, Clone)]
pub struct Carried {
    /// What the call kept.
    pub state: String,
    /// The answers by the keys of the questions; questions without an answer are left out.
    pub answers: BTreeMap<String, Elicited>,
}

impl StateSeal {
    pub(crate) fn new(seal: CursorSeal, start: Instant, scope: [&str; 4]) -> Self {
        Self { seal, start, scope: scope.map(str::to_owned) }
    }

    /// Reads the answers of a request that is sent again.
    ///
    /// A state that was not sealed here for this request is refused. One that has expired counts as
    /// absent, so the user is asked again.
    pub(crate) fn open(
        &self,
        state: Option<&str>,
        responses: Option<&RawValue>,
    ) -> Result<Answers, RpcError> {
        let Some(state) = state else { return Ok(Answers::default()) };
        let refused = || {
            RpcError::invalid_params(
                "`params.requestState` was not made for this request; send it without one.",
            )
        };
        let text = self.seal.open(&self.scope(), state).map_err(|_| refused())?;
        let state: SealedState = serde_json::from_str(&text).map_err(|_| refused())?;
        if self.start.elapsed().as_secs() >= state.until {
            return Ok(Answers::default());
        }
        if let Some((carried, keys)) = state.carried {
            let mut answers = BTreeMap::new();
            for key in keys {
                if let Some(answer) = response(responses, &key)? {
                    answers.insert(key, Elicited::read(&answer)?);
                }
            }
            let carried = Some(Carried { state: carried, answers });
            return Ok(Answers { known: Vec::new(), carried });
        }
        let mut known = state.answered;
        let (key, digest) = state.asked;
        if let Some(answer) = response(responses, &key)? {
            // A malformed answer is the client's mistake, not the model's: it ends the request here.
            Elicited::read(&answer)?;
            known.push((key, digest, answer));
        }
        Ok(Answers { known, carried: None })
    }

    /// Seals the state that goes with a question.
    pub(super) fn seal(&self, answers: &Answers, key: &str, form: &Form) -> String {
        let state = SealedState {
            until: (self.start.elapsed() + LIFE).as_secs(),
            asked: (key.to_owned(), digest(form)),
            answered: answers.known.iter().take(MAX_ANSWERS).cloned().collect(),
            carried: None,
        };
        self.sealed(&state)
    }

    /// Seals what a call that is passed on keeps until its questions are answered.
    pub(super) fn carry(&self, carried: String, keys: Vec<String>) -> String {
        let until = (self.start.elapsed() + LIFE).as_secs();
        let carried = Some((carried, keys));
        self.sealed(&SealedState { until, carried, ..SealedState::default() })
    }

    fn sealed(&self, state: &SealedState) -> String {
        self.seal.seal(&self.scope(), &serde_json::to_string(state).unwrap_or_default())
    }

    fn scope(&self) -> [&str; 5] {
        let [caller, method, name, arguments] = &self.scope;
        ["requestState", caller, method, name, arguments]
    }
}

impl Answers {
    /// Returns what a call that is passed on kept.
    pub(super) fn carried(&self) -> Option<&Carried> {
        self.carried.as_ref()
    }

    /// Returns the answer to a question, if it was given to this exact form.
    pub(super) fn to(&self, key: &str, form: &Form) -> Result<Option<Elicited>, RpcError> {
        let question = digest(form);
        let found = self.known.iter().find(|(known, of, _)| known == key && *of == question);
        found.map(|(_, _, answer)| Elicited::read(answer)).transpose()
    }
}

fn digest(form: &Form) -> String {
    let text = format!("{} {}", form.params(), form.occasion());
    Digest::of(text.as_bytes()).to_string()
}

/// Returns the client's response under a key, ignoring all others.
fn response(responses: Option<&RawValue>, key: &str) -> Result<Option<Box<RawValue>>, RpcError> {
    let Some(raw) = responses else { return Ok(None) };
    let mut all: BTreeMap<String, Box<RawValue>> = serde_json::from_str(raw.get())
        .map_err(|_| RpcError::invalid_params("`params.inputResponses` must be an object."))?;
    Ok(all.remove(key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seal(caller: &str) -> StateSeal {
        let scope = [caller, "tools/call", "ship", "sha256:0"];
        StateSeal::new(CursorSeal::new([5; 32]), Instant::now(), scope)
    }

    fn answers(state: &str, caller: &str) -> Result<Option<Elicited>, RpcError> {
        let responses = RawValue::from_string(json!({ "k": { "action": "decline" } }).to_string());
        let responses = responses.expect("it is JSON");
        seal(caller).open(Some(state), Some(&responses))?.to("k", &form())
    }

    fn form() -> Form {
        Form::new("Sure?", &json!({}), &[])
    }

    #[test]
    fn an_answer_that_comes_too_late_is_none_and_the_user_is_asked_again() {
        let fresh = seal("alice").seal(&Answers::default(), "k", &form());
        assert_eq!(answers(&fresh, "alice").unwrap(), Some(Elicited::Declined));
        let late = seal("alice");
        let text = serde_json::to_string(&SealedState {
            asked: ("k".to_owned(), digest(&form())),
            ..SealedState::default()
        });
        let state = late.seal.seal(&late.scope(), &text.unwrap());
        assert_eq!(answers(&state, "alice").unwrap(), None);
    }

    #[test]
    fn an_answer_of_another_occasion_does_not_count_sec_14() {
        let state = seal("alice").seal(&Answers::default(), "k", &form());
        let responses = RawValue::from_string(json!({ "k": { "action": "decline" } }).to_string());
        let answers = seal("alice").open(Some(&state), Some(&responses.unwrap())).unwrap();
        assert_eq!(answers.to("k", &form()).unwrap(), Some(Elicited::Declined));
        assert_eq!(answers.to("k", &form().on_occasion("1")).unwrap(), None);
    }

    #[test]
    fn a_state_of_another_caller_or_with_another_bit_is_refused() {
        let state = seal("alice").seal(&Answers::default(), "k", &form());
        assert!(answers(&state, "bob").is_err());
        assert!(answers(&state[1..], "alice").is_err());
        assert!(answers("", "alice").is_err());
    }
}
