//! A skill as a listing offers it: how a client fetches its files, and what the listing promises
//! about them.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};
use skillwire_archive::ArchiveFormat;
use skillwire_core::{
    Digest, Frontmatter, ResourceUri, Resources, SkillEntry, SkillUri, received::EntryProblem,
};

use crate::{Dialect, RefusedEntry, SkillFacts, sep_2076::ArgumentValues};

/// The description of a skill whose listing gives none.
const UNDESCRIBED: &str = "Described only in its SKILL.md.";

/// How a client fetches the files of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchRoute {
    /// Each file is a resource under its own URI.
    Resources,
    /// Each file is a resource under its own URI, and another resource lists them.
    Manifest {
        /// The resource that lists the files.
        uri: String,
    },
    /// `SKILL.md` is this resource, and the skill has no other file.
    SingleResource {
        /// The resource.
        uri: String,
    },
    /// `SKILL.md` is one resource, and one other resource holds all other files.
    Collection {
        /// The resource with `SKILL.md`.
        skill_file: String,
        /// The resource with all other files.
        others: String,
    },
    /// `SKILL.md` is one resource, and another resource lists the other files.
    Documents {
        /// The resource with `SKILL.md`; other files lie below it.
        skill_file: String,
        /// The resource that lists them.
        list: String,
    },
    /// The server answers `skills/get` for this name.
    SkillsGet {
        /// The name that the server knows the skill by.
        name: String,
        /// The arguments that the instructions are asked for with.
        arguments: ArgumentValues,
    },
    /// The server answers `skills/read` for this name.
    SkillsRead {
        /// The name that the server knows the skill by.
        name: String,
    },
    /// `SKILL.md` is at this address of the web, and the skill has no other file.
    WebFile {
        /// The address.
        url: String,
    },
    /// Each file is below this address of the web.
    WebFolder {
        /// The address, with a slash at its end.
        url: String,
    },
    /// All files are in one archive.
    Archive {
        /// The address of the archive.
        url: String,
        /// Its format, where the entry says it; otherwise the answer or the address does.
        format: Option<ArchiveFormat>,
        /// The digest of its bytes.
        digest: Option<Digest>,
    },
}

impl FetchRoute {
    /// Returns the addresses, besides the files' own URIs, at which or below which the server has
    /// content of the skill.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            Self::Resources | Self::SkillsGet { .. } | Self::SkillsRead { .. } => (None, None),
            Self::Manifest { uri } | Self::SingleResource { uri } => (Some(uri), None),
            Self::Collection { skill_file, others } => (Some(skill_file), Some(others)),
            Self::Documents { skill_file, list } => (Some(skill_file), Some(list)),
            Self::WebFile { url } | Self::WebFolder { url } | Self::Archive { url, .. } => {
                (Some(url), None)
            }
        };
        first.into_iter().chain(second).map(String::as_str)
    }
}

/// The promise of a listing about one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilePromise {
    /// The digest of its bytes.
    pub digest: Option<Digest>,
    /// The number of its bytes.
    pub size: Option<u64>,
}

impl FilePromise {
    /// Tells whether the promise has both a digest and a size.
    pub fn is_whole(&self) -> bool {
        self.digest.is_some() && self.size.is_some()
    }

    /// Compares bytes with the promise.
    pub fn check(&self, bytes: &[u8]) -> Result<(), BrokenPromise> {
        let size = bytes.len() as u64;
        if let Some(promised) = self.size.filter(|promised| *promised != size) {
            return Err(BrokenPromise::Size { promised, actual: size });
        }
        let Some(promised) = self.digest else { return Ok(()) };
        let actual = Digest::of(bytes);
        if promised == actual { Ok(()) } else { Err(BrokenPromise::Digest { promised, actual }) }
    }
}

/// The error for bytes that break the promise about their file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BrokenPromise {
    /// Their number is another one.
    #[error("{promised} bytes were promised and {actual} came")]
    Size {
        /// The promised number of bytes.
        promised: u64,
        /// The number of bytes that arrived.
        actual: u64,
    },
    /// Their digest is another one.
    #[error("{promised} was promised and {actual} came")]
    Digest {
        /// The promised digest.
        promised: Digest,
        /// The digest of the bytes that arrived.
        actual: Digest,
    },
}

/// The promises of a server about one skill, and how a client fetches its files.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "listings say or leave out each by itself")]
pub struct SkillOffer {
    /// The dialect of the listing.
    pub dialect: Dialect,
    /// How the files are fetched.
    pub route: FetchRoute,
    /// The promises, by file.
    pub promises: BTreeMap<ResourceUri, FilePromise>,
    /// Whether the skill has only the files that have a promise.
    pub complete: bool,
    /// Whether some file has no listed digest, so that it can only be compared with its first
    /// version.
    pub first_seen: bool,
    /// Whether name and description come from the listing because `SKILL.md` has no frontmatter.
    pub described_elsewhere: bool,
    /// Whether every file that the server names has a promise, if only an empty one.
    pub names_files: bool,
    /// What the listing says about the skill besides.
    pub facts: Arc<SkillFacts>,
}

