//! `update`: what changed since the recorded content, and what must not be followed unasked.

use super::forge::Forge;

async fn with_pdf(source: &str) -> Forge {
    let forge = Forge::new();
    forge.repository("acme/skills").git(&["tag", "v1"]);
    let arguments = [source, "pdf", "--agent", "claude-code", "--global", "--yes"];
    forge.run_add(&arguments).await.assert_exit(0);
    forge
}

fn change(forge: &Forge, text: &str) {
    let skills = forge.repository("acme/skills");
    skills.file("skills/pdf/notes.md", text);
    skills.commit("change");
}

#[tokio::test]
async fn an_update_installs_new_content_and_records_its_commit() {
    let forge = with_pdf("acme/skills").await;
    let ran = forge.user.run(&["update", "pdf"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "1 skill: 1 up to date.\n");
    change(&forge, "new\n");
    // Without a name, every installed skill is meant.
    let ran = forge.user.run(&["update", "--dry-run"]).await.assert_exit(0);
    assert!(ran.stderr.contains("+new") && ran.stdout.contains("1 would change"), "{ran:?}");
    assert!(!forge.exists(".claude/skills/pdf/notes.md"));
    let done = forge.user.run_json(&["update", "--all", "--yes", "--json"]).await;
    assert_eq!(done["skills"][0]["state"], "updated", "{done}");
    assert_eq!(forge.read(".claude/skills/pdf/notes.md"), "new\n");
    let commit = forge.repository("acme/skills").git(&["rev-parse", "HEAD"]);
    let listing = forge.user.run_json(&["list", "--json"]).await;
    assert_eq!(listing["installed"][0]["source"]["commit"], commit, "{listing}");
    // A commit that changes nothing of the skill is recorded without a question.
    forge.repository("acme/skills").commit("empty");
    let ran = forge.user.run(&["update", "pdf"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "1 skill: 1 up to date.\n");
    forge.user.run(&["update", "pfd"]).await.assert_refused(5, "Did you mean `pdf`?");
}

#[tokio::test]
async fn edited_files_are_marked_and_never_replaced_unasked() {
    let forge = with_pdf("acme/skills").await;
    forge.user.home.file(".claude/skills/pdf/mine.md", "mine\n");
    let listing = forge.user.run_json(&["list", "--json"]).await;
    assert_eq!(listing["installed"][0]["state"], "edited", "{listing}");
    let ran = forge.user.run(&["list"]).await.assert_exit(0);
    assert!(ran.stdout.contains("edited"), "{ran:?}");
    change(&forge, "new\n");
    let ran = forge.user.run(&["update", "pdf", "--yes"]).await.assert_exit(1);
    assert!(ran.stderr.contains("You changed files in"), "{ran:?}");
    forge.user.run(&["remove", "pdf", "--yes"]).await.assert_refused(8, "You changed files in");
    let again = ["acme/skills", "pdf", "--agent", "claude-code", "--global", "--yes"];
    let ran = forge.run_add(&again).await.assert_exit(8);
    let update = "`skillwire update pdf --global --discard-edits`";
    assert!(ran.stderr.contains(update), "`add` has no `--discard-edits`: {ran:?}");
    assert_eq!(forge.read(".claude/skills/pdf/mine.md"), "mine\n");
    forge.user.run(&["update", "pdf", "--yes", "--discard-edits"]).await.assert_exit(0);
    assert!(!forge.exists(".claude/skills/pdf/mine.md"));
    assert_eq!(forge.read(".claude/skills/pdf/notes.md"), "new\n");
}

#[tokio::test]
async fn a_commit_that_leaves_the_skill_alone_leaves_edits_alone() {
    let forge = with_pdf("acme/skills").await;
    forge.user.home.file(".claude/skills/pdf/mine.md", "mine\n");
    forge.repository("acme/skills").commit("empty");
    let ran = forge.user.run(&["update", "pdf", "--yes"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "1 skill: 1 up to date.\n");
    assert_eq!(forge.read(".claude/skills/pdf/mine.md"), "mine\n");
    let listing = forge.user.run_json(&["list", "--json"]).await;
    assert_eq!(listing["installed"][0]["state"], "edited", "{listing}");
}

#[tokio::test]
async fn a_command_without_a_skill_names_the_option_for_all() {
    let forge = Forge::new();
    for command in ["remove", "approve"] {
        let ran = forge.user.run(&[command]).await.assert_exit(2);
        assert!(ran.stderr.contains("|--all>"), "{ran:?}");
    }
    let ran = forge.user.run(&["server", "trust", "team"]).await.assert_exit(2);
    assert!(ran.stderr.contains("|--none>"), "{ran:?}");
}

#[tokio::test]
async fn a_missing_directory_is_put_back_after_a_question() {
    let forge = with_pdf("acme/skills").await;
    std::fs::remove_dir_all(forge.user.home.path().join(".claude/skills/pdf")).unwrap();
    let ran = forge.user.run(&["update", "pdf"]).await.assert_exit(1);
    assert!(ran.stderr.contains("There is no terminal to ask you on"), "{ran:?}");
    assert!(!forge.exists(".claude/skills/pdf"));
    let ran = forge.user.run(&["update", "pdf", "--yes"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "1 skill: 1 put back.\n");
    assert!(forge.exists(".claude/skills/pdf/SKILL.md"));
}

#[tokio::test]
async fn a_moved_tag_is_noticed() {
    let forge = with_pdf("acme/skills@v1").await;
    change(&forge, "new\n");
    let ran = forge.user.run(&["update", "pdf", "--yes"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "1 skill: 1 up to date.\n");
    forge.repository("acme/skills").git(&["tag", "--force", "v1"]);
    let ran = forge.user.run(&["update", "pdf", "--yes"]).await.assert_exit(1);
    assert!(ran.stderr.contains("The tag `v1` of acme/skills@v1 was moved from"), "{ran:?}");
    assert!(!forge.exists(".claude/skills/pdf/notes.md"));
    forge.user.run(&["update", "pdf", "--yes", "--allow-rewritten"]).await.assert_exit(0);
    assert!(forge.exists(".claude/skills/pdf/notes.md"));
}

#[tokio::test]
async fn a_force_push_and_a_repository_of_another_owner_are_noticed() {
    let forge = with_pdf("acme/skills").await;
    let skills = forge.repository("acme/skills");
    skills.file("skills/pdf/notes.md", "forced\n");
    skills.git(&["add", "--all"]);
    skills.git(&["commit", "--quiet", "--amend", "--message=forced"]);
    let ran = forge.user.run(&["update", "pdf", "--yes"]).await.assert_exit(1);
    assert!(ran.stderr.contains("history of acme/skills was rewritten"), "{ran:?}");
    // The owner leaves, and another one takes the name.
    forge.rename("acme/skills", "elsewhere/skills");
    let other = forge.repository("acme/skills");
    other.skill("skills/pdf", "pdf", "Steals forms.");
    other.commit("mine now");
    let ran = forge.user.run(&["update", "pdf", "--yes"]).await.assert_exit(1);
    assert!(ran.stderr.contains("a repository of another owner"), "{ran:?}");
    assert!(forge.read(".claude/skills/pdf/SKILL.md").contains("Fills in forms."));
}

#[tokio::test]
async fn a_pinned_commit_that_is_gone_and_a_removed_skill_are_told() {
    let forge = Forge::new();
    let skills = forge.repository("acme/skills");
    skills.git(&["config", "uploadpack.allowAnySHA1InWant", "false"]);
    let commit = skills.git(&["rev-parse", "HEAD"]);
    let source = format!("acme/skills@{commit}");
    forge
        .run_add(&[&source, "pdf", "--agent", "claude-code", "--global", "--yes"])
        .await
        .assert_exit(0);
    skills.git(&["checkout", "--quiet", "--orphan", "new"]);
    skills.commit("rewritten");
    skills.git(&["branch", "--quiet", "--force", "main", "new"]);
    skills.git(&["reflog", "expire", "--expire=now", "--all"]);
    skills.git(&["gc", "--quiet", "--prune=now"]);
    let ran = forge.user.run(&["update", "pdf", "--yes"]).await.assert_exit(1);
    assert!(ran.stderr.contains("no longer has the commit"), "{ran:?}");
    forge
        .run_add(&["acme/skills", "docx", "--agent", "claude-code", "--global", "--yes"])
        .await
        .assert_exit(0);
    std::fs::remove_dir_all(skills.path.join("skills/docx")).unwrap();
    skills.commit("less");
    let ran = forge.user.run(&["update", "docx", "--yes"]).await.assert_exit(1);
    assert!(ran.stderr.contains("no longer has the skill `docx`"), "{ran:?}");
    assert!(forge.exists(".claude/skills/docx/SKILL.md"));
}
