//! Runs scripts of published skills.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::Value;
use skillwire_core::{
    content_set::ContentSet,
    digest::Digest,
    path::RelPath,
    received::{self, EntryLimits},
};
use skillwire_sandbox::{
    interpreter::Interpreters,
    job::{Job, JobFile},
    outcome::Outcome,
    sandbox::{Cancel, RunError, Sandbox, Tick},
};
use skillwire_source::{FileTree, Skill, SkillContent};
use tokio::sync::{Semaphore, mpsc};

use crate::{
    arguments,
    audit::{self, Asked},
    outputs::{Keeping, Kept, Outputs},
    rules::Rules,
};

/// How many scripts run at once; others wait for their turn.
const AT_ONCE: usize = 8;

/// How often whoever waits is told that the script still runs.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Why a script was not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRun {
    /// No rule allows it, or what was asked for makes no sense. A sentence for the client.
    #[error("{0}")]
    Refused(String),
    /// The machine does not let it. A sentence for the client.
    #[error("{0}")]
    Failed(String),
}

/// What is to be run for whom.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The skill.
    pub skill: Arc<Skill>,
    /// The script, one of its files.
    pub script: RelPath,
    /// What the client sent as arguments.
    pub arguments: Option<Value>,
    /// The name of whoever asks; empty where nobody has one.
    pub caller: String,
}

/// A run that came to an end, and its files.
#[derive(Debug)]
pub struct Ran {
    /// What became of it.
    pub outcome: Outcome,
    /// The files that can be read.
    pub kept: Vec<Kept>,
}

/// Runs scripts that rules allow, each in isolation.
pub struct Scripts {
    sandbox: Arc<Sandbox>,
    interpreters: Interpreters,
    rules: Rules,
    outputs: Outputs,
    turns: Arc<Semaphore>,
}

