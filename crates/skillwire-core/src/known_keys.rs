//! Top-level keys of the frontmatter: those of the format, those that clients read besides, and
//! which one an author may have meant.

/// The top-level keys the skill format defines.
pub const KNOWN_KEYS: [&str; 6] =
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/// Keys that clients read at the top level, with the clients that document them.
///
/// Moving one of these below `metadata` would switch a client's setting off, some of which keep a
/// skill from running by itself. So `check` only mentions them.
const CLIENT_KEYS: [(&str, &str); 22] = [
    ("agent", "Claude Code"),
    ("argument-hint", "Claude Code and VS Code"),
    ("arguments", "Claude Code"),
    ("command-arg-mode", "OpenClaw"),
    ("command-dispatch", "OpenClaw"),
    ("command-tool", "OpenClaw"),
    ("context", "Claude Code"),
    ("disable-model-invocation", "Claude Code, Cursor, VS Code and OpenClaw"),
    ("disallowed-tools", "Claude Code"),
    ("effort", "Claude Code"),
    ("homepage", "OpenClaw"),
    ("hooks", "Claude Code"),
    ("modeSlugs", "Roo Code"),
    ("model", "Claude Code"),
    ("paths", "Claude Code and Cursor"),
    ("platforms", "Hermes Agent"),
    ("prerequisites", "Hermes Agent"),
    ("required_environment_variables", "Hermes Agent"),
    ("shell", "Claude Code"),
    ("triggers", "OpenHands"),
    ("user-invocable", "Claude Code, VS Code and OpenClaw"),
    ("when_to_use", "Claude Code"),
];

/// What each key of the format is for, in its order.
const MEANINGS: [(&str, &str); 6] = [
    ("name", "The skill's name: lowercase letters, digits and hyphens, as its folder is called."),
    ("description", "What the skill does and when to use it, in at most 1,024 characters."),
    ("license", "The licence, or the file in the skill that holds it."),
    ("compatibility", "What the skill needs: programs, packages, network, a certain client."),
    ("metadata", "Fields of the author's own, such as `version`; each value is a string."),
    (
        "allowed-tools",
        "Tools that the skill asks to use, separated by blanks; a request, not a grant.",
    ),
];

/// A top-level key that the format or a client documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentedKey {
    /// The key.
    pub name: &'static str,
    /// What it is for; the format says it of its own keys.
    pub meaning: Option<&'static str>,
    /// The clients that read it; none for keys of the format, which all read.
    pub clients: Option<&'static str>,
}

impl DocumentedKey {
    /// Says who reads the key.
    pub fn readers(&self) -> String {
        match self.clients {
            Some(clients) => format!("read by {clients}"),
            None => "defined by the skill format".to_owned(),
        }
    }
}

/// Every top-level key that the format or a client documents; those of the format first.
pub fn documented_keys() -> impl Iterator<Item = DocumentedKey> {
    let format = MEANINGS.iter().map(|(name, meaning)| DocumentedKey {
        name,
        meaning: Some(meaning),
        clients: None,
    });
    let client = CLIENT_KEYS.iter().map(|(name, clients)| DocumentedKey {
        name,
        meaning: None,
        clients: Some(clients),
    });
    format.chain(client)
}

/// Keys of `metadata` below which a client keeps settings that are no strings.
const CLIENT_METADATA: [(&str, &str); 4] = [
    ("clawdbot", "OpenClaw"),
    ("clawdis", "OpenClaw"),
    ("hermes", "Hermes Agent"),
    ("openclaw", "OpenClaw"),
];

/// The client that keeps its settings below a key of `metadata`.
pub(crate) fn client_of_metadata(key: &str) -> Option<&'static str> {
    CLIENT_METADATA.iter().find(|(known, _)| *known == key).map(|(_, client)| *client)
}

/// What a top-level key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// The format defines it.
    Format,
    /// These clients read it.
    Client(&'static str),
    /// Neither; the key that the author may have meant, if one is near.
    Unknown(Option<&'static str>),
}

/// Says what a top-level key is.
pub(crate) fn kind_of(key: &str) -> KeyKind {
    if KNOWN_KEYS.contains(&key) {
        return KeyKind::Format;
    }
    match CLIENT_KEYS.iter().find(|(known, _)| *known == key) {
        Some((_, clients)) => KeyKind::Client(clients),
        None => KeyKind::Unknown(meant(key)),
    }
}

/// The known key that an author may have meant by another one.
fn meant(key: &str) -> Option<&'static str> {
    /// Short words are near to one another by chance.
    const SHORTEST: usize = 6;
    /// The most letters that may be wrong.
    const MOST_WRONG: usize = 2;
    /// A longer key is never a slip of the pen for a known one.
    const LONGEST: usize = 40;
    if key.len() > LONGEST {
        return None;
    }
    let plain = folded(key);
    let known = || KNOWN_KEYS.into_iter().chain(CLIENT_KEYS.iter().map(|(key, _)| *key));
    known().find(|known| folded(known) == plain).or_else(|| {
        let near = known().filter(|known| known.len() >= SHORTEST && plain.len() >= SHORTEST);
        let near = near.map(|known| (distance(&folded(known), &plain), known));
        near.filter(|(wrong, _)| *wrong <= MOST_WRONG).min().map(|(_, known)| known)
    })
}

/// A key without the differences in which spellings of one word differ.
fn folded(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// The number of letters to change, add or leave out to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, from) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, to) in other.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_a_client_reads_is_told_from_one_that_none_reads_rs_07() {
        assert_eq!(kind_of("name"), KeyKind::Format);
        assert!(matches!(kind_of("disable-model-invocation"), KeyKind::Client(clients)
            if clients.contains("Claude Code")));
        for key in ["version", "author", "tags", "category", "x", "risk"] {
            assert_eq!(kind_of(key), KeyKind::Unknown(None), "{key}");
        }
    }

    #[test]
    fn a_slip_of_the_pen_is_recognised_rs_07() {
        for (key, known) in [
            ("user-invokable", "user-invocable"),
            ("allowed_tools", "allowed-tools"),
            ("allowedTools", "allowed-tools"),
            ("Name", "name"),
            ("descripton", "description"),
            ("disable_model_invocation", "disable-model-invocation"),
            ("licence", "license"),
            ("compatability", "compatibility"),
        ] {
            assert_eq!(kind_of(key), KeyKind::Unknown(Some(known)), "{key}");
        }
        assert_eq!(kind_of(&"x".repeat(2_000)), KeyKind::Unknown(None));
    }
}
