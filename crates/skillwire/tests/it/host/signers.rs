//! `trust.toml`: signers that a skill must have, or whose word counts instead of a question.

use std::fs;

use serde_json::{Value, json};
use skillwire_testkit::SkillFolder;

use super::user::{TestUser, refunds};
use crate::support::{BINARY, StdioServer, skill_with};

const SIGNATURE: &str = "acme/refunds/skill.dsse.sig";

/// A user of the server `acme` with the key `~/acme.pem`, and the server's skills.
async fn user_of_acme() -> (TestUser, SkillFolder) {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    new_key(&user, "acme").await;
    (user, skills)
}

async fn new_key(user: &TestUser, name: &str) {
    let file = user.home.join(&format!("{name}.pem"));
    user.run_ok(&["key", "new", "--out", file.to_str().unwrap()]).await;
}

/// Signs the skill in this folder with a key, in place of any signature before.
async fn sign(user: &TestUser, skills: &SkillFolder, skill: &str, key: &str) {
    let (skill, key) = (skills.join(skill), user.home.join(&format!("{key}.pem")));
    let (skill, key) = (skill.to_str().unwrap(), key.to_str().unwrap());
    user.run_ok(&["sign", skill, "--key", key, "--force"]).await;
}

/// Writes `trust.toml` with the user's keys as signers of the same names, and one rule.
fn trust(user: &TestUser, keys: &[&str], rule: &str) {
    let signers = keys.iter().map(|key| format!("[signers.{key}]\nkey = \"../../{key}.pub\"\n"));
    let signers: Vec<String> = signers.collect();
    user.home.file("sw/state/trust.toml", format!("{}[[rules]]\n{rule}\n", signers.concat()));
}

async fn row(user: &TestUser) -> Value {
    user.run_json(&["list", "--json"]).await["skills"][0].clone()
}

#[tokio::test]
async fn a_required_signature_is_needed_to_approve_and_to_load() {
    let (user, skills) = user_of_acme().await;
    user.approve("acme:refunds").await;
    trust(&user, &["acme"], "server = \"acme\"\nrequire = [\"acme\"]");
    for command in [&["load", "acme:refunds"][..], &["approve", "acme:refunds", "--yes"]] {
        let refused = user.run(command).await.assert_exit(3);
        assert!(refused.stderr.contains("signature_required"), "{}", refused.stderr);
        assert!(refused.stderr.contains("no signature"), "{}", refused.stderr);
    }
    sign(&user, &skills, "acme/refunds", "acme").await;
    // The signature is a file like any other, so the skill changed and the user decides.
    user.run(&["load", "acme:refunds"]).await.assert_exit(4);
    user.approve("acme:refunds").await;
    user.run_ok(&["load", "acme:refunds"]).await;
    assert_eq!(row(&user).await["signature"]["signers"][0]["name"], "acme");
    let log = user.run_ok(&["audit"]).await;
    let loaded = log.lines().rfind(|line| line.contains(" load ")).unwrap();
    assert!(loaded.contains("signed by acme: key sha256:"), "{loaded}");

    // A file that was not signed, and a signature of another skill.
    skills.file("acme/refunds/extra.md", "Not signed.\n");
    let refused = user.run(&["approve", "acme:refunds", "--yes"]).await.assert_exit(3);
    assert!(refused.stderr.contains("1 not signed (`extra.md`)"), "{}", refused.stderr);
    skills.skill("acme/other");
    sign(&user, &skills, "acme/other", "acme").await;
    fs::remove_file(skills.join("acme/refunds/extra.md")).unwrap();
    fs::copy(skills.join("acme/other/skill.dsse.sig"), skills.join(SIGNATURE)).unwrap();
    let refused = user.run(&["approve", "acme:refunds", "--yes"]).await.assert_exit(3);
    assert!(refused.stderr.contains("is for other content"), "{}", refused.stderr);
}

#[tokio::test]
async fn a_lock_file_does_not_replace_a_required_signature() {
    let (user, _skills) = user_of_acme().await;
    user.approve("acme:refunds").await;
    user.run_ok(&["lock"]).await;
    user.run_ok(&["load", "acme:refunds", "--lock", "skillwire.lock"]).await;
    trust(&user, &["acme"], "require = [\"acme\"]");
    user.run(&["load", "acme:refunds", "--lock", "skillwire.lock"])
        .await
        .assert_refused(3, "signature_required");
}

