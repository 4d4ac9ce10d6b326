//! Which folders are served, and under which paths.

use skillwire_testkit::{SkillFolder, skill_md};

use crate::support::{StdioServer, run};

/// The URIs that a server with these arguments lists, and its standard error.
async fn listed(folder: &SkillFolder, arguments: &[&str]) -> (Vec<String>, String) {
    let mut server = StdioServer::serve(folder, arguments);
    let uris = server.uris().await;
    (uris, server.close().await.assert_exit(0).stderr)
}

#[tokio::test]
async fn directories_and_prefixes_become_the_path_srv_17() {
    let folder = SkillFolder::with_skills(&["skills/acme/billing/refunds"]);
    for (argument, uri) in [
        ("skills", "skill://acme/billing/refunds/SKILL.md"),
        ("skills/", "skill://acme/billing/refunds/SKILL.md"),
        ("team=skills", "skill://team/acme/billing/refunds/SKILL.md"),
        ("a/b=skills", "skill://a/b/acme/billing/refunds/SKILL.md"),
        ("team=skills/acme", "skill://team/billing/refunds/SKILL.md"),
    ] {
        assert_eq!(listed(&folder, &[argument]).await.0, [uri], "{argument}");
    }
}

#[tokio::test]
async fn a_prefix_is_taken_off_only_where_no_folder_has_the_whole_name() {
    let folder = SkillFolder::with_skills(&["team=skills/whole", "skills/half", "a=b=c/deep"]);
    assert_eq!(listed(&folder, &["team=skills"]).await.0, ["skill://whole/SKILL.md"]);
    assert_eq!(listed(&folder, &["x=skills"]).await.0, ["skill://x/half/SKILL.md"]);
    assert_eq!(listed(&folder, &["./team=skills"]).await.0, ["skill://whole/SKILL.md"]);
    assert_eq!(listed(&folder, &["x=team=skills"]).await.0, ["skill://x/whole/SKILL.md"]);
    assert_eq!(listed(&folder, &["x=a=b=c"]).await.0, ["skill://x/deep/SKILL.md"]);
    // A prefix must be a path.
    for argument in ["../x=skills", "/x=skills", "x//y=skills", "=skills"] {
        run(&folder, &["serve", argument])
            .await
            .assert_refused(2, &format!("`{argument}` cannot be read"));
    }
}

#[tokio::test]
async fn a_folder_that_is_itself_a_skill_is_served_alone() {
    let folder = SkillFolder::with_skills(&["skills/one", "skills/two"]);
    assert_eq!(listed(&folder, &["skills/one"]).await.0, ["skill://one/SKILL.md"]);
    assert_eq!(listed(&folder, &["team=skills/one"]).await.0, ["skill://team/one/SKILL.md"]);
    assert_eq!(
        listed(&folder, &["skills/one", "skills/two"]).await.0,
        ["skill://one/SKILL.md", "skill://two/SKILL.md"]
    );
}

#[tokio::test]
async fn a_misnamed_skill_is_served_below_its_directory_and_the_operator_is_warned_srv_18() {
    let folder = SkillFolder::with_skills(&["good"]);
    folder.file("folder/SKILL.md", skill_md("name"));
    let (uris, said) = listed(&folder, &["."]).await;
    assert_eq!(uris, ["skill://folder/name/SKILL.md", "skill://good/SKILL.md"]);
    assert!(said.contains("WARN") && said.contains("[name-not-directory]"), "{said}");
}

#[tokio::test]
async fn strict_leaves_out_a_skill_whose_name_is_not_its_directory_v_51() {
    let folder = SkillFolder::with_skills(&["good"]);
    folder.file("folder/SKILL.md", skill_md("name"));
    let (uris, said) = listed(&folder, &[".", "--strict"]).await;
    assert_eq!(uris, ["skill://good/SKILL.md"]);
    assert!(said.contains("skipped ./folder: "), "{said}");
}

