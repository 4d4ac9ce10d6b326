//! Writes a corpus of frontmatter and what `skillwire_core::yaml` makes of it, one JSON per line.
//!
//! `yaml_corpus [documents] [seed]` is deterministic. `tools/yaml-differential` reads the corpus
//! with another YAML 1.2 implementation and compares.

use std::error::Error;
use std::io::{BufWriter, Write};

use serde_json::{Value, json};
use skillwire_core::finding::Level;
use skillwire_core::yaml::{Limits, parse, split};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let documents: usize = arguments.next().map_or(Ok(40_000), |text| text.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut out = BufWriter::new(std::io::stdout().lock());
    for _ in 0..documents {
        let mut yaml = document(&mut random);
        if random.chance(55) {
            yaml = mutate(&mut random, &yaml);
        }
        if random.chance(8) {
            yaml = yaml.replace('\n', "\r\n");
        }
        writeln!(out, "{}", record(&yaml))?;
    }
    out.flush()?;
    Ok(())
}

/// Reads one document and describes the outcome.
fn record(yaml: &str) -> Value {
    let file = format!("---\n{yaml}\n---\n");
    let fenced = match split(file.as_bytes()) {
        Ok(fenced) => fenced,
        Err(finding) => {
            return json!({ "yaml": "", "ours": null, "code": finding.code, "why": finding.message });
        }
    };
    let (document, findings) = parse(file.as_bytes(), &fenced, &Limits::default());
    let error = findings.iter().find(|finding| finding.level == Level::Error);
    json!({
        "yaml": fenced.yaml,
        "ours": document.map(|document| document.map),
        "code": error.map(|finding| finding.code),
        "why": error.map(|finding| &finding.message),
    })
}

/// A xorshift generator: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % (bound.max(1) as u64)).unwrap_or(0)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

const WORDS: &[&str] = &[
    "name",
    "text",
    "a",
    "b",
    "key",
    "Übung",
    "naïve",
    "日本語",
    "emoji 😀",
    "two words",
    "a-b",
    "x.y/z",
    "io.example/flag",
    "C#",
    "#hash",
    "a#b",
    "http://x.y",
    "12:30",
    "a:b",
    "-dash",
    "?ask",
    ":colon",
    "it's",
    "say \"hi\"",
    "50%",
    "@at",
    "`tick`",
    "a, b",
    "[x",
    "x]",
    "{y",
    "y}",
    "~tilde",
    "back\\slash",
    "a\tb",
    "<<",
    "=",
    "!bang",
    "&and",
    "*star",
    "|bar",
    ">gt",
    "nel\u{85}x",
    "ls\u{2028}x",
    "__proto__",
    "- item",
    "a -",
    "-",
    "--",
    "---x",
    "...",
    "? q",
    "--- a",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "+1",
    "007",
    "0755",
    "-0755",
    "0899",
    "0o17",
    "0o18",
    "-0o17",
    "0x1F",
    "0xfg",
    "-0x1f",
    "1_000",
    "0b11",
    "1.0",
    "1.",
    ".5",
    "-.5",
    "+.5",
    ".",
    "-",
    "+",
    "1e3",
    "1E3",
    "1e+3",
    "1.5e-3",
    "1e",
    "1e+",
    "e3",
    ".e3",
    "1.e3",
    "1..2",
    "1.2.3",
    "9007199254740991",
    "-9007199254740991",
    "9007199254740992",
    "0x1fffffffffffff",
    "0x20000000000000",
    "123456789012345678901234567890",
    "1e308",
    "1e309",
    "-1e309",
    "1e-400",
    "0.1",
    "-0",
    "-0.0",
    "+0",
    ".inf",
    "-.inf",
    "+.Inf",
    ".INF",
    ".iNF",
    ".nan",
    ".NaN",
    ".NAN",
    "inf",
    "nan",
    "12:30:45",
    "190:20:30.15",
    "2026-01-01",
    "2026-01-01T10:00:00Z",
    "true",
    "True",
    "TRUE",
    "tRue",
    "false",
    "False",
    "FALSE",
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
    "Yes",
    "NO",
    "null",
    "Null",
    "NULL",
    "nULL",
    "~",
    "0.30000000000000004",
    "3.141592653589793238462643",
    "5e-324",
    "1.7976931348623157e308",
    "00",
    "0.0",
    "08",
    "1_0.5",
    "0x",
    "0o",
    "-.",
    "+.inf1",
    "1 2",
    "1,2",
];

