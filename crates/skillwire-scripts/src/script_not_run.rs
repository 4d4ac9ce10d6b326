//! Why a script was not run.

use std::{error::Error, fmt, io};

use skillwire_sandbox::{InvalidArguments, InvalidJob, RunError};
use skillwire_source::FileStoreError;

use crate::{
    declared_arguments::DeclarationError, run_queue::QueueFull, sent_inputs::InvalidInputs,
};

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
    /// The client sent arguments that are neither an object nor an array.
    #[error("The arguments are neither an object nor an array of words.")]
    ArgumentsNotObject,
    /// The client sent arguments that cannot be passed to a script.
    #[error("{}", sentence(.0))]
    Arguments(#[from] InvalidArguments),
    /// The skill declares arguments for the script, and those that the client sent do not fit.
    #[error("{}", sentence(.0))]
    Declared(#[from] DeclarationError),
    /// The client sent inputs that a script cannot be given.
    #[error("{}", sentence(.0))]
    Inputs(#[from] InvalidInputs),
    /// Too many requests wait already.
    #[error("Too many scripts wait to be run on this server. Ask again later.")]
    Busy(#[from] QueueFull),
    /// The script is nothing that can be run.
    #[error("{}", sentence(.0))]
    Job(#[from] InvalidJob),
    /// A file could not be read, or is not what was published.
    #[error("The skill is being changed right now. Ask again.")]
    SkillChanged(#[source] Option<Box<dyn Error + Send + Sync>>),
    /// The server that has the files of the skill did not send them.
    #[error("The server that this skill comes from did not send its files. Ask again later.")]
    FilesUnavailable(#[source] Option<FileStoreError>),
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
    pub(crate) fn from_run(error: RunError) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

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
