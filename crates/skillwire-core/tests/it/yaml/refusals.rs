//! Frontmatter that is refused or repaired, and the findings about it.

use serde_json::json;
use skillwire_core::{Code, Position, Repair, yaml::quote};

use super::{errors, only, read, read_file, value};

#[test]
fn values_that_json_cannot_carry_are_refused_fmt_29() {
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
fn a_conflict_that_a_merge_left_is_called_one_rs_06() {
    let finding = only("name: a\n<<<<<<< HEAD\nlicense: MIT\n=======\nlicense: ISC\n>>>>>>> b\n");
    assert_eq!(finding.code, Code::YamlSyntax);
    assert!(finding.message.contains("A merge left a conflict"), "{}", finding.message);
    assert_eq!(finding.position.map(|p| p.line), Some(3));
}

#[test]
fn a_fence_that_is_missing_before_the_text_is_called_missing_rs_06() {
    for body in [
        "\n# Forms\n\nThis skill fills forms: with care. Note: it is slow.\n\nMore.\n\n",
        "\nThis skill fills forms, with care.\n\n- one: two: three\n\n",
    ] {
        let finding = only(&format!("name: a\ndescription: Use when asked.\n{body}"));
        assert_eq!(finding.code, Code::FrontmatterUnclosed, "{body}");
        assert_eq!(finding.help.as_deref(), Some("Add a line `---` above line 5."));
        assert!(finding.repair.is_none());
    }
    // A comment is no heading, and a stray line is no text.
    for yaml in ["name: a\n\n# Settings\nlicense: [x\n", "name: a\nlicense: [x\n\n"] {
        assert_eq!(errors(yaml), [Code::YamlSyntax], "{yaml}");
    }
}

#[test]
fn a_backslash_that_begins_no_escape_is_called_that_rs_06() {
    for yaml in ["description: \"Use \\[x] when.\"\n", "a: \"\\d+\"\n"] {
        let finding = only(yaml);
        assert_eq!(finding.code, Code::YamlSyntax);
        assert!(finding.message.contains("backslash"), "{}", finding.message);
        assert!(finding.help.as_deref().unwrap().contains("single quotes"), "{finding:?}");
    }
}

#[test]
fn a_value_that_begins_like_something_else_and_is_text_can_be_quoted_rs_06() {
    for (value, quoted) in [
        ("[a] [b]", "\"[a] [b]\""),
        ("[file] <name> --x", "\"[file] <name> --x\""),
        ("@scope/name", "\"@scope/name\""),
        (", x", "\", x\""),
        ("`x` or y", "\"`x` or y\""),
        ("{a} b", "\"{a} b\""),
        ("**bold** text", "\"**bold** text\""),
    ] {
        for after in ["", "license: MIT\n"] {
            let yaml = format!("name: a\nargument-hint: {value}\n{after}");
            let finding = only(&yaml);
            assert_eq!(finding.code, Code::YamlSyntax, "{yaml}");
            let Some(Repair::Replace(edits)) = finding.repair else { panic!("{finding:?}") };
            assert_eq!(edits[0].text, quoted, "{yaml}");
            let repaired = format!("name: a\nargument-hint: {quoted}\n{after}");
            assert_eq!(self::value(&repaired)["argument-hint"], value);
        }
    }
}

#[test]
fn a_list_that_never_ends_is_not_taken_for_text_rs_06() {
    for yaml in ["a: [b, c\n", "a: [b, c\nd: e\n", "a: {b: c\nd: e\n"] {
        let (_, findings) = read(yaml);
        assert!(findings.iter().all(|finding| finding.repair.is_none()), "{findings:?}");
    }
}

#[test]
fn duplicate_keys_are_refused_at_any_depth_fmt_25() {
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
fn every_repetition_is_reported_v_48() {
    assert_eq!(errors("a: 1\na: 2\na: 3\n"), [Code::YamlDuplicateKey; 2]);
}

#[test]
fn keys_are_strings_fmt_25() {
    for key in ["123", "true", "null", "~", "1.5", ".nan", "[a]", "{a: b}", "? [a]\n", "? - a\n"] {
        assert_eq!(errors(&format!("{key}: v\n")), [Code::YamlKeyNotAString], "{key}");
    }
    assert!(only("123: v\n").help.unwrap().contains("\"123\""));
    assert!(only("123: v\n").message.contains("`123` is not a string"));
    assert!(only(": v\n").message.contains("missing before the `:`"));
    assert_eq!(
        value("\"123\": v\n'null': w\n? x\n: y\n"),
        json!({ "123": "v", "null": "w", "x": "y" })
    );
}

#[test]
fn the_root_is_a_mapping_fmt_25() {
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
    let finding = only("\n\n- a\n- b\n  \n");
    assert_eq!(finding.position, Some(Position { line: 4, column: 1 }));
    assert_eq!(finding.end, Some(Position { line: 5, column: 4 }));
    for (yaml, what) in [("~\n", "empty"), ("- a\n", "a list"), ("a\n", "a single value")] {
        assert!(only(yaml).message.contains(&format!("is {what}, not a mapping")), "{yaml}");
    }
    let codes: Vec<_> = read("- yes\n").1.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::FrontmatterNotAMapping, Code::YamlAmbiguousScalar]);
    // What cannot be parsed may well have been meant as a mapping.
    assert_eq!(only("@x\n").code, Code::YamlSyntax);
    assert_eq!(value("{a: 1}\n"), json!({ "a": 1 }));
}

