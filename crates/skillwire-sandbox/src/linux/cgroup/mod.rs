//! Cgroups, in which the kernel bounds all processes of a run together.
//!
//! Those of version 2 are used where this process was given a cgroup that it may divide, or where the
//! user's systemd manager gives the fork server one; and those of version 1 where this process is root.
//! A run without one is still bounded: each process by kernel limits, all of them together by samples
//! (see `supervisor`).

mod delegated_cgroup;
mod run_cgroup;
mod user_manager;

use std::sync::Arc;

use self::delegated_cgroup::{DelegatedCgroup, Unusable};
pub(super) use self::{
    run_cgroup::{RunCgroup, bytes_in_folders},
    user_manager::UserManager,
};
use crate::{job::ScriptJob, outcome::AggregateEnforcement};

/// Where the cgroups of runs are created.
#[derive(Debug)]
pub(crate) enum CgroupSource {
    /// Below a cgroup that this process found; or nowhere, for a reason that does not change.
    Known(Arc<RunCgroups>),
    /// Below a cgroup that the user's systemd manager gives to the fork server.
    UserManager {
        manager: UserManager,
        /// Why this process has none.
        own: Unusable,
    },
}

impl CgroupSource {
    /// Finds the cgroup of this process and prepares it. That may move this process into a cgroup
    /// below its own. Asks no other program.
    pub(crate) fn detect() -> Self {
        let own = match DelegatedCgroup::detect() {
            Ok(delegated) => return Self::Known(Arc::new(RunCgroups(Ok(delegated)))),
            Err(own) => own,
        };
        match UserManager::find() {
            Ok(manager) => Self::UserManager { manager, own },
            Err(absent) => Self::Known(RunCgroups::none(&own, &absent)),
        }
    }
}

/// The version 2 cgroup of this process.
#[cfg(test)]
pub(super) fn own_cgroup() -> Option<std::path::PathBuf> {
    delegated_cgroup::OwnCgroup::of_this_process().map(|own| own.path)
}

/// Creates the cgroups of runs, or knows why none can be created.
#[derive(Debug)]
pub(crate) struct RunCgroups(Result<DelegatedCgroup, Unusable>);

impl RunCgroups {
    /// The cgroup that the user's systemd manager gave to the process `pid`.
    pub(super) fn given_to(pid: u32) -> Result<Arc<Self>, Unusable> {
        Ok(Arc::new(Self(Ok(DelegatedCgroup::of_process(pid)?))))
    }

    /// No cgroup, because this process has none and because nothing else gives one.
    pub(super) fn none(own: &str, others: &str) -> Arc<Self> {
        Arc::new(Self(Err(format!("{own}, and {others}"))))
    }

    /// Whether the memory of runs is bounded.
    pub(crate) fn hold_memory(&self) -> bool {
        self.0.as_ref().is_ok_and(|delegated| delegated.controllers.contains(&"memory"))
    }

    /// How runs will be bounded, as far as that is known before one.
    pub(crate) fn enforcement(&self) -> AggregateEnforcement {
        match &self.0 {
            Ok(delegated) => {
                let controllers = delegated.controllers.iter().map(|name| (*name).to_owned());
                AggregateEnforcement::Cgroup { controllers: controllers.collect() }
            }
            Err(why) => AggregateEnforcement::Sampled { why: why.clone() },
        }
    }

    /// Creates the cgroup of one run and puts the process `pid` into it. Also says how the run is
    /// bounded, which is by samples where that fails.
    pub(super) fn create(
        &self,
        job: &ScriptJob,
        pid: u32,
    ) -> (Option<RunCgroup>, AggregateEnforcement) {
        match self.try_create(job, pid) {
            Ok(cgroup) => (Some(cgroup), self.enforcement()),
            Err(why) => (None, AggregateEnforcement::Sampled { why }),
        }
    }

    fn try_create(&self, job: &ScriptJob, pid: u32) -> Result<RunCgroup, String> {
        let delegated = self.0.as_ref().map_err(Clone::clone)?;
        let mut cgroup = RunCgroup::new(delegated, job)
            .map_err(|error| format!("a cgroup for this run could not be created ({error})"))?;
        cgroup
            .admit(pid)
            .map_err(|error| format!("this run could not be put into its cgroup ({error})"))?;
        Ok(cgroup)
    }
}
