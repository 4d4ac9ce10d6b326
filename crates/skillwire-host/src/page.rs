//! Reading one page of `skills/list`, and the answer to `skills/get`.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value, value::RawValue};
use skillwire_core::{
    SkillEntry, SkillUri,
    received::{self, EntryFault, EntryProblem},
};
use skillwire_trust::{KnownSkill, Origin, Policy, Reason, Refusal, SkillId};

use crate::dialect::{self, Age};

/// The longest cursor that is sent back.
const MAX_CURSOR_BYTES: usize = 64 * 1024;

/// However long a server says an answer stays fresh, it is asked again after this time.
const MAX_LIFETIME: Duration = Duration::from_hours(24);

/// The parameters that ask for the first page, or for the one at a cursor.
pub(crate) fn page_at(cursor: Option<String>) -> Map<String, Value> {
    cursor.map(|cursor| ("cursor".to_owned(), cursor.into())).into_iter().collect()
}

/// What stands around the entries of a page.
#[derive(Debug)]
pub(crate) struct Head {
    /// How many entries there are.
    pub(crate) entries: usize,
    pub(crate) next: Option<String>,
    pub(crate) freshness: Freshness,
}

/// The entries of a page, each read or refused on its own.
pub(crate) type Entries = Vec<Result<ReceivedEntry, Unusable>>;

/// An entry that the released extension refuses.
#[derive(Debug)]
pub(crate) struct Unusable {
    pub(crate) refusal: Refusal,
    /// What it says about the age of its server.
    pub(crate) age: Age,
}

impl Unusable {
    /// The skill it is if its server is older than the release.
    fn draft(&self) -> Option<&KnownSkill> {
        match &self.age {
            Age::Draft(skill) => skill.as_ref().as_ref().ok(),
            Age::Released | Age::Unknown => None,
        }
    }
}

impl From<Refusal> for Unusable {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, age: Age::Unknown }
    }
}

/// An entry, and the text it was read from where the policy keeps that.
#[derive(Debug)]
pub(crate) struct ReceivedEntry {
    pub(crate) entry: Arc<SkillEntry>,
    pub(crate) text: Option<Arc<str>>,
}

/// How long an answer may be used without asking again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Freshness {
    pub(crate) lifetime: Duration,
    /// Whether only we may reuse it; true unless the server says that every client may.
    pub(crate) private: bool,
    /// What is odd about the caching hints, if anything.
    pub(crate) oddity: Option<String>,
}

#[derive(Deserialize)]
struct RawPage<'a> {
    #[serde(borrow, default)]
    skills: Option<&'a RawValue>,
    #[serde(rename = "nextCursor", borrow, default)]
    next: Option<&'a RawValue>,
    #[serde(rename = "ttlMs", borrow, default)]
    ttl: Option<&'a RawValue>,
    #[serde(rename = "cacheScope", borrow, default)]
    scope: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawSkills<'a> {
    #[serde(borrow)]
    skills: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawGet<'a> {
    #[serde(borrow, default)]
    skill: Option<&'a RawValue>,
    #[serde(rename = "ttlMs", borrow, default)]
    ttl: Option<&'a RawValue>,
    #[serde(rename = "cacheScope", borrow, default)]
    scope: Option<&'a RawValue>,
}

/// Reads what is needed to ask for the next page; a page that is not one is refused whole.
pub(crate) fn read_head(origin: &Origin, text: &str) -> Result<Head, Refusal> {
    let broken = |what: &str| protocol_error(origin, "skills/list", what);
    let raw: RawPage<'_> = serde_json::from_str(text).map_err(|_| broken("no object"))?;
    let skills = raw.skills.filter(|raw| raw.get().starts_with('['));
    let skills = skills.ok_or_else(|| broken("no list `skills`"))?;
    let skills: Vec<IgnoredAny> =
        serde_json::from_str(skills.get()).map_err(|_| broken("no list `skills`"))?;
    let next = match raw.next.map(RawValue::get) {
        None | Some("null") => None,
        Some(text) if text.len() > MAX_CURSOR_BYTES => {
            return Err(broken("a cursor of more than 65536 bytes"));
        }
        Some(text) => {
            let cursor: Option<String> = serde_json::from_str(text).ok();
            Some(cursor.ok_or_else(|| broken("a `nextCursor` that is not a string"))?)
        }
    };
    Ok(Head { entries: skills.len(), next, freshness: freshness(raw.ttl, raw.scope) })
}

/// Reads the entries of a page; an entry that is not one is refused alone.
pub(crate) fn read_entries(
    origin: &Origin,
    text: &str,
    policy: &Policy,
    legacy: bool,
) -> Result<Entries, Refusal> {
    let RawSkills { skills } = serde_json::from_str(text)
        .map_err(|_| protocol_error(origin, "skills/list", "no list `skills`"))?;
    Ok(skills.into_iter().map(|raw| read_entry(origin, raw.get(), policy, legacy)).collect())
}

