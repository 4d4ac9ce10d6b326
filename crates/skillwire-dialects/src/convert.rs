//! Converts documents of one dialect to another, without inventing anything.

use serde_json::{Value, json};
use skillwire_core::received::EntryLimits;

use crate::{
    Dialect, DraftSkill, EntryAge, InvalidDocument, OfferedSkill, RefusedEntry, fastmcp, index,
    offer::{Claim, uri_of_name},
    v1,
    well_known::{self, IndexPlace},
};

/// The dialects that have a document.
pub const DOCUMENTS: [Dialect; 5] =
    [Dialect::V1, Dialect::Index, Dialect::EarlyIndex, Dialect::FastMcp, Dialect::WellKnown];

/// The limits of a conversion. It reads the user's own document and fetches nothing, so they are
/// far above those for a server's entries.
const LIMITS: EntryLimits = EntryLimits::new().with_files(100_000).with_bytes(u64::MAX);

/// The reason why a document cannot be converted, as a sentence without its full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotConverted {
    /// The dialect has no document.
    #[error("{} has no document; those of {} can be converted", .0.code(), codes())]
    NoDocument(Dialect),
    /// It is not a document of that dialect.
    #[error("The document is not one of {}: {source}", from.code())]
    Invalid {
        /// The dialect that it should be of.
        from: Dialect,
        /// What it is instead.
        source: InvalidDocument,
    },
    /// One of its entries cannot be used.
    #[error(transparent)]
    Entry(#[from] RefusedEntry),
    /// One of its entries is no skill.
    #[error("The document has an entry that is no skill")]
    NotASkill,
    /// The manifest does not name its skill.
    #[error("The manifest does not name its `skill`")]
    Nameless,
    /// The new document would need something that the old one does not say.
    #[error("{} needs {what} of `{skill}`, which the document does not say", to.code())]
    Missing {
        /// The dialect of the new document.
        to: Dialect,
        /// What is missing.
        what: &'static str,
        /// The skill.
        skill: String,
    },
    /// A manifest is of one skill.
    #[error("A manifest is of one skill, and the document has {0}")]
    NotOneSkill(usize),
}

fn codes() -> String {
    DOCUMENTS.map(Dialect::code).join(", ")
}

/// Converts a document; everything that the new one needs must be in the old one.
pub fn convert(from: Dialect, to: Dialect, text: &str) -> Result<Value, NotConverted> {
    let skills = read(from, text.trim_start_matches('\u{feff}'))?;
    let missing = |what, skill: &OfferedSkill| NotConverted::Missing {
        to,
        what,
        skill: skill.frontmatter.name().to_string(),
    };
    let all = |write: fn(&OfferedSkill) -> Result<Value, &'static str>| {
        let entry = |skill: &OfferedSkill| write(skill).map_err(|what| missing(what, skill));
        skills.iter().map(entry).collect::<Result<Vec<_>, _>>()
    };
    Ok(match to {
        Dialect::V1 => json!({ "skills": all(|skill| Ok(json!(v1::entry_of(skill)?)))? }),
        Dialect::Index => json!({ "skills": all(index::later_entry)? }),
        Dialect::EarlyIndex => {
            json!({ "$schema": index::SCHEMA, "skills": all(index::earlier_entry)? })
        }
        Dialect::WellKnown => {
            json!({ "version": well_known::VERSION, "skills": all(well_known::entry_of)? })
        }
        Dialect::FastMcp => match all(|skill| Ok(json!(fastmcp::manifest_of(skill)?)))?.pop() {
            Some(manifest) if skills.len() == 1 => manifest,
            _ => return Err(NotConverted::NotOneSkill(skills.len())),
        },
        other => return Err(NotConverted::NoDocument(other)),
    })
}

fn read(from: Dialect, text: &str) -> Result<Vec<OfferedSkill>, NotConverted> {
    let invalid = |source| NotConverted::Invalid { from, source };
    let (skills, others) = match from {
        Dialect::V1 => {
            let page = v1::ReadEntries::default().with_limits(LIMITS).page(text);
            return page.map_err(invalid)?.into_iter().map(released_or_draft).collect();
        }
        Dialect::FastMcp => return Ok(vec![read_manifest(text)?]),
        Dialect::Index | Dialect::EarlyIndex => {
            let index = index::read(text).map_err(invalid)?;
            (index.skills, index.templates.len() + index.unknown)
        }
        Dialect::WellKnown => {
            // A conversion fetches nothing, so every address is acceptable.
            let place = IndexPlace { folder: "", resolve: &|url| Some(url.to_owned()) };
            let site = place.read(text).map_err(invalid)?;
            (site.skills, site.unknown)
        }
        other => return Err(NotConverted::NoDocument(other)),
    };
    if others > 0 {
        return Err(NotConverted::NotASkill);
    }
    Ok(skills.into_iter().collect::<Result<_, _>>()?)
}

/// Takes an entry of the extension, or of a draft of it, which may still say enough.
fn released_or_draft(
    entry: Result<v1::ReceivedEntry, v1::UnusableEntry>,
) -> Result<OfferedSkill, NotConverted> {
    match entry {
        Ok(received) => Ok((*received.entry).clone().into()),
        Err(v1::UnusableEntry { age: EntryAge::Draft(skill), .. }) => match (*skill)? {
            DraftSkill::WithDigests(skill) => Ok(skill),
            DraftSkill::WithoutFiles(entry) => Ok(entry.into()),
        },
        Err(unusable) => Err(unusable.refused.into()),
    }
}

