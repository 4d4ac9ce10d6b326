//! The rendered output of every reason code.

use std::{collections::BTreeSet, fs};

use skillwire_core::Code;
use skillwire_testkit::{SkillFolder, skill_md};

use crate::support::{run, skill_with};

/// Codes that a test cannot produce with a folder: of generated skills, races, a full disk, and
/// files that the user of the tests cannot read. Unit tests of the renderer show these.
const SHOWN_ELSEWHERE: [Code; 4] =
    [Code::DynamicSkill, Code::Unstable, Code::IndexNotKept, Code::Unreadable];

/// Makes a folder with a finding of this code; `None` if no folder can have one.
#[expect(clippy::too_many_lines, reason = "it is a table, with an arm for each code")]
fn show(code: Code, folder: &SkillFolder) {
    let a = |lines: &str| {
        folder.file("a/SKILL.md", skill_with("a", lines));
    };
    let raw = |text: &str| {
        folder.file("a/SKILL.md", text);
    };
    let with_file = |path: &str, text: &[u8]| {
        folder.skill("a").file(&format!("a/{path}"), text);
    };
    let body = |text: &str| {
        folder.file("a/SKILL.md", skill_md("a") + text);
    };
    match code {
        Code::NoSkillFound => {
            folder.directory("empty");
        }
        Code::SkillFileCase => {
            folder.file("a/skill.md", skill_md("a"));
        }
        Code::SkillFileNotAFile => {
            folder.directory("a/SKILL.md");
        }
        Code::FrontmatterMissing => raw("# A\n"),
        Code::FrontmatterUnclosed => raw("---\nname: a\ndescription: Use when.\n ---\n"),
        Code::FrontmatterNotUtf8 => {
            folder.file("a/SKILL.md", b"---\nname: a\ndescription: caf\xe9\n---\n");
        }
        Code::FrontmatterNotAMapping => raw("---\n- name: a\n---\n"),
        Code::YamlSyntax => raw("---\nname: a\ndescription: 'Use when\n---\n"),
        Code::YamlUnquotedColon => raw("---\nname: a\ndescription: Use when: asked.\n---\n"),
        Code::YamlDuplicateKey => a("license: MIT\nlicense: ISC\n"),
        Code::YamlReference => a("license: &x MIT\n"),
        Code::YamlTag => a("license: !!binary aGk=\n"),
        Code::YamlDocuments => a("...\nlicense: MIT\n"),
        Code::YamlLimit => a(&format!("license: {}\n", "x".repeat(65_536))),
        Code::YamlKeyNotAString => a("1: one\n"),
        Code::YamlNotJson => a("metadata:\n  size: 9007199254740993\n"),
        Code::YamlAmbiguousScalar => a("metadata:\n  released: 2026-01-31\n"),
        Code::YamlFlowStyle => a("metadata: {author: acme}\n"),
        Code::DashesInFrontmatter => a("license: MIT --- or ISC\n"),
        Code::NameMissing => raw("---\ndescription: Use when asked.\n---\n"),
        Code::NameInvalid => raw("---\nname: PDF_Forms\ndescription: Use when asked.\n---\n"),
        Code::NameNotDirectory => {
            folder.file("b/SKILL.md", skill_md("a"));
        }
        Code::NameReserved => {
            folder.skill("lookup");
        }
        Code::DescriptionMissing => raw("---\nname: a\ndescription:\n---\n"),
        Code::DescriptionTooLong => {
            let text = "word ".repeat(220);
            raw(&format!("---\nname: a\ndescription: Use when asked. {text}\n---\n"));
        }
        Code::DescriptionCharacters => {
            raw("---\nname: a\ndescription: Use when\u{200b} asked.\n---\n");
        }
        Code::CompatibilityInvalid => a("compatibility: 3\n"),
        Code::CompatibilityTooLong => a(&format!("compatibility: {}\n", "needs ".repeat(90))),
        Code::LicenseNotAString => a("license: 2\n"),
        Code::LicenseFileMissing => a("license: See LICENSE.txt\n"),
        Code::MetadataNotAMapping => a("metadata: acme\n"),
        Code::MetadataValue => a("metadata:\n  version: 1.0\n"),
        Code::MetadataReserved => a("metadata:\n  io.modelcontextprotocol/x: z\n"),
        Code::MetadataKeyGeneric => a("metadata:\n  type: guide\n"),
        Code::AllowedToolsForm => a("allowed-tools: Read, Grep\n"),
        Code::UnknownKey => a("version: 1.2\n"),
        Code::ClientKey => a("argument-hint: file\n"),
        Code::ByteOrderMark => raw(&format!("\u{feff}{}", skill_md("a"))),
        Code::CrLf => raw(&skill_md("a").replace('\n', "\r\n")),
        Code::TrailingBlanks => raw(&skill_md("a").replacen("---\n", "---  \n", 1)),
        Code::SymlinkInside => link("SKILL.md", folder),
        Code::SymlinkOutside => link("/etc/hosts", folder),
        Code::SymlinkBroken => link("nowhere", folder),
        Code::SymlinkNotScanned => {
            link_at("/usr/share", "other", folder);
        }
        Code::SpecialFile => special(folder),
        Code::FileNameNotUtf8 => odd_name(folder),
        Code::FileNameEncoded => with_file("with space.md", b""),
        Code::FileNameTwins => {
            with_file("Notes.md", b"");
            folder.file("a/notes.md", "");
        }
        Code::HardLink => {
            with_file("one.md", b"");
            fs::hard_link(folder.join("a/one.md"), folder.join("a/two.md")).unwrap();
        }
        Code::HiddenFile => with_file(".editorconfig", b"root = true\n"),
        Code::TooManyFiles => {
            folder.skill("a");
            (0..512).for_each(|index| {
                folder.file(&format!("a/{index}.txt"), "");
            });
        }
        Code::TooManyBytes => {
            folder.skill("a");
            let sparse = fs::File::create(folder.join("a/big.bin")).unwrap();
            sparse.set_len(16 * 1024 * 1024).unwrap();
        }
        Code::TooDeep => {
            folder.skill("a").directory(&format!("a{}", "/d".repeat(70)));
        }
        Code::SecretFile => with_file(".env", b"TOKEN=1\n"),
        Code::SecretText => {
            // Put together here, so that no file of the project contains a token.
            let token = ["AKIA", "Q7KT2MZ9", "XR4BW8NJ"].concat();
            with_file("run.sh", format!("#!/bin/sh\nexport KEY={token}\n").as_bytes());
        }
        Code::SecretPossible => {
            let value = ["q7kt2mz9", "xr4bw8nj", "5vl3ch6p"].concat();
            with_file("run.sh", format!("#!/bin/sh\nAPI_KEY={value}\n").as_bytes());
        }
        Code::NestedSkill => {
            folder.skill("a").skill("a/b");
        }
        Code::NestedSkillInvalid => with_file("b/SKILL.md", b"# Not yet\n"),
        Code::PathCollision | Code::DuplicateName => {
            folder.skill("x/a").skill("y/a");
        }
        Code::GitIgnored => {
            folder.directory(".git").file(".gitignore", "*.cache\n");
            with_file("data.cache", b"x");
        }
        Code::LinkMissing => body("See [forms](references/forms.md).\n"),
        Code::LinkNotPortable => body("See [others](../b/SKILL.md).\n"),
        Code::LinkUpwards => {
            body("See [one](docs/one.md).\n");
            folder.file("a/docs/one.md", "Back to [the skill](../SKILL.md).\n");
        }
        Code::PathMissing => body("Run `python scripts/fill.py`.\n"),
        Code::LinkChain => {
            body("See [one](one.md).\n");
            folder.file("a/one.md", "Then [two](two.md).\n").file("a/two.md", "Done.\n");
        }
        Code::DescriptionWithoutWhen => raw("---\nname: a\ndescription: Reads files.\n---\n"),
        Code::CompatibilityVague => a("compatibility: Any\n"),
        Code::BodyLong => body(&"Line.\n".repeat(501)),
        Code::ScriptWithoutInterpreter => with_file("scripts/go", b"echo\n"),
        Code::DynamicSkill | Code::Unstable | Code::IndexNotKept | Code::Unreadable => {}
    }
}

