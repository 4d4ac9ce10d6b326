//! Asks the systemd manager of an ordinary user for a cgroup.
//!
//! The processes of a login session share a cgroup that belongs to root, so this process can neither
//! divide it nor move a process out of it. Therefore the fork server is started where its helpers may be
//! moved: `systemd-run` registers itself in a new scope, which the manager delegates, and becomes the
//! fork server.

use std::{
    ffi::OsString,
    fs,
    io::{self, Read},
    os::{
        fd::AsFd,
        unix::fs::{FileTypeExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::retry_on_intr,
};

use super::delegated_cgroup::{self, Unusable};

/// Where the programs are looked for. The user's search path is the environment's, which a library does
/// not read.
const PROGRAM_FOLDERS: [&str; 2] = ["/usr/bin", "/bin"];

/// The runtime folders of users, as systemd names them.
const RUNTIME_FOLDERS: &str = "/run/user";

/// How long a manager may take unless told otherwise.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// How much of what `systemd-run` says is kept.
const MAX_SAID: usize = 300;

/// The systemd manager of the user that this process runs as.
#[derive(Debug)]
pub(crate) struct UserManager {
    /// The folder with the manager's socket.
    runtime_folder: PathBuf,
    systemd_run: PathBuf,
    env: PathBuf,
    /// How long it may take to give a cgroup. Runs go on without one after that.
    answer_timeout: Duration,
}

impl UserManager {
    /// Finds the manager without asking it. The error ends a sentence on why no cgroup is used.
    pub(super) fn find() -> Result<Self, Unusable> {
        let user = rustix::process::geteuid();
        if user.is_root() {
            return Err("root has no cgroup of version 1 or 2 to make one in".to_owned());
        }
        if !delegated_cgroup::machine_has_controllers() {
            return Err("no other cgroup of version 2 bounds `memory` or `pids` here".to_owned());
        }
        let runtime_folder = Path::new(RUNTIME_FOLDERS).join(user.as_raw().to_string());
        Self::in_folders(runtime_folder, user.as_raw(), &PROGRAM_FOLDERS)
    }

    fn in_folders(
        runtime_folder: PathBuf,
        user: u32,
        program_folders: &[&str],
    ) -> Result<Self, Unusable> {
        // Another user's socket would decide in which cgroup, and so under which limits, scripts run.
        let socket = fs::metadata(runtime_folder.join("systemd/private"));
        if !socket.is_ok_and(|found| found.file_type().is_socket() && found.uid() == user) {
            return Err(
                "this user has no systemd manager that gives one (`systemd --user`)".to_owned()
            );
        }
        let find = |name: &str| {
            let paths = program_folders.iter().map(|folder| Path::new(folder).join(name));
            paths.into_iter().find(|path| path.is_file())
        };
        let (Some(systemd_run), Some(env)) = (find("systemd-run"), find("env")) else {
            return Err(
                "`systemd-run`, which asks the user's systemd manager for one, is not installed"
                    .to_owned(),
            );
        };
        Ok(Self { runtime_folder, systemd_run, env, answer_timeout: ANSWER_TIMEOUT })
    }

    /// A manager that is asked by another program, which gets enough time on a busy machine.
    #[cfg(test)]
    pub(in crate::linux) fn asked_by(systemd_run: PathBuf) -> Self {
        Self {
            runtime_folder: "/nowhere".into(),
            systemd_run,
            env: "/usr/bin/env".into(),
            answer_timeout: Duration::from_mins(1),
        }
    }

    /// The command that starts a program in a cgroup of its own, with an empty environment.
    ///
    /// Only `systemd-run` itself gets a variable: the folder with the manager's socket.
    pub(in crate::linux) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(&self.systemd_run);
        command.env_clear().env("XDG_RUNTIME_DIR", &self.runtime_folder);
        command.args(["--user", "--scope", "--quiet", "--collect", "--no-ask-password"]);
        command.args(["--property=Delegate=yes", "--description=Scripts of skills", "--"]);
        command.arg(&self.env).arg("-i").arg(path_for_others(program));
        command
    }

    /// Waits until the program has started. It closes its standard error when it does, as does
    /// `systemd-run` when it fails, which first says why.
    pub(in crate::linux) fn wait_until_started(
        &self,
        stderr: impl Read + AsFd,
    ) -> Result<(), Unusable> {
        let timeout = self.answer_timeout;
        let said = read_until_closed(stderr, timeout).map_err(|error| {
            if error.kind() == io::ErrorKind::TimedOut {
                format!("it did not answer within {} seconds", timeout.as_secs())
            } else {
                error.to_string()
            }
        })?;
        if said.is_empty() { Ok(()) } else { Err(said) }
    }
}

/// The path by which another process finds a program. This process's own has a link that differs from
/// process to process.
fn path_for_others(program: &Path) -> OsString {
    if program == Path::new("/proc/self/exe") {
        return format!("/proc/{}/exe", std::process::id()).into();
    }
    program.into()
}

/// Reads the first line of a stream, and waits until its other end is closed.
fn read_until_closed(mut stream: impl Read + AsFd, timeout: Duration) -> io::Result<String> {
    let deadline = Instant::now() + timeout;
    let mut read = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let ready =
            retry_on_intr(|| poll(&mut [PollFd::new(&stream, PollFlags::IN)], Some(&left)))?;
        if ready == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut part = [0; 512];
        match stream.read(&mut part)? {
            0 => break,
            length => read.extend_from_slice(&part[..length]),
        }
        read.truncate(MAX_SAID);
    }
    let text = String::from_utf8_lossy(&read);
    let line = text.lines().next().unwrap_or_default();
    Ok(line.chars().filter(|c| !c.is_control()).collect::<String>().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write as _,
        os::unix::net::{UnixListener, UnixStream},
    };

    use super::*;

    fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let top = tempfile::tempdir().unwrap();
        let (runtime, programs) = (top.path().join("run"), top.path().join("bin"));
        fs::create_dir_all(runtime.join("systemd")).unwrap();
        fs::create_dir(&programs).unwrap();
        fs::write(programs.join("env"), "").unwrap();
        (top, runtime, programs)
    }

    #[test]
    fn a_manager_is_asked_only_where_its_socket_and_the_program_are() {
        let (_top, runtime, programs) = folders();
        let user = rustix::process::geteuid().as_raw();
        let find = |user| {
            UserManager::in_folders(runtime.clone(), user, &[programs.to_str().unwrap()])
                .map(|_| ())
        };
        assert!(find(user).unwrap_err().contains("has no systemd manager"));
        fs::write(runtime.join("systemd/private"), "").unwrap();
        assert!(find(user).unwrap_err().contains("has no systemd manager"), "a file is no socket");
        fs::remove_file(runtime.join("systemd/private")).unwrap();
        let _socket = UnixListener::bind(runtime.join("systemd/private")).unwrap();
        assert!(find(user).unwrap_err().contains("is not installed"));
        fs::write(programs.join("systemd-run"), "").unwrap();
        assert_eq!(find(user), Ok(()));
        assert!(find(user + 1).unwrap_err().contains("has no systemd manager"));
    }

    #[test]
    fn the_program_that_asks_gets_one_variable_and_the_fork_server_none() {
        let manager = UserManager {
            runtime_folder: "/run/user/7".into(),
            systemd_run: "/usr/bin/systemd-run".into(),
            env: "/usr/bin/env".into(),
            answer_timeout: ANSWER_TIMEOUT,
        };
        let command = manager.command(Path::new("/proc/self/exe"));
        let variables: Vec<_> = command.get_envs().collect();
        assert_eq!(
            variables,
            [("XDG_RUNTIME_DIR".as_ref(), Some("/run/user/7".as_ref()))]
                as [(&std::ffi::OsStr, _); 1]
        );
        let words: Vec<_> = command.get_args().map(|word| word.to_str().unwrap()).collect();
        let own = format!("/proc/{}/exe", std::process::id());
        assert_eq!(words[words.len() - 4..], ["--", "/usr/bin/env", "-i", own.as_str()]);
        let link = fs::read_link(own).unwrap();
        assert_eq!(link, std::env::current_exe().unwrap());
    }

    #[test]
    fn what_the_program_says_is_bounded_and_without_control_characters() {
        let said = |text: &str| {
            let (mut theirs, ours) = UnixStream::pair().unwrap();
            theirs.write_all(text.as_bytes()).unwrap();
            drop(theirs);
            read_until_closed(ours, ANSWER_TIMEOUT).unwrap()
        };
        assert_eq!(said(""), "");
        assert_eq!(said("Failed to connect\x1b[1m to bus\nmore\n"), "Failed to connect[1m to bus");
        assert_eq!(said(&"x".repeat(5000)).len(), MAX_SAID);
    }

    #[test]
    fn a_manager_that_does_not_answer_is_not_waited_for() {
        let (_theirs, ours) = UnixStream::pair().unwrap();
        let waited = read_until_closed(ours, Duration::from_millis(20)).unwrap_err();
        assert_eq!(waited.kind(), io::ErrorKind::TimedOut);
    }
}
