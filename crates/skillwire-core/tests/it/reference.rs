//! The model of the reference validator; `tools/reference-agreement` compares it with the real one.

use skillwire_core::{
    Code,
    reference::{Complaint, judge},
};

fn codes(file: &str, directory: &str) -> Vec<Option<Code>> {
    judge("SKILL.md", file.as_bytes(), directory).iter().map(|complaint| complaint.code).collect()
}

/// Complaints about lines below a good name and description.
fn with(lines: &str) -> Vec<Option<Code>> {
    codes(&format!("---\nname: pdf\ndescription: Reads PDF.\n{lines}---\nbody\n"), "pdf")
}

#[test]
fn a_plain_skill_is_accepted() {
    assert_eq!(with(""), []);
    assert_eq!(with("license: MIT\ncompatibility: \"\"\nmetadata:\n  a: 1\n  b: yes\n"), []);
    assert_eq!(codes("--- \r\nname: 123\r\ndescription: ~\r\n---\r\n", "123"), []);
    assert_eq!(codes("---\nname: été\ndescription: x\n---", "été"), []);
}

#[test]
fn only_two_spellings_of_the_file_are_found() {
    let file = b"---\nname: a\ndescription: x\n---\n";
    assert_eq!(judge("skill.md", file, "a"), []);
    let complaints = judge("Skill.md", file, "a");
    assert_eq!(complaints[0].code, Some(Code::SkillFileCase));
}

#[test]
fn the_frontmatter_is_cut_at_the_first_dashes() {
    assert_eq!(codes("# Title\n", "a"), [Some(Code::FrontmatterMissing)]);
    assert_eq!(codes("\u{feff}---\nname: a\n---\n", "a"), [Some(Code::ByteOrderMark)]);
    assert_eq!(codes("---\nname: a\n", "a"), [Some(Code::FrontmatterUnclosed)]);
    let cut = codes("---\nname: a\ndescription: \"b --- c\"\n---\n", "a");
    assert_eq!(cut, [Some(Code::DashesInFrontmatter)]);
    // What is left may still be a skill to it.
    assert_eq!(codes("---\nname: a\ndescription: b --- c\n---\n", "a"), []);
    let Complaint { code, .. } = &judge("SKILL.md", b"---\nname: \xff\n---\n", "a")[0];
    assert_eq!(*code, Some(Code::FrontmatterNotUtf8));
}

#[test]
fn its_yaml_is_stricter_than_yaml() {
    for (lines, code) in [
        ("metadata: {a: b}\n", Some(Code::YamlFlowStyle)),
        ("allowed-tools: []\n", Some(Code::YamlFlowStyle)),
        ("license: !!str x\n", Some(Code::YamlTag)),
        ("license: &a x\n", Some(Code::YamlReference)),
        ("license: *a\n", Some(Code::YamlReference)),
        ("license: a\nlicense: b\n", Some(Code::YamlDuplicateKey)),
        ("metadata:\n  a:\n    b: c\n  d:\n      e: f\n", None),
        ("license: a: b\n", Some(Code::YamlUnquotedColon)),
        ("license: \"a\n", Some(Code::YamlSyntax)),
    ] {
        assert_eq!(with(lines), [code], "{lines:?}");
    }
    // The first of several problems hides the rest.
    assert_eq!(with("version: [1]\nlicense: &a x\n"), [Some(Code::YamlFlowStyle)]);
    for file in ["---\n- a\n---\n", "---\ntext\n---\n", "---\n---\n"] {
        assert_eq!(codes(file, "a"), [Some(Code::FrontmatterNotAMapping)], "{file:?}");
    }
}

#[test]
fn a_line_of_dots_may_end_the_frontmatter_and_nothing_else() {
    for end in ["...\n", "... # c\n# d\n\n", "...\t\n", "...\t# c\n"] {
        assert_eq!(with(end), [], "{end:?}");
    }
    for more in ["...\nlicense: y\n", "... x\n", "...\tx\n"] {
        assert_eq!(with(more), [Some(Code::YamlDocuments)], "{more:?}");
    }
    for text in ["...x\n", ".... \n"] {
        assert_eq!(with(text), [Some(Code::YamlSyntax)], "{text:?}");
    }
    for early in ["---\n...\nname: a\ndescription: x\n---\n", "---\n# c\n...\n---\n"] {
        assert_eq!(codes(early, "a"), [Some(Code::YamlDocuments)], "{early:?}");
    }
}

#[test]
fn it_knows_tabs_only_in_quotes_blocks_and_comments() {
    for fine in [
        "license: \"a\tb\"\n",
        "license: 'a\tb'\n",
        "license: a # b\tc\n",
        "license: ab # b\tc\n",
        "license: abc # b\tc\n",
        "license: 'a' # b\tc\n",
        "#\tc\nlicense: a\n",
        "license: |\n  a\tb\n",
    ] {
        assert_eq!(with(fine), [], "{fine:?}");
    }
    for stray in ["license: a\tb\n", "# x\nlicense: a\tb\n", "license: a#b\tc\n", "license: é\tb\n"]
    {
        assert_eq!(with(stray), [None], "{stray:?}");
    }
    for last in ["license: a\t\n", "license: a \t \n", "license: a\n\t\n"] {
        assert_eq!(with(last), [Some(Code::TrailingBlanks)], "{last:?}");
    }
}

#[test]
fn fields_are_judged_by_its_own_limits() {
    let name = |name: &str| codes(&format!("---\nname: {name}\ndescription: x\n---\n"), "a");
    let invalid = Some(Code::NameInvalid);
    let elsewhere = Some(Code::NameNotDirectory);
    assert_eq!(name("a"), []);
    assert_eq!(name("b"), [elsewhere]);
    assert_eq!(name("\"\""), [invalid]);
    assert_eq!(name("\n- a"), [invalid]);
    assert_eq!(name("A_b"), [invalid, invalid, elsewhere]);
    assert_eq!(name("-a--b"), [invalid, invalid, elsewhere]);
    assert_eq!(name(&"a".repeat(64)), [elsewhere]);
    assert_eq!(name(&"a".repeat(65)), [invalid, elsewhere]);
    assert_eq!(
        codes("---\na: b\n---\n", "a"),
        [Some(Code::UnknownKey), Some(Code::NameMissing), Some(Code::DescriptionMissing)]
    );
    let long = |key: &str, length| with(&format!("{key}: {}\n", "x".repeat(length)));
    assert_eq!(long("compatibility", 500), []);
    assert_eq!(long("compatibility", 501), [Some(Code::CompatibilityTooLong)]);
    assert_eq!(with("compatibility:\n- a\n"), [Some(Code::CompatibilityInvalid)]);
    let described = |text: &str| codes(&format!("---\nname: a\ndescription: {text}\n---\n"), "a");
    assert_eq!(described(&"é".repeat(1_024)), []);
    assert_eq!(described(&"é".repeat(1_025)), [Some(Code::DescriptionTooLong)]);
    assert_eq!(described("\"  \""), [Some(Code::DescriptionMissing)]);
    assert_eq!(described("\n  a: b"), [Some(Code::DescriptionMissing)]);
}
