//! The thread that keeps skills up to date.

use std::{io, sync::Arc};

use tokio::sync::watch;

use crate::live::SourceFollower;

/// A thread that follows the sources until this value goes away.
///
/// The thread has its own runtime, so that a program can build skills before it has one, and so
/// that reading files never delays the program's tasks.
#[derive(Debug)]
pub(crate) struct FollowingThread {
    _stop: watch::Sender<()>,
}

impl FollowingThread {
    pub(crate) fn start(follower: &Arc<SourceFollower>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let (stop, mut stopped) = watch::channel(());
        let follower = Arc::clone(follower);
        let follow = async move {
            tokio::select! {
                () = follower.follow(async || std::future::pending().await) => {}
                // The value never changes; this ends when the sender is dropped.
                _ = stopped.changed() => {}
            }
        };
        let thread = std::thread::Builder::new().name("skillwire".to_owned());
        thread.spawn(move || runtime.block_on(follow))?;
        Ok(Self { _stop: stop })
    }
}
