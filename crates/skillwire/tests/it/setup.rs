//! `setup`: the bridge in real configuration files of agents.

use serde_json::{Value, json};
use skillwire_testkit::SkillFolder;

use crate::{
    host::user::TestUser,
    support::{BINARY, CommandResult, finish},
};

const CURSOR: &str = r#"{
  // servers of the team
  "mcpServers": {
    "files": { "command": "files", "args": ["--all"] }, // keep
  },
  "theme": "dark"
}
"#;

const CODEX: &str = r#"model = "gpt-5" # mine

[mcp_servers.docs]
command = "docs"

[projects."/x"]
trust_level = "trusted"
"#;

const GOOSE: &str = "\
GOOSE_MODEL: gpt-5  # mine
extensions:
  # built in
  developer:
    enabled: true
    type: builtin
GOOSE_MODE: auto
";

fn user_with_agents() -> TestUser {
    let user = TestUser::new();
    user.home.file(".cursor/mcp.json", CURSOR);
    user.home.file(".codex/config.toml", CODEX);
    user.home.file(".config/goose/config.yaml", GOOSE);
    user
}

/// Runs `setup` where no agent is on the `PATH`.
async fn setup(user: &TestUser, arguments: &[&str]) -> CommandResult {
    let mut command = user.command(&[&["setup"], arguments].concat());
    command.env("PATH", "/nonexistent").env_remove("XDG_CONFIG_HOME");
    finish(command).await
}

fn read(user: &TestUser, file: &str) -> String {
    std::fs::read_to_string(user.home.join(file)).unwrap()
}

fn state_of<'a>(done: &'a Value, agent: &str) -> &'a Value {
    done.as_array().unwrap().iter().find(|done| done["agent"] == agent).unwrap()
}

