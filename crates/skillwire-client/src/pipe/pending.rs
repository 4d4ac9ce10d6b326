//! The requests that are under way on pipes, and what the server's messages mean for them.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::value::RawValue;
use skillwire_protocol::{RequestId, method};
use tokio::sync::{broadcast, oneshot};

use crate::{
    changes::{self, Change},
    error::ClientError,
    incoming,
};

/// Room for what comes unasked while nothing is under way.
const UNASKED_BYTES: usize = 256 * 1024;

/// What a request comes to.
pub(super) type Outcome = Result<Box<RawValue>, ClientError>;

/// A caller that waits for an answer.
pub(super) enum Waiting {
    /// For an answer of at most so many bytes.
    Answer { bytes: usize, reply: oneshot::Sender<Outcome> },
    /// For changes, until the server ends it.
    Changes {
        acknowledged: Option<oneshot::Sender<Result<(), ClientError>>>,
        changes: broadcast::Sender<Change>,
    },
}

impl Waiting {
    fn fail(self, error: ClientError) {
        match self {
            Self::Answer { reply, .. } => drop(reply.send(Err(error))),
            Self::Changes { acknowledged: Some(acknowledged), .. } => {
                drop(acknowledged.send(Err(error)));
            }
            Self::Changes { .. } => {}
        }
    }
}

/// Everybody who waits, until the connection ends.
#[derive(Default)]
pub(super) struct Pending(Mutex<State>);

struct State {
    waiting: HashMap<u64, Waiting>,
    /// What a legacy server tells by itself, while it can.
    overheard: broadcast::Sender<Change>,
    ended: Option<ClientError>,
}

impl Default for State {
    fn default() -> Self {
        Self { waiting: HashMap::new(), overheard: changes::channel(), ended: None }
    }
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a caller that waits, unless the connection has ended.
    pub(super) fn add(&self, id: u64, waiting: Waiting) -> Result<(), ClientError> {
        let mut state = self.lock();
        if let Some(ended) = &state.ended {
            return Err(ended.clone());
        }
        state.waiting.insert(id, waiting);
        Ok(())
    }

    /// Forgets a request; true when it was still under way.
    pub(super) fn forget(&self, id: u64) -> bool {
        self.lock().waiting.remove(&id).is_some()
    }

    /// The longest line that a caller could be waiting for.
    pub(super) fn longest_line(&self) -> usize {
        let state = self.lock();
        let limits = state.waiting.values().map(|waiting| match waiting {
            Waiting::Answer { bytes, .. } => *bytes,
            Waiting::Changes { .. } => 0,
        });
        limits.max().unwrap_or(0).max(UNASKED_BYTES)
    }

    /// Ends everything that is under way and whatever is asked later.
    pub(super) fn end(&self, error: &ClientError) {
        let mut state = self.lock();
        let ended = state.ended.get_or_insert_with(|| error.clone()).clone();
        let waiting = std::mem::take(&mut state.waiting);
        // Listeners hear the end.
        state.overheard = changes::channel();
        drop(state);
        for (_, waiting) in waiting {
            waiting.fail(ended.clone());
        }
    }

    /// Takes an answer of so many bytes; one that no caller waits for is late, and ignored.
    pub(super) fn answer(
        &self,
        id: &RequestId,
        length: usize,
        outcome: Result<&RawValue, ClientError>,
    ) {
        match number(id).and_then(|id| self.lock().waiting.remove(&id)) {
            Some(Waiting::Answer { bytes, reply }) => {
                let outcome = if length > bytes {
                    Err(ClientError::TooLarge(bytes))
                } else {
                    outcome.map(ToOwned::to_owned)
                };
                let _ = reply.send(outcome);
            }
            Some(subscription @ Waiting::Changes { .. }) => {
                let early = || ClientError::protocol("a subscription ended before it began");
                subscription.fail(outcome.err().unwrap_or_else(early));
            }
            None => {}
        }
    }

    /// Fails the request a wrong message was meant for; false when that is unknown.
    pub(super) fn fail(&self, id: Option<&RequestId>, error: ClientError) -> bool {
        let waiting = id.and_then(number).and_then(|id| self.lock().waiting.remove(&id));
        match waiting {
            Some(waiting) => {
                waiting.fail(error);
                true
            }
            None => false,
        }
    }

    /// Fails what an endless line was meant for: its request, or all of them when it names none.
    pub(super) fn too_long(&self, id: Option<&RequestId>) {
        let limit = self.longest_line();
        if self.fail(id, ClientError::TooLarge(limit)) {
            return;
        }
        let mut state = self.lock();
        let (answers, rest): (HashMap<_, _>, HashMap<_, _>) = std::mem::take(&mut state.waiting)
            .into_iter()
            .partition(|(_, waiting)| matches!(waiting, Waiting::Answer { .. }));
        state.waiting = rest;
        drop(state);
        for (_, waiting) in answers {
            waiting.fail(ClientError::TooLarge(limit));
        }
    }

    /// Takes a notification: for its subscription on the modern era, for everybody on the other.
    pub(super) fn notification(&self, method: &str, params: Option<&RawValue>, legacy: bool) {
        if legacy {
            if let Some(change) = incoming::change(method, params) {
                // Having no listener is no failure.
                let _ = self.lock().overheard.send(change);
            }
            return;
        }
        let Some(id) = incoming::subscription(method, params).as_ref().and_then(number) else {
            return;
        };
        let mut state = self.lock();
        let Some(Waiting::Changes { acknowledged, changes }) = state.waiting.get_mut(&id) else {
            return;
        };
        match method {
            method::ACKNOWLEDGED => {
                if let Some(acknowledged) = acknowledged.take() {
                    let _ = acknowledged.send(Ok(()));
                }
            }
            method::CANCELLED => drop(state.waiting.remove(&id)),
            // Nothing may come before the acknowledgment.
            _ if acknowledged.is_some() => {}
            _ => {
                if let Some(change) = incoming::change(method, params) {
                    let _ = changes.send(change);
                }
            }
        }
    }

    /// Hears what a legacy server tells by itself, unless the connection has ended.
    pub(super) fn overhear(&self) -> Result<broadcast::Receiver<Change>, ClientError> {
        let state = self.lock();
        match &state.ended {
            Some(ended) => Err(ended.clone()),
            None => Ok(state.overheard.subscribe()),
        }
    }
}

fn number(id: &RequestId) -> Option<u64> {
    id.as_json().parse().ok()
}