/// Reads the answer to `skills/get`; it must be about the skill that was asked for.
pub(crate) fn read_get(
    asked: &SkillId,
    text: &str,
    policy: &Policy,
    legacy: bool,
) -> Result<(ReceivedEntry, Freshness), Unusable> {
    let broken = |what: &str| protocol_error(&asked.origin, "skills/get", what).about(asked);
    let raw: RawGet<'_> = serde_json::from_str(text).map_err(|_| broken("no object"))?;
    let skill = raw.skill.filter(|raw| raw.get().starts_with('{'));
    let skill = skill.ok_or_else(|| broken("no object `skill`"))?;
    let read = read_entry(&asked.origin, skill.get(), policy, legacy);
    let uri = match &read {
        Ok(received) => Some(&received.entry.uri),
        Err(unusable) => unusable.draft().map(|listed| &listed.id().uri),
    };
    if let Some(uri) = uri.filter(|uri| **uri != asked.uri) {
        let substituted = Refusal::new(Reason::EntrySubstituted).about(asked);
        return Err(substituted.expected(&asked.uri).actual(uri).into());
    }
    let received = read?;
    Ok((received, freshness(raw.ttl, raw.scope)))
}

fn read_entry(
    origin: &Origin,
    text: &str,
    policy: &Policy,
    legacy: bool,
) -> Result<ReceivedEntry, Unusable> {
    let entry = received::read(text, policy.limits).map_err(|fault| {
        let uri = received::read_only_uri(text);
        let refusal = entry_refusal(origin, uri, fault);
        Unusable { refusal, age: dialect::read_draft(origin, text, policy.limits, legacy) }
    })?;
    let text = policy.keeps_entry_text.then(|| text.into());
    Ok(ReceivedEntry { entry: Arc::new(entry), text })
}

fn entry_refusal(origin: &Origin, uri: Option<SkillUri>, fault: EntryFault) -> Refusal {
    let reason = match fault.problem {
        EntryProblem::Malformed => Reason::EntryMalformed,
        EntryProblem::Uri => Reason::UriInvalid,
        EntryProblem::Frontmatter => Reason::FrontmatterInvalid,
        EntryProblem::Name => Reason::NameInvalid,
        EntryProblem::NameMismatch => Reason::NameMismatch,
        EntryProblem::Resources => Reason::ResourcesInvalid,
        EntryProblem::SkillFileNotListed => Reason::SkillFileNotListed,
        EntryProblem::Duplicate => Reason::ResourceDuplicate,
        EntryProblem::Outside => Reason::ResourceOutside,
        EntryProblem::Digest => Reason::DigestInvalid,
        EntryProblem::Size => Reason::SizeInvalid,
        EntryProblem::TooManyFiles => Reason::TooManyFiles,
        EntryProblem::TooLarge => Reason::SkillTooLarge,
    };
    let refusal = Refusal::new(reason).expected(fault.expected).actual(fault.actual);
    let refusal = match uri {
        Some(uri) => refusal.about(SkillId { origin: origin.clone(), uri }),
        None => refusal.about(origin),
    };
    match fault.file {
        Some(file) => refusal.file(file),
        None => refusal,
    }
}

/// Makes the refusal for an answer that is not what the method returns.
pub(crate) fn protocol_error(origin: &Origin, method: &str, what: &str) -> Refusal {
    Refusal::new(Reason::ProtocolError)
        .about(origin)
        .expected(format!("a result of `{method}`"))
        .actual(what)
}

/// Reads the caching hints; whatever cannot be understood means not fresh at all.
fn freshness(ttl: Option<&RawValue>, scope: Option<&RawValue>) -> Freshness {
    let mut odd = Vec::new();
    let lifetime = match ttl.map(RawValue::get) {
        None => {
            odd.push("`ttlMs` is missing");
            Duration::ZERO
        }
        Some(text) => text.parse::<u64>().map_or_else(
            |_| {
                odd.push("`ttlMs` is not a number of milliseconds");
                Duration::ZERO
            },
            |millis| Duration::from_millis(millis).min(MAX_LIFETIME),
        ),
    };
    if scope.is_some_and(|raw| !matches!(raw.get(), "\"public\"" | "\"private\"")) {
        odd.push("`cacheScope` is neither `public` nor `private`");
    }
    let private = scope.is_none_or(|raw| raw.get() != "\"public\"");
    Freshness { lifetime, private, oddity: (!odd.is_empty()).then(|| odd.join("; ")) }
}
