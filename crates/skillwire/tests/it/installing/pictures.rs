//! The flows of a user who installs skills, as pictures of the documentation.

use super::forge::Forge;
use crate::{
    host::{screen::TestScreen, user::TestUser},
    support::{BINARY, finish},
};

/// Where the state of a user is who did not say where, in the home folder.
const STATE: &str = ".local/share/skillwire";

fn start(forge: &Forge, arguments: &[&str], size: (u16, u16)) -> TestScreen {
    let mut command = forge.user.command(arguments);
    command.env("PAGER", "cat");
    TestScreen::start(command, size)
}

/// The program as a user has it: on the `PATH`, with its state in the home folder. What it prints is
/// then the same on every machine.
fn installed(user: &TestUser, arguments: &[&str]) -> tokio::process::Command {
    let programs = user.home.join("bin");
    if !programs.exists() {
        std::fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(BINARY, programs.join("skillwire")).unwrap();
    }
    let system = std::env::split_paths("/usr/bin:/bin");
    let path = std::env::join_paths(std::iter::once(programs).chain(system)).unwrap();
    let mut command = user.command(arguments);
    command.env("PATH", path);
    for name in ["SKILLWIRE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        command.env_remove(name);
    }
    command
}

#[tokio::test]
async fn the_list_to_choose_from_fits_the_terminal() {
    let forge = Forge::new();
    let url = forge.url();
    let arguments = ["acme/skills", "--agent", "claude-code", "--global"];
    let mut screen = start(&forge, &Forge::add(&url, &arguments), (80, 12));
    screen.wait_for("0 marked").await;
    screen.press("pdf\n");
    screen.wait_for("1 marked").await;
    screen.assert_picture("add.svg");
    screen.press("q\n");
    screen.wait().await;
    assert!(!forge.exists(".claude"), "nothing is written before the user agrees");
}

#[tokio::test]
async fn setup_shows_what_it_writes_and_starts_the_bridge_as_each_agent_does() {
    let user = TestUser::new();
    user.home.file(
        ".gemini/settings.json",
        "{\n  \"mcpServers\": {\n    \"files\": { \"command\": \"files\" } // mine\n  }\n}\n",
    );
    user.home.file(".codex/config.toml", "model = \"gpt-5\"\n");
    for skill in ["deploy", "release-notes"] {
        let text = crate::support::skill_with(skill, "");
        user.home.file(&format!("work/skills/{skill}/SKILL.md"), text);
    }
    let arguments = ["setup", "--agent", "gemini-cli", "--agent", "codex"];
    let mut screen = TestScreen::start(installed(&user, &arguments), (84, 34));
    let shown = screen.wait_for("Write these files? [y/N]").await;
    assert!(shown.contains("+++ ~/.codex/config.toml"), "{shown}");
    screen.press("y\n");
    screen.wait_for("or Enter for none):").await;
    screen.press("skills\n");
    screen.wait_for("Restart an agent").await;
    screen.assert_picture("setup.svg");
    let (code, left) = screen.wait().await;
    assert_eq!(code, Some(0));
    assert!(left.contains("0 skills ready in 2 agents."), "{left}");
    assert!(left.contains("2 skills wait for your decision"), "{left}");
}

#[tokio::test]
async fn an_update_shows_the_lines_that_differ_before_it_asks() {
    let forge = Forge::at_a_fixed_time();
    let url = forge.url();
    forge.set_forge(STATE, &url);
    let add = ["add", "acme/skills", "pdf", "--agent", "claude-code", "--global"];
    finish(installed(&forge.user, &[&add[..], &["--yes"]].concat())).await.assert_exit(0);
    let skills = forge.repository("acme/skills");
    skills.skill("skills/pdf", "pdf", "Fills in forms, and signs them.");
    skills.file("skills/pdf/scripts/fill.sh", "#!/bin/sh\nset -e\necho filled and signed\n");
    let script = skills.path.join("skills/pdf/scripts/fill.sh");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(script, executable).unwrap();
    skills.commit("second");
    let mut screen = TestScreen::start(installed(&forge.user, &["update", "pdf"]), (80, 20));
    let shown = screen.wait_for("Update `pdf`? [y/N]").await;
    assert!(shown.contains("+echo filled and signed"), "{shown}");
    screen.press("y\n");
    screen.wait_for("1 updated").await;
    screen.assert_picture("update.svg");
    assert_eq!(screen.wait().await.0, Some(0));
    assert!(forge.read(".claude/skills/pdf/scripts/fill.sh").contains("signed"));
}

#[tokio::test]
async fn a_sync_shows_what_the_project_names_and_what_is_pinned() {
    let forge = Forge::at_a_fixed_time();
    let text = "[project]\nagents = [\"claude-code\"]\nforge = \"FORGE\"\n\n\
                [[source]]\nfrom = \"acme/skills\"\nskills = [\"pdf\"]\n\n\
                [[server]]\nlabel = \"team\"\ncommand = [\"skillwire\", \"serve\", \"skills\"]\n\
                skills = [\"deploy\"]\n";
    forge.user.home.file("work/skillwire.toml", text.replace("FORGE", &forge.url()));
    forge.set_forge(STATE, &forge.url());
    let deploy = crate::support::skill_with("deploy", "");
    forge.user.home.file("work/skills/deploy/SKILL.md", deploy);
    let mut screen = TestScreen::start(installed(&forge.user, &["sync"]), (90, 24));
    let shown = screen.wait_for("to install these? [y/N]").await;
    assert!(shown.contains("program team, started as `skillwire serve skills`: deploy"), "{shown}");
    screen.press("y\n");
    screen.wait_for("pin it as it is now? [y/N]").await;
    screen.press("y\n");
    let shown = screen.wait_for("Approve `team:deploy` as it is now, and pin it? [y/N]").await;
    assert!(shown.contains("Does deploy. Use when testing."), "{shown}");
    assert!(!forge.exists("work/.claude"), "nothing is written before the user agrees");
    screen.press("y\n");
    screen.wait_for("2 skills in place.").await;
    screen.assert_picture("sync.svg");
    assert_eq!(screen.wait().await.0, Some(0));
    assert!(forge.exists("work/.claude/skills/pdf/scripts/fill.sh"));
}

#[tokio::test]
async fn a_removal_names_the_folders_before_it_asks() {
    let forge = Forge::at_a_fixed_time();
    forge.set_forge(STATE, &forge.url());
    let add = ["add", "acme/skills", "--all", "--agent", "claude-code", "--agent", "codex"];
    finish(installed(&forge.user, &[&add[..], &["--global", "--yes"]].concat()))
        .await
        .assert_exit(0);
    let mut screen = TestScreen::start(installed(&forge.user, &["remove", "--all"]), (80, 10));
    let shown = screen.wait_for("Remove 2 skills? [y/N]").await;
    assert!(shown.contains("pdf  ~/.claude/skills/pdf"), "{shown}");
    screen.press("y\n");
    screen.wait_for("Removed pdf.").await;
    screen.assert_picture("remove.svg");
    assert_eq!(screen.wait().await.0, Some(0));
    assert!(!forge.exists(".claude/skills"));
}
