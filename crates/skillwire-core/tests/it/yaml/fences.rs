//! Where frontmatter begins and ends, and where its values stand.

use serde_json::{Value, json};
use skillwire_core::{
    Code, Position,
    yaml::{Limits, parse, split},
};

use super::{errors, only, read_file, text, value};

#[test]
fn frontmatter_needs_both_fences_fmt_02() {
    for file in
        ["", "\n", "name: x\n", "\n---\na: 1\n---\n", " ---\na: 1\n---\n", "----\na: 1\n---\n"]
    {
        assert_eq!(split(file.as_bytes()).unwrap_err().code, Code::FrontmatterMissing, "{file:?}");
    }
    for file in [
        "---",
        "---\n",
        "---\na: 1\n",
        "---\na: 1\n ---\n",
        "---\na: 1\n----\n",
        "---\na: 1\n...\n",
    ] {
        assert_eq!(split(file.as_bytes()).unwrap_err().code, Code::FrontmatterUnclosed, "{file:?}");
    }
    for near in ["  ---", "----", "\u{2014}", "... "] {
        let file = format!("---\na: 1\nb: 2\n{near}\nbody");
        let finding = split(file.as_bytes()).unwrap_err();
        assert!(finding.help.unwrap().contains("Line 4"), "{near:?}");
    }
    let far = split(b"---\na: 1\n.. .\nbody\n").unwrap_err();
    assert_eq!(far.help.as_deref(), Some("Add a line `---` after the last field."));
}

#[test]
fn a_file_without_fences_is_told_where_they_belong_fmt_02() {
    for (file, advice) in [
        ("", "The file is empty."),
        (" \n\n", "The file is empty."),
        ("\n---\na: 1\n---\n", "Make `---` the very first line"),
        ("\u{2014}\na: 1\n", "Make `---` the very first line"),
        ("# Title\n\n---\n", "Begin the file with a line `---`"),
    ] {
        let help = split(file.as_bytes()).unwrap_err().help.unwrap();
        assert!(help.starts_with(advice), "{file:?}: {help}");
    }
    let place = |file: &str| {
        let span = split(file.as_bytes()).unwrap_err().span.unwrap();
        (span.start, span.end)
    };
    assert_eq!(place("name: x \nb: 1\n"), (0, 7));
    assert_eq!(place("\u{feff}name: x\nb: 1\n"), (3, 10));
    assert_eq!(place("---\nname: x\n"), (0, 3));
    assert_eq!(place("\u{feff}---\nname: x\n"), (3, 6));
}

#[test]
fn the_parts_are_cut_where_the_fences_are_fmt_02() {
    let fenced = split(b"---\na: 1\n---\n# Title\n").unwrap();
    assert_eq!((fenced.yaml, fenced.yaml_offset), ("a: 1\n", 4));
    assert_eq!((fenced.body, fenced.body_offset), ("# Title\n", 13));
    assert!(!fenced.bom && !fenced.crlf);
    assert_eq!(split(b"---\na: 1\n---").unwrap().body, "");
    assert_eq!(split(b"---\n---\n").unwrap().yaml, "");
}

#[test]
fn dashes_inside_values_do_not_close_fmt_26() {
    assert_eq!(value("description: a --- b\n"), json!({ "description": "a --- b" }));
    assert_eq!(value("d: |\n  one\n  ---\n  two\n"), json!({ "d": "one\n---\ntwo\n" }));
    assert_eq!(value("d: '---'\ne: ---x\n"), json!({ "d": "---", "e": "---x" }));
    assert_eq!(value("---x: 1\n"), json!({ "---x": 1 }));
}

#[test]
fn blanks_after_a_fence_do_not_matter_fmt_26() {
    let fenced = split(b"--- \t\na: 1\n---\t \nbody").unwrap();
    assert_eq!((fenced.yaml, fenced.body), ("a: 1\n", "body"));
}

#[test]
fn a_second_block_in_the_body_is_text_h_42() {
    let fenced = split(b"---\na: 1\n---\n---\na: 2\n---\n").unwrap();
    assert_eq!((fenced.yaml, fenced.body), ("a: 1\n", "---\na: 2\n---\n"));
}

#[test]
fn bom_and_crlf_parse_and_keep_their_places_fmt_27() {
    let file = "\u{feff}---\r\nname: é x\r\nd: |\r\n  one\r\n  two\r\n---\r\nbody\r\n";
    let fenced = split(file.as_bytes()).unwrap();
    assert!(fenced.bom && fenced.crlf);
    let (document, findings) = parse(file.as_bytes(), &fenced, &Limits::default());
    let document = document.unwrap();
    assert_eq!(findings, []);
    assert_eq!(Value::Object(document.map.clone()), json!({ "name": "é x", "d": "one\ntwo\n" }));
    assert_eq!(text(file, "/name", &document), (Some("name"), "é x"));
    assert_eq!(text(file, "/d", &document), (Some("d"), "|\r\n  one\r\n  two"));
}

