//! Shared helpers of the host's tests: a scripted user, a manual clock, and hosts.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use futures_util::future::BoxFuture;
use skillwire_client::Endpoint;
use skillwire_core::SkillUri;
use skillwire_host::{Host, HostBuilder, Window};
use skillwire_testkit::HostileServer;
use skillwire_trust::{
    Answer, ApprovedSkill, Audit, Clock, Event, Grants, Handle, ListedSkill, Prompter, Question,
    Refusal, ServerLabel, StoreError,
};

pub(crate) fn label(text: &str) -> ServerLabel {
    ServerLabel::parse(text).unwrap()
}

pub(crate) fn skill_uri(text: &str) -> SkillUri {
    SkillUri::parse(text).unwrap()
}

/// The pipes of a server, as an endpoint.
pub(crate) fn endpoint(server: &HostileServer) -> Endpoint {
    let (input, output) = server.pipes();
    Endpoint::Pipes { input: Box::new(input), output: Box::new(output) }
}

/// A host with one server, `acme`, and defaults for everything else.
pub(crate) fn host(server: &HostileServer) -> Host {
    host_from(Host::builder(), server)
}

pub(crate) fn host_from(builder: HostBuilder, server: &HostileServer) -> Host {
    let host = builder.build();
    host.add_server(label("acme"), endpoint(server));
    host
}

/// A user who gives the same answer to every question and records the questions.
#[derive(Clone)]
pub(crate) struct User {
    answer: Arc<Mutex<Answer>>,
    questions: Arc<Mutex<Vec<Question>>>,
}

impl User {
    pub(crate) fn who_says(answer: Answer) -> Self {
        Self { answer: Arc::new(Mutex::new(answer)), questions: Arc::default() }
    }

    pub(crate) fn yes() -> Self {
        Self::who_says(Answer::Yes(Grants::load_only()))
    }

    pub(crate) fn no() -> Self {
        Self::who_says(Answer::No)
    }

    pub(crate) fn says_now(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    pub(crate) fn questions(&self) -> Vec<Question> {
        self.questions.lock().unwrap().clone()
    }
}

impl Prompter for User {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        self.questions.lock().unwrap().push(question.clone());
        let answer = self.answer.lock().unwrap().clone();
        Box::pin(std::future::ready(answer))
    }
}

/// A clock that moves only when a test moves it.
#[derive(Clone, Default)]
pub(crate) struct SetClock {
    elapsed: Arc<Mutex<Duration>>,
    /// How far the time of day was set back.
    set_back: Arc<Mutex<Duration>>,
}

impl SetClock {
    pub(crate) fn advance(&self, by: Duration) {
        *self.elapsed.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }

    /// Sets the time of day back; what has elapsed stays.
    pub(crate) fn set_back(&self, by: Duration) {
        *self.set_back.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Clock for SetClock {
    fn now(&self) -> SystemTime {
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000) + self.elapsed();
        now - *self.set_back.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn elapsed(&self) -> Duration {
        *self.elapsed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A log that tests can read.
#[derive(Clone, Default)]
pub(crate) struct KeptAudit(Arc<Mutex<Vec<Event>>>);

impl KeptAudit {
    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }
}

impl Audit for KeptAudit {
    fn append(&self, event: &Event) -> Result<(), StoreError> {
        self.0.lock().unwrap().push(event.clone());
        Ok(())
    }
}

/// Common steps with a host, in one call.
pub(crate) trait Shortcuts {
    async fn named(&self, handle: &str) -> Result<ListedSkill, Refusal>;
    async fn approved_now(&self, handle: &str) -> Result<ApprovedSkill, Refusal>;
    async fn window(&self, handle: &str) -> Result<Arc<Window>, Refusal>;
}

impl Shortcuts for Host {
    async fn named(&self, handle: &str) -> Result<ListedSkill, Refusal> {
        self.resolve(&Handle::parse(handle)?).await
    }

    async fn approved_now(&self, handle: &str) -> Result<ApprovedSkill, Refusal> {
        self.approve(&self.named(handle).await?, Grants::load_only())
    }

    async fn window(&self, handle: &str) -> Result<Arc<Window>, Refusal> {
        Ok(self.load(self.approved_now(handle).await?).await?.window)
    }
}
