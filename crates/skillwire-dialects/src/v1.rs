//! D1, the released extension: pages of `skills/list` and answers to `skills/get`.
//!
//! An entry itself is [`SkillEntry`], which core reads and writes; this file has what stands around
//! it.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json, value::RawValue};
use skillwire_core::{
    Frontmatter, Resources, SkillEntry, SkillResource, SkillUri,
    received::{self, EntryLimits},
};

use crate::{
    DraftSkill, EntryAge, FilePromise, InvalidDocument, OfferedSkill, RefusedEntry, draft,
};

/// The longest cursor that a client sends back.
const MAX_CURSOR_BYTES: usize = 64 * 1024;

/// The longest time that a client uses an answer, whatever lifetime the server states.
const MAX_LIFETIME: Duration = Duration::from_hours(24);

/// The members of a page other than its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageHead {
    /// The number of entries.
    pub entries: usize,
    /// The cursor of the next page.
    pub next: Option<String>,
    /// How long the page may be used.
    pub freshness: Freshness,
}

/// How long a client may use an answer without asking again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Freshness {
    /// The time; zero if the server states none, or none that can be read.
    pub lifetime: Duration,
    /// Whether the client must not share the answer with other users; true unless the server says
    /// otherwise.
    pub private: bool,
    /// The problem with the caching hints, if there is one.
    pub oddity: Option<String>,
}

/// How entries are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ReadEntries {
    /// The most that is accepted of one skill.
    pub limits: EntryLimits,
    /// Whether each entry's text is kept, which may have members that this program does not know.
    pub keep_text: bool,
}

impl ReadEntries {
    /// Sets the most that is accepted of one skill.
    #[must_use]
    pub fn with_limits(self, limits: EntryLimits) -> Self {
        Self { limits, ..self }
    }

    /// Says whether each entry's text is kept, which may have members that this program does not know.
    #[must_use]
    pub fn with_entry_text(self, keep_text: bool) -> Self {
        Self { keep_text, ..self }
    }
}

/// An entry, and the text it was read from where [`ReadEntries::keep_text`] asks for it and the entry alone
/// would be written otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedEntry {
    /// The entry.
    pub entry: Arc<SkillEntry>,
    /// Its JSON, as the server wrote it.
    pub text: Option<Arc<str>>,
}

/// An entry that the released extension refuses.
#[derive(Debug, Clone, PartialEq)]
pub struct UnusableEntry {
    /// Why it is refused.
    pub refused: RefusedEntry,
    /// What it says about the age of its server.
    pub age: EntryAge,
}

/// The reason why an answer to `skills/get` cannot be used.
#[derive(Debug, Clone, PartialEq)]
pub enum UnusableAnswer {
    /// It is not an answer to `skills/get`.
    Invalid(InvalidDocument),
    /// It is about another skill than the one that was asked for.
    Substituted(SkillUri),
    /// Its entry is refused.
    Entry(Box<UnusableEntry>),
}

impl From<InvalidDocument> for UnusableAnswer {
    fn from(invalid: InvalidDocument) -> Self {
        Self::Invalid(invalid)
    }
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

/// Reads what a client needs to ask for the next page; something that is not a page is refused
/// whole.
pub fn read_head(text: &str) -> Result<PageHead, InvalidDocument> {
    let raw: RawPage<'_> = serde_json::from_str(text).map_err(|_| "no object")?;
    let skills = raw.skills.filter(|raw| raw.get().starts_with('[')).ok_or("no list `skills`")?;
    let skills: Vec<IgnoredAny> =
        serde_json::from_str(skills.get()).map_err(|_| "no list `skills`")?;
    let next = match raw.next.map(RawValue::get) {
        None | Some("null") => None,
        Some(text) if text.len() > MAX_CURSOR_BYTES => {
            return Err("a cursor of more than 65536 bytes".into());
        }
        Some(text) => {
            let cursor: Option<String> = serde_json::from_str(text).ok();
            Some(cursor.ok_or("a `nextCursor` that is not a string")?)
        }
    };
    Ok(PageHead { entries: skills.len(), next, freshness: freshness(raw.ttl, raw.scope) })
}

impl ReadEntries {
    /// Reads the entries of a page; an entry that cannot be used is refused alone.
    pub fn page(
        self,
        text: &str,
    ) -> Result<Vec<Result<ReceivedEntry, UnusableEntry>>, InvalidDocument> {
        let RawSkills { skills } = serde_json::from_str(text).map_err(|_| "no list `skills`")?;
        Ok(skills.into_iter().map(|raw| self.entry(raw.get())).collect())
    }

    /// Reads the answer to `skills/get`, which must be about the skill that was asked for.
    pub fn answer(
        self,
        asked: &SkillUri,
        text: &str,
    ) -> Result<(ReceivedEntry, Freshness), UnusableAnswer> {
        let raw: RawGet<'_> =
            serde_json::from_str(text).map_err(|_| InvalidDocument::from("no object"))?;
        let skill = raw.skill.filter(|raw| raw.get().starts_with('{'));
        let skill = skill.ok_or(InvalidDocument::from("no object `skill`"))?;
        let read = self.entry(skill.get());
        let uri = match &read {
            Ok(received) => Some(&received.entry.uri),
            Err(UnusableEntry { age: EntryAge::Draft(skill), .. }) => {
                skill.as_ref().as_ref().ok().map(DraftSkill::uri)
            }
            Err(_) => None,
        };
        if let Some(uri) = uri.filter(|uri| *uri != asked) {
            return Err(UnusableAnswer::Substituted(uri.clone()));
        }
        let received = read.map_err(|unusable| UnusableAnswer::Entry(Box::new(unusable)))?;
        Ok((received, freshness(raw.ttl, raw.scope)))
    }

