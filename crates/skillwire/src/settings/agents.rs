//! Where agents keep their configuration on this machine, and how they start this program.

use std::path::{Path, PathBuf};

use skillwire_agents::{Agent, BridgeEntry, Places};

use super::environment::{config_folder, find_program, home_folder, own_home};
use crate::{failure::Failure, regular_file};

/// The largest configuration that is read.
const MOST_BYTES: u64 = 32 << 20;

/// The user's folders, and the program that agents start.
pub(crate) struct AgentSettings {
    home: PathBuf,
    config: PathBuf,
    program: String,
    program_path: String,
    own_home: Option<String>,
}

impl AgentSettings {
    /// Finds the folders and this program.
    pub(crate) fn resolve() -> Result<Self, Failure> {
        let home = home_folder().ok_or_else(|| {
            Failure::usage("Your home folder is not known.").hint("Set `HOME` to its path.")
        })?;
        let config = config_folder().unwrap_or_else(|| home.join(".config"));
        let own_home = own_home().map(|own| {
            let own = PathBuf::from(own);
            std::path::absolute(&own).unwrap_or(own).display().to_string()
        });
        let (program, program_path) = program()?;
        Ok(Self { home, config, program, program_path, own_home })
    }

    fn places(&self) -> Places<'_> {
        Places::new(&self.home, &self.config)
    }

    /// Whether an agent is on this machine: its program or something that only it makes.
    pub(crate) fn is_present(&self, agent: &Agent) -> bool {
        agent.places(self.places()).any(|place| place.exists())
            || agent.program().is_some_and(|name| find_program(name).is_some())
    }

    /// The folder from which an agent reads skills of the user.
    #[cfg(feature = "add")]
    pub(crate) fn user_skills(&self, agent: &Agent) -> Option<PathBuf> {
        agent.user_skills(self.places())
    }

    /// The file to change: the first that exists, or the one that the agent would make.
    pub(crate) fn file(&self, agent: &Agent) -> PathBuf {
        let files: Vec<_> = agent.files(self.places()).collect();
        let exists = files.iter().find(|file| file.exists()).cloned();
        exists.or_else(|| files.into_iter().next()).unwrap_or_default()
    }

    /// A path as the user would write it.
    pub(crate) fn short(&self, path: &Path) -> String {
        path.strip_prefix(&self.home)
            .map_or_else(|_| path.display().to_string(), |rest| format!("~/{}", rest.display()))
    }

    /// The folders above a file of an agent that may be the agent's own, innermost first.
    pub(crate) fn folders_above<'a>(&self, file: &'a Path) -> impl Iterator<Item = &'a Path> {
        let (home, config) = (self.home.clone(), self.config.clone());
        let is_shared = move |folder: &Path| home.starts_with(folder) || config.starts_with(folder);
        file.ancestors().skip(1).take_while(move |folder| !is_shared(folder))
    }

    /// What an agent is to start.
    pub(crate) fn entry(&self, agent: &Agent) -> BridgeEntry {
        let program = if agent.is_desktop() { &self.program_path } else { &self.program };
        let entry = BridgeEntry::new(program, &["bridge"]);
        match &self.own_home {
            Some(home) => entry.env("SKILLWIRE_HOME", home),
            None => entry,
        }
    }

    /// What an agent starts, by its file.
    pub(crate) fn written(&self, agent: &Agent) -> Option<BridgeEntry> {
        let text = regular_file::read(&self.file(agent), MOST_BYTES).ok()?;
        agent.current(&text).ok().flatten()
    }

    /// This program, as agents start it.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }
}

/// The name of this program if the `PATH` leads to it and its whole path otherwise, and its whole path.
fn program() -> Result<(String, String), Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::usage("The path of this program is not known.").because(error))?;
    let same = |found: &PathBuf| found.canonicalize().ok() == own.canonicalize().ok();
    // The path by which the user starts it stays the same when a new version is installed.
    Ok(match find_program("skillwire").filter(same) {
        Some(found) => ("skillwire".to_owned(), found.display().to_string()),
        None => (own.display().to_string(), own.display().to_string()),
    })
}
