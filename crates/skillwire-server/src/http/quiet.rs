//! Giving up on a client that takes too long to ask.
//!
//! hyper can do this, with a timer that it makes for each request and takes away when the request
//! is there. That has a price, and a higher one than making it: a thread that has a timer sets an
//! alarm in the hardware whenever it sleeps, which on a virtual machine costs as much as an answer.
//! Here a connection has one timer, on another thread than its own, which looks when it rings whether
//! there is reason to go on.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use http_body::{Body, Frame, SizeHint};
use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until},
};

use super::body::{Pieces, ResponseBody};

/// What a connection is doing.
#[derive(Debug)]
pub(super) struct Activity {
    opened: Instant,
    answering: AtomicBool,
    /// When something was last sent, in milliseconds after the opening.
    sent: AtomicU64,
}

impl Activity {
    pub(super) fn new() -> Arc<Self> {
        let (answering, sent) = (AtomicBool::new(false), AtomicU64::new(0));
        Arc::new(Self { opened: Instant::now(), answering, sent })
    }

    /// Notes that something was sent.
    pub(super) fn sent(&self) {
        let after = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.sent.store(after, Ordering::Relaxed);
    }

    /// Notes that a request is there; its answer lasts until what is returned is dropped.
    pub(super) fn answering(self: &Arc<Self>) -> Answering {
        self.answering.store(true, Ordering::Relaxed);
        Answering(Arc::clone(self))
    }

    /// Tells when the client takes too long to ask, unless nobody listens any more.
    pub(super) async fn watch(self: Arc<Self>, patience: Duration, mut late: oneshot::Sender<()>) {
        let mut end = self.opened + patience;
        loop {
            tokio::select! {
                () = sleep_until(end) => {}
                () = late.closed() => return,
            }
            let now = Instant::now();
            end = self.waiting_since().unwrap_or(now) + patience;
            if end <= now {
                let _ = late.send(());
                return;
            }
        }
    }

    /// Since when the next request is waited for, if it is.
    fn waiting_since(&self) -> Option<Instant> {
        let sent = Duration::from_millis(self.sent.load(Ordering::Relaxed));
        (!self.answering.load(Ordering::Relaxed)).then(|| self.opened + sent)
    }
}

/// An answer under way.
#[derive(Debug)]
pub(super) struct Answering(Arc<Activity>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answering.store(false, Ordering::Relaxed);
    }
}

/// The body of an answer, which is under way as long as its body is.
#[derive(Debug)]
pub(super) struct Answer {
    body: ResponseBody,
    _answering: Answering,
}

impl Answer {
    pub(super) fn new(body: ResponseBody, answering: Answering) -> Self {
        Self { body, _answering: answering }
    }
}

impl Body for Answer {
    type Data = Pieces;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Pieces>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
