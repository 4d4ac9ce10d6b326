//! Runs a program that installs packages, for a bounded time.

use std::{
    io,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use futures_util::future::try_join;
use tokio::{io::AsyncReadExt as _, process, runtime, time};

use super::PackageError;

/// How much of a failed program's words is kept.
const MAX_SAID: usize = 2000;

/// Runs a program to its end, and ends it after a while. `called` is what the user is told of it.
pub(super) fn run_within(
    called: &str,
    command: Command,
    within: Duration,
) -> Result<(), PackageError> {
    let failed = |said: String| PackageError::Tool { program: called.to_owned(), said };
    // Callers may be inside of a runtime, which cannot wait for another one on the same thread.
    let done = thread::spawn(move || wait(command, within)).join();
    let done = done.map_err(|_| failed("it was not waited for".to_owned()))?;
    let Some((status, said)) = done.map_err(|error| failed(error.to_string()))? else {
        return Err(PackageError::TooSlow { command: called.to_owned(), waited: within });
    };
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&said);
    let said: String = said.chars().take(MAX_SAID).collect();
    Err(failed(if said.trim().is_empty() { status.to_string() } else { said }))
}

/// Waits for a program, whose words it returns. Returns nothing if it did not end in time; it is killed
/// then.
fn wait(command: Command, within: Duration) -> io::Result<Option<(ExitStatus, Vec<u8>)>> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut command = process::Command::from(command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        let mut words = child.stderr.take();
        let mut said = Vec::new();
        let reading = async {
            match &mut words {
                Some(words) => words.read_to_end(&mut said).await,
                None => Ok(0),
            }
        };
        match time::timeout(within, try_join(child.wait(), reading)).await {
            Ok(ended) => ended.map(|(status, _)| Some((status, said))),
            Err(_) => child.kill().await.map(|()| None),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_end_is_killed_and_named() {
        let top = tempfile::tempdir().unwrap();
        let mut command = Command::new("tail");
        command.args(["-f", "/dev/null"]).current_dir(top.path());
        let error = run_within("npm ci", command, Duration::from_millis(50)).unwrap_err();
        assert!(matches!(error, PackageError::TooSlow { .. }), "{error:?}");
        let said = error.to_string();
        assert!(
            said.starts_with("`npm ci` did not end within") && said.contains("network"),
            "{said}"
        );
        // Killed programs that nothing waited for are left as zombies, without a folder.
        let top = top.path().canonicalize().unwrap();
        let still = std::fs::read_dir("/proc").unwrap().flatten().find(|process| {
            std::fs::read_link(process.path().join("cwd")).is_ok_and(|folder| folder == top)
        });
        assert!(still.is_none(), "{still:?}");
    }

    #[test]
    fn a_program_that_fails_is_named_with_what_it_said() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such package >&2; exit 3"]);
        let error = run_within("uv pip compile", command, Duration::from_mins(5)).unwrap_err();
        assert_eq!(error.to_string(), "`uv pip compile` failed: no such package");
    }
}
