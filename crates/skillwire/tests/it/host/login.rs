//! `skillwire server login`.

use std::time::Duration;

use skillwire_testkit::{HostileServer, LoginFault, LoginServer};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    time::timeout,
};

use super::user::TestUser;
use crate::support::{CommandResult, TEST_TIMEOUT};

async fn guarded(troubles: &[LoginFault]) -> LoginServer {
    let server = HostileServer::new().skill("refunds", [("references/x.md", "Details.")]);
    LoginServer::in_front_of(&server, troubles).await
}

/// Logs in as a user does: reads the address, opens it, and waits until the program has ended.
async fn log_in(user: &TestUser, server: &LoginServer) -> CommandResult {
    let mut child = user.command(&["server", "login", "acme"]).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut address = String::new();
    timeout(TEST_TIMEOUT, stdout.read_line(&mut address)).await.unwrap().unwrap();
    if !address.is_empty() {
        server.browse(address.trim()).await;
    }
    let output = timeout(TEST_TIMEOUT, child.wait_with_output()).await.unwrap().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    CommandResult { code: output.status.code(), stdout: String::new(), stderr }
}

#[tokio::test]
async fn a_server_that_wants_a_login_says_so_and_works_after_it() {
    let (user, server) = (TestUser::new(), guarded(&[]).await);
    user.run_ok(&["server", "add", "acme", &server.url(), "--no-connect"]).await;
    let refused = user.run(&["list", "--server", "acme"]).await;
    let hint = "help: `skillwire server login acme` logs in.";
    assert!(refused.stderr.contains(hint), "{}", refused.stderr);
    refused.assert_refused(7, "error[login_required]");
    let unlabelled = user.run(&["verify", &server.url()]).await.assert_exit(7);
    assert!(unlabelled.stderr.contains("gives it a label to log in with"), "{unlabelled:?}");
    assert!(log_in(&user, &server).await.assert_exit(0).stderr.contains("Logged in to `acme`"));
    user.approve("acme:refunds").await;
    let loaded =
        user.run(&["load", "acme:refunds", "--read", "references/x.md"]).await.assert_exit(0);
    assert!(loaded.stdout.contains("Details."), "{loaded:?}");
    for shown in [
        user.run(&["server", "list"]).await,
        user.run(&["server", "list", "--json"]).await,
        user.run(&["audit", "--json"]).await,
        loaded,
    ] {
        assert!(!(shown.stdout.clone() + &shown.stderr).contains("hush"), "{shown:?}");
    }
    let told = user.run_ok(&["server", "remove", "acme", "--yes"]).await;
    assert!(told.starts_with("Removed the server `acme`, its login, "), "{told}");
    assert!(!user.state("logins/acme.json").exists());
}

#[tokio::test]
async fn a_login_can_be_forgotten() {
    let (user, server) = (TestUser::new(), guarded(&[]).await);
    user.run_ok(&["server", "add", "acme", &server.url(), "--no-connect"]).await;
    log_in(&user, &server).await.assert_exit(0);
    assert_eq!(user.run_ok(&["server", "logout", "acme"]).await, "Forgot the login to `acme`.\n");
    user.run(&["list", "--server", "acme"]).await.assert_refused(7, "error[login_required]");
    assert_eq!(user.run_ok(&["server", "logout", "acme"]).await, "");
    user.run(&["server", "logout", "none"]).await.assert_refused(5, "error[server_unknown]");
}

#[tokio::test]
async fn a_login_that_fails_leaves_nothing_behind() {
    let (user, server) = (TestUser::new(), guarded(&[LoginFault::Declined]).await);
    user.run_ok(&["server", "add", "acme", &server.url(), "--no-connect"]).await;
    log_in(&user, &server).await.assert_refused(7, "error[login_failed]");
    assert!(!user.state("logins/acme.json").exists());
    let late = user.run(&["server", "login", "acme", "--wait", "1"]).await.assert_exit(7);
    let second = Duration::from_secs(1);
    assert!(
        late.stderr.contains(&format!("the user did not log in within {second:?}")),
        "{late:?}"
    );
}

#[tokio::test]
async fn only_a_server_with_a_url_and_without_a_token_is_logged_in_to() {
    let user = TestUser::new();
    user.run_ok(&["server", "add", "prog", "--no-connect", "--", "prog"]).await;
    user.run_ok(&[
        "server",
        "add",
        "key",
        "https://x.example/",
        "--header",
        "Authorization=x",
        "--no-connect",
    ])
    .await;
    user.run_ok(&["server", "add", "clear", "http://x.example/mcp", "--no-connect"]).await;
    user.run(&["server", "login", "prog"]).await.assert_refused(2, "is a program");
    user.run(&["server", "login", "key"]).await.assert_refused(2, "has a token configured");
    user.run(&["server", "login", "clear"]).await.assert_refused(7, "not at an `https` URL");
    user.run(&["server", "login", "none"]).await.assert_refused(5, "error[server_unknown]");
}
