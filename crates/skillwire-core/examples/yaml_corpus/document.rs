//! Whole documents, and documents with a mistake.

use crate::{
    random::Random,
    scalar::{block_scalar, double_quoted, fold, line, plain_lines, random_plain, single_quoted},
    words::{NUMBERS, WORDS},
};

/// Writes a whole mapping at column 0, with what may stand around it.
pub(super) fn document(random: &mut Random) -> String {
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

pub(super) fn pad(random: &mut Random) -> &'static str {
    random.pick(&[" ", " ", " ", " ", " ", "  ", "    ", " \t", "\t", "\t "])
}

pub(super) fn end_of_line(random: &mut Random) -> &'static str {
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

pub(super) fn flow(random: &mut Random, indent: usize, key: bool) -> String {
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
pub(super) fn mutate(random: &mut Random, text: &str) -> String {
    pub(super) const PIECES: &[&str] = &[
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
