//! Repairs: what they change, what they leave alone, and that a parser reads the same afterwards.

use proptest::prelude::*;
use serde_json::{Map, Value};
use skillwire_core::{
    Code, Finding,
    repair::{Repair, mend},
    skill_file,
};

fn mended(file: &str) -> Option<String> {
    mend(file.as_bytes())
        .map(|mended| String::from_utf8(mended.bytes).expect("a repair leaves text"))
}

/// Lines between fences, with a good name and description before them.
fn file(lines: &str) -> String {
    format!("---\nname: pdf\ndescription: Reads PDF. Use when asked.\n{lines}---\n# Body  \n")
}

fn findings(file: &str) -> Vec<Finding> {
    skill_file::check(file.as_bytes()).1
}

fn fields(file: &str) -> Option<Map<String, Value>> {
    skill_file::read(file.as_bytes())?.0
}

#[test]
fn text_that_other_parsers_misread_is_quoted() {
    let before = file("license: no\nmetadata:\n  on: yes\n  day: 2026-01-31\n  num: 1_000\n");
    let after = file(
        "license: \"no\"\nmetadata:\n  \"on\": \"yes\"\n  day: \"2026-01-31\"\n  num: \"1_000\"\n",
    );
    assert_eq!(mended(&before), Some(after.clone()));
    assert_eq!(fields(&before), fields(&after));
    assert_eq!(mend(before.as_bytes()).unwrap().codes, [Code::YamlAmbiguousScalar]);
}

#[test]
fn numbers_are_left_alone_because_quotes_would_make_text_of_them() {
    let before = file("metadata:\n  mode: 0o14\n  old: 012\n  big: 1e3\n");
    assert!(findings(&before).iter().any(|finding| finding.code == Code::YamlAmbiguousScalar));
    assert_eq!(mended(&before), None);
}

#[test]
fn a_value_with_a_colon_is_quoted_on_one_line_or_several() {
    let before = "---\nname: pdf\ndescription: Does: this \"and\"\n  that too.\n---\n";
    let after = "---\nname: pdf\ndescription: 'Does: this \"and\" that too.'\n---\n";
    assert_eq!(mended(before).as_deref(), Some(after));
    assert_eq!(fields(after).unwrap()["description"], "Does: this \"and\" that too.");
}

#[test]
fn repairs_within_each_other_are_made_one_after_the_other() {
    let before = "---\r\nname: pdf\r\ndescription: Does: this\r\n  and that.\r\n---\r\n";
    let after = "---\nname: pdf\ndescription: \"Does: this and that.\"\n---\n";
    assert_eq!(mended(before).as_deref(), Some(after));
}

#[test]
fn layout_is_mended_up_to_the_closing_fence_and_no_further() {
    let before =
        "\u{feff}--- \r\nname: pdf\t\r\ndescription: Use when asked.  \r\n---\r\nBody  \r\n";
    let after = "---\nname: pdf\ndescription: Use when asked.\n---\nBody  \r\n";
    assert_eq!(mended(before).as_deref(), Some(after));
    let codes = mend(before.as_bytes()).unwrap().codes;
    assert_eq!(codes, [Code::ByteOrderMark, Code::CrLf, Code::TrailingBlanks]);
}

#[test]
fn layout_findings_point_at_the_first_place() {
    let place = |file: &str, code: Code| {
        let finding = findings(file).into_iter().find(|finding| finding.code == code);
        let finding = finding.unwrap_or_else(|| panic!("{code} is not found in {file:?}"));
        let (position, end) = (finding.position.unwrap(), finding.end.unwrap());
        assert_eq!(position.line, end.line);
        (position.line, position.column, end.column, finding.message)
    };
    let bom = "\u{feff}---\r\nname: pdf\r\ndescription: Use when asked.\n---\n";
    let message = "The file begins with a byte order mark.".to_owned();
    assert_eq!(place(bom, Code::ByteOrderMark), (1, 2, 5, message));
    let message = "2 lines of the frontmatter end in CRLF.".to_owned();
    assert_eq!(place(bom, Code::CrLf), (1, 2, 5, message));
    let plain = "---\r\nname: pdf\ndescription: Use when asked.\n---\n";
    let message = "A line of the frontmatter ends in CRLF.".to_owned();
    assert_eq!(place(plain, Code::CrLf), (1, 1, 4, message));
    let one = "---\nname: pdf\r\ndescription: Use when asked.\n---\nbody\r\n";
    let message = "A line of the frontmatter ends in CRLF.".to_owned();
    assert_eq!(place(one, Code::CrLf), (2, 1, 10, message));
    let blanks = "---\nname: pdf  \ndescription: Use when asked.\n--- \nbody  \n";
    let message = "2 lines of the frontmatter end in blanks.".to_owned();
    assert_eq!(place(blanks, Code::TrailingBlanks), (2, 10, 12, message));
    let blank = "---\nname: pdf\ndescription: Use when asked.\n---\t\nbody\n";
    let message = "A line of the frontmatter ends in blanks.".to_owned();
    assert_eq!(place(blank, Code::TrailingBlanks), (4, 4, 5, message));
    let dashes = file("license: a ---- b\n");
    let message = "The frontmatter holds three dashes that do not end it.".to_owned();
    assert_eq!(place(&dashes, Code::DashesInFrontmatter), (4, 12, 16, message));
}

