//! Frontmatter: fences, YAML 1.2, refusals, limits and places.

use serde_json::{Value, json};
use skillwire_core::finding::{Code, Finding, Level};
use skillwire_core::span::Position;
use skillwire_core::yaml::{Document, Limits, parse, quote, split};

/// Reads frontmatter between two fences.
fn read(yaml: &str) -> (Option<Document>, Vec<Finding>) {
    read_file(&format!("---\n{yaml}---\nbody\n"))
}

fn read_file(file: &str) -> (Option<Document>, Vec<Finding>) {
    let fenced = split(file.as_bytes()).expect("the fences are there");
    parse(file.as_bytes(), &fenced, &Limits::default())
}

/// The value of frontmatter that must be accepted.
fn value(yaml: &str) -> Value {
    let (document, findings) = read(yaml);
    let document = document.unwrap_or_else(|| panic!("{yaml:?} is refused: {findings:#?}"));
    Value::Object(document.map)
}

/// The errors of frontmatter that must be refused.
fn errors(yaml: &str) -> Vec<Code> {
    let (document, findings) = read(yaml);
    assert!(document.is_none(), "{yaml:?} is accepted: {document:?}");
    let errors = findings.iter().filter(|finding| finding.level == Level::Error);
    errors.map(|finding| finding.code).collect()
}

fn only(yaml: &str) -> Finding {
    let (_, mut findings) = read(yaml);
    assert_eq!(findings.len(), 1, "{yaml:?}: {findings:#?}");
    findings.remove(0)
}

fn text<'a>(file: &'a str, pointer: &str, document: &Document) -> (Option<&'a str>, &'a str) {
    let node = document.node(pointer).unwrap_or_else(|| panic!("no node at {pointer:?}"));
    let slice = |span: skillwire_core::span::Span| &file[span.start..span.end];
    (node.key.map(slice), slice(node.value))
}

#[test]
fn fmt_02_frontmatter_needs_both_fences() {
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
    let near = split(b"---\na: 1\n  ---\nbody").unwrap_err();
    assert!(near.help.unwrap().contains("Line 3"), "the near miss is named");
}

#[test]
fn fmt_02_the_parts_are_cut_where_the_fences_are() {
    let fenced = split(b"---\na: 1\n---\n# Title\n").unwrap();
    assert_eq!((fenced.yaml, fenced.yaml_offset), ("a: 1\n", 4));
    assert_eq!((fenced.body, fenced.body_offset), ("# Title\n", 13));
    assert!(!fenced.bom && !fenced.crlf);
    assert_eq!(split(b"---\na: 1\n---").unwrap().body, "");
    assert_eq!(split(b"---\n---\n").unwrap().yaml, "");
}

#[test]
fn fmt_26_dashes_inside_values_do_not_close() {
    assert_eq!(value("description: a --- b\n"), json!({ "description": "a --- b" }));
    assert_eq!(value("d: |\n  one\n  ---\n  two\n"), json!({ "d": "one\n---\ntwo\n" }));
    assert_eq!(value("d: '---'\ne: ---x\n"), json!({ "d": "---", "e": "---x" }));
    assert_eq!(value("---x: 1\n"), json!({ "---x": 1 }));
}

#[test]
fn fmt_26_blanks_after_a_fence_do_not_matter() {
    let fenced = split(b"--- \t\na: 1\n---\t \nbody").unwrap();
    assert_eq!((fenced.yaml, fenced.body), ("a: 1\n", "body"));
}

#[test]
fn h_42_a_second_block_in_the_body_is_text() {
    let fenced = split(b"---\na: 1\n---\n---\na: 2\n---\n").unwrap();
    assert_eq!((fenced.yaml, fenced.body), ("a: 1\n", "---\na: 2\n---\n"));
}

