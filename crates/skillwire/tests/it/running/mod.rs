//! `skillwire run` as a user sees it: files, output, exit codes and environments.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod bridge_packages;
mod declared;
mod environments;
mod examples;
mod exit_codes;
mod granted;
mod inputs;
mod served;
mod words;

use skillwire_testkit::SkillFolder;

use crate::{
    host::user::TestUser,
    support::{CommandResult, finish, skill_with},
};

/// A user with one skill, `tools`, whose scripts may run.
pub(crate) struct ScriptUser {
    pub(crate) user: TestUser,
    /// Kept for as long as the server may be asked.
    pub(crate) skills: SkillFolder,
}

impl ScriptUser {
    /// Approves a skill with these files.
    pub(crate) async fn new(files: &[(&str, &str)]) -> Self {
        Self::granted(files, &[]).await
    }

    /// Approves a skill with these files, with grants as options of `approve`.
    pub(crate) async fn granted(files: &[(&str, &str)], grants: &[&str]) -> Self {
        let user = TestUser::new();
        let skills = SkillFolder::new();
        skills.file("tools/SKILL.md", skill_with("tools", ""));
        for (path, text) in files {
            skills.file(&format!("tools/{path}"), *text);
        }
        user.add_folder_server("acme", &skills).await;
        user.run_ok(&[&["approve", "acme:tools", "--exec", "--yes"], grants].concat()).await;
        Self { user, skills }
    }

    /// Writes a file into the folder in which the user works.
    pub(crate) fn work_file(&self, path: &str, text: &str) {
        self.user.home.file(&format!("work/{path}"), text);
    }

    /// The content of a file in the folder in which the user works.
    pub(crate) fn work_text(&self, path: &str) -> String {
        std::fs::read_to_string(self.user.home.join("work").join(path)).unwrap()
    }

    /// Runs a script with options of `run` before the skill, and words after the script.
    pub(crate) async fn run(&self, options: &[&str], command: &[&str]) -> CommandResult {
        self.user.run(&[&["run"], options, &["acme:tools"], command].concat()).await
    }

    /// Runs a script whose process gets these variables.
    pub(crate) async fn run_with(
        &self,
        variables: &[(&str, &str)],
        options: &[&str],
        command: &[&str],
    ) -> CommandResult {
        let mut run = self.user.command(&[&["run"], options, &["acme:tools"], command].concat());
        run.envs(variables.iter().copied());
        finish(run).await
    }
}
