//! `skillwire check`: a snapshot for each oddity of real folders.

use std::fs;

use serde_json::json;
use skillwire_testkit::{SkillFolder, skill_md};

use crate::support::{StdioServer, run, skill_with};

/// Checks the whole folder and returns everything that a user would see.
async fn checked(folder: &SkillFolder) -> String {
    run(folder, &["check", "."]).await.transcript()
}

#[tokio::test]
async fn a_clean_folder() {
    let folder = SkillFolder::with_skills(&["a", "acme/b"]);
    insta::assert_snapshot!(checked(&folder).await);
}

#[tokio::test]
async fn unknown_keys() {
    let folder = SkillFolder::new();
    folder.file("a/SKILL.md", skill_with("a", "version: \"1.2\"\nhooks:\n  stop: [x]\n"));
    insta::assert_snapshot!(checked(&folder).await);
    let strict = run(&folder, &["check", "--strict", "."]).await.assert_exit(1);
    assert!(strict.stdout.contains("error[unknown-key]"), "{strict:?}");
}

#[tokio::test]
async fn name_and_directory_differ() {
    let folder = SkillFolder::new();
    folder.file("folder/SKILL.md", skill_md("other"));
    insta::assert_snapshot!(checked(&folder).await);
}

#[tokio::test]
async fn two_skills_on_one_path() {
    let folder = SkillFolder::with_skills(&["one/same", "two/same"]);
    let ran = run(&folder, &["check", "one", "two"]).await;
    insta::assert_snapshot!(ran.transcript());
}

#[tokio::test]
async fn check_agrees_with_a_server_of_the_same_folders_fu_12() {
    let folder = SkillFolder::with_skills(&["a/pdf", "a/only", "b/pdf", "b/forms", "b/x/pdf"]);
    folder.file("b/zzz/SKILL.md", skill_md("only"));
    let report = run(&folder, &["check", "--json", "a", "b"]).await.assert_exit(1).json();
    let findings = report["findings"].as_array().unwrap();
    let refused: Vec<_> = findings
        .iter()
        .filter(|finding| finding["code"] == "path-collision")
        .map(|finding| finding["file"].as_str().unwrap())
        .collect();
    assert_eq!(refused, ["b/pdf/SKILL.md"]);
    let mut server = StdioServer::serve(&folder, &["a", "b"]);
    let paths = ["forms", "only", "pdf", "x/pdf", "zzz/only"];
    assert_eq!(server.uris().await, paths.map(|path| format!("skill://{path}/SKILL.md")));
    let said = server.close().await.assert_exit(0).stderr;
    assert_eq!(said.matches("skipped ").count(), 1, "{said}");
    assert!(said.contains("skipped b/pdf: "), "{said}");
    // The advice works.
    run(&folder, &["check", "a", "team=b"]).await.assert_exit(1);
    let report = run(&folder, &["check", "--json", "a", "team=b"]).await.json();
    assert!(!report.to_string().contains("path-collision"), "{report}");
    // A file that was named is checked on its own: no server serves it.
    let files = ["check", "--json", "a/pdf/SKILL.md", "b/pdf/SKILL.md"];
    assert_eq!(run(&folder, &files).await.assert_exit(0).json()["findings"], json!([]));
}

#[tokio::test]
async fn a_key_that_many_skills_have_is_one_line_of_the_summary_rs_07() {
    let folder = SkillFolder::new();
    for name in ["a", "b", "c"] {
        let lines = format!("version: {name}\nuser-invocable: true\n");
        folder.file(&format!("one/{name}/SKILL.md"), skill_with(name, &lines));
    }
    folder.file("two/d/SKILL.md", skill_with("d", "version: d\n"));
    let ran = run(&folder, &["check", "one", "two"]).await.assert_exit(0);
    insta::assert_snapshot!(ran.stdout);
}

#[tokio::test]
async fn names_that_break_the_rules() {
    let folder = SkillFolder::new();
    for (index, name) in ["PDF_Forms", "-a", "a--b", "123", "\"\"", "[a]", "é"].iter().enumerate()
    {
        folder.file(&format!("s{index}/SKILL.md"), skill_md(name));
    }
    folder.file("missing/SKILL.md", "---\ndescription: Nameless. Use when testing.\n---\n");
    insta::assert_snapshot!(checked(&folder).await);
}