#[test]
fn fmt_27_bom_and_crlf_parse_and_keep_their_places() {
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
fn v_46_odd_line_ends_and_terminators_follow_the_parse_rule() {
    assert_eq!(errors("a: 1\rb: 2\n"), [Code::YamlSyntax]);
    assert_eq!(split(b"---\ra: 1\r---\r").unwrap_err().code, Code::FrontmatterMissing);
    assert_eq!(errors("a: 1\n...\n"), [Code::YamlDocuments]);
    assert_eq!(errors("a: 1\n...\nb: 2\n"), [Code::YamlDocuments]);
    assert_eq!(errors("a:\n\tb: 1\n"), [Code::YamlSyntax]);
    assert_eq!(value("a:\tb\nc: d\t\n\ne: [\t1\t]\n"), json!({ "a": "b", "c": "d", "e": [1] }));
    assert_eq!(split(b"---\na: 1\n---").unwrap().body, "");
}

#[test]
fn v_56_other_encodings_are_refused_with_advice() {
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
    assert_eq!(split(b"---\na: 1\n---\n\xff").unwrap_err().code, Code::FrontmatterNotUtf8);
}

#[test]
fn srv_36_block_scalars_follow_yaml_1_2() {
    let folded = "a: >\n  one\n  two\n\n  three\n    more\n  four\n\n\n";
    assert_eq!(value(folded), json!({ "a": "one two\nthree\n  more\nfour\n" }));
    assert_eq!(
        value("a: |-\n  x\n\nb: |+\n  y\n\nc: 1\n"),
        json!({ "a": "x", "b": "y\n\n", "c": 1 })
    );
    assert_eq!(value("a: |2\n   x\n  y\n"), json!({ "a": " x\ny\n" }));
    assert_eq!(value("a: >-\n  # text\n  b\n"), json!({ "a": "# text b" }));
    assert_eq!(value("a: |\nb: >+\n\nc:\n"), json!({ "a": "", "b": "\n", "c": null }));
}

#[test]
fn v_53_blank_and_hash_lines_belong_to_the_block() {
    let yaml = "a: |2+ # note\n  # one\n\n    two\n  three\n\n# comment\nb: >1-\n x\n\n\n y\n";
    let expected = json!({ "a": "# one\n\n  two\nthree\n\n", "b": "x\n\ny" });
    assert_eq!(value(yaml), expected);
}

#[test]
fn srv_36_quoted_and_plain_scalars_follow_yaml_1_2() {
    let double = r#"a: "\x41\u00e9\U0001F600\n\t\\\/\"\0\e\N\_\L\P""#.to_owned() + "\n";
    let expected = "A\u{e9}\u{1f600}\n\t\\/\"\0\u{1b}\u{85}\u{a0}\u{2028}\u{2029}";
    assert_eq!(value(&double), json!({ "a": expected }));
    assert_eq!(value("a: 'it''s\n  \\n'\n"), json!({ "a": "it's \\n" }));
    assert_eq!(value("a: \"x \\\n   y\\\n   \\ z\"\n"), json!({ "a": "x y z" }));
    assert_eq!(value("a: one\n  two\n\n  three # note\n"), json!({ "a": "one two\nthree" }));
    assert_eq!(value("a: b#c http://x:y -z\n"), json!({ "a": "b#c http://x:y -z" }));
    assert_eq!(value("a: \u{85}\u{2028}b\n")["a"], "\u{85}\u{2028}b");
    for bad in ["\"\\ud800\"", "\"\\q\"", "\"\\x4\"", "\"\\U00110000\"", "\"\\'\""] {
        assert_eq!(errors(&format!("a: {bad}\n")), [Code::YamlSyntax], "{bad}");
    }
}

#[test]
fn srv_36_nothing_is_added_dropped_renamed_or_reordered() {
    let yaml = "z: {b: [1, {c: null}], a: ~}\n__proto__: {x: 1}\nio.example/y:\n- k: v\n  l: \n- - 1\n\"\": e\n";
    let document = read(yaml).0.unwrap();
    let written = serde_json::to_string(&document.map).unwrap();
    let expected = concat!(
        r#"{"z":{"b":[1,{"c":null}],"a":null},"__proto__":{"x":1},"#,
        r#""io.example/y":[{"k":"v","l":null},[1]],"":"e"}"#
    );
    assert_eq!(written, expected);
}

#[test]
fn fmt_28_plain_scalars_follow_the_core_schema() {
    let integers = [("0", 0), ("-1", -1), ("+12", 12), ("0755", 755), ("0o17", 15), ("0x1F", 31)];
    let floats = [(".5", 0.5), ("1.", 1.0), ("1e3", 1000.0), ("-1.5E-2", -0.015), ("+.5", 0.5)];
    for (text, number) in integers {
        assert_eq!(value(&format!("a: {text}\n")), json!({ "a": number }), "{text}");
    }
    for (text, number) in floats {
        assert_eq!(value(&format!("a: {text}\n")), json!({ "a": number }), "{text}");
    }
    for text in ["~", "null", "Null", "NULL", ""] {
        assert_eq!(value(&format!("a: {text}\n")), json!({ "a": null }), "{text}");
    }
    for (text, truth) in [("true", true), ("True", true), ("TRUE", true), ("FALSE", false)] {
        assert_eq!(value(&format!("a: {text}\n")), json!({ "a": truth }), "{text}");
    }
    let strings = [
        "no",
        "yes",
        "on",
        "off",
        "y",
        "12:30",
        "12:30:45",
        "1_000",
        "2026-01-01",
        "0b1",
        "-0x1F",
        "-0o7",
        "0o8",
        "0xg",
        "1e",
        ".",
        "-",
        "+",
        "1.2.3",
        "tRue",
        "nULL",
        "e3",
        ".inf1",
        "=",
    ];
    for text in strings {
        if text != "-" {
            assert_eq!(value(&format!("a: {text}\n")), json!({ "a": text }), "{text}");
        }
        assert_eq!(value(&format!("a: '{text}'\n")), json!({ "a": text }), "{text}");
    }
    assert_eq!(value("a: \"1\"\nb: |-\n  true\n"), json!({ "a": "1", "b": "true" }));
}

#[test]
fn fmt_28_scalars_that_parsers_read_differently_are_warned_about() {
    let ambiguous = [
        "yes",
        "No",
        "ON",
        "off",
        "y",
        "N",
        "0755",
        "-07",
        "0899",
        "0o7",
        "1_000",
        "0b1",
        "-0x1F",
        "0x_F",
        "12:30",
        "12:30:45",
        "1:30.5",
        "2026-01-01",
        "2026-01-01T10:00:00Z",
        "2026-1-1 10:00:00",
        "1e3",
        "1.5e3",
        "1_0.5",
        "=",
    ];
    for text in ambiguous {
        let finding = only(&format!("a: {text}\n"));
        assert_eq!(finding.code, Code::YamlAmbiguousScalar, "{text}");
        assert!(finding.help.unwrap().contains(&format!("`\"{text}\"`")), "{text}");
        assert_eq!(read(&format!("a: \"{text}\"\n")).1, [], "{text}");
    }
    for text in [
        "true", "1.0", "0", "1.5e+3", "0x1F", "-1", "~", "1.2.3", "v1", "a_b", "nope", "08:30",
        "<<",
    ] {
        assert_eq!(read(&format!("a: {text}\n")).1, [], "{text}");
    }
    assert_eq!(only("on: 1\n").code, Code::YamlAmbiguousScalar, "keys too");
}

#[test]
fn fmt_29_values_that_json_cannot_carry_are_refused() {
    let bad = [
        ".inf",
        "-.Inf",
        "+.INF",
        ".nan",
        ".NaN",
        "1e309",
        "-1e400",
        "9007199254740992",
        "-9007199254740992",
        "0x20000000000000",
        "1180591620717411303424",
        "0o777777777777777777777777",
    ];
    for text in bad {
        assert_eq!(errors(&format!("a: [{text}]\n")), [Code::YamlNotJson], "{text}");
    }
    let largest = json!({ "a": 9_007_199_254_740_991_i64, "b": -9_007_199_254_740_991_i64 });
    assert_eq!(value("a: 9007199254740991\nb: -9007199254740991\n"), largest);
}

#[test]
fn fmt_25_duplicate_keys_are_refused_at_any_depth() {
    for yaml in [
        "name: a\nname: b\n",
        "name: a\n\"name\": b\n",
        "a: {b: 1, 'b': 2}\n",
        "a:\n- b:\n    c: 1\n    c: 2\n",
        "a: [{\"\\x62\": 1, b: 2}]\n",
    ] {
        assert_eq!(errors(yaml), [Code::YamlDuplicateKey], "{yaml}");
    }
    let finding = only("name: a\nb: 1\nname: c\n");
    assert_eq!(finding.position, Some(Position { line: 4, column: 1 }));
    assert!(finding.message.contains("line 2") && finding.message.contains("line 4"));
}

#[test]
fn v_48_every_repetition_is_reported() {
    assert_eq!(errors("a: 1\na: 2\na: 3\n"), [Code::YamlDuplicateKey; 2]);
}

#[test]
fn fmt_25_keys_are_strings() {
    for key in ["123", "true", "null", "~", "1.5", ".nan", "[a]", "{a: b}", "? [a]\n", "? - a\n"] {
        assert_eq!(errors(&format!("{key}: v\n")), [Code::YamlKeyNotAString], "{key}");
    }
    assert!(only("123: v\n").help.unwrap().contains("\"123\""));
    assert_eq!(
        value("\"123\": v\n'null': w\n? x\n: y\n"),
        json!({ "123": "v", "null": "w", "x": "y" })
    );
}

#[test]
fn fmt_25_the_root_is_a_mapping() {
    for yaml in
        ["", "\n# only a comment\n", "- a\n", "[a]\n", "text\n", "~\n", "'a: b'\n", "{a: 1}: 2\n"]
    {
        let codes = errors(yaml);
        let expected = if yaml.starts_with('{') {
            Code::YamlKeyNotAString
        } else {
            Code::FrontmatterNotAMapping
        };
        assert_eq!(codes, [expected], "{yaml:?}");
    }
    assert_eq!(value("{a: 1}\n"), json!({ "a": 1 }));
}

#[test]
fn fmt_28_references_tags_and_documents_are_refused() {
    for yaml in [
        "a: &x 1\nb: 2\n",
        "a: *x\n",
        "<<: {a: 1}\n",
        "a: &x [1]\n",
        "a: *bold* text\n",
        "*x : 1\n",
    ] {
        assert_eq!(errors(yaml), [Code::YamlReference], "{yaml}");
    }
    for yaml in [
        "a: !!str 1\n",
        "a: ! 1\n",
        "a: !x 1\n",
        "a: !<tag:x> 1\n",
        "a: !e!x 1\n",
        "!!map {a: 1}\n",
    ] {
        assert_eq!(errors(yaml), [Code::YamlTag], "{yaml}");
    }
    for yaml in ["%YAML 1.2\na: 1\n", "a: 1\n--- # two\nb: 2\n", "%é 1\na: 1\n", "a: 1\n... \n"] {
        assert!(errors(yaml).iter().all(|&code| code == Code::YamlDocuments), "{yaml}");
    }
    assert_eq!(value("\"<<\": 1\na: <<\n"), json!({ "<<": 1, "a": "<<" }));
}

#[test]
fn v_49_lossy_values_never_become_json() {
    let yaml = "a: !!binary aGk=\nb: !!python/object x\nc: .nan\nd: 1180591620717411303424\n~: e\n<<: {f: 1}\n";
    let expected = [
        Code::YamlTag,
        Code::YamlTag,
        Code::YamlNotJson,
        Code::YamlNotJson,
        Code::YamlKeyNotAString,
        Code::YamlReference,
    ];
    assert_eq!(errors(yaml), expected, "everything is reported at once");
}

#[test]
fn v_54_characters_that_yaml_forbids_are_refused() {
    for ch in [
        '\0', '\u{1}', '\u{8}', '\u{b}', '\u{1b}', '\u{7f}', '\u{80}', '\u{9f}', '\u{fffe}',
        '\u{feff}',
    ] {
        for yaml in [format!("a: x{ch}y\n"), format!("a: \"{ch}\"\n"), format!("# {ch}\na: 1\n")] {
            assert_eq!(errors(&yaml), [Code::YamlSyntax], "{yaml:?}");
        }
    }
    let finding = only("a: \u{1b}[31m\n");
    assert!(finding.message.contains("U+001B") && !finding.message.contains('\u{1b}'));
    assert_eq!(value("a: \"\\e\\x7f\"\n"), json!({ "a": "\u{1b}\u{7f}" }));
}

#[test]
fn srv_36_an_unquoted_colon_is_named_and_repaired() {
    let cases = [
        ("description: Use when: asked\n", "description: \"Use when: asked\"", "Use when: asked"),
        ("a: say \"hi\": ok\n", "a: 'say \"hi\": ok'", "say \"hi\": ok"),
        ("a: it's \"x\": \\y\n", "a: \"it's \\\"x\\\": \\\\y\"", "it's \"x\": \\y"),
        ("a: ends with:\n", "a: \"ends with:\"", "ends with:"),
        ("a: é: ü # note\n", "a: \"é: ü\" # note", "é: ü"),
        ("m:\n  - k: v: w\n", "- k: \"v: w\"", "v: w"),
        ("a: one: two\n  three\n", "a: \"one: two three\"", "one: two three"),
    ];
    for (yaml, line, _) in cases {
        let finding = only(yaml);
        assert_eq!(finding.code, Code::YamlUnquotedColon, "{yaml}");
        assert_eq!(finding.help, Some(format!("Put the value in quotes: `{line}`.")), "{yaml}");
    }
    for (yaml, _, meant) in cases {
        // The span and `quote` are what a repair tool needs.
        let file = format!("---\n{yaml}---\nbody\n");
        let span = only(yaml).span.unwrap();
        let fixed =
            [&file[..span.start], &quote(&file[span.start..span.end]), &file[span.end..]].concat();
        let (document, findings) = read_file(&fixed);
        assert_eq!(findings, [], "{fixed}");
        assert!(
            serde_json::to_string(&document.unwrap().map)
                .unwrap()
                .contains(&json!(meant).to_string())
        );
    }
}

#[test]
fn srv_36_every_unquoted_colon_is_reported_with_the_rest() {
    let yaml = "a: b: c\nd: 0755\ne: f: é: g\nd: 1\n~: x\ny: [\n";
    let codes: Vec<_> = read(yaml).1.iter().map(|finding| finding.code).collect();
    let expected = [
        Code::YamlUnquotedColon,
        Code::YamlAmbiguousScalar,
        Code::YamlUnquotedColon,
        Code::YamlDuplicateKey,
        Code::YamlKeyNotAString,
        Code::YamlAmbiguousScalar,
    ];
    assert_eq!(codes[..6], expected);
    assert_eq!(codes[6..], [Code::YamlSyntax]);
}

#[test]
fn srv_36_other_mistakes_point_at_their_place() {
    let finding = only("é: ok\nb: @x\n");
    assert_eq!(
        (finding.code, finding.position),
        (Code::YamlSyntax, Some(Position { line: 3, column: 4 }))
    );
    assert!(finding.help.unwrap().contains("quotes"));
    for yaml in [
        "a: \"x\" y\n",
        "a: 'x\n",
        "a: [1\n",
        "a: 1\n b: 2\n",
        "a: {b: c\n",
        "a: 1\nb\n",
        "a: 1\n  b: 2\n- c\n",
    ] {
        let finding = only(yaml);
        assert!(matches!(finding.code, Code::YamlSyntax | Code::YamlUnquotedColon), "{yaml}");
        assert!(finding.message.ends_with('.') && finding.help.unwrap().ends_with('.'));
    }
}

#[test]
fn srv_36_texts_the_parser_is_too_lenient_about_are_refused() {
    let doubtful = [
        "a: x\n\t\n  y\n",    // A tab is no indentation, not even on an empty line.
        "a: x\n\t# c\n  y\n", // The parser swallows this comment into the value.
        "a: 'x\n\t\n  y'\n",
        "a: |\n  x\n\t\nb: 1\n",
        "a: |\n  x\n \t# c\nb: 1\n",
        "\ta: 1\n",
        "a:\n-\tb: 1\n",
        "a:\n  - 'x\n y'\n", // A line that continues a value stands too far left.
        "a:\n b: [x,\n y]\n",
        "a: [>x]\n",
        "a: {|}\n",
        "a: {'k':# c\n  }\n",
        "a: \"x\\\n\n  y\"\n", // Parsers disagree about the empty line.
        "a: |2\n   x\n    \n", // And about the blanks at the end.
    ];
    for yaml in doubtful {
        assert_eq!(errors(yaml), [Code::YamlSyntax], "{yaml:?}");
    }
    let fine = json!({ "a": ["x", "y"], "b": 1 });
    for yaml in [
        "a: [\n  x, y\n]\nb: 1\n",
        "a: [\n  'x', \"y\"\n]\nb:\t1\n",
        "a: [x,\n\n# c\n  y,\n ]\nb: 1\n",
    ] {
        assert_eq!(value(yaml), fine, "{yaml:?}");
    }
}

#[test]
fn fmt_24_nodes_tell_where_and_how_a_value_was_written() {
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
