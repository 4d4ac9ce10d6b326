//! Fetches repositories for commands, and words what can go wrong.

use skillwire_git::{GitError, GitOptions, GitRef, GitRepository, GitUrl};

use crate::{
    exit::Exit, failure::Failure, progress::WaitSpinner, refusals::argument, report::printable,
    settings::variable,
};

/// Parts of what `git` says about a repository that is not there or not for this user.
const NOT_FOR_YOU: [&str; 8] = [
    "could not read Username",
    "could not read Password",
    "Authentication failed",
    "returned error: 403",
    "not found",
    "Permission denied",
    "does not exist",
    "does not appear to be a git repository",
];

/// Parts of what `git` says about a commit that the server does not have or does not give out.
const NO_COMMIT: [&str; 3] = ["not our ref", "unadvertised object", "remote error: upload-pack"];

/// Fetches a repository at a branch, tag or commit.
pub(in crate::commands) async fn fetch(
    url: &str,
    reference: Option<&str>,
) -> Result<GitRepository, Failure> {
    let address = GitUrl::parse(url).map_err(|error| {
        Failure::usage(format!(
            "`{}` is not the address of a repository: it {error}.",
            printable(url)
        ))
        .hint("Write `owner/repo`, `https://...`, `ssh://...` or `user@host:path`.")
    })?;
    let reference = match reference {
        None => GitRef::head(),
        Some(text) => GitRef::parse(text).map_err(|error| {
            let shown = printable(text);
            Failure::usage(format!("`{shown}` is not a branch, tag or commit: it {error}."))
        })?,
    };
    let _waiting = WaitSpinner::new(format!("Fetching {}", printable(url)));
    GitRepository::fetch(&address, &reference, git_options())
        .await
        .map_err(|error| failure(url, reference.as_str(), error))
}

/// How `git` is run for the user: with the credentials of the user, and no question.
pub(in crate::commands) fn git_options() -> GitOptions {
    let mut options = GitOptions::default().local(true).user_configuration(true);
    for name in ["PATH", "HOME", "SSH_AUTH_SOCK", "XDG_CONFIG_HOME"] {
        if let Some(value) = variable(name) {
            options = options.variable(name, value);
        }
    }
    options
}

/// Words why a repository or a skill in it cannot be read.
pub(in crate::commands) fn failure(url: &str, reference: &str, error: GitError) -> Failure {
    let shown = printable(url);
    let said = match &error {
        GitError::Failed { said, .. } => said.as_str(),
        _ => "",
    };
    let said_any = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
    if said.contains("couldn't find remote ref") {
        let message = format!("{shown} has no branch, tag or commit `{}`.", printable(reference));
        return Failure::new(Exit::NotFound, message)
            .hint(format!("`git ls-remote {}` lists its branches and tags.", argument(url)));
    }
    if said_any(&NO_COMMIT) {
        let message = format!("{shown} no longer has the commit {}.", printable(reference));
        return Failure::new(Exit::Verification, message).because(error).hint(
            "Its history was rewritten, or the address leads to another repository now. Look at it \
             before you trust it again.",
        );
    }
    if said_any(&NOT_FOR_YOU) {
        let message = format!("{shown} does not exist, or is not for you.");
        return Failure::new(Exit::NotFound, message).because(error).hint(format!(
            "Check the address. If it is private, `git ls-remote {}` must work without a question: log \
             in with a credential helper or an SSH key.",
            argument(url)
        ));
    }
    let exit = match &error {
        GitError::TooLarge { .. } | GitError::TooSlow { .. } => Exit::Declined,
        GitError::Link { .. }
        | GitError::Submodule(_)
        | GitError::LargeFile(_)
        | GitError::Name(_) => Exit::Verification,
        GitError::NoSkill(_) => Exit::NotFound,
        GitError::NotStarted(_) => Exit::Usage,
        _ => Exit::Unreachable,
    };
    let hint = match &error {
        GitError::NotStarted(_) => Some("Install `git`; repositories are fetched with it."),
        GitError::TooLarge { .. } | GitError::TooSlow { .. } => Some(
            "Nothing was installed. An archive of the one skill can be installed instead: \
             `skillwire add FILE.tar.gz`.",
        ),
        GitError::Submodule(_) | GitError::LargeFile(_) | GitError::Link { .. } => {
            Some("Nothing of it was installed: the repository does not hold the whole skill.")
        }
        _ => None,
    };
    let failure = Failure::new(exit, format!("{shown} cannot be read.")).because(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
