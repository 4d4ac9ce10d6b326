//! The one place that knows whether this system can run scripts at all.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use self::supported::*;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(crate) use self::unsupported::*;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod supported {
    use std::{path::PathBuf, process::ExitCode};

    pub(crate) use crate::linux::{supervisor::RunSupervisor, tier_probe::probe};
    use crate::{
        cancel::CancelHandle,
        isolation::{IsolationPolicy, IsolationTier, IsolationUnavailable, MissingRequirement},
        job::ScriptJob,
        linux::{
            cgroup::CgroupSource,
            helper,
            supervisor::{HelperPool, RunFailure},
        },
        outcome::RunOutcome,
        sandbox::{RunError, RunObserver},
    };

    pub(crate) fn run_helper() -> ExitCode {
        helper::run()
    }

    pub(crate) fn supervisor(helper: PathBuf, standby_helper: bool) -> RunSupervisor {
        let cgroups = CgroupSource::detect();
        RunSupervisor::new(HelperPool::new(helper, standby_helper, cgroups))
    }

    /// Refuses processors for which the system call filter was never tested, unless the policy
    /// accepts them. System call numbers differ between processors, so an error in the list could
    /// allow the wrong call.
    pub(crate) fn check_processor(
        policy: IsolationPolicy,
        tier: IsolationTier,
    ) -> Result<(), MissingRequirement> {
        if cfg!(target_arch = "x86_64") || policy.accept_untested_processor {
            return Ok(());
        }
        Err(MissingRequirement {
            tier,
            what: "a processor that the system call filter was tested on".to_owned(),
            why: format!("this one is {}", std::env::consts::ARCH),
            hint: "Use an x86-64 machine.".to_owned(),
        })
    }

    pub(crate) fn run(
        supervisor: &RunSupervisor,
        job: &ScriptJob,
        tier: IsolationTier,
        cancel: &CancelHandle,
        observer: &mut dyn RunObserver,
    ) -> Result<RunOutcome, RunError> {
        match supervisor.run(job, tier, cancel, observer) {
            Ok(finished) => Ok(finished.outcome),
            Err(RunFailure::Isolation { what, why, hint }) => {
                let missing =
                    MissingRequirement { tier, what: what.to_owned(), why, hint: hint.to_owned() };
                Err(IsolationUnavailable::one(missing).into())
            }
            Err(RunFailure::Exec(error)) => Err(RunError::Exec(error)),
            Err(RunFailure::Supervision(error)) => Err(RunError::Supervision(error)),
        }
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod unsupported {
    use std::{path::PathBuf, process::ExitCode};

    use crate::{
        cancel::CancelHandle,
        enforced_limit::{LimitEnforcement, LimitHolders},
        isolation::{IsolationPolicy, IsolationTier, IsolationUnavailable, MissingRequirement},
        job::ScriptJob,
        outcome::{AggregateEnforcement, RunOutcome},
        sandbox::{RunError, RunObserver},
    };

    pub(crate) fn run_helper() -> ExitCode {
        ExitCode::FAILURE
    }

    pub(crate) fn check_processor(
        _: IsolationPolicy,
        tier: IsolationTier,
    ) -> Result<(), MissingRequirement> {
        Err(missing(tier))
    }

    #[derive(Debug)]
    pub(crate) struct RunSupervisor;

    impl RunSupervisor {
        #[expect(clippy::unused_self, reason = "on Linux it depends on the process")]
        pub(crate) fn aggregate_enforcement(&self) -> AggregateEnforcement {
            AggregateEnforcement::Sampled { why: "this system has no cgroups".to_owned() }
        }

        #[expect(clippy::unused_self, reason = "on Linux it depends on the process")]
        pub(crate) fn limit_holders(&self, _: IsolationTier) -> LimitHolders {
            LimitHolders {
                memory: LimitEnforcement::Counted,
                processes: LimitEnforcement::Counted,
                folders: LimitEnforcement::Counted,
            }
        }

        #[expect(clippy::unused_self, reason = "on Linux there are helpers")]
        pub(crate) fn prestart_helper(&self, _: IsolationTier) {}

        #[expect(clippy::unused_self, reason = "on Linux there is something to wait for")]
        pub(crate) fn wait_for_cleanup(&self) {}
    }

    pub(crate) fn supervisor(_: PathBuf, _: bool) -> RunSupervisor {
        RunSupervisor
    }

    pub(crate) fn probe(
        _: &RunSupervisor,
        tier: IsolationTier,
    ) -> Result<Vec<String>, MissingRequirement> {
        Err(missing(tier))
    }

    pub(crate) fn run(
        _: &RunSupervisor,
        _: &ScriptJob,
        tier: IsolationTier,
        _: &CancelHandle,
        _: &mut dyn RunObserver,
    ) -> Result<RunOutcome, RunError> {
        Err(IsolationUnavailable::one(missing(tier)).into())
    }

    fn missing(tier: IsolationTier) -> MissingRequirement {
        MissingRequirement {
            tier,
            what: "Linux on x86-64".to_owned(),
            why: format!("this is {} on {}", std::env::consts::OS, std::env::consts::ARCH),
            hint: "Run scripts on a Linux machine.".to_owned(),
        }
    }
}
