//! Generates the text of files: prose, Python and JSON of a given size.

use std::fmt::Write as _;

use super::rng::Rng;

const WORDS: [&str; 48] = [
    "account", "archive", "branch", "budget", "cache", "change", "check", "client", "column",
    "commit", "config", "customer", "deploy", "digest", "draft", "entry", "export", "field",
    "filter", "format", "header", "import", "index", "invoice", "ledger", "limit", "merge",
    "metric", "migrate", "monitor", "notice", "parse", "policy", "query", "record", "refund",
    "release", "report", "review", "rotate", "schema", "server", "signal", "summary", "table",
    "ticket", "token", "verify",
];

pub(super) fn word(rng: &mut Rng) -> &'static str {
    WORDS[rng.below(WORDS.len())]
}

/// A sentence that begins with a capital letter and ends with a full stop.
pub(super) fn sentence(rng: &mut Rng, words: usize) -> String {
    let mut text = String::new();
    for at in 0..words {
        let next = word(rng);
        if at == 0 {
            text.push_str(&next[..1].to_ascii_uppercase());
            text.push_str(&next[1..]);
        } else {
            text.push(' ');
            text.push_str(next);
        }
    }
    text.push('.');
    text
}

/// A complete `SKILL.md`.
pub(super) fn skill_file(rng: &mut Rng, name: &str, size: usize, files: &[String]) -> String {
    let (first, words) = (rng.between(6, 12), rng.between(10, 20));
    let description = format!("{} Use when {}", sentence(rng, first), sentence(rng, words));
    let mut text = format!(
        "---\nname: {name}\ndescription: {description}\nlicense: Apache-2.0\nmetadata:\n  \
         team: {}\n  version: \"{}.{}\"\n---\n\n# {name}\n\n",
        word(rng),
        rng.between(1, 9),
        rng.between(0, 99),
    );
    for file in files {
        let _ = writeln!(text, "- See [{file}]({file}).");
    }
    prose(rng, &mut text, size);
    text
}

/// Fills up with headings and paragraphs.
pub(super) fn prose(rng: &mut Rng, text: &mut String, size: usize) {
    while text.len() < size {
        let _ = write!(text, "\n## {}\n\n", word(rng));
        for _ in 0..rng.between(2, 5) {
            let words = rng.between(8, 16);
            text.push_str(&sentence(rng, words));
            text.push('\n');
        }
    }
}

/// A module of small functions.
pub(super) fn python(rng: &mut Rng, size: usize) -> String {
    let mut text = String::from("\"\"\"Helpers of this skill.\"\"\"\n\nimport json\n");
    while text.len() < size {
        let (name, key) = (word(rng), word(rng));
        let _ = write!(
            text,
            "\n\ndef {name}_{}(record):\n    \"\"\"{}\"\"\"\n    value = record.get(\"{key}\", {})\n    \
             return json.dumps({{\"{name}\": value}})\n",
            rng.below(100_000),
            sentence(rng, 8),
            rng.below(1_000),
        );
    }
    text
}

/// An object of records.
pub(super) fn json(rng: &mut Rng, size: usize) -> String {
    let mut text = String::from("{\n  \"records\": [");
    let mut comma = "";
    while text.len() < size {
        let _ = write!(
            text,
            "{comma}\n    {{ \"id\": {}, \"{}\": \"{}\" }}",
            rng.below(1_000_000),
            word(rng),
            sentence(rng, 6),
        );
        comma = ",";
    }
    text.push_str("\n  ]\n}\n");
    text
}