const ESCAPES: &[&str] = &[
    "\\n",
    "\\t",
    "\\\\",
    "\\\"",
    "\\/",
    "\\0",
    "\\a",
    "\\b",
    "\\e",
    "\\f",
    "\\v",
    "\\r",
    "\\ ",
    "\\_",
    "\\N",
    "\\L",
    "\\P",
    "\\x41",
    "\\u00e9",
    "\\U0001F600",
    "\\ud800",
    "\\q",
    "\\x4",
    "\\u12",
    "\\\t",
    "\\U00110000",
    "\\ud83d\\ude00",
    "\\'",
];

/// Writes a whole mapping at column 0, with what may stand around it.
fn document(random: &mut Random) -> String {
    let mut out = String::new();
    if random.chance(10) {
        out.push_str(random.pick(&["# comment\n", "\n", "   \n", "\t\n", " # indented\n"]));
    }
    if random.chance(4) {
        let flow = flow(random, 0, false);
        out.push_str(&flow);
    } else {
        mapping(random, &mut out, 0, 0);
    }
    while out.ends_with('\n') && random.chance(80) {
        out.pop();
    }
    out
}

fn pad(random: &mut Random) -> &'static str {
    random.pick(&[" ", " ", " ", " ", " ", "  ", "    ", " \t", "\t", "\t "])
}

fn end_of_line(random: &mut Random) -> &'static str {
    random.pick(&[
        "\n",
        "\n",
        "\n",
        "\n",
        "\n",
        " \n",
        "\t\n",
        " # note\n",
        "  #\n",
        "\n\n",
        "\n# c\n",
    ])
}

fn mapping(random: &mut Random, out: &mut String, indent: usize, depth: usize) {
    for number in 0..=random.below(4) {
        if number > 0 || !out.ends_with("- ") {
            out.push_str(&" ".repeat(indent));
        }
        let explicit = random.chance(2);
        if explicit {
            out.push_str("? ");
        }
        out.push_str(&key(random, number));
        if explicit {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
        } else if random.chance(5) {
            out.push_str(random.pick(&[" ", "  ", "\t"]));
        }
        out.push(':');
        value(random, out, indent, depth, true);
    }
}

fn key(random: &mut Random, number: usize) -> String {
    match random.below(40) {
        0 => random.pick(NUMBERS).to_owned(),
        1 | 2 => random.pick(WORDS).to_owned(),
        3 => double_quoted(random, 0),
        4 => single_quoted(random, 0),
        5 => format!("\"{}\"", random.pick(&["name", "k1", "k2", "a b", "", "x: y", "#"])),
        6 => flow(random, 0, true),
        7 => String::new(),
        _ => format!("k{}{number}", random.pick(&["", "-", "_x", "é", ".", " "])),
    }
}

/// Writes what follows a `:` or `-`, its line end included.
fn value(random: &mut Random, out: &mut String, indent: usize, depth: usize, in_mapping: bool) {
    let deeper = indent + 1 + random.below(3);
    match random.below(if depth < 4 { 30 } else { 22 }) {
        0..=2 => line(random, out, random_plain),
        3 | 4 => line(random, out, |random| random.pick(NUMBERS).to_owned()),
        5 | 6 => {
            let text = double_quoted(random, deeper);
            line(random, out, |_| text);
        }
        7 | 8 => {
            let text = single_quoted(random, deeper);
            line(random, out, |_| text);
        }
        9 | 10 => {
            let text = plain_lines(random, deeper);
            line(random, out, |_| text);
        }
        11..=16 => block_scalar(random, out, indent),
        17..=19 => {
            if random.chance(15) {
                out.push('\n');
                out.push_str(&" ".repeat(deeper));
            } else {
                out.push_str(pad(random));
            }
            out.push_str(&flow(random, deeper, false));
            out.push_str(end_of_line(random));
        }
        20 => out.push_str(end_of_line(random)),
        21 => {
            let text = random
                .pick(&["&a x", "*a", "!!str x", "! x", "!t x", "|", ">", "'", "\"", "[", "{"]);
            line(random, out, |_| text.to_owned());
        }
        22..=25 if in_mapping => {
            out.push_str(end_of_line(random));
            mapping(random, out, deeper, depth + 1);
        }
        22..=24 => {
            out.push(' ');
            let column = indent + 2;
            mapping(random, out, column, depth + 1);
        }
        _ => {
            let column = if in_mapping && random.chance(50) { indent } else { deeper };
            out.push_str(end_of_line(random));
            for _ in 0..=random.below(3) {
                out.push_str(&" ".repeat(column));
                out.push('-');
                value(random, out, column, depth + 1, false);
            }
        }
    }
}

