//! A thread that cleans up after runs and starts the next helper, so that no run waits for that.

use std::{
    sync::{
        Arc, OnceLock,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    super::{cgroup::RunCgroup, folder_removal},
    HELPER_TIMEOUT,
    helper_pool::{HelperPool, HelperProcess},
};
use crate::isolation::IsolationTier;

/// How long a run may take before the next helper is started beside it. A shorter run does not have
/// to share the processors with that.
const SHORT_RUN: Duration = Duration::from_millis(20);

/// What is left of a run when its outcome is known: a helper that takes its namespaces apart, and
/// the run's cgroup.
///
/// The fields are dropped in this order. The cgroup can only be removed once no process is left in
/// it.
pub(super) struct RunRemains {
    pub(super) helper: HelperProcess,
    pub(super) cgroup: Option<RunCgroup>,
}

impl RunRemains {
    /// Waits until the helper has ended.
    pub(super) fn end(&mut self) {
        self.helper.end(HELPER_TIMEOUT);
    }

    /// Waits until the helper of a run that did not come to its end has ended, and ends what it left.
    pub(super) fn end_unfinished(&mut self) {
        self.end();
        self.helper.end_orphans();
    }
}

enum MaintenanceTask {
    /// A run took the standby helper.
    HelperTaken(IsolationTier),
    StartHelper(IsolationTier),
    CleanUp(RunRemains),
    /// Answers when every earlier task is done.
    Synchronise(Sender<()>),
}

/// The handle of the thread. The thread starts with the first task and ends when this is dropped.
#[derive(Debug)]
pub(super) struct MaintenanceThread {
    helpers: Arc<HelperPool>,
    /// `None` inside the lock where no thread could be started.
    thread: OnceLock<Option<(Sender<MaintenanceTask>, JoinHandle<()>)>>,
}

impl MaintenanceThread {
    pub(super) fn new(helpers: Arc<HelperPool>) -> Self {
        Self { helpers, thread: OnceLock::new() }
    }

    /// Starts the helper of the next run.
    pub(super) fn start_helper(&self, tier: IsolationTier) {
        self.send(MaintenanceTask::StartHelper(tier));
    }

    /// Starts the helper of the next run once the current one is over, or has taken a while.
    pub(super) fn replace_taken_helper(&self, tier: IsolationTier) {
        self.send(MaintenanceTask::HelperTaken(tier));
    }

    /// Cleans up after a run.
    pub(super) fn clean_up(&self, remains: RunRemains) {
        self.send(MaintenanceTask::CleanUp(remains));
    }

    /// Waits until every earlier task is done.
    pub(super) fn wait_until_done(&self) {
        let (done, waiting) = channel();
        self.send(MaintenanceTask::Synchronise(done));
        // Without a thread the sender was dropped, and this returns at once.
        let _ = waiting.recv();
    }

    fn send(&self, task: MaintenanceTask) {
        let thread = self.thread.get_or_init(|| {
            let (tasks, received) = channel();
            let helpers = Arc::clone(&self.helpers);
            let builder = std::thread::Builder::new().name("sandbox-maintenance".to_owned());
            let thread = builder.spawn(move || work(&received, &helpers)).ok()?;
            Some((tasks, thread))
        });
        if let Some((tasks, _)) = thread {
            // A task that cannot be sent is dropped here, which cleans up as well.
            let _ = tasks.send(task);
        }
    }
}

impl Drop for MaintenanceThread {
    fn drop(&mut self) {
        if let Some(Some((tasks, thread))) = self.thread.take() {
            drop(tasks);
            let _ = thread.join();
        }
    }
}

/// Does tasks in order until the handle is dropped.
fn work(tasks: &Receiver<MaintenanceTask>, helpers: &HelperPool) {
    // The tier of the standby helper that is missing, and when it is started at the latest.
    let mut missing_helper: Option<(IsolationTier, Instant)> = None;
    let mut swept = false;
    loop {
        let task = match missing_helper {
            None => tasks.recv().map_err(RecvTimeoutError::from),
            Some((_, due)) => tasks.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        let mut waiting = None;
        match task {
            Ok(MaintenanceTask::HelperTaken(tier)) => {
                missing_helper.get_or_insert((tier, Instant::now() + SHORT_RUN));
                continue;
            }
            Ok(MaintenanceTask::StartHelper(tier)) => {
                missing_helper = Some((tier, Instant::now()));
            }
            Ok(MaintenanceTask::CleanUp(mut remains)) => {
                remains.end();
                drop(remains);
                // After the first run, which does not wait for it.
                if !std::mem::replace(&mut swept, true) {
                    folder_removal::remove_abandoned();
                }
            }
            Ok(MaintenanceTask::Synchronise(done)) => waiting = Some(done),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        // A run has just ended, took a while, or the caller asked: this is a good time.
        if let Some((tier, _)) = missing_helper.take() {
            helpers.prepare(tier);
        }
        if let Some(done) = waiting {
            helpers.wait_until_ready(HELPER_TIMEOUT);
            let _ = done.send(());
        }
    }
}
