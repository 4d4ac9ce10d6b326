//! `skillwire export`: copies of skills to look at.

use std::fs;

use skillwire_testkit::{Fault, HostileServer, SkillFolder};

use super::user::{TestUser, refunds};

#[tokio::test]
async fn a_copy_has_the_verified_files_and_says_where_they_came_from() {
    let (user, skills) = (TestUser::new(), refunds());
    skills.file("acme/refunds/data.bin", [0, 255, 10]);
    user.add_folder_server("acme", &skills).await;
    let told = user.run_ok(&["export", "acme:refunds", "copy"]).await;
    assert_eq!(told, "Copied 3 files of acme:refunds from server acme to `copy`.\n");
    let read = |path: &str| fs::read(user.home.join("work/copy").join(path)).unwrap();
    assert_eq!(read("references/policy.md"), b"Refund within 30 days.\n");
    assert_eq!(read("data.bin"), [0, 255, 10]);
    let marker: serde_json::Value =
        serde_json::from_slice(&read(".skillwire-export.json")).unwrap();
    assert_eq!(marker["origin"], "acme");
    assert_eq!(marker["uri"], "skill://acme/refunds/SKILL.md");
    assert_eq!(user.state_of("acme:refunds").await, "new", "copying approves nothing");
    user.run(&["export", "acme:refunds", "copy"]).await.assert_refused(2, "`copy` is not empty.");
    user.home.file("work/file", "mine");
    user.run(&["export", "acme:refunds", "file"]).await.assert_refused(2, "`file`");
    assert_eq!(fs::read(user.home.join("work/file")).unwrap(), b"mine");
}

#[tokio::test]
async fn a_copy_does_not_become_a_local_skill_unless_the_user_insists_hst_95() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    for place in [".claude/skills/refunds", "../.agents/skills/refunds", "skills/refunds"] {
        let ran = user.run(&["export", "acme:refunds", place]).await;
        ran.assert_refused(8, "is where agents look for skills");
        assert!(!user.home.join("work").join(place).exists());
    }
    user.run_ok(&["export", "acme:refunds", "../.agents/skills/refunds", "--force"]).await;
    assert_eq!(user.state_of("local:refunds").await, "approved");
}

#[tokio::test]
async fn names_that_a_disk_cannot_keep_apart_are_refused_before_anything_is_written_hst_113() {
    let user = TestUser::new();
    let server = HostileServer::new()
        .skill("twins", [("a.md", "1"), ("A.md", "2")])
        .skill("device", [("con.txt", "1")])
        .skill("marker", [(".skillwire-export.json", "forged")]);
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    for skill in ["acme:twins", "acme:device", "acme:marker"] {
        let ran = user.run(&["export", skill, "copy"]).await;
        ran.assert_refused(3, "error[file_names_collide]");
        assert!(!user.home.join("work/copy").exists());
    }
    assert_eq!(server.count("resources/read"), 0);
}

#[tokio::test]
async fn a_copy_with_wrong_bytes_is_not_made_hst_50() {
    let user = TestUser::new();
    let server = HostileServer::new()
        .skill("a", [("x.md", "right")])
        .fault(Fault::read_bytes("skill://a/x.md", "wrong"));
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    user.run(&["export", "acme:a", "copy"]).await.assert_refused(3, "error[digest_mismatch]");
    assert!(!user.home.join("work/copy").exists());
    let log = user.run_ok(&["audit", "--json"]).await;
    assert!(log.contains("\"export\"") && log.contains("\"digest_mismatch\""), "{log}");
}

#[tokio::test]
async fn show_and_export_refuse_what_load_refuses_for_its_frontmatter_sec_05() {
    let user = TestUser::new();
    let text = "---\nname: a\ndescription: Does it.\nhooks: {}\n---\nBody\n";
    let server = HostileServer::new().skill("a", [("SKILL.md", text)]).fault(Fault::entry(
        "skill://a/SKILL.md",
        serde_json::json!({ "frontmatter": { "hooks": null } }),
    ));
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    for command in [&["load", "acme:a"][..], &["show", "acme:a", "SKILL.md"]] {
        user.run_ok(&["approve", "acme:a", "--yes"]).await;
        user.run(command).await.assert_refused(3, "error[frontmatter_mismatch]");
    }
    user.run(&["export", "acme:a", "copy"]).await.assert_refused(3, "error[frontmatter_mismatch]");
    assert!(!user.home.join("work/copy").exists());
}

#[tokio::test]
async fn every_approved_skill_of_a_server_is_copied_and_never_where_agents_look_p_20() {
    let user = TestUser::new();
    let folder = SkillFolder::with_skills(&["acme/refunds", "acme/travel", "ledger"]);
    user.add_folder_server("team", &folder).await;
    let none = user.run(&["export", "team", "--all", "none"]).await.assert_exit(0);
    assert!(none.stderr.contains("`skillwire approve 'team:*'`"), "{none:?}");
    user.approve("team:acme/refunds").await;
    user.approve("team:ledger").await;
    let copied = user.run_json(&["export", "team", "--all", "copies", "--json"]).await;
    assert_eq!(copied["skills"].as_array().unwrap().len(), 2, "{copied}");
    for path in ["refunds/SKILL.md", "ledger/.skillwire-export.json"] {
        assert!(user.home.join("work/copies").join(path).exists(), "{path}");
    }
    assert!(!user.home.join("work/copies/travel").exists());
    let place = ["export", "team", "--all", ".claude/skills"];
    user.run(&place).await.assert_refused(8, "is where agents look for skills");
    user.run(&["export", "team", "--all", "copies"]).await.assert_refused(2, "is not empty");
    user.run(&["export", "nope", "--all", "other"]).await.assert_exit(5);
    assert!(!user.home.join("work/other").exists());
}