fn line(random: &mut Random, out: &mut String, text: impl FnOnce(&mut Random) -> String) {
    out.push_str(pad(random));
    let text = text(random);
    out.push_str(&text);
    out.push_str(end_of_line(random));
}

fn random_plain(random: &mut Random) -> String {
    let count = 1 + random.below(3);
    (0..count).map(|_| random.pick(WORDS)).collect::<Vec<_>>().join(" ")
}

/// A line break inside a flow or plain scalar, with indentation.
fn fold(random: &mut Random, indent: usize) -> String {
    let blank = random.pick(&["", "", "", "\n", "\n\n", "  \n", "\t\n", " \t \n"]);
    let before = random.pick(&["", "", "", " ", "\t", "  "]);
    let extra = random.pick(&["", "", "", " ", "\t", "   ", " \t"]);
    format!("{before}\n{blank}{}{extra}", " ".repeat(indent))
}

fn plain_lines(random: &mut Random, indent: usize) -> String {
    let mut out = random_plain(random);
    for _ in 0..=random.below(3) {
        out.push_str(&fold(random, indent));
        out.push_str(&random_plain(random));
    }
    out
}

fn double_quoted(random: &mut Random, indent: usize) -> String {
    let mut out = String::from("\"");
    for _ in 0..random.below(6) {
        match random.below(10) {
            0..=2 => out.push_str(random.pick(ESCAPES)),
            3 if indent > 0 => {
                out.push('\\');
                out.push_str(&fold(random, indent));
            }
            4 | 5 if indent > 0 => out.push_str(&fold(random, indent)),
            6 => out.push_str(random.pick(&[" ", "\t", "  ", ": ", " #", "- "])),
            _ => out.push_str(&random.pick(WORDS).replace('\\', "\\\\").replace('"', "\\\"")),
        }
    }
    out.push('"');
    out
}

fn single_quoted(random: &mut Random, indent: usize) -> String {
    let mut out = String::from("'");
    for _ in 0..random.below(6) {
        match random.below(8) {
            0 | 1 if indent > 0 => out.push_str(&fold(random, indent)),
            2 => out.push_str("''"),
            3 => out.push_str(random.pick(&[" ", "\t", "  ", ": ", " #", "\\", "\""])),
            _ => out.push_str(&random.pick(WORDS).replace('\'', "''")),
        }
    }
    out.push('\'');
    out
}

fn block_scalar(random: &mut Random, out: &mut String, indent: usize) {
    let extra = 1 + random.below(3);
    let header = random.pick(&["|", ">"]);
    let chomp = random.pick(&["", "", "-", "+"]);
    let digit = if random.chance(25) { extra.to_string() } else { String::new() };
    let order =
        if random.chance(50) { format!("{digit}{chomp}") } else { format!("{chomp}{digit}") };
    let tail = random.pick(&["", "", "", " ", " # note", "\t", "\t# note"]);
    out.push_str(pad(random));
    out.push_str(header);
    out.push_str(&order);
    out.push_str(tail);
    out.push('\n');
    let column = " ".repeat(indent + extra);
    for _ in 0..random.below(7) {
        let start = match random.below(12) {
            0 | 1 => String::new(),
            2 => " ".repeat(random.below(indent + extra + 1)),
            3 => format!("{column}  "),
            4 => format!("{column}\t"),
            5 => format!("{column}  {}", random_plain(random)),
            6 => format!("{column}\t{}", random_plain(random)),
            7 => format!("{column}# not a comment"),
            8 => format!("{column}---"),
            _ => format!("{column}{}", random_plain(random)),
        };
        out.push_str(&start);
        out.push_str(random.pick(&["\n", "\n", "\n", "\n", " \n", "\t\n"]));
    }
    if random.chance(8) {
        out.push_str(&" ".repeat(random.below(indent + 1)));
        out.push_str("# comment after\n");
    }
}

