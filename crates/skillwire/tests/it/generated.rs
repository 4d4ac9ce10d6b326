//! Completions and manual pages.

use std::{collections::BTreeSet, fs};

use skillwire_testkit::SkillFolder;

use crate::support::run;

#[tokio::test]
async fn completions_for_every_shell() {
    let folder = SkillFolder::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = run(&folder, &["completions", shell]).await.assert_exit(0);
        assert!(ran.stdout.contains("skillwire") && ran.stdout.contains("serve"), "{shell}");
        assert!(ran.stdout.contains("require-single-link"), "{shell}");
        assert_eq!(ran.stderr, "", "{shell}");
    }
}

#[tokio::test]
async fn manual_page() {
    let ran = run(&SkillFolder::new(), &["man"]).await.assert_exit(0);
    let page = ran.stdout;
    assert!(page.contains(".TH skillwire 1") && page.contains(".SH SYNOPSIS"), "{page}");
    assert!(page.contains("serve"), "{page}");
    assert!(page.contains("Exit codes:") && page.contains("declined by limit"), "{page}");
}

#[tokio::test]
async fn manual_pages_of_all_commands() {
    let folder = SkillFolder::new();
    run(&folder, &["man", "--dir", "share/man1"]).await.assert_exit(0);
    let pages: BTreeSet<_> = fs::read_dir(folder.join("share/man1"))
        .expect("the folder is made")
        .map(|entry| entry.expect("it can be listed").file_name().into_string().expect("UTF-8"))
        .collect();
    let expected = [
        "",
        "-approve",
        "-audit",
        "-check",
        "-completions",
        "-disable",
        "-enable",
        "-export",
        "-list",
        "-load",
        "-lock",
        "-man",
        "-manifest",
        "-new",
        "-prompt",
        "-revoke",
        "-serve",
        "-server",
        "-server-add",
        "-server-import",
        "-server-list",
        "-server-remove",
        "-show",
    ];
    let expected: BTreeSet<_> =
        expected.iter().map(|command| format!("skillwire{command}.1")).collect();
    assert!(pages.is_superset(&expected), "{pages:?}");
    let serve = fs::read_to_string(folder.join("share/man1/skillwire-serve.1"));
    assert!(serve.expect("it is text").contains("page\\-size"));
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let folder = SkillFolder::new();
    folder.file("file", "");
    run(&folder, &["man", "--dir", "file/pages"])
        .await
        .assert_refused(2, "`file/pages` cannot be written");
}
