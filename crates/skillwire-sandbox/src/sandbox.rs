//! Runs jobs in the strongest isolation that the machine gives, if the policy accepts it.

use std::{
    path::PathBuf,
    sync::OnceLock,
    time::{Duration, Instant},
};

use crate::{
    cancel::CancelHandle,
    enforced_limit::EnforcedLimit,
    isolation::{
        AvailableIsolation, IsolationPolicy, IsolationTier, IsolationUnavailable,
        MissingRequirement,
    },
    isolation_cache::IsolationCache,
    job::{InvalidJob, ScriptJob},
    limit_trials::{LIMIT_TRIALS, TriedLimit},
    limits::RunLimits,
    outcome::{AggregateEnforcement, RunOutcome},
    platform,
};

/// How far a run is. The sandbox reports it many times a second while a script runs.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RunProgress {
    /// How long the run has taken so far.
    pub elapsed: Duration,
    /// How many bytes the script has written to both streams.
    pub output_bytes: usize,
}

/// One of a script's two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// What a caller does with news about a run that is under way. The run waits for each call.
pub trait RunObserver {
    /// Is called many times a second.
    fn progress(&mut self, _: &RunProgress) {}

    /// Whether [`output`](Self::output) is called. Asked once, before the run.
    fn wants_output(&self) -> bool {
        false
    }

    /// Is called with text as the script writes it: valid UTF-8 without control sequences. The
    /// outcome holds the beginning of it as well.
    fn output(&mut self, _: OutputStream, _: &str) {}
}

/// Does nothing with news.
pub(crate) struct NoObserver;

impl RunObserver for NoObserver {}

/// Passes on how far a run is, and nothing else.
struct ProgressObserver<'a>(&'a mut dyn FnMut(&RunProgress));

impl RunObserver for ProgressObserver<'_> {
    fn progress(&mut self, progress: &RunProgress) {
        (self.0)(progress);
    }
}

