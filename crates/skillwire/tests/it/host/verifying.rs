//! `skillwire verify`: exit codes, the report and its JSON.

use serde_json::json;
use skillwire_testkit::{Fault, HostileServer};

use super::user::{TestUser, refunds};
use crate::support::BINARY;

const X: &str = "skill://a/x.md";

fn server() -> HostileServer {
    HostileServer::new().skill("a", [("x.md", "details")])
}

#[tokio::test]
async fn an_honest_server_passes_by_label_by_url_and_as_a_program_hst_118() {
    let (user, skills) = (TestUser::new(), refunds());
    let folder = skills.path().to_str().unwrap();
    let passes = "1 skill listed, 2 files as promised: 0 errors, 0 warnings.\n";
    user.add_folder_server("acme", &skills).await;
    assert_eq!(user.run_ok(&["verify", "acme"]).await, passes);
    let program = ["verify", "--", BINARY, "serve", "--no-index", folder];
    assert_eq!(user.run_ok(&program).await, passes);
    let listening = server().http().await;
    assert_eq!(user.run_ok(&["verify", &listening.url()]).await, passes);
    let counted = user.run_json(&["verify", "acme", "--json"]).await;
    let expected = json!({
        "skills": 1, "files": 2, "dynamic": 0, "first_seen": 0, "dialect": "D1",
        "not_guaranteed": [], "findings": [],
    });
    assert_eq!(counted, expected);
    // `verify` writes nothing to the state folder.
    assert!(!user.state("approvals").exists() && !user.state("audit.jsonl").exists());
    assert!(!user.home.join("sw/cache").exists());
}

#[tokio::test]
async fn a_broken_must_is_exit_3_with_its_reason_hst_118() {
    let user = TestUser::new();
    let text = json!("See skill://gone/SKILL.md.");
    let server = server().fault(Fault::read_bytes(X, "DETAILS")).fault(Fault::Instructions(text));
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    let ran = user.run(&["verify", "acme"]).await.assert_exit(3);
    insta::assert_snapshot!(ran.transcript());
    let found = user.run(&["verify", "acme", "--json"]).await.assert_exit(3).json();
    let finding = &found["findings"][0];
    assert_eq!(
        (&finding["demand"], &finding["reason"]),
        (&json!("must"), &json!("digest_mismatch"))
    );
    assert_eq!(
        (&finding["skill"], &finding["file"]),
        (&json!("acme:skill://a/SKILL.md"), &json!(X))
    );
    assert!(finding["expected"].is_string() && finding["actual"].is_string());
    assert_eq!(found["findings"][1]["demand"], "should");
}

#[tokio::test]
async fn a_broken_should_is_told_and_no_more_srv_79() {
    let user = TestUser::new();
    let text = json!("See skill://gone/SKILL.md.");
    let listening = server().fault(Fault::Instructions(text)).http().await;
    let said = user.run_ok(&["verify", &listening.url()]).await;
    assert!(said.contains("warning[instructions_dangling]"), "{said}");
    assert!(said.ends_with("0 errors, 1 warning.\n"), "{said}");
}

#[tokio::test]
async fn who_cannot_be_verified_has_another_exit_code_hst_118() {
    let user = TestUser::new();
    user.run(&["verify", "--", "./no-such-program"])
        .await
        .assert_refused(7, "error[server_unreachable]");
    user.run(&["verify", "none"]).await.assert_refused(5, "error[server_unknown]");
    user.run(&["verify", "Not A Label"]).await.assert_refused(5, "error[server_unknown]");
    user.run(&["verify", "ftp://x.example"]).await.assert_refused(2, "This is not a server");
    user.run(&["verify"]).await.assert_exit(2);
    let listening = server().fault(Fault::Undeclared).http().await;
    let ran = user.run(&["verify", &listening.url(), "--json"]).await.assert_exit(7);
    assert_eq!(ran.json()["reason"], "skills_not_offered");
}
