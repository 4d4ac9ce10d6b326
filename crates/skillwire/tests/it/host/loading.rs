//! `skillwire load`: text for a model, and what is refused.

use skillwire_testkit::{Fault, HostileServer, SkillFolder, skill_md};

use super::user::{TestUser, refunds};
use crate::support::HttpServer;

#[tokio::test]
async fn a_skill_is_listed_approved_and_loaded_hst_107() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    assert_eq!(user.state_of("acme:refunds").await, "new");
    user.run(&["load", "acme:refunds"]).await.assert_refused(4, "error[not_approved]");
    user.approve("acme:refunds").await;
    assert_eq!(user.state_of("acme:refunds").await, "approved");
    let block = user.run_ok(&["load", "acme:refunds"]).await;
    assert!(block.contains("# refunds\n"), "{block}");
    assert!(block.contains("Origin: MCP server acme"), "{block}");
    assert!(block.contains("Base URI: skill://acme/refunds/"), "{block}");
    assert!(!block.contains("Refund within"), "the file was not requested");
    let both = user.run_ok(&["load", "refunds", "--read", "references/policy.md"]).await;
    assert!(both.contains("# refunds\n") && both.contains("Refund within 30 days.\n"), "{both}");
}

#[tokio::test]
async fn over_http_and_as_json_hst_107() {
    let (user, skills) = (TestUser::new(), refunds());
    let server = HttpServer::serve(&skills, &[".", "--no-index"]).await;
    let url = format!("http://{}/mcp", server.address);
    user.run_ok(&["server", "add", "web", &url]).await;
    user.approve("web:acme/refunds").await;
    let handle = "web:skill://acme/refunds/SKILL.md";
    let loaded =
        user.run_json(&["load", handle, "--read", "./references/policy.md", "--json"]).await;
    assert_eq!(loaded["origin"], "web");
    assert_eq!(loaded["uri"], "skill://acme/refunds/SKILL.md");
    assert!(loaded["content"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(loaded["blocks"][1]["uri"], "skill://acme/refunds/references/policy.md");
    assert!(loaded["blocks"][1]["text"].as_str().unwrap().contains("Refund within 30 days."));
}

#[tokio::test]
async fn paths_outside_the_skill_or_its_manifest_are_refused_and_nothing_is_printed_hst_43() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    for (file, reason) in [
        ("../../etc/passwd", "path_outside_skill"),
        ("/etc/passwd", "path_outside_skill"),
        ("file:///etc/passwd", "path_outside_skill"),
        ("references/none.md", "file_not_listed"),
    ] {
        let ran = user.run(&["load", "acme:refunds", "--read", file]).await;
        ran.assert_refused(3, &format!("error[{reason}]"));
    }
}

#[tokio::test]
async fn a_changed_byte_needs_approval_again_and_shows_what_changed_hst_89() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    user.run_ok(&["load", "acme:refunds", "--read", "references/policy.md"]).await;
    skills.file("acme/refunds/references/policy.md", "Refund within 90 days.\n");
    skills.file("acme/refunds/run.sh", "echo\n");
    user.run(&["load", "acme:refunds"]).await.assert_refused(4, "error[changed]");
    assert_eq!(user.state_of("acme:refunds").await, "changed");
    let asked = user.run(&["approve", "acme:refunds"]).await.assert_exit(4);
    let shown = asked.stderr;
    for line in [
        "changed  references/policy.md (23 bytes, before 23)",
        "added    run.sh (5 bytes)",
        "-Refund within 30 days.",
        "+Refund within 90 days.",
        "error[not_approved]",
    ] {
        assert!(shown.contains(line), "{line:?} is not in {shown}");
    }
    user.run(&["load", "acme:refunds"]).await.assert_exit(4);
    user.approve("acme:refunds").await;
    user.run_ok(&["load", "acme:refunds"]).await;
}

#[tokio::test]
async fn the_old_content_does_not_bring_its_approval_back_hst_89() {
    let (user, skills) = (TestUser::new(), SkillFolder::with_skills(&["a"]));
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:a").await;
    skills.file("a/SKILL.md", skill_md("a") + "More.\n");
    user.run(&["load", "acme:a"]).await.assert_exit(4);
    skills.file("a/SKILL.md", skill_md("a"));
    user.run(&["load", "acme:a"]).await.assert_exit(4);
}

#[tokio::test]
async fn wrong_bytes_are_exit_3_with_expected_and_actual_hst_50() {
    let user = TestUser::new();
    let server = HostileServer::new().skill("refunds", [("x.md", "right")]);
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    user.approve("acme:refunds").await;
    server.set_fault(Fault::read_bytes("skill://refunds/x.md", "wrong"));
    let ran = user.run(&["load", "acme:refunds", "--read", "x.md", "--json"]).await.assert_exit(3);
    let refusal = ran.json();
    assert_eq!(refusal["reason"], "digest_mismatch");
    assert_eq!(refusal["skill"], "acme:skill://refunds/SKILL.md");
    assert_eq!(refusal["file"], "skill://refunds/x.md");
    assert_ne!(refusal["expected"], refusal["actual"]);
    assert!(refusal["hint"].as_str().unwrap().ends_with('.'));
    assert_eq!(ran.stderr, "");
}