#[tokio::test]
async fn descriptions_and_compatibility() {
    let folder = SkillFolder::new();
    let long = format!("---\nname: long\ndescription: Use when {}\n---\n", "x".repeat(1_020));
    let compatibility = format!("compatibility: Needs {}\n", "y".repeat(500));
    folder
        .file("long/SKILL.md", long)
        .file("needs/SKILL.md", skill_with("needs", &compatibility))
        .file("none/SKILL.md", "---\nname: none\n---\n")
        .file("blank/SKILL.md", "---\nname: blank\ndescription: \"  \"\n---\n");
    insta::assert_snapshot!(checked(&folder).await);
}

#[tokio::test]
async fn an_unquoted_colon_comes_with_the_quoted_form() {
    let folder = SkillFolder::new();
    folder.file(
        "pdf-forms/SKILL.md",
        "---\nname: pdf-forms\ndescription: Fills PDF forms: text, boxes. Use when asked.\n---\n",
    );
    insta::assert_snapshot!(checked(&folder).await);
}

#[tokio::test]
async fn metadata_that_is_not_text() {
    let folder = SkillFolder::new();
    let metadata = "metadata:\n  released: 2026-01-01\n  acme-rank: 3\n  acme-tags: [a, b]\n  acme-deep:\n    x: z\n";
    folder.file("a/SKILL.md", skill_with("a", metadata));
    insta::assert_snapshot!(checked(&folder).await);
}

#[tokio::test]
async fn allowed_tools_in_other_forms() {
    let folder = SkillFolder::new();
    folder
        .file("list/SKILL.md", skill_with("list", "allowed-tools: [Read, Grep]\n"))
        .file("commas/SKILL.md", skill_with("commas", "allowed-tools: Read, Grep\n"));
    insta::assert_snapshot!(checked(&folder).await);
}

#[tokio::test]
async fn yaml_that_parsers_read_differently() {
    let folder = SkillFolder::new();
    folder
        .file("duplicate/SKILL.md", skill_with("duplicate", "description: Again.\n"))
        .file("anchor/SKILL.md", skill_with("anchor", "license: &l MIT\nmetadata: {x: *l}\n"))
        .file("tag/SKILL.md", skill_with("tag", "license: !!binary aGk=\n"))
        .file("merge/SKILL.md", skill_with("merge", "metadata:\n  <<: {x: z}\n"))
        .file("truth/SKILL.md", skill_with("truth", "metadata:\n  acme-on: yes\n"));
    insta::assert_snapshot!(checked(&folder).await);
}

#[tokio::test]
async fn frontmatter_that_is_missing_or_open() {
    let folder = SkillFolder::with_skills(&["outer"]);
    folder
        .file("missing/SKILL.md", "# Title\n")
        .file("late/SKILL.md", format!("\n{}", skill_md("late")))
        .file("open/SKILL.md", "---\nname: open\ndescription: Never ends.\n")
        .file("empty/SKILL.md", "")
        .file("list/SKILL.md", "---\n- name\n---\n")
        .file("syntax/SKILL.md", "---\nname: \"syntax\n---\n")
        .file("outer/inner/SKILL.md", "# No frontmatter\n");
    insta::assert_snapshot!(checked(&folder).await);
}

#[tokio::test]
async fn byte_order_mark_and_crlf() {
    let folder = SkillFolder::new();
    folder
        .file("bom/SKILL.md", format!("\u{feff}{}", skill_md("bom")))
        .file("crlf/SKILL.md", skill_md("crlf").replace('\n', "\r\n"));
    insta::assert_snapshot!(checked(&folder).await);
}

