//! Commands that only look: `show`, `diff` and `audit`.

use skillwire_testkit::HostileServer;

use super::user::{TestUser, refunds};

#[tokio::test]
async fn showing_is_a_read_and_not_a_load_hst_86() {
    let (user, skills) = (TestUser::new(), refunds());
    skills.file("acme/refunds/logo.png", [0x89, b'P', b'N', b'G', 0xff, 0]);
    user.add_folder_server("acme", &skills).await;
    let shown = user.run_ok(&["show", "acme:refunds"]).await;
    for line in [
        "from server acme",
        "uri: skill://acme/refunds/SKILL.md",
        "references/policy.md",
        "new: you have not decided about it. `skillwire approve acme:refunds` asks you.\n",
    ] {
        assert!(shown.contains(line), "{line:?} is not in {shown}");
    }
    let ran = user.run(&["show", "acme:refunds", "references/policy.md"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "Refund within 30 days.\n");
    assert!(ran.stderr.contains("that is no reason to trust it"), "{}", ran.stderr);
    let ran = user.run(&["show", "acme:refunds", "logo.png"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("not text (6 bytes, image/png)"), "{}", ran.stderr);
    user.run(&["show", "acme:refunds", "../x"])
        .await
        .assert_refused(3, "error[path_outside_skill]");
    assert_eq!(user.state_of("acme:refunds").await, "new");
    let log = user.run_ok(&["audit", "--json"]).await;
    assert!(log.contains("\"inspect\"") && !log.contains("\"load\""), "{log}");
}

#[tokio::test]
async fn showing_an_entry_fetches_no_file_hst_67() {
    let user = TestUser::new();
    let server = HostileServer::new().skill("a", [("x.md", "x")]);
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    user.run_ok(&["show", "acme:a"]).await;
    user.run_ok(&["list"]).await;
    user.run_ok(&["prompt"]).await;
    user.approve("acme:a").await;
    assert_eq!(server.count("resources/read"), 0);
    let shown = user.run_json(&["show", "acme:a", "--json"]).await;
    assert_eq!(shown["state"], "approved");
    assert_eq!(shown["entry"]["resources"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_log_says_what_happened_and_why_not() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.run(&["load", "acme:refunds"]).await.assert_exit(4);
    user.approve("acme:refunds").await;
    user.run(&["load", "acme:refunds", "--read", "no.md"]).await.assert_exit(3);
    user.run_ok(&["revoke", "acme:refunds"]).await;
    let log = user.run_ok(&["audit", "--json"]).await;
    let events: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = events
        .iter()
        .map(|event| {
            let word = |key: &str| event[key].as_str().unwrap_or("-").to_owned();
            [word("action"), word("decision"), word("reason")].join(" ")
        })
        .collect();
    assert_eq!(
        told,
        [
            "load refused not_approved",
            "approve allowed -",
            "load allowed -",
            "read refused file_not_listed",
            "release allowed -",
            "revoke allowed -",
        ]
    );
    assert!(events.iter().all(|event| event["label"] == "acme"));
    assert_eq!(user.run_ok(&["audit", "--last", "2"]).await.lines().count(), 2);
    let text = user.run_ok(&["audit"]).await;
    assert!(text.contains("refused file_not_listed  acme:skill://acme/refunds/SKILL.md  no.md"));
}

#[tokio::test]
async fn a_torn_line_of_the_log_does_not_hide_the_others() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    let file = user.state("audit.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{{\"time\n{text}")).unwrap();
    let ran = user.run(&["audit"]).await.assert_exit(0);
    assert_eq!(ran.stdout.lines().count(), 1);
    assert!(ran.stderr.contains("Line 1 of `audit.jsonl` cannot be read"), "{}", ran.stderr);
}