#[tokio::test]
async fn shared_names_are_both_served_and_the_operator_is_warned_srv_39() {
    let folder = SkillFolder::with_skills(&["one/same", "two/same"]);
    let (uris, said) = listed(&folder, &["."]).await;
    assert_eq!(uris, ["skill://one/same/SKILL.md", "skill://two/same/SKILL.md"]);
    assert!(said.contains("WARN") && said.contains("[duplicate-name]"), "{said}");
}

#[tokio::test]
async fn of_two_colliding_skills_the_first_is_served_and_the_other_is_named_v_45() {
    let folder = SkillFolder::with_skills(&["one/same", "two/same", "two/other"]);
    let (uris, said) = listed(&folder, &["one", "two"]).await;
    assert_eq!(uris, ["skill://other/SKILL.md", "skill://same/SKILL.md"]);
    assert!(said.contains("skipped two/same: ") && !said.contains("skipped one/same"), "{said}");
}

#[tokio::test]
async fn strict_refuses_to_start_on_a_collision_v_45() {
    let folder = SkillFolder::with_skills(&["one/same", "two/same"]);
    for transport in [&["--stdio"][..], &["--http", "127.0.0.1:0"]] {
        let arguments = [&["serve", "--strict", "one", "two"], transport].concat();
        let ran = run(&folder, &arguments).await;
        assert!(!ran.stderr.contains("listening"), "{ran:?}");
        assert!(ran.stderr.contains("one/same") && ran.stderr.contains("two/same"), "{ran:?}");
        ran.assert_refused(1, "Skills share a path or a name, and `--strict` forbids that.");
    }
    // A prefix tells the paths apart, but not the names.
    let arguments = ["serve", "--strict", "team=one", "two"];
    run(&folder, &arguments).await.assert_exit(1);
    run(&folder, &["serve", "team=one", "two"]).await.assert_exit(0);
}

#[tokio::test]
async fn an_empty_folder_is_served_and_the_operator_is_told() {
    let folder = SkillFolder::new();
    let (uris, said) = listed(&folder, &["."]).await;
    assert_eq!(uris, [""; 0]);
    assert!(said.contains("[no-skill-found]"), "{said}");
}

#[tokio::test]
async fn a_nested_skill_that_is_none_is_pointed_out() {
    let folder = SkillFolder::with_skills(&["outer"]);
    folder.file("outer/inner/SKILL.md", "# No frontmatter\n");
    let (uris, said) = listed(&folder, &["."]).await;
    assert_eq!(uris, ["skill://outer/SKILL.md"]);
    assert!(said.contains("[nested-skill-invalid]"), "{said}");
}

#[tokio::test]
async fn strict_refuses_to_start_with_two_skills_of_one_name_as_check_does_p_14() {
    let folder = SkillFolder::with_skills(&["one/refunds", "two/refunds"]);
    run(&folder, &["check", "--strict", "."]).await.assert_exit(1);
    let ran = run(&folder, &["serve", "--strict", "."]).await;
    assert!(ran.stderr.contains("[duplicate-name]"), "{ran:?}");
    ran.assert_refused(1, "Skills share a path or a name, and `--strict` forbids that.");
    // Without `--strict` both are served.
    let (uris, _) = listed(&folder, &["."]).await;
    assert_eq!(uris.len(), 2);
}

#[tokio::test]
async fn strict_serves_no_second_skill_of_a_name_after_the_start_p_14() {
    let folder = SkillFolder::with_skills(&["one/refunds"]);
    let mut server = StdioServer::serve(&folder, &["--strict", "."]);
    assert_eq!(server.uris().await, ["skill://one/refunds/SKILL.md"]);
    folder.skill("two/refunds").skill("two/other");
    let first = ["skill://one/refunds/SKILL.md", "skill://two/other/SKILL.md"];
    server.until_listed(&first).await;
    let told = server.process.wait_for_line("skipped ./two/refunds").await;
    assert!(told.contains("It has the name `refunds` of `./one/refunds`"), "{told}");
    assert!(told.contains("[duplicate-name]"), "{told}");
    // The name is free again as soon as the first skill is gone.
    folder.remove("one/refunds");
    server.until_listed(&["skill://two/other/SKILL.md", "skill://two/refunds/SKILL.md"]).await;
    server.close().await.assert_exit(0);
}
