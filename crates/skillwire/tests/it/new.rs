//! `skillwire new`.

use std::fs;

use skillwire_testkit::SkillFolder;

use crate::support::run;

#[tokio::test]
async fn writes_the_beginning_of_a_skill() {
    let folder = SkillFolder::new();
    let ran = run(&folder, &["new", "pdf-forms"]).await.assert_exit(0);
    let file = fs::read_to_string(folder.join("pdf-forms/SKILL.md")).expect("the file is there");
    insta::assert_snapshot!(format!("{}\n--- SKILL.md\n{file}", ran.transcript()));
}

#[tokio::test]
async fn every_good_name_gives_a_skill_that_lacks_only_its_description_fu_26() {
    let folder = SkillFolder::new();
    let longest = "x".repeat(64);
    // Without quotes some of these would be numbers, dates or booleans.
    let names = [
        "a",
        &longest,
        "pdf-forms",
        "1",
        "123",
        "1e5",
        "0x10",
        "2026-01-01",
        "null",
        "true",
        "yes",
        "no",
        "on",
        "y",
        "n",
        "a1",
        "3d-print",
    ];
    for name in names {
        run(&folder, &["new", name, "skills"]).await.assert_exit(0);
        let skill = format!("skills/{name}");
        let ran = run(&folder, &["check", "--json", &skill]).await.assert_exit(1).json();
        let findings = ran["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{name}: {findings:?}");
        assert_eq!(findings[0]["code"], "description-missing", "{name}");
        let file = folder.join(&skill).join("SKILL.md");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(file, text.replace("\"\" # What", "What")).unwrap();
        let ran = run(&folder, &["check", "--strict", &skill]).await.assert_exit(0);
        assert_eq!(ran.stdout, "1 skill checked: nothing to report.\n", "{name}");
    }
    let manifest = run(&folder, &["manifest", "--json", "skills"]).await.assert_exit(0).json();
    assert_eq!(manifest["skills"].as_array().map(Vec::len), Some(names.len()));
}

#[tokio::test]
async fn makes_the_folder_that_is_named() {
    let folder = SkillFolder::new();
    let ran = run(&folder, &["new", "a", "deep/down"]).await.assert_exit(0);
    assert_eq!(ran.stdout, "Wrote `deep/down/a/SKILL.md`.\n");
    assert!(folder.join("deep/down/a/SKILL.md").is_file());
}

#[tokio::test]
async fn bad_names_are_refused_with_a_suggestion() {
    let folder = SkillFolder::new();
    let too_long = "x".repeat(65);
    for (name, help) in [
        ("PDF Forms", "Use `pdf-forms`."),
        ("pdf_forms", "Use `pdf-forms`."),
        ("a--b", "Use `a-b`."),
        ("trailing-", "Use `trailing`."),
        ("../escape", "Use `escape`."),
        ("", "Use a name such as `pdf-forms`."),
        ("日本", "Use a name such as `pdf-forms`."),
        (&too_long, "Use `xxx"),
    ] {
        run(&folder, &["new", name]).await.assert_refused(2, help);
    }
    assert_eq!(fs::read_dir(folder.path()).expect("the folder is there").count(), 0);
}

#[tokio::test]
async fn a_strangers_name_does_not_act_on_the_terminal() {
    let ran = run(&SkillFolder::new(), &["new", "a\u{1b}[31m"]).await;
    assert!(!ran.stderr.contains('\u{1b}') && ran.stderr.contains("\\u{1b}"), "{ran:?}");
    ran.assert_refused(2, "Use `a-31m`.");
}

#[tokio::test]
async fn nothing_is_ever_overwritten() {
    let folder = SkillFolder::new();
    folder.file("a/SKILL.md", "precious").directory("b/SKILL.md").file("c", "precious");
    for name in ["a", "b"] {
        run(&folder, &["new", name]).await.assert_refused(2, "exists already.");
    }
    run(&folder, &["new", "c"]).await.assert_refused(2, "cannot be written");
    for file in ["a/SKILL.md", "c"] {
        assert_eq!(fs::read_to_string(folder.join(file)).expect("it is still there"), "precious");
    }
}

#[tokio::test]
async fn other_files_may_be_there_already() {
    let folder = SkillFolder::new();
    folder.file("a/references/facts.md", "# Facts\n");
    run(&folder, &["new", "a"]).await.assert_exit(0);
    assert!(folder.join("a/references/facts.md").is_file());
}
