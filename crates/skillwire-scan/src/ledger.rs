//! What a skill reaches out to, as data: a list to read, and to compare with the list of another
//! version.

mod hosts;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::LazyLock,
};

use serde::{Deserialize, Serialize};

use crate::{
    language::Language,
    pattern::Pattern,
    scanner::SkillParts,
    text::passage::{Passage, PassageKind},
};

/// The most entries of one kind; more are counted.
const MOST_OF_ONE_KIND: usize = 2_000;

/// The longest value; a longer one is cut.
const LONGEST_VALUE: usize = 300;

/// A kind of thing that a skill reaches out to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LedgerKind {
    /// A host of an address.
    Host,
    /// An address.
    Url,
    /// A package that is installed or fetched, such as `pip:requests`.
    Package,
    /// A program that a shell starts.
    Command,
    /// A variable of the environment.
    Variable,
    /// A path outside of the skill.
    Path,
}

/// One thing that a skill reaches out to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// What kind of thing.
    pub kind: LedgerKind,
    /// Its name.
    pub value: String,
    /// The first file that names it.
    pub file: String,
    /// The first line that names it.
    pub line: usize,
    /// How often it is named.
    pub count: usize,
}

/// Everything that a skill reaches out to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReachLedger {
    entries: Vec<LedgerEntry>,
    /// How many more there are than the ledger keeps.
    #[serde(default)]
    left_out: usize,
    /// Signatures of the skill. What their statements name is nothing that the skill reaches out to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    signatures: Vec<String>,
}

/// How the ledgers of two versions differ.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct LedgerDiff {
    /// What only the later version reaches out to.
    pub added: Vec<LedgerEntry>,
    /// What only the earlier version reached out to.
    pub removed: Vec<LedgerEntry>,
}

impl LedgerKind {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Url => "url",
            Self::Package => "package",
            Self::Command => "command",
            Self::Variable => "variable",
            Self::Path => "path",
        }
    }

    /// The verb for what a version does with such a thing.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Host | Self::Url => "contacts",
            Self::Package => "installs",
            Self::Command => "runs",
            Self::Variable => "reads",
            Self::Path => "touches",
        }
    }
}

impl ReachLedger {
    /// Every entry, by kind and name.
    pub fn all(&self) -> &[LedgerEntry] {
        &self.entries
    }

    /// The entries of one kind.
    pub fn entries(&self, kind: LedgerKind) -> impl Iterator<Item = &LedgerEntry> {
        self.entries.iter().filter(move |entry| entry.kind == kind)
    }

    /// The hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.entries(LedgerKind::Host).map(|entry| entry.value.as_str())
    }

    /// How many things were left out, because there are more than a ledger keeps.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// The signatures of the skill, whose statements were left out.
    pub fn signatures(&self) -> &[String] {
        &self.signatures
    }

    /// How this version differs from an earlier one.
    pub fn since(&self, earlier: &Self) -> LedgerDiff {
        let only = |these: &Self, those: &Self| {
            let known: BTreeSet<_> =
                those.entries.iter().map(|entry| (entry.kind, &entry.value)).collect();
            let new = these.entries.iter().filter(|it| !known.contains(&(it.kind, &it.value)));
            new.cloned().collect()
        };
        LedgerDiff { added: only(self, earlier), removed: only(earlier, self) }
    }
}