#[tokio::test]
async fn a_signer_decides_instead_of_the_user_only_where_the_user_wrote_so() {
    let (user, skills) = user_of_acme().await;
    sign(&user, &skills, "acme/refunds", "acme").await;
    // Neither a key alone nor a rule that shows the signer approves anything.
    for rule in ["show = [\"acme\"]", "server = \"other\"\ninstead-of-asking = [\"acme\"]"] {
        trust(&user, &["acme"], rule);
        user.run(&["load", "acme:refunds"]).await.assert_exit(4);
    }
    trust(&user, &["acme"], "server = \"acme\"\ninstead-of-asking = [\"acme\"]");
    user.run_ok(&["load", "acme:skill://acme/refunds/SKILL.md"]).await;
    user.run_ok(&["load", "acme:refunds"]).await;
    let row = row(&user).await;
    assert_eq!((&row["state"], &row["decided"]), (&json!("approved"), &json!("signature")));
    assert_eq!(row["signature"]["state"], "vouched");
    let shown = user.run_json(&["show", "acme:refunds", "--json"]).await;
    assert_eq!(shown["grants"], json!({}), "loading, and nothing else");
    let text = user.run_ok(&["show", "acme:refunds"]).await;
    assert!(text.contains("Signed by acme: key sha256:"), "{text}");
    assert!(text.contains("approved by a signature: "), "{text}");
    let log = user.run_ok(&["audit"]).await;
    let line = log.lines().find(|line| line.contains(" approve ")).unwrap();
    assert!(line.contains("by a signature of acme: key sha256:"), "{line}");
}

#[tokio::test]
async fn the_word_of_a_signer_covers_loading_and_no_scripts_or_tools() {
    let (user, skills) = user_of_acme().await;
    skills.file("acme/refunds/SKILL.md", skill_with("refunds", "allowed-tools: Read Write\n"));
    skills.file("acme/refunds/scripts/a.sh", "#!/bin/sh\necho hello\n");
    sign(&user, &skills, "acme/refunds", "acme").await;
    trust(&user, &["acme"], "instead-of-asking = [\"acme\"]");
    user.run_ok(&["load", "acme:refunds"]).await;
    let refused = user.run(&["run", "acme:refunds", "scripts/a.sh"]).await;
    assert!(refused.stderr.contains("not_granted") && refused.stdout.is_empty(), "{refused:?}");
    let shown = user.run_json(&["show", "acme:refunds", "--json"]).await;
    assert_eq!(shown["grants"], json!({}));
    assert_eq!(shown["requested_tools"], json!(["Read", "Write"]));
}

#[tokio::test]
async fn new_content_of_the_same_signer_loads_and_of_another_one_asks_again() {
    let (user, skills) = user_of_acme().await;
    new_key(&user, "other").await;
    let both = "instead-of-asking = [\"acme\", \"other\"]";
    trust(&user, &["acme", "other"], both);
    sign(&user, &skills, "acme/refunds", "acme").await;
    user.run_ok(&["load", "acme:refunds"]).await;
    skills.file("acme/refunds/references/policy.md", "Refund within 60 days.\n");
    user.run(&["load", "acme:refunds"]).await.assert_exit(4);
    sign(&user, &skills, "acme/refunds", "acme").await;
    user.run_ok(&["load", "acme:refunds"]).await;
    // The other signer is trusted as well, but did not vouch for this skill before.
    sign(&user, &skills, "acme/refunds", "other").await;
    user.run(&["load", "acme:refunds"]).await.assert_exit(4);
    user.approve("acme:refunds").await;
    skills.file("acme/refunds/references/policy.md", "Refund within 90 days.\n");
    sign(&user, &skills, "acme/refunds", "other").await;
    user.run_ok(&["load", "acme:refunds"]).await;
}

#[tokio::test]
async fn the_users_own_decisions_count_more_than_a_signer() {
    let (user, skills) = user_of_acme().await;
    sign(&user, &skills, "acme/refunds", "acme").await;
    trust(&user, &["acme"], "instead-of-asking = [\"acme\"]");
    user.run_ok(&["load", "acme:refunds"]).await;
    user.run_ok(&["disable", "acme:refunds"]).await;
    user.run(&["load", "acme:refunds"]).await.assert_exit(8);
    user.run_ok(&["enable", "acme:refunds"]).await;
    user.run_ok(&["load", "acme:refunds"]).await;
    user.run_ok(&["revoke", "acme:refunds"]).await;
    user.run(&["load", "acme:refunds"]).await.assert_exit(4);
    // What the user approved without a signature, they decide about again.
    let (user, skills) = user_of_acme().await;
    user.approve("acme:refunds").await;
    sign(&user, &skills, "acme/refunds", "acme").await;
    trust(&user, &["acme"], "instead-of-asking = [\"acme\"]");
    user.run(&["load", "acme:refunds"]).await.assert_exit(4);
}

#[tokio::test]
async fn what_a_signer_approved_ends_with_the_trust_in_the_signer() {
    let (user, skills) = user_of_acme().await;
    sign(&user, &skills, "acme/refunds", "acme").await;
    trust(&user, &["acme"], "instead-of-asking = [\"acme\"]");
    user.run_ok(&["load", "acme:refunds"]).await;
    trust(&user, &["acme"], "show = [\"acme\"]");
    assert_eq!(user.state_of("acme:refunds").await, "new");
    user.run(&["load", "acme:refunds"]).await.assert_exit(4);
    // Another key under the same name is another signer.
    new_key(&user, "other").await;
    fs::copy(user.home.join("other.pub"), user.home.join("acme.pub")).unwrap();
    trust(&user, &["acme"], "instead-of-asking = [\"acme\"]");
    user.run(&["load", "acme:refunds"]).await.assert_exit(4);
    fs::remove_file(user.state("trust.toml")).unwrap();
    user.run(&["load", "acme:refunds"]).await.assert_exit(4);
}

