//! Giving up on a client that takes too long to ask.
//!
//! hyper can do this, with a timer that it makes for each request and takes away when the request
//! is there. A busy connection pays for that ten thousand times a second. Here a connection has one
//! timer, which looks when it rings whether there is reason to go on.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use super::body::{Pieces, ResponseBody};

/// What a connection is doing. It is all in one task, so nothing here has to be in step.
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

/// A connection that ends when the head of a request takes too long.
pub(super) struct Hurried<C> {
    connection: Pin<Box<C>>,
    activity: Arc<Activity>,
    patience: Duration,
    alarm: Pin<Box<Sleep>>,
}

impl<C> Hurried<C> {
    pub(super) fn new(connection: C, activity: Arc<Activity>, patience: Duration) -> Self {
        let alarm = Box::pin(tokio::time::sleep(patience));
        Self { connection: Box::pin(connection), activity, patience, alarm }
    }
}

impl<C: Future> Future for Hurried<C> {
    /// Nothing when the client took too long.
    type Output = Option<C::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(ended) = self.connection.as_mut().poll(context) {
            return Poll::Ready(Some(ended));
        }
        loop {
            ready!(self.alarm.as_mut().poll(context));
            let now = Instant::now();
            let end = self.activity.waiting_since().unwrap_or(now) + self.patience;
            if end <= now {
                return Poll::Ready(None);
            }
            self.alarm.as_mut().reset(end);
        }
    }
}
