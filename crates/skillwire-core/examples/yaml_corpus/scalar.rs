//! Scalars in every style.

use crate::{
    document::{end_of_line, pad},
    random::Random,
    words::{ESCAPES, WORDS},
};

pub(super) fn line(
    random: &mut Random,
    out: &mut String,
    text: impl FnOnce(&mut Random) -> String,
) {
    out.push_str(pad(random));
    let text = text(random);
    out.push_str(&text);
    out.push_str(end_of_line(random));
}

pub(super) fn random_plain(random: &mut Random) -> String {
    let count = 1 + random.below(3);
    (0..count).map(|_| random.pick(WORDS)).collect::<Vec<_>>().join(" ")
}

/// A line break inside a flow or plain scalar, with indentation.
pub(super) fn fold(random: &mut Random, indent: usize) -> String {
    let blank = random.pick(&["", "", "", "\n", "\n\n", "  \n", "\t\n", " \t \n"]);
    let before = random.pick(&["", "", "", " ", "\t", "  "]);
    let extra = random.pick(&["", "", "", " ", "\t", "   ", " \t"]);
    format!("{before}\n{blank}{}{extra}", " ".repeat(indent))
}

pub(super) fn plain_lines(random: &mut Random, indent: usize) -> String {
    let mut out = random_plain(random);
    for _ in 0..=random.below(3) {
        out.push_str(&fold(random, indent));
        out.push_str(&random_plain(random));
    }
    out
}

pub(super) fn double_quoted(random: &mut Random, indent: usize) -> String {
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

pub(super) fn single_quoted(random: &mut Random, indent: usize) -> String {
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

pub(super) fn block_scalar(random: &mut Random, out: &mut String, indent: usize) {
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
