//! Closes connections whose client takes too long to send its next request.
//!
//! hyper can do this with a timer that it sets for each request and clears when the request is there.
//! The timer itself is cheap, but a thread that has one programs a hardware alarm whenever it sleeps,
//! which on a virtual machine costs as much as an answer. Here each connection has a single timer, on
//! another thread than its own. When it fires it looks at what the connection did meanwhile, and
//! closes it or sleeps again.

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

/// Records what a connection did last; its own thread writes this, the timer's thread reads it.
#[derive(Debug)]
pub(super) struct ConnectionActivity {
    opened: Instant,
    answering: AtomicBool,
    /// When the server last sent something, in milliseconds after the connection was opened.
    sent: AtomicU64,
}

impl ConnectionActivity {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            opened: Instant::now(),
            answering: AtomicBool::new(false),
            sent: AtomicU64::new(0),
        })
    }

    /// Records that the server sent something.
    pub(super) fn sent(&self) {
        let after = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.sent.store(after, Ordering::Relaxed);
    }

    /// Records that the server is answering a request, until the returned value is dropped.
    pub(super) fn answering(self: &Arc<Self>) -> AnswerInProgress {
        self.answering.store(true, Ordering::Relaxed);
        AnswerInProgress(Arc::clone(self))
    }

    /// Waits until the client has taken too long to send a request and reports that to `late`; ends
    /// early when the connection is gone.
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

    /// Returns since when the server has been waiting for the next request; `None` while it answers
    /// one.
    fn waiting_since(&self) -> Option<Instant> {
        let sent = Duration::from_millis(self.sent.load(Ordering::Relaxed));
        (!self.answering.load(Ordering::Relaxed)).then(|| self.opened + sent)
    }
}

/// An answer that is not completely sent; the connection is not idle until this is dropped.
#[derive(Debug)]
pub(super) struct AnswerInProgress(Arc<ConnectionActivity>);

impl Drop for AnswerInProgress {
    fn drop(&mut self) {
        self.0.answering.store(false, Ordering::Relaxed);
    }
}

/// A response body that keeps its connection from being idle until hyper has taken all of it.
#[derive(Debug)]
pub(super) struct TrackedBody {
    body: ResponseBody,
    _answering: AnswerInProgress,
}

impl TrackedBody {
    pub(super) fn new(body: ResponseBody, answering: AnswerInProgress) -> Self {
        Self { body, _answering: answering }
    }
}

impl Body for TrackedBody {
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