fn read_manifest(text: &str) -> Result<OfferedSkill, NotConverted> {
    let manifest = fastmcp::ManifestDocument::read(text, LIMITS.files)?;
    let name = manifest.skill.as_deref().ok_or(NotConverted::Nameless)?;
    let uri = uri_of_name(name);
    let claim = Claim { uri: &uri, name, description: None, frontmatter: None };
    let route = crate::FetchRoute::Resources;
    let mut skill = claim.offered(crate::SkillOffer::new(Dialect::FastMcp, route))?;
    skill.offer = manifest.complete(&skill.uri, skill.offer)?;
    Ok(skill)
}

#[cfg(test)]
mod tests {
    use skillwire_core::Digest;

    use super::*;

    fn digest_of(letter: char) -> String {
        Digest::of(letter.to_string().as_bytes()).to_string()
    }

    fn page() -> Value {
        json!({ "skills": [{
            "uri": "skill://acme/refunds/SKILL.md",
            "frontmatter": { "name": "refunds", "description": "Refunds.", "license": "MIT" },
            "resources": [
                { "uri": "skill://acme/refunds/SKILL.md", "digest": digest_of('a'), "size": 1 },
                { "uri": "skill://acme/refunds/x/y.md", "digest": digest_of('b'), "size": 1 },
            ],
        }] })
    }

    fn converted(from: Dialect, to: Dialect, document: &Value) -> Result<Value, String> {
        convert(from, to, &document.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_page_of_the_released_extension_becomes_every_document_d2_d3_d7_d11() {
        let index = converted(Dialect::V1, Dialect::Index, &page()).unwrap();
        assert_eq!(index["skills"][0]["digest"], digest_of('a'));
        assert_eq!(index["skills"][0]["frontmatter"]["license"], "MIT");
        let early = converted(Dialect::V1, Dialect::EarlyIndex, &page()).unwrap();
        assert_eq!(early["skills"][0]["type"], "skill-md");
        assert_eq!(early["skills"][0]["url"], "skill://acme/refunds/SKILL.md");
        let manifest = converted(Dialect::V1, Dialect::FastMcp, &page()).unwrap();
        assert_eq!(
            manifest["files"][1],
            json!({ "path": "x/y.md", "size": 1, "hash": digest_of('b') })
        );
        let web = converted(Dialect::V1, Dialect::WellKnown, &page()).unwrap();
        assert_eq!(web["skills"][0]["files"][1]["path"], "x/y.md");
        assert!(web["skills"][0]["digest"].is_string());
        assert_eq!(converted(Dialect::V1, Dialect::V1, &page()).unwrap(), page());
    }

    #[test]
    fn every_document_is_read_again_d2_d3_d7_d11() {
        for between in DOCUMENTS {
            let document = converted(Dialect::V1, between, &page()).unwrap();
            let again = converted(between, between, &document);
            assert_eq!(again.as_ref(), Ok(&document), "{between:?}");
        }
    }

    #[test]
    fn what_a_document_does_not_say_is_not_invented() {
        let early = converted(Dialect::V1, Dialect::EarlyIndex, &page()).unwrap();
        let error = converted(Dialect::EarlyIndex, Dialect::V1, &early).unwrap_err();
        assert!(error.contains("the whole frontmatter of `refunds`"), "{error}");
        let error = converted(Dialect::EarlyIndex, Dialect::FastMcp, &early).unwrap_err();
        assert!(error.contains("the files"), "{error}");
        let index = converted(Dialect::V1, Dialect::Index, &page()).unwrap();
        let again = converted(Dialect::Index, Dialect::V1, &index).unwrap();
        assert_eq!(again["skills"][0]["resources"], "dynamic", "files are not known any more");
        let error = converted(Dialect::Sep2076, Dialect::V1, &page()).unwrap_err();
        assert!(error.contains("D5 has no document"), "{error}");
        let manifest = converted(Dialect::V1, Dialect::FastMcp, &page()).unwrap();
        let error = converted(Dialect::FastMcp, Dialect::EarlyIndex, &manifest).unwrap_err();
        assert!(error.contains("D3 needs the description of `refunds`"), "{error}");
    }

    #[test]
    fn documents_that_point_outside_are_not_converted() {
        let mut outside = page();
        outside["skills"][0]["resources"][1]["uri"] = json!("skill://other/x.md");
        assert!(converted(Dialect::V1, Dialect::Index, &outside).unwrap_err().contains("outside"));
        let manifest = json!({ "skill": "a", "files": [{ "path": "../x" }] });
        assert!(converted(Dialect::FastMcp, Dialect::FastMcp, &manifest).is_err());
        assert!(convert(Dialect::V1, Dialect::Index, "[]").is_err());
    }

    #[test]
    fn a_draft_without_sizes_becomes_what_needs_none_d1() {
        let mut draft = page();
        for file in draft["skills"][0]["resources"].as_array_mut().unwrap() {
            file.as_object_mut().unwrap().remove("size");
        }
        let index = converted(Dialect::V1, Dialect::Index, &draft).unwrap();
        assert_eq!(index["skills"][0]["digest"], digest_of('a'));
        let error = converted(Dialect::V1, Dialect::FastMcp, &draft).unwrap_err();
        assert!(error.contains("the size of each file"), "{error}");
    }

    #[test]
    fn entries_that_are_no_skills_are_not_left_out_silently_d3() {
        let template = json!({ "skills": [{ "type": "mcp-resource-template", "url": "x" }] });
        let error = converted(Dialect::EarlyIndex, Dialect::Index, &template).unwrap_err();
        assert!(error.contains("no skill"), "{error}");
    }
}
