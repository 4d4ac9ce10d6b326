//! `remove`: nothing stays behind.

use std::{collections::BTreeSet, fs, path::Path};

use super::forge::Forge;

/// Every path below a folder, but for the state of the program.
fn paths(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.ends_with("sw") {
            continue;
        }
        found.insert(path.display().to_string());
        if entry.file_type().unwrap().is_dir() {
            paths(&path, found);
        }
    }
}

fn home(forge: &Forge) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    paths(forge.user.home.path(), &mut found);
    found
}

#[tokio::test]
async fn remove_leaves_the_home_as_it_was_whatever_the_order() {
    let forge = Forge::new();
    forge.user.home.file(".cursor/mcp.json", "{}");
    let before = home(&forge);
    for order in [["pdf", "docx"], ["docx", "pdf"]] {
        let at = ["--agent", "claude-code", "--agent", "cursor", "--global", "--yes"];
        for name in ["pdf", "docx"] {
            forge.run_add(&[&["acme/skills", name][..], &at].concat()).await.assert_exit(0);
        }
        assert!(forge.exists(".cursor/skills/pdf") && forge.exists(".claude/skills/docx"));
        for name in order {
            forge.user.run(&["remove", name, "--yes"]).await.assert_exit(0);
        }
        assert_eq!(home(&forge), before);
        assert!(!forge.exists("sw/state/store"), "no content is kept");
    }
    forge.user.run(&["rm", "pdf", "--yes"]).await.assert_refused(5, "`pdf` is not installed here");
}

#[tokio::test]
async fn what_the_program_did_not_install_is_neither_replaced_nor_removed() {
    let forge = Forge::new();
    forge.user.home.file(".claude/skills/pdf/SKILL.md", "mine");
    let arguments = ["acme/skills", "--all", "--agent", "claude-code", "--global", "--yes"];
    forge.run_add(&arguments).await.assert_refused(8, "was not installed by this program");
    assert_eq!(forge.read(".claude/skills/pdf/SKILL.md"), "mine");
    assert!(!forge.exists(".claude/skills/docx"), "all skills are installed, or none");
    forge.user.run(&["remove", "pdf", "--yes"]).await.assert_refused(5, "not installed");
    // A user who removed the files by hand can still remove the skill.
    fs::remove_dir_all(forge.user.home.join(".claude/skills/pdf")).unwrap();
    forge.run_add(&arguments).await.assert_exit(0);
    fs::remove_dir_all(forge.user.home.join(".claude/skills/pdf")).unwrap();
    let listing = forge.user.run_json(&["list", "--json"]).await;
    assert_eq!(listing["installed"][1]["state"], "missing", "{listing}");
    forge.user.run(&["remove", "--all", "--yes"]).await.assert_exit(0);
    assert!(!forge.exists(".claude/skills/docx"));
}
