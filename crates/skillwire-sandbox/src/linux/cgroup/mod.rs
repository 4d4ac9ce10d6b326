//! Groups of processes that the kernel bounds as a whole, where this process was given such a group.

mod delegated;
mod group;

use self::delegated::Delegated;
pub(super) use self::group::Group;
use crate::{job::Job, outcome::Together};

/// Where groups of runs are made, or why none are.
#[derive(Debug)]
pub(crate) struct Groups(Result<Delegated, String>);

impl Groups {
    /// Looks at what this process was given, and takes it.
    pub(crate) fn here() -> Self {
        Self(Delegated::take())
    }

    /// What bounds runs, as far as it is known before one.
    pub(crate) fn together(&self) -> Together {
        match &self.0 {
            Ok(delegated) => {
                let controllers = delegated.controllers.iter().map(|name| (*name).to_owned());
                Together::Cgroup { controllers: controllers.collect() }
            }
            Err(why) => Together::Counted { why: why.clone() },
        }
    }

    /// Makes the group of one run and puts the process `pid` into it. Without one the run is still
    /// bounded, less exactly.
    pub(super) fn make(&self, job: &Job, pid: u32) -> (Option<Group>, Together) {
        match self.made(job, pid) {
            Ok(group) => (Some(group), self.together()),
            Err(why) => (None, Together::Counted { why }),
        }
    }

    fn made(&self, job: &Job, pid: u32) -> Result<Group, String> {
        let delegated = self.0.as_ref().map_err(Clone::clone)?;
        let group = Group::new(delegated, job)
            .map_err(|error| format!("a cgroup for this run could not be made ({error})"))?;
        group
            .add(pid)
            .map_err(|error| format!("this run could not be put into its cgroup ({error})"))?;
        Ok(group)
    }
}
