//! The thread that keeps skills up to date.

use std::{io, sync::Arc};

use tokio::sync::watch;

use crate::live::Keeper;

/// A thread that follows the sources until this value goes away.
///
/// It has a runtime of its own, so that skills can be put together before there is one, and so that
/// reading files never takes time from the program's tasks.
#[derive(Debug)]
pub(crate) struct Following {
    _stop: watch::Sender<()>,
}

impl Following {
    pub(crate) fn start(keeper: &Arc<Keeper>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let (stop, mut stopped) = watch::channel(());
        let keeper = Arc::clone(keeper);
        let follow = async move {
            tokio::select! {
                () = keeper.follow(async || std::future::pending().await) => {}
                // Only an error ever comes: that the sender is gone.
                _ = stopped.changed() => {}
            }
        };
        let thread = std::thread::Builder::new().name("skillwire".to_owned());
        thread.spawn(move || runtime.block_on(follow))?;
        Ok(Self { _stop: stop })
    }
}
