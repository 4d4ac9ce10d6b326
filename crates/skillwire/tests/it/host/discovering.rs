//! `skillwire list`: which skills there are.

use skillwire_testkit::{Fault, HostileServer, SkillFolder};

use super::user::{TestUser, refunds};

#[tokio::test]
async fn every_presentation_names_the_origin_hst_85() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.home.file(".agents/skills/notes/SKILL.md", skillwire_testkit::skill_md("notes"));
    let listing = user.run_ok(&["list"]).await;
    insta::assert_snapshot!(listing);
    assert!(user.run_ok(&["show", "acme:refunds"]).await.contains("from server acme"));
    let catalogue = user.run_ok(&["prompt"]).await;
    assert!(catalogue.contains("<origin>server acme</origin>"), "{catalogue}");
    assert!(catalogue.contains("<origin>local</origin>"), "{catalogue}");
    let listing = user.run_json(&["list", "--json"]).await;
    let origins: Vec<_> =
        listing["skills"].as_array().unwrap().iter().map(|skill| &skill["origin"]).collect();
    assert_eq!(origins, ["local", "acme"]);
}

#[tokio::test]
async fn a_server_that_is_away_or_broken_leaves_the_others_alone_hst_111() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.run_ok(&["server", "add", "dead", "--", "./no-such-program"]).await;
    user.run_ok(&["server", "add", "gone", "http://127.0.0.1:9/mcp"]).await;
    user.run_ok(&[
        "server",
        "add",
        "tokenless",
        "http://127.0.0.1:9/mcp",
        "--bearer-token-file",
        "none",
    ])
    .await;
    let ran = user.run(&["list"]).await.assert_exit(0);
    assert!(ran.stdout.contains("acme:refunds"), "{}", ran.stdout);
    for label in ["--> dead", "--> gone", "--> tokenless"] {
        assert!(ran.stderr.contains(label), "{label} is not in {}", ran.stderr);
    }
    let listing = user.run_json(&["list", "--json"]).await;
    assert_eq!(listing["incomplete"].as_array().unwrap().len(), 3);
    user.run(&["list", "--server", "dead"]).await.assert_refused(7, "error[server_unreachable]");
    user.run(&["load", "tokenless:x"]).await.assert_refused(7, "a bearer token in");
    user.run(&["list", "--server", "none"]).await.assert_refused(5, "error[server_unknown]");
    let one = user.run(&["list", "--server", "acme"]).await.assert_exit(0);
    assert_eq!(one.stderr, "");
}

#[tokio::test]
async fn an_entry_that_cannot_be_used_is_shown_with_its_reason_hst_24() {
    let user = TestUser::new();
    let patch = serde_json::json!({ "frontmatter": { "name": "other" } });
    let server = HostileServer::new()
        .skill("good", [("x.md", "x")])
        .skill("bad", [("x.md", "x")])
        .fault(Fault::entry("skill://bad/SKILL.md", patch));
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    let listing = user.run_ok(&["list"]).await;
    assert!(listing.contains("acme:good"), "{listing}");
    assert!(listing.contains("acme:skill://bad/SKILL.md  refused name_mismatch"), "{listing}");
    let listing = user.run_json(&["list", "--json"]).await;
    assert_eq!(listing["refused"][0]["reason"], "name_mismatch");
}

#[tokio::test]
async fn the_catalogue_in_three_notations_and_within_a_budget_hst_99() {
    let (user, skills) = (TestUser::new(), SkillFolder::with_skills(&["a", "b", "c"]));
    user.add_folder_server("acme", &skills).await;
    assert!(user.run_ok(&["prompt"]).await.starts_with("<available_skills>\n"));
    assert!(user.run_ok(&["prompt", "--format", "md"]).await.starts_with("## Available skills\n"));
    let json = user.run_json(&["prompt", "--format", "json"]).await;
    assert_eq!(json["available_skills"].as_array().unwrap().len(), 3);
    let short = user.run_json(&["prompt", "--format", "json", "--budget", "50"]).await;
    assert_eq!(short["more_skills"][0]["count"], 3);
    assert_eq!(user.run_ok(&["prompt"]).await, user.run_ok(&["prompt"]).await, "it can be cached");
}

#[tokio::test]
async fn with_nothing_configured_every_command_says_what_to_do() {
    let user = TestUser::new();
    let ran = user.run(&["list"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("`skillwire server add` adds a server."), "{}", ran.stderr);
    assert_eq!(user.run_ok(&["prompt"]).await, "");
    assert_eq!(user.run_ok(&["audit"]).await, "");
    let ran = user.run(&["server", "list"]).await.assert_exit(0);
    assert!(ran.stderr.contains("There are no servers"), "{}", ran.stderr);
    user.run(&["load", "x"]).await.assert_refused(5, "error[skill_not_found]");
    assert!(!user.home.join("sw").exists(), "looking makes no folders");
}

#[tokio::test]
async fn a_mistyped_name_is_answered_with_the_one_that_was_meant_fu_26() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    for (typed, meant) in [
        ("acme:refunsd", "Did you mean `acme:refunds`?"),
        ("refund", "Did you mean `refunds`?"),
        ("amce:refunds", "Did you mean `acme`?"),
        ("acme:something-else", "`skillwire list` shows the skills there are."),
    ] {
        user.run(&["show", typed]).await.assert_refused(5, meant);
    }
}
