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

    /// What the user of a machine should know about it, if anything is less than it could be.
    pub(crate) fn note(&self) -> Option<String> {
        let why = self.0.as_ref().err()?;
        Some(format!(
            "Memory, processor time and processes of a run are bounded for each process and added up \
             fifty times a second; no cgroup bounds them, because {why}."
        ))
    }

    /// Makes the group of one run. Without one the run is still bounded, less exactly.
    pub(super) fn make(&self, job: &Job) -> (Option<Group>, Together) {
        let made = match &self.0 {
            Ok(delegated) => Group::new(delegated, job)
                .map_err(|error| format!("a cgroup for this run could not be made ({error})")),
            Err(why) => Err(why.clone()),
        };
        match made {
            Ok(group) => {
                let controllers = group.controllers().map(str::to_owned).collect();
                (Some(group), Together::Cgroup { controllers })
            }
            Err(why) => (None, Together::Counted { why }),
        }
    }
}
