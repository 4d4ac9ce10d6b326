//! A stream that gives up on a client that stopped reading.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Instant, Sleep};

/// The bytes that a client must take within the time limit.
///
/// Less does not count as progress: a client that takes a byte now and then would keep the memory of a
/// large answer for as long as it likes.
const LEAST_PROGRESS: usize = 128 * 1024;

/// Passes data through, but fails a write that makes no progress for too long.
pub(super) struct StallGuard<T, F> {
    inner: T,
    patience: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
    /// Bytes that the client took since it let the server wait.
    taken: usize,
    on_write: F,
}

impl<T, F: Fn()> StallGuard<T, F> {
    /// Fails writes to `inner` that make no progress for `patience`, and calls `on_write` after
    /// each completed write.
    pub(super) fn new(inner: T, patience: Duration, on_write: F) -> Self {
        Self { inner, patience, waiting: None, taken: 0, on_write }
    }

    fn written(
        &mut self,
        context: &mut Context<'_>,
        progress: Poll<std::io::Result<usize>>,
    ) -> Poll<std::io::Result<usize>> {
        if let Poll::Ready(written) = &progress {
            (self.on_write)();
            self.taken += written.as_ref().map_or(0, |bytes| *bytes);
            if self.taken >= LEAST_PROGRESS {
                self.waiting = None;
            }
            return progress;
        }
        self.judge(context, progress)
    }

    /// Starts the clock if the client lets the server wait, and stops it when everything is sent.
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
        let taken = &mut self.taken;
        let waiting = self.waiting.get_or_insert_with(|| {
            *taken = 0;
            Box::pin(tokio::time::sleep_until(Instant::now() + patience))
        });
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(std::io::ErrorKind::TimedOut.into()))
    }
}

impl<T: Read + Unpin, F: Unpin> Read for StallGuard<T, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: Write + Unpin, F: Fn() + Unpin> Write for StallGuard<T, F> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let progress = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.written(context, progress)
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
        self.written(context, progress)
    }
}
