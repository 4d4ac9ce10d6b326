//! The skill format: what `check` says about frontmatter, body and files.

use serde_json::{Value, json};
use skillwire_core::{
    file_set::{self, CheckedFile},
    finding::{Code, Finding, Level, Strictness},
    path::RelPath,
    skill_file::{self, SkillFile},
};

/// Checks frontmatter lines below a good name and description.
fn with(lines: &str) -> (Option<SkillFile>, Vec<Finding>) {
    check(&format!("name: pdf\ndescription: Reads PDF. Use when asked.\n{lines}"), "")
}

fn check(yaml: &str, body: &str) -> (Option<SkillFile>, Vec<Finding>) {
    skill_file::check(format!("---\n{}\n---\n{body}", yaml.trim_end()).as_bytes())
}

fn described(description: &str) -> Vec<Finding> {
    check(&format!("name: pdf\ndescription: {}", json!(description)), "").1
}

fn codes(findings: &[Finding]) -> Vec<Code> {
    findings.iter().map(|finding| finding.code).collect()
}

fn field(skill: Option<SkillFile>, name: &str) -> Value {
    skill.expect("the skill is served").frontmatter.fields()[name].clone()
}

#[test]
fn fmt_08_description_is_counted_in_code_points() {
    let when = "Use when asked. ";
    let fill = |emoji: usize| format!("{when}{}", "🙂".repeat(emoji));
    let most = 1024 - when.len();
    assert_eq!(described(&fill(most)), []);
    assert_eq!(codes(&described(&fill(most + 1))), [Code::DescriptionTooLong]);
    assert_eq!(described(&fill(600)), []);
    for empty in ["", "   ", "\n\t"] {
        assert_eq!(codes(&described(empty)), [Code::DescriptionMissing], "{empty:?}");
    }
    assert_eq!(codes(&check("name: pdf", "").1), [Code::DescriptionMissing]);
}

#[test]
fn fmt_08_a_description_that_is_too_long_is_served_only_when_lenient() {
    let finding = described(&format!("Use when asked. {}", "x".repeat(1024))).remove(0);
    assert!(finding.skips(Strictness::Normal) && finding.skips(Strictness::Strict));
    assert!(!finding.skips(Strictness::Lenient));
}

#[test]
fn fmt_09_a_description_without_a_when_is_advised_against() {
    let findings = described("Reads PDF files.");
    assert_eq!(codes(&findings), [Code::DescriptionWithoutWhen]);
    assert_eq!(findings[0].level, Level::Advice);
    assert_eq!(described("Reads PDF files. Use when a user hands one over."), []);
}

#[test]
fn fmt_11_compatibility_has_1_to_500_characters() {
    let note = |text: &str| codes(&with(&format!("compatibility: {}", json!(text))).1);
    assert_eq!(note(&"x".repeat(500)), []);
    assert_eq!(note(&"x".repeat(501)), [Code::CompatibilityTooLong]);
    assert_eq!(note(""), [Code::CompatibilityInvalid]);
    for other in [" 5", "\n- python", "\n  a: b", " null"] {
        let found = codes(&with(&format!("compatibility:{other}")).1);
        assert_eq!(found, [Code::CompatibilityInvalid], "{other}");
    }
}

#[test]
fn fmt_12_compatibility_without_a_real_need_is_advised_against() {
    assert_eq!(codes(&with("compatibility: Any.").1), [Code::CompatibilityVague]);
    assert_eq!(codes(&with("compatibility: Needs Python 3.11.").1), []);
}

#[test]
fn fmt_13_metadata_values_other_than_strings_are_warned_of_and_kept() {
    let (skill, findings) =
        with("metadata:\n  version: 1.5\n  tags: [a]\n  ok: \"yes\"\n  on: true");
    let warned: Vec<_> = findings.iter().filter(|f| f.code == Code::MetadataValue).collect();
    assert_eq!(warned.len(), 3);
    assert!(warned.iter().all(|finding| finding.level == Level::Warning));
    assert_eq!(warned[0].position.map(|p| p.line), Some(5));
    let expected = json!({ "version": 1.5, "tags": ["a"], "ok": "yes", "on": true });
    assert_eq!(field(skill, "metadata"), expected);
    assert_eq!(codes(&with("metadata: text").1), [Code::MetadataNotAMapping]);
}

#[test]
fn fmt_14_metadata_keys_that_others_use_too_are_pointed_out() {
    assert_eq!(codes(&with("metadata:\n  id: x").1), [Code::MetadataKeyGeneric]);
    assert_eq!(codes(&with("metadata:\n  acme.example/id: x").1), []);
    let reserved = codes(&with("metadata:\n  io.modelcontextprotocol/x: z").1);
    assert_eq!(reserved, [Code::MetadataReserved]);
}

