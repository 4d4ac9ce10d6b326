//! The state of one stdio connection.

use std::{collections::HashMap, sync::Arc};

use skillwire_protocol::{
    error::{ErrorCode, RpcError},
    id::RequestId,
    message::{self, Message, Notification, Request},
    meta, method,
    version::{Era, MODERN},
};
use tokio::{sync::mpsc, task::JoinHandle};

use super::lines::MAX_LINE_BYTES;
use crate::{
    caller::Caller,
    engine::{Answer, Engine, Outcome},
    subscription::{Feed, LegacySubscriptions, Subscription},
};

/// Requests that may be under way at once; further ones are refused.
const MAX_PENDING: usize = 256;

/// What the server knows about its one client.
pub(super) struct StdioSession {
    engine: Arc<Engine>,
    caller: Caller,
    sender: mpsc::Sender<String>,
    /// Requests that take time, so that they can be cancelled.
    pending: HashMap<RequestId, JoinHandle<()>>,
    /// Subscriptions of the legacy session, once `initialize` has opened it.
    legacy: Option<Arc<LegacySubscriptions>>,
    legacy_feed: Option<JoinHandle<()>>,
}

impl StdioSession {
    pub(super) fn new(engine: Arc<Engine>, sender: mpsc::Sender<String>) -> Self {
        Self {
            engine,
            caller: Caller::default(),
            sender,
            pending: HashMap::new(),
            legacy: None,
            legacy_feed: None,
        }
    }

    pub(super) async fn receive(&mut self, line: &[u8]) {
        match message::read(line) {
            Ok(Message::Request(request)) => self.request(&request).await,
            Ok(Message::Notification(notification)) => self.notification(&notification),
            // We never ask anything, so there is nothing to be answered.
            Ok(Message::Response) => {}
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

    /// Ends everything that is still under way.
    pub(super) async fn close(self) {
        for task in self.pending.into_values().chain(self.legacy_feed) {
            task.abort();
            // Aborted or done, either is fine; the task must only be gone.
            let _ = task.await;
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
        let answer = self.engine.answer(&self.caller, era, request);
        match answer {
            Answer::Now(outcome) => {
                if outcome.is_ok() {
                    self.note_session(request);
                }
                self.send(render(&request.id, &outcome)).await;
            }
            Answer::Later(work) => {
                let (id, sender) = (request.id.clone(), self.sender.clone());
                self.spawn(&request.id, async move {
                    let outcome = work.await;
                    let _ = sender.send(render(&id, &outcome)).await;
                })
                .await;
            }
            Answer::Stream(subscription) => {
                let sender = self.sender.clone();
                self.spawn(&request.id, follow(*subscription, sender)).await;
            }
        }
    }

    /// Decides under which era a request is answered.
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

    /// Keeps what a successful legacy request changes about the session.
    fn note_session(&mut self, request: &Request<'_>) {
        match (&*request.method, &self.legacy) {
            (method::INITIALIZE, _) => self.open_legacy(),
            (_, Some(subscriptions)) => subscriptions.note(request),
            _ => {}
        }
    }

    fn open_legacy(&mut self) {
        let subscriptions = Arc::new(LegacySubscriptions::default());
        let mut feed = Feed::new(self.caller.view, self.engine.catalog().changes());
        let (sender, followed) = (self.sender.clone(), Arc::clone(&subscriptions));
        let task = tokio::spawn(async move {
            while let Some(found) = feed.next(|| followed.filter()).await {
                for (method, params) in found {
                    if sender.send(message::notification(method, &params)).await.is_err() {
                        return;
                    }
                }
            }
        });
        if let Some(old) = self.legacy_feed.replace(task) {
            old.abort();
        }
        self.legacy = Some(subscriptions);
    }

    fn notification(&mut self, notification: &Notification<'_>) {
        if &*notification.method == method::CANCELLED
            && let Some(id) = notification.params.request_id.and_then(RequestId::from_raw)
            && let Some(task) = self.pending.remove(&id)
        {
            task.abort();
        }
    }

    async fn spawn(&mut self, id: &RequestId, work: impl Future<Output = ()> + Send + 'static) {
        self.pending.retain(|_, task| !task.is_finished());
        if self.pending.len() >= MAX_PENDING || self.pending.contains_key(id) {
            let text = "Too many requests are under way, or one of them has the same id.";
            let error = RpcError::new(ErrorCode::InvalidRequest, text);
            self.send(message::error_response(Some(id), &error)).await;
            return;
        }
        self.pending.insert(id.clone(), tokio::spawn(work));
    }

    async fn send(&self, message: String) {
        // A closed channel means that nobody reads; the main loop sees that and ends.
        let _ = self.sender.send(message).await;
    }
}

async fn follow(mut subscription: Subscription, sender: mpsc::Sender<String>) {
    let mut messages = vec![subscription.acknowledgment()];
    loop {
        for message in messages {
            if sender.send(message).await.is_err() {
                return;
            }
        }
        match subscription.next().await {
            Some(next) => messages = next,
            None => return,
        }
    }
}

fn render(id: &RequestId, outcome: &Outcome) -> String {
    match outcome {
        Ok(result) => message::response(id, result),
        Err(error) => message::error_response(Some(id), error),
    }
}