/// Why a job was not run, or has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The machine does not give the isolation that the policy asks for.
    #[error(transparent)]
    Unavailable(#[from] IsolationUnavailable),
    /// The job itself cannot be run.
    #[error(transparent)]
    Invalid(#[from] InvalidJob),
    /// A network grant needs a network namespace: Landlock can bound ports, but not addresses.
    #[error("a network grant needs full isolation, which this machine does not give")]
    NetworkNeedsFull,
    /// All layers of isolation were in place, but the kernel could not execute the script.
    #[error("the script could not be executed: {0}")]
    Exec(#[source] std::io::Error),
    /// The supervisor or the helper process failed.
    #[error("the run could not be supervised: {0}")]
    Supervision(#[source] std::io::Error),
}

/// Runs jobs in isolation.
#[derive(Debug)]
pub struct Sandbox {
    policy: IsolationPolicy,
    /// The program whose `main` begins with [`run_if_helper`](crate::run_if_helper).
    helper: PathBuf,
    cache: Option<IsolationCache>,
    /// The tiers to try, the strongest first.
    tiers: Vec<IsolationTier>,
    isolation: OnceLock<Result<AvailableIsolation, IsolationUnavailable>>,
    /// Whether the helper of the next run is started before that run begins.
    standby_helper: bool,
    supervisor: OnceLock<platform::RunSupervisor>,
}

impl Sandbox {
    /// Creates a sandbox that uses this very program as its helper.
    ///
    /// The program must call [`run_if_helper`](crate::run_if_helper) first in its `main`.
    pub fn new(policy: IsolationPolicy) -> Self {
        Self::with_helper(policy, PathBuf::from("/proc/self/exe"))
    }

    /// Creates a sandbox that uses another program as its helper, for callers that cannot change
    /// their `main`, such as tests.
    pub fn with_helper(policy: IsolationPolicy, helper: PathBuf) -> Self {
        Self {
            policy,
            helper,
            cache: None,
            tiers: vec![IsolationTier::Full, IsolationTier::Restricted],
            isolation: OnceLock::new(),
            standby_helper: false,
            supervisor: OnceLock::new(),
        }
    }

    /// Keeps the answer of [`isolation`](Self::isolation) in this file, until the machine boots
    /// again or the helper program changes.
    #[must_use]
    pub fn with_isolation_cache(mut self, file: PathBuf) -> Self {
        self.cache = Some(IsolationCache::new(file));
        self
    }

    /// Keeps one helper process ready for the next run, for programs that run many scripts.
    #[must_use]
    pub fn with_standby_helper(mut self) -> Self {
        self.standby_helper = true;
        self
    }

    /// Uses this tier alone, even where a stronger one is available.
    #[must_use]
    pub fn only_tier(mut self, tier: IsolationTier) -> Self {
        self.tiers = vec![tier];
        self
    }

    /// The isolation that this machine gives, found by running a script from start to end.
    ///
    /// The script runs once for each value of this type; see also
    /// [`with_isolation_cache`](Self::with_isolation_cache).
    #[tracing::instrument(level = "debug", skip_all)]
    pub fn isolation(&self) -> Result<AvailableIsolation, IsolationUnavailable> {
        let known = self.isolation.get_or_init(|| {
            if let Some(isolation) = self.cache.as_ref().and_then(|cache| cache.read(&self.helper))
            {
                return Ok(isolation);
            }
            let probed = self.probe_tiers();
            if let (Some(cache), Ok(isolation)) = (&self.cache, &probed) {
                cache.write(&self.helper, isolation);
            }
            probed
        });
        match known {
            Ok(found) if found.tier < IsolationTier::Full && !self.policy.accept_restricted => {
                Err(IsolationUnavailable { missing: found.missing.clone() })
            }
            known => known.clone(),
        }
    }

    /// How limits on all processes of a run together will be enforced.
    ///
    /// That depends on the cgroup in which this process was started. The first call may move this
    /// process into a cgroup below its own, or ask the user's systemd manager for one and wait for its
    /// answer, at most 2 seconds.
    pub fn aggregate_enforcement(&self) -> AggregateEnforcement {
        self.supervisor().aggregate_enforcement()
    }

    /// The limits of a run in a tier, each with what will hold it.
    ///
    /// That depends on the cgroup and the user of this process; see
    /// [`aggregate_enforcement`](Self::aggregate_enforcement).
    pub fn enforced_limits(&self, tier: IsolationTier, limits: &RunLimits) -> Vec<EnforcedLimit> {
        self.supervisor().limit_holders(tier).limits(limits, None)
    }

    fn supervisor(&self) -> &platform::RunSupervisor {
        self.supervisor
            .get_or_init(|| platform::supervisor(self.helper.clone(), self.standby_helper))
    }

    fn probe_tiers(&self) -> Result<AvailableIsolation, IsolationUnavailable> {
        let mut missing = Vec::new();
        for tier in self.tiers.iter().copied() {
            match self.probe_tier(tier) {
                Ok(notes) => return Ok(AvailableIsolation { tier, notes, missing }),
                Err(requirement) => missing.push(requirement),
            }
        }
        Err(IsolationUnavailable { missing })
    }

    /// Runs a script in a tier. Returns what the machine does not give within that tier, or the
    /// requirement that made it fail.
    #[tracing::instrument(level = "debug", skip(self), fields(%tier), err(level = "debug"))]
    pub fn probe_tier(&self, tier: IsolationTier) -> Result<Vec<String>, MissingRequirement> {
        platform::check_processor(self.policy, tier)?;
        platform::probe(self.supervisor(), tier)
    }

    /// Runs a script beyond each limit in a tier, and says what held. Takes some seconds.
    #[tracing::instrument(level = "debug", skip(self), fields(%tier))]
    pub fn try_limits(&self, tier: IsolationTier) -> Vec<TriedLimit> {
        let holders = self.enforced_limits(tier, &RunLimits::default());
        let tried = LIMIT_TRIALS.iter().filter_map(|trial| {
            let enforcement = holders.iter().find(|holder| holder.limit == trial.limit)?;
            let started = Instant::now();
            let ended = trial.job().and_then(|job| {
                let cancel = CancelHandle::new().map_err(|error| error.to_string())?;
                let ran = platform::run(self.supervisor(), &job, tier, &cancel, &mut NoObserver);
                let end = ran.map_err(|error| error.to_string())?.end;
                Ok((end, trial.is_held(end, started, job.limits())))
            });
            let (end, held) = match ended {
                Ok((end, held)) => (end.to_string(), held),
                Err(why) => (format!("was not run: {why}"), false),
            };
            let enforcement = enforcement.enforcement.clone();
            Some(TriedLimit { limit: trial.limit, held, end, enforcement })
        });
        tried.collect()
    }

    /// Starts the helper of the next run in the background, for programs that have something else
    /// to do first, such as fetching files.
    ///
    /// Does nothing where no script can be run.
    pub fn prestart_helper(&self) {
        if let Ok(isolation) = self.isolation() {
            self.supervisor().prestart_helper(isolation.tier);
        }
    }

    /// Waits until nothing of earlier runs is left, and until the standby helper is ready where
    /// there is one.
    pub fn wait_for_cleanup(&self) {
        self.supervisor().wait_for_cleanup();
    }

    /// Runs a job from start to end, and blocks until every process of the script is gone.
    ///
    /// `on_progress` is called many times a second while the script runs. The helper takes its own
    /// namespaces apart after this returns; [`wait_for_cleanup`](Self::wait_for_cleanup) waits for
    /// that.
    pub fn run(
        &self,
        job: &ScriptJob,
        cancel: &CancelHandle,
        on_progress: &mut dyn FnMut(&RunProgress),
    ) -> Result<RunOutcome, RunError> {
        self.run_observed(job, cancel, &mut ProgressObserver(on_progress))
    }

    /// Does what [`run`](Self::run) does, and tells the observer what the script writes as it
    /// comes.
    #[tracing::instrument(
        level = "debug",
        skip_all,
        fields(script = %job.script, tier = tracing::field::Empty),
        err(level = "debug")
    )]
    pub fn run_observed(
        &self,
        job: &ScriptJob,
        cancel: &CancelHandle,
        observer: &mut dyn RunObserver,
    ) -> Result<RunOutcome, RunError> {
        let tier = self.isolation()?.tier;
        tracing::Span::current().record("tier", tracing::field::display(tier));
        if tier < IsolationTier::Full && !job.destinations().is_empty() {
            return Err(RunError::NetworkNeedsFull);
        }
        let result = platform::run(self.supervisor(), job, tier, cancel, observer);
        match &result {
            Ok(outcome) => tracing::debug!(end = %outcome.end, "the script ended"),
            // The cached answer was true once and is no longer.
            Err(RunError::Unavailable(_)) => self.cache.iter().for_each(IsolationCache::forget),
            Err(_) => {}
        }
        result
    }
}
