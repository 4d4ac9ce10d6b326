//! The shapes in which skills travelled before the extension was released.
//!
//! Each reader turns what a server says into [`Listed`](crate::listed::Listed) skills that carry an
//! [`Offer`]: where their bytes are and what was promised about them. From there on every dialect
//! goes the one way to a model: settled by reading `SKILL.md`, approved, loaded, read through a
//! window.

mod archive;
mod by_name;
mod convert;
mod draft;
mod fastmcp;
mod index;
mod instructions;
mod ladder;
mod memory;
mod over_mcp;
mod page;
mod resources;
mod road;
mod scoped;
mod settle;
mod skilljack;
mod templates;
mod tools;
mod usage;
mod well_known;

mod offer;

use serde::Serialize;

pub use self::{
    convert::{DOCUMENTS, NotConverted, convert},
    memory::{DialectMemory, KnownDialect},
    offer::Offer,
    templates::SkillTemplate,
};
pub(crate) use self::{
    draft::{Age, read as read_draft},
    instructions::named_skills,
    offer::{Road, unlisted},
    settle::{pin, with_frontmatter},
};

/// How a server offers its skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// The released extension: `skills/list` and `skills/get`.
    V1,
    /// The extension before it was released: no sizes.
    Draft,
    /// `skill://index.json` with frontmatter.
    Index,
    /// `skill://index.json` with types.
    EarlyIndex,
    /// `resources/list` for one scope.
    ScopedList,
    /// `skills/get` by name.
    ByName,
    /// `skills/read` and `skills/read_reference`.
    Page,
    /// `SKILL.md` beside `_manifest`.
    FastMcp,
    /// A resource and a collection for each skill.
    Skilljack,
    /// `skill://index` with documents.
    OverMcp,
    /// One resource that says how to use the server.
    Usage,
    /// An index below `/.well-known/`.
    WellKnown,
    /// A resource template.
    Template,
    /// A resource that only looks like a skill.
    Plain,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 14] = [
        Self::V1,
        Self::Draft,
        Self::Index,
        Self::EarlyIndex,
        Self::ScopedList,
        Self::ByName,
        Self::Page,
        Self::FastMcp,
        Self::Skilljack,
        Self::OverMcp,
        Self::Usage,
        Self::WellKnown,
        Self::Template,
        Self::Plain,
    ];

    /// The short name.
    pub fn code(self) -> &'static str {
        match self {
            Self::V1 => "D1",
            Self::Draft => "D1-draft",
            Self::Index => "D2",
            Self::EarlyIndex => "D3",
            Self::ScopedList => "D4",
            Self::ByName => "D5",
            Self::Page => "D6",
            Self::FastMcp => "D7",
            Self::Skilljack => "D8",
            Self::OverMcp => "D9",
            Self::Usage => "D10",
            Self::WellKnown => "D11",
            Self::Template => "D12",
            Self::Plain => "plain",
        }
    }

    /// The dialect with this short name.
    pub fn parse(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.code() == code)
    }

    /// What it is, in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Self::V1 => "the released extension",
            Self::Draft => "a draft of the extension",
            Self::Index => "an index with frontmatter",
            Self::EarlyIndex => "an index with types",
            Self::ScopedList => "resources listed for a scope",
            Self::ByName => "skills by name",
            Self::Page => "skills read by name",
            Self::FastMcp => "resources with a manifest",
            Self::Skilljack => "resources with collections",
            Self::OverMcp => "an index with documents",
            Self::Usage => "a usage resource",
            Self::WellKnown => "an index on the web",
            Self::Template => "a resource template",
            Self::Plain => "resources that look like skills",
        }
    }

    /// What no skill of this dialect has, in sentences; more may be missing for a single skill.
    pub fn lacks(self) -> &'static [&'static str] {
        const NO_DIGESTS: &str = "No file has a digest: what is approved is what was seen first.";
        const NO_MANIFEST: &str = "No skill has a list of its files.";
        const BY_LOOK: &str = "Nothing says that these are skills but how their URIs look.";
        match self {
            Self::V1 => &[],
            Self::Draft => {
                &["No file has a size, so nothing says how large a skill is before it is read."]
            }
            Self::Index | Self::EarlyIndex => {
                &["At most `SKILL.md` or an archive has a digest; other files are pinned as first \
                   seen."]
            }
            Self::ScopedList => &[NO_DIGESTS, NO_MANIFEST],
            Self::ByName | Self::Page => {
                &[NO_DIGESTS, "`SKILL.md` is put together from what the server says about it."]
            }
            Self::FastMcp => &[BY_LOOK, "Frontmatter is not listed, only a description."],
            Self::Skilljack | Self::Usage | Self::Plain => &[BY_LOOK, NO_DIGESTS, NO_MANIFEST],
            Self::OverMcp => &[BY_LOOK, NO_DIGESTS],
            Self::WellKnown => &["The origin is a web site: nothing but its name says who it is."],
            Self::Template => &[BY_LOOK, NO_DIGESTS, NO_MANIFEST, "Nothing is listed."],
        }
    }
}

impl Serialize for Dialect {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}
