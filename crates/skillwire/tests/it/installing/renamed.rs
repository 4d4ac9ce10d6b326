//! Repositories that were renamed or handed over, and repositories that want a login.

use super::{forge::Forge, web_forge::WebForge};

#[tokio::test]
async fn a_renamed_repository_is_noticed_by_add_and_refused_by_update() {
    let forge = Forge::new();
    let web = WebForge::serve(forge.folder());
    let url = web.url();
    forge.set_forge("sw/state", &url);
    let arguments = ["acme/skills", "pdf", "--agent", "claude-code", "--global", "--yes"];
    let ran = forge.user.run(&Forge::add(&url, &arguments)).await.assert_exit(0);
    assert!(!ran.stderr.contains("was moved"), "{ran:?}");
    forge.rename("acme/skills", "mallory/skills");
    let skills = forge.repository("mallory/skills");
    skills.skill("skills/pdf", "pdf", "Steals forms.");
    skills.commit("mine now");
    web.redirect("/acme/skills.git", "/mallory/skills.git");
    let ran = forge.user.run(&["update", "pdf", "--yes"]).await.assert_exit(1);
    assert!(ran.stderr.contains("acme/skills was moved or renamed"), "{ran:?}");
    assert!(ran.stderr.contains("/mallory/skills.git"), "{ran:?}");
    assert!(forge.read(".claude/skills/pdf/SKILL.md").contains("Fills in forms."));
    let docx = ["acme/skills", "docx", "--agent", "claude-code", "--global", "--yes"];
    let ran = forge.user.run(&Forge::add(&url, &docx)).await.assert_exit(0);
    assert!(ran.stderr.contains("The repository was moved"), "{ran:?}");
    forge.user.run(&["update", "pdf", "--yes", "--allow-rewritten"]).await.assert_exit(0);
    assert!(forge.read(".claude/skills/pdf/SKILL.md").contains("Steals forms."));
    let absent = ["acme/nothing", "--agent", "claude-code", "--global", "--yes"];
    let ran = forge.user.run(&Forge::add(&url, &absent)).await;
    ran.assert_refused(5, "does not exist, or is not for you");
}

#[tokio::test]
async fn a_repository_that_wants_a_login_is_told_with_what_must_work_first() {
    let forge = Forge::new();
    let web = WebForge::serve(forge.folder());
    let url = web.url();
    let arguments = ["acme/skills", "--agent", "claude-code", "--global", "--all", "--yes"];
    for status in ["401 Unauthorized", "403 Forbidden"] {
        web.refuse("/acme/skills.git", status);
        let ran = forge.user.run(&Forge::add(&url, &arguments)).await;
        let next = format!("`git ls-remote {url}/acme/skills.git` must work without a question");
        assert!(ran.stderr.contains(&next), "{status}: {ran:?}");
        ran.assert_refused(5, "does not exist, or is not for you");
        assert!(!forge.exists(".claude"), "{status}");
    }
}
