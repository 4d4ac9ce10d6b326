//! Entries of the extension before it was released: files without sizes, or no list of files at all.

use serde_json::{Map, Value};
use skillwire_core::{
    Frontmatter, Resources, SkillEntry, SkillUri,
    received::EntryLimits,
    strict_json::{self, JsonLimits},
};
use skillwire_trust::{
    EntrySource, KnownSkill, ListedSkill, Origin, Reason, Refusal, Remedy, SkillId,
};

use super::{Dialect, index};

/// How much of one entry is read.
const ENTRY: JsonLimits = JsonLimits { depth: 24, nodes: 20_000 };

/// What an entry that the released extension refuses says about the age of its server.
#[derive(Debug)]
pub(crate) enum Age {
    /// It has what only the release has, so that it is wrong and not old.
    Released,
    /// It is what a draft asked for, and this is the skill, or why it is none even so.
    Draft(Box<Result<KnownSkill, Refusal>>),
    /// It could be anything.
    Unknown,
}

/// Reads an entry once more as one of a draft; only the user can let a list of files be missing.
pub(crate) fn read(origin: &Origin, text: &str, limits: EntryLimits, legacy: bool) -> Age {
    let Ok(fields) = strict_json::object(text, ENTRY) else { return Age::Unknown };
    let uri = fields.get("uri").and_then(Value::as_str);
    let frontmatter = fields.get("frontmatter").and_then(Value::as_object);
    let (Some(uri), Some(frontmatter)) = (uri, frontmatter) else { return Age::Unknown };
    let skill = match fields.get("resources") {
        Some(Value::String(word)) if word == "dynamic" => return Age::Released,
        Some(Value::Array(files)) if files.iter().any(|file| file.get("size").is_some()) => {
            return Age::Released;
        }
        // No draft had files without digests.
        Some(Value::Array(files)) if files.iter().any(|file| file.get("digest").is_none()) => {
            return Age::Unknown;
        }
        Some(Value::Array(files)) if files.len() > limits.files => {
            Err(Refusal::new(Reason::TooManyFiles)
                .about(origin)
                .file(uri.escape_debug())
                .expected(format!("at most {} files", limits.files))
                .actual(format!("{} files", files.len())))
        }
        Some(Value::Array(files)) => {
            let name = frontmatter.get("name").and_then(Value::as_str).unwrap_or_default();
            let whole = Some(frontmatter.clone());
            index::with_files(origin, Dialect::Draft, (uri, name), files, whole).map(Into::into)
        }
        None => match without_files(origin, uri, frontmatter) {
            Some(skill) if legacy => Ok(skill.into()),
            Some(skill) => Err(unlisted_files(skill.id())),
            None => return Age::Unknown,
        },
        Some(_) => return Age::Unknown,
    };
    Age::Draft(Box::new(skill))
}

/// A skill whose files nobody lists is one without digests.
fn without_files(origin: &Origin, uri: &str, fields: &Map<String, Value>) -> Option<ListedSkill> {
    let uri = SkillUri::parse(uri).ok()?;
    let frontmatter = Frontmatter::from_fields(fields.clone()).ok()?;
    let named = frontmatter.name().as_str() == uri.root().name();
    let entry = SkillEntry { uri, frontmatter, resources: Resources::Dynamic };
    named.then(|| ListedSkill::new(origin.clone(), entry.into(), EntrySource::Named))
}

fn unlisted_files(skill: &SkillId) -> Refusal {
    let refusal = Refusal::new(Reason::ResourcesInvalid)
        .about(skill)
        .expected("a list or `\"dynamic\"`")
        .actual("nothing, as in a draft of the extension");
    match skill.origin.server() {
        Some(label) => refusal.remedy(Remedy::AcceptDraft(label.clone())),
        None => refusal,
    }
}
