//! Refusals: exit codes, words and JSON.

use std::fmt::Write as _;

use serde_json::Value;
use skillwire_testkit::{Fault, HostileServer, SkillFolder};

use super::user::{User, refunds};
use crate::support::Ran;

/// Checks a refusal as people and as programs see it.
async fn refuses(user: &User, arguments: &[&str], code: i32, reason: &str) -> Value {
    let said = user.run(arguments).await;
    said.refuses(code, &format!("error[{reason}]"));
    let ran: Ran = user.run(&[arguments, &["--json"]].concat()).await.exits(code);
    let refusal = ran.json();
    assert_eq!(refusal["reason"], reason);
    refusal
}

#[tokio::test]
async fn every_class_of_refusal_has_its_exit_code_and_its_json_hst_118() {
    let (user, skills) = (User::new(), refunds());
    user.serves("acme", &skills).await;
    user.serves("beta", &skills).await;
    user.gets(&["server", "add", "dead", "--", "./no-such-program"]).await;
    user.approves("acme:refunds").await;
    let load = |handle| ["load", handle];
    let outside = ["load", "acme:refunds", "--read", "../x"];
    assert_eq!(refuses(&user, &outside, 3, "path_outside_skill").await["file"], "../x");
    refuses(&user, &load("beta:refunds"), 4, "not_approved").await;
    refuses(&user, &load("acme:none"), 5, "skill_not_found").await;
    refuses(&user, &load("none:refunds"), 5, "server_unknown").await;
    refuses(&user, &load("acme:skill://none/SKILL.md"), 5, "skill_not_found").await;
    let ambiguous = refuses(&user, &load("refunds"), 6, "name_ambiguous").await;
    assert_eq!(ambiguous["actual"], "acme:refunds, beta:refunds");
    refuses(&user, &load("dead:refunds"), 7, "server_unreachable").await;
    user.gets(&["disable", "acme:refunds"]).await;
    refuses(&user, &load("acme:refunds"), 8, "disabled").await;
}

#[tokio::test]
async fn human_refusals_hst_118() {
    let (user, skills) = (User::new(), refunds());
    user.serves("acme", &skills).await;
    user.serves("beta", &skills).await;
    let mut all = String::new();
    for handle in ["acme:refunds", "refunds", "acme:none", "none:x", "UPPER:x"] {
        let ran = user.run(&["load", handle]).await;
        let _ = writeln!(all, "$ skillwire load {handle}\n{}", ran.transcript());
    }
    user.approves("acme:refunds").await;
    let ran = user.run(&["load", "acme:refunds", "--read", "no.md"]).await;
    let _ = writeln!(all, "$ skillwire load acme:refunds --read no.md\n{}", ran.transcript());
    insta::assert_snapshot!(all);
}

#[tokio::test]
async fn a_server_without_the_extension_is_exit_7_hst_03() {
    let user = User::new();
    let server = HostileServer::new().skill("a", [("x.md", "x")]).fault(Fault::Undeclared);
    let listening = server.http().await;
    user.adds("acme", &listening).await;
    user.run(&["load", "acme:a"]).await.refuses(7, "error[skills_not_offered]");
    assert_eq!(server.count("skills/list"), 0);
}

#[tokio::test]
async fn nothing_a_server_says_acts_on_the_terminal_v_54() {
    let user = User::new();
    let uri = "skill://a/SKILL.md";
    let evil = "\u{1b}[2J\u{202e}evil\u{7}";
    let text = format!("---\nname: a\ndescription: \"{}\"\n---\n{evil}\n", "\\e[2J\\u202eevil");
    let server = HostileServer::new().skill("a", [("SKILL.md", text.as_str()), ("x.md", evil)]);
    let patch = serde_json::json!({ "frontmatter": { "name": evil } });
    server.set_skill("b", [("x.md", "x")]);
    server.set_fault(Fault::entry("skill://b/SKILL.md", patch));
    let listening = server.http().await;
    user.adds("acme", &listening).await;
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
    assert!(user.gets(&["show", "acme:a", "SKILL.md"]).await.contains("\\u{202e}evil"));
    // The text for a model is what was verified, marked as doubtful.
    let block = user.gets(&["load", &format!("acme:{uri}")]).await;
    assert!(block.contains(evil) && block.contains("Caution:"), "{block:?}");
}

#[tokio::test]
async fn an_unknown_option_is_usage_and_never_a_refusal() {
    let user = User::new();
    user.run(&["load"]).await.exits(2);
    user.run(&["load", "a", "--nonsense"]).await.exits(2);
    user.run(&["server", "add", "Not A Label", "http://x.example"]).await.exits(2);
    user.run(&["server", "add", "a", "ftp://x.example"]).await.refuses(2, "neither");
    user.run(&["server", "add", "a"]).await.exits(2);
    let skills = SkillFolder::with_skills(&["a"]);
    user.serves("acme", &skills).await;
    let ran = user.run(&["approve", "acme:a", "--tool", "Bash", "--yes"]).await;
    ran.refuses(2, "does not ask for the tool");
}
