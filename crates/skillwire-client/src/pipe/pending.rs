//! The requests in flight on pipes, and how the server's messages affect them.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use serde_json::value::RawValue;
use skillwire_protocol::{RequestId, method};
use tokio::sync::{broadcast, oneshot};

use crate::{
    changes::{self, Change},
    error::ClientError,
    incoming,
};

/// The size limit of a message while no request is in flight.
const UNASKED_BYTES: usize = 256 * 1024;

/// The outcome of a request.
pub(super) type CallResult = Result<Box<RawValue>, ClientError>;

/// A caller that waits for the server.
pub(super) enum WaitingCaller {
    /// Waits for an answer of at most this many bytes.
    Answer { bytes: usize, reply: oneshot::Sender<CallResult> },
    /// Waits for changes until the server ends the subscription.
    Changes {
        acknowledged: Option<oneshot::Sender<Result<(), ClientError>>>,
        changes: broadcast::Sender<Change>,
    },
}

impl WaitingCaller {
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

/// The callers that wait for the server, until the connection ends.
#[derive(Default)]
pub(super) struct PendingCalls(Mutex<PendingState>);

struct PendingState {
    waiting: HashMap<u64, WaitingCaller>,
    /// Sends a legacy server's announcements to all listeners.
    overheard: broadcast::Sender<Change>,
    ended: Option<ClientError>,
}

impl Default for PendingState {
    fn default() -> Self {
        Self { waiting: HashMap::new(), overheard: changes::channel(), ended: None }
    }
}

impl PendingCalls {
    fn lock(&self) -> MutexGuard<'_, PendingState> {
        self.0.lock()
    }

    /// Registers a waiting caller; fails if the connection has ended.
    ///
    /// The check and the insertion happen under one lock. Otherwise [`Self::end`] could run between
    /// them, and the caller would wait forever for an answer.
    pub(super) fn add(&self, id: u64, waiting: WaitingCaller) -> Result<(), ClientError> {
        let mut state = self.lock();
        if let Some(ended) = &state.ended {
            return Err(ended.clone());
        }
        state.waiting.insert(id, waiting);
        Ok(())
    }

    /// Removes a request; returns whether it was still in flight.
    pub(super) fn forget(&self, id: u64) -> bool {
        self.lock().waiting.remove(&id).is_some()
    }

    /// Returns the size limit of a line: the largest limit of the requests in flight.
    pub(super) fn longest_line(&self) -> usize {
        let state = self.lock();
        let limits = state.waiting.values().map(|waiting| match waiting {
            WaitingCaller::Answer { bytes, .. } => *bytes,
            WaitingCaller::Changes { .. } => 0,
        });
        limits.max().unwrap_or(0).max(UNASKED_BYTES)
    }

    /// Fails every request in flight and every later one.
    pub(super) fn end(&self, error: &ClientError) {
        let mut state = self.lock();
        let ended = state.ended.get_or_insert_with(|| error.clone()).clone();
        let waiting = std::mem::take(&mut state.waiting);
        // Replacing the channel drops its sender, so that listeners see the end.
        state.overheard = changes::channel();
        drop(state);
        for (_, waiting) in waiting {
            waiting.fail(ended.clone());
        }
    }

    /// Delivers an answer of this many bytes; one that no caller waits for is late, and ignored.
    pub(super) fn answer(
        &self,
        id: &RequestId,
        length: usize,
        outcome: Result<&RawValue, ClientError>,
    ) {
        match number(id).and_then(|id| self.lock().waiting.remove(&id)) {
            Some(WaitingCaller::Answer { bytes, reply }) => {
                let outcome = if length > bytes {
                    Err(ClientError::TooLarge(bytes))
                } else {
                    outcome.map(ToOwned::to_owned)
                };
                let _ = reply.send(outcome);
            }
            Some(subscription @ WaitingCaller::Changes { .. }) => {
                let early = || ClientError::protocol("a subscription ended before it began");
                subscription.fail(outcome.err().unwrap_or_else(early));
            }
            None => {}
        }
    }

    /// Fails the request that a malformed message was meant for; returns false if that is unknown.
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

    /// Fails the request that an overlong line was meant for, or all of them if the line names
    /// none.
    pub(super) fn too_long(&self, id: Option<&RequestId>) {
        let limit = self.longest_line();
        if self.fail(id, ClientError::TooLarge(limit)) {
            return;
        }
        let mut state = self.lock();
        let (answers, rest): (HashMap<_, _>, HashMap<_, _>) = std::mem::take(&mut state.waiting)
            .into_iter()
            .partition(|(_, waiting)| matches!(waiting, WaitingCaller::Answer { .. }));
        state.waiting = rest;
        drop(state);
        for (_, waiting) in answers {
            waiting.fail(ClientError::TooLarge(limit));
        }
    }

    /// Delivers a notification: in the modern era to its subscription, in the legacy era to all
    /// listeners.
    pub(super) fn notification(&self, method: &str, params: Option<&RawValue>, legacy: bool) {
        if legacy {
            if let Some(change) = incoming::change(method, params) {
                // Sending fails only when there are no listeners.
                let _ = self.lock().overheard.send(change);
            }
            return;
        }
        let Some(id) = incoming::subscription(method, params).as_ref().and_then(number) else {
            return;
        };
        let mut state = self.lock();
        let Some(WaitingCaller::Changes { acknowledged, changes }) = state.waiting.get_mut(&id)
        else {
            return;
        };
        match method {
            method::ACKNOWLEDGED => {
                if let Some(acknowledged) = acknowledged.take() {
                    let _ = acknowledged.send(Ok(()));
                }
            }
            method::CANCELLED => drop(state.waiting.remove(&id)),
            // Changes count only after the acknowledgment.
            _ if acknowledged.is_some() => {}
            _ => {
                if let Some(change) = incoming::change(method, params) {
                    let _ = changes.send(change);
                }
            }
        }
    }

    /// Subscribes to a legacy server's announcements, unless the connection has ended.
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