#[test]
fn each_outermost_bracket_is_pointed_out() {
    let flow = |lines: &str| -> Vec<(usize, String, Option<String>)> {
        let found = findings(&file(lines));
        let flow = found.into_iter().filter(|finding| finding.code == Code::YamlFlowStyle);
        flow.map(|f| (f.span.map_or(0, |s| s.end - s.start), f.message, f.help)).collect()
    };
    let found = flow("a: [b, [c], {d: e}]\nf: {g: [h]}\ni: []\nj: {}\nk: \"[l]\"\n");
    let lengths: Vec<_> = found.iter().map(|(length, ..)| *length).collect();
    assert_eq!(lengths, [16, 8, 2, 2]);
    assert!(found[0].1.starts_with("A list") && found[1].1.starts_with("A mapping"), "{found:?}");
    assert!(found[0].2.as_ref().is_some_and(|help| help.contains("`- `")), "{found:?}");
    assert!(found[1].2.as_ref().is_some_and(|help| help.contains("`key: value`")), "{found:?}");
    assert!(found[2].2.as_ref().is_some_and(|help| help.starts_with("Remove")), "{found:?}");
    assert_eq!(flow("a:\n- b\n- c\n"), []);
}

#[test]
fn blanks_inside_texts_of_several_lines_stay() {
    for text in ["license: |\n  a  \n  b\n", "license: >\n  a  \n  b\n", "license: \"a  \n  b\"\n"]
    {
        let before = file(text);
        assert_eq!(mended(&before), None, "{text:?}");
        assert!(!findings(&before).iter().any(|f| f.code == Code::TrailingBlanks), "{text:?}");
    }
    let around = file("license: |\n  a  \n  b\nmetadata: \n\t\n  c: d \n");
    let after = file("license: |\n  a  \n  b\nmetadata:\n\n  c: d\n");
    assert_eq!(mended(&around), Some(after));
}

#[test]
fn of_frontmatter_that_cannot_be_read_only_the_fences_are_trimmed() {
    let before = "---  \nname: [  \n--- \nbody\n";
    assert_eq!(mended(before).as_deref(), Some("---\nname: [  \n---\nbody\n"));
}

#[test]
fn what_has_no_single_repair_is_left_alone() {
    for file in [
        "",
        "# No fence\n",
        "---\nname: pdf\n",
        "---\nname: PDF Forms\ndescription: x\n---\n",
        "---\nname: a\nname: b\ndescription: x\n---\n",
        "---\nname: pdf\ndescription: x\nmetadata:\n  num: 3\n---\n",
        "---\nname: pdf\ndescription: x\nallowed-tools: [Read]\n---\n",
    ] {
        assert_eq!(mended(file), None, "{file:?}");
    }
}

#[test]
fn every_repair_of_a_file_replaces_bytes_that_are_in_it() {
    let before = "\u{feff}---\r\nname: pdf\r\ndescription: a: b\r\nlicense: no\r\n---\r\n";
    let mut edits = 0;
    for finding in findings(before) {
        if let Some(Repair::Replace(all)) = finding.repair {
            assert!(all.iter().all(|edit| edit.span.end <= before.len()), "{all:?}");
            edits += all.len();
        }
    }
    assert_eq!(edits, 1 + 5 + 1 + 1);
}

/// Frontmatter with everything that has a repair, and much that has none.
fn frontmatter() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("yes".to_owned()),
        Just("2026-01-31".to_owned()),
        Just("1_000".to_owned()),
        Just("012".to_owned()),
        Just("12:30:45".to_owned()),
        Just("\"quoted  \"".to_owned()),
        Just("|\n  block  \n  text".to_owned()),
        Just(">-\n  folded \n\n  text".to_owned()),
        Just("[a, yes]".to_owned()),
        Just("plain\n  and more ".to_owned()),
        "[a-z]{1,6}: [a-z' \"#]{0,8}",
        "[a-zé —-]{0,12}",
        "[ -~]{0,16}",
    ];
    let key = prop_oneof![
        Just("license".to_owned()),
        Just("on".to_owned()),
        Just("metadata".to_owned()),
        "[a-z]{2,8}",
    ];
    let blanks = prop_oneof![3 => Just(""), 1 => Just("  "), 1 => Just("\t")];
    let line = (key, scalar, blanks)
        .prop_map(|(key, scalar, blanks)| format!("{key}: {scalar}{blanks}\n"));
    proptest::collection::vec(line, 0..6).prop_map(|lines| lines.concat())
}

fn skill() -> impl Strategy<Value = String> {
    let body = prop_oneof![Just("# Body\n"), Just("two  \nlines: yes\n"), Just("")];
    let fence = prop_oneof![2 => Just("---"), 1 => Just("--- "), 1 => Just("---\t")];
    (frontmatter(), body, fence, any::<bool>(), any::<bool>()).prop_map(
        |(lines, body, fence, crlf, bom)| {
            let text =
                format!("{fence}\nname: pdf\ndescription: Use when asked.\n{lines}{fence}\n{body}");
            let text = if crlf { text.replace('\n', "\r\n") } else { text };
            if bom { format!("\u{feff}{text}") } else { text }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn after_the_repairs_nothing_is_left_to_repair_and_nothing_reads_differently(before in skill()) {
        let Some(mended) = mend(before.as_bytes()) else {
            // Nothing to repair means that no finding promised a repair.
            prop_assert!(findings(&before).iter().all(|finding| finding.repair.is_none()));
            return Ok(());
        };
        let after = String::from_utf8(mended.bytes).unwrap();
        for finding in findings(&after) {
            prop_assert!(finding.repair.is_none(), "{finding:?} is left of {before:?}");
        }
        if let Some(old) = fields(&before) {
            prop_assert_eq!(Some(old), fields(&after));
        }
        let body = |file: &str| skill_file::read(file.as_bytes()).map(|(_, body)| body.to_owned());
        prop_assert_eq!(body(&before), body(&after));
        prop_assert!(mend(after.as_bytes()).is_none());
    }
}