#[tokio::test]
async fn a_load_asks_for_the_entry_once() {
    let user = TestUser::new();
    let server = HostileServer::new().skill("refunds", [("x.md", "x")]);
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    user.approve("acme:refunds").await;
    for handle in ["acme:refunds", "acme:skill://refunds/SKILL.md"] {
        server.clear_log();
        user.run_ok(&["load", handle]).await;
        assert_eq!(server.count("skills/get"), 1, "{handle}: {:?}", server.methods());
    }
    server.clear_log();
    user.run_ok(&["load", "acme:refunds", "--offline"]).await;
    assert!(server.methods().is_empty(), "{:?}", server.methods());
}

#[tokio::test]
async fn offline_only_what_was_approved_and_cached_is_loaded_and_stays_of_its_server_hst_96() {
    let user = TestUser::new();
    let server = HostileServer::new().skill("refunds", [("x.md", "kept"), ("y.md", "not kept")]);
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    user.approve("acme:refunds").await;
    user.run_ok(&["load", "acme:refunds", "--read", "x.md"]).await;
    drop(listening);
    user.run(&["load", "acme:refunds"]).await.assert_refused(7, "error[server_unreachable]");
    let block = user.run_ok(&["load", "acme:refunds", "--offline", "--read", "x.md"]).await;
    assert!(block.contains("Origin: MCP server acme") && block.contains("kept"), "{block}");
    let ran = user.run(&["load", "acme:refunds", "--offline", "--read", "y.md"]).await;
    ran.assert_refused(8, "error[offline]");
    user.run_ok(&["revoke", "acme:refunds"]).await;
    user.run(&["load", "acme:refunds", "--offline"]).await.assert_exit(5);
}

#[tokio::test]
async fn a_skill_without_digests_is_declined_and_otherwise_asked_about_each_time_hst_91() {
    let user = TestUser::new();
    let server = HostileServer::new().dynamic_skill("notes", [("x.md", "x")]);
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    user.run(&["load", "acme:notes"]).await.assert_refused(8, "error[dynamic_declined]");
    user.run(&["approve", "acme:notes", "--yes"]).await.assert_exit(8);
    // There is no terminal to ask on.
    let ran = user.run(&["load", "acme:notes", "--allow-dynamic"]).await;
    ran.assert_refused(4, "error[not_approved]");
}

#[tokio::test]
async fn a_skill_that_no_listing_mentions_is_treated_like_any_other_hst_104() {
    let user = TestUser::new();
    let uri = "skill://hidden/SKILL.md";
    let server = HostileServer::new()
        .skill("hidden", [("x.md", "x")])
        .fault(Fault::Unlisted(uri.to_owned()));
    let listening = server.http().await;
    user.add_http_server("acme", &listening).await;
    let handle = format!("acme:{uri}");
    user.run(&["load", "acme:hidden"]).await.assert_exit(5);
    user.run(&["load", &handle]).await.assert_refused(4, "error[not_approved]");
    user.approve(&handle).await;
    assert!(user.run_ok(&["load", &handle]).await.contains("# hidden"));
}

#[tokio::test]
async fn a_forged_cache_is_neither_loaded_nor_shown_as_what_was_approved_hst_94_h_62() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    let read = ["load", "acme:refunds", "--read", "references/policy.md"];
    user.run_ok(&read).await;
    let cached = user.home.join("sw/cache/files/acme/skill=3a++acme+refunds");
    let files: Vec<_> =
        std::fs::read_dir(&cached).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 2);
    for file in &files {
        let forged = std::fs::read_to_string(file).unwrap().replace("30 days", "99 days");
        std::fs::write(file, forged).unwrap();
    }
    assert!(user.run_ok(&read).await.contains("30 days"));
    for file in &files {
        let forged = std::fs::read_to_string(file).unwrap().replace("30 days", "99 days");
        std::fs::write(file, forged).unwrap();
    }
    skills.file("acme/refunds/references/policy.md", "Refund within 60 days.\n");
    let shown = user.run(&["approve", "acme:refunds"]).await.assert_exit(4).stderr;
    assert!(shown.contains("the approved version is not cached"), "{shown}");
    assert!(!shown.contains("99 days"), "{shown}");
}

#[tokio::test]
async fn what_a_command_loads_is_in_no_context_afterwards_p_16() {
    let (user, skills) = (TestUser::new(), refunds());
    user.add_folder_server("acme", &skills).await;
    user.approve("acme:refunds").await;
    user.run_ok(&["load", "acme:refunds"]).await;
    let ran = user.run(&["windows"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("No skill is loaded"), "{}", ran.stderr);
    // The log is what tells: here, of a client that does not release what it loaded.
    let log = user.state("audit.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let kept: Vec<_> = text.lines().filter(|line| !line.contains("\"release\"")).collect();
    std::fs::write(&log, kept.join("\n") + "\n").unwrap();
    let shown = user.run_json(&["windows", "--json"]).await;
    assert_eq!(shown[0]["skill"], "acme:skill://acme/refunds/SKILL.md");
    assert_eq!(shown[0]["windows"], 1);
}
