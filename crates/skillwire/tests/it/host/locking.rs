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

#[cfg(unix)]
#[tokio::test]
async fn a_fifo_in_the_place_of_a_file_is_refused_and_waits_for_nothing_sec_15() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    let fifo = user.home.join("work/skillwire.lock");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for command in [
        &["lock", "--check"][..],
        &["load", "acme:refunds", "--lock", "skillwire.lock"],
        &["bridge", "--lock", "skillwire.lock"],
        &["server", "import", "skillwire.lock"],
    ] {
        user.run(command).await.assert_refused(2, "it is not a regular file");
    }
    let token = ["server", "add", "beta", "https://beta.example/mcp", "--bearer-token-file"];
    let _ = user.run(&[&token[..], &["skillwire.lock"]].concat()).await;
    let _ = user.run(&["list"]).await;
}

/// All files below a folder.
#[cfg(unix)]
fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[cfg(unix)]
#[tokio::test]
async fn a_fifo_in_the_place_of_any_file_of_the_state_waits_for_nothing_sec_15() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    user.run_ok(&["load", "acme:refunds"]).await;
    let files = files_below(&user.home.join("sw"));
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let aside = file.with_extension("aside");
        fs::rename(&file, &aside).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        // Each ends by itself, whether or not it can do without the file.
        user.run(&["load", "acme:refunds"]).await;
        user.run(&["approve", "acme:refunds", "--yes"]).await;
        user.run(&["audit"]).await;
        fs::remove_file(&file).unwrap();
        fs::rename(&aside, &file).unwrap();
    }
    user.run_ok(&["load", "acme:refunds"]).await;
}