#[test]
fn references_tags_and_documents_are_refused_fmt_28() {
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
    for (yaml, columns) in [("a: 1\nb: &name x\n", (4, 9)), ("a: 1\nb: !!str x\n", (4, 9))] {
        let finding = only(yaml);
        let ends = finding.position.zip(finding.end).map(|(p, end)| (p.column, end.column));
        assert_eq!(ends, Some(columns), "{yaml}");
    }
    assert_eq!(errors("a: &x 1\nb: *x\nc: 2\n"), [Code::YamlReference; 2]);
    assert_eq!(errors("a: &x 1\n*x : 1\nc: 2\n"), [Code::YamlReference; 2]);
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
    for (yaml, words, end) in [
        ("a: 1\n%b: 1\n", "YAML directive", 2),
        ("a: 1\r\n... # c\r\n", "ends the YAML document", 4),
        ("a: 1\n--- b\n", "starts a second YAML document", 4),
    ] {
        let finding = only(yaml);
        assert!(finding.message.contains(words), "{}", finding.message);
        assert_eq!(finding.position, Some(Position { line: 3, column: 1 }), "{yaml}");
        assert_eq!(finding.end, Some(Position { line: 3, column: end }), "{yaml}");
    }
    assert_eq!(value("\"<<\": 1\na: <<\n"), json!({ "<<": 1, "a": "<<" }));
}

#[test]
fn long_and_hidden_text_in_a_message_is_cut_and_made_visible_fmt_25() {
    let message = |key: &str| only(&format!("\"{key}\": 1\n\"{key}\": 2\n")).message;
    let longest = "k".repeat(60);
    assert!(message(&longest).contains(&format!("`{longest}`")));
    assert!(message(&format!("{longest}l")).contains(&format!("`{longest}…`")));
    assert!(message("a\u{202e}b").contains("`a\\u{202e}b`"));
    assert!(message("a\\tb").contains("`a\\tb`"));
}

