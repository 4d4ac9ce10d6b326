//! What is done beside runs: their remains are cleared away, and the next helper is started.

use std::{
    sync::{
        Arc, OnceLock,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    super::cgroup::Group,
    PATIENCE,
    helpers::{Helper, Helpers},
};
use crate::isolation::Tier;

/// How long a run may take before the next helper is started beside it. A shorter one shall not have
/// to share the processors with that.
const SHORT_RUN: Duration = Duration::from_millis(20);

/// What a run leaves when its result is there: a helper that takes its namespaces apart, and a group.
pub(super) struct Remains {
    pub(super) helper: Helper,
    pub(super) group: Option<Group>,
}

impl Remains {
    /// Waits until the helper is gone.
    pub(super) fn end(&mut self) {
        self.helper.end(PATIENCE);
    }
}

enum Errand {
    /// A helper was taken.
    Taken(Tier),
    Start(Tier),
    Clear(Remains),
    /// Everything that was asked for before is done.
    Settle(Sender<()>),
}

/// A thread for errands; made with the first of them, and gone with this value.
#[derive(Debug)]
pub(super) struct Attendant {
    helpers: Arc<Helpers>,
    /// None where a thread cannot be made.
    thread: OnceLock<Option<(Sender<Errand>, JoinHandle<()>)>>,
}

impl Attendant {
    pub(super) fn new(helpers: Arc<Helpers>) -> Self {
        Self { helpers, thread: OnceLock::new() }
    }

    /// Starts the helper of the next run.
    pub(super) fn start(&self, tier: Tier) {
        self.send(Errand::Start(tier));
    }

    /// Is told that a helper was taken, and starts the next one when this is a good time.
    pub(super) fn taken(&self, tier: Tier) {
        self.send(Errand::Taken(tier));
    }

    /// Clears away what a run left.
    pub(super) fn clear(&self, remains: Remains) {
        self.send(Errand::Clear(remains));
    }

    /// Waits until everything is done that was asked for.
    pub(super) fn settle(&self) {
        let (done, settled) = channel();
        self.send(Errand::Settle(done));
        // The other end is dropped without a word where there is no thread.
        let _ = settled.recv();
    }

    fn send(&self, errand: Errand) {
        let thread = self.thread.get_or_init(|| {
            let (errands, received) = channel();
            let helpers = Arc::clone(&self.helpers);
            let builder = std::thread::Builder::new().name("sandbox-attendant".to_owned());
            let thread = builder.spawn(move || attend(&received, &helpers)).ok()?;
            Some((errands, thread))
        });
        if let Some((errands, _)) = thread {
            // What cannot be sent is dropped here, which clears it away, too.
            let _ = errands.send(errand);
        }
    }
}

impl Drop for Attendant {
    fn drop(&mut self) {
        if let Some(Some((errands, thread))) = self.thread.take() {
            drop(errands);
            let _ = thread.join();
        }
    }
}

/// Does errands in turn until nobody can send any.
fn attend(errands: &Receiver<Errand>, helpers: &Helpers) {
    let mut missing: Option<(Tier, Instant)> = None;
    loop {
        let errand = match missing {
            None => errands.recv().map_err(RecvTimeoutError::from),
            Some((_, due)) => errands.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        let mut waiting = None;
        match errand {
            Ok(Errand::Taken(tier)) => {
                missing.get_or_insert((tier, Instant::now() + SHORT_RUN));
                continue;
            }
            Ok(Errand::Start(tier)) => missing = Some((tier, Instant::now())),
            Ok(Errand::Clear(mut remains)) => remains.end(),
            Ok(Errand::Settle(done)) => waiting = Some(done),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if let Some((tier, _)) = missing.take() {
            helpers.prepare(tier);
        }
        if let Some(done) = waiting {
            helpers.wait_until_ready(PATIENCE);
            let _ = done.send(());
        }
    }
}
