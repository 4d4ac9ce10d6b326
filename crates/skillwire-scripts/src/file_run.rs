//! Runs scripts of skills that the caller reads itself, such as those that a user approved.

use std::path::PathBuf;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::Value;
use skillwire_core::{Digest, RelPath};
use skillwire_sandbox::{
    InputFile, JobFile, NetworkDestination, RunLimits, ScriptArguments, ScriptJob,
};
use tokio::time::Instant;

use crate::{
    declared_arguments::check_declared_words,
    inputs::{InputError, UserInputs},
    reply,
    runner::{CompletedRun, RunReport, ScriptRunner},
    script_not_run::ScriptNotRun,
};

/// A script to run, and what it gets. No rule of an operator is asked: the caller decides.
pub struct FileRun<E> {
    /// The name under which its turns are counted and its files are kept.
    pub caller: String,
    /// Reads the files of the skill, when it is the script's turn.
    pub files: BoxFuture<'static, Result<Vec<(RelPath, Bytes)>, E>>,
    /// The path of the script.
    pub script: RelPath,
    /// The file of the skill that declares the arguments of its scripts, if there is one.
    pub declarations: Option<String>,
    /// A sentence about how packages are installed that the script lists and that are not there.
    pub how_to_install: Option<String>,
    /// Its arguments.
    pub words: Vec<String>,
    /// Files and folders of the user that are copied in, with links resolved.
    pub inputs: Vec<PathBuf>,
    /// Environment variables with their values.
    pub variables: Vec<(String, String)>,
    /// Destinations that it may connect to.
    pub destinations: Vec<NetworkDestination>,
    /// The limits of the run.
    pub limits: RunLimits,
}

/// Why such a script was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileRunError<E> {
    /// The files of the skill could not be read.
    #[error("the files of the skill could not be read")]
    Files(E),
    /// A file of the user could not be copied in.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file of the user is behind a link now that was not there when it was granted.
    #[error("`{}` is no longer the file that was granted", .0.display())]
    InputMoved(PathBuf),
    /// The script was not run.
    #[error(transparent)]
    NotRun(#[from] ScriptNotRun),
}

impl CompletedRun {
    /// Returns sentences for a model: how the run ended, and what is missing from the output.
    pub fn summary(&self) -> String {
        reply::summary(&self.outcome, &self.files, self.note.as_deref())
    }

    /// Returns blocks of content: what the script wrote, and links to the files that it left.
    pub fn content(&self) -> Vec<Value> {
        reply::content(&self.outcome, &self.files)
    }
}

impl RunReport {
    /// Returns a number that grows from report to report, and the words of this one.
    pub fn progress(&self) -> (u64, String) {
        reply::progress_of(self)
    }
}

impl ScriptRunner {
    /// Runs a script of files that the caller reads, when it is its turn. Dropping the future ends
    /// every process of it.
    #[tracing::instrument(name = "run_files", skip_all, fields(caller = run.caller, script = %run.script))]
    pub async fn run_files<E>(
        &self,
        run: FileRun<E>,
        on_report: impl Fn(&RunReport),
    ) -> Result<CompletedRun, FileRunError<E>> {
        let asked = Instant::now();
        let bytes = run.words.iter().map(String::len).sum();
        let arguments = ScriptArguments::from_words(run.words, Vec::new());
        let arguments = arguments.map_err(ScriptNotRun::from)?;
        let declarations = run.declarations.as_deref();
        let slot = self.wait(&run.caller, bytes, asked, &on_report).await?;
        let files = run.files.await.map_err(FileRunError::Files)?;
        let inputs = read_inputs(run.inputs).await?;
        let digest = files.iter().find(|(path, _)| *path == run.script);
        let digest = digest.map(|(_, bytes)| Digest::of(bytes));
        let files: Vec<_> =
            files.into_iter().map(|(path, bytes)| JobFile { path, bytes }).collect();
        check_declared_words(declarations, &files, &run.script, arguments.words())
            .map_err(ScriptNotRun::from)?;
        let installed = self.installed_packages(&run.script, &files);
        let how_to_install = run.how_to_install.as_deref();
        let note = installed.missing.as_ref().map(|missing| missing.note(how_to_install));
        let script = run.script.to_string();
        let job = || {
            let mut job = ScriptJob::new(files, run.script, arguments, &installed.interpreters)?;
            installed.add_to(&mut job)?;
            job.set_inputs(inputs)?;
            for (name, value) in run.variables {
                job.grant_variable(&name, value)?;
            }
            run.destinations.into_iter().for_each(|it| job.grant_destination(it));
            job.set_limits(run.limits);
            Ok::<_, ScriptNotRun>(job)
        };
        let (outcome, mut record) = self.run_job(job()?, slot, None, asked, &on_report).await?;
        record["script"] = script.into();
        record["script_digest"] = digest.map(|digest| digest.to_string()).into();
        Ok(self.completed(&run.caller, (outcome, record), note)?)
    }
}

/// Copies files of the user. A path that is no longer what was granted, because a link took its
/// place, is refused.
async fn read_inputs<E>(paths: Vec<PathBuf>) -> Result<Vec<InputFile>, FileRunError<E>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let read = tokio::task::spawn_blocking(move || {
        let mut inputs = UserInputs::new("/");
        for path in paths {
            inputs.add(&path.to_string_lossy(), None, false)?;
            if inputs.sources().last().is_none_or(|source| source.real != path) {
                return Ok(Err(path));
            }
        }
        Ok::<_, InputError>(Ok(inputs.into_files()))
    });
    let read = read.await.map_err(|error| FileRunError::NotRun(ScriptNotRun::Panicked(error)))?;
    read?.map_err(FileRunError::InputMoved)
}