impl fmt::Debug for Scripts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripts").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Scripts {
    /// Runs what these rules allow in this sandbox.
    pub fn new(sandbox: Sandbox, interpreters: Interpreters, rules: Rules) -> Self {
        Self {
            sandbox: Arc::new(sandbox),
            interpreters,
            rules,
            outputs: Outputs::new(Keeping::default()),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// The files that can be read.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// Runs a script. Dropping the future ends every process of it.
    pub async fn run(&self, wanted: Wanted, tell: impl Fn(&Tick)) -> Result<Ran, NotRun> {
        let asked = asked(&wanted)?;
        let job = match self.job(&wanted).await {
            Ok(job) => job,
            Err(why) => {
                audit::refused(&asked, &why);
                return Err(why);
            }
        };
        let outcome = self.run_job(job, asked, tell).await?;
        let kept = self.outputs.keep(&wanted.caller, &outcome.files);
        let no_id = |_| NotRun::Failed("The system gives no random numbers.".to_owned());
        Ok(Ran { kept: kept.map_err(no_id)?, outcome })
    }

    async fn run_job(
        &self,
        job: Job,
        asked: Asked,
        tell: impl Fn(&Tick),
    ) -> Result<Outcome, NotRun> {
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let turn = turn.map_err(|_| NotRun::Failed("The server is stopping.".to_owned()))?;
        let cancel = Cancel::new().map_err(|_| out_of_descriptors())?;
        let ended_with_us = EndOnDrop(cancel.clone());
        let (ticks, mut ticking) = mpsc::channel(1);
        let sandbox = Arc::clone(&self.sandbox);
        let running = tokio::task::spawn_blocking(move || {
            audit::begins(&asked);
            let mut told = Duration::ZERO;
            let ran = sandbox.run(&job, &cancel, &mut |tick| {
                // By the run's own clock, so that each time is another whole second of it.
                if tick.elapsed >= told + TELL_EVERY {
                    told = tick.elapsed;
                    // Somebody who does not listen misses it.
                    let _ = ticks.try_send(*tick);
                }
            });
            // Also written down when nobody waits any more.
            let ran = ran.map_err(|error| refused(&error));
            audit::ended(&asked, &job, ran.as_ref());
            drop(turn);
            ran
        });
        tokio::pin!(running);
        let ran = loop {
            tokio::select! {
                Some(tick) = ticking.recv() => tell(&tick),
                ran = &mut running => break ran,
            }
        };
        drop(ended_with_us);
        ran.map_err(|_| NotRun::Failed("The run broke.".to_owned()))?
    }

    /// A private copy of the skill, each file compared with what was published.
    async fn job(&self, wanted: &Wanted) -> Result<Job, NotRun> {
        let Wanted { skill, script, arguments, .. } = wanted;
        let rule = self.rules.find(&skill.path(), script).ok_or_else(|| {
            NotRun::Refused("The operator of this server does not let this script run.".to_owned())
        })?;
        let arguments = arguments::read(arguments.as_ref())?;
        let tree = tree(skill)?.clone();
        let read = tokio::task::spawn_blocking(move || files(&tree)).await;
        let files = read.map_err(|_| NotRun::Failed("The run broke.".to_owned()))??;
        let invalid = |error: skillwire_sandbox::job::InvalidJob| refused(&error.into());
        let mut job =
            Job::new(files, script.clone(), arguments, &self.interpreters).map_err(invalid)?;
        for (name, value) in &rule.variables {
            job.grant_variable(name, value.clone()).map_err(invalid)?;
        }
        rule.network.iter().for_each(|destination| job.grant_destination(destination.clone()));
        job.limit(rule.limits.clone());
        Ok(job)
    }
}

/// Ends a run when nobody waits for it any more.
struct EndOnDrop(Cancel);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn tree(skill: &Skill) -> Result<&FileTree, NotRun> {
    match &skill.content {
        SkillContent::Files(tree) => Ok(tree),
        SkillContent::Generated(_) => {
            Err(NotRun::Refused("A skill without digests has no scripts that run.".to_owned()))
        }
    }
}

fn asked(wanted: &Wanted) -> Result<Asked, NotRun> {
    let Wanted { skill, script, caller, .. } = wanted;
    let record = tree(skill)?.file(script);
    let record = record.ok_or_else(|| NotRun::Refused("The skill has no such file.".to_owned()))?;
    let entry = received::read(&skill.entry, EntryLimits::default()).ok();
    let content = entry.and_then(|entry| ContentSet::of(&entry));
    Ok(Asked {
        caller: caller.clone(),
        skill: skill.uri.as_str().to_owned(),
        script: script.as_str().to_owned(),
        // An entry that is served can be read; its text is as good a name for the content.
        content: content
            .map_or_else(|| Digest::of(skill.entry.as_bytes()), |set| set.fingerprint()),
        digest: record.digest,
    })
}

fn files(tree: &FileTree) -> Result<Vec<JobFile>, NotRun> {
    let changed = || NotRun::Failed("The skill is just being changed. Ask again.".to_owned());
    tree.files
        .iter()
        .map(|record| {
            let bytes = tree.store.read(&record.path, record.size).map_err(|_| changed())?;
            if Digest::of(&bytes) != record.digest {
                return Err(changed());
            }
            Ok(JobFile { path: record.path.clone(), bytes })
        })
        .collect()
}

fn out_of_descriptors() -> NotRun {
    NotRun::Failed("The server has no descriptor left.".to_owned())
}

/// What a client is told; what the machine lacks in detail is for its operator.
fn refused(error: &RunError) -> NotRun {
    match error {
        RunError::Invalid(invalid) => NotRun::Refused(sentence(&invalid.to_string())),
        RunError::Unavailable(_) | RunError::NetworkNeedsFull => {
            tracing::error!(%error, "a script was not run");
            NotRun::Failed("Scripts cannot be isolated on this server.".to_owned())
        }
        RunError::Exec(_) | RunError::Broken(_) => {
            tracing::error!(%error, "a script was not run");
            NotRun::Failed("The script could not be started.".to_owned())
        }
    }
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}
