//! Decisions of the user: approve, revoke, enable, disable.

use skillwire_testkit::{HostileServer, SkillFolder};

#[cfg(unix)]
use super::terminal::TerminalSession;
use super::user::{TestUser, refunds};
use crate::support::skill_with;

#[tokio::test]
async fn nothing_is_approved_without_a_terminal_to_ask_on_hst_88() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    let ran = user.run(&["approve", "acme:refunds"]).await.assert_exit(4);
    assert!(ran.stderr.contains("Run this command in a terminal"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("--yes"), "a model that reads this must not approve by itself");
    assert_eq!(user.state_of("acme:refunds").await, "new");
}

#[tokio::test]
async fn an_approval_by_a_flag_is_recorded_and_shown_as_unattended_cl_12() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    let approved = user.run_ok(&["approve", "acme:refunds", "--yes"]).await;
    assert!(approved.starts_with("Approved acme:refunds, unattended: "), "{approved}");
    let listed = user.run_ok(&["list"]).await;
    assert!(listed.contains("approved, unattended"), "{listed}");
    let shown = user.run_ok(&["show", "acme:refunds"]).await;
    assert!(shown.contains("approved, unattended: "), "{shown}");
    let listed = user.run_json(&["list", "--json"]).await;
    assert_eq!(listed["skills"][0]["state"], "approved");
    assert_eq!(listed["skills"][0]["decided"], "unattended");
    let log = user.run_ok(&["audit"]).await;
    let line = log.lines().find(|line| line.contains(" approve ")).unwrap();
    assert!(line.ends_with("  unattended"), "{line}");
    user.run_ok(&["load", "acme:refunds"]).await;
}

#[tokio::test]
async fn no_message_for_a_pipe_names_the_option_that_answers_cl_12() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    user.home.file(".cursor/mcp.json", "{}\n");
    let source = skills.join("acme");
    let add = ["add", source.to_str().unwrap(), "--agent", "codex"];
    user.run_ok(&[&add[..], &["--global", "--yes"]].concat()).await;
    let ask: [&[&str]; 4] = [
        &add,
        &["remove", "refunds"],
        &["server", "remove", "acme"],
        &["setup", "--agent", "cursor"],
    ];
    for arguments in ask {
        let ran = user.run(arguments).await.assert_exit(2);
        assert!(
            ran.stderr.contains("Run this command in a terminal"),
            "{arguments:?} {}",
            ran.stderr
        );
        assert!(!ran.stderr.contains("--yes"), "{arguments:?} {}", ran.stderr);
    }
}

#[tokio::test]
async fn a_user_is_asked_once_more_and_told_why_when_packages_leave_a_skill() {
    const REASON: &str = "Packages in `node_modules` are no part of a skill.";
    let user = TestUser::new();
    let with = [("policy.md", "30 days"), ("node_modules/left-pad/index.js", "1")];
    let server = HostileServer::new().skill("refunds", with);
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    user.approve("acme:refunds").await;
    server.set_skill("refunds", [("policy.md", "30 days")]);
    user.run(&["load", "acme:refunds"]).await.assert_refused(4, "error[");
    let shown = user.run_ok(&["show", "acme:refunds"]).await;
    assert!(shown.contains("removed  node_modules/left-pad/index.js"), "{shown}");
    assert!(shown.contains(REASON), "{shown}");
    user.approve("acme:refunds").await;
    user.run_ok(&["load", "acme:refunds"]).await;
    // Another file that leaves is no reason to say this.
    server.set_skill("refunds", [("terms.md", "30 days")]);
    let shown = user.run_ok(&["show", "acme:refunds"]).await;
    assert!(shown.contains("removed  policy.md") && !shown.contains(REASON), "{shown}");
}

#[tokio::test]
async fn a_setting_turns_unattended_approvals_off_cl_12() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.home.file("sw/state/settings.toml", "unattended-approvals = false\n");
    let refused = user.run(&["approve", "acme:refunds", "--yes"]).await;
    refused.assert_refused(4, "an answer of the user at a terminal");
    assert_eq!(user.state_of("acme:refunds").await, "new");
    // A setting that cannot be read allows nothing.
    user.home.file("sw/state/settings.toml", "unattended-approvals = maybe\n");
    user.run(&["approve", "acme:refunds", "--yes"]).await.assert_refused(2, "settings.toml");
}

