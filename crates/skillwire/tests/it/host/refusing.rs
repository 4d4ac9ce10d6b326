//! Refusals: exit codes, messages and JSON.

use std::fmt::Write as _;

use serde_json::Value;
use skillwire_testkit::{Fault, HostileServer, SkillFolder};

use super::user::{TestUser, refunds};
use crate::support::CommandResult;

/// Checks a refusal as users and as programs see it. Returns its JSON.
async fn assert_refused(user: &TestUser, arguments: &[&str], code: i32, reason: &str) -> Value {
    let said = user.run(arguments).await;
    said.assert_refused(code, &format!("error[{reason}]"));
    let ran: CommandResult = user.run(&[arguments, &["--json"]].concat()).await.assert_exit(code);
    let refusal = ran.json();
    assert_eq!(refusal["reason"], reason);
    refusal
}

#[tokio::test]
async fn every_class_of_refusal_has_its_exit_code_and_its_json_hst_118() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.add_folder_server("beta", &skills).await;
    user.run_ok(&["server", "add", "dead", "--", "./no-such-program"]).await;
    user.approve("acme:refunds").await;
    let load = |handle| ["load", handle];
    let outside = ["load", "acme:refunds", "--read", "../x"];
    assert_eq!(assert_refused(&user, &outside, 3, "path_outside_skill").await["file"], "../x");
    assert_refused(&user, &load("beta:refunds"), 4, "not_approved").await;
    assert_refused(&user, &load("acme:none"), 5, "skill_not_found").await;
    assert_refused(&user, &load("none:refunds"), 5, "server_unknown").await;
    assert_refused(&user, &load("acme:skill://none/SKILL.md"), 5, "skill_not_found").await;
    let ambiguous = assert_refused(&user, &load("refunds"), 6, "name_ambiguous").await;
    assert_eq!(ambiguous["actual"], "acme:refunds, beta:refunds");
    assert_refused(&user, &load("dead:refunds"), 7, "server_unreachable").await;
    user.run_ok(&["disable", "acme:refunds"]).await;
    assert_refused(&user, &load("acme:refunds"), 8, "disabled").await;
}

#[tokio::test]
async fn human_refusals_hst_118() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.add_folder_server("beta", &skills).await;
    let mut all = String::new();
    for handle in ["acme:refunds", "refunds", "acme:none", "none:x", "UPPER:x"] {
        let ran = user.run(&["load", handle]).await;
        let _ = writeln!(all, "$ skillwire load {handle}\n{}", ran.transcript());
    }
    user.approve("acme:refunds").await;
    let ran = user.run(&["load", "acme:refunds", "--read", "no.md"]).await;
    let _ = writeln!(all, "$ skillwire load acme:refunds --read no.md\n{}", ran.transcript());
    insta::assert_snapshot!(all);
}

#[tokio::test]
async fn a_server_without_the_extension_is_exit_7_hst_03() {
    let user = TestUser::new();
    let server = HostileServer::new().skill("a", [("x.md", "x")]).fault(Fault::Undeclared);
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    user.run(&["load", "acme:a"]).await.assert_refused(7, "error[skills_not_offered]");
    assert_eq!(server.count("skills/list"), 0);
}

#[tokio::test]
async fn nothing_a_server_says_acts_on_the_terminal_v_54() {
    let user = TestUser::new();
    let uri = "skill://a/SKILL.md";
    let evil = "\u{1b}[2J\u{202e}evil\u{7}";
    let text = format!("---\nname: a\ndescription: \"{}\"\n---\n{evil}\n", "\\e[2J\\u202eevil");
    let server = HostileServer::new().skill("a", [("SKILL.md", text.as_str()), ("x.md", evil)]);
    let patch = serde_json::json!({ "frontmatter": { "name": evil } });
    server.set_skill("b", [("x.md", "x")]);
    server.set_fault(Fault::entry("skill://b/SKILL.md", patch));
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    for arguments in [
        &["list"][..],
        &["list", "--json"],
        &["show", "acme:a"],
        &["show", "acme:a", "SKILL.md"],
        &["show", "acme:a", "x.md"],
        &["show", "acme:a", "--json"],
        &["approve", "acme:a", "--yes"],
        &["prompt"],
        &["audit"],
        &["audit", "--json"],
        &["load", "acme:a", "--json"],
        &["load", "acme:a", "--read", "\u{1b}[2J\u{202e}"],
    ] {
        let ran = user.run(arguments).await;
        let all = ran.stdout.clone() + &ran.stderr;
        assert!(!all.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{arguments:?}: {ran:?}");
    }
    assert!(user.run_ok(&["show", "acme:a", "SKILL.md"]).await.contains("\\u{202e}evil"));
    // The model gets the verified text, marked as doubtful.
    let block = user.run_ok(&["load", &format!("acme:{uri}")]).await;
    assert!(block.contains(evil) && block.contains("Caution:"), "{block:?}");
}

#[tokio::test]
async fn an_unknown_option_is_usage_and_never_a_refusal() {
    let user = TestUser::new();
    user.run(&["load"]).await.assert_exit(2);
    user.run(&["load", "a", "--nonsense"]).await.assert_exit(2);
    user.run(&["server", "add", "Not A Label", "http://x.example"]).await.assert_exit(2);
    user.run(&["server", "add", "a", "ftp://x.example"]).await.assert_refused(2, "neither");
    user.run(&["server", "add", "a"]).await.assert_exit(2);
    let skills = SkillFolder::with_skills(&["a"]);
    user.add_folder_server("acme", &skills).await;
    let ran = user.run(&["approve", "acme:a", "--tool", "Bash", "--yes"]).await;
    ran.assert_refused(2, "does not ask for the tool");
}