#[test]
fn fmt_15_allowed_tools_is_taken_in_all_three_forms_and_kept() {
    for (line, value, warned) in [
        ("Read Bash(git add:*, git commit:*)", json!("Read Bash(git add:*, git commit:*)"), false),
        ("\"Read, Grep\"", json!("Read, Grep"), true),
        ("[Read, Grep]", json!(["Read", "Grep"]), true),
    ] {
        let (skill, findings) = with(&format!("allowed-tools: {line}"));
        assert_eq!(codes(&findings).contains(&Code::AllowedToolsForm), warned, "{line}");
        if warned {
            let form = findings.iter().find(|finding| finding.code == Code::AllowedToolsForm);
            let help = form.and_then(|finding| finding.help.as_deref());
            assert_eq!(help, Some("Write `allowed-tools: Read Grep`."));
        }
        assert_eq!(field(skill, "allowed-tools"), value);
    }
}

#[test]
fn fmt_16_unknown_fields_are_warned_of_and_kept() {
    let (skill, findings) = with("version: \"2\"\nhooks:\n  a: 1");
    assert_eq!(codes(&findings), [Code::UnknownKey, Code::UnknownKey]);
    assert_eq!(findings[0].help.as_deref(), Some("Move it below `metadata`: `version: \"2\"`."));
    assert_eq!(findings[0].position.map(|p| (p.line, p.column)), Some((4, 1)));
    assert_eq!(field(skill.clone(), "version"), json!("2"));
    assert_eq!(field(skill, "hooks"), json!({ "a": 1 }));
}

#[test]
fn fmt_17_the_body_may_be_empty() {
    let (skill, findings) = with("");
    assert!(skill.is_some());
    assert_eq!(findings, []);
}

#[test]
fn fmt_18_a_long_body_is_advised_against() {
    let yaml = "name: pdf\ndescription: Use when asked.";
    assert_eq!(codes(&check(yaml, &"x\n".repeat(500)).1), []);
    assert_eq!(codes(&check(yaml, &"x\n".repeat(501)).1), [Code::BodyLong]);
    assert_eq!(codes(&check(yaml, &"x".repeat(20_100)).1), [Code::BodyLong]);
}

/// Checks a skill with this body and these further files.
fn files(body: &str, others: &[(&str, &str)]) -> Vec<Finding> {
    let text = format!("---\nname: pdf\ndescription: Use when asked.\n---\n{body}");
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
    file_set::check(&skill, &checked)
}

#[test]
fn fmt_19_links_that_lead_nowhere_or_out_are_warned_of_with_their_line() {
    let findings = files("[a](a.md)\n[b](../b.md)\n[c](/c.md)\n[d](d%20d.md)", &[("d d.md", "")]);
    let found: Vec<_> = findings.iter().filter(|f| f.level == Level::Warning).collect();
    assert_eq!(
        found.iter().map(|f| (f.code, f.position.map_or(0, |p| p.line))).collect::<Vec<_>>(),
        [(Code::LinkMissing, 5), (Code::LinkNotPortable, 6), (Code::LinkNotPortable, 7)]
    );
}

#[test]
fn fmt_20_a_file_reached_only_through_a_reference_is_pointed_out() {
    let others = [("references/a.md", "[b](b.md)"), ("references/b.md", "")];
    let findings = files("[a](references/a.md)", &others);
    assert_eq!(codes(&findings), [Code::LinkChain]);
    assert_eq!(findings[0].file, "references/a.md");
    assert_eq!(codes(&files("[a](references/a.md) [b](references/b.md)", &others)), []);
}

#[test]
fn fmt_21_a_script_that_does_not_say_how_it_is_run_is_pointed_out() {
    assert_eq!(codes(&files("", &[("scripts/go", "echo")])), [Code::ScriptWithoutInterpreter]);
    assert_eq!(codes(&files("", &[("scripts/go", "#!/bin/sh\necho"), ("scripts/a.py", "x")])), []);
}

#[test]
fn v_39_names_that_some_disks_cannot_tell_apart_are_warned_of() {
    for twin in [("A.md", "a.md"), ("caf\u{e9}.md", "cafe\u{301}.md")] {
        let findings = files("", &[(twin.0, ""), (twin.1, "")]);
        let twins: Vec<_> = findings.iter().filter(|f| f.code == Code::FileNameTwins).collect();
        assert_eq!(twins.len(), 1, "{twin:?}");
        assert_eq!(twins[0].level, Level::Warning);
    }
}

#[test]
fn v_52_dashes_in_values_do_not_end_the_frontmatter() {
    let yaml = "name: pdf\ndescription: |\n  Uses --- dashes. Use when asked.\n  ---\n  more";
    let (skill, _) = check(yaml, "body\n---\n");
    let description = skill.expect("the skill is served").frontmatter.description().to_owned();
    assert_eq!(description, "Uses --- dashes. Use when asked.\n---\nmore\n");
}
