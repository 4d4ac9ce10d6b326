//! Calls of a legacy session that are under way, so that its client can end them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::{FutureExt as _, future::BoxFuture};
use skillwire_protocol::{
    error::{ErrorCode, RpcError},
    id::RequestId,
};
use tokio::sync::oneshot;

use crate::engine::Outcome;

/// Calls of one session that can be cancelled; further ones run to their end.
const MAX_RUNNING: usize = 256;

/// What a session waits for.
#[derive(Default)]
pub(super) struct Running(Mutex<HashMap<RequestId, oneshot::Sender<()>>>);

impl Running {
    /// Makes a call end when the client says so. It is answered all the same, since a request over
    /// HTTP has an answer; clients ignore that of a call they cancelled.
    pub(super) fn cancellable(
        self: &Arc<Self>,
        id: &RequestId,
        work: BoxFuture<'static, Outcome>,
    ) -> BoxFuture<'static, Outcome> {
        let (cancel, cancelled) = oneshot::channel();
        {
            let mut running = self.lock();
            if running.len() >= MAX_RUNNING || running.contains_key(id) {
                return work;
            }
            running.insert(id.clone(), cancel);
        }
        let ended = Ended { running: Arc::clone(self), id: id.clone() };
        async move {
            let _ended = ended;
            tokio::select! {
                outcome = work => outcome,
                Ok(()) = cancelled => {
                    Err(RpcError::new(ErrorCode::InvalidRequest, "The request was cancelled."))
                }
            }
        }
        .boxed()
    }

    /// Ends a call, if it is under way.
    pub(super) fn cancel(&self, id: &RequestId) {
        if let Some(cancel) = self.lock().remove(id) {
            // A call that is just over needs no end.
            let _ = cancel.send(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, oneshot::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a call when it is over, however it ends.
struct Ended {
    running: Arc<Running>,
    id: RequestId,
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.running.lock().remove(&self.id);
    }
}
