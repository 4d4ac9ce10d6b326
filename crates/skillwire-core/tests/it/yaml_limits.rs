//! Hostile frontmatter: bombs, deep nesting, large texts, and tens of thousands of mutations.

use std::cell::Cell;

use saphyr_parser::{Input, Parser, StrInput};
use serde_json::Value;
use skillwire_core::yaml::{Document, Limits, parse, split};
use skillwire_core::{Code, Finding, Level};
use skillwire_core::{Position, Span};

fn read(yaml: &str, limits: &Limits) -> (Option<Document>, Vec<Finding>) {
    let file = format!("---\n{yaml}---\n");
    let fenced = split(file.as_bytes()).expect("the fences are there");
    parse(file.as_bytes(), &fenced, limits)
}

fn refused_by_limit(yaml: &str) -> bool {
    let (document, findings) = read(yaml, &Limits::default());
    document.is_none() && findings.iter().any(|finding| finding.code == Code::YamlLimit)
}

/// Counts how often the parser looks at or takes a character.
struct Counted<'a> {
    input: StrInput<'a>,
    work: &'a Cell<usize>,
}

impl Counted<'_> {
    fn tick(&self, steps: usize) {
        self.work.set(self.work.get() + steps);
    }
}

impl Input for Counted<'_> {
    fn lookahead(&mut self, count: usize) {
        self.input.lookahead(count);
    }

    fn buflen(&self) -> usize {
        self.input.buflen()
    }

    fn bufmaxlen(&self) -> usize {
        self.input.bufmaxlen()
    }

    fn raw_read_ch(&mut self) -> char {
        self.tick(1);
        self.input.raw_read_ch()
    }

    fn raw_read_non_breakz_ch(&mut self) -> Option<char> {
        self.tick(1);
        self.input.raw_read_non_breakz_ch()
    }

    fn skip(&mut self) {
        self.tick(1);
        self.input.skip();
    }

    fn skip_n(&mut self, count: usize) {
        self.tick(count);
        self.input.skip_n(count);
    }

    fn peek(&self) -> char {
        self.tick(1);
        self.input.peek()
    }

    fn peek_nth(&self, n: usize) -> char {
        self.tick(n + 1);
        self.input.peek_nth(n)
    }

    fn peek_opt(&self) -> Option<char> {
        self.tick(1);
        self.input.peek_opt()
    }
}

/// Runs the bare parser to its end and returns the steps it took.
fn parser_work(yaml: &str) -> usize {
    let work = Cell::new(0);
    let mut parser = Parser::new(Counted { input: StrInput::new(yaml), work: &work });
    while let Some(Ok(_)) = parser.next_event() {
        work.set(work.get() + 1);
    }
    work.get()
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|number| line(number) + "\n").collect()
}

/// Texts of about `size` bytes that have made YAML parsers slow.
fn hostile(size: usize) -> Vec<(&'static str, String)> {
    let fill = |piece: &str| piece.repeat(size / piece.len());
    vec![
        ("open brackets", format!("a: {}", fill("["))),
        ("open braces", format!("a: {}", fill("{a: "))),
        ("brackets", format!("a: {}{}", "[".repeat(size / 2), "]".repeat(size / 2))),
        ("dashes", format!("a:\n {}", fill("- "))),
        ("questions", fill("? ")),
        ("colons", format!("a: {}", fill(": "))),
        ("flat list", format!("a: [{}]", fill("b,"))),
        ("pairs in a list", format!("a: [{}]", fill("b: c, "))),
        ("staircase", lines(size.isqrt(), |n| format!("{}k:", " ".repeat(n)))),
        ("anchors", fill("&a [")),
        ("aliases", format!("a: &a 1\nb: [{}]", fill("*a,"))),
        ("long line", format!("a: {}\n", fill("x"))),
        ("long words", format!("a: {}\n", fill("x y "))),
        ("long quoted", format!("a: \"{}\"\n", fill("\\n"))),
        ("many breaks", format!("a: 'x{} '\n", fill("\n"))),
        ("literal", format!("a: |\n{}", fill("  x\n"))),
        ("blank literal", format!("a: |\n{} x\n", fill(" \n"))),
        ("wide indent", format!("a: |\n{}x\n", fill(" "))),
        ("comments", fill("# x\n")),
        ("tabs", format!("a: {}", fill("\t"))),
        ("keys", lines(size / 8, |n| format!("k{n}: 1"))),
        ("long key", format!("{}: 1\n", fill("k"))),
        ("long flow key", format!("a: {{{}: 1}}\n", fill("k"))),
        ("quotes", fill("'")),
        ("unquoted colons", fill("a: b: c\n")),
        ("tabs after colons", lines(size / 8, |n| format!("k{n}:\tv"))),
        ("markers", fill("...\n")),
        ("percents", fill("%\n")),
        ("forbidden", fill("\0")),
    ]
}

