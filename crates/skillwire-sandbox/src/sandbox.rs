//! Runs jobs in the strongest isolation there is, if that is enough.

mod cancel;
mod remembered;

use std::{path::PathBuf, sync::OnceLock, time::Duration};

pub use self::cancel::Cancel;
use self::remembered::Remembered;
use crate::{
    isolation::{Isolation, Missing, Policy, Tier, Unavailable},
    job::{InvalidJob, Job},
    outcome::{Outcome, Together},
};

/// Told now and then while a script runs.
#[derive(Debug, Clone, Copy)]
pub struct Tick {
    /// How long it has been running.
    pub elapsed: Duration,
    /// How many bytes it has written.
    pub output: usize,
}

/// Why a job was not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is not enough isolation here.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The job itself cannot be run.
    #[error(transparent)]
    Invalid(#[from] InvalidJob),
    /// A network grant needs a network namespace.
    #[error(
        "connections can be bounded only with full isolation, which this machine does not give"
    )]
    NetworkNeedsFull,
    /// The script could not be executed.
    #[error("the script could not be executed: {0}")]
    Exec(std::io::Error),
    /// Something else failed before or while it ran.
    #[error("the run could not be supervised: {0}")]
    Broken(std::io::Error),
}

/// Runs jobs.
#[derive(Debug)]
pub struct Sandbox {
    policy: Policy,
    /// The program whose `main` begins with [`helper::enter`](crate::helper::enter).
    helper: PathBuf,
    remembered: Option<Remembered>,
    tiers: Vec<Tier>,
    isolation: OnceLock<Result<Isolation, Unavailable>>,
    /// Whether the helper of the next run is started ahead.
    ahead: bool,
    shared: OnceLock<platform::Shared>,
}

impl Sandbox {
    /// Uses this very program as its helper.
    pub fn new(policy: Policy) -> Self {
        Self::with_helper(policy, PathBuf::from("/proc/self/exe"))
    }

    /// Uses another program as the helper, for callers whose `main` is not their own.
    pub fn with_helper(policy: Policy, helper: PathBuf) -> Self {
        let tiers = vec![Tier::Full, Tier::Restricted];
        let (remembered, ahead, isolation, shared) = Default::default();
        Self { policy, helper, remembered, tiers, isolation, ahead, shared }
    }

    /// Remembers in this file what this machine gives, until it or this program is started anew
    /// from other bytes.
    #[must_use]
    pub fn remembering(mut self, file: PathBuf) -> Self {
        self.remembered = Some(Remembered::new(file));
        self
    }

    /// Keeps one helper ready for the next run, for programs that run many.
    #[must_use]
    pub fn keeping_one_ready(mut self) -> Self {
        self.ahead = true;
        self
    }

    /// Uses this tier and no other, even where a stronger one could be had.
    #[must_use]
    pub fn only(mut self, tier: Tier) -> Self {
        self.tiers = vec![tier];
        self
    }

    /// What this machine gives, tried by running a script from start to end.
    ///
    /// Tried once; remembered as long as this value lives.
    pub fn isolation(&self) -> Result<Isolation, Unavailable> {
        let known = self.isolation.get_or_init(|| {
            let remembered = self.remembered.as_ref();
            if let Some(isolation) = remembered.and_then(|file| file.read(&self.helper)) {
                return Ok(isolation);
            }
            let tried = self.try_tiers();
            if let (Some(file), Ok(isolation)) = (remembered, &tried) {
                file.write(&self.helper, isolation);
            }
            tried
        });
        match known {
            Ok(found) if found.tier < Tier::Full && !self.policy.accept_restricted => {
                Err(Unavailable { missing: found.missing.clone() })
            }
            known => known.clone(),
        }
    }

    /// What bounds all processes of a run together. It depends on how this process was started.
    pub fn together(&self) -> Together {
        self.shared().together()
    }

    fn shared(&self) -> &platform::Shared {
        self.shared.get_or_init(|| platform::shared(self.helper.clone(), self.ahead))
    }

    fn try_tiers(&self) -> Result<Isolation, Unavailable> {
        let mut missing = Vec::new();
        for tier in self.tiers.iter().copied() {
            match self.try_tier(tier) {
                Ok(notes) => return Ok(Isolation { tier, notes, missing }),
                Err(lacking) => missing.push(lacking),
            }
        }
        Err(Unavailable { missing })
    }

    /// Runs a script in a tier and says what the machine does not give within it, or why it failed.
    pub fn try_tier(&self, tier: Tier) -> Result<Vec<String>, Missing> {
        platform::check(self.policy, tier)?;
        platform::probe(self.shared(), tier)
    }