#[tokio::test]
async fn tools_and_execution_are_granted_only_by_name_hst_72() {
    let (user, skills) = (TestUser::new(), SkillFolder::new());
    let text = skill_with("git", "allowed-tools: Read Bash(git:*)\n");
    skills.file("git/SKILL.md", text);
    user.add_folder_server("acme", &skills).await;
    let grants = async |arguments: &[&str]| {
        let given = [&["approve", "acme:git", "--yes", "--json"][..], arguments].concat();
        user.run_json(&given).await["grants"].clone()
    };
    assert_eq!(grants(&[]).await, serde_json::json!({}));
    assert_eq!(grants(&["--tool", "Read"]).await, serde_json::json!({"tools": ["Read"]}));
    assert_eq!(
        grants(&["--tools", "--exec"]).await,
        serde_json::json!({"tools": ["Bash(git:*)", "Read"], "execute": true})
    );
    let shown = user.run_ok(&["show", "acme:git"]).await;
    assert!(shown.contains("It asks for these tools"), "{shown}");
    assert!(shown.contains("gets the tools Bash(git:*), Read, and code may run."), "{shown}");
    // A new approval enables the skill again.
    assert_eq!(grants(&[]).await, serde_json::json!({}));
}

#[tokio::test]
async fn what_scripts_get_is_granted_as_data_shown_and_gone_when_the_content_changes() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.home.file("data/2026.csv", "a,b\n");
    let data = user.home.path().canonicalize().unwrap().join("data");
    let data = data.to_str().unwrap();
    let options = [
        "--exec",
        "--network",
        "*.Example.com:443",
        "--network",
        "api.example.org:8443",
        "--env",
        "API_TOKEN",
        "--input",
        data,
        "--memory",
        "1024",
        "--time",
        "120",
    ];
    let given = [&["approve", "acme:refunds", "--yes", "--json"][..], &options].concat();
    let granted = user.run_json(&given).await["grants"].clone();
    let run = serde_json::json!({
        "network": ["api.example.org:8443", "*.example.com:443"], "env": ["API_TOKEN"],
        "inputs": [data], "memory": 1024, "time": 120,
    });
    assert_eq!(granted, serde_json::json!({"execute": true, "run": run}));
    let shown = user.run_ok(&["show", "acme:refunds"]).await;
    for line in [
        "network: api.example.org:8443, *.example.com:443",
        "your variables: API_TOKEN",
        "at most 1024 MiB of memory and 120 s for each run",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    // The card shows the same before the user decides.
    let asked = user.run(&[&["approve", "acme:refunds"][..], &options].concat()).await;
    assert!(asked.stderr.contains("your variables: API_TOKEN"), "{}", asked.stderr);
    // Nothing that cannot be enforced is granted, and nothing without `--exec`.
    for wrong in [
        &["--exec", "--network", "*:443"][..],
        &["--exec", "--env", "A=B"],
        &["--exec", "--input", "no-such-folder"],
        &["--exec", "--memory", "1"],
        &["--network", "api.example.com:443"],
    ] {
        let given = [&["approve", "acme:refunds", "--yes"][..], wrong].concat();
        user.run(&given).await.assert_exit(2);
    }
    // A lock file holds the same, and one more byte in the skill ends it.
    let lock = user.home.path().join("skills.lock");
    user.run_ok(&["lock", "--file", lock.to_str().unwrap()]).await;
    let lock = std::fs::read_to_string(lock).unwrap();
    assert!(lock.contains("network = [\"api.example.org:8443\", \"*.example.com:443\"]"), "{lock}");
    skills.file("acme/refunds/new.md", "x");
    assert_eq!(user.state_of("acme:refunds").await, "changed");
}

#[tokio::test]
async fn a_disabled_skill_is_hidden_from_models_and_not_loaded_hst_84() {
    let (user, skills) = (TestUser::new(), SkillFolder::with_skills(&["a", "b"]));
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:a").await;
    user.run_ok(&["disable", "acme:a"]).await;
    assert_eq!(user.state_of("acme:a").await, "disabled");
    let catalogue = user.run_ok(&["prompt"]).await;
    assert!(!catalogue.contains("acme:a") && catalogue.contains("acme:b"), "{catalogue}");
    user.run(&["load", "acme:a"]).await.assert_refused(8, "`skillwire enable");
    user.run_ok(&["disable", "acme:b"]).await;
    assert_eq!(user.run_ok(&["prompt"]).await, "", "hst_105: no skills, no catalogue");
    user.run_ok(&["enable", "acme:a"]).await;
    user.run_ok(&["load", "acme:a"]).await;
}

#[tokio::test]
async fn an_approval_is_withdrawn_even_while_the_server_is_away() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    drop(skills);
    let revoked = user.run_json(&["revoke", "acme:refunds", "--json"]).await;
    assert_eq!(revoked["was_approved"], true);
    user.run(&["load", "acme:refunds", "--offline"]).await.assert_exit(5);
}