fn flow(random: &mut Random, indent: usize, key: bool) -> String {
    let list = random.chance(50);
    let mut out = String::from(if list { "[" } else { "{" });
    let gap = |random: &mut Random| -> String {
        match random.below(12) {
            0 if indent > 0 && !key => fold(random, indent),
            1 if indent > 0 && !key => format!(" # c\n{}", " ".repeat(indent)),
            2 => "\t".to_owned(),
            3..=6 => " ".to_owned(),
            _ => String::new(),
        }
    };
    for number in 0..random.below(4) {
        if number > 0 {
            out.push(',');
        }
        out.push_str(&gap(random));
        if !list || random.chance(10) {
            if random.chance(3) {
                out.push_str("? ");
            }
            let name = match random.below(8) {
                0 => double_quoted(random, 0),
                1 => single_quoted(random, 0),
                2 => random.pick(WORDS).to_owned(),
                _ => format!("f{number}"),
            };
            out.push_str(&name);
            out.push_str(random.pick(&[": ", ": ", ": ", ": ", ":", " : ", ":\t", "", ":\n "]));
        }
        out.push_str(&match random.below(12) {
            0 | 1 => random.pick(NUMBERS).to_owned(),
            2 => double_quoted(random, indent),
            3 => single_quoted(random, indent),
            4 if random.chance(60) => flow(random, indent, key),
            5 => String::new(),
            6 => random.pick(WORDS).to_owned(),
            7 if indent > 0 => plain_lines(random, indent),
            _ => random.pick(&["a", "b c", "x-y", "é", "http://a.b"]).to_owned(),
        });
        out.push_str(&gap(random));
    }
    if random.chance(5) {
        out.push(',');
    }
    out.push_str(if list { "]" } else { "}" });
    out
}

/// Makes one to four small changes anywhere.
fn mutate(random: &mut Random, text: &str) -> String {
    const PIECES: &[&str] = &[
        " ", "  ", "\t", "\n", "\n ", "\r", "\r\n", ":", ": ", "- ", "-", "? ", "?", "#", " #",
        ",", "[", "]", "{", "}", "'", "\"", "\\", "|", ">", "|-", ">+", "|2", "&a ", "*a", "!",
        "!!str ", "%", "@", "`", "~", "null", "0", "1", ".", "e", "x", "é", "😀", "\u{85}",
        "\u{2028}", "\u{feff}", "\u{7f}", "\u{0}", "...", "---", "--- ", "<<: ", "a: ", "a", "b",
        "= ", "\u{a0}", "\u{fffe}",
    ];
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(chars.len() + 1);
        match random.below(10) {
            0..=4 => {
                let piece = random.pick(PIECES);
                chars.splice(at..at, piece.chars());
            }
            5 | 6 => {
                let end = (at + 1 + random.below(3)).min(chars.len());
                chars.drain(at..end);
            }
            7 => {
                let end = (at + 1 + random.below(12)).min(chars.len());
                let copy: Vec<char> = chars[at..end].to_vec();
                let to = random.below(chars.len() + 1);
                chars.splice(to..to, copy);
            }
            8 => {
                let piece = random.pick(PIECES);
                let end = (at + 1).min(chars.len());
                chars.splice(at..end, piece.chars());
            }
            _ => {
                let starts: Vec<usize> = (0..chars.len()).filter(|&i| chars[i] == '\n').collect();
                if let Some(&start) = starts.get(random.below(starts.len())) {
                    if random.chance(50) {
                        chars.insert(start + 1, ' ');
                    } else if chars.get(start + 1) == Some(&' ') {
                        chars.remove(start + 1);
                    }
                }
            }
        }
    }
    chars.into_iter().collect()
}
