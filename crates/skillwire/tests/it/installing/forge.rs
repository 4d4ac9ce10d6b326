//! Repositories below one folder, as a forge would have them.

use std::{path::PathBuf, process::Command};

use skillwire_testkit::SkillFolder;

use crate::{host::user::TestUser, support::CommandResult};

/// A forge on this machine, and a user who installs from it and has it as the own forge.
pub(super) struct Forge {
    folder: SkillFolder,
    /// The time of every commit, so that commits have the same ids in each run.
    time: Option<&'static str>,
    pub(super) user: TestUser,
}

impl Forge {
    /// Makes a forge with the repository `acme/skills`: `pdf` with a script, and `docx`.
    pub(super) fn new() -> Self {
        Self::with_time(None)
    }

    /// The same with commits that have the same ids in each run, for pictures.
    pub(super) fn at_a_fixed_time() -> Self {
        Self::with_time(Some("2026-01-01T12:00:00Z"))
    }

    fn with_time(time: Option<&'static str>) -> Self {
        let forge = Self { folder: SkillFolder::new(), time, user: TestUser::new() };
        forge.set_forge("sw/state", &forge.url());
        let skills = forge.repository("acme/skills");
        skills.skill("skills/pdf", "pdf", "Fills in forms.");
        skills.file("skills/pdf/scripts/fill.sh", "#!/bin/sh\necho filled\n");
        skills.skill("skills/docx", "docx", "Writes letters.");
        skills.file("README.md", "Not a skill.\n");
        skills.git(&["add", "--all"]);
        skills.git(&["update-index", "--chmod=+x", "skills/pdf/scripts/fill.sh"]);
        skills.git(&["commit", "--quiet", "--message=first"]);
        forge
    }

    /// A repository, new or not.
    pub(super) fn repository(&self, name: &str) -> ForgeRepository {
        let path = self.folder.join(&format!("{name}.git"));
        let repository = ForgeRepository { path, time: self.time };
        if !repository.path.exists() {
            std::fs::create_dir_all(&repository.path).unwrap();
            repository.git(&["init", "--quiet", "--initial-branch=main", "."]);
        }
        repository
    }

    /// Moves a repository away and puts another in its place.
    pub(super) fn rename(&self, from: &str, to: &str) {
        let at = |name: &str| self.folder.join(&format!("{name}.git"));
        std::fs::create_dir_all(at(to).parent().unwrap()).unwrap();
        std::fs::rename(at(from), at(to)).unwrap();
    }

    /// The folder of the repositories.
    pub(super) fn folder(&self) -> std::path::PathBuf {
        self.folder.path().to_owned()
    }

    /// Where `owner/repo` is found.
    pub(super) fn url(&self) -> String {
        format!("file://{}", self.folder.path().display())
    }

    /// Writes the user's settings in this folder of the home folder: where `owner/repo` is found.
    pub(super) fn set_forge(&self, folder: &str, url: &str) {
        self.user.home.file(&format!("{folder}/settings.toml"), format!("forge = \"{url}\"\n"));
    }

    /// `add` with a forge, and these arguments.
    pub(super) fn add<'a>(url: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["add", "--forge", url], arguments].concat()
    }

    /// Runs `add` from this forge to its end.
    pub(super) async fn run_add(&self, arguments: &[&str]) -> CommandResult {
        let url = self.url();
        self.user.run(&Self::add(&url, arguments)).await
    }

    /// What the user has in a file of the home folder.
    pub(super) fn read(&self, path: &str) -> String {
        let path = self.user.home.join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("no {}", path.display()))
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.user.home.join(path).symlink_metadata().is_ok()
    }
}

/// A repository with a work tree.
pub(super) struct ForgeRepository {
    pub(super) path: PathBuf,
    time: Option<&'static str>,
}

impl ForgeRepository {
    pub(super) fn git(&self, arguments: &[&str]) -> String {
        self.git_with(arguments, "")
    }

    /// Runs `git` with a text as its standard input.
    pub(super) fn git_with(&self, arguments: &[&str], input: &str) -> String {
        use std::{io::Write as _, process::Stdio};
        let mut command = Command::new("git");
        if let Some(time) = self.time {
            command.env("GIT_AUTHOR_DATE", time).env("GIT_COMMITTER_DATE", time);
        }
        let mut child = command
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(["-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"])
            .args(arguments)
            .current_dir(&self.path)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(super) fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes a `SKILL.md`.
    pub(super) fn skill(&self, folder: &str, name: &str, does: &str) {
        let text =
            format!("---\nname: {name}\ndescription: {does} Use when testing.\n---\n\n# {name}\n");
        self.file(&format!("{folder}/SKILL.md"), text);
    }

    /// Commits everything, and returns the commit.
    pub(super) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.git(&["rev-parse", "HEAD"])
    }
}
