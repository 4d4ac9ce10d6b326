//! A user with a home folder of their own.

use std::path::PathBuf;

use serde_json::Value;
use skillwire_testkit::{ListeningServer, SkillFolder};
use tokio::process::Command;

#[cfg(unix)]
use super::terminal::TerminalSession;
use crate::support::{BINARY, CommandResult, command, finish};

/// A user with an empty home, working in an empty project.
pub(crate) struct TestUser {
    pub(crate) home: SkillFolder,
}

impl TestUser {
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
    pub(crate) async fn run(&self, arguments: &[&str]) -> CommandResult {
        finish(self.command(arguments)).await
    }

    /// Runs the program, which must succeed, and returns its standard output.
    pub(crate) async fn run_ok(&self, arguments: &[&str]) -> String {
        self.run(arguments).await.assert_exit(0).stdout
    }

    /// Runs the program, which must succeed, and parses the JSON that it printed.
    pub(crate) async fn run_json(&self, arguments: &[&str]) -> Value {
        self.run(arguments).await.assert_exit(0).json()
    }

    /// Configures a server of the program itself, over stdio, for a folder of skills.
    pub(crate) async fn add_folder_server(&self, label: &str, folder: &SkillFolder) {
        let path = folder.path().to_str().unwrap();
        let serve = ["--no-connect", "--", BINARY, "serve", "--no-index", path];
        self.run_ok(&[&["server", "add", label][..], &serve].concat()).await;
    }

    /// Configures a server over HTTP.
    pub(crate) async fn add_http_server(&self, label: &str, server: &ListeningServer) {
        self.run_ok(&["server", "add", label, &server.url(), "--no-connect"]).await;
    }

    /// Approves a skill.
    pub(crate) async fn approve(&self, handle: &str) {
        self.run_ok(&["approve", handle, "--yes"]).await;
    }

    /// Starts the program on a terminal.
    #[cfg(unix)]
    pub(crate) fn start_on_terminal(&self, arguments: &[&str]) -> TerminalSession {
        TerminalSession::start(self.command(arguments))
    }

    /// Starts the program on a terminal that its results go to as well.
    #[cfg(unix)]
    pub(crate) fn start_whole_on_terminal(&self, arguments: &[&str]) -> TerminalSession {
        TerminalSession::start_with(self.command(arguments), true)
    }

    /// The state that `list` shows for a skill.
    pub(crate) async fn state_of(&self, handle: &str) -> String {
        let listing = self.run_json(&["list", "--json"]).await;
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
