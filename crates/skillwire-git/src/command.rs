//! Runs `git`, hardened and bounded.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
    time::{Instant, sleep, timeout_at},
};

use crate::{error::GitError, options::GitOptions};

/// How often the size of a repository is looked at while it is fetched.
const LOOK: Duration = Duration::from_millis(100);

/// The most bytes that are kept of what `git` says.
const MAX_SAID: usize = 2_000;

/// Settings that come before every command, so that no configuration can undo them.
const SETTINGS: [&str; 14] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "core.askPass=",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "filter.lfs.smudge=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "http.followRedirects=initial",
];

/// One bare repository, and how `git` is run in it.
#[derive(Debug)]
pub(crate) struct GitRunner<'a> {
    folder: PathBuf,
    options: &'a GitOptions,
}

impl<'a> GitRunner<'a> {
    pub(crate) fn new(folder: impl Into<PathBuf>, options: &'a GitOptions) -> Self {
        Self { folder: folder.into(), options }
    }

    /// Runs a command and returns at most `most` bytes of its output.
    ///
    /// `input` is written to its standard input. The repository must stay within its bound meanwhile.
    pub(crate) async fn run(
        &self,
        arguments: &[&str],
        input: Vec<u8>,
        most: u64,
    ) -> Result<Vec<u8>, GitError> {
        Ok(self.run_heard(arguments, input, most).await?.0)
    }

    /// Runs a command as [`run`](Self::run) does, and also returns the end of what it wrote to standard
    /// error.
    pub(crate) async fn run_heard(
        &self,
        arguments: &[&str],
        input: Vec<u8>,
        most: u64,
    ) -> Result<(Vec<u8>, String), GitError> {
        let name = (*arguments.first().unwrap_or(&"")).to_owned();
        let mut child = self.command(arguments).spawn().map_err(GitError::NotStarted)?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let limits = self.options.limits;
        let work = async {
            let write = async {
                if let Some(mut stdin) = stdin {
                    // `git` may end before it has read everything, which its exit code says.
                    let _ = stdin.write_all(&input).await;
                }
            };
            let ((), output, said) =
                tokio::join!(write, read(stdout, most.saturating_add(1)), read_tail(stderr));
            let output = output.map_err(GitError::io("Reading what `git` wrote"))?;
            if output.len() as u64 > most {
                let what = format!("What `git {name}` wrote");
                return Err(GitError::TooLarge { what, limit: most, unit: "bytes" });
            }
            Ok((output, said))
        };
        let deadline = Instant::now() + limits.time;
        let too_slow = || GitError::TooSlow { command: name.clone(), limit: limits.time };
        let (output, said) = tokio::select! {
            done = timeout_at(deadline, work) => done.map_err(|_| too_slow())??,
            () = self.grown_beyond(limits.repository_bytes) => {
                let what = "The repository".to_owned();
                return Err(GitError::TooLarge { what, limit: limits.repository_bytes, unit: "bytes" });
            }
        };
        let status = timeout_at(deadline, child.wait()).await.map_err(|_| too_slow())?;
        let status = status.map_err(GitError::io("Waiting for `git`"))?;
        if status.success() {
            Ok((output, said))
        } else {
            Err(GitError::Failed { command: name, said })
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.options.program);
        command.env_clear().envs(self.options.variables.iter().map(|(name, value)| (name, value)));
        let allowed = self.options.protocols().join(":");
        let fixed = [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ALLOW_PROTOCOL", allowed.as_str()),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_LFS_SKIP_SMUDGE", "1"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
            ("LC_ALL", "C"),
        ];
        command.envs(fixed);
        if !self.options.user_configuration {
            command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", &self.folder);
        }
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        if !self.options.user_configuration {
            command.args(["-c", "credential.helper="]);
        }
        command.args(arguments);
        command.current_dir(&self.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The server of a repository may never answer; the caller may stop waiting.
        command.kill_on_drop(true);
        command
    }

    /// Waits until the repository takes more bytes than allowed.
    async fn grown_beyond(&self, limit: u64) {
        loop {
            sleep(LOOK).await;
            let folder = self.folder.clone();
            let size = tokio::task::spawn_blocking(move || size_of(&folder)).await;
            if size.is_ok_and(|size| size > limit) {
                return;
            }
        }
    }
}

/// Adds up the sizes of all files; files that are gone meanwhile do not count.
fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(facts) if facts.is_dir() => size_of(&entry.path()),
        Ok(facts) => facts.len(),
        Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(size).sum()
}

async fn read(stream: Option<impl AsyncRead + Unpin>, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(most).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// Reads to the end, and keeps the last lines as one printable text.
async fn read_tail(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let mut kept = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(count) = stream.read(&mut piece).await
        && count > 0
    {
        kept.extend_from_slice(&piece[..count]);
        let excess = kept.len().saturating_sub(MAX_SAID);
        kept.drain(..excess);
    }
    let text = String::from_utf8_lossy(&kept);
    // Progress is written over itself with carriage returns; only the last state of a line counts.
    let lines = text.lines().map(|line| line.rsplit('\r').next().unwrap_or(line).trim());
    let printable = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>();
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).map(printable).collect();
    lines.join(" ")
}
