//! Installing skills for agents: fetched, checked, shown, and then written all or not at all.

pub(super) mod add;
mod card;
pub(super) mod fetch;
mod installing;
mod kept;
pub(super) mod listed;
mod picker;
pub(super) mod remove;
pub(super) mod repository;
pub(super) mod served;
pub(crate) mod state;
pub(super) mod sync;
mod targets;
pub(super) mod update;

use skillwire_install::{InstallScope, InstalledSkill};

use self::targets::Project;
use super::{Outcome, check::diff};
use crate::{
    args::ScopeArgs, commands, exit::Exit, failure::Failure, nearest::nearest, report::printable,
    settings::HostSettings, terminal,
};

/// The file in which a project names what it uses.
pub(super) const PROJECT_FILE: &str = "skillwire.toml";

/// Asks a question; `yes` answers it, unless the user forbids that in the settings.
fn agrees(settings: &HostSettings, question: &str, yes: bool) -> Result<bool, Failure> {
    if yes && settings.user()?.unattended_approvals {
        return Ok(true);
    }
    if yes {
        let message = "Your settings let no skill be installed without asking.";
        return Err(Failure::new(Exit::Declined, message)
            .hint("Run this command in a terminal, without an option that answers for you."));
    }
    terminal::agrees(question).ok_or_else(|| {
        Failure::usage("There is no terminal to ask you on, so nothing was changed.")
            .hint("Run this command in a terminal and decide there.")
    })
}

/// The installed skills that names and scope mean.
fn find<'a>(
    installed: &'a [InstalledSkill],
    names: &[String],
    scope: ScopeArgs,
    project: &Project,
) -> Result<Vec<&'a InstalledSkill>, Failure> {
    let in_scope = |skill: &&InstalledSkill| match &skill.scope {
        InstallScope::User | InstallScope::Kept => !scope.project,
        InstallScope::Project(root) => !scope.global && root == project.root(),
    };
    let known: Vec<&InstalledSkill> = installed.iter().filter(in_scope).collect();
    if names.is_empty() {
        return Ok(known);
    }
    let mut found = Vec::new();
    for name in names {
        let before = found.len();
        let is_meant =
            |skill: &&&InstalledSkill| skill.name == *name || kept::name_of(skill) == *name;
        found.extend(known.iter().filter(is_meant));
        if found.len() == before {
            let message = format!("`{}` is not installed here.", printable(name));
            let failure = Failure::new(Exit::NotFound, message);
            let names: Vec<String> = known.iter().map(|skill| kept::name_of(skill)).collect();
            return Err(match nearest(name, names.iter().map(String::as_str)) {
                Some(near) => failure.hint(format!("Did you mean `{near}`?")),
                None => failure.hint("`skillwire list` shows what is installed."),
            });
        }
    }
    Ok(found)
}

/// Whether a name is that of a server's skill, which is approved and not installed.
fn is_handle(name: &str) -> bool {
    name.contains(':')
}

/// Splits what the user named into handles of servers' skills and names of installed ones. Skills that
/// the host keeps have handles of their own, and are installed.
fn split_handles(names: &[String], installed: &[InstalledSkill]) -> (Vec<String>, Vec<String>) {
    let keeps = installed.iter().any(|skill| skill.scope == InstallScope::Kept);
    let is_kept = |name: &str| name.split_once(':').is_some_and(|(label, _)| label == kept::LABEL);
    names.iter().cloned().partition(|name| is_handle(name) && !(keeps && is_kept(name)))
}

/// Runs another command of this program, as if the user had typed it.
fn run_command(words: &[&str]) -> Outcome {
    commands::run_typed(words)
}
