//! Every rule does what it promises on its own examples.

use skillwire_scan::{RuleSet, SkillFiles, scan};

#[test]
fn every_example_of_every_rule_holds() {
    let broken = RuleSet::built_in().check_examples();
    let listed: Vec<_> =
        broken.iter().map(|it| format!("{} {:?}: {}", it.rule, it.kind, it.text)).collect();
    assert!(broken.is_empty(), "{}", listed.join("\n"));
}

/// Rules about bytes, for which examples in a file of rules have no room; the test below tries them.
const ABOUT_BYTES: [&str; 3] = [
    "obfuscation/compiled-program",
    "obfuscation/disguised-archive",
    "obfuscation/encrypted-archive",
];

/// A rule about code over 8 kB, too long for an example; the tests in `unparsed.rs` try it.
const ABOUT_LONG_CODE: [&str; 1] = ["obfuscation/unparsed-code"];

#[test]
fn every_rule_but_those_about_bytes_and_long_code_has_examples_of_both_kinds() {
    let without: Vec<_> = RuleSet::built_in()
        .rules()
        .iter()
        .filter(|rule| {
            let (matches, passes) = rule.examples();
            matches == 0 || passes == 0
        })
        .map(|rule| rule.id.as_str())
        .collect();
    let mut expected = ABOUT_BYTES.to_vec();
    expected.extend(ABOUT_LONG_CODE);
    expected.sort_unstable();
    let mut found = without.clone();
    found.sort_unstable();
    assert_eq!(found, expected);
}

/// A ZIP archive of one empty file, with flags.
fn zip(flags: u8) -> Vec<u8> {
    let local = [&b"PK\x03\x04\x14\0"[..], &[flags], &[0; 19], b"\x01\0\0\0a"].concat();
    let entry =
        [&b"PK\x01\x02\0\0\0\0"[..], &[flags], &[0; 19], b"\x01\0", &[0; 16], b"a"].concat();
    let place = u8::try_from(local.len()).expect("it is small");
    let length = u8::try_from(entry.len()).expect("it is small");
    let end = [&b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..], &[length, 0, 0, 0, place, 0, 0, 0, 0, 0]];
    [local, entry, end.concat()].concat()
}

#[test]
fn rules_about_bytes_match_bytes_and_not_names() {
    let found = |path: &str, bytes: &[u8]| -> Vec<String> {
        let text = "---\nname: notes\ndescription: Takes notes.\n---\n\n# Notes\n";
        let skill = SkillFiles::new().with("SKILL.md", text).with(path, bytes.to_vec());
        let report = scan(&skill, RuleSet::built_in());
        report.findings.iter().map(|it| it.rule.clone()).collect()
    };
    let program = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0";
    for (path, bytes, expected) in [
        ("bin/tool", &program[..], Some("obfuscation/compiled-program")),
        ("bin/tool", b"A text about ELF.\n", None),
        ("assets/a.png", &zip(0), Some("obfuscation/disguised-archive")),
        ("assets/a.zip", &zip(0), None),
        ("assets/a.zip", &zip(1), Some("obfuscation/encrypted-archive")),
        ("assets/a.bin", &zip(1), Some("obfuscation/encrypted-archive")),
        ("assets/a.md", b"PK is how an archive begins.\n", None),
    ] {
        let found = found(path, bytes);
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{path}");
    }
}
