//! Passes one call on: its arguments, its progress, its questions and its result.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skillwire_client::{CallAnswer, CallMessage, CallTerms, ProgressReport, Question};
use skillwire_engine::offer::{Client, Interrupt, Invocation};
use skillwire_protocol::{Era, ErrorCode, RpcError, method};
use tokio::time::{Duration, Instant, sleep_until};

use super::{
    offer::OfferState,
    parked::ParkedCall,
    questions::{Asker, NotPassedOn, WantedInput, answer_text},
    running::{CallFailure, RunningCall},
};

/// How often one call may ask for input.
const MAX_ROUNDS: usize = 8;

/// The key of a legacy server's question, which has none of its own.
const QUESTION: &str = "question";

/// What a client keeps for a call until its user has answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptState {
    /// A modern server gets the request again, with this state of its own.
    Again(Option<String>),
    /// A legacy server waits in this call.
    Parked(u64),
}

/// The next thing that happens in a call.
enum CallEvent {
    Answer(CallAnswer),
    Question(Question),
}

/// One call of a client, on its way to the server.
pub(super) struct PassedOnCall {
    pub(super) state: Arc<OfferState>,
    pub(super) method: &'static str,
    /// The server's own name of the tool or prompt, or its URI of the resource.
    pub(super) own: String,
    pub(super) invocation: Invocation,
}

impl PassedOnCall {
    /// Returns the server's result as it was written.
    pub(super) async fn run(self) -> Result<Box<str>, Interrupt> {
        let mut call = self.begin()?;
        for _ in 0..MAX_ROUNDS {
            match self.next(&mut call).await? {
                CallEvent::Answer(CallAnswer::Complete(answer)) => return Ok(answer.text().into()),
                CallEvent::Answer(CallAnswer::InputRequired(answer)) => {
                    let asker = self.asker();
                    let wanted =
                        WantedInput::read(&answer, asker).map_err(|why| self.refuse(&why))?;
                    call = self.start(self.answered(wanted).await?);
                }
                CallEvent::Question(question) => {
                    // A form that cannot be passed on is dropped, which refuses it.
                    let Ok(form) = self.asker().form(question.params()) else { continue };
                    let client = self.client();
                    if client.era() == Era::Legacy || !client.can_ask() {
                        let answer = client.ask(QUESTION, &form).await?;
                        question.answer(&answer_text(Some(&answer)));
                        continue;
                    }
                    let number = self.state.parked.park(ParkedCall { call, question });
                    let kept = KeptState::Parked(number);
                    return Err(client.interrupt(&[(QUESTION.to_owned(), form)], written(&kept)));
                }
            }
        }
        Err(self.refuse(&NotPassedOn::TooMuch))
    }

    fn client(&self) -> &Client {
        &self.invocation.client
    }

    /// How long the server may say nothing.
    fn silence(&self) -> Duration {
        let limits = &self.state.limits;
        if self.method == method::RESOURCES_READ { limits.read_time } else { limits.silence }
    }

    fn asker(&self) -> Asker<'_> {
        Asker(self.state.prefix.is_shared().then(|| self.state.relay.label()))
    }

    /// Sends the request to the server, or goes on with one that waited for an answer.
    fn begin(&self) -> Result<RunningCall, Interrupt> {
        let Some(carried) = self.client().carried() else { return Ok(self.start(Map::new())) };
        let over = || {
            let text = "The question is no longer open; call again without `requestState`.";
            Interrupt::passed_on(RpcError::invalid_params(text))
        };
        match serde_json::from_str(&carried.state).map_err(|_| over())? {
            KeptState::Again(state) => {
                let answers = carried.answers.iter();
                let answers = answers.map(|(key, answer)| (key.clone(), answer_text(Some(answer))));
                Ok(self.start(input(answers.collect(), state)))
            }
            KeptState::Parked(number) => {
                let ParkedCall { call, question } =
                    self.state.parked.take(number).ok_or_else(over)?;
                question.answer(&answer_text(carried.answers.get(QUESTION)));
                Ok(call)
            }
        }
    }

    /// Sends the request with these members besides its name and arguments.
    fn start(&self, mut params: Map<String, Value>) -> RunningCall {
        let Invocation { arguments, client, .. } = &self.invocation;
        if self.method == method::RESOURCES_READ {
            params.insert("uri".to_owned(), self.own.clone().into());
        } else {
            params.insert("name".to_owned(), self.own.clone().into());
            params.insert("arguments".to_owned(), arguments.clone().into());
        }
        let progress = client.progress().is_wanted();
        let terms = CallTerms::default().with_progress(progress).with_forms(client.can_ask());
        RunningCall::start(&self.state, self.method, params, terms)
    }

    /// Waits for the answer or a question, and passes progress on meanwhile.
    async fn next(&self, call: &mut RunningCall) -> Result<CallEvent, Interrupt> {
        let silence = self.silence();
        let mut silent_until = Instant::now() + silence;
        loop {
            tokio::select! {
                biased;
                Some(message) = call.messages.recv() => match message {
                    CallMessage::Progress(report) => {
                        silent_until = Instant::now() + silence;
                        let ProgressReport { progress, total, message } = report;
                        let client = self.client().progress();
                        client.pass_on(&progress, total.as_ref(), message.as_deref());
                    }
                    CallMessage::Question(question) => return Ok(CallEvent::Question(question)),
                },
                answer = &mut call.answer => {
                    let answer = answer.unwrap_or(Err(CallFailure::GivenUp));
                    return answer.map(CallEvent::Answer).map_err(|failure| {
                        Interrupt::passed_on(failure.to_error(&self.state))
                    });
                }
                () = sleep_until(silent_until) => {
                    let late = skillwire_client::ClientError::Timeout(silence);
                    let late = CallFailure::Failed(late);
                    return Err(Interrupt::passed_on(late.to_error(&self.state)));
                }
            }
        }
    }

    /// Has the user answer what a modern server wants. A modern client ends its request for that.
    async fn answered(&self, wanted: WantedInput) -> Result<Map<String, Value>, Interrupt> {
        let WantedInput { forms, state } = wanted;
        let client = self.client();
        if client.era() == Era::Modern && client.can_ask() && !forms.is_empty() {
            return Err(client.interrupt(&forms, written(&KeptState::Again(state))));
        }
        let mut answers = Map::new();
        for (key, form) in forms {
            let answer = client.ask(&key, &form).await?;
            answers.insert(key, answer_text(Some(&answer)));
        }
        Ok(input(answers, state))
    }

    fn refuse(&self, why: &NotPassedOn) -> Interrupt {
        tracing::warn!(upstream = %self.state.relay.label(), "{why}");
        Interrupt::passed_on(RpcError::new(ErrorCode::Internal, why.to_string()))
    }
}

fn written(kept: &KeptState) -> String {
    serde_json::to_string(kept).unwrap_or_default()
}

/// Makes the members that go with a request that is sent again.
fn input(answers: Map<String, Value>, state: Option<String>) -> Map<String, Value> {
    let mut params = Map::from_iter([("inputResponses".to_owned(), answers.into())]);
    params.extend(state.map(|state| ("requestState".to_owned(), state.into())));
    params
}
