//! The files of a skill: names, secrets, links and scripts.

use skillwire_core::{
    Code, Exemption, Finding, Level, RelPath,
    file_set::{self, CheckedFile},
    skill_file,
};

fn codes(findings: &[Finding]) -> Vec<Code> {
    findings.iter().map(|finding| finding.code).collect()
}

/// Checks a skill with this body and these further files.
fn files(body: &str, others: &[(&str, &str)]) -> Vec<Finding> {
    with("", body, others)
}

/// The same with further lines of frontmatter.
fn with(lines: &str, body: &str, others: &[(&str, &str)]) -> Vec<Finding> {
    let text = format!("---\nname: pdf\ndescription: Use when asked.\n{lines}---\n{body}");
    let skill = skill_file::check(text.as_bytes()).0.expect("the skill is valid");
    let paths: Vec<RelPath> = std::iter::once("SKILL.md")
        .chain(others.iter().map(|(path, _)| *path))
        .map(|path| RelPath::parse(path).expect("a path"))
        .collect();
    let contents = std::iter::once(text.as_str()).chain(others.iter().map(|(_, text)| *text));
    let checked: Vec<_> = paths
        .iter()
        .zip(contents)
        .map(|(path, text)| CheckedFile { path, bytes: text.as_bytes() })
        .collect();
    file_set::check(Some(&skill), &checked)
}

#[test]
fn links_that_lead_nowhere_or_out_are_warned_of_with_their_line_fmt_19() {
    let findings = files("[a](a.md)\n[b](../b.md)\n[c](/c.md)\n[d](d%20d.md)", &[("d d.md", "")]);
    let found: Vec<_> = findings.iter().filter(|f| f.level == Level::Warning).collect();
    assert_eq!(
        found.iter().map(|f| (f.code, f.position.map_or(0, |p| p.line))).collect::<Vec<_>>(),
        [(Code::LinkMissing, 5), (Code::LinkNotPortable, 6), (Code::LinkNotPortable, 7)]
    );
}

#[test]
fn links_are_followed_from_the_file_or_from_the_root_fmt_19() {
    let others = [
        ("references/a.md", "[b](b.md) [c](references/c.md) [d](../SKILL.md) [e](nowhere.md)"),
        ("references/b.md", ""),
        ("references/c.md", ""),
    ];
    let body = "[a](references/a.md) [b](references/b.md) [c](references/c.md) [all](references)";
    let found: Vec<_> = files(body, &others)
        .into_iter()
        .map(|finding| (finding.code, finding.message, finding.help.unwrap_or_default()))
        .collect();
    assert_eq!(found.len(), 2, "{found:?}");
    let missing = (Code::LinkMissing, "The skill has no file `references/nowhere.md`.");
    assert_eq!((found[0].0, found[0].1.as_str()), missing);
    assert_eq!(found[1].0, Code::LinkUpwards);
    assert!(!found[1].2.contains("`SKILL.md`"), "{found:?}");
}

#[test]
fn a_link_with_backslashes_comes_with_the_right_one_fmt_19() {
    let findings = files("[a](docs\\a.md) [b](C:\\b.md)", &[("docs/a.md", "")]);
    assert_eq!(codes(&findings), [Code::LinkNotPortable, Code::LinkNotPortable]);
    assert_eq!(findings[0].help.as_deref(), Some("Write `docs/a.md`."));
    assert!(findings[1].message.contains("absolute"), "{}", findings[1].message);
}

#[test]
fn only_the_text_of_markdown_files_is_looked_at_fmt_19() {
    let others = [("notes.txt", "[a](a.md)"), ("code.py", "[a](a.md)"), ("B.MD", "[c](c.md)")];
    let findings = with("metadata:\n  see: \"[a](a.md)\"\n", "", &others);
    let found: Vec<_> = findings.iter().map(|finding| (finding.code, &*finding.file)).collect();
    assert_eq!(found, [(Code::LinkMissing, "B.MD")]);
}

#[test]
fn a_file_reached_only_through_a_reference_is_pointed_out_fmt_20() {
    let others = [("references/a.md", "[b](b.md)"), ("references/b.md", "")];
    let findings = files("[a](references/a.md)", &others);
    assert_eq!(codes(&findings), [Code::LinkChain]);
    assert_eq!(findings[0].file, "references/a.md");
    assert_eq!(findings[0].position.map(|p| (p.line, p.column)), Some((1, 5)));
    assert_eq!(codes(&files("[a](references/a.md) [b](references/b.md)", &others)), []);
    // A file without a link to it, a script and a link back to `SKILL.md` make no chain.
    assert_eq!(codes(&files("", &others)), []);
    let others = [("a.md", "[go](go.py) [up](SKILL.md)"), ("go.py", "")];
    assert_eq!(codes(&files("[a](a.md)", &others)), []);
    let twice = [("a.md", "[c](c.md) [c](c.md)"), ("b.md", "[c](c.md)"), ("c.md", "")];
    assert_eq!(codes(&files("[a](a.md) [b](b.md)", &twice)), [Code::LinkChain]);
}