impl SkillOffer {
    /// Creates an offer that promises nothing.
    pub fn new(dialect: Dialect, route: FetchRoute) -> Self {
        Self {
            dialect,
            route,
            promises: BTreeMap::new(),
            complete: false,
            first_seen: true,
            described_elsewhere: false,
            names_files: false,
            facts: Arc::default(),
        }
    }

    /// Adds what the listing says about the skill besides its files.
    #[must_use]
    pub fn with_facts(self, facts: SkillFacts) -> Self {
        Self { facts: Arc::new(facts), ..self }
    }

    /// Notes files that the server names without promising anything about their bytes.
    #[must_use]
    pub fn naming(mut self, files: impl IntoIterator<Item = (ResourceUri, FilePromise)>) -> Self {
        for (file, promise) in files {
            self.promises.entry(file).or_insert(promise);
        }
        self.names_files = true;
        self
    }

    /// Adds a promise about a file.
    #[must_use]
    pub fn promising(mut self, file: &ResourceUri, promise: FilePromise) -> Self {
        self.promises.insert(file.clone(), promise);
        self
    }

    /// Compares bytes with the promise about their file, if there is one.
    pub fn check(&self, file: &ResourceUri, bytes: &[u8]) -> Result<(), BrokenPromise> {
        self.promises.get(file).copied().unwrap_or_default().check(bytes)
    }
}

/// A skill of a listing, checked as far as the listing alone allows.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedSkill {
    /// The URI of its `SKILL.md`; made from the name where the dialect has none.
    pub uri: SkillUri,
    /// The frontmatter where the dialect lists it, otherwise name and description alone.
    pub frontmatter: Frontmatter,
    /// The promises about its files.
    pub offer: SkillOffer,
}

impl OfferedSkill {
    /// Returns the description, unless the listing has none.
    pub fn description(&self) -> Option<&str> {
        Some(self.frontmatter.description()).filter(|text| *text != UNDESCRIBED)
    }

    /// Returns the frontmatter, unless the listing has only a part of it.
    pub fn whole_frontmatter(&self) -> Option<&Frontmatter> {
        self.offer.dialect.lists_frontmatter().then_some(&self.frontmatter)
    }

    /// Returns every file with its promise, unless the listing leaves open which files there are.
    pub fn files(&self) -> Option<impl Iterator<Item = (&ResourceUri, &FilePromise)>> {
        let promises = &self.offer.promises;
        (self.offer.complete && !promises.is_empty()).then(|| promises.iter())
    }

    /// Returns the digest of `SKILL.md`, where the listing has it.
    pub fn skill_file_digest(&self) -> Option<Digest> {
        self.offer.promises.get(self.uri.file())?.digest
    }

    /// Returns the entry as the released extension would list it before any file was read.
    pub fn entry(&self) -> SkillEntry {
        SkillEntry {
            uri: self.uri.clone(),
            frontmatter: self.frontmatter.clone(),
            resources: Resources::Dynamic,
        }
    }

    /// Creates the offer of a skill that the user named by its URI and that no listing mentions.
    pub fn unlisted(uri: &SkillUri) -> Result<Self, RefusedEntry> {
        Self::unlisted_by(uri, SkillOffer::new(Dialect::Templates, FetchRoute::Resources))
    }

    /// Creates the offer of a skill in an archive that the user named and that no index mentions.
    pub fn unlisted_archive(uri: &SkillUri, archive: &str) -> Result<Self, RefusedEntry> {
        let route = FetchRoute::Archive { url: archive.to_owned(), format: None, digest: None };
        let offer = SkillOffer::new(Dialect::Templates, route);
        Self::unlisted_by(uri, SkillOffer { complete: true, ..offer })
    }

    fn unlisted_by(uri: &SkillUri, offer: SkillOffer) -> Result<Self, RefusedEntry> {
        let name = uri.root().name();
        let claim = Claim { uri: uri.as_str(), name: &name, description: None, frontmatter: None };
        claim.offered(offer)
    }
}