#[test]
fn odd_line_ends_and_terminators_follow_the_parse_rule_v_46() {
    assert_eq!(errors("a: 1\rb: 2\n"), [Code::YamlSyntax]);
    let lone = only("a: 1\rb: 2\n");
    assert_eq!(lone.position, Some(Position { line: 2, column: 5 }));
    assert_eq!(lone.end, Some(Position { line: 2, column: 6 }));
    assert_eq!(split(b"---\ra: 1\r---\r").unwrap_err().code, Code::FrontmatterMissing);
    assert_eq!(errors("a: 1\n...\n"), [Code::YamlDocuments]);
    assert_eq!(errors("a: 1\n...\nb: 2\n"), [Code::YamlDocuments]);
    assert_eq!(errors("a:\n\tb: 1\n"), [Code::YamlSyntax]);
    assert_eq!(value("a:\tb\nc: d\t\n\ne: [\t1\t]\n"), json!({ "a": "b", "c": "d", "e": [1] }));
    assert_eq!(split(b"---\na: 1\n---").unwrap().body, "");
}

#[test]
fn other_encodings_are_refused_with_advice_v_56() {
    let utf16 = |text: &str, big: bool| -> Vec<u8> {
        let bytes = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        text.encode_utf16().flat_map(bytes).collect()
    };
    for big in [true, false] {
        for text in ["\u{feff}---\na: 1\n---\n", "---\na: 1\n---\n"] {
            let finding = split(&utf16(text, big)).unwrap_err();
            assert_eq!(finding.code, Code::FrontmatterNotUtf8);
            assert!(finding.message.contains("UTF-16"), "{}", finding.message);
        }
    }
    let latin1 = split(b"---\nname: caf\xe9\n---\n").unwrap_err();
    assert_eq!(latin1.code, Code::FrontmatterNotUtf8);
    assert_eq!(latin1.position, Some(Position { line: 2, column: 10 }));
    assert_eq!(latin1.end, Some(Position { line: 2, column: 11 }));
    assert_eq!(split(b"---\na: 1\n---\n\xff").unwrap_err().code, Code::FrontmatterNotUtf8);
}

#[test]
fn nodes_tell_where_and_how_a_value_was_written_fmt_24() {
    let file = "---\nname: 'a''b' # c\nd: >-\n  x\n\n  y\n\ne: {f: [1, é ,], \"g/~\": }\nh:\n- i: j\n  k: l\n-\n---\n";
    let document = read_file(file).0.unwrap();
    let expect = |pointer: &str, key: Option<&str>, value: &str, plain: bool| {
        assert_eq!(text(file, pointer, &document), (key, value), "{pointer}");
        assert_eq!(document.node(pointer).unwrap().plain, plain, "{pointer}");
    };
    expect("/name", Some("name"), "'a''b'", false);
    expect("/d", Some("d"), ">-\n  x\n\n  y", false);
    expect("/e", Some("e"), "{f: [1, é ,], \"g/~\": }", false);
    expect("/e/f", Some("f"), "[1, é ,]", false);
    expect("/e/f/1", None, "é", true);
    expect("/e/g~1~0", Some("\"g/~\""), "", true);
    expect("/h", Some("h"), "i: j\n  k: l\n-", false);
    expect("/h/0", None, "i: j\n  k: l", false);
    expect("/h/0/k", Some("k"), "l", true);
    expect("/h/1", None, "", true);
    assert!(
        document.node("").is_some()
            && document.node("/x").is_none()
            && document.node("name").is_none()
    );
}

#[test]
fn a_quoted_value_ends_with_its_own_quote_fmt_24() {
    for quoted in [
        r#""x\"y""#,
        r#""\\""#,
        r#""x'y""#,
        r"'x\'",
        "'it''s'",
        "'abcd''e'",
        "''",
        r#""""#,
        r#"'x"y'"#,
    ] {
        let file = format!("---\na: {quoted} # \"c' \"d'\n---\n");
        let document = read_file(&file).0.unwrap();
        assert_eq!(text(&file, "/a", &document), (Some("a"), quoted));
    }
}

#[test]
fn a_block_begins_with_its_indicator_and_not_with_one_in_a_comment_fmt_24() {
    let file = "---\na: # x | y > z\n  |-\n  text\nb: 1\n---\n";
    let document = read_file(file).0.unwrap();
    assert_eq!(document.map["a"], "text");
    assert_eq!(text(file, "/a", &document), (Some("a"), "|-\n  text"));
}

#[test]
fn a_value_in_brackets_ends_with_its_own_bracket_fmt_24() {
    for flow in [
        "[]",
        "{ }",
        "[a,]",
        "[a , ]",
        "[[a],]",
        "[a: b,]",
        "{a: ,}",
        "{a: b , }",
        "{a,\t}",
        "[a, b,\n  # ] c\n  ]",
        "[a, b # ] c\n  ]",
        "{a: 1, # } c\n  # } d\n  }",
        "{a: 1\n  # } c\n  }",
        "[{a: 1},\r\n  ]",
    ] {
        let file = format!("---\nx: {flow} # ]}}\ny: 1\n---\n");
        let document = read_file(&file).0.unwrap_or_else(|| panic!("{flow:?}"));
        assert_eq!(text(&file, "/x", &document), (Some("x"), flow));
    }
}
