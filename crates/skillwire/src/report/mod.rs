//! Prints findings and results for people and for programs.

mod concise;
mod github;
mod human;
mod sarif;

use std::io::Write;

use serde::Serialize;
use skillwire_core::{CharClasses, Exemption, Finding};

pub(crate) use self::{
    concise::concise,
    github::github,
    human::{FindingNote, HumanReport},
    sarif::{Silenced, sarif},
};
#[cfg(feature = "scan")]
pub(crate) use self::{
    github::github_lines,
    sarif::{sarif_log, sarif_uri},
};

/// Returns what to do about a finding, with the option that lets its file pass.
pub(crate) fn help(finding: &Finding) -> Option<String> {
    let help = finding.help.as_deref()?;
    let option = match finding.exemption.as_ref() {
        Some(Exemption::SecretFile(pattern)) => {
            format!("`--allow-secret-file '{pattern}'` allows it.")
        }
        Some(Exemption::FollowLinks) => "`--follow-links` follows it.".to_owned(),
        Some(Exemption::HardLinks) => {
            "Without `--require-single-link` it is served as it is.".to_owned()
        }
        Some(Exemption::NoIndex) => "`--no-index` remembers nothing.".to_owned(),
        _ => return Some(help.to_owned()),
    };
    Some(format!("{help} {option}"))
}

/// Writes one finding in the form of a compiler's message.
pub(crate) fn finding(out: &mut impl Write, finding: &Finding) -> std::io::Result<()> {
    HumanReport::brief().finding(out, finding, None)
}

/// Writes a value as indented JSON and ends the line.
///
/// Characters that would act on a terminal are written as JSON escapes. Programs decode these to
/// the same text, so nothing is lost.
pub(crate) fn json(out: &mut impl Write, value: &impl Serialize) -> std::io::Result<()> {
    write_escaped(out, &serde_json::to_string_pretty(value)?)
}

/// Writes a value as JSON on one line, for programs that read line by line.
pub(crate) fn json_line(out: &mut impl Write, value: &impl Serialize) -> std::io::Result<()> {
    write_escaped(out, &serde_json::to_string(value)?)
}

fn write_escaped(out: &mut impl Write, text: &str) -> std::io::Result<()> {
    let mut escaped = Vec::with_capacity(text.len() + 1);
    // Line breaks belong to the layout here: JSON escapes those inside strings.
    for part in text.split_inclusive(|c| c != '\n' && is_unseen(c)) {
        let last = part.chars().next_back().filter(|c| *c != '\n' && is_unseen(*c));
        let plain = part.len() - last.map_or(0, char::len_utf8);
        escaped.extend_from_slice(&part.as_bytes()[..plain]);
        for unit in last.iter().flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec()) {
            write!(escaped, "\\u{unit:04x}")?;
        }
    }
    escaped.push(b'\n');
    out.write_all(&escaped)?;
    out.flush()
}

/// Escapes characters that would act on a terminal or begin another line. Names and texts come from
/// skills and servers, which are not trusted.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Tells whether a character moves the cursor, reorders text or cannot be seen.
pub(crate) fn is_unseen(c: char) -> bool {
    CharClasses::UNPRINTABLE.contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_act_on_a_terminal_v_54() {
        assert_eq!(printable("a\u{1b}[31mb\u{202e}c\nd"), "a\\u{1b}[31mb\\u{202e}c\\nd");
        assert_eq!(printable("a\u{ad}b\u{3164}"), "a\\u{ad}b\\u{3164}");
    }

    #[test]
    fn json_means_the_same_and_does_not_act_on_a_terminal_v_54() {
        let text = "a\u{1b}[31m\u{9b}\u{7f}\u{202e}\u{e0041}\n\u{e9}";
        let mut out = Vec::new();
        json(&mut out, &[text]).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(!out.trim_end().contains(|c| c != '\n' && is_unseen(c)), "{out}");
        assert_eq!(serde_json::from_str::<[String; 1]>(&out).unwrap(), [text]);
    }
}