#[tokio::test]
async fn skill_file_in_another_case() {
    let folder = SkillFolder::new();
    folder.file("a/skill.md", skill_md("a")).file("b/Skill.md", skill_md("b"));
    insta::assert_snapshot!(checked(&folder).await);
    let named = run(&folder, &["check", "a/skill.md"]).await.assert_exit(1);
    assert!(named.stdout.contains("error[skill-file-case]"), "{named:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn links_and_special_files() {
    use std::os::unix::{fs::symlink, net::UnixListener};

    let folder = SkillFolder::with_skills(&["inside", "outside", "broken", "looping", "special"]);
    folder.file("inside/a.md", "# A\n").directory("inside/sub");
    let link = |target: &str, path: &str| symlink(target, folder.join(path)).expect("links work");
    link("../a.md", "inside/sub/same.md");
    link("../inside/a.md", "outside/stolen.md");
    link("nowhere", "broken/dangling");
    link("loop", "looping/loop");
    let _listener = UnixListener::bind(folder.join("special/socket")).expect("sockets work");
    insta::assert_snapshot!(checked(&folder).await);
}

#[tokio::test]
async fn too_many_files_or_bytes() {
    let folder = SkillFolder::with_skills(&["bytes", "files"]);
    let sparse = fs::File::create(folder.join("bytes/big.bin")).expect("a file can be made");
    sparse.set_len(16 * 1024 * 1024).expect("a file can grow");
    for index in 0..512 {
        folder.file(&format!("files/{index}.txt"), "");
    }
    insta::assert_snapshot!(checked(&folder).await);
}

#[cfg(unix)]
#[tokio::test]
async fn file_names_that_are_encoded_or_alike() {
    let folder = SkillFolder::with_skills(&["a"]);
    for name in ["with space.md", "100%.md", "ü.md", "<x>.md", "new\nline.md", "Readme", "README"]
    {
        folder.file(&format!("a/{name}"), "text\n");
    }
    insta::assert_snapshot!(checked(&folder).await);
}

#[tokio::test]
async fn dotfiles_binaries_and_litter() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder
        .file("a/.editorconfig", "root = true\n")
        .file("a/logo.bin", [0, 255, 254])
        .file("a/.git/config", "")
        .file("a/.DS_Store", "")
        .file("a/__pycache__/x.pyc", "")
        .file("a/.SKILL.md.swp", "");
    insta::assert_snapshot!(checked(&folder).await);
}

#[tokio::test]
async fn secrets() {
    let folder = SkillFolder::with_skills(&["a", "b"]);
    folder.file("a/.env", "TOKEN=1\n").file("b/keys/id_rsa", "-----BEGIN\n");
    insta::assert_snapshot!(checked(&folder).await);
    let allowed =
        ["check", ".", "--allow-secret-file", ".env", "--allow-secret-file", "keys/id_rsa"];
    let allowed = run(&folder, &allowed).await.assert_exit(0);
    assert!(!allowed.stdout.contains("secret-file"), "{allowed:?}");
}

#[tokio::test]
async fn links_in_the_text() {
    let folder = SkillFolder::new();
    let text = "See [a](missing.md), [b](../b/SKILL.md), [c](/etc/hosts) and [d](sub\\d.md).\n";
    folder.file("a/SKILL.md", skill_md("a") + text);
    insta::assert_snapshot!(checked(&folder).await);
}

#[tokio::test]
async fn no_skill_at_all() {
    let folder = SkillFolder::new();
    folder.file("readme.txt", "nothing here\n");
    let ran = run(&folder, &["check", "."]).await.assert_exit(1);
    assert!(ran.stdout.starts_with("error[no-skill-found]: "), "{ran:?}");
    assert!(ran.stdout.contains("\n0 skills checked: 1 error.\n"), "{ran:?}");
}

#[tokio::test]
async fn the_examples_have_no_warnings() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/skills");
    let ran = run(&SkillFolder::new(), &["check", "--strict", examples]).await.assert_exit(0);
    assert!(!ran.stdout.contains("advice["), "{ran:?}");
}

/// A skill with findings of all levels, in several places.
fn troubled() -> SkillFolder {
    let folder = SkillFolder::new();
    let lines = "name: a\ndescription: Does: things.\ncolour: red\ncolour: blue\n";
    folder
        .file("b/SKILL.md", skill_with("other", "colour: red\nlicense: LICENSE.txt\n"))
        .file("b/.hidden", "")
        .file("a/SKILL.md", format!("---\n{lines}---\n"));
    folder
}

#[tokio::test]
async fn everything_wrong_is_said_at_once() {
    insta::assert_snapshot!(checked(&troubled()).await);
}

