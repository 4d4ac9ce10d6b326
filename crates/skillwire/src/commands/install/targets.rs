//! The folders that skills are installed into: which agents, for the user or for a project.

use std::path::{Path, PathBuf};

use skillwire_agents::{Agent, agents};
use skillwire_install::InstallScope;

use crate::{
    args::ScopeArgs, commands::setup, exit::Exit, failure::Failure, settings::AgentSettings,
};

/// The project of the working directory.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Project {
    root: PathBuf,
    /// Whether something marks the folder as a project.
    marked: bool,
}

impl Project {
    /// Finds the nearest folder with a `skillwire.toml` or a repository, from here upwards.
    pub(in crate::commands) fn find() -> Result<Self, Failure> {
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        let here = here
            .map_err(|error| Failure::usage("The current folder cannot be used.").because(error))?;
        let is_marked = |folder: &&Path| {
            [super::PROJECT_FILE, ".git"].iter().any(|name| folder.join(name).exists())
        };
        let found = here.ancestors().find(is_marked).map(Path::to_owned);
        Ok(Self { marked: found.is_some(), root: found.unwrap_or(here) })
    }

    /// The folder of the project.
    pub(in crate::commands) fn root(&self) -> &Path {
        &self.root
    }

    /// The scope that options mean here.
    pub(super) fn scope(&self, args: ScopeArgs) -> InstallScope {
        if args.project || (self.marked && !args.global) {
            InstallScope::Project(self.root.clone())
        } else {
            InstallScope::User
        }
    }
}

/// A folder of skills, and the agents that read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct TargetFolder {
    pub(super) folder: PathBuf,
    pub(super) agents: Vec<String>,
}

/// Finds the folders of the agents that the user named, or of those on this machine.
pub(in crate::commands) fn folders(
    settings: &AgentSettings,
    named: &[String],
    scope: &InstallScope,
) -> Result<Vec<TargetFolder>, Failure> {
    let chosen: Vec<&'static Agent> = if named.is_empty() {
        let present =
            |agent: &&Agent| agent.project_skills().is_some() && settings.is_present(agent);
        agents().iter().filter(present).collect()
    } else {
        named.iter().map(|name| setup::find_agent(name)).collect::<Result<_, _>>()?
    };
    if chosen.is_empty() {
        return Err(Failure::new(Exit::NotFound, "No agent was found on this machine.").hint(
            "`--agent NAME` installs for an agent that was not found, `--keep` for all by \
             `skillwire bridge`; `skillwire setup --list` shows the agents that are known.",
        ));
    }
    let mut targets: Vec<TargetFolder> = Vec::new();
    for agent in chosen {
        let folder = folder_of(settings, agent, scope)?;
        match targets.iter_mut().find(|target| target.folder == folder) {
            Some(target) => target.agents.push(agent.id().to_owned()),
            None => targets.push(TargetFolder { folder, agents: vec![agent.id().to_owned()] }),
        }
    }
    Ok(targets)
}

fn folder_of(
    settings: &AgentSettings,
    agent: &Agent,
    scope: &InstallScope,
) -> Result<PathBuf, Failure> {
    let none = || {
        let message = format!("{} reads no folder of skills.", agent.name());
        Failure::new(Exit::Declined, message)
            .hint("`--keep` offers the skill to it by `skillwire bridge`, after `skillwire setup`.")
    };
    match scope {
        InstallScope::Project(root) => {
            let folder = root.join(agent.project_skills().ok_or_else(none)?);
            check_inside(root, &folder)?;
            Ok(folder)
        }
        InstallScope::User | InstallScope::Kept => settings.user_skills(agent).ok_or_else(none),
    }
}

/// Refuses a folder of a project that a link of the project leads out of it: a repository must not choose
/// which files of the user are written.
fn check_inside(root: &Path, folder: &Path) -> Result<(), Failure> {
    let existing = folder.ancestors().find(|above| above.symlink_metadata().is_ok());
    let real = existing.and_then(|above| above.canonicalize().ok());
    if real.is_some_and(|real| real.starts_with(root)) {
        return Ok(());
    }
    let message = format!("`{}` leads out of the project by a link.", folder.display());
    Err(Failure::new(Exit::Declined, message).hint("Remove the link, or install with `--global`."))
}
