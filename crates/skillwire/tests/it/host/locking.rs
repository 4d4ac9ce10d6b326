//! The lock file: approvals for agents that nobody can be asked for.

use std::fs;

use super::user::{User, refunds};

#[tokio::test]
async fn a_lock_file_approves_the_content_it_lists_and_nothing_else_hst_88() {
    let (author, skills) = (User::new(), refunds());
    author.serves("acme", &skills).await;
    author.approves("acme:refunds").await;
    assert_eq!(author.gets(&["lock"]).await, "Wrote 1 approved skill to `skillwire.lock`.\n");
    author.gets(&["lock", "--check"]).await;
    let text = fs::read_to_string(author.home.join("work/skillwire.lock")).unwrap();

    // Another machine, where nothing was ever approved.
    let agent = User::new();
    agent.serves("acme", &skills).await;
    agent.serves("beta", &skills).await;
    agent.home.file("work/skillwire.lock", &text);
    let lock = ["--lock", "skillwire.lock"];
    let load = |handle| [&["load", handle][..], &lock].concat();
    agent.run(&["load", "acme:refunds"]).await.exits(4);
    agent.gets(&load("acme:refunds")).await;
    agent.run(&load("beta:refunds")).await.refuses(4, "error[not_locked]");
    agent.run(&["load", "acme:refunds", "--lock", "none"]).await.refuses(2, "cannot be read");
    skills.file("acme/refunds/references/policy.md", "Refund within 90 days.\n");
    let ran = agent.run(&load("acme:refunds")).await;
    ran.refuses(4, "policy.md` changed");
    agent.home.file("work/skillwire.lock", text.replace("refunds", "refundz"));
    agent.run(&load("acme:refunds")).await.refuses(2, "skillwire.lock");
}

#[tokio::test]
async fn a_lock_does_not_borrow_approvals_of_the_user_hst_88() {
    let (user, skills) = (User::new(), refunds());
    user.serves("acme", &skills).await;
    user.gets(&["lock", "--file", "empty.lock"]).await;
    user.approves("acme:refunds").await;
    let ran = user.run(&["load", "acme:refunds", "--lock", "empty.lock"]).await;
    ran.refuses(4, "error[not_locked]");
}

#[tokio::test]
async fn a_lock_file_that_is_out_of_date_is_told() {
    let (user, skills) = (User::new(), refunds());
    skills.skill("other");
    user.serves("acme", &skills).await;
    user.approves("acme:refunds").await;
    user.gets(&["lock"]).await;
    user.gets(&["revoke", "acme:refunds"]).await;
    user.approves("acme:other").await;
    let ran = user.run(&["lock", "--check"]).await.exits(1);
    assert!(ran.stdout.contains("locked, not approved  acme:skill://acme/refunds/SKILL.md"));
    assert!(ran.stdout.contains("approved, not locked  acme:skill://other/SKILL.md"));
    user.run(&["lock", "--check", "--file", "none"]).await.refuses(2, "cannot be read");
    user.run(&["lock", "--file", "no/such/folder"]).await.refuses(2, "cannot be written");
    let before = fs::read_to_string(user.home.join("work/skillwire.lock")).unwrap();
    assert!(before.contains("refunds"), "checking writes nothing");
}