#[tokio::test]
async fn setup_adds_the_bridge_and_keeps_comments_order_and_foreign_entries() {
    let user = user_with_agents();
    let skills = SkillFolder::with_skills(&["a", "b"]);
    user.add_folder_server("team", &skills).await;
    let done = setup(&user, &["--yes", "--json"]).await.assert_exit(0).json();
    assert_eq!(done.as_array().unwrap().len(), 3, "{done}");
    for agent in ["cursor", "codex", "goose"] {
        assert_eq!(state_of(&done, agent)["state"], "changed", "{done}");
        assert_eq!(state_of(&done, agent)["skills"], 2, "{done}");
    }
    let cursor = read(&user, ".cursor/mcp.json");
    assert!(cursor.contains("// servers of the team") && cursor.contains("// keep"), "{cursor}");
    assert!(cursor.contains(r#""files": { "command": "files", "args": ["--all"] }"#), "{cursor}");
    assert!(cursor.contains(BINARY) && cursor.contains("SKILLWIRE_HOME"), "{cursor}");
    let codex = read(&user, ".codex/config.toml");
    assert!(codex.starts_with("model = \"gpt-5\" # mine\n"), "{codex}");
    assert!(codex.contains("[mcp_servers.skillwire]"), "{codex}");
    assert!(codex.contains("[projects.\"/x\"]\ntrust_level = \"trusted\"\n"), "{codex}");
    let goose = read(&user, ".config/goose/config.yaml");
    assert!(goose.contains("  # built in\n  developer:\n    enabled: true\n"), "{goose}");
    assert!(goose.contains("GOOSE_MODEL: gpt-5  # mine\n") && goose.contains("  skillwire:\n"));
    assert_eq!(read(&user, ".cursor/mcp.json.before-skillwire"), CURSOR);
}

#[tokio::test]
async fn a_second_setup_changes_nothing_and_remove_restores_the_files() {
    let user = user_with_agents();
    setup(&user, &["--yes"]).await.assert_exit(0);
    let once = read(&user, ".codex/config.toml");
    let done = setup(&user, &["--yes", "--json"]).await.assert_exit(0).json();
    for agent in ["cursor", "codex", "goose"] {
        assert_eq!(state_of(&done, agent)["state"], "unchanged", "{done}");
    }
    assert_eq!(read(&user, ".codex/config.toml"), once);
    let removed = setup(&user, &["--remove", "--yes"]).await.assert_exit(0);
    assert_eq!(removed.stdout.lines().last(), Some("The bridge was taken out of 3 agents."));
    assert_eq!(read(&user, ".codex/config.toml"), CODEX);
    assert_eq!(read(&user, ".config/goose/config.yaml"), GOOSE);
    assert_eq!(read(&user, ".cursor/mcp.json"), CURSOR);
    assert!(!user.home.join(".cursor/mcp.json.before-skillwire").exists());
    let nothing = setup(&user, &["--remove", "--yes"]).await.assert_exit(0);
    assert!(nothing.stdout.starts_with("No agent has the bridge"), "{}", nothing.stdout);
}

/// Files as users of each agent have them.
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../skillwire-agents/files");

#[tokio::test]
async fn every_known_agent_gets_the_bridge_in_a_file_as_users_have_it_and_its_file_back() {
    let user = TestUser::new();
    let mut files = Vec::new();
    let known = setup(&user, &["--list", "--json"]).await.assert_exit(0).json();
    for agent in known.as_array().unwrap() {
        let (id, file) = (agent["agent"].as_str().unwrap(), agent["file"].as_str().unwrap());
        let ending = file.rsplit('.').next().unwrap();
        let text = std::fs::read_to_string(format!("{FILES}/{id}.{ending}")).unwrap();
        std::fs::create_dir_all(std::path::Path::new(file).parent().unwrap()).unwrap();
        std::fs::write(file, &text).unwrap();
        files.push((id, file, text));
    }
    for state in ["changed", "unchanged"] {
        let done = setup(&user, &["--yes", "--json"]).await.assert_exit(0).json();
        for (id, file, _) in &files {
            assert_eq!(state_of(&done, id)["state"], state, "{done}");
            assert_eq!(state_of(&done, id)["skills"], 0, "{done}");
            assert!(std::fs::read_to_string(file).unwrap().contains(BINARY), "{id}");
        }
    }
    setup(&user, &["--remove", "--yes"]).await.assert_exit(0);
    for (id, file, text) in &files {
        assert_eq!(std::fs::read_to_string(file).unwrap(), *text, "{id}");
    }
}

#[tokio::test]
async fn what_was_before_the_bridge_is_kept_through_every_setup_and_comes_back() {
    let user = user_with_agents();
    let goose = "GOOSE_MODE: auto # no extensions";
    user.home.file(".config/goose/config.yaml", goose);
    setup(&user, &["--yes"]).await.assert_exit(0);
    // An entry of an older version is changed; the backup stays the one without any.
    for file in [".cursor/mcp.json", ".codex/config.toml", ".config/goose/config.yaml"] {
        let now = read(&user, file);
        user.home.file(file, now.replace(BINARY, "/opt/older/skillwire"));
    }
    setup(&user, &["--yes"]).await.assert_exit(0);
    assert_eq!(read(&user, ".config/goose/config.yaml.before-skillwire"), goose);
    setup(&user, &["--remove", "--yes"]).await.assert_exit(0);
    for (file, text) in [
        (".cursor/mcp.json", CURSOR),
        (".codex/config.toml", CODEX),
        (".config/goose/config.yaml", goose),
    ] {
        assert_eq!(read(&user, file), text);
        assert!(!user.home.join(&format!("{file}.before-skillwire")).exists(), "{file}");
    }
}

#[tokio::test]
async fn files_that_setup_made_are_gone_again_and_what_was_added_since_stays() {
    let user = TestUser::new();
    user.home.directory(".cursor");
    let agents = ["cursor", "goose", "codex", "vscode", "cline"];
    let named: Vec<&str> = agents.iter().flat_map(|agent| ["--agent", agent]).collect();
    setup(&user, &[&named[..], &["--yes"]].concat()).await.assert_exit(0);
    let codex = read(&user, ".codex/config.toml");
    user.home.file(".codex/config.toml", format!("model = \"gpt-5\"\n\n{codex}"));
    user.home.file(".cursor/rules.md", "mine\n");
    let dry = setup(&user, &["--remove", "--dry-run"]).await.assert_exit(0);
    assert_eq!(dry.stdout, "The bridge would be taken out of 5 agents.\n");
    setup(&user, &["--remove", "--yes"]).await.assert_exit(0);
    assert_eq!(read(&user, ".codex/config.toml").trim(), "model = \"gpt-5\"");
    assert!(!user.home.join(".cursor/mcp.json").exists());
    assert_eq!(read(&user, ".cursor/rules.md"), "mine\n");
    for folder in [".config/goose", ".config/Code", ".cline"] {
        assert!(!user.home.join(folder).exists(), "{folder}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn agents_of_a_desktop_get_the_whole_path_and_a_failed_start_says_why() {
    use std::os::unix::fs::symlink;

    let user = user_with_agents();
    user.home.directory("bin");
    let program = user.home.join("bin/skillwire");
    symlink(BINARY, &program).unwrap();
    let mut command = user.command(&["setup", "--yes"]);
    command.env("PATH", user.home.join("bin"));
    finish(command).await.assert_exit(0);
    let whole = program.to_str().unwrap();
    assert!(read(&user, ".cursor/mcp.json").contains(whole), "{}", read(&user, ".cursor/mcp.json"));
    assert!(read(&user, ".codex/config.toml").contains("command = \"skillwire\""));
    // The bridge cannot read its servers: what it said last is shown.
    user.home.file("sw/state/servers.json", "{ oops");
    let ran = setup(&user, &["--yes", "--agent", "codex"]).await.assert_exit(1);
    let line = ran.stdout.lines().find(|line| line.starts_with("codex: ")).unwrap_or_default();
    assert!(line.contains("it last said: "), "{}", ran.stdout);
}

#[tokio::test]
async fn a_dry_run_shows_the_diff_and_writes_nothing() {
    let user = user_with_agents();
    let ran = setup(&user, &["--dry-run"]).await.assert_exit(0);
    assert!(ran.stderr.contains("+[mcp_servers.skillwire]"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "3 agents would be changed.\n");
    assert_eq!(read(&user, ".codex/config.toml"), CODEX);
    assert!(!user.home.join(".cursor/mcp.json.before-skillwire").exists());
}

#[tokio::test]
async fn a_dry_run_says_which_server_it_would_add_and_adds_none() {
    let user = user_with_agents();
    setup(&user, &["--yes"]).await.assert_exit(0);
    user.home.file("two/SKILL.md", crate::support::skill_with("two", ""));
    let path = user.home.join("two");
    let path = path.to_str().unwrap();
    let servers = async || user.run_json(&["server", "list", "--json"]).await;
    let none = servers().await;
    let ran = setup(&user, &["--dry-run", "--use", path]).await.assert_exit(0);
    let would = format!("The server `two` would be added, started as `{BINARY} serve {path}`.");
    assert!(ran.stdout.contains(&would), "{ran:?}");
    let url = "https://skills.example.com/mcp";
    let ran = setup(&user, &["--dry-run", "--use", url]).await.assert_exit(0);
    let would = format!("The server `skills.example.com` would be added: {url}.");
    assert!(ran.stdout.contains(&would), "{ran:?}");
    assert_eq!(servers().await, none);
    #[cfg(unix)]
    {
        // Without a server, a run that only shows does not ask for one.
        let arguments = ["setup", "--dry-run", "--agent", "cursor"];
        let mut session = user.start_whole_on_terminal(&arguments);
        let shown = session.wait_for_screen("ready in 1 agent").await;
        assert!(!shown.contains("to begin with"), "{shown}");
        assert_eq!(session.wait().await, Some(0));
    }
    setup(&user, &["--yes", "--use", path]).await.assert_exit(0);
    let ran = setup(&user, &["--dry-run", "--use", path]).await.assert_exit(0);
    assert!(ran.stdout.contains("The server `two` is there already."), "{ran:?}");
}

#[tokio::test]
async fn a_folder_that_setup_added_is_left_as_it_is_the_next_time() {
    let user = user_with_agents();
    let skills = SkillFolder::with_skills(&["one"]);
    let path = skills.path().to_str().unwrap();
    setup(&user, &["--yes", "--use", path]).await.assert_exit(0);
    let once = user.run_json(&["server", "list", "--json"]).await;
    let ran = setup(&user, &["--yes", "--use", path]).await.assert_exit(0);
    assert!(ran.stderr.contains("is there already."), "{ran:?}");
    assert!(ran.stdout.contains("1 skill waits for your decision"), "{ran:?}");
    let done = setup(&user, &["--yes", "--json", "--use", path]).await.assert_exit(0).json();
    assert_eq!(state_of(&done, "cursor")["state"], "unchanged", "{done}");
    assert_eq!(user.run_json(&["server", "list", "--json"]).await, once);
    // A wrong name is told before a file is written, and the result in JSON is about agents alone.
    let other = user_with_agents();
    setup(&other, &["--yes", "--use", "nope"])
        .await
        .assert_refused(2, "neither a URL nor a folder");
    assert_eq!(read(&other, ".cursor/mcp.json"), CURSOR);
    let done = setup(&other, &["--yes", "--json", "--use", path]).await.assert_exit(0).json();
    assert_eq!(state_of(&done, "cursor")["waiting"], 1, "{done}");
}

#[tokio::test]
async fn without_a_terminal_and_without_yes_nothing_is_written() {
    let user = user_with_agents();
    setup(&user, &[]).await.assert_refused(2, "nothing was written");
    assert_eq!(read(&user, ".cursor/mcp.json"), CURSOR);
}

#[tokio::test]
async fn a_file_that_cannot_be_changed_safely_is_left_and_the_entry_is_shown() {
    let user = user_with_agents();
    let broken = "{ \"mcpServers\": { oops }\n";
    user.home.file(".cursor/mcp.json", broken);
    user.home.file(".config/goose/config.yaml", "extensions: { developer: { enabled: true } }\n");
    let ran = setup(&user, &["--yes"]).await.assert_exit(1);
    assert_eq!(read(&user, ".cursor/mcp.json"), broken);
    assert!(ran.stderr.contains("is not valid JSON"), "{}", ran.stderr);
    assert!(ran.stderr.contains("one entry cannot be changed"), "{}", ran.stderr);
    assert!(ran.stderr.contains("Add this yourself:"), "{}", ran.stderr);
    assert!(read(&user, ".codex/config.toml").contains("skillwire"), "the others are changed");
}

#[tokio::test]
async fn settings_that_the_user_added_to_the_entry_stay() {
    let user = TestUser::new();
    let old = r#"{ "mcpServers": { "skillwire": { "command": "old", "args": [], "alwaysAllow": ["x"] } } }"#;
    user.home.file(".cursor/mcp.json", old);
    setup(&user, &["--yes"]).await.assert_exit(0);
    let new: Value = serde_json::from_str(&read(&user, ".cursor/mcp.json")).unwrap();
    let entry = &new["mcpServers"]["skillwire"];
    assert_eq!(entry["alwaysAllow"], json!(["x"]));
    assert_eq!((&entry["command"], &entry["args"]), (&json!(BINARY), &json!(["bridge"])));
}

#[cfg(unix)]
#[tokio::test]
async fn a_configuration_behind_a_link_is_changed_where_it_lies() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    let user = TestUser::new();
    user.home.file("dotfiles/cursor.json", "{}\n");
    user.home.directory(".cursor");
    let file = user.home.join("dotfiles/cursor.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink("../dotfiles/cursor.json", user.home.join(".cursor/mcp.json")).unwrap();
    setup(&user, &["--yes"]).await.assert_exit(0);
    assert!(user.home.join(".cursor/mcp.json").is_symlink());
    assert!(read(&user, "dotfiles/cursor.json").contains("skillwire"));
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn an_agent_that_is_named_wrongly_or_absent_is_told_with_the_next_step() {
    let user = TestUser::new();
    setup(&user, &["--yes"]).await.assert_refused(5, "No agent was found on this machine.");
    setup(&user, &["--agent", "cursr"]).await.assert_refused(5, "Did you mean `cursor`?");
    setup(&user, &["--agent", "claud"])
        .await
        .assert_refused(5, "Did you mean `claude-code` or `claude-desktop`?");
    for (program, agent) in [
        ("claude", "claude-code"),
        ("gemini", "gemini-cli"),
        ("qwen", "qwen-code"),
        ("code", "vscode"),
    ] {
        let done = setup(&user, &["--agent", program, "--dry-run", "--json"]).await;
        assert_eq!(done.assert_exit(0).json()[0]["agent"], agent);
    }
    setup(&user, &["--agent", "cursor", "--yes"]).await.assert_exit(0);
    assert!(read(&user, ".cursor/mcp.json").contains("skillwire"));
    let known = setup(&user, &["--list", "--json"]).await.assert_exit(0).json();
    assert_eq!(known.as_array().unwrap().iter().filter(|agent| agent["found"] == true).count(), 1);
}

#[tokio::test]
async fn setup_adds_the_first_folder_or_server_along_with_the_bridge() {
    let user = user_with_agents();
    let skills = SkillFolder::with_skills(&["one", "two", "three"]);
    let path = skills.path().to_str().unwrap();
    let done = setup(&user, &["--yes", "--use", path]).await.assert_exit(0);
    assert!(done.stdout.contains("0 skills ready in 3 agents."), "{}", done.stdout);
    let waiting = "3 skills wait for your decision: `skillwire review` shows what.";
    assert!(done.stdout.contains(waiting), "{}", done.stdout);
    user.run_ok(&["approve", "--all", "--yes"]).await;
    let done = setup(&user, &["--yes"]).await.assert_exit(0);
    assert!(done.stdout.contains("3 skills ready in 3 agents."), "{}", done.stdout);
    assert!(!done.stdout.contains("your decision"), "{}", done.stdout);
    setup(&user, &["--yes", "--use", "nope"]).await.assert_refused(2, "neither a URL nor a folder");
}

#[cfg(unix)]
#[tokio::test]
async fn on_a_terminal_setup_asks_before_it_writes() {
    let user = user_with_agents();
    let mut session = user.start_whole_on_terminal(&["setup"]);
    session.wait_for_screen("[y/N]").await;
    session.type_line("n");
    session.wait_for_screen("Nothing was written.").await;
    assert_eq!(session.wait().await, Some(0));
    assert_eq!(read(&user, ".cursor/mcp.json"), CURSOR);
}