#[test]
fn the_parser_takes_steps_in_proportion_to_the_text_v_47() {
    const STEPS_PER_BYTE: usize = 400;
    for (name, yaml) in hostile(Limits::default().bytes) {
        let work = parser_work(&yaml);
        assert!(
            work <= STEPS_PER_BYTE * yaml.len(),
            "{name}: {work} steps for {} bytes",
            yaml.len()
        );
    }
}

#[test]
fn hostile_texts_end_within_the_limits_v_47() {
    let limits = Limits::default();
    for (name, yaml) in hostile(limits.bytes - 16) {
        let (document, findings) = read(&format!("{yaml}\n"), &limits);
        assert!(findings.len() <= limits.nodes + 100, "{name}: {} findings", findings.len());
        let told: usize = findings.iter().map(|finding| finding.message.len()).sum();
        assert!(told <= 400 * findings.len(), "{name}: messages are short");
        let fine =
            ["long line", "long words", "long quoted", "many breaks", "literal", "blank literal"];
        if document.is_none() {
            assert!(!fine.contains(&name), "{name}: {findings:#?}");
        }
    }
}

#[test]
fn alias_bomb_costs_bounded_work_v_47() {
    let bomb = lines(60, |level| {
        let item = if level == 0 { "x".to_owned() } else { format!("*a{}", level - 1) };
        format!("a{level}: &a{level} [{}]", vec![item; 9].join(", "))
    });
    let (document, findings) = read(&bomb, &Limits::default());
    assert!(document.is_none());
    // One finding for each reference as written: nothing is ever expanded.
    assert_eq!(findings.len(), 60 + 59 * 9);
    assert!(findings.iter().all(|finding| finding.code == Code::YamlReference));
}

#[test]
fn ten_megabytes_are_refused_before_parsing_h_41() {
    let yaml = format!("a: {}\n", "[".repeat(10_000_000));
    let (document, findings) = read(&yaml, &Limits::default());
    assert!(document.is_none());
    assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), [Code::YamlLimit]);
    assert!(findings[0].message.contains("10000004"));
}

#[test]
fn frontmatter_that_is_too_large_is_marked_whole_fmt_28() {
    let (_, findings) = read("a: 1\nb: 2\n", &Limits::default().with_bytes(9));
    assert_eq!(findings[0].span, Some(Span::new(4, 14)));
}

#[test]
fn each_limit_is_inclusive_fmt_28() {
    let limits = Limits::default().with_bytes(20).with_depth(3).with_nodes(6);
    let code = |yaml: &str| read(yaml, &limits).1.first().map(|finding| finding.code);
    assert_eq!(
        code("a: 12345678901234567\n".get(1..).unwrap_or_default()),
        Some(Code::YamlKeyNotAString)
    );
    assert_eq!(code("aaaaaaaaaaaaaaaa: b\n"), None);
    assert_eq!(code("aaaaaaaaaaaaaaaaa: b\n"), Some(Code::YamlLimit));
    assert_eq!(code("a: [[1]]\n"), None);
    assert_eq!(code("a: [[[]]]\n"), Some(Code::YamlLimit));
    assert_eq!(code("a:\n - - - 1\n"), Some(Code::YamlLimit));
    assert_eq!(code("a: [1,2,3]\n"), None);
    assert_eq!(code("a: [1,2,3,4]\n"), Some(Code::YamlLimit));
}

#[test]
fn depth_ten_thousand_does_not_reach_the_stack_v_47() {
    let depth = 10_000;
    assert!(refused_by_limit(&format!("a: {}{}\n", "[".repeat(depth), "]".repeat(depth))));
    assert!(refused_by_limit(&format!("a: {}\n", "[".repeat(depth))));
    assert!(refused_by_limit(&format!("a: {}1{}\n", "{a: ".repeat(depth), "}".repeat(depth))));
    assert!(refused_by_limit(&format!("a:\n {}1\n", "- ".repeat(depth))));
    assert!(refused_by_limit(&format!("{}a\n", "? ".repeat(depth))));
}

#[test]
fn many_keys_and_long_keys_are_refused_v_47() {
    assert!(refused_by_limit(&lines(8_000, |n| format!("k{n}:"))));
    assert!(refused_by_limit(&format!("? {}\n: 1\n", "k".repeat(1_025))));
    assert!(refused_by_limit(&format!("a: {{{}: 1}}\n", "k".repeat(1_025))));
    let (document, _) = read(&format!("{}: 1\n", "k".repeat(1_000)), &Limits::default());
    assert!(document.is_some());
}

const SEEDS: &[&str] = &[
    "name: pdf-tools\ndescription: Reads PDF files. Use when asked.\nlicense: MIT\n",
    "description: >-\n  Folded é text\n  over lines\n\n  and paragraphs\nmetadata:\n  author: \"x \\u00e9\"\n  version: '1.0'\n",
    "a: |2+\n    one\n\n  # two\n\nb: [1, {c: d}, 'e', \"f\\n\", ~]\n? g\n: - h\n  - - i\n",
    "allowed-tools: [\n  Read, Write(x:*)\n]\nk: {a: , b: [x: y], \"c\":d}\n# comment\nz: 0755\n",
    "x: a: b\ny: *z\nz: &q !!str 1\n<<: {m: 1}\nx: 2\n1: 2\n...\n%TAG\n--- b\n",
    "日本語: 😀 # ü\n\"quo\\\"ted\": 'sing''le'\nmulti: one\n  two\n\n  three\ncr: x\r\nnel: \u{85}\u{2028}\n",
];

