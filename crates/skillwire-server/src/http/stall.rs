//! A stream that gives up on a peer that stopped reading.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Instant, Sleep};

use super::{quiet::Activity, workers::Lookout};

/// Passes everything through, but fails a write that makes no progress for too long.
pub(super) struct StallGuard<T> {
    inner: T,
    patience: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
    activity: Arc<Activity>,
    lookout: Arc<Lookout>,
}

impl<T> StallGuard<T> {
    /// Tells the connection's activity and its thread's lookout of everything that is sent.
    pub(super) fn new(
        inner: T,
        patience: Duration,
        (activity, lookout): (Arc<Activity>, Arc<Lookout>),
    ) -> Self {
        Self { inner, patience, waiting: None, activity, lookout }
    }

    /// Judges a write, and notes one that was made.
    fn sent(
        &mut self,
        context: &mut Context<'_>,
        progress: Poll<std::io::Result<usize>>,
    ) -> Poll<std::io::Result<usize>> {
        if progress.is_ready() {
            self.activity.sent();
            self.lookout.answered();
        }
        self.judge(context, progress)
    }

    /// Starts or stops the clock according to whether a write had to wait.
    fn judge<R>(
        &mut self,
        context: &mut Context<'_>,
        progress: Poll<std::io::Result<R>>,
    ) -> Poll<std::io::Result<R>> {
        if progress.is_ready() {
            self.waiting = None;
            return progress;
        }
        let patience = self.patience;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + patience)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(std::io::ErrorKind::TimedOut.into()))
    }
}

impl<T: Read + Unpin> Read for StallGuard<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: Write + Unpin> Write for StallGuard<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let progress = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.sent(context, progress)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        let progress = Pin::new(&mut self.inner).poll_flush(context);
        self.judge(context, progress)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        let progress = Pin::new(&mut self.inner).poll_shutdown(context);
        self.judge(context, progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let progress = Pin::new(&mut self.inner).poll_write_vectored(context, buffers);
        self.sent(context, progress)
    }
}
