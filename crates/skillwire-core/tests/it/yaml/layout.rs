//! Blanks and indentation: what other parsers refuse or read differently is refused, at its place.

use serde_json::json;
use skillwire_core::{Code, Position};

use super::{only, read_file, text, value};

#[test]
fn what_only_this_parser_would_accept_is_pointed_at_srv_36() {
    const TAB: &str = "A tab stands where YAML wants spaces";
    const LEFT: &str = "A line that continues a value is not indented more than its key";
    const RESERVED: &str = "A value without quotes begins with a character that YAML reserves";
    const COMMENT: &str = "A comment does not have a blank before its `#`";
    const ESCAPED: &str = "An empty line follows a line break that is escaped";
    const BLANKS: &str = "Blanks at the end of a block with an indentation number";
    for (yaml, place, message) in [
        ("\ta: 1\n", (2, 1), TAB),
        ("a:\n  -\tb: 1\n", (3, 4), TAB),
        ("a:\n- \tb: 1\n", (3, 3), TAB),
        ("a: [x,\n\tz]\n", (3, 1), TAB),
        ("a: x\n\t\n  z\n", (3, 1), TAB),
        ("a:\n  b: x\n \t\n    z\n", (4, 2), TAB),
        ("a: |\n  x\n\t\nb: 1\n", (4, 1), TAB),
        ("a: |\n  x\n \t# c\nb: 1\n", (4, 2), TAB),
        ("a:\n  b: [x\n ]\n", (4, 2), LEFT),
        ("a:\n    b: [x\n  ]\n", (4, 3), LEFT),
        ("a:\n  - 'x\n  z'\n", (4, 3), LEFT),
        ("a:\n- 'x\nz'\n", (4, 1), LEFT),
        ("a:\n  - - 'x\n    z'\n", (4, 5), LEFT),
        ("a:\n- - 'x\n  z'\n", (4, 3), LEFT),
        ("a:\n-\n  - 'x\n  z'\n", (5, 3), LEFT),
        ("a: [?]\n", (2, 5), RESERVED),
        ("a: {?}\n", (2, 5), RESERVED),
        ("a: [>x]\n", (2, 5), RESERVED),
        ("a: {'k':# c\n  }\n", (2, 9), COMMENT),
        ("a: \"x\\\n\n  z\"\n", (3, 1), ESCAPED),
        ("a: \"x\\\r\n\r\n  z\"\n", (3, 1), ESCAPED),
        ("a: |2\n   x\n    \n", (4, 1), BLANKS),
    ] {
        let finding = only(yaml);
        assert_eq!(finding.code, Code::YamlSyntax, "{yaml:?}");
        let (line, column) = place;
        assert_eq!(finding.position, Some(Position { line, column }), "{yaml:?}");
        assert!(finding.message.starts_with(message), "{yaml:?}: {}", finding.message);
        assert!(finding.help.is_some_and(|help| help.ends_with('.')), "{yaml:?}");
    }
}

#[test]
fn what_every_parser_reads_alike_is_accepted_srv_36() {
    for (yaml, expected) in [
        ("a: \"x\\\\\n\n  z\"\n", json!({ "a": "x\\\nz" })),
        ("a: \"word\\\\\n\n  z\"\n", json!({ "a": "word\\\nz" })),
        ("a: \"word\n\n  z\"\n", json!({ "a": "word\nz" })),
        ("m:\n  a:\n  - 'x\n   z'\n", json!({ "m": { "a": ["x z"] } })),
        ("a: |2\n  x\n  \nb: 1\n", json!({ "a": "x\n", "b": 1 })),
        ("a:\n- 'x\n z'\n", json!({ "a": ["x z"] })),
        ("a:\n  - 'x\n   z'\n", json!({ "a": ["x z"] })),
        ("a: ['x\n z']\n", json!({ "a": ["x z"] })),
        ("a: [\tb: 1]\n", json!({ "a": [{ "b": 1 }] })),
        ("a: {x: {\tz: 1}}\n", json!({ "a": { "x": { "z": 1 } } })),
        ("a: [\n\n\t\n  x]\n", json!({ "a": ["x"] })),
        ("a: [\n\t# c\n  x]\n", json!({ "a": ["x"] })),
        ("a: [\n \tx]\n", json!({ "a": ["x"] })),
        ("a:\n    b: [x\n    ]\n", json!({ "a": { "b": ["x"] } })),
        ("a: [-x, :z, ?w]\n", json!({ "a": ["-x", ":z", "?w"] })),
        (
            "a: {-: 1}\nb: -x\nc: ?x\nd: :x\n",
            json!({ "a": { "-": 1 }, "b": "-x", "c": "?x", "d": ":x" }),
        ),
    ] {
        assert_eq!(value(yaml), expected, "{yaml:?}");
    }
}

#[test]
fn places_stay_right_where_the_text_is_respelled_for_the_parser_fmt_24() {
    for (yaml, a, b) in [
        ("a:\t\t\tx\nb: z\n", "x", "z"),
        ("a: [\n  'x', \"w\"\n]\nb:\tz\n", "[\n  'x', \"w\"\n]", "z"),
        ("a:\n  c: ['x',\n\n  ]\nb: z\n", "c: ['x',\n\n  ]", "z"),
    ] {
        let file = format!("---\n{yaml}---\n");
        let document = read_file(&file).0.unwrap_or_else(|| panic!("{yaml:?}"));
        assert_eq!(text(&file, "/a", &document), (Some("a"), a), "{yaml:?}");
        assert_eq!(text(&file, "/b", &document), (Some("b"), b), "{yaml:?}");
    }
    // A `:` that begins a line could be followed by a block, and a comment would swallow a bracket.
    for yaml in ["? a\n:\tb\n", "a:\n  b: ['x' # c\n  ]\nc: 1\n", "a:\n  b: [x,\n z]\n"] {
        assert_eq!(only(yaml).code, Code::YamlSyntax, "{yaml:?}");
    }
}
