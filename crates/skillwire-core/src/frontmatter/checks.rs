//! Checks each field of a frontmatter against the format, and reports everything at once.

use serde_json::Value;

use super::{MAX_COMPATIBILITY_CHARS, MAX_DESCRIPTION_CHARS};
use crate::{
    char_class::CharClasses,
    finding::{Code, Finding},
    known_keys::{self, KeyKind},
    name::SkillName,
    path::SKILL_FILE,
    span::Span,
    yaml::{Document, quote},
};

/// Prefix of `metadata` keys that only MCP extensions may define.
const RESERVED_METADATA_PREFIX: &str = "io.modelcontextprotocol/";

/// Checks every field; returns the name if it is valid, whether there is a usable description, and
/// the findings.
pub(super) fn run(document: &Document, file: &[u8]) -> (Option<SkillName>, bool, Vec<Finding>) {
    let mut checker = Checker { document, file, findings: Vec::new() };
    let name = checker.name();
    let described = checker.description();
    checker.compatibility();
    checker.license();
    checker.metadata();
    checker.allowed_tools();
    checker.unknown_keys();
    (name, described, checker.findings)
}

struct Checker<'a> {
    document: &'a Document,
    file: &'a [u8],
    findings: Vec<Finding>,
}

impl Checker<'_> {
    /// Reports a problem with the value at a top-level key, or at `key/inner`.
    fn report(&mut self, code: Code, pointer: &str, message: String, help: &str) {
        let mut finding = Finding::new(code, SKILL_FILE, message);
        if let Some(node) = self.document.node(pointer) {
            finding = finding.at(self.file, node.value);
        }
        self.findings.push(if help.is_empty() { finding } else { finding.help(help) });
    }

    /// Reports a problem with a key itself.
    fn report_key(&mut self, code: Code, pointer: &str, message: String, help: &str) {
        let mut finding = Finding::new(code, SKILL_FILE, message).help(help);
        if let Some(span) = self.document.node(pointer).and_then(|node| node.key) {
            finding = finding.at(self.file, span);
        }
        self.findings.push(finding);
    }

    /// Points the last finding at a character of its passage, unless that is written as an escape.
    fn point_at(&mut self, character: char) {
        let Some(last) = self.findings.last_mut() else { return };
        let Some(span) = last.span else { return };
        let passage = String::from_utf8_lossy(&self.file[span.start..span.end]);
        if let Some(at) = passage.find(character) {
            let start = span.start + at;
            *last = last.clone().at(self.file, Span::new(start, start + character.len_utf8()));
        }
    }

    fn name(&mut self) -> Option<SkillName> {
        let Some(value) = self.document.map.get("name") else {
            self.report(
                Code::NameMissing,
                "",
                "The frontmatter has no `name`.".to_owned(),
                "Add a line `name: ...` that repeats the directory's name.",
            );
            return None;
        };
        let Value::String(text) = value else {
            let help = match value {
                Value::Array(_) | Value::Object(_) | Value::Null => {
                    "Write one word, such as `name: pdf-forms`.".to_owned()
                }
                value => format!("Write `name: \"{}\"` if that is the name.", plain(value)),
            };
            let message = format!("`name` is {}, not a string.", kind(value));
            self.report(Code::NameInvalid, "/name", message, &help);
            return None;
        };
        match SkillName::parse(text) {
            Ok(name) => {
                self.reserved(&name);
                Some(name)
            }
            Err(error) => {
                let help = SkillName::suggest(text).map_or_else(
                    || "Choose a name such as `pdf-forms`.".to_owned(),
                    |name| format!("Write `name: {name}`, and give the directory the same name."),
                );
                let message = format!("The name `{}` {error}.", text.escape_debug());
                self.report(Code::NameInvalid, "/name", message, &help);
                None
            }
        }
    }

    /// Older dialects answer these words with something of their own.
    fn reserved(&mut self, name: &SkillName) {
        let taken_by = match name.as_str() {
            "index" => "a list of skills, `skill://index`",
            "lookup" => "a search by name, `skill://lookup/...`",
            "prompt-xml" => "a prompt with all skills, `skill://prompt-xml`",
            _ => return,
        };
        let message = format!("Older servers keep the name `{name}` for {taken_by}.");
        let help = format!("Choose a more telling name, such as `{name}-guide`.");
        self.report(Code::NameReserved, "/name", message, &help);
    }

    /// Tells whether there is a description that can be carried.
    fn description(&mut self) -> bool {
        let Some(value) = self.document.map.get("description") else {
            self.report(
                Code::DescriptionMissing,
                "",
                "The frontmatter has no `description`.".to_owned(),
                "Add a line `description: ...` that says what the skill does and when to use it.",
            );
            return false;
        };
        let Value::String(text) = value else {
            let message = format!("`description` is {}, not a string.", kind(value));
            let help = match value {
                Value::Bool(_) | Value::Number(_) => "Put it in quotes.",
                _ => "Say what the skill does and when to use it, in one text.",
            };
            self.report(Code::DescriptionMissing, "/description", message, help);
            return false;
        };
        if text.trim().is_empty() {
            let message = "`description` is empty.".to_owned();
            let help = "Say what the skill does and when to use it.";
            self.report(Code::DescriptionMissing, "/description", message, help);
            return false;
        }
        let length = text.chars().count();
        if length > MAX_DESCRIPTION_CHARS {
            let message = format!(
                "`description` has {length} characters; at most {MAX_DESCRIPTION_CHARS} are allowed."
            );
            let help = "Move details into the body of `SKILL.md`.";
            self.report(Code::DescriptionTooLong, "/description", message, help);
        }
        if let Some(bad) = text.chars().find(|c| is_deceptive(*c)) {
            let message =
                format!("`description` holds the invisible character U+{:04X}.", u32::from(bad));
            let help = "Remove it: hosts show descriptions to people and models.";
            self.report(Code::DescriptionCharacters, "/description", message, help);
            self.point_at(bad);
        }
        if !says_when(text) {
            let message = "`description` does not say when to use the skill.".to_owned();
            let help = "Add a sentence that begins with \"Use when\", with words a user would say.";
            self.report(Code::DescriptionWithoutWhen, "/description", message, help);
        }
        true
    }

    fn compatibility(&mut self) {
        let Some(value) = self.document.map.get("compatibility") else { return };
        let Value::String(text) = value else {
            let message = format!("`compatibility` is {}, not a string.", kind(value));
            self.report(
                Code::CompatibilityInvalid,
                "/compatibility",
                message,
                "Write one sentence.",
            );
            return;
        };
        let length = text.chars().count();
        if length == 0 {
            let message = "`compatibility` is empty.".to_owned();
            self.report(Code::CompatibilityInvalid, "/compatibility", message, "Remove the line.");
        } else if length > MAX_COMPATIBILITY_CHARS {
            let message = format!(
                "`compatibility` has {length} characters; at most {MAX_COMPATIBILITY_CHARS} are allowed."
            );
            self.report(Code::CompatibilityTooLong, "/compatibility", message, "Shorten it.");
        } else if is_vague_compatibility(text) {
            let message = "`compatibility` names no real need of the environment.".to_owned();
            self.report(Code::CompatibilityVague, "/compatibility", message, "Remove the line.");
        }
    }

    fn license(&mut self) {
        if let Some(value) = self.document.map.get("license")
            && !value.is_string()
        {
            let message = format!("`license` is {}, not a string.", kind(value));
            self.report(Code::LicenseNotAString, "/license", message, "Put it in quotes.");
        }
    }

    fn metadata(&mut self) {
        let Some(value) = self.document.map.get("metadata") else { return };
        let Value::Object(map) = value else {
            let message = format!("`metadata` is {}, not a mapping.", kind(value));
            let help = "Write indented `key: \"value\"` lines below `metadata:`.";
            self.report(Code::MetadataNotAMapping, "/metadata", message, help);
            return;
        };
        for (key, value) in map {
            let pointer = format!("/metadata/{}", key.replace('~', "~0").replace('/', "~1"));
            if let (false, Some(client)) = (value.is_string(), known_keys::client_of_metadata(key))
            {
                let message = format!("`metadata.{key}` holds settings of {client}.");
                let help = "Leave it as it is: the client reads it only in this form.";
                self.report_key(Code::ClientKey, &pointer, message, help);
            } else if !value.is_string() {
                let message = format!("`metadata.{key}` is {}, not a string.", kind(value));
                self.report(Code::MetadataValue, &pointer, message, &as_text(key, value));
            }
            if key.starts_with(RESERVED_METADATA_PREFIX) {
                let message = format!("`metadata` key `{key}` is reserved for MCP extensions.");
                let help = "Use a prefix of your own, such as `com.example/`.";
                self.report_key(Code::MetadataReserved, &pointer, message, help);
            } else if matches!(key.as_str(), "id" | "key" | "type" | "data" | "value" | "info") {
                let message = format!("`metadata` key `{key}` is likely to clash with others.");
                let help = "Use a more telling key, or a prefix such as `com.example/`.";
                self.report_key(Code::MetadataKeyGeneric, &pointer, message, help);
            }
        }
    }

    fn allowed_tools(&mut self) {
        let (message, help) = match self.document.map.get("allowed-tools") {
            None => return,
            Some(Value::String(text)) if !has_top_level_comma(text) => return,
            Some(Value::String(text)) => (
                "`allowed-tools` separates tools by commas.".to_owned(),
                format!("Write `allowed-tools: {}`.", text.replace(", ", " ").replace(',', " ")),
            ),
            Some(Value::Array(items)) => {
                let tools: Vec<_> = items.iter().filter_map(Value::as_str).collect();
                (
                    "`allowed-tools` is a list, not one space-separated string.".to_owned(),
                    format!("Write `allowed-tools: {}`.", tools.join(" ")),
                )
            }
            Some(value) => (
                format!("`allowed-tools` is {}, not a string.", kind(value)),
                "Write the tools in one line, separated by spaces.".to_owned(),
            ),
        };
        self.report(Code::AllowedToolsForm, "/allowed-tools", message, &help);
    }

    fn unknown_keys(&mut self) {
        for (key, value) in &self.document.map {
            let shown = key.escape_debug();
            let (code, message, help) = match known_keys::kind_of(key) {
                KeyKind::Format => continue,
                KeyKind::Client(clients) => (
                    Code::ClientKey,
                    format!("`{shown}` is a setting of {clients}; the format does not define it."),
                    "Leave it where it is: these clients read it only there.".to_owned(),
                ),
                KeyKind::Unknown(meant) => {
                    let message = format!("The format does not define the key `{shown}`.");
                    let help = match (meant, value) {
                        (Some(meant), _) => format!("Did you mean `{meant}`?"),
                        (None, Value::Array(_) | Value::Object(_) | Value::Null) => {
                            "Move it below `metadata`, unless a client that you use reads it here."
                                .to_owned()
                        }
                        (None, value) => format!(
                            "Move it below `metadata` as `{key}: {}`, unless a client that you use \
                             reads it here.",
                            quote(&plain(value))
                        ),
                    };
                    (Code::UnknownKey, message, help)
                }
            };
            let pointer = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
            self.report_key(code, &pointer, message, &help);
        }
    }
}

