//! A way to stop a run from another thread.

use std::sync::Arc;

/// Stops the runs it was given to. Its copies are the same one.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<Inner>);

#[cfg(target_os = "linux")]
#[derive(Debug)]
struct Inner(std::os::fd::OwnedFd);

#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
struct Inner;

#[cfg(target_os = "linux")]
impl Cancel {
    /// Makes one.
    pub fn new() -> std::io::Result<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self(Arc::new(Inner(eventfd(0, flags)?))))
    }

    /// Stops what runs, and whatever would run with it later.
    pub fn cancel(&self) {
        // A counter that is full has been counted up before.
        let _ = rustix::io::write(&self.0.0, &1_u64.to_ne_bytes());
    }

    pub(crate) fn descriptor(&self) -> std::os::fd::BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.0.0)
    }
}

#[cfg(not(target_os = "linux"))]
impl Cancel {
    /// Makes one.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self(Arc::new(Inner)))
    }

    /// Stops what runs; nothing ever does here.
    pub fn cancel(&self) {
        let Inner = *self.0;
    }
}
