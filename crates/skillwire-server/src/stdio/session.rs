//! The state of one stdio connection.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::FutureExt as _;
use skillwire_protocol::{
    ClientCapabilities, Era, ErrorCode, RequestId, RpcError,
    message::{self, Message, Notification, Request},
    meta, method,
    version::MODERN,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{Duration, Instant, timeout_at},
};

use super::MAX_LINE_BYTES;
use skillwire_engine::{
    Answer, Caller, Engine, LegacySubscriptions, Outcome, OutgoingMessage, Subscription,
    offer::{LegacyLink, Link},
};

/// The most requests that may run at once; further ones are refused.
const MAX_PENDING: usize = 256;

/// How long running requests may take once the input has ended.
const LAST_WORK: Duration = Duration::from_secs(5);

/// Counts the sessions ever opened, so that each has its own name.
static OPENED: AtomicU64 = AtomicU64::new(1);

/// A running request.
struct RunningRequest {
    task: JoinHandle<()>,
    /// Whether it runs until the client or the server ends it.
    endless: bool,
}

/// The session that `initialize` opened.
struct LegacySession {
    subscriptions: Arc<LegacySubscriptions>,
    feed: JoinHandle<()>,
    link: LegacyLink,
}

impl LegacySession {
    /// Ends the session and lets the engine drop what it kept for it.
    fn end(self, engine: &Engine) {
        self.feed.abort();
        self.link.questions.abandon();
        engine.offers().session_ended(&self.link.id);
    }
}

/// The state the server keeps for its one client.
pub(super) struct StdioSession {
    engine: Arc<Engine>,
    caller: Caller,
    sender: mpsc::Sender<OutgoingMessage>,
    /// Running requests, so that the client can cancel them.
    pending: HashMap<RequestId, RunningRequest>,
    /// The legacy session, once `initialize` has opened it.
    legacy: Option<LegacySession>,
    /// Whether the server is about to end; subscriptions then send their last message.
    stopping: watch::Sender<bool>,
}

impl StdioSession {
    pub(super) fn new(engine: Arc<Engine>, sender: mpsc::Sender<OutgoingMessage>) -> Self {
        Self {
            engine,
            caller: Caller::default(),
            sender,
            pending: HashMap::new(),
            legacy: None,
            stopping: watch::Sender::new(false),
        }
    }

    pub(super) async fn receive(&mut self, line: &[u8]) {
        match message::read(line) {
            Ok(Message::Request(request)) => self.request(&request).await,
            Ok(Message::Notification(notification)) => self.notification(&notification),
            Ok(Message::Response(response)) => {
                if let (Some(id), Some(legacy)) = (&response.id, &self.legacy) {
                    legacy.link.questions.answered(id, response.result);
                }
            }
            Err(malformed) => {
                self.send(message::error_response(malformed.id.as_ref(), &malformed.error)).await;
            }
        }
    }

    pub(super) async fn refuse_long_line(&self) {
        let text = format!("The message is longer than {MAX_LINE_BYTES} bytes.");
        let error = RpcError::new(ErrorCode::InvalidRequest, text);
        self.send(message::error_response(None, &error)).await;
    }

    /// Asks subscriptions to end in order; [`close`](Self::close) waits for them.
    pub(super) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Lets running requests finish within [`LAST_WORK`], and ends everything else.
    pub(super) async fn close(self) {
        let deadline = Instant::now() + LAST_WORK;
        if let Some(legacy) = &self.legacy {
            legacy.link.questions.abandon();
        }
        let stopping = *self.stopping.borrow();
        for RunningRequest { task, endless } in self.pending.into_values() {
            let abort = task.abort_handle();
            // Whether the task was aborted or finished does not matter; it only has to be gone.
            if (endless && !stopping) || timeout_at(deadline, task).await.is_err() {
                abort.abort();
            }
        }
        if let Some(legacy) = self.legacy {
            legacy.end(&self.engine);
        }
    }

    async fn request(&mut self, request: &Request<'_>) {
        let era = match self.era(request) {
            Ok(era) => era,
            Err(error) => {
                self.send(message::error_response(Some(&request.id), &error)).await;
                return;
            }
        };
        let link = self.link(era, request);
        let answer = self.engine.answer_over(&link, &self.caller, era, request);
        match answer {
            Answer::Now(outcome) => {
                let outcome = match outcome {
                    Ok(result) => self.note_session(request).map(|()| result),
                    refused => refused,
                };
                self.send(render(&request.id, outcome)).await;
            }
            Answer::Later(mut work) => {
                // Much of this work has nothing to wait for; a task of its own would cost more.
                if !self.pending.contains_key(&request.id)
                    && let Some(outcome) = (&mut work).now_or_never()
                {
                    self.send(render(&request.id, outcome)).await;
                    return;
                }
                let (id, sender) = (request.id.clone(), self.sender.clone());
                self.spawn(&request.id, false, async move {
                    let outcome = work.await;
                    let _ = sender.send(render(&id, outcome)).await;
                })
                .await;
            }
            Answer::Stream(subscription) => {
                let (sender, stopping) = (self.sender.clone(), self.stopping.subscribe());
                self.spawn(&request.id, true, follow(*subscription, sender, stopping)).await;
            }
        }
    }

