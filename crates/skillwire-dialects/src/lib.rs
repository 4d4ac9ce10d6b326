//! The formats in which servers have offered skills, from the released extension back to the first
//! experiments: which there are ([`Dialect`]), which a server speaks ([`Dialects`]), and one module
//! for each with its reader and its writer.
//!
//! This crate never knows where bytes come from or go to. It does no I/O, asks no server and keeps
//! no state: a reader takes the text of an answer, a writer returns one.
//!
//! ```
//! use skillwire_dialects::{Dialect, fastmcp::ManifestDocument, index};
//!
//! let text = r#"{ "skills": [
//!     { "name": "refunds", "type": "skill-md", "description": "Handle a refund.",
//!       "url": "skill://acme/refunds/SKILL.md" },
//!     { "name": "../etc", "type": "skill-md", "url": "file:///etc/passwd" }
//! ] }"#;
//! let listed = index::read(text)?;
//! assert_eq!(listed.dialect, Some(Dialect::EarlyIndex));
//! let refunds = listed.skills[0].as_ref().expect("an entry that can be used");
//! assert_eq!(refunds.description(), Some("Handle a refund."));
//! assert!(listed.skills[1].is_err(), "a refused entry leaves the others usable");
//!
//! let manifest = ManifestDocument { skill: Some("refunds".into()), files: Vec::new() };
//! assert!(manifest.write().starts_with(b"{\n"));
//! # Ok::<(), skillwire_dialects::InvalidDocument>(())
//! ```
//!
//! # How a listing becomes skills
//!
//! Every reader ends in [`OfferedSkill`]: a checked URI and frontmatter with a [`SkillOffer`],
//! which says how a client fetches the files ([`FetchRoute`]) and what was promised about them
//! ([`FilePromise`]). An entry that breaks a rule is a [`RefusedEntry`] beside the others; a text
//! that is not the document at all is an [`InvalidDocument`]. What a dialect lets a server be
//! lenient about is decided in [`Dialect`] and nowhere else, names included ([`NameRule`]).
//!
//! # How to add a dialect
//!
//! Suppose servers begin to list skills in a resource `skill://catalog.toml`.
//!
//! 1. Add a variant to [`Dialect`] where a client should try it, with its code, title and what it
//!    lacks; the compiler lists every `match` that has to decide about it. State files keep the code,
//!    so it never changes again.
//! 2. Write `src/catalog_toml.rs`: the URI, the types on the wire, `read(&str)`, which returns
//!    `Result<OfferedSkill, RefusedEntry>` for each entry, and `write()`. The reader takes hostile
//!    text, so it bounds what it reads and passes each entry through the shared checks. Test that the
//!    writer's output is read back, and that entries that lie or point outside are refused alone.
//! 3. Serving it: give it a name in [`Switchable`] and decide whether it is on by default and whether
//!    it contradicts the extension; then call the writer from a projection in the engine's `dialect`
//!    folder, which takes skills out of the snapshot.
//! 4. Using it: add a `ListingMethod` to the detection of dialects in `skillwire-remote`, which asks for the
//!    resource and hands the text to the reader. A new [`FetchRoute`] is needed only if files are fetched in a new way.
//! 5. Add it to the testkit's older servers, to `docs/dialects.md`, and to `convert` if it has a
//!    document.

mod card;
mod content;
mod convert;
mod dialect;
pub mod draft;
mod facts;
pub mod fastmcp;
pub mod index;
mod instructions;
mod offer;
mod refused;
mod resource;
pub mod scoped_list;
pub mod sep_2076;
mod skill_tools;
pub mod skilljack;
pub mod skills_over_mcp;
pub mod skills_page;
mod switches;
pub mod templates;
pub mod usage;
pub mod v1;
pub mod well_known;
mod xml;

pub use skillwire_archive::ArchiveFormat;
pub use skillwire_core::{
    Digest, Frontmatter, RelPath, ResourceUri, SkillEntry, SkillUri,
    received::{EntryLimits, EntryProblem},
};
pub use skillwire_protocol::Era;

pub use self::{
    card::{FileText, SKILL_PRIORITY, SkillArgument, SkillCard},
    convert::{DOCUMENTS, NotConverted, convert},
    dialect::{Dialect, NameRule},
    draft::{DraftSkill, EntryAge},
    facts::SkillFacts,
    instructions::named_skills,
    offer::{BrokenPromise, FetchRoute, FilePromise, OfferedSkill, SkillOffer, uri_of_name},
    refused::{InvalidDocument, RefusedBecause, RefusedEntry},
    resource::{ALIAS_OF, AliasResource, DocumentResource, ListedResource, ResourcePage},
    skill_tools::hands_out_skills,
    switches::{DialectPart, Dialects, InvalidSwitch, Switch, Switchable},
};