/// Names a JSON type in a sentence.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// Says how a value of `metadata` can be text.
fn as_text(key: &str, value: &Value) -> String {
    let inner = match value {
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let first = fields.keys().next().map(|field| format!("{key}-{field}"));
            return first.map_or_else(
                || "Remove the line.".to_owned(),
                |first| format!("Give each field inside a key of its own, such as `{first}`."),
            );
        }
        value => plain(value),
    };
    format!("Write `{key}: {}`.", quote(&inner))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => "...".to_owned(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Tells whether a character hides something or makes text look like something it is not.
fn is_deceptive(c: char) -> bool {
    !matches!(c, '\n' | '\t') && CharClasses::UNPRINTABLE.contains(c)
}

/// Tells whether a description says when to use the skill, or may say so in other words.
fn says_when(text: &str) -> bool {
    const CUES: [&str; 26] = [
        "when",
        "use for",
        "use this",
        "use to",
        "use it",
        "use if",
        "use in",
        "used for",
        "used to",
        "used by",
        "before",
        "after",
        "while",
        "if ",
        "trigger",
        "activat",
        "invoke",
        "applies to",
        "apply to",
        "for use",
        "for task",
        "ask",
        "during",
        "mention",
        "request",
        "suitable for",
    ];
    let lower = text.to_lowercase();
    CUES.iter().any(|cue| lower.contains(cue)) || !is_english(&lower)
}

/// Tells whether a lower-case text is English, as far as its letters and commonest words show.
fn is_english(lower: &str) -> bool {
    const COMMON: [&str; 10] = ["the", "a", "an", "and", "of", "for", "to", "in", "with", "from"];
    let letters = lower.chars().filter(|c| c.is_alphabetic());
    let (ascii, foreign): (Vec<char>, Vec<char>) = letters.partition(char::is_ascii);
    let words = lower.split(|c: char| !c.is_alphabetic());
    foreign.len() * 10 <= ascii.len()
        && (ascii.len() < 24 || words.clone().any(|word| COMMON.contains(&word)))
}

fn is_vague_compatibility(text: &str) -> bool {
    let lower = text.trim().trim_end_matches('.').to_lowercase();
    matches!(
        lower.as_str(),
        "any"
            | "all"
            | "none"
            | "n/a"
            | "everything"
            | "works everywhere"
            | "no special requirements"
    )
}

/// Finds a comma outside parentheses, so that `Bash(git add:*, git commit:*)` stays one tool.
fn has_top_level_comma(text: &str) -> bool {
    let mut depth = 0_usize;
    text.chars().any(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}
