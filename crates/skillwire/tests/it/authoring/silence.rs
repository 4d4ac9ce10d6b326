//! `skillwire.toml`: which findings can be silenced, and which cannot.

use serde_json::json;
use skillwire_testkit::SkillFolder;

use crate::support::{run, skill_with};

fn folder() -> SkillFolder {
    let folder = SkillFolder::new();
    folder
        .file("acme/a/SKILL.md", skill_with("a", "colour: red\n"))
        .file("other/b/SKILL.md", skill_with("b", "colour: red\n"));
    folder
}

fn silence(folder: &SkillFolder, text: &str) {
    folder.file("skillwire.toml", text);
}

const ALL: &str = "[[silence]]\ncode = \"unknown-key\"\nreason = \"Our host reads it.\"\n";

#[tokio::test]
async fn a_code_is_silenced_with_a_reason() {
    let folder = folder();
    silence(&folder, ALL);
    let ran = run(&folder, &["check", "--strict", "."]).await.assert_exit(0);
    assert_eq!(ran.stdout, "2 skills checked: 2 silenced.\n");
    let report = run(&folder, &["check", "--json", "."]).await.assert_exit(0).json();
    assert_eq!(report["findings"], json!([]));
    assert_eq!(report["silenced"][0]["code"], "unknown-key");
    assert_eq!(report["silenced"][0]["reason"], "Our host reads it.");
    let log = run(&folder, &["check", "--format", "sarif", "."]).await.assert_exit(0).json();
    let suppressed = &log["runs"][0]["results"][0]["suppressions"][0];
    assert_eq!(*suppressed, json!({ "kind": "external", "justification": "Our host reads it." }));
}

#[tokio::test]
async fn patterns_are_relative_to_the_file_and_it_is_found_above_the_skills() {
    let folder = folder();
    silence(&folder, &format!("{ALL}files = [\"acme/**\"]\n"));
    for path in [".", "acme", "acme/a", "acme/a/SKILL.md"] {
        let ran = run(&folder, &["check", path]).await.assert_exit(0);
        assert!(!ran.stdout.contains("acme/a/SKILL.md"), "{path}: {ran:?}");
        assert!(ran.stdout.contains("1 silenced"), "{path}: {ran:?}");
    }
    let other = run(&folder, &["check", "other"]).await.assert_exit(0);
    assert!(other.stdout.contains("warning[unknown-key]"), "{other:?}");
    // The search for the file ends at the root of a repository.
    folder.directory("acme/.git");
    let ran = run(&folder, &["check", "acme"]).await.assert_exit(0);
    assert!(ran.stdout.contains("warning[unknown-key]"), "{ran:?}");
}

#[tokio::test]
async fn a_file_inside_a_skill_is_a_part_of_the_skill() {
    let folder = folder();
    folder.file("acme/a/skillwire.toml", ALL);
    let ran = run(&folder, &["check", "acme/a"]).await.assert_exit(0);
    assert!(ran.stdout.contains("warning[unknown-key]"), "{ran:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_not_a_regular_file_is_not_waited_for() {
    let folder = folder();
    let fifo = |path: &str| {
        let made = std::process::Command::new("mkfifo").arg(folder.join(path)).status().unwrap();
        assert!(made.success());
    };
    folder.directory("c");
    fifo("c/SKILL.md");
    let compared = run(&folder, &["check", "--compare", "reference", "."]).await.assert_exit(1);
    assert!(compared.stdout.contains("error[skill-file-not-a-file]"), "{compared:?}");
    fifo("skillwire.toml");
    run(&folder, &["check", "."]).await.assert_refused(2, "it is not a small regular file");
}

#[tokio::test]
async fn mistakes_are_told_with_their_line() {
    let folder = folder();
    for (text, words) in [
        ("[[silence]]\ncode = \"unknown-key\"\n", "line 1, column 1: missing field `reason`."),
        ("[[silence]]\nreason = \"x\"\n", "line 1, column 1: missing field `code`."),
        ("\n\n[[silences]]\n", "line 3, column 3: unknown field `silences`"),
        (&format!("{ALL}wy = \"x\"\n"), "line 4, column 1: unknown field `wy`"),
        (
            "[[silence]]\ncode = \"nope\"\nreason = \"x\"\n",
            "line 2, column 8: There is no code `nope`.",
        ),
        (
            "[[silence]]\ncode = \"crlf\"\nreason = \"  \"\n",
            "line 3, column 10: The reason is empty.",
        ),
        (
            "[[silence]]\ncode = \"secret-text\"\nreason = \"x\"\n",
            "line 2, column 8: `secret-text` cannot be silenced",
        ),
        (&format!("{ALL}files = [\"[\"]\n"), "line 4, column 9: "),
        ("[[silence]\n", "line 1, column "),
    ] {
        silence(&folder, text);
        let ran = run(&folder, &["check", "."]).await.assert_exit(2);
        assert_eq!(ran.stdout, "", "{text}");
        assert!(ran.stderr.contains(words), "{text:?} gives {}", ran.stderr);
        assert!(ran.stderr.contains("skillwire.toml`, line "), "{ran:?}");
    }
}
