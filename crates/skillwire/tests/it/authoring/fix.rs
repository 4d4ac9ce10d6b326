//! `check --fix` and `--diff`.

use std::fs;

use skillwire_testkit::{SkillFolder, skill_md};

use crate::support::{run, skill_with};

const COLON: &str = "---\nname: a\ndescription: Use when: asked.\n---\nBody  \n";
const MENDED: &str = "---\nname: a\ndescription: \"Use when: asked.\"\n---\nBody  \n";

fn read(folder: &SkillFolder, path: &str) -> String {
    fs::read_to_string(folder.join(path)).unwrap()
}

#[tokio::test]
async fn a_diff_shows_the_repairs_and_makes_none() {
    let folder = SkillFolder::new();
    folder
        .file("a/SKILL.md", COLON)
        .file("b/skill.md", skill_md("b"))
        .file("c/SKILL.md", skill_with("c", "license: no\n").replace('\n', "\r\n"));
    let ran = run(&folder, &["check", "--diff", "."]).await.assert_exit(1);
    insta::assert_snapshot!(ran.stdout.replace('\r', "<CR>"));
    assert_eq!(ran.stderr, "3 files would be repaired; pass `--fix` to do it.\n");
    assert_eq!(read(&folder, "a/SKILL.md"), COLON);
    assert!(folder.join("b/skill.md").exists());
    let clean = SkillFolder::with_skills(&["a"]);
    let ran = run(&clean, &["check", "--diff", "."]).await.assert_exit(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", "Nothing to repair.\n"));
}

#[tokio::test]
async fn repairs_are_made_and_what_is_left_is_reported() {
    let folder = SkillFolder::new();
    folder
        .file("a/SKILL.md", COLON)
        // Renaming the file shows findings in its content.
        .file("b/skill.md", "---\nname: b\ndescription: Use when: asked.\n---\n")
        .file("c/SKILL.md", skill_with("c", "colour: red\n"));
    let ran = run(&folder, &["check", "--fix", "."]).await.assert_exit(0);
    assert_eq!(ran.stderr, "3 repairs made.\n");
    assert!(ran.stdout.starts_with("warning[unknown-key]"), "{ran:?}");
    assert!(ran.stdout.contains("3 skills checked: 1 warning.\n"), "{ran:?}");
    assert_eq!(read(&folder, "a/SKILL.md"), MENDED);
    assert_eq!(
        read(&folder, "b/SKILL.md"),
        MENDED.replace("name: a", "name: b").replace("Body  \n", "")
    );
    assert!(!folder.join("b/skill.md").exists());
    let files: Vec<_> = fs::read_dir(folder.join("a")).unwrap().collect();
    assert_eq!(files.len(), 1, "no draft is left");
    let again = run(&folder, &["check", "--fix", "."]).await.assert_exit(0);
    assert_eq!(again.stderr, "0 repairs made.\n");
}

#[tokio::test]
async fn repairs_can_be_shown_while_they_are_made() {
    let folder = SkillFolder::new();
    folder.file("a/SKILL.md", COLON);
    let ran = run(&folder, &["check", "--fix", "--diff", "--json", "."]).await.assert_exit(0);
    assert!(ran.stdout.contains("+description: \"Use when: asked.\"\n"), "{ran:?}");
    assert_eq!(read(&folder, "a/SKILL.md"), MENDED);
}

#[tokio::test]
async fn of_two_odd_spellings_only_one_takes_the_name() {
    let folder = SkillFolder::new();
    folder.file("a/skill.md", COLON).file("a/Skill.md", skill_md("a"));
    if fs::read_dir(folder.join("a")).unwrap().count() == 1 {
        return; // On a file system that ignores case both names are the same file.
    }
    let ran = run(&folder, &["check", "--fix", "."]).await.assert_exit(0);
    assert!(ran.stdout.contains("warning[file-name-twins]"), "{ran:?}");
    assert!(folder.join("a/SKILL.md").exists());
    assert_eq!(fs::read_dir(folder.join("a")).unwrap().count(), 2, "nothing was lost");
}

#[cfg(unix)]
#[tokio::test]
async fn permissions_are_kept_and_files_with_two_names_are_left_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = SkillFolder::new();
    folder.file("a/SKILL.md", COLON).file("b/SKILL.md", COLON.replace("name: a", "name: b"));
    let mode = |path: &str| fs::metadata(folder.join(path)).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(folder.join("a/SKILL.md"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::hard_link(folder.join("b/SKILL.md"), folder.join("elsewhere")).unwrap();
    let ran = run(&folder, &["check", "--fix", "."]).await.assert_exit(1);
    assert_eq!(mode("a/SKILL.md"), 0o640);
    assert_eq!(read(&folder, "a/SKILL.md"), MENDED);
    assert!(
        ran.stderr.contains("`./b/SKILL.md` was not repaired: it has another hard link"),
        "{ran:?}"
    );
    assert_eq!(read(&folder, "elsewhere"), COLON.replace("name: a", "name: b"));
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_behind_a_symbolic_link_is_touched_v_31() {
    use std::os::unix::fs::symlink;

    let outside = SkillFolder::new();
    outside.file("a/SKILL.md", COLON);
    let folder = SkillFolder::with_skills(&["good"]);
    symlink(outside.join("a"), folder.join("linked")).unwrap();
    folder.directory("file");
    symlink(outside.join("a/SKILL.md"), folder.join("file/SKILL.md")).unwrap();
    run(&folder, &["check", "--fix", "."]).await.assert_exit(1);
    assert_eq!(read(&outside, "a/SKILL.md"), COLON);
    // A folder that the user names is fixed even if its path is a link.
    run(&folder, &["check", "--fix", "linked"]).await.assert_exit(0);
    assert_eq!(read(&outside, "a/SKILL.md"), MENDED);
    assert!(folder.join("linked").is_symlink());
}

#[tokio::test]
async fn names_are_taken_from_directories_only_when_asked_for_rs_04() {
    let folder = SkillFolder::new();
    let before = "---\nname: Ahrefs Automation\ndescription: Use when asked.\n---\nBody\n";
    folder
        .file("ahrefs-automation/SKILL.md", before)
        .file("nameless/SKILL.md", "---\ndescription: Use when: asked.\n---\n")
        .file("Odd Name/SKILL.md", "---\nname: Odd Name\ndescription: Use when asked.\n---\n");
    run(&folder, &["check", "--fix", "."]).await.assert_exit(1);
    assert_eq!(read(&folder, "ahrefs-automation/SKILL.md"), before);
    let shown = run(&folder, &["check", "--diff", "--fix-names", "."]).await.assert_exit(1);
    assert!(shown.stdout.contains("+name: ahrefs-automation"), "{shown:?}");
    assert_eq!(read(&folder, "ahrefs-automation/SKILL.md"), before);
    let ran = run(&folder, &["check", "--fix", "--fix-names", "."]).await.assert_exit(1);
    assert!(ran.stdout.contains("3 skills checked: 1 error."), "{ran:?}");
    assert_eq!(
        read(&folder, "ahrefs-automation/SKILL.md"),
        before.replace("Ahrefs Automation", "ahrefs-automation")
    );
    assert_eq!(
        read(&folder, "nameless/SKILL.md"),
        "---\nname: nameless\ndescription: \"Use when: asked.\"\n---\n"
    );
    run(&folder, &["check", "--fix-names", "."])
        .await
        .assert_refused(2, "`--fix-names` and `--fix-signed` say what `--fix` repairs.");
}

#[tokio::test]
async fn a_skill_without_a_name_is_told_its_directorys_rs_05() {
    let folder = SkillFolder::new();
    folder
        .file("pdf-forms/SKILL.md", "---\ndescription: Use when asked.\n---\n")
        .file("ahrefs-x/SKILL.md", "---\nname: Ahrefs X\ndescription: Use when asked.\n---\n");
    let ran = run(&folder, &["check", "."]).await.assert_exit(1);
    assert!(ran.stdout.contains("Add a line `name: pdf-forms`"), "{ran:?}");
    assert!(ran.stdout.contains("Write `name: ahrefs-x`, which is the directory's"), "{ran:?}");
    assert!(!ran.stdout.contains("my-skill"), "{ran:?}");
}

#[tokio::test]
async fn a_signed_skill_is_not_repaired_unless_asked_for_rs_14() {
    let folder = SkillFolder::new();
    folder
        .file("a/SKILL.md", COLON)
        .file("a/skill.oms.sig", "{}")
        .file("b/SKILL.md", COLON.replace("name: a", "name: b"));
    let ran = run(&folder, &["check", "--fix", "."]).await.assert_exit(1);
    assert!(ran.stderr.contains("`./a/SKILL.md` was not repaired: `skill.oms.sig`"), "{ran:?}");
    assert!(
        ran.stderr.contains("`--fix-signed`") && ran.stderr.contains("1 repair made."),
        "{ran:?}"
    );
    assert_eq!(read(&folder, "a/SKILL.md"), COLON);
    assert_eq!(read(&folder, "b/SKILL.md"), MENDED.replace("name: a", "name: b"));
    run(&folder, &["check", "--fix", "--fix-signed", "."]).await.assert_exit(0);
    assert_eq!(read(&folder, "a/SKILL.md"), MENDED);
}