    /// Starts the helper of the next run now, for programs that have something else to do first.
    ///
    /// Does nothing where no script can be run.
    pub fn get_ready(&self) {
        if let Ok(isolation) = self.isolation() {
            self.shared().get_ready(isolation.tier);
        }
    }

    /// Waits until nothing of earlier runs is left, and the next helper is ready where one is kept so.
    pub fn settle(&self) {
        self.shared().settle();
    }

    /// Runs a job from start to end; blocks until every process of the script is gone. The helper's own
    /// namespaces are taken apart afterwards; [`settle`](Self::settle) waits for that.
    ///
    /// `tick` is told now and then how far it is.
    pub fn run(
        &self,
        job: &Job,
        cancel: &Cancel,
        tick: &mut dyn FnMut(&Tick),
    ) -> Result<Outcome, RunError> {
        let tier = self.isolation()?.tier;
        if tier < Tier::Full && !job.destinations().is_empty() {
            return Err(RunError::NetworkNeedsFull);
        }
        let outcome = platform::run(self.shared(), job, tier, cancel, tick);
        if let (Err(RunError::Unavailable(_)), Some(file)) = (&outcome, &self.remembered) {
            // It was true once and is no longer.
            file.forget();
        }
        outcome
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod platform {
    use std::path::PathBuf;

    use super::{Cancel, RunError, Tick};
    use crate::{
        isolation::{Missing, Policy, Tier, Unavailable},
        job::Job,
        linux::{
            cgroup::Groups,
            supervisor::{self, Failed, Helpers},
        },
        outcome::Outcome,
    };

    pub(super) use crate::linux::{probe::probe, supervisor::Shared};

    pub(super) fn shared(helper: PathBuf, ahead: bool) -> Shared {
        Shared::new(Helpers::new(helper, ahead), Groups::here())
    }

    /// Only one kind of processor was tried.
    pub(super) fn check(policy: Policy, tier: Tier) -> Result<(), Missing> {
        if cfg!(target_arch = "x86_64") || policy.accept_untested_processor {
            return Ok(());
        }
        Err(Missing {
            tier,
            what: "a processor that the filter of system calls was tried on".to_owned(),
            why: format!("this one is {}", std::env::consts::ARCH),
            hint: "Use an x86-64 machine.".to_owned(),
        })
    }

    pub(super) fn run(
        shared: &Shared,
        job: &Job,
        tier: Tier,
        cancel: &Cancel,
        tick: &mut dyn FnMut(&Tick),
    ) -> Result<Outcome, RunError> {
        match supervisor::run(shared, job, tier, cancel, tick) {
            Ok(finished) => Ok(finished.outcome),
            Err(Failed::Step { what, why, hint }) => {
                let (what, hint) = (what.to_owned(), hint.to_owned());
                Err(Unavailable::one(Missing { tier, what, why, hint }).into())
            }
            Err(Failed::Exec(error)) => Err(RunError::Exec(error)),
            Err(Failed::Supervisor(error)) => Err(RunError::Broken(error)),
        }
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod platform {
    use std::path::PathBuf;

    use super::{Cancel, RunError, Tick};
    use crate::{
        isolation::{Missing, Policy, Tier, Unavailable},
        job::Job,
        outcome::{Outcome, Together},
    };

    pub(super) fn check(_: Policy, tier: Tier) -> Result<(), Missing> {
        Err(missing(tier))
    }

    /// There is nothing to share.
    #[derive(Debug)]
    pub(super) struct Shared;

    impl Shared {
        #[expect(clippy::unused_self, reason = "elsewhere it depends on the process")]
        pub(super) fn together(&self) -> Together {
            Together::Counted { why: "there are none on this system".to_owned() }
        }

        #[expect(clippy::unused_self, reason = "elsewhere there are helpers")]
        pub(super) fn get_ready(&self, _: Tier) {}

        #[expect(clippy::unused_self, reason = "elsewhere there is something to wait for")]
        pub(super) fn settle(&self) {}
    }

    pub(super) fn shared(_: PathBuf, _: bool) -> Shared {
        Shared
    }

    pub(super) fn probe(_: &Shared, tier: Tier) -> Result<Vec<String>, Missing> {
        Err(missing(tier))
    }

    pub(super) fn run(
        _: &Shared,
        _: &Job,
        tier: Tier,
        _: &Cancel,
        _: &mut dyn FnMut(&Tick),
    ) -> Result<Outcome, RunError> {
        Err(Unavailable::one(missing(tier)).into())
    }

    fn missing(tier: Tier) -> Missing {
        Missing {
            tier,
            what: "Linux on x86-64".to_owned(),
            why: format!("this is {} on {}", std::env::consts::OS, std::env::consts::ARCH),
            hint: "Run scripts on a Linux machine.".to_owned(),
        }
    }
}
