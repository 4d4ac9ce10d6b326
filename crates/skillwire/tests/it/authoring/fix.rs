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