#[test]
fn lossy_values_never_become_json_v_49() {
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
fn characters_that_yaml_forbids_are_refused_v_54() {
    for ch in [
        '\0', '\u{1}', '\u{8}', '\u{b}', '\u{1b}', '\u{7f}', '\u{80}', '\u{9f}', '\u{fffe}',
        '\u{feff}',
    ] {
        for yaml in [format!("a: x{ch}y\n"), format!("a: \"{ch}\"\n"), format!("# {ch}\na: 1\n")] {
            assert_eq!(errors(&yaml), [Code::YamlSyntax], "{yaml:?}");
        }
    }
    let several = only("a: x\u{1}y\u{2}\u{1}\n");
    assert!(several.message.contains("3 characters that YAML forbids; the first is U+0001"));
    assert_eq!(several.position, Some(Position { line: 2, column: 5 }));
    assert_eq!(several.end, Some(Position { line: 2, column: 6 }));
    let finding = only("a: \u{1b}[31m\n");
    assert!(
        finding.message.contains("holds the character U+001B")
            && !finding.message.contains('\u{1b}')
    );
    assert_eq!(value("a: \"\\e\\x7f\"\n"), json!({ "a": "\u{1b}\u{7f}" }));
}

#[test]
fn an_unquoted_colon_is_named_and_repaired_srv_36() {
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
fn what_quotes_would_not_repair_is_not_taken_for_an_unquoted_colon_srv_36() {
    for yaml in [
        "a: one\n  two: three\n",
        "a: one: two\n  b: c\n",
        "a: \"b\": c\n",
        "\"a\": b: c\n",
        "a: : b\n",
        "a: one\n\"two\": three: four\n",
        "a: x\n  y\n    z: w\nb: 1\n",
        "k: a: b\n l: c\n",
    ] {
        assert_eq!(only(yaml).code, Code::YamlSyntax, "{yaml:?}");
    }
    for (yaml, key, value) in [
        ("a: one: two\n\n  three\nb: c\n", "a", "one: two\n\n  three"),
        ("a: one: two # c\nb: c\n", "a", "one: two"),
        ("a: one\n  \"two\": three\nb: c\n", "a", "one\n  \"two\": three"),
        ("a: one\n\n  \"two\": three\n", "a", "one\n\n  \"two\": three"),
        ("a-b : c: d\n", "a-b", "c: d"),
        ("x:\n  - - a: b: c\n", "a", "b: c"),
        ("a: b:c: d\n", "a", "b:c: d"),
        ("a: b: \"c\nd: e\n", "a", "b: \"c"),
        ("a: b :\n", "a", "b :"),
    ] {
        let (finding, file) = (only(yaml), format!("---\n{yaml}---\n"));
        let span = finding.span.unwrap();
        assert_eq!(&file[span.start..span.end], value, "{yaml:?}");
        assert!(finding.message.starts_with(&format!("The value of `{key}` holds")), "{yaml:?}");
    }
}

#[test]
fn quotes_keep_what_a_plain_value_says_srv_36() {
    for (text, quoted) in [
        ("a\nb", r#""a b""#),
        ("a \n b\t\n\n c", r#""a b\nc""#),
        ("a\n\n\nb", r#""a\n\nb""#),
        ("\n\na", r#""a""#),
        ("a\u{7}b", r#""a\u0007b""#),
        ("\u{ffff}", r#""\uffff""#),
        ("\u{e0041}", r#""\U000e0041""#),
        ("\u{202e}\"", r#""\u202e\"""#),
        ("a\\b", r"'a\b'"),
        ("it's \"x\"", r#""it's \"x\"""#),
    ] {
        assert_eq!(quote(text), quoted, "{text:?}");
    }
}

#[test]
fn every_unquoted_colon_is_reported_with_the_rest_srv_36() {
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
    assert_eq!(errors("a: one two three: four\nb: c: d\n"), [Code::YamlUnquotedColon; 2]);
}

#[test]
fn other_mistakes_point_at_their_place_srv_36() {
    let finding = only("é: ok\nb: @x\n");
    assert_eq!(
        (finding.code, finding.position),
        (Code::YamlSyntax, Some(Position { line: 3, column: 4 }))
    );
    assert_eq!(finding.end, Some(Position { line: 3, column: 6 }));
    assert!(finding.help.unwrap().contains("quotes"));
    // These begin like an alias and a tag, and are wrong for another reason.
    for yaml in ["a: 'x' *c\n", "a: 'x' &c\n", "a: 'x' !c\n", "a: [x] *c\n", "a: [x] !c\n"] {
        assert_eq!(only(yaml).code, Code::YamlSyntax, "{yaml}");
    }
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
fn texts_the_parser_is_too_lenient_about_are_refused_srv_36() {
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
