//! Requests of a session that are under way, so that its client can cancel them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use futures_util::future::{AbortHandle, abortable};
use skillwire_protocol::RequestId;

/// What can be cancelled.
///
/// Of work that is done its id stays, and no more, until the session asks for something else that
/// can be cancelled.
#[derive(Debug, Default)]
pub(super) struct CancellableRequests(Mutex<HashMap<RequestId, Weak<AbortHandle>>>);

impl CancellableRequests {
    /// Makes work something that can be cancelled by an id; it comes to nothing then.
    ///
    /// Of two requests with one id the later is meant.
    pub(super) fn cancellable<T, W: Future<Output = T>>(
        &self,
        id: &RequestId,
        work: W,
    ) -> impl Future<Output = Option<T>> + use<T, W> {
        let (work, handle) = abortable(work);
        let handle = Arc::new(handle);
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, handle| handle.strong_count() > 0);
        running.insert(id.clone(), Arc::downgrade(&handle));
        async move {
            let ended = work.await.ok();
            drop(handle);
            ended
        }
    }

    /// Cancels the request with an id, if it is under way.
    pub(super) fn cancel(&self, id: &RequestId) {
        let running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = running.get(id).and_then(Weak::upgrade) {
            handle.abort();
        }
    }
}
