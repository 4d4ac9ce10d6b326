//! The lock file: approvals for agents without a user to ask.

use std::fs;

use super::user::{TestUser, refunds};

#[tokio::test]
async fn a_lock_file_approves_the_content_it_lists_and_nothing_else_hst_88() {
    let (author, skills) = (TestUser::new(), refunds());
    author.add_folder_server("acme", &skills).await;
    author.approve("acme:refunds").await;
    assert_eq!(author.run_ok(&["lock"]).await, "Wrote 1 approved skill to `skillwire.lock`.\n");
    author.run_ok(&["lock", "--check"]).await;
    let text = fs::read_to_string(author.home.join("work/skillwire.lock")).unwrap();

    // Another machine, on which the user has approved nothing.
    let agent = TestUser::new();
    agent.add_folder_server("acme", &skills).await;
    agent.add_folder_server("beta", &skills).await;
    agent.home.file("work/skillwire.lock", &text);
    let lock = ["--lock", "skillwire.lock"];
    let load = |handle| [&["load", handle][..], &lock].concat();
    agent.run(&["load", "acme:refunds"]).await.assert_exit(4);
    agent.run_ok(&load("acme:refunds")).await;
    agent.run(&load("beta:refunds")).await.assert_refused(4, "error[not_locked]");
    agent
        .run(&["load", "acme:refunds", "--lock", "none"])
        .await
        .assert_refused(2, "cannot be read");
    skills.file("acme/refunds/references/policy.md", "Refund within 90 days.\n");
    let ran = agent.run(&load("acme:refunds")).await;
    ran.assert_refused(4, "policy.md` changed");
    agent.home.file("work/skillwire.lock", text.replace("refunds", "refundz"));
    agent.run(&load("acme:refunds")).await.assert_refused(2, "skillwire.lock");
}

#[tokio::test]
async fn a_lock_does_not_borrow_approvals_of_the_user_hst_88() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.run_ok(&["lock", "--file", "empty.lock"]).await;
    user.approve("acme:refunds").await;
    let ran = user.run(&["load", "acme:refunds", "--lock", "empty.lock"]).await;
    ran.assert_refused(4, "error[not_locked]");
}

#[tokio::test]
async fn a_lock_file_that_is_out_of_date_is_told() {
    let (user, skills) = (TestUser::new(), refunds());
    skills.skill("other");
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    user.run_ok(&["lock"]).await;
    user.run_ok(&["revoke", "acme:refunds"]).await;
    user.approve("acme:other").await;
    let ran = user.run(&["lock", "--check"]).await.assert_exit(1);
    assert!(ran.stdout.contains("locked, not approved  acme:skill://acme/refunds/SKILL.md"));
    assert!(ran.stdout.contains("approved, not locked  acme:skill://other/SKILL.md"));
    user.run(&["lock", "--check", "--file", "none"]).await.assert_refused(2, "cannot be read");
    user.run(&["lock", "--file", "no/such/folder"]).await.assert_refused(2, "cannot be written");
    let before = fs::read_to_string(user.home.join("work/skillwire.lock")).unwrap();
    assert!(before.contains("refunds"), "checking writes nothing");
}
