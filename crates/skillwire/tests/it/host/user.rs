//! A user at a machine of their own.

use std::path::PathBuf;

use serde_json::Value;
use skillwire_testkit::{ListeningServer, SkillFolder};
use tokio::process::Command;

#[cfg(unix)]
use super::terminal::AtTerminal;
use crate::support::{BINARY, Ran, command, finish};

/// A user with an empty home, working in an empty project.
pub(crate) struct User {
    pub(crate) home: SkillFolder,
}

impl User {
    pub(crate) fn new() -> Self {
        let home = SkillFolder::new();
        home.directory("work");
        Self { home }
    }

    /// The program as this user runs it, in `~/work`.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(&self.home, arguments);
        command.current_dir(self.home.join("work"));
        command.env("HOME", self.home.path()).env("SKILLWIRE_HOME", self.home.join("sw"));
        for name in ["XDG_CACHE_HOME", "XDG_DATA_HOME"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs the program to its end.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments)).await
    }

    /// Runs the program, which must succeed, and returns what it printed.
    pub(crate) async fn gets(&self, arguments: &[&str]) -> String {
        self.run(arguments).await.exits(0).stdout
    }

    /// Runs the program, which must succeed, and reads the JSON it printed.
    pub(crate) async fn reads(&self, arguments: &[&str]) -> Value {
        self.run(arguments).await.exits(0).json()
    }

    /// Adds a folder of skills, served over pipes by this very program.
    pub(crate) async fn serves(&self, label: &str, folder: &SkillFolder) {
        let path = folder.path().to_str().unwrap();
        self.gets(&["server", "add", label, "--", BINARY, "serve", "--no-index", path]).await;
    }

    /// Adds a server over HTTP.
    pub(crate) async fn adds(&self, label: &str, server: &ListeningServer) {
        self.gets(&["server", "add", label, &server.url()]).await;
    }

    /// Approves a skill.
    pub(crate) async fn approves(&self, handle: &str) {
        self.gets(&["approve", handle, "--yes"]).await;
    }

    /// Starts the program with a terminal to ask on.
    #[cfg(unix)]
    pub(crate) fn on_a_terminal(&self, arguments: &[&str]) -> AtTerminal {
        AtTerminal::start(self.command(arguments))
    }

    /// The state of a skill, as listed.
    pub(crate) async fn state_of(&self, handle: &str) -> String {
        let listing = self.reads(&["list", "--json"]).await;
        let skills = listing["skills"].as_array().unwrap();
        let skill = skills.iter().find(|skill| skill["handle"] == handle);
        let skill = skill.unwrap_or_else(|| panic!("{handle} is not listed: {listing}"));
        skill["state"].as_str().unwrap().to_owned()
    }

    /// A file of the state folder.
    pub(crate) fn state(&self, path: &str) -> PathBuf {
        self.home.join("sw/state").join(path)
    }
}

/// A folder with one skill, `refunds`, and a file in it.
pub(crate) fn refunds() -> SkillFolder {
    let folder = SkillFolder::with_skills(&["acme/refunds"]);
    folder.file("acme/refunds/references/policy.md", "Refund within 30 days.\n");
    folder
}
