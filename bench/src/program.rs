//! The programs that are measured, and how each is started.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::Command;

use crate::{faulty::Misbehaviour, http::bare::Kind};

/// A server that can be started over a folder of skills.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// Its name in the table.
    pub(crate) name: &'static str,
    command: PathBuf,
    before: Vec<OsString>,
    http: Vec<OsString>,
    /// Whether it prints its address to standard error instead of standard output.
    pub(crate) speaks_on_stderr: bool,
}

impl Program {
    pub(crate) fn skillwire(binary: &Path) -> Self {
        Self {
            name: "skillwire",
            command: binary.to_owned(),
            before: vec!["serve".into()],
            http: vec!["--http".into(), "127.0.0.1:0".into()],
            speaks_on_stderr: true,
        }
    }

    /// The file that is executed.
    pub(crate) fn path(&self) -> &Path {
        &self.command
    }

    /// The same with more arguments before the folder.
    pub(crate) fn with_arguments(&self, arguments: impl IntoIterator<Item = String>) -> Self {
        let mut program = self.clone();
        program.before.extend(arguments.into_iter().map(OsString::from));
        program
    }

    /// A script that takes a folder, and `--http` after it.
    pub(crate) fn peer(name: &'static str, interpreter: PathBuf, script: PathBuf) -> Self {
        Self {
            name,
            command: interpreter,
            before: vec![script.into()],
            http: vec!["--http".into()],
            speaks_on_stderr: false,
        }
    }

    /// The command that serves a folder over pipes; `home` is where it may keep state.
    pub(crate) fn over_stdio(&self, folder: &Path, home: &Path) -> Command {
        let mut command = Command::new(&self.command);
        command.args(&self.before).arg(folder).env("SKILLWIRE_HOME", home);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.kill_on_drop(true);
        command
    }

    /// The command that verifies a server, if this is skillwire.
    pub(crate) fn verify(&self, url: &str) -> Command {
        let mut command = Command::new(&self.command);
        command.args(["verify", url, "--json"]);
        command
    }

    /// The command that makes a server known under a label, if this is skillwire.
    pub(crate) fn add_server(&self, label: &str, url: &str, home: &Path) -> Command {
        let mut command = Command::new(&self.command);
        command.args(["server", "add", label, url, "--no-connect"]).env("SKILLWIRE_HOME", home);
        command.stdin(Stdio::null());
        command
    }

    /// The command that passes on servers over pipes, if this is skillwire.
    pub(crate) fn passing_on(&self, labels: &[String], home: &Path) -> Command {
        let mut command = Command::new(&self.command);
        command.arg("serve").env("SKILLWIRE_HOME", home);
        command.args(labels.iter().map(|label| format!("--upstream={label}")));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.kill_on_drop(true);
        command
    }

    /// The command that checks a folder, if this is skillwire.
    pub(crate) fn check(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.command);
        command.arg("check").arg(folder).stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// The command that serves a folder over HTTP.
    pub(crate) fn over_http(&self, folder: &Path, home: &Path) -> Command {
        let mut command = self.over_stdio(folder, home);
        command.args(&self.http);
        if self.speaks_on_stderr {
            command.stdout(Stdio::null()).stderr(Stdio::piped());
        }
        command
    }
}

/// The command that runs a bare server with prepared bodies.
pub(crate) fn bare(kind: Kind, bodies: &Path) -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    let kind = match kind {
        Kind::Axum => "axum",
        Kind::Canned => "canned",
    };
    command.arg("bare").arg(kind).arg(bodies);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    command.kill_on_drop(true);
    Ok(command)
}

/// The command that runs a server which misbehaves once it is told to.
pub(crate) fn faulty(how: Misbehaviour) -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("faulty").arg(how.word());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    command.kill_on_drop(true);
    Ok(command)
}