#[tokio::test]
async fn one_server_s_approval_says_nothing_about_another_s_same_skill_hst_12_h_50() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.add_folder_server("beta", &skills).await;
    user.approve("acme:refunds").await;
    user.run_ok(&["load", "acme:refunds"]).await;
    user.run(&["load", "beta:refunds"]).await.assert_refused(4, "error[not_approved]");
    user.run(&["load", "refunds"]).await.assert_refused(6, "acme:refunds, beta:refunds");
    let listing = user.run_ok(&["list"]).await;
    assert!(listing.contains("acme:refunds*") && listing.contains("Several skills"), "{listing}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_person_at_a_terminal_is_asked_and_can_decline_hst_86() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    let mut asked = user.start_on_terminal(&["approve", "acme:refunds"]);
    assert!(asked.answer_prompt("n").await.contains("Approve this content from server acme?"));
    assert_eq!(asked.wait().await, Some(4));
    assert_eq!(user.state_of("acme:refunds").await, "declined");
    // Loading does not ask again about a skill that the user declined.
    let asked = user.start_on_terminal(&["load", "acme:refunds"]);
    assert_eq!(asked.wait().await, Some(4));
    let mut asked = user.start_on_terminal(&["approve", "acme:refunds"]);
    asked.answer_prompt("y").await;
    assert_eq!(asked.wait().await, Some(0));
    assert_eq!(user.state_of("acme:refunds").await, "approved");
    let shown = user.run_ok(&["show", "acme:refunds"]).await;
    assert!(shown.contains("approved: "), "a person decided: {shown}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_skill_is_loaded_once_or_always_and_yes_alone_approves_nothing_fu_05() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    let mut asked = user.start_on_terminal(&["load", "acme:refunds"]);
    let seen = asked.answer_prompt("y").await;
    assert!(seen.contains("Load it from server acme?"), "{seen}");
    assert!(seen.contains("[o]nce, [a]lways, [n]o, [v]iew:"), "{seen}");
    let seen = asked.answer_prompt("once").await;
    assert!(seen.contains("Type one of `once`, `always`, `no`, `view`"), "{seen}");
    assert_eq!(asked.wait().await, Some(0));
    assert_eq!(user.state_of("acme:refunds").await, "new", "nothing is remembered");
    // A line without an answer decides nothing.
    let mut asked = user.start_on_terminal(&["load", "acme:refunds"]);
    asked.answer_prompt("").await;
    assert_eq!(asked.wait().await, Some(4));
    assert_eq!(user.state_of("acme:refunds").await, "new");
    let mut asked = user.start_on_terminal(&["load", "acme:refunds"]);
    asked.answer_prompt("a").await;
    assert_eq!(asked.wait().await, Some(0));
    assert_eq!(user.state_of("acme:refunds").await, "approved");
}

#[cfg(unix)]
#[tokio::test]
async fn the_text_is_shown_before_the_decision_fu_06() {
    let (user, skills) = (TestUser::new(), refunds());
    skills.file("acme/refunds/references/policy.md", "Refund within\u{1b}[2J 30 days.\n");
    user.add_folder_server("acme", &skills).await;
    let mut command = user.command(&["approve", "acme:refunds"]);
    command.env("PAGER", "sed s/^/paged:/");
    let mut asked = TerminalSession::start(command);
    asked.answer_prompt("v").await;
    let seen = asked.answer_prompt("v references/policy.md").await;
    assert!(seen.contains("paged:name: refunds"), "{seen}");
    let seen = asked.answer_prompt("v none.md").await;
    assert!(seen.contains("paged:Refund within\\u{1b}[2J 30 days."), "{seen}");
    let seen = asked.answer_prompt("y").await;
    assert!(seen.contains("error[file_not_listed]"), "{seen}");
    assert_eq!(asked.wait().await, Some(0));
    // Without a terminal it is printed.
    let ran = user.run(&["approve", "acme:refunds"]).await.assert_exit(4);
    assert!(ran.stderr.contains("\nname: refunds"), "{}", ran.stderr);
}

#[tokio::test]
async fn several_skills_and_patterns_are_approved_at_once_fu_07() {
    let user = TestUser::new();
    let (team, other) = (SkillFolder::with_skills(&["a/deploy", "b/deploy", "release"]), refunds());
    user.add_folder_server("team", &team).await;
    user.add_folder_server("acme", &other).await;
    let approved = user.run_ok(&["approve", "team:release", "acme:refunds", "--yes"]).await;
    assert_eq!(approved, "Approved 2 skills, unattended.\n");
    // A pattern stands for what waits.
    let all = user.run(&["approve", "team:*", "--yes"]).await.assert_exit(0);
    assert_eq!(all.stdout, "Approved 2 skills, unattended.\n");
    assert!(all.stderr.contains("team:release is approved and stays so."), "{}", all.stderr);
    for handle in ["team:a/deploy", "team:b/deploy", "team:release", "acme:refunds"] {
        assert_eq!(user.state_of(handle).await, "approved", "{handle}");
    }
    let none = user.run(&["approve", "--all", "--yes"]).await.assert_exit(0);
    assert!(none.stderr.contains("Nothing waits for a decision."), "{}", none.stderr);
    assert_eq!(none.stdout, "");
    // What changes or is added later asks again, in one batch.
    team.file("release/new.md", "x");
    team.skill("hotfix");
    let all = user.run_json(&["approve", "--all", "--yes", "--json"]).await;
    let handles = |list: &str| -> Vec<String> {
        let list = all[list].as_array().unwrap().iter();
        list.map(|it| it["handle"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(handles("approved"), ["team:hotfix", "team:release"]);
    assert_eq!(handles("settled"), ["acme:refunds", "team:a/deploy", "team:b/deploy"]);
}

#[tokio::test]
async fn a_pattern_leaves_what_the_user_declined_or_disabled_fu_07() {
    let (user, team) = (TestUser::new(), SkillFolder::with_skills(&["a", "b"]));
    user.add_folder_server("team", &team).await;
    user.run_ok(&["disable", "team:a"]).await;
    user.run_ok(&["approve", "t*:*", "--yes"]).await;
    assert_eq!(user.state_of("team:a").await, "disabled");
    assert_eq!(user.state_of("team:b").await, "approved");
    user.run(&["approve", "team:x*", "--yes"]).await.assert_refused(5, "team:x*");
    user.run(&["approve", "tema:*", "--yes"]).await.assert_exit(5);
    // One handle that names nothing approves nothing.
    user.run_ok(&["revoke", "team:b"]).await;
    user.run(&["approve", "team:b", "team:nothing", "--yes"]).await.assert_exit(5);
    assert_eq!(user.state_of("team:b").await, "new");
    user.run(&["approve"]).await.assert_exit(2);
    user.run(&["approve", "--all", "team:b"]).await.assert_exit(2);
}

#[cfg(unix)]
#[tokio::test]
async fn a_batch_is_summed_up_and_confirmed_at_a_terminal_fu_07() {
    let (user, team) = (TestUser::new(), SkillFolder::with_skills(&["a", "b"]));
    team.file("b/SKILL.md", skill_with("b", "allowed-tools: Read Bash(git:*)\n"));
    user.add_folder_server("team", &team).await;
    let refused = user.run(&["approve", "team:*"]).await.assert_exit(4);
    assert!(refused.stderr.contains("Run this command in a terminal"), "{}", refused.stderr);
    let mut asked = user.start_on_terminal(&["approve", "team:*"]);
    let seen = asked.answer_prompt("v").await;
    assert!(seen.contains("Approve 2 skills from server team?"), "{seen}");
    assert!(seen.contains("asks for Read, Bash(git:*)"), "{seen}");
    assert!(seen.contains("What a server changes or adds"), "{seen}");
    let seen = asked.answer_prompt("v b").await;
    assert!(seen.contains("such as `v team:a`"), "{seen}");
    let seen = asked.answer_prompt("n").await;
    assert!(seen.contains("It asks for these tools") && seen.contains("name: b"), "{seen}");
    assert_eq!(asked.wait().await, Some(4));
    assert_eq!(user.state_of("team:a").await, "new", "a no to all declines none for good");
    let mut asked = user.start_on_terminal(&["approve", "--all"]);
    asked.answer_prompt("y").await;
    assert_eq!(asked.wait().await, Some(0));
    assert_eq!(user.state_of("team:a").await, "approved");
    let shown = user.run_ok(&["show", "team:b"]).await;
    assert!(shown.contains("approved: it may be loaded, gets no tools"), "{shown}");
}

#[tokio::test]
async fn other_words_for_the_same_commands_work() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    assert!(user.run_ok(&["ls"]).await.contains("acme:refunds"));
    assert!(user.run_ok(&["info", "acme:refunds"]).await.contains("acme:refunds"));
    assert!(user.run_ok(&["find", "refunds"]).await.contains("acme:refunds"));
    assert!(user.run_ok(&["init", "pdf-forms"]).await.contains("pdf-forms/SKILL.md"));
    assert!(user.run_ok(&["server", "ls"]).await.contains("acme"));
    assert!(user.run_ok(&["server", "rm", "acme"]).await.starts_with("Removed the server `acme`"));
}