#[tokio::test]
async fn a_signed_skill_inside_another_one_still_asks_hst_82() {
    let (user, skills) = user_of_acme().await;
    skills.skill("acme/refunds/inner");
    sign(&user, &skills, "acme/refunds/inner", "acme").await;
    sign(&user, &skills, "acme/refunds", "acme").await;
    trust(&user, &["acme"], "instead-of-asking = [\"acme\"]");
    user.run_ok(&["load", "acme:refunds"]).await;
    user.run(&["load", "acme:inner"]).await.assert_exit(4);
}

#[tokio::test]
async fn nothing_is_read_only_to_show_a_signer_hst_53() {
    let (user, skills) = user_of_acme().await;
    sign(&user, &skills, "acme/refunds", "acme").await;
    trust(&user, &["acme"], "show = [\"acme\"]");
    assert_eq!(row(&user).await["signature"], json!({ "state": "not_read" }));
    let shown = user.run_ok(&["show", "acme:refunds"]).await;
    assert!(shown.contains("`skillwire verify-signature acme:refunds` reads it."), "{shown}");
    // Neither an approval nor a load reads it, because neither depends on it.
    user.approve("acme:refunds").await;
    user.run_ok(&["load", "acme:refunds"]).await;
    assert_eq!(row(&user).await["signature"], json!({ "state": "not_read" }));
    // The user asks for it, and after that it is there.
    let verified = user.run_json(&["verify-signature", "acme:refunds", "--json"]).await;
    assert_eq!(verified[0]["verified"], true);
    assert_eq!(row(&user).await["signature"]["state"], "vouched");
}

#[tokio::test]
async fn a_signature_survives_a_gateway_that_changes_the_uri() {
    let (user, skills) = user_of_acme().await;
    sign(&user, &skills, "acme/refunds", "acme").await;
    let home = user.home.join("sw");
    let home = format!("SKILLWIRE_HOME={}", home.display());
    let gateway = ["--no-connect", "--env", &home, "--", BINARY, "serve", "--upstream", "acme"];
    user.run_ok(&[&["server", "add", "hub"][..], &gateway].concat()).await;
    let key = user.home.join("acme.pub");
    let verify = ["verify-signature", "hub:acme/acme/refunds", "--key", key.to_str().unwrap()];
    user.run_ok(&verify).await;
}

#[tokio::test]
async fn the_bridge_takes_the_word_of_a_signer_and_requires_one() {
    let (user, skills) = user_of_acme().await;
    sign(&user, &skills, "acme/refunds", "acme").await;
    skills.skill("acme/unsigned");
    trust(&user, &["acme"], "require = [\"acme\"]\ninstead-of-asking = [\"acme\"]");
    let mut bridge = StdioServer::start(user.command(&["bridge"]));
    for (name, words) in [("refunds", "Origin: MCP server acme"), ("unsigned", "signature")] {
        let arguments = json!({ "name": format!("acme:{name}") });
        let params = json!({ "name": "load_skill", "arguments": arguments });
        let loaded = bridge.modern("tools/call", params).await.result().clone();
        assert_eq!(loaded["isError"] == true, name == "unsigned", "{loaded}");
        let text = loaded["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(words), "{text}");
    }
    bridge.close().await.assert_exit(0);
}

#[tokio::test]
async fn the_narrowest_rule_counts() {
    let (user, skills) = user_of_acme().await;
    skills.skill("acme/other");
    sign(&user, &skills, "acme/refunds", "acme").await;
    let rules = "show = [\"acme\"]\n\
         [[rules]]\nserver = \"acme\"\nrequire = [\"acme\"]\n\
         [[rules]]\nserver = \"acme\"\nnamespace = \"acme\"\ninstead-of-asking = [\"acme\"]\n\
         [[rules]]\nskill = \"acme/other\"\nshow = [\"acme\"]";
    trust(&user, &["acme"], rules);
    user.run_ok(&["load", "acme:refunds"]).await;
    // Neither required nor decided by the signer.
    user.run(&["load", "acme:other"]).await.assert_exit(4);
    user.approve("acme:other").await;
    user.run_ok(&["load", "acme:other"]).await;
}

#[tokio::test]
async fn rules_that_cannot_be_followed_are_never_passed_over() {
    let (user, _skills) = user_of_acme().await;
    user.approve("acme:refunds").await;
    for (rule, words) in [
        ("require = [\"stranger\"]", "the signer `stranger`, which is not there"),
        ("server = \"acme\"", "Rule 1 names no signer."),
        ("require = \"acme\"", "trust.toml"),
        ("requires = [\"acme\"]", "trust.toml"),
        ("server = \"A\"\nrequire = [\"acme\"]", "whose label"),
        ("require = [\"acme\"]\n[[rules]]\nshow = [\"acme\"]", "the same skills"),
    ] {
        trust(&user, &["acme"], rule);
        user.run(&["load", "acme:refunds"]).await.assert_refused(2, words);
    }
    trust(&user, &["missing"], "require = [\"missing\"]");
    user.run(&["load", "acme:refunds"]).await.assert_refused(2, "The signer `missing`");
}
