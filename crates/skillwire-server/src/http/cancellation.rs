//! The running requests of a session, so that its client can cancel them.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use futures_util::future::{AbortHandle, abortable};
use parking_lot::Mutex;
use skillwire_protocol::RequestId;

/// The requests of a session that its client can cancel.
///
/// The id of a finished request stays in the map, without its work, until the session starts
/// another cancellable request.
#[derive(Debug, Default)]
pub(super) struct CancellableRequests(Mutex<HashMap<RequestId, Weak<AbortHandle>>>);

impl CancellableRequests {
    /// Wraps `work` so that the client can cancel it by `id`; cancelled work returns `None`.
    ///
    /// If a client uses an id twice, a cancellation applies to the later request.
    pub(super) fn cancellable<T, W: Future<Output = T>>(
        &self,
        id: &RequestId,
        work: W,
    ) -> impl Future<Output = Option<T>> + use<T, W> {
        let (work, handle) = abortable(work);
        let handle = Arc::new(handle);
        let mut running = self.0.lock();
        running.retain(|_, handle| handle.strong_count() > 0);
        running.insert(id.clone(), Arc::downgrade(&handle));
        async move {
            let ended = work.await.ok();
            drop(handle);
            ended
        }
    }

    /// Cancels the request with this id, if it is running.
    pub(super) fn cancel(&self, id: &RequestId) {
        let running = self.0.lock();
        if let Some(handle) = running.get(id).and_then(Weak::upgrade) {
            handle.abort();
        }
    }
}