impl From<SkillEntry> for OfferedSkill {
    /// Takes an entry of the released extension, which promises everything by itself.
    fn from(entry: SkillEntry) -> Self {
        let SkillEntry { uri, frontmatter, resources } = entry;
        let mut offer = SkillOffer::new(Dialect::V1, FetchRoute::Resources);
        if let Resources::Listed(files) = resources {
            offer.complete = true;
            offer.first_seen = false;
            let promise = |digest, size| FilePromise { digest: Some(digest), size: Some(size) };
            let files = files.into_iter().map(|file| (file.uri, promise(file.digest, file.size)));
            offer.promises = files.collect();
        }
        Self { uri, frontmatter, offer }
    }
}

/// The claims of a listing about a skill, before they are checked.
pub(crate) struct Claim<'a> {
    pub(crate) uri: &'a str,
    pub(crate) name: &'a str,
    pub(crate) description: Option<&'a str>,
    /// The whole frontmatter, where the dialect lists it.
    pub(crate) frontmatter: Option<Map<String, Value>>,
}

impl Claim<'_> {
    /// Checks the claim by the rules for names and frontmatter that all dialects share.
    pub(crate) fn offered(self, offer: SkillOffer) -> Result<OfferedSkill, RefusedEntry> {
        let refuse =
            |problem: EntryProblem| RefusedEntry::new(problem).file(self.uri.escape_debug());
        let uri = SkillUri::parse(self.uri).map_err(|error| {
            refuse(EntryProblem::Uri)
                .expected("the URI of a `SKILL.md` in normal form")
                .actual(format!("one that {error}"))
        })?;
        let fields = self.frontmatter.unwrap_or_else(|| {
            let description = self.description.map(str::trim).filter(|text| !text.is_empty());
            Map::from_iter([
                ("name".to_owned(), self.name.into()),
                ("description".to_owned(), description.unwrap_or(UNDESCRIBED).into()),
            ])
        });
        let frontmatter = Frontmatter::from_fields(fields).map_err(|error| {
            let about_name = error.about_name();
            let problem = if about_name { EntryProblem::Name } else { EntryProblem::Frontmatter };
            refuse(problem).expected(error.expected()).actual(error.actual())
        })?;
        let in_path = uri.root().name();
        let path_may_differ = offer.dialect.name_rule().path_may_differ();
        if !path_may_differ && frontmatter.name().as_str() != in_path {
            return Err(refuse(EntryProblem::NameMismatch)
                .expected(format!("the name `{in_path}`, as in the URI"))
                .actual(format!("`{}`", frontmatter.name())));
        }
        Ok(OfferedSkill { uri, frontmatter, offer })
    }
}

/// Returns the URI that stands for a skill whose server addresses it by name alone.
pub fn uri_of_name(name: &str) -> String {
    format!("skill://{name}/SKILL.md")
}

/// Reads a digest that may be missing, but must be one if it is there.
pub(crate) fn read_digest(value: Option<&Value>) -> Result<Option<Digest>, RefusedEntry> {
    let Some(value) = value else { return Ok(None) };
    let parsed = value.as_str().and_then(|text| text.parse().ok());
    parsed.map(Some).ok_or_else(|| {
        RefusedEntry::new(EntryProblem::Digest)
            .expected("`sha256:` and 64 lower-case hexadecimal digits")
            .actual(skillwire_protocol::truncated(&value.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_held_to_size_and_digest_d7() {
        let promise = FilePromise { digest: Some(Digest::of(b"abc")), size: Some(3) };
        assert_eq!(promise.check(b"abc"), Ok(()));
        let size = BrokenPromise::Size { promised: 3, actual: 2 };
        assert_eq!(promise.check(b"ab"), Err(size));
        let digest =
            BrokenPromise::Digest { promised: Digest::of(b"abc"), actual: Digest::of(b"abd") };
        assert_eq!(promise.check(b"abd"), Err(digest));
        assert_eq!(FilePromise::default().check(b"anything"), Ok(()));
    }

    #[test]
    fn a_skill_without_description_is_known_to_have_none_d7() {
        let claim = |description| Claim {
            uri: "skill://refunds/SKILL.md",
            name: "refunds",
            description,
            frontmatter: None,
        };
        let offer = || SkillOffer::new(Dialect::FastMcp, FetchRoute::Resources);
        assert_eq!(claim(Some(" ")).offered(offer()).unwrap().description(), None);
        assert_eq!(claim(Some(" x ")).offered(offer()).unwrap().description(), Some("x"));
    }

    #[test]
    fn only_a_scoped_list_lets_a_path_end_in_another_name_d4() {
        for dialect in Dialect::ALL {
            let claim = Claim {
                uri: "skill://acme/v2/SKILL.md",
                name: "refunds",
                description: None,
                frontmatter: None,
            };
            let offered = claim.offered(SkillOffer::new(dialect, FetchRoute::Resources));
            assert_eq!(offered.is_ok(), dialect == Dialect::ScopedList, "{dialect:?}");
        }
    }
}
