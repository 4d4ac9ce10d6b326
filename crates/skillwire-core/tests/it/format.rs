//! The skill format: what `check` says about frontmatter and body.

use serde_json::{Value, json};
use skillwire_core::{
    Code, Finding, Frontmatter, Level, Strictness,
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

fn help(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.help.as_deref().unwrap_or_default()).collect()
}

fn field(skill: Option<SkillFile>, name: &str) -> Value {
    skill.expect("the skill is served").frontmatter.fields()[name].clone()
}

#[test]
fn description_is_counted_in_code_points_fmt_08() {
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
fn a_description_that_is_too_long_is_served_only_when_lenient_fmt_08() {
    let finding = described(&format!("Use when asked. {}", "x".repeat(1024))).remove(0);
    assert!(finding.skips(Strictness::Normal) && finding.skips(Strictness::Strict));
    assert!(!finding.skips(Strictness::Lenient));
}

#[test]
fn names_and_descriptions_that_are_no_text_come_with_what_to_write_fmt_24() {
    for (value, kind, advice) in [
        (" 123", "a number", "Write `name: \"123\"` if that is the name."),
        (" true", "a boolean", "Write `name: \"true\"` if that is the name."),
        (" null", "null", "Write one word, such as `name: pdf-forms`."),
        ("\n- a", "a list", "Write one word, such as `name: pdf-forms`."),
        ("\n  a: b", "a mapping", "Write one word, such as `name: pdf-forms`."),
    ] {
        let (skill, findings) = check(&format!("name:{value}\ndescription: Use when asked."), "");
        assert!(skill.is_none());
        assert_eq!(codes(&findings), [Code::NameInvalid], "{value}");
        assert_eq!(findings[0].message, format!("`name` is {kind}, not a string."));
        assert_eq!(help(&findings), [advice]);
    }
    let retold = "Say what the skill does and when to use it, in one text.";
    for (value, advice) in [(" 5", "Put it in quotes."), ("\n- a", retold), (" null", retold)] {
        let (skill, findings) = check(&format!("name: pdf\ndescription:{value}"), "");
        assert!(skill.is_none());
        assert_eq!(codes(&findings), [Code::DescriptionMissing], "{value}");
        assert_eq!(help(&findings), [advice]);
    }
}

#[test]
fn invisible_characters_are_named_and_pointed_at_v_54() {
    for hidden in ['\u{202e}', '\u{200b}', '\u{ad}', '\u{61c}', '\u{2066}', '\u{3164}', '\u{e0041}']
    {
        let yaml = format!("name: pdf\ndescription: Use when{hidden} asked.");
        let (skill, findings) = check(&yaml, "");
        assert!(skill.is_some());
        assert_eq!(codes(&findings), [Code::DescriptionCharacters], "{hidden:?}");
        let message = &findings[0].message;
        assert!(message.contains(&format!("U+{:04X}", u32::from(hidden))), "{message}");
        let (position, end) = (findings[0].position.unwrap(), findings[0].end.unwrap());
        assert_eq!((position.line, position.column, end.column), (3, 22, 23), "{hidden:?}");
        assert!(findings[0].skips(Strictness::Strict) && !findings[0].skips(Strictness::Normal));
    }
    // A character written as an escape is not in the file itself, so the whole value is shown.
    for escaped in ["\\u0007", "\\e", "\\L"] {
        let (_, findings) =
            check(&format!("name: pdf\ndescription: \"Use when{escaped} asked.\""), "");
        assert_eq!(codes(&findings), [Code::DescriptionCharacters], "{escaped}");
        assert_eq!(findings[0].position.map(|p| p.column), Some(14));
    }
    assert_eq!(described("Use when asked.\n\tOr é, 字 and 🙂."), []);
}

#[test]
fn names_that_older_dialects_keep_for_themselves_are_warned_of() {
    let named = |name: &str| check(&format!("name: {name}\ndescription: Use when asked."), "");
    for (name, means) in [
        ("index", "`skill://index`"),
        ("lookup", "`skill://lookup/...`"),
        ("prompt-xml", "`skill://prompt-xml`"),
    ] {
        let (skill, findings) = named(name);
        assert!(skill.is_some());
        assert_eq!(codes(&findings), [Code::NameReserved], "{name}");
        assert!(findings[0].message.contains(means), "{}", findings[0].message);
        assert_eq!(findings[0].position.map(|p| (p.line, p.column)), Some((2, 7)));
    }
    assert_eq!(named("indexes").1, []);
}

#[test]
fn a_field_that_a_server_must_not_send_is_named_with_what_is_expected_hst_52() {
    let read = |fields: Value| {
        let Value::Object(fields) = fields else { panic!("not an object") };
        Frontmatter::from_fields(fields)
            .map(|_| ())
            .map_err(|error| (error.about_name(), error.expected(), error.actual().to_owned()))
    };
    assert_eq!(read(json!({ "name": "a", "description": "d" })), Ok(()));
    let fault = |name: bool, expected: &str, actual: &str| {
        Err((name, expected.to_owned(), actual.to_owned()))
    };
    assert_eq!(read(json!({ "description": "d" })), fault(true, "a name as `name`", "nothing"));
    let listed = json!({ "name": [], "description": "d" });
    assert_eq!(read(listed), fault(true, "a string as `name`", "a list"));
    let empty = json!({ "name": "a", "description": "" });
    assert_eq!(read(empty), fault(false, "a description as `description`", "nothing"));
    let long = json!({ "name": "a", "description": "d", "compatibility": "x".repeat(501) });
    let expected = "at most 500 characters as `compatibility`";
    assert_eq!(read(long), fault(false, expected, "501 characters"));
}

#[test]
fn a_description_without_a_when_is_advised_against_fmt_09() {
    let findings = described("Reads PDF files.");
    assert_eq!(codes(&findings), [Code::DescriptionWithoutWhen]);
    assert_eq!(findings[0].level, Level::Advice);
    assert_eq!(described("Reads PDF files. Use when a user hands one over."), []);
}

#[test]
fn a_license_that_is_no_text_is_warned_of_fmt_10() {
    assert_eq!(codes(&with("license: MIT").1), []);
    let (skill, findings) = with("license: 2.0");
    assert_eq!(codes(&findings), [Code::LicenseNotAString]);
    assert_eq!(field(skill, "license"), json!(2.0));
}

#[test]
fn compatibility_has_1_to_500_characters_fmt_11() {
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
fn compatibility_without_a_real_need_is_advised_against_fmt_12() {
    assert_eq!(codes(&with("compatibility: Any.").1), [Code::CompatibilityVague]);
    assert_eq!(codes(&with("compatibility: Needs Python 3.11.").1), []);
}

#[test]
fn metadata_values_other_than_strings_are_warned_of_and_kept_fmt_13() {
    let (skill, findings) = with(
        "metadata:\n  version: 1.5\n  tags: [a, 2]\n  ok: \"yes\"\n  on: true\n  by:\n    a: b",
    );
    let warned: Vec<_> = findings.iter().filter(|f| f.code == Code::MetadataValue).collect();
    assert_eq!(warned.len(), 4);
    assert!(warned.iter().all(|finding| finding.level == Level::Warning));
    assert_eq!(warned[0].position.map(|p| p.line), Some(5));
    let advice: Vec<_> = warned.iter().filter_map(|finding| finding.help.as_deref()).collect();
    assert_eq!(
        advice,
        [
            "Write `version: \"1.5\"`.",
            "Write `tags: \"a, 2\"`.",
            "Write `on: \"true\"`.",
            "Give each field inside a key of its own, such as `by-a`.",
        ]
    );
    let expected = json!({
        "version": 1.5, "tags": ["a", 2], "ok": "yes", "on": true, "by": { "a": "b" },
    });
    assert_eq!(field(skill, "metadata"), expected);
    assert_eq!(codes(&with("metadata: text").1), [Code::MetadataNotAMapping]);
}

#[test]
fn metadata_keys_that_others_use_too_are_pointed_out_fmt_14() {
    assert_eq!(codes(&with("metadata:\n  id: x").1), [Code::MetadataKeyGeneric]);
    assert_eq!(codes(&with("metadata:\n  acme.example/id: x").1), []);
    let reserved = codes(&with("metadata:\n  io.modelcontextprotocol/x: z").1);
    assert_eq!(reserved, [Code::MetadataReserved]);
}

#[test]
fn allowed_tools_is_taken_in_all_three_forms_and_kept_fmt_15() {
    for (line, value, warned) in [
        ("Read Bash(git add:*, git commit:*)", json!("Read Bash(git add:*, git commit:*)"), false),
        ("\"Read, Grep\"", json!("Read, Grep"), true),
        ("\"Read(a), Grep\"", json!("Read(a), Grep"), true),
        ("[Read, Grep]", json!(["Read", "Grep"]), true),
    ] {
        let (skill, findings) = with(&format!("allowed-tools: {line}"));
        assert_eq!(codes(&findings).contains(&Code::AllowedToolsForm), warned, "{line}");
        if warned {
            let form = findings.iter().find(|finding| finding.code == Code::AllowedToolsForm);
            let help = form.and_then(|finding| finding.help.as_deref());
            let plain = if line.contains('(') { "Read(a) Grep" } else { "Read Grep" };
            assert_eq!(help, Some(format!("Write `allowed-tools: {plain}`.").as_str()));
        }
        assert_eq!(field(skill, "allowed-tools"), value);
    }
}

#[test]
fn unknown_fields_are_warned_of_and_kept_fmt_16() {
    let (skill, findings) = with("version: \"2\"\nhooks:\n  a: 1");
    assert_eq!(codes(&findings), [Code::UnknownKey, Code::ClientKey]);
    assert_eq!(
        findings[0].help.as_deref(),
        Some(
            "Move it below `metadata` as `version: \"2\"`, unless a client that you use reads it here."
        )
    );
    assert_eq!(findings[0].position.map(|p| (p.line, p.column)), Some((4, 1)));
    assert_eq!(field(skill.clone(), "version"), json!("2"));
    assert_eq!(field(skill, "hooks"), json!({ "a": 1 }));
}

#[test]
fn settings_of_clients_are_mentioned_and_stay_where_they_are_rs_07_fu_04() {
    for key in [
        "disable-model-invocation: true",
        "user-invocable: false",
        "argument-hint: file",
        "model: fast",
        "context: fork",
        "hooks:\n  a: 1",
        "agent: Explore",
        "paths: src",
    ] {
        let (skill, findings) = with(key);
        assert!(skill.is_some());
        assert_eq!(codes(&findings), [Code::ClientKey], "{key}");
        assert_eq!(findings[0].level, Level::Info);
        assert!(findings[0].message.contains("Claude Code"), "{:?}", findings[0]);
        let help = findings[0].help.as_deref().unwrap_or_default();
        assert!(!help.contains("metadata"), "{help}");
    }
}

#[test]
fn settings_of_a_client_below_metadata_stay_as_they_are_rs_07_fu_04() {
    let (_, findings) = with("metadata:\n  openclaw:\n    requires:\n      bins: \"x\"");
    assert_eq!(codes(&findings), [Code::ClientKey]);
    assert!(findings[0].message.contains("OpenClaw"), "{:?}", findings[0]);
    assert!(findings[0].help.as_deref().is_some_and(|help| help.starts_with("Leave it")));
}

#[test]
fn a_misspelled_key_is_answered_with_the_right_one_rs_07() {
    for (key, meant) in [
        ("user-invokable: true", "user-invocable"),
        ("allowed_tools: Read", "allowed-tools"),
        ("Name: pdf", "name"),
    ] {
        let (_, findings) = with(key);
        assert_eq!(codes(&findings), [Code::UnknownKey], "{key}");
        assert_eq!(findings[0].help, Some(format!("Did you mean `{meant}`?")));
    }
}

#[test]
fn a_list_of_tools_in_brackets_gets_one_help_fu_24() {
    let (_, findings) = with("allowed-tools: [Bash, Read]");
    assert_eq!(codes(&findings), [Code::AllowedToolsForm]);
    assert_eq!(findings[0].help.as_deref(), Some("Write `allowed-tools: Bash Read`."));
    let (_, findings) = with("allowed-tools: [Bash]\nmetadata: {a: b}");
    assert_eq!(codes(&findings), [Code::YamlFlowStyle, Code::AllowedToolsForm]);
}

#[test]
fn occasions_are_recognised_in_other_words_and_languages_rs_12() {
    for says in [
        "Creates charts. Triggers: chart, plot.",
        "Activates for questions about billing.",
        "Reviews code. Invoke with /review.",
        "处理 PDF 表单，提取文本和表格，合并文档。",
        "PDF のフォームに入力し、表を取り出します。",
        "Wertet Tabellen aus und erstellt Berichte über Umsätze.",
        "Crea informes de ventas y gráficos.",
    ] {
        let yaml = format!("name: pdf\ndescription: {}", skillwire_core::yaml::quote(says));
        assert_eq!(codes(&check(&yaml, "").1), [], "{says}");
    }
    let (_, findings) = check("name: pdf\ndescription: Fills the fields of PDF forms.", "");
    assert_eq!(codes(&findings), [Code::DescriptionWithoutWhen]);
}

#[test]
fn the_body_may_be_empty_fmt_17() {
    let (skill, findings) = with("");
    assert!(skill.is_some());
    assert_eq!(findings, []);
}

#[test]
fn a_long_body_is_advised_against_fmt_18() {
    let yaml = "name: pdf\ndescription: Use when asked.";
    assert_eq!(codes(&check(yaml, &"x\n".repeat(500)).1), []);
    assert_eq!(codes(&check(yaml, &"x\n".repeat(501)).1), [Code::BodyLong]);
    assert_eq!(codes(&check(yaml, &"x".repeat(20_003)).1), []);
    assert_eq!(codes(&check(yaml, &"x".repeat(20_004)).1), [Code::BodyLong]);
}

#[test]
fn dashes_in_values_do_not_end_the_frontmatter_v_52() {
    let yaml = "name: pdf\ndescription: |\n  Uses --- dashes. Use when asked.\n  ---\n  more";
    let (skill, _) = check(yaml, "body\n---\n");
    let description = skill.expect("the skill is served").frontmatter.description().to_owned();
    assert_eq!(description, "Uses --- dashes. Use when asked.\n---\nmore\n");
}