#[tokio::test]
async fn json_has_the_same_findings_as_data() {
    let ran = run(&troubled(), &["check", "--json", "."]).await.assert_exit(1);
    assert_eq!(ran.stderr, "");
    let report = ran.json();
    let findings = report["findings"].as_array().unwrap();
    let find = |code: &str| {
        findings.iter().find(|f| f["code"] == code).unwrap_or_else(|| panic!("no {code}: {ran:?}"))
    };
    let colon = find("yaml-unquoted-colon");
    assert_eq!(colon["level"], "error");
    assert_eq!(colon["file"], "./a/SKILL.md");
    assert_eq!(colon["position"], json!({ "line": 3, "column": 14 }));
    assert!(colon["help"].as_str().unwrap().contains("\"Does: things.\""), "{colon}");
    let unknown = find("unknown-key");
    assert_eq!(unknown["level"], "warning");
    assert_eq!(unknown["file"], "./b/SKILL.md");
    assert_eq!(unknown["position"], json!({ "line": 4, "column": 1 }));
    for finding in findings {
        for text in [&finding["message"], &finding["help"]] {
            let text = text.as_str().unwrap_or(".");
            assert!(text.ends_with('.'), "{text}");
        }
    }
    let count = |level| findings.iter().filter(|f| f["level"] == level).count();
    assert_eq!(
        report["summary"],
        json!({
            "skills": 2,
            "errors": count("error"),
            "warnings": count("warning"),
            "infos": count("info"),
            "advice": count("advice"),
            "repairable": 1,
            "silenced": 0,
        })
    );
}

#[tokio::test]
async fn json_of_a_clean_folder() {
    let folder = SkillFolder::with_skills(&["a"]);
    let report = run(&folder, &["check", "--json", "."]).await.assert_exit(0).json();
    assert_eq!(report["findings"], json!([]));
    assert_eq!(report["summary"]["skills"], 1);
}

#[tokio::test]
async fn a_skill_file_means_the_skill_around_it() {
    let folder = troubled();
    let by_folder = run(&folder, &["check", "a"]).await.assert_exit(1);
    let by_file = run(&folder, &["check", "a/SKILL.md"]).await.assert_exit(1);
    assert_eq!(by_folder.stdout, by_file.stdout);
    assert!(by_file.stdout.contains("--> a/SKILL.md:3:"), "{by_file:?}");
    let inside = SkillFolder::new();
    inside.file("SKILL.md", "# No frontmatter\n");
    let ran = run(&inside, &["check", "SKILL.md"]).await.assert_exit(1);
    assert!(ran.stdout.contains("error[frontmatter-missing]"), "{ran:?}");
}

#[tokio::test]
async fn files_are_judged_each_by_itself_and_beside_folders() {
    // Two teams may have skills of the same name. It matters only if one server serves both.
    let folder = SkillFolder::with_skills(&["one/same", "two/same"]);
    let paths = ["check", "one", "two/same/SKILL.md", "one/same/SKILL.md"];
    let ran = run(&folder, &paths).await.assert_exit(0);
    assert_eq!(ran.stdout, "3 skills checked: nothing to report.\n");
}

#[tokio::test]
async fn text_from_a_skill_does_not_act_on_the_terminal_v_54() {
    let folder = SkillFolder::new();
    let nasty = "\"Use \\e]0;gone\\a \\e[2J \\u202e when.\"";
    folder
        .file("a/SKILL.md", format!("---\nname: a\ndescription: {nasty}\n\"k\\e[2Jx\": 1\n---\n"))
        .file("b/SKILL.md", "---\nname: \"b\\e[2J\"\ndescription: Use when.\n---\n")
        .file("c/SKILL.md", "---\nname: c\ndescription: \u{9b}2J: \u{202e}raw.\n---\n");
    #[cfg(unix)]
    folder.skill("d").file("d/\u{1b}[2J.md", "").file("d/x\nerror[fake]: A line.md", "");
    // A user who forces colours gets the program's own, and no others.
    for force in ["", "1"] {
        let mut command = crate::support::command(&folder, &["check", "."]);
        command.env("CLICOLOR_FORCE", force);
        let ran = crate::support::finish(command).await.assert_exit(1);
        assert!(!ran.stdout.contains("\u{1b}[2J") && !ran.stdout.contains("\u{1b}]"), "{ran:?}");
        assert!(!ran.stdout.contains(['\u{9b}', '\u{202e}', '\u{7}']), "{ran:?}");
        assert!(!ran.stdout.lines().any(|line| line.starts_with("error[fake]")), "{ran:?}");
    }
    #[cfg(unix)]
    insta::assert_snapshot!(checked(&folder).await);
}
