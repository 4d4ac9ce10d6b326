//! Runs scripts of published skills.

use std::{error::Error, fmt, io, sync::Arc, time::Duration};

use serde_json::{Map, Value};
use skillwire_core::{
    ContentSet, Digest, RelPath,
    received::{self, EntryLimits},
};
use skillwire_sandbox::{
    CancelHandle, InterpreterFinder, InvalidArguments, InvalidJob, JobFile, RunError, RunOutcome,
    RunProgress, Sandbox, ScriptArguments, ScriptJob,
};
use skillwire_source::{FileTree, Skill, SkillContent};
use tokio::sync::{Semaphore, mpsc};

use crate::{
    audit::{self, AuditSubject},
    output_store::{OutputRetention, OutputStore, RetainedFile},
    rules::ExecutionRules,
};

/// How many scripts run at once. Others wait.
const MAX_CONCURRENT_RUNS: usize = 8;

/// How often a client that waits is told that the script still runs.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Why a script was not run. Displays as sentences for the client.
///
/// Details of the server's machine are in the sources, for its operator, and not in the sentences.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptNotRun {
    /// No rule of the operator allows the script.
    #[error("The operator of this server does not let this script run.")]
    NotAllowed,
    /// The skill has no file with the script's path.
    #[error("The skill has no such file.")]
    NoSuchFile,
    /// The skill is generated, so no digest says which content the operator allowed.
    #[error("A skill without digests has no scripts that can be run.")]
    GeneratedSkill,
    /// The client sent arguments that are not an object.
    #[error("The arguments are not an object.")]
    ArgumentsNotObject,
    /// The client sent arguments that cannot be passed to a script.
    #[error("{}", sentence(.0))]
    Arguments(#[from] InvalidArguments),
    /// The script is nothing that can be run.
    #[error("{}", sentence(.0))]
    Job(#[from] InvalidJob),
    /// A file could not be read, or is not what was published.
    #[error("The skill is being changed right now. Ask again.")]
    SkillChanged(#[source] Option<Box<dyn Error + Send + Sync>>),
    /// The machine cannot isolate the script.
    #[error("Scripts cannot be isolated on this server.")]
    Isolation(#[source] RunError),
    /// The run failed before or while the script ran.
    #[error("The script could not be started.")]
    Start(#[source] RunError),
    /// The server is out of file descriptors.
    #[error("The server has no file descriptor left.")]
    Descriptors(#[source] io::Error),
    /// The system gave no random numbers for the URIs of output files.
    #[error("The server has no random numbers.")]
    Random(#[source] getrandom::Error),
    /// The server is stopping.
    #[error("The server is stopping.")]
    Stopping,
    /// A thread of the server panicked.
    #[error("The run failed because of an error in the server.")]
    Panicked(#[source] tokio::task::JoinError),
}

impl ScriptNotRun {
    /// Tells a machine that cannot isolate scripts from a script that could not be started.
    fn from_run(error: RunError) -> Self {
        match error {
            RunError::Invalid(invalid) => Self::Job(invalid),
            RunError::Unavailable(_) | RunError::NetworkNeedsFull => {
                tracing::error!(%error, "a script was not run");
                Self::Isolation(error)
            }
            RunError::Exec(_) | RunError::Supervision(_) => {
                tracing::error!(%error, "a script was not run");
                Self::Start(error)
            }
        }
    }
}

/// Turns an error's message into a sentence.
fn sentence(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

/// A client's request to run a script.
#[derive(Debug, Clone)]
pub struct ScriptRequest {
    /// The skill.
    pub skill: Arc<Skill>,
    /// The script, one of its files.
    pub script: RelPath,
    /// The arguments that the client sent, unchecked.
    pub arguments: Option<Value>,
    /// The name of the caller; empty on a server without tokens.
    pub caller: String,
}

/// A run that ended, and its files.
#[derive(Debug)]
#[non_exhaustive]
pub struct CompletedRun {
    /// How it ended.
    pub outcome: RunOutcome,
    /// The files that the caller can read.
    pub files: Vec<RetainedFile>,
}

/// Runs scripts that rules allow, each in isolation.
pub struct ScriptRunner {
    sandbox: Arc<Sandbox>,
    interpreters: InterpreterFinder,
    rules: ExecutionRules,
    outputs: OutputStore,
    run_permits: Arc<Semaphore>,
}

impl fmt::Debug for ScriptRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptRunner").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl ScriptRunner {
    /// Runs what these rules allow in this sandbox.
    pub fn new(sandbox: Sandbox, interpreters: InterpreterFinder, rules: ExecutionRules) -> Self {
        Self {
            sandbox: Arc::new(sandbox),
            interpreters,
            rules,
            outputs: OutputStore::new(OutputRetention::default()),
            run_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_RUNS)),
        }
    }

    /// Replaces how much output of scripts is kept, and how long.
    #[must_use]
    pub fn with_output_retention(mut self, retention: OutputRetention) -> Self {
        self.outputs = OutputStore::new(retention);
        self
    }

    /// The files that callers can read.
    pub fn outputs(&self) -> &OutputStore {
        &self.outputs
    }

    /// Runs a script. Dropping the future ends every process of it.
    ///
    /// `on_progress` is called about once a second while the script runs.
    #[tracing::instrument(
        name = "run_script",
        skip_all,
        fields(caller = request.caller, skill = request.skill.uri.as_str(), script = %request.script)
    )]
    pub async fn run(
        &self,
        request: ScriptRequest,
        on_progress: impl Fn(&RunProgress),
    ) -> Result<CompletedRun, ScriptNotRun> {
        let subject = audit_subject(&request)?;
        let job = match self.job(&request).await {
            Ok(job) => job,
            Err(reason) => {
                audit::log_refused(&subject, &reason);
                return Err(reason);
            }
        };
        let outcome = self.run_job(job, subject, on_progress).await?;
        let files = self.outputs.keep(&request.caller, &outcome.files);
        Ok(CompletedRun { files: files.map_err(ScriptNotRun::Random)?, outcome })
    }

    async fn run_job(
        &self,
        job: ScriptJob,
        subject: AuditSubject,
        on_progress: impl Fn(&RunProgress),
    ) -> Result<RunOutcome, ScriptNotRun> {
        let permit = Arc::clone(&self.run_permits).acquire_owned().await;
        let permit = permit.map_err(|_| ScriptNotRun::Stopping)?;
        let cancel = CancelHandle::new().map_err(ScriptNotRun::Descriptors)?;
        let cancel_on_drop = CancelOnDrop(cancel.clone());
        let (progress_sender, mut progress) = mpsc::channel(1);
        let sandbox = Arc::clone(&self.sandbox);
        let span = tracing::Span::current();
        let running = tokio::task::spawn_blocking(move || {
            let _entered = span.enter();
            audit::log_started(&subject);
            let mut last_report = Duration::ZERO;
            let result = sandbox.run(&job, &cancel, &mut |run| {
                // The run's own clock decides, so that reports are at least a second of the run
                // apart.
                if run.elapsed >= last_report + PROGRESS_INTERVAL {
                    last_report = run.elapsed;
                    // The channel is full if the client is slow. It gets the next report.
                    let _ = progress_sender.try_send(*run);
                }
            });
            let result = result.map_err(ScriptNotRun::from_run);
            // The end is logged on this thread and not in the future below: that future is dropped
            // when the client disconnects, and the log would lack the end of the run.
            audit::log_finished(&subject, &job, result.as_ref());
            // Held until the sandbox is done: a client that disconnects must not make room for
            // another run while its own still ends.
            drop(permit);
            result
        });
        tokio::pin!(running);
        let result = loop {
            tokio::select! {
                Some(run) = progress.recv() => on_progress(&run),
                result = &mut running => break result,
            }
        };
        drop(cancel_on_drop);
        result.map_err(ScriptNotRun::Panicked)?
    }

    /// Puts a job together: a private copy of the skill, each file compared with its published
    /// digest.
    ///
    /// The copy is what runs. The files in the skill's folder may change while the script runs, and
    /// those bytes would be unchecked.
    async fn job(&self, request: &ScriptRequest) -> Result<ScriptJob, ScriptNotRun> {
        let ScriptRequest { skill, script, arguments, .. } = request;
        let rule = self.rules.find(&skill.path(), script).ok_or(ScriptNotRun::NotAllowed)?;
        let arguments = read_arguments(arguments.as_ref())?;
        let tree = file_tree(skill)?.clone();
        let read = tokio::task::spawn_blocking(move || read_files(&tree)).await;
        let files = read.map_err(ScriptNotRun::Panicked)??;
        let mut job = ScriptJob::new(files, script.clone(), arguments, &self.interpreters)?;
        for (name, value) in &rule.variables {
            job.grant_variable(name, value.clone())?;
        }
        for destination in &rule.destinations {
            job.grant_destination(destination.clone());
        }
        job.set_limits(rule.limits.clone());
        Ok(job)
    }
}

/// Cancels a run when the future that waits for it is dropped.
struct CancelOnDrop(CancelHandle);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn read_arguments(arguments: Option<&Value>) -> Result<ScriptArguments, ScriptNotRun> {
    let arguments = match arguments {
        None | Some(Value::Null) => ScriptArguments::from_object(&Map::new()),
        Some(Value::Object(object)) => ScriptArguments::from_object(object),
        Some(_) => return Err(ScriptNotRun::ArgumentsNotObject),
    };
    Ok(arguments?)
}

fn file_tree(skill: &Skill) -> Result<&FileTree, ScriptNotRun> {
    match &skill.content {
        SkillContent::Files(tree) => Ok(tree),
        SkillContent::Generated(_) => Err(ScriptNotRun::GeneratedSkill),
    }
}

fn audit_subject(request: &ScriptRequest) -> Result<AuditSubject, ScriptNotRun> {
    let ScriptRequest { skill, script, caller, .. } = request;
    let record = file_tree(skill)?.file(script).ok_or(ScriptNotRun::NoSuchFile)?;
    let entry = received::read(&skill.entry, EntryLimits::default()).ok();
    let content = entry.and_then(|entry| ContentSet::of(&entry));
    Ok(AuditSubject {
        caller: caller.clone(),
        skill: skill.uri.as_str().to_owned(),
        script: script.as_str().to_owned(),
        // An entry that is served can be read. If not, a digest of its text names the content as
        // well.
        content: content
            .map_or_else(|| Digest::of(skill.entry.as_bytes()), |set| set.fingerprint()),
        script_digest: record.digest,
    })
}

fn read_files(tree: &FileTree) -> Result<Vec<JobFile>, ScriptNotRun> {
    tree.files
        .iter()
        .map(|record| {
            let bytes = tree
                .store
                .read(&record.path, record.size)
                .map_err(|error| ScriptNotRun::SkillChanged(Some(error.into())))?;
            if Digest::of(&bytes) != record.digest {
                return Err(ScriptNotRun::SkillChanged(None));
            }
            Ok(JobFile { path: record.path.clone(), bytes })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_an_object_or_absent() {
        for absent in [None, Some(&Value::Null), Some(&json!({}))] {
            assert_eq!(read_arguments(absent).unwrap().words(), [""; 0]);
        }
        for other in [json!([]), json!("x"), json!(1)] {
            let refused = read_arguments(Some(&other)).unwrap_err();
            assert_eq!(refused.to_string(), "The arguments are not an object.");
        }
    }

    #[test]
    fn a_client_reads_a_sentence_without_details_of_the_machine() {
        let io = || io::Error::other("/secret/path");
        for (reason, sentence) in [
            (ScriptNotRun::from(InvalidArguments::Nul), "The arguments hold a NUL character."),
            (
                ScriptNotRun::from_run(RunError::NetworkNeedsFull),
                "Scripts cannot be isolated on this server.",
            ),
            (ScriptNotRun::from_run(RunError::Exec(io())), "The script could not be started."),
        ] {
            assert_eq!(reason.to_string(), sentence);
            assert!(reason.source().is_some(), "{reason:?} keeps its source");
        }
    }
}
