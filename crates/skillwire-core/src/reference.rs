//! What the reference validator, the Python package `skills-ref`, says about a `SKILL.md`.
//!
//! It is a model of its rules in our own words, so that authors learn what another tool will say
//! without installing it. `tools/reference-agreement` compares the model with the real one.

mod strict_yaml;

use unicode_normalization::UnicodeNormalization;

use self::strict_yaml::{Field, load};
use crate::{
    code::Code,
    frontmatter::{MAX_COMPATIBILITY_CHARS, MAX_DESCRIPTION_CHARS},
    known_keys::KNOWN_KEYS,
    name::MAX_NAME_CHARS,
    path::SKILL_FILE,
};

/// The version of the reference validator that the model follows.
pub const VERSION: &str = "0.1.1";

/// One thing the reference validator complains about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// The code under which we report the same, where there is one.
    pub code: Option<Code>,
    /// What it is about, as a sentence.
    pub message: String,
}

impl Complaint {
    fn new(code: impl Into<Option<Code>>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into() }
    }

    /// Tells whether a finding of this code is about the same problem.
    ///
    /// The reference validator knows no keys of clients, and a list of tools in brackets is to it
    /// no more than a list in brackets.
    pub fn covers(&self, code: Code) -> bool {
        let same = |own| match code {
            Code::ClientKey => own == Code::UnknownKey,
            Code::AllowedToolsForm => own == Code::YamlFlowStyle,
            Code::FrontmatterUnclosed => own == code || own == Code::YamlSyntax,
            code => own == code,
        };
        self.code.is_some_and(same)
    }
}

/// Says what the reference validator would complain about; nothing when it would be content.
///
/// `file` is the name of the skill file as it is spelled, `directory` the name of the directory it
/// is in.
pub fn judge(file: &str, bytes: &[u8], directory: &str) -> Vec<Complaint> {
    if file != SKILL_FILE && file != "skill.md" {
        return vec![Complaint::new(Code::SkillFileCase, "There is no `SKILL.md`.")];
    }
    match fields(bytes) {
        Ok(fields) => check(&fields, directory),
        Err(complaint) => vec![complaint],
    }
}

/// Cuts the frontmatter out, at the first three dashes wherever they stand, and reads it.
fn fields(bytes: &[u8]) -> Result<Vec<(String, Field)>, Complaint> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(Complaint::new(Code::FrontmatterNotUtf8, "It ends with a decoding error."));
    };
    let Some(rest) = text.strip_prefix("---") else {
        let code = if text.starts_with('\u{feff}') {
            Code::ByteOrderMark
        } else {
            Code::FrontmatterMissing
        };
        return Err(Complaint::new(code, "The file does not begin with `---`."));
    };
    let Some((yaml, after)) = rest.split_once("---") else {
        return Err(Complaint::new(Code::FrontmatterUnclosed, "Nothing closes the frontmatter."));
    };
    let is_fence = yaml.is_empty() || yaml.ends_with('\n');
    let cut_short = !is_fence || !matches!(after.bytes().next(), None | Some(b'\n' | b'\r' | b' '));
    let yaml = yaml.replace("\r\n", "\n").replace('\r', "\n");
    load(&yaml).map_err(|complaint| match complaint.code {
        // What is left of the frontmatter before stray dashes is seldom what its author meant.
        Some(code) if cut_short && code != Code::FrontmatterNotAMapping => {
            Complaint { code: Some(Code::DashesInFrontmatter), ..complaint }
        }
        _ => complaint,
    })
}

fn check(fields: &[(String, Field)], directory: &str) -> Vec<Complaint> {
    let field = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let mut complaints = Vec::new();
    if fields.iter().any(|(key, _)| !KNOWN_KEYS.contains(&key.as_str())) {
        complaints.push(Complaint::new(Code::UnknownKey, "There are fields it does not know."));
    }
    match field("name") {
        None => complaints.push(Complaint::new(Code::NameMissing, "`name` is missing.")),
        Some(value) => check_name(value, directory, &mut complaints),
    }
    match field("description") {
        Some(Field::Text(text)) if !text.trim().is_empty() => {
            if text.chars().count() > MAX_DESCRIPTION_CHARS {
                let message = "`description` is too long.";
                complaints.push(Complaint::new(Code::DescriptionTooLong, message));
            }
        }
        _ => complaints
            .push(Complaint::new(Code::DescriptionMissing, "`description` is missing or empty.")),
    }
    match field("compatibility") {
        Some(Field::Text(text)) if text.chars().count() > MAX_COMPATIBILITY_CHARS => complaints
            .push(Complaint::new(Code::CompatibilityTooLong, "`compatibility` is too long.")),
        Some(Field::Collection) => complaints
            .push(Complaint::new(Code::CompatibilityInvalid, "`compatibility` is not a string.")),
        _ => {}
    }
    complaints
}

/// Checks the name. The reference validator accepts letters of every script.
fn check_name(value: &Field, directory: &str, complaints: &mut Vec<Complaint>) {
    let Field::Text(text) = value else {
        complaints.push(Complaint::new(Code::NameInvalid, "`name` is not a string."));
        return;
    };
    let name: String = text.trim().nfkc().collect();
    if name.is_empty() {
        complaints.push(Complaint::new(Code::NameInvalid, "`name` is empty."));
        return;
    }
    let allowed = |c: char| c.is_alphanumeric() || c == '-';
    let broken = [
        (name.chars().count() > MAX_NAME_CHARS, "is too long"),
        (name != name.to_lowercase(), "is not in lower case"),
        (name.starts_with('-') || name.ends_with('-'), "begins or ends with a hyphen"),
        (name.contains("--"), "holds two hyphens in a row"),
        (!name.chars().all(allowed), "holds other characters than letters, digits and hyphens"),
    ];
    for (_, reason) in broken.into_iter().filter(|(is_broken, _)| *is_broken) {
        complaints.push(Complaint::new(Code::NameInvalid, format!("`name` {reason}.")));
    }
    if directory.nfkc().collect::<String>() != name {
        let message = "`name` is not the name of the directory.";
        complaints.push(Complaint::new(Code::NameNotDirectory, message));
    }
}