impl LedgerDiff {
    /// Tells whether both versions reach out to the same.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

static URL: LazyLock<Pattern> =
    LazyLock::new(|| Pattern::fixed(r#"(?i)\b(?:https?|ftp|wss?|git|ssh)://[^\s<>"'`)\]}|\\]+"#));
static PACKAGE: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::fixed(concat!(
        r"(?m)\b(pip3?|uv pip|uv tool|pipx|npm|pnpm|yarn|bun|brew|apt(?:-get)?|gem|cargo|go|choco|winget|",
        r"scoop|npx|uvx|bunx|docker)[ \t]+(?:(?:install|i|add|run|pull|dlx)\b[ \t]+|(?:-y|--yes)[ \t]+)?",
        r"([^\n;|&`)]*)"
    ))
});
static VARIABLE: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::fixed(concat!(
        r#"\$\{?([A-Z][A-Z0-9_]{2,63})\b|process\.env(?:\.|\[['"])([A-Za-z_]\w{1,63})|"#,
        r#"(?:os\.environ(?:\.get)?|os\.getenv|getenv|ENV)\s*[\[(]\s*['"]([A-Za-z_]\w{1,63})|"#,
        r"\$env:([A-Za-z_]\w{1,63})|(?m:^|\bexport )([A-Z][A-Z0-9_]{2,63})="
    ))
});
static PATH: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::fixed(concat!(
        r"(?:~|\$HOME|\$\{HOME\}|%USERPROFILE%|%APPDATA%|\$env:USERPROFILE)[/\\][\w.@+\-/\\]*[\w]|",
        r"(?:^|[\s'\x22`=(@:])(/(?:etc|usr|var|opt|tmp|root|home|Library|Applications|proc|sys|dev)/[\w.@+\-/]*[\w])"
    ))
});
static COMMAND: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::fixed(
        r"(?m)(?:^[ \t]*(?:[$>] )?|[;|&(][ \t]*|\b(?:sudo|xargs|exec|then|do|else)[ \t]+)([a-zA-Z][\w.+-]{1,40})(?:[ \t\n;|&)]|$)",
    )
});

/// Words of a shell that are not programs.
const SHELL_WORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "in", "function", "return", "local", "export", "echo", "cd", "set", "unset", "true", "false",
    "exit", "read", "shift", "eval", "source", "test", "printf", "declare", "trap", "wait",
    "break", "continue", "sudo",
];

/// Collects what the passages name.
pub(crate) fn collect(parts: &SkillParts<'_>) -> ReachLedger {
    let mut collected: BTreeMap<(LedgerKind, String), (usize, usize, usize)> = BTreeMap::new();
    let mut add = |kind, value: &str, passage: &Passage, at: usize| {
        let value = value.trim_end_matches(['.', ',', ';', ':', '*', '_']);
        if value.is_empty() {
            return;
        }
        let place = passage.text.origin(at);
        let entry = collected.entry((kind, shortened(value))).or_insert((passage.file, place, 0));
        entry.2 += 1;
    };
    let mut signatures = BTreeSet::new();
    for passage in &parts.passages {
        if is_signed_statement(parts, passage) {
            signatures.insert(parts.files[passage.file].path.to_owned());
            continue;
        }
        let text = passage.text.text.as_str();
        if text.contains("://") {
            for found in URL.find_iter(text) {
                let url = hosts::as_written(parts, passage, found.clone());
                add(LedgerKind::Url, &hosts::escaped_url(&url), passage, found.start);
                if let Some(host) = hosts::of_url(&url) {
                    add(LedgerKind::Host, &host, passage, found.start);
                }
            }
        }
        for (host, at) in hosts::of_commands(parts, passage) {
            add(LedgerKind::Host, &host, passage, at);
        }
        let is_code = !matches!(passage.kind, PassageKind::Prose) || text.contains('`');
        if !is_code {
            continue;
        }
        for groups in PACKAGE.groups_iter(text) {
            let [Some(whole), Some(tool), Some(rest)] = groups.as_slice() else { continue };
            let named = packages(&text[tool.clone()], &text[whole.clone()], &text[rest.clone()]);
            for name in named {
                add(LedgerKind::Package, &name, passage, tool.start);
            }
        }
        if text.contains(['$', '.', '=']) {
            for groups in VARIABLE.groups_iter(text) {
                let named = groups.into_iter().skip(1).flatten().next();
                if let Some(named) = named.filter(|it| !is_shells_own(&text[it.clone()])) {
                    add(LedgerKind::Variable, &text[named.clone()], passage, named.start);
                }
            }
        }
        if text.contains(['/', '\\']) {
            for groups in PATH.groups_iter(text) {
                if let Some(found) = groups.into_iter().rev().flatten().next() {
                    add(LedgerKind::Path, &text[found.clone()], passage, found.start);
                }
            }
        }
        let is_shell = passage.language == Some(Language::Shell)
            && matches!(passage.kind, PassageKind::Code | PassageKind::Script);
        if is_shell {
            for groups in COMMAND.groups_iter(text) {
                let Some(Some(name)) = groups.get(1) else { continue };
                if !SHELL_WORDS.contains(&&text[name.clone()]) {
                    add(LedgerKind::Command, &text[name.clone()], passage, name.start);
                }
            }
        }
    }
    let mut ledger = finish(parts, collected);
    ledger.signatures.extend(signatures);
    ledger
}