    fn entry(self, text: &str) -> Result<ReceivedEntry, UnusableEntry> {
        let entry = received::read(text, self.limits).map_err(|fault| {
            let skill = received::read_only_uri(text);
            UnusableEntry {
                refused: RefusedEntry::of_fault(skill, fault),
                age: draft::read(text, self.limits),
            }
        })?;
        // Most servers write what the entry would be written as, and a listing holds very many entries.
        let differs = || serde_json::to_string(&entry).ok().as_deref() != Some(text);
        let text = (self.keep_text && differs()).then(|| text.into());
        Ok(ReceivedEntry { entry: Arc::new(entry), text })
    }
}

/// Reads the caching hints. With hints that cannot be read, the answer must not be reused.
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

/// Writes a page of entries without what the base protocol puts around it.
pub fn write_page(entries: &[SkillEntry]) -> Value {
    json!({ "skills": entries })
}

/// Makes the entry of a skill that another document described. Fails with what that document did
/// not say.
pub(crate) fn entry_of(skill: &OfferedSkill) -> Result<SkillEntry, &'static str> {
    let frontmatter: &Frontmatter = skill.whole_frontmatter().ok_or("the whole frontmatter")?;
    let file = |(uri, promise): (_, FilePromise)| {
        let digest = promise.digest.ok_or("the digest of each file")?;
        let size = promise.size.ok_or("the size of each file")?;
        Ok(SkillResource { uri, digest, size })
    };
    let resources = match skill.files() {
        None => Resources::Dynamic,
        Some(files) => {
            let files = files.map(|(uri, promise)| file((uri.clone(), *promise)));
            Resources::Listed(files.collect::<Result<_, &'static str>>()?)
        }
    };
    Ok(SkillEntry { uri: skill.uri.clone(), frontmatter: frontmatter.clone(), resources })
}

#[cfg(test)]
mod tests {
    use skillwire_core::Digest;

    use super::*;

    const URI: &str = "skill://acme/refunds/SKILL.md";

    fn entry() -> Value {
        json!({
            "uri": URI,
            "frontmatter": { "name": "refunds", "description": "x", "license": "MIT" },
            "resources": [{ "uri": URI, "digest": Digest::of(b"a"), "size": 1 }],
        })
    }

    #[test]
    fn a_page_is_read_as_it_was_written_d1() {
        let page = json!({ "skills": [entry()] });
        let read = ReadEntries::default().page(&page.to_string()).unwrap();
        let entries: Vec<_> = read.into_iter().map(|read| (*read.unwrap().entry).clone()).collect();
        assert_eq!(write_page(&entries), page);
        let again = entry_of(&OfferedSkill::from(entries[0].clone()));
        assert_eq!(again.as_ref(), Ok(&entries[0]));
    }

    #[test]
    fn an_entry_that_cannot_be_used_is_refused_alone_d1() {
        let page = json!({ "skills": [entry(), { "uri": URI, "frontmatter": {} }, 5] });
        let read = ReadEntries::default().page(&page.to_string()).unwrap();
        assert!(read[0].is_ok());
        let refused = &read[1].as_ref().unwrap_err().refused;
        assert_eq!(refused.skill.as_ref().unwrap().as_str(), URI);
        assert_eq!(read[2].as_ref().unwrap_err().age, EntryAge::Unknown);
        assert!(ReadEntries::default().page("[]").is_err());
    }

    #[test]
    fn the_answer_must_be_about_the_skill_that_was_asked_for_d1() {
        let text = json!({ "skill": entry(), "ttlMs": 5, "cacheScope": "public" }).to_string();
        let read = ReadEntries { keep_text: true, ..ReadEntries::default() };
        let (received, fresh) = read.answer(&SkillUri::parse(URI).unwrap(), &text).unwrap();
        assert_eq!(received.text, None, "the entry says all of it");
        let lifetime = Duration::from_millis(5);
        assert_eq!(fresh, Freshness { lifetime, private: false, oddity: None });
        let mut more = entry();
        more["_meta"] = json!({ "by": "someone" });
        for kept in [more.to_string(), format!("{:#}", entry())] {
            let text = format!(r#"{{"skill":{kept}}}"#);
            let (received, _) = read.answer(&SkillUri::parse(URI).unwrap(), &text).unwrap();
            assert_eq!(received.text.as_deref(), Some(&*kept));
        }
        let other = SkillUri::parse("skill://other/refunds/SKILL.md").unwrap();
        let substituted = UnusableAnswer::Substituted(SkillUri::parse(URI).unwrap());
        assert_eq!(read.answer(&other, &text), Err(substituted));
        for bad in ["[]", "{}", r#"{"skill":[]}"#] {
            assert!(matches!(read.answer(&other, bad), Err(UnusableAnswer::Invalid(_))), "{bad}");
        }
    }

    #[test]
    fn a_head_has_the_cursor_and_what_is_odd_d1() {
        let head = read_head(r#"{"skills":[1,2],"nextCursor":"x","ttlMs":-1}"#).unwrap();
        assert_eq!((head.entries, head.next.as_deref()), (2, Some("x")));
        assert_eq!(head.freshness.lifetime, Duration::ZERO);
        assert!(head.freshness.oddity.unwrap().contains("`ttlMs` is not a number"));
        assert_eq!(read_head(r#"{"skills":[],"nextCursor":null}"#).unwrap().next, None);
        let long = format!(r#"{{"skills":[],"nextCursor":"{}"}}"#, "x".repeat(70_000));
        for bad in ["5", "{}", r#"{"skills":{}}"#, r#"{"skills":[],"nextCursor":5}"#, &long] {
            assert!(read_head(bad).is_err(), "{}", &bad[..bad.len().min(40)]);
        }
    }
}
