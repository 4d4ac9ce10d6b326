//! `sync`: a project brings its skills.

use std::fs;

use serde_json::{Value, json};
use skillwire_testkit::SkillFolder;

use super::forge::Forge;
use crate::{
    host::user::{TestUser, refunds},
    support::{CommandResult, HttpServer, TEST_TIMEOUT, finish},
};

/// A project with this `skillwire.toml`.
fn project(forge: &Forge, text: &str) {
    let text = text.replace("FORGE", &forge.url());
    forge.user.home.file("work/skillwire.toml", text);
}

const PDF: &str = "[project]\nagents = [\"claude-code\", \"codex\"]\nforge = \"FORGE\"\n\n\
                   [[source]]\nfrom = \"acme/skills\"\nskills = [\"pdf\"]\n";

async fn sync(user: &TestUser, arguments: &[&str]) -> CommandResult {
    user.run(&[&["sync"], arguments].concat()).await
}

/// Another user, who has the files of the same project.
fn colleague(forge: &Forge) -> TestUser {
    let user = TestUser::new();
    for file in ["skillwire.toml", "skillwire.lock"] {
        let text = forge.read(&format!("work/{file}"));
        user.home.file(&format!("work/{file}"), text);
    }
    user
}

#[tokio::test]
async fn a_project_pins_its_skills_and_a_colleague_gets_the_same() {
    let forge = Forge::new();
    project(&forge, PDF);
    let done =
        sync(&forge.user, &["--trust-project", "--yes", "--json"]).await.assert_exit(0).json();
    assert_eq!(done["installed"][0]["name"], "pdf", "{done}");
    assert_eq!(done["lockWritten"], true, "{done}");
    assert!(forge.exists("work/.claude/skills/pdf/SKILL.md"));
    assert!(forge.exists("work/.agents/skills/pdf/SKILL.md"));
    let lock = forge.read("work/skillwire.lock");
    let commit = forge.repository("acme/skills").git(&["rev-parse", "HEAD"]);
    assert!(lock.contains(&format!("commit = \"{commit}\"")), "{lock}");
    assert!(
        lock.contains("folder = \"skills/pdf\"") && lock.contains("content = \"sha256:"),
        "{lock}"
    );
    assert!(lock.contains(&format!("url = \"{}/acme/skills.git\"", forge.url())), "{lock}");
    // The source moves on; the lock file does not.
    let skills = forge.repository("acme/skills");
    skills.skill("skills/pdf", "pdf", "Reads forms aloud.");
    skills.commit("second");
    let other = colleague(&forge);
    let done = sync(&other, &["--frozen", "--trust-project", "--json"]).await.assert_exit(0).json();
    assert_eq!(done["lockWritten"], false, "{done}");
    let theirs = fs::read_to_string(other.home.join("work/.claude/skills/pdf/SKILL.md")).unwrap();
    assert!(theirs.contains("Fills in forms."), "{theirs}");
    let again = sync(&other, &["--frozen"]).await.assert_exit(0);
    assert_eq!(again.stdout, "1 skill in place.\n", "{again:?}");
    // With `--update` the sources are asked for what they have now, and the difference is shown.
    let ran = sync(&forge.user, &["--update", "--dry-run"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "pdf would be installed.\n", "{ran:?}");
    let ran = sync(&forge.user, &["--update", "--yes"]).await.assert_exit(0);
    assert!(ran.stderr.contains("pdf changed in acme/skills since it was pinned:"), "{ran:?}");
    assert!(ran.stderr.contains("+description: Reads forms aloud."), "{ran:?}");
    assert!(!ran.stderr.contains("echo filled"), "only what differs is shown: {ran:?}");
    let ran = sync(&forge.user, &["--dry-run"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "Nothing would change.\n", "{ran:?}");
    assert!(forge.read("work/.claude/skills/pdf/SKILL.md").contains("Reads forms aloud."));
}

#[tokio::test]
async fn a_forge_that_only_the_project_names_is_shown_with_its_address() {
    let forge = Forge::new();
    project(&forge, PDF);
    let own = sync(&forge.user, &["--trust-project", "--yes"]).await.assert_exit(0);
    assert!(own.stderr.contains("  acme/skills: pdf"), "{own:?}");
    let url = format!("{}/acme/skills.git", forge.url());
    let other = colleague(&forge);
    let ran = sync(&other, &["--trust-project", "--yes"]).await.assert_exit(0);
    assert!(ran.stderr.contains(&format!("  {url}: pdf")), "{ran:?}");
    let skills = forge.repository("acme/skills");
    skills.skill("skills/pdf", "pdf", "Reads forms aloud.");
    skills.commit("second");
    for (user, from) in [(&forge.user, "acme/skills"), (&other, url.as_str())] {
        let ran = sync(user, &["--update", "--yes"]).await.assert_exit(0);
        assert!(ran.stderr.contains(&format!("pdf changed in {from} since")), "{ran:?}");
        let listed = user.run_ok(&["list"]).await;
        assert!(listed.contains(&format!("intact   {from} (")), "{listed}");
    }
    // Records and the lock file name the source as the project does.
    assert!(forge.read("work/skillwire.lock").contains("from = \"acme/skills\""));
}

#[tokio::test]
async fn trust_is_asked_once_for_each_content_of_the_files() {
    let forge = Forge::new();
    project(&forge, PDF);
    let ran = sync(&forge.user, &["--yes"]).await;
    ran.assert_refused(4, "The files of this project are not trusted");
    assert!(!forge.exists("work/.claude") && !forge.exists("work/skillwire.lock"));
    sync(&forge.user, &["--trust-project", "--yes"]).await.assert_exit(0);
    sync(&forge.user, &[]).await.assert_exit(0);
    project(&forge, &PDF.replace("\"pdf\"", "\"pdf\", \"docx\""));
    let ran = sync(&forge.user, &["--yes"]).await.assert_exit(4);
    assert!(ran.stderr.contains("changed since you trusted it"), "{ran:?}");
    assert!(!forge.exists("work/.claude/skills/docx"));
    sync(&forge.user, &["--trust-project", "--yes"]).await.assert_exit(0);
    assert!(forge.exists("work/.claude/skills/docx"));
    // What the project no longer names is taken away.
    project(&forge, PDF);
    let ran = sync(&forge.user, &["--trust-project", "--yes"]).await.assert_exit(0);
    assert!(ran.stdout.contains("Removed docx."), "{ran:?}");
    assert!(!forge.exists("work/.claude/skills/docx"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_user_at_a_terminal_sees_what_a_project_names_before_anything_happens() {
    let forge = Forge::new();
    project(&forge, PDF);
    let mut terminal = forge.user.start_whole_on_terminal(&["sync"]);
    let seen = terminal.wait_for_screen("Trust this project to install these?").await;
    assert!(seen.contains("acme/skills") && seen.contains("pdf"), "{seen}");
    terminal.type_line("y");
    let seen = terminal.wait_for_screen("and pin it as it is now?").await;
    assert!(seen.contains("Fills in forms."), "{seen}");
    terminal.type_line("y");
    terminal.wait_for_screen("1 skill in place.").await;
    assert_eq!(terminal.wait().await, Some(0));
    let mut terminal = forge.user.start_whole_on_terminal(&["sync"]);
    terminal.wait_for_screen("1 skill in place.").await;
    assert_eq!(terminal.wait().await, Some(0));
}

#[tokio::test]
async fn frozen_refuses_everything_that_the_lock_does_not_pin() {
    let forge = Forge::new();
    project(&forge, PDF);
    let frozen = ["--frozen", "--trust-project"];
    sync(&forge.user, &frozen).await.assert_refused(1, "does not pin what is named of acme/skills");
    sync(&forge.user, &["--trust-project", "--yes"]).await.assert_exit(0);
    let lock = forge.read("work/skillwire.lock");
    // Another skill is named.
    project(&forge, &PDF.replace("\"pdf\"", "\"pdf\", \"docx\""));
    sync(&forge.user, &frozen).await.assert_refused(1, "does not pin what is named");
    project(&forge, &PDF.replace("\"pdf\"", "\"docx\""));
    sync(&forge.user, &frozen).await.assert_refused(1, "does not pin what is named");
    // The pinned content is not what the commit has.
    project(&forge, PDF);
    let content = lock.lines().find(|line| line.starts_with("content")).unwrap();
    let other = lock.replace(content, &format!("content = \"sha256:{}\"", "0".repeat(64)));
    forge.user.home.file("work/skillwire.lock", other);
    sync(&forge.user, &frozen).await.assert_refused(3, "is not what `skillwire.lock` pins");
    // The files were edited.
    forge.user.home.file("work/skillwire.lock", &*lock);
    sync(&forge.user, &frozen).await.assert_exit(0);
    forge.user.home.file("work/.claude/skills/pdf/SKILL.md", "mine");
    sync(&forge.user, &frozen).await.assert_refused(8, "You changed files in");
    let discard = ["--frozen", "--discard-edits"];
    sync(&forge.user, &discard).await.assert_exit(0);
    assert!(forge.read("work/.claude/skills/pdf/SKILL.md").contains("Fills in forms."));
    assert_eq!(forge.read("work/skillwire.lock"), lock);
}

#[tokio::test]
async fn skills_of_servers_are_the_same_for_a_colleague_with_other_labels_fu_17() {
    let forge = Forge::new();
    let team = refunds();
    let server = HttpServer::serve(&team, &["."]).await;
    let url = format!("http://{}/mcp", server.address);
    project(
        &forge,
        &format!("[[server]]\nlabel = \"team\"\nurl = \"{url}\"\nskills = [\"refunds\"]\n"),
    );
    let done =
        sync(&forge.user, &["--trust-project", "--yes", "--json"]).await.assert_exit(0).json();
    assert_eq!(done["servers"][0], "team", "{done}");
    assert_eq!(forge.user.state_of("team:refunds").await, "approved");
    let lock = forge.read("work/skillwire.lock");
    assert!(lock.contains("version = 2") && lock.contains(&url), "{lock}");
    let other = colleague(&forge);
    // The colleague has the same server as `work`, and another one as `team`.
    let another = refunds();
    other.add_folder_server("team", &another).await;
    other.run_ok(&["server", "add", "work", &url]).await;
    let done = sync(&other, &["--frozen", "--trust-project", "--json"]).await.assert_exit(0).json();
    assert_eq!(done["servers"], Value::Array(Vec::new()), "{done}");
    assert_eq!(other.state_of("work:refunds").await, "approved");
    assert_eq!(other.state_of("team:refunds").await, "new");
    // The lock file alone lets unattended agents load it, under the colleague's label.
    let lock = ["load", "work:refunds", "--lock", "skillwire.lock"];
    other.run(&lock).await.assert_exit(0);
    other.run(&["load", "team:refunds", "--lock", "skillwire.lock"]).await.assert_exit(4);
    // The server changes the skill.
    let before = server.modern("skills/list", Value::Null).await;
    team.file("acme/refunds/references/policy.md", "Refund within 60 days.\n");
    let start = std::time::Instant::now();
    while server.modern("skills/list", Value::Null).await.result() == before.result() {
        assert!(start.elapsed() < TEST_TIMEOUT, "the server notices the change");
    }
    let third = colleague(&forge);
    let ran = sync(&third, &["--frozen", "--trust-project"]).await.assert_exit(1);
    assert!(ran.stderr.contains("is not what is pinned"), "{ran:?}");
    // The sync failed, so the server is not there either.
    assert_eq!(third.run_json(&["list", "--json"]).await["skills"], Value::Array(Vec::new()));
}

#[tokio::test]
async fn skills_of_npx_are_read_from_its_lock_and_mistakes_are_told() {
    let forge = Forge::new();
    sync(&forge.user, &[]).await.assert_refused(5, "names servers or sources");
    let npx = serde_json::json!({
        "version": 1,
        "skills": {
            "docx": {"source": "acme/skills", "sourceType": "github", "computedHash": "0"},
            "dep": {"source": "dep", "sourceType": "node_modules", "computedHash": "0"},
        }
    });
    forge.user.home.file("work/skills-lock.json", npx.to_string());
    project(&forge, "[project]\nagents = [\"claude-code\"]\nforge = \"FORGE\"\n");
    let ran = sync(&forge.user, &["--trust-project", "--yes"]).await.assert_exit(0);
    assert!(ran.stderr.contains("`dep` from `node_modules`"), "{ran:?}");
    assert!(forge.exists("work/.claude/skills/docx/SKILL.md"));
    for (text, words) in [
        ("[project]\nagent = []\n", "line 2: unknown field `agent`"),
        ("[[source]]\nfrom = \"team:refunds\"\n", "is not a source"),
        (
            "[project]\nforge = \"FORGE\"\n[[source]]\nfrom = \"acme/skills\"\nskills = [\"nope\"]\n",
            "has no skill `nope`",
        ),
        (
            "[[server]]\nlabel = \"A B\"\nurl = \"http://127.0.0.1:1/mcp\"\nskills = [\"x\"]\n",
            "The label `A B`",
        ),
    ] {
        project(&forge, text);
        let ran = sync(&forge.user, &["--trust-project", "--yes"]).await;
        assert!(ran.code != Some(0) && ran.stderr.contains(words), "{text}: {ran:?}");
    }
    // `check` reads the silences of the same file.
    project(&forge, PDF);
    forge.user.home.file("work/a/SKILL.md", crate::support::skill_with("a", ""));
    forge.user.run(&["check", "a"]).await.assert_exit(0);
}

#[tokio::test]
async fn a_project_that_names_nothing_any_more_loses_what_sync_installed() {
    let forge = Forge::new();
    project(&forge, PDF);
    sync(&forge.user, &["--trust-project", "--yes"]).await.assert_exit(0);
    project(&forge, &PDF.replace("\"pdf\"", "\"pdf\", \"docx\""));
    let ran = sync(&forge.user, &[]).await.assert_exit(4);
    assert!(ran.stderr.contains("work changed since you trusted it, and names:"), "{ran:?}");
    assert!(ran.stderr.contains("pdf, docx (not pinned yet)"), "{ran:?}");
    project(&forge, "[project]\nagents = [\"claude-code\"]\n");
    let ran = sync(&forge.user, &["--trust-project"]).await.assert_exit(0);
    assert!(ran.stderr.contains("names nothing any more."), "{ran:?}");
    assert!(ran.stdout.contains("Removed pdf.\n"), "{ran:?}");
    assert!(!forge.exists("work/.claude/skills/pdf"));
    assert!(!forge.read("work/skillwire.lock").contains("pdf"));
    sync(&forge.user, &["--trust-project"]).await.assert_refused(5, "names servers or sources");
}

#[tokio::test]
async fn a_server_that_the_project_no_longer_names_goes_with_its_approvals() {
    let forge = Forge::new();
    let team = SkillFolder::with_skills(&["one", "two"]);
    let server = HttpServer::serve(&team, &["."]).await;
    let url = format!("http://{}/mcp", server.address);
    let text = |skills: &str| {
        format!("[project]\n[[server]]\nlabel = \"team\"\nurl = \"{url}\"\nskills = [{skills}]\n")
    };
    let agreed = ["--trust-project", "--yes"];
    let labels = async || {
        let listed = forge.user.run_json(&["server", "list", "--json"]).await;
        let servers = listed.as_array().unwrap().iter();
        servers.map(|it| it["label"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    project(&forge, &text("\"one\", \"two\""));
    sync(&forge.user, &agreed).await.assert_exit(0);
    // A skill that is no longer named loses the approval that a sync gave it.
    project(&forge, &text("\"one\""));
    let ran = sync(&forge.user, &agreed).await.assert_exit(0);
    assert!(ran.stdout.contains("Withdrew the approval of team:two.\n"), "{ran:?}");
    assert_eq!(forge.user.state_of("team:one").await, "approved");
    assert_ne!(forge.user.state_of("team:two").await, "approved");
    // Another project that names the same server keeps it.
    forge.user.home.file("other/skillwire.toml", text("\"one\""));
    let mut other = forge.user.command(&["sync", "--trust-project", "--yes"]);
    other.current_dir(forge.user.home.join("other"));
    finish(other).await.assert_exit(0);
    project(&forge, "[project]\n");
    let ran = sync(&forge.user, &agreed).await.assert_exit(0);
    assert!(!ran.stdout.contains("Removed the server"), "{ran:?}");
    assert_eq!(labels().await, ["team"]);
    assert_eq!(forge.user.state_of("team:one").await, "approved");
    forge.user.home.file("other/skillwire.toml", "[project]\n");
    let in_other = async |arguments: &[&str]| {
        let mut command = forge.user.command(&[&["sync"], arguments].concat());
        command.current_dir(forge.user.home.join("other"));
        finish(command).await.assert_exit(0)
    };
    let ran = in_other(&["--trust-project", "--dry-run"]).await;
    assert!(ran.stdout.contains("The server team would be removed.\n"), "{ran:?}");
    assert_eq!(labels().await, ["team"]);
    let ran = in_other(&agreed).await;
    assert!(ran.stdout.contains("Removed the server team.\n"), "{ran:?}");
    assert_eq!(labels().await, [""; 0]);
}

#[tokio::test]
async fn a_server_of_the_user_or_with_more_decisions_stays() {
    let forge = Forge::new();
    let team = SkillFolder::with_skills(&["one", "two"]);
    let server = HttpServer::serve(&team, &["."]).await;
    let url = format!("http://{}/mcp", server.address);
    let named =
        format!("[project]\n[[server]]\nlabel = \"team\"\nurl = \"{url}\"\nskills = [\"one\"]\n");
    let agreed = ["--trust-project", "--yes"];
    project(&forge, &named);
    sync(&forge.user, &agreed).await.assert_exit(0);
    forge.user.approve("team:two").await;
    project(&forge, "[project]\n");
    let ran = sync(&forge.user, &["--trust-project", "--dry-run"]).await.assert_exit(0);
    assert!(ran.stdout.contains("The server team would stay"), "{ran:?}");
    let ran = sync(&forge.user, &["--trust-project", "--dry-run", "--json"]).await.assert_exit(0);
    assert_eq!(ran.json()["serversKept"], json!(["team"]));
    assert_eq!(ran.json()["serversRemoved"], json!([]));
    let ran = sync(&forge.user, &agreed).await.assert_exit(0);
    assert!(ran.stdout.contains("The server team stays"), "{ran:?}");
    assert_eq!(forge.user.state_of("team:two").await, "approved");
    // From now on it is the user's own, whatever projects name.
    project(&forge, &named);
    sync(&forge.user, &agreed).await.assert_exit(0);
    forge.user.run_ok(&["revoke", "team:two"]).await;
    project(&forge, "[project]\n");
    let ran = sync(&forge.user, &agreed).await.assert_exit(0);
    assert!(!ran.stdout.contains("the server"), "{ran:?}");
    assert_ne!(forge.user.state_of("team:one").await, "approved");
}

#[tokio::test]
async fn a_sync_that_only_shows_or_fails_adds_no_server() {
    let forge = Forge::new();
    let team = refunds();
    let server = HttpServer::serve(&team, &["."]).await;
    let text = |skill: &str| {
        let url = format!("http://{}/mcp", server.address);
        format!("[[server]]\nlabel = \"team\"\nurl = \"{url}\"\nskills = [\"{skill}\"]\n")
    };
    let servers = async || forge.user.run_json(&["server", "list", "--json"]).await;
    let none = servers().await;
    project(&forge, &text("refunds"));
    let ran = sync(&forge.user, &["--trust-project", "--dry-run"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "The server team would be added.\n", "{ran:?}");
    assert_eq!(servers().await, none);
    project(&forge, &text("nope"));
    let ran = sync(&forge.user, &["--trust-project", "--yes"]).await;
    ran.assert_refused(5, "The server `team` has no skill `nope`.");
    project(&forge, &text("refund"));
    let ran = sync(&forge.user, &["--trust-project", "--yes"]).await;
    ran.assert_refused(5, "Did you mean `refunds`?");
    assert_eq!(servers().await, none);
    forge.user.home.file("sw/state/settings.toml", "unattended-approvals = false\n");
    project(&forge, &text("refunds"));
    let ran = sync(&forge.user, &["--trust-project", "--yes"]).await;
    ran.assert_refused(8, "Your settings let no skill be installed without asking.");
    assert_eq!(servers().await, none);
}

#[tokio::test]
async fn a_project_names_the_folder_where_two_skills_have_one_name() {
    let forge = Forge::new();
    let skills = forge.repository("acme/skills");
    skills.skill("old/pdf", "pdf", "Fills in old forms.");
    skills.commit("two");
    project(&forge, &PDF.replace("\"pdf\"", "\"pfd\""));
    let agreed = ["--trust-project", "--yes"];
    sync(&forge.user, &agreed).await.assert_refused(5, "Did you mean `pdf`?");
    project(&forge, PDF);
    sync(&forge.user, &agreed).await.assert_refused(6, "Several skills are called `pdf`.");
    project(&forge, &PDF.replace("\"pdf\"", "\"old/pdf\""));
    sync(&forge.user, &agreed).await.assert_exit(0);
    assert!(forge.read("work/.claude/skills/pdf/SKILL.md").contains("Fills in old forms."));
    let again = sync(&forge.user, &["--frozen"]).await.assert_exit(0);
    assert_eq!(again.stdout, "1 skill in place.\n", "{again:?}");
}

#[tokio::test]
async fn a_lock_of_an_earlier_version_is_still_read() {
    let forge = Forge::new();
    project(&forge, PDF);
    let fixture =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/state-bf5572f/skillwire.lock");
    forge.user.home.file("work/skillwire.lock", fs::read_to_string(fixture).unwrap());
    let mut command = forge.user.command(&["sync", "--trust-project", "--yes"]);
    command.env("COLUMNS", "200");
    finish(command).await.assert_exit(0);
    assert!(forge.read("work/skillwire.lock").contains("[[source]]"));
}