/// The names that signatures of skills have.
const SIGNATURE_FILES: [&str; 3] = ["skill.dsse.sig", "skill.sigstore.json", "skill.oms.sig"];

/// Tells whether a passage is what a signature of the skill states: a list of its files, with the names of
/// the formats, which are addresses.
fn is_signed_statement(parts: &SkillParts<'_>, passage: &Passage) -> bool {
    let text = passage.text.text.trim();
    SIGNATURE_FILES.contains(&parts.files[passage.file].path)
        && passage.encodings.len() == 1
        && text.starts_with('{')
        && text.ends_with('}')
        && text.contains("_type")
        && text.contains("https://in-toto.io/Statement/v")
}

fn shortened(value: &str) -> String {
    match value.char_indices().map(|(at, _)| at).find(|at| *at >= LONGEST_VALUE) {
        Some(end) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

fn finish(
    parts: &SkillParts<'_>,
    collected: BTreeMap<(LedgerKind, String), (usize, usize, usize)>,
) -> ReachLedger {
    let mut ledger = ReachLedger::default();
    let mut of_kind: BTreeMap<LedgerKind, usize> = BTreeMap::new();
    let mut lines: HashMap<usize, Vec<usize>> = HashMap::new();
    for ((kind, value), (file, place, count)) in collected {
        let number = of_kind.entry(kind).or_default();
        *number += 1;
        if *number > MOST_OF_ONE_KIND {
            ledger.left_out += 1;
            continue;
        }
        let starts = lines.entry(file).or_insert_with(|| line_starts(&parts.files[file].text));
        let line = starts.partition_point(|start| *start <= place);
        let file = parts.files[file].path.to_owned();
        ledger.entries.push(LedgerEntry { kind, value, file, line: line.max(1), count });
    }
    ledger
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

fn is_shells_own(name: &str) -> bool {
    matches!(
        name,
        "HOME" | "PATH" | "PWD" | "IFS" | "SHELL" | "OLDPWD" | "TMPDIR" | "BASH_SOURCE" | "RANDOM"
    )
}

/// The packages that an installer is told to install, with the installer before each.
fn packages(tool: &str, whole: &str, rest: &str) -> Vec<String> {
    let runs = matches!(tool, "npx" | "uvx" | "bunx");
    let installs = [" install ", " i ", " add ", " run ", " pull ", " dlx "];
    if !runs && !installs.iter().any(|verb| whole.replace('\t', " ").contains(verb)) {
        return Vec::new();
    }
    let most = if runs || tool == "docker" { 1 } else { 20 };
    let name = tool.split(' ').next().unwrap_or(tool);
    let is_package = |word: &&str| {
        !word.starts_with(['-', '.', '/', '$', '<', '"', '\'', '#', '{', '(', '\\'])
            && word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@')
            && !word.contains("://")
            && word.len() < 100
    };
    let words = rest.split_whitespace().filter(is_package).take(most);
    words
        .map(|word| {
            let bare = word.split(['=', '<', '>', '~', '!', '[', ',']).next().unwrap_or(word);
            let bare = match bare.rfind('@') {
                Some(at) if at > 0 => &bare[..at],
                _ => bare,
            };
            format!("{name}:{}", bare.trim_matches(['"', '\'', '.']))
        })
        .filter(|named| !named.ends_with(':'))
        .collect()
}
