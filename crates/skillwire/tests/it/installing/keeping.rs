//! Skills that the host keeps, and skills of servers.

use super::forge::Forge;
use crate::host::user::refunds;

#[tokio::test]
async fn a_kept_skill_is_approved_offered_and_updated_without_an_agents_folder() {
    let forge = Forge::new();
    let ran = forge.run_add(&["acme/skills", "pdf", "--keep", "--yes"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "Keeping pdf as `kept:pdf`.\n", "{ran:?}");
    assert!(!forge.exists(".claude") && !forge.exists(".agents"));
    assert_eq!(forge.user.state_of("kept:pdf").await, "approved");
    let loaded = forge.user.run(&["load", "kept:pdf"]).await.assert_exit(0);
    assert!(loaded.stdout.contains("# pdf"), "{loaded:?}");
    let skills = forge.repository("acme/skills");
    skills.skill("skills/pdf", "pdf", "Reads forms aloud.");
    skills.commit("second");
    forge.user.run(&["update", "pdf", "--yes"]).await.assert_exit(0);
    assert_eq!(forge.user.state_of("kept:pdf").await, "approved");
    forge.run_add(&["acme/skills", "docx", "--keep", "--yes"]).await.assert_exit(0);
    forge.user.run(&["remove", "pdf", "--yes"]).await.assert_exit(0);
    forge.user.run(&["load", "kept:pdf"]).await.assert_exit(5);
    forge.user.run(&["remove", "docx", "--yes"]).await.assert_exit(0);
    assert_eq!(forge.user.run_json(&["server", "list", "--json"]).await, serde_json::json!([]));
    assert!(!forge.exists("sw/state/kept"));
}

#[tokio::test]
async fn the_handle_of_a_kept_skill_means_the_installed_skill() {
    let forge = Forge::new();
    forge.run_add(&["acme/skills", "pdf", "--keep", "--yes"]).await.assert_exit(0);
    forge.run_add(&["acme/skills", "docx", "--keep", "--yes"]).await.assert_exit(0);
    let skills = forge.repository("acme/skills");
    skills.skill("skills/pdf", "pdf", "Reads forms aloud.");
    skills.commit("second");
    let updated = forge.user.run(&["update", "kept:pdf", "--yes"]).await.assert_exit(0);
    assert!(updated.stderr.contains("Reads forms aloud"), "{updated:?}");
    forge.user.run(&["remove", "kept:pdg"]).await.assert_refused(5, "Did you mean `kept:pdf`?");
    let removed = forge.user.run(&["remove", "kept:pdf", "--yes"]).await.assert_exit(0);
    assert_eq!(removed.stdout, "Removed kept:pdf.\n", "{removed:?}");
    assert!(!forge.exists("sw/state/kept/pdf") && forge.exists("sw/state/kept/docx"));
    let listed = forge.user.run_ok(&["list"]).await;
    assert!(!listed.contains("kept:pdf") && listed.contains("kept:docx"), "{listed}");
}

#[tokio::test]
async fn a_skill_of_a_server_is_approved_and_never_put_into_folders_of_agents() {
    let forge = Forge::new();
    let team = refunds();
    forge.user.add_folder_server("team", &team).await;
    let agent = ["add", "team:refunds", "--agent", "codex", "--yes"];
    forge.user.run(&agent).await.assert_refused(8, "is not put into folders of agents");
    assert!(!forge.exists(".agents"));
    // What is only looked at is not approved.
    for looks in [
        ["add", "team:refunds", "--dry-run", "--yes"],
        ["update", "team:refunds", "--dry-run", "--yes"],
    ] {
        forge.user.run(&looks).await.assert_exit(0);
        assert_eq!(forge.user.state_of("team:refunds").await, "new");
    }
    let several = ["add", "team:refunds", "other", "--yes"];
    forge.user.run(&several).await.assert_refused(2, "names one skill of a server");
    let word = forge.user.run(&["add", "nothing", "--yes"]).await.assert_exit(5);
    assert!(word.stderr.contains("Write `./nothing` for a folder"), "{word:?}");
    forge.user.run(&["add", "team:refunds", "--yes"]).await.assert_exit(0);
    assert_eq!(forge.user.state_of("team:refunds").await, "approved");
    forge.user.run(&["remove", "team:refunds"]).await.assert_exit(0);
    assert_eq!(forge.user.state_of("team:refunds").await, "new");
}