const PIECES: &[&str] = &[
    " ", "  ", "\t", "\n", "\n  ", "\r\n", "\r", ":", ": ", "- ", "? ", "#", " #", ",", "[", "]",
    "{", "}", "'", "\"", "\\", "|", ">", "|-\n", ">+2\n", "&a ", "*a", "!", "!!str ", "%", "@",
    "`", "~", "é", "😀", "\u{85}", "\u{2028}", "\u{feff}", "\u{7f}", "\0", "...\n", "---", "--- ",
    "<<: ", "a: ", "0x", "1e", "null", "yes",
];

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % (bound.max(1) as u64)).expect("a small number")
    }
}

fn mutate(random: &mut Random, seed: &str) -> String {
    let mut chars: Vec<char> = seed.chars().collect();
    for _ in 0..=random.below(6) {
        let at = random.below(chars.len() + 1);
        let end = (at + 1 + random.below(8)).min(chars.len());
        match random.below(4) {
            0 => drop(chars.drain(at.min(end)..end)),
            1 => {
                let copy: Vec<char> = chars[at.min(end)..end].to_vec();
                let to = random.below(chars.len() + 1);
                chars.splice(to..to, copy);
            }
            _ => {
                let piece = PIECES[random.below(PIECES.len())];
                chars.splice(at..at, piece.chars());
            }
        }
    }
    chars.into_iter().collect()
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Checks every node of `value` against the file, and returns how many there are.
fn check_nodes(file: &str, document: &Document, value: &Value, pointer: &str) -> usize {
    let node =
        document.node(pointer).unwrap_or_else(|| panic!("no node at {pointer:?} of {file:?}"));
    for span in [Some(node.value), node.key].into_iter().flatten() {
        assert!(file.get(span.start..span.end).is_some(), "{pointer:?} is off in {file:?}");
    }
    let written = &file[node.value.start..node.value.end];
    if let (Value::String(text), true) = (value, node.plain)
        && !written.contains('\n')
    {
        assert_eq!(written, text, "{pointer:?} in {file:?}");
    }
    let children: Vec<(String, &Value)> = match value {
        Value::Array(items) => {
            items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect()
        }
        Value::Object(map) => map
            .iter()
            .map(|(key, item)| (key.replace('~', "~0").replace('/', "~1"), item))
            .collect(),
        _ => Vec::new(),
    };
    1 + children
        .iter()
        .map(|(name, child)| {
            let pointer = format!("{pointer}/{name}");
            let inner =
                document.node(&pointer).unwrap_or_else(|| panic!("no {pointer:?} in {file:?}"));
            assert!(node.value.start <= inner.value.start, "{pointer:?} begins early in {file:?}");
            check_nodes(file, document, child, &pointer)
        })
        .sum::<usize>()
}

#[test]
fn mutations_neither_panic_nor_break_an_invariant_h_41() {
    let mut random = Random(0x5eed_1234_5678_9abc);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..40_000 {
        let yaml = mutate(&mut random, SEEDS[round % SEEDS.len()]);
        let file =
            format!("{}---\n{yaml}\n---\nbody\n", if round % 7 == 0 { "\u{feff}" } else { "" });
        let Ok(fenced) = split(file.as_bytes()) else { continue };
        assert_eq!(&file[fenced.yaml_offset..][..fenced.yaml.len()], fenced.yaml);
        assert_eq!(&file[fenced.body_offset..], fenced.body);
        let (document, findings) = parse(file.as_bytes(), &fenced, &Limits::default());
        for finding in &findings {
            let span = finding.span.unwrap_or_else(|| panic!("{finding:?} has no span"));
            assert!(file.get(span.start..span.end).is_some(), "{finding:?} is off in {file:?}");
            assert_eq!(
                finding.position,
                Some(Position::of(file.as_bytes(), span.start)),
                "{file:?}"
            );
            assert!(finding.message.ends_with('.'), "{finding:?}");
            assert!(finding.help.as_ref().is_some_and(|help| help.ends_with('.')), "{finding:?}");
            assert!(!finding.message.chars().any(char::is_control), "{finding:?}");
        }
        let failed = findings.iter().any(|finding| finding.level == Level::Error);
        assert_eq!(document.is_none(), failed, "{file:?}: {findings:#?}");
        let Some(document) = document else {
            refused += 1;
            continue;
        };
        accepted += 1;
        let value = Value::Object(document.map.clone());
        let text = serde_json::to_string(&value).expect("JSON");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value, "{file:?}");
        assert!(depth(&value) <= Limits::default().depth);
        check_nodes(&file, &document, &value, "");
    }
    assert!(accepted > 2_000 && refused > 10_000, "{accepted} accepted, {refused} refused");
}