    /// Creates the link for messages that precede the answer to a request.
    fn link(&self, era: Era, request: &Request<'_>) -> Link {
        if !self.engine.may_send_messages(&request.method) {
            return Link::none();
        }
        let legacy = self.legacy.as_ref().filter(|_| era == Era::Legacy);
        let session = legacy.map(|legacy| legacy.link.clone());
        Link { messages: Some(self.sender.clone()), session }
    }

    /// Decides in which era a request is answered.
    fn era(&self, request: &Request<'_>) -> Result<Era, RpcError> {
        if meta::is_modern(request.params.meta) {
            let meta = meta::read(request.params.meta)?;
            return if meta.protocol_version == MODERN {
                Ok(Era::Modern)
            } else {
                Err(RpcError::unsupported_version(&meta.protocol_version))
            };
        }
        let opens = matches!(&*request.method, method::INITIALIZE | method::PING);
        if opens || self.legacy.is_some() {
            return Ok(Era::Legacy);
        }
        meta::read(request.params.meta).map(|_| Era::Modern)
    }

    /// Records what a successful legacy request changes about the session.
    fn note_session(&mut self, request: &Request<'_>) -> Result<(), RpcError> {
        match (&*request.method, &self.legacy) {
            (method::INITIALIZE, _) => self.open_legacy(request),
            (_, Some(legacy)) => {
                let follow = |uri: &str| self.engine.follow(&self.caller, Era::Legacy, uri);
                legacy.subscriptions.note(request, follow)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn open_legacy(&mut self, request: &Request<'_>) {
        let subscriptions = Arc::new(LegacySubscriptions::alone(self.engine.announcements()));
        let mut changes = self.engine.feed(&self.caller);
        let (sender, followed) = (self.sender.clone(), Arc::clone(&subscriptions));
        let feed = tokio::spawn(async move {
            while let Some(found) = changes.next(|| followed.filter()).await {
                for (method, params) in found {
                    if sender.send(message::notification(method, &params).into()).await.is_err() {
                        return;
                    }
                }
            }
        });
        let number = OPENED.fetch_add(1, Ordering::Relaxed);
        let link = LegacyLink {
            id: format!("stdio-{number}").into(),
            capabilities: ClientCapabilities::read(request.params.capabilities),
            questions: Arc::default(),
        };
        self.caller.client = meta::name_in(request.params.client_info).map(Into::into);
        if let Some(old) = self.legacy.replace(LegacySession { subscriptions, feed, link }) {
            old.end(&self.engine);
        }
    }

    fn notification(&mut self, notification: &Notification<'_>) {
        if &*notification.method == method::CANCELLED
            && let Some(id) = notification.params.request_id.and_then(RequestId::from_raw)
            && let Some(pending) = self.pending.remove(&id)
        {
            pending.task.abort();
        }
    }

    async fn spawn(
        &mut self,
        id: &RequestId,
        endless: bool,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        self.pending.retain(|_, pending| !pending.task.is_finished());
        if self.pending.len() >= MAX_PENDING || self.pending.contains_key(id) {
            let text = "Too many requests are under way, or one of them has the same id.";
            let error = RpcError::new(ErrorCode::InvalidRequest, text);
            self.send(message::error_response(Some(id), &error)).await;
            return;
        }
        let task = tokio::spawn(work);
        self.pending.insert(id.clone(), RunningRequest { task, endless });
    }

    async fn send(&self, message: impl Into<OutgoingMessage>) {
        // A closed channel means that the client no longer reads; the main loop notices that and
        // ends.
        let _ = self.sender.send(message.into()).await;
    }
}

async fn follow(
    mut subscription: Subscription,
    sender: mpsc::Sender<OutgoingMessage>,
    mut stopping: watch::Receiver<bool>,
) {
    let mut messages = vec![subscription.acknowledgment()];
    loop {
        for message in messages {
            if sender.send(message.into()).await.is_err() {
                return;
            }
        }
        let next = tokio::select! {
            next = subscription.next() => next,
            _ = stopping.wait_for(|stopping| *stopping) => None,
        };
        let Some(next) = next else {
            let _ = sender.send(subscription.completion().into()).await;
            return;
        };
        messages = next;
    }
}

fn render(id: &RequestId, outcome: Outcome) -> OutgoingMessage {
    match outcome {
        Ok(result) => result.into_response(id),
        Err(error) => message::error_response(Some(id), &error).into(),
    }
}