#[test]
fn a_script_that_does_not_say_how_it_is_run_is_pointed_out_fmt_21() {
    assert_eq!(codes(&files("", &[("scripts/go", "echo")])), [Code::ScriptWithoutInterpreter]);
    assert_eq!(codes(&files("", &[("scripts/go", "#!/bin/sh\necho"), ("scripts/a.py", "x")])), []);
    assert_eq!(codes(&files("", &[("assets/go", "echo")])), []);
}

#[test]
fn names_that_some_disks_cannot_tell_apart_are_warned_of_v_39() {
    for twin in [("A.md", "a.md"), ("caf\u{e9}.md", "cafe\u{301}.md")] {
        let findings = files("", &[(twin.0, ""), (twin.1, "")]);
        let twins: Vec<_> = findings.iter().filter(|f| f.code == Code::FileNameTwins).collect();
        assert_eq!(twins.len(), 1, "{twin:?}");
        assert_eq!(twins[0].level, Level::Warning);
    }
}

#[test]
fn names_that_are_encoded_or_hidden_are_pointed_out_v_38() {
    let found: Vec<_> =
        files("", &[("a b.md", ""), ("a-b.md", ""), (".ci/x.md", ""), (".env", "")])
            .into_iter()
            .map(|finding| (finding.code, finding.level, finding.file))
            .collect();
    assert_eq!(
        found,
        [
            (Code::FileNameEncoded, Level::Info, "a b.md".to_owned()),
            (Code::HiddenFile, Level::Info, ".ci/x.md".to_owned()),
        ]
    );
}

#[test]
fn a_file_whose_name_says_secret_is_an_error_that_names_the_way_out_v_43() {
    let check = |path: &str| file_set::check_secret(&RelPath::parse(path).expect("a path"), None);
    let finding = check("deploy/.env.local").expect("an environment file is found");
    assert_eq!((finding.code, finding.level), (Code::SecretFile, Level::Error));
    assert_eq!(finding.exemption, Some(Exemption::SecretFile(".env.local".to_owned())));
    assert_eq!(check("deploy/env.md"), None);
}

#[test]
fn tokens_in_a_text_are_errors_with_their_lines_v_43() {
    let check = |path: &str, bytes: &[u8]| {
        let path = RelPath::parse(path).expect("a path");
        file_set::check_secret_text(CheckedFile { path: &path, bytes })
    };
    // Put together here, so that no file holds a token as it would be issued.
    let noise = "Q7kT2mZ9xR4bW8nJ5vL3cH6pF1dGsYqAE";
    let token = |at: usize| format!("ghp_{noise}{at:03}");
    let text = format!("first\nkey = {}\n", token(7));
    let findings = check("notes.md", text.as_bytes());
    assert_eq!(codes(&findings), [Code::SecretText]);
    assert_eq!(findings[0].position.map(|p| (p.line, p.column)), Some((2, 7)));
    assert_eq!(findings[0].exemption, Some(Exemption::SecretFile("notes.md".to_owned())));
    // That way out would let through what every other `SKILL.md` says.
    let findings = check("SKILL.md", text.as_bytes());
    assert_eq!(findings[0].exemption, None);
    let many = (0..30).map(token).collect::<Vec<_>>().join("\n");
    assert_eq!(check("notes.md", many.as_bytes()).len(), 20);
    assert_eq!(check("notes.bin", &[text.as_bytes(), b"\xff"].concat()), []);
}

#[test]
fn a_license_that_names_a_file_needs_the_file_fmt_10() {
    let lines = "license: Proprietary. See LICENSE.txt for terms.\n";
    let findings = with(lines, "", &[("references/LICENSE.txt", "")]);
    assert_eq!(codes(&findings), [Code::LicenseFileMissing]);
    assert!(findings[0].message.contains("`LICENSE.txt`"), "{}", findings[0].message);
    assert_eq!(findings[0].position.map(|p| (p.line, p.column)), Some((4, 10)));
    assert_eq!(with(lines, "", &[("LICENSE.txt", "")]), []);
    for named in ["license: Apache-2.0\n", "license: license.html\n", "license: MIT license\n"] {
        assert_eq!(with(named, "", &[]), [], "{named}");
    }
}
