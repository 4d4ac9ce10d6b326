//! Stops a run from another thread.

use std::sync::Arc;

/// Stops the runs that it was given to. Clones stop the same runs.
///
/// Once cancelled it stays cancelled: a run that is started with it afterwards is stopped at once.
#[derive(Debug, Clone)]
pub struct CancelHandle(Arc<CancelSignal>);

/// An event descriptor, which the supervisor polls together with the script's streams.
#[cfg(target_os = "linux")]
#[derive(Debug)]
struct CancelSignal(std::os::fd::OwnedFd);

#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
struct CancelSignal;

#[cfg(target_os = "linux")]
impl CancelHandle {
    /// Creates a handle; fails where the process has no file descriptor left.
    pub fn new() -> std::io::Result<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self(Arc::new(CancelSignal(eventfd(0, flags)?))))
    }

    /// Stops the runs that use this handle, now and later.
    pub fn cancel(&self) {
        // Fails only when the counter is full, and then it has been written to before.
        let _ = rustix::io::write(&self.0.0, &1_u64.to_ne_bytes());
    }

    pub(crate) fn descriptor(&self) -> std::os::fd::BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.0.0)
    }
}

#[cfg(not(target_os = "linux"))]
impl CancelHandle {
    /// Creates a handle.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self(Arc::new(CancelSignal)))
    }

    /// Does nothing: scripts are run on Linux only.
    pub fn cancel(&self) {
        let CancelSignal = *self.0;
    }
}
