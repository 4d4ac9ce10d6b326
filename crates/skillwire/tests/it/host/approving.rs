//! What the user decides: approve, revoke, enable, disable.

use skillwire_testkit::SkillFolder;

use super::user::{User, refunds};
use crate::support::skill_with;

#[tokio::test]
async fn nothing_is_approved_where_nobody_can_be_asked_hst_88() {
    let (user, skills) = (User::new(), refunds());
    user.serves("acme", &skills).await;
    let ran = user.run(&["approve", "acme:refunds"]).await.exits(4);
    assert!(ran.stderr.contains("`--yes` approves it without asking."), "{}", ran.stderr);
    assert_eq!(user.state_of("acme:refunds").await, "new");
}

#[tokio::test]
async fn tools_and_execution_are_granted_only_by_name_hst_72() {
    let (user, skills) = (User::new(), SkillFolder::new());
    let text = skill_with("git", "allowed-tools: Read Bash(git:*)\n");
    skills.file("git/SKILL.md", text);
    user.serves("acme", &skills).await;
    let grants = async |arguments: &[&str]| {
        let given = [&["approve", "acme:git", "--yes", "--json"][..], arguments].concat();
        user.reads(&given).await["grants"].clone()
    };
    assert_eq!(grants(&[]).await, serde_json::json!({}));
    assert_eq!(grants(&["--tool", "Read"]).await, serde_json::json!({"tools": ["Read"]}));
    assert_eq!(
        grants(&["--tools", "--exec"]).await,
        serde_json::json!({"tools": ["Bash(git:*)", "Read"], "execute": true})
    );
    let shown = user.gets(&["show", "acme:git"]).await;
    assert!(shown.contains("It asks for these tools"), "{shown}");
    assert!(shown.contains("gets the tools Bash(git:*), Read, and code may run."), "{shown}");
    // A new approval is a new decision.
    assert_eq!(grants(&[]).await, serde_json::json!({}));
}

#[tokio::test]
async fn a_disabled_skill_is_hidden_from_models_and_not_loaded_hst_84() {
    let (user, skills) = (User::new(), SkillFolder::with_skills(&["a", "b"]));
    user.serves("acme", &skills).await;
    user.approves("acme:a").await;
    user.gets(&["disable", "acme:a"]).await;
    assert_eq!(user.state_of("acme:a").await, "disabled");
    let catalogue = user.gets(&["prompt"]).await;
    assert!(!catalogue.contains("acme:a") && catalogue.contains("acme:b"), "{catalogue}");
    user.run(&["load", "acme:a"]).await.refuses(8, "`skillwire enable");
    user.gets(&["disable", "acme:b"]).await;
    assert_eq!(user.gets(&["prompt"]).await, "", "hst_105: no skills, no catalogue");
    user.gets(&["enable", "acme:a"]).await;
    user.gets(&["load", "acme:a"]).await;
}

#[tokio::test]
async fn an_approval_is_withdrawn_even_while_the_server_is_away() {
    let (user, skills) = (User::new(), refunds());
    user.serves("acme", &skills).await;
    user.approves("acme:refunds").await;
    drop(skills);
    let revoked = user.reads(&["revoke", "acme:refunds", "--json"]).await;
    assert_eq!(revoked["was_approved"], true);
    user.run(&["load", "acme:refunds", "--offline"]).await.exits(5);
}

#[tokio::test]
async fn one_server_s_approval_says_nothing_about_another_s_same_skill_hst_12_h_50() {
    let (user, skills) = (User::new(), refunds());
    user.serves("acme", &skills).await;
    user.serves("beta", &skills).await;
    user.approves("acme:refunds").await;
    user.gets(&["load", "acme:refunds"]).await;
    user.run(&["load", "beta:refunds"]).await.refuses(4, "error[not_approved]");
    user.run(&["load", "refunds"]).await.refuses(6, "acme:refunds, beta:refunds");
    let listing = user.gets(&["list"]).await;
    assert!(listing.contains("acme:refunds*") && listing.contains("Several skills"), "{listing}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_person_at_a_terminal_is_asked_and_can_decline_hst_86() {
    let (user, skills) = (User::new(), refunds());
    user.serves("acme", &skills).await;
    let mut asked = user.on_a_terminal(&["approve", "acme:refunds"]);
    assert!(asked.answers("n").await.contains("Approve this content from server acme?"));
    assert_eq!(asked.ended().await, Some(4));
    assert_eq!(user.state_of("acme:refunds").await, "declined");
    // A skill that was declined is not asked about again by a load.
    let asked = user.on_a_terminal(&["load", "acme:refunds"]);
    assert_eq!(asked.ended().await, Some(4));
    let mut asked = user.on_a_terminal(&["approve", "acme:refunds"]);
    asked.answers("y").await;
    assert_eq!(asked.ended().await, Some(0));
    assert_eq!(user.state_of("acme:refunds").await, "approved");
}
