//! The list of all formats, and the rules in which they differ.

use serde::{Serialize, Serializer};

/// A format in which a server offers its skills.
///
/// The order is that in which hosts try them: from the released extension down to resources that
/// only look like skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// D1, the released extension: `skills/list` and `skills/get`.
    V1,
    /// D1 before the release: `skills/list` without sizes.
    Draft,
    /// D2, `skill://index.json` with frontmatter.
    Index,
    /// D3, `skill://index.json` with a `type` for each entry.
    EarlyIndex,
    /// D4, `resources/list` below one URI.
    ScopedList,
    /// D5, SEP-2076: `skills/list` and `skills/get` by name.
    Sep2076,
    /// D6, the "Skills" page: `skills/read`, `skills/read_reference` and `skills/execute`.
    SkillsPage,
    /// D7, `FastMCP`: a `_manifest` beside each `SKILL.md`.
    FastMcp,
    /// D8, skilljack: `skill://name` and the collection `skill://name/`.
    Skilljack,
    /// D9, skills-over-mcp: `skill://index` and documents.
    SkillsOverMcp,
    /// D10, `skill://server/usage`: one guide to the tools of a server.
    Usage,
    /// D11, an index below `/.well-known/` over plain HTTP.
    WellKnown,
    /// D12, resource templates and their completion.
    Templates,
    /// No format at all: resources whose URIs look like those of skills.
    PlainResources,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 14] = [
        Self::V1,
        Self::Draft,
        Self::Index,
        Self::EarlyIndex,
        Self::ScopedList,
        Self::Sep2076,
        Self::SkillsPage,
        Self::FastMcp,
        Self::Skilljack,
        Self::SkillsOverMcp,
        Self::Usage,
        Self::WellKnown,
        Self::Templates,
        Self::PlainResources,
    ];

    /// Returns the short name, which reports and state on disk use.
    pub fn code(self) -> &'static str {
        match self {
            Self::V1 => "D1",
            Self::Draft => "D1-draft",
            Self::Index => "D2",
            Self::EarlyIndex => "D3",
            Self::ScopedList => "D4",
            Self::Sep2076 => "D5",
            Self::SkillsPage => "D6",
            Self::FastMcp => "D7",
            Self::Skilljack => "D8",
            Self::SkillsOverMcp => "D9",
            Self::Usage => "D10",
            Self::WellKnown => "D11",
            Self::Templates => "D12",
            Self::PlainResources => "plain",
        }
    }

    /// Returns the dialect with this short name.
    pub fn parse(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.code() == code)
    }

    /// Returns a short title for the user.
    pub fn title(self) -> &'static str {
        match self {
            Self::V1 => "the released extension",
            Self::Draft => "a draft of the extension",
            Self::Index => "an index with frontmatter",
            Self::EarlyIndex => "an index with types",
            Self::ScopedList => "resources listed for a scope",
            Self::Sep2076 => "skills by name",
            Self::SkillsPage => "skills read by name",
            Self::FastMcp => "resources with a manifest",
            Self::Skilljack => "resources with collections",
            Self::SkillsOverMcp => "an index with documents",
            Self::Usage => "a usage resource",
            Self::WellKnown => "an index on the web",
            Self::Templates => "a resource template",
            Self::PlainResources => "resources that look like skills",
        }
    }

    /// How firmly the dialect ties the name of a skill to its path and its file.
    pub fn name_rule(self) -> NameRule {
        match self {
            // One of its drafts let a path say something else than the name.
            Self::ScopedList => NameRule::Free,
            // The directory is the name, whatever the frontmatter says.
            Self::FastMcp => NameRule::FileMayDiffer,
            _ => NameRule::Same,
        }
    }

    /// Tells whether a listing has the whole frontmatter, so that no file has to be read for it.
    pub fn lists_frontmatter(self) -> bool {
        matches!(self, Self::V1 | Self::Draft | Self::Index)
    }

    /// Tells whether the description in a listing must be the one in `SKILL.md`.
    ///
    /// Other dialects let a server shorten it or write another one.
    pub fn lists_exact_description(self) -> bool {
        self.lists_frontmatter() || self == Self::EarlyIndex
    }

    /// Tells whether servers of this dialect may have a `SKILL.md` without frontmatter.
    pub fn may_lack_frontmatter(self) -> bool {
        matches!(self, Self::FastMcp | Self::Usage | Self::PlainResources)
    }

    /// Returns what the dialect leaves out for every skill, in sentences; a single skill may lack
    /// more.
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
            Self::Sep2076 | Self::SkillsPage => {
                &[NO_DIGESTS, "`SKILL.md` is put together from what the server says about it."]
            }
            Self::FastMcp => &[BY_LOOK, "Frontmatter is not listed, only a description."],
            Self::Skilljack | Self::Usage | Self::PlainResources => {
                &[BY_LOOK, NO_DIGESTS, NO_MANIFEST]
            }
            Self::SkillsOverMcp => &[BY_LOOK, NO_DIGESTS],
            Self::WellKnown => &["The origin is a web site: nothing but its name says who it is."],
            Self::Templates => &[BY_LOOK, NO_DIGESTS, NO_MANIFEST, "Nothing is listed."],
        }
    }
}

/// How firmly a dialect ties the name of a skill to its path and its file.
///
/// All code that is lenient about names decides by this rule alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// Path, listing and file say the same name.
    Same,
    /// The listing says the last segment of the path; the frontmatter may say another name.
    FileMayDiffer,
    /// The listing may say another name than the path, and so may the frontmatter.
    Free,
}

impl NameRule {
    /// Tells whether the listed name may be another one than the last segment of the path.
    pub fn path_may_differ(self) -> bool {
        self == Self::Free
    }

    /// Tells whether the name in `SKILL.md` may be another one than the listed name.
    pub fn file_may_differ(self) -> bool {
        self != Self::Same
    }
}

impl Serialize for Dialect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_names_one_dialect() {
        for dialect in Dialect::ALL {
            assert_eq!(Dialect::parse(dialect.code()), Some(dialect));
        }
        assert_eq!(Dialect::parse("d1"), None);
    }

    #[test]
    fn dialects_are_ordered_as_they_are_listed() {
        assert!(Dialect::ALL.is_sorted());
    }
}