fn link_at(target: &str, path: &str, folder: &SkillFolder) {
    folder.skill("a");
    std::os::unix::fs::symlink(target, folder.join(path)).unwrap();
}

fn link(target: &str, folder: &SkillFolder) {
    link_at(target, "a/link.md", folder);
}

fn special(folder: &SkillFolder) {
    folder.skill("a");
    drop(std::os::unix::net::UnixListener::bind(folder.join("a/socket")).unwrap());
}

fn odd_name(folder: &SkillFolder) {
    use std::os::unix::ffi::OsStrExt;

    folder.skill("a");
    let name = std::ffi::OsStr::from_bytes(b"a/caf\xe9.md");
    fs::write(folder.path().join(name), "").unwrap();
}

/// The part of the output about a code.
fn block(stdout: &str, code: Code) -> String {
    let title = format!("[{code}]: ");
    let mut blocks = stdout.split("\n\n");
    let found = blocks.find(|block| block.lines().any(|line| line.contains(&title)));
    found.unwrap_or_else(|| panic!("{code} is not in {stdout}")).to_owned()
}

#[tokio::test]
async fn every_code_as_people_see_it() {
    let mut shown = BTreeSet::new();
    for code in Code::ALL.iter().filter(|code| !SHOWN_ELSEWHERE.contains(code)) {
        let folder = SkillFolder::new();
        show(*code, &folder);
        let arguments: &[&str] = match code {
            // This one needs an option of the operator.
            Code::HardLink => &["manifest", ".", "--require-single-link"],
            Code::PathCollision => &["check", "x", "y"],
            _ => &["check", "."],
        };
        let ran = run(&folder, arguments).await;
        insta::assert_snapshot!(format!("code_{code}"), block(&ran.stdout, *code));
        shown.insert(*code);
    }
    assert_eq!(shown.len() + SHOWN_ELSEWHERE.len(), Code::ALL.len());
}
