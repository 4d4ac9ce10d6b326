//! YAML values and the JSON values that they become.

use serde_json::json;
use skillwire_core::Code;

use super::{errors, only, read, value};

#[test]
fn block_scalars_follow_yaml_1_2_srv_36() {
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
fn blank_and_hash_lines_belong_to_the_block_v_53() {
    let yaml = "a: |2+ # note\n  # one\n\n    two\n  three\n\n# comment\nb: >1-\n x\n\n\n y\n";
    let expected = json!({ "a": "# one\n\n  two\nthree\n\n", "b": "x\n\ny" });
    assert_eq!(value(yaml), expected);
}

#[test]
fn quoted_and_plain_scalars_follow_yaml_1_2_srv_36() {
    let double = r#"a: "\x41\u00e9\U0001F600\n\t\\\/\"\0\e\N\_\L\P""#.to_owned() + "\n";
    let expected = "A\u{e9}\u{1f600}\n\t\\/\"\0\u{1b}\u{85}\u{a0}\u{2028}\u{2029}";
    assert_eq!(value(&double), json!({ "a": expected }));
    assert_eq!(value("a: 'it''s\n  \\n'\n"), json!({ "a": "it's \\n" }));
    assert_eq!(value("a: \"x \\\n   y\\\n   \\ z\"\n"), json!({ "a": "x y z" }));
    assert_eq!(value("a: one\n  two\n\n  three # note\n"), json!({ "a": "one two\nthree" }));
    assert_eq!(value("m:\n  a: x\n    y\nn: 1\n"), json!({ "m": { "a": "x y" }, "n": 1 }));
    assert_eq!(value("a: {\tb: 1, c: [d: 2] }\n"), json!({ "a": { "b": 1, "c": [{ "d": 2 }] } }));
    assert_eq!(value("a: b#c http://x:y -z\n"), json!({ "a": "b#c http://x:y -z" }));
    assert_eq!(value("a: \u{85}\u{2028}b\n")["a"], "\u{85}\u{2028}b");
    for bad in ["\"\\ud800\"", "\"\\q\"", "\"\\x4\"", "\"\\U00110000\"", "\"\\'\""] {
        assert_eq!(errors(&format!("a: {bad}\n")), [Code::YamlSyntax], "{bad}");
    }
}

#[test]
fn nothing_is_added_dropped_renamed_or_reordered_srv_36() {
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
fn plain_scalars_follow_the_core_schema_fmt_28() {
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
fn scalars_that_parsers_read_differently_are_warned_about_fmt_28() {
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
