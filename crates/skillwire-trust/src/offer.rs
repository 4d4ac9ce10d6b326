//! What a server promised about a skill of an older dialect, and where its bytes are.

use std::collections::BTreeMap;

use skillwire_archive::ArchiveFormat;
use skillwire_core::{Digest, ResourceUri};
use skillwire_dialects::Dialect;

use crate::{
    origin::SkillId,
    refusal::{Reason, Refusal},
};

/// Where the bytes of a skill are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchRoute {
    /// Each file is a resource under its own URI.
    Live,
    /// Each file is a resource under its own URI, and a resource lists them.
    Manifest(String),
    /// `SKILL.md` is this resource, and there is nothing else.
    Alone(String),
    /// `SKILL.md` is the first resource, and all other files come together in the second.
    Collection(String, String),
    /// `SKILL.md` is the first resource, and the second lists the others.
    Documents(String, String),
    /// The server answers `skills/get` for this name.
    ByName(String),
    /// The server answers `skills/read` for this name.
    Page(String),
    /// There is only `SKILL.md`, at this address of the web.
    WebFile(String),
    /// Each file is below this address of the web.
    WebFolder(String),
    /// Everything is in one archive.
    Archive {
        /// Where the archive is read.
        url: String,
        /// What kind it is, where its entry says so; else the server says it.
        format: Option<ArchiveFormat>,
        /// What its bytes should be.
        digest: Option<Digest>,
    },
}

/// What was promised about one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Promise {
    /// The digest of its bytes.
    pub digest: Option<Digest>,
    /// Its size in bytes.
    pub size: Option<u64>,
}

/// What a server promised about a skill of an older dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// How the skill is offered.
    pub dialect: Dialect,
    /// Where its bytes are.
    pub route: FetchRoute,
    /// What was promised about its files.
    pub promises: BTreeMap<ResourceUri, Promise>,
    /// Whether a file without a promise is no file of the skill.
    pub complete: bool,
    /// Whether some file has nothing to be compared with but what was seen first.
    pub first_seen: bool,
    /// Whether name and description are not in the file but come from the listing.
    pub described_elsewhere: bool,
}

impl Offer {
    /// An offer about which nothing is promised.
    pub fn new(dialect: Dialect, route: FetchRoute) -> Self {
        Self {
            dialect,
            route,
            promises: BTreeMap::new(),
            complete: false,
            first_seen: true,
            described_elsewhere: false,
        }
    }

    /// Adds a promise about a file.
    #[must_use]
    pub fn promising(mut self, file: &ResourceUri, promise: Promise) -> Self {
        self.promises.insert(file.clone(), promise);
        self
    }

    /// Tells whether the listing had the whole frontmatter, so that nothing has to be read for it.
    pub fn tells_frontmatter(&self) -> bool {
        matches!(self.dialect, Dialect::Draft | Dialect::Index)
    }

    /// Tells whether servers of this dialect may have a `SKILL.md` without frontmatter.
    pub fn may_lack_frontmatter(&self) -> bool {
        matches!(self.dialect, Dialect::FastMcp | Dialect::Usage | Dialect::PlainResources)
    }

    /// How the skill is offered.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Compares bytes with what was promised about their file.
    pub fn check(&self, skill: &SkillId, file: &ResourceUri, bytes: &[u8]) -> Result<(), Refusal> {
        let Promise { digest, size } = self.promises.get(file).copied().unwrap_or_default();
        let refuse = |reason| Refusal::new(reason).about(skill).file(file);
        let actual = bytes.len() as u64;
        if let Some(size) = size.filter(|size| *size != actual) {
            let refusal = refuse(Reason::SizeMismatch).expected(format!("{size} bytes"));
            return Err(refusal.actual(format!("{actual} bytes")));
        }
        let actual = Digest::of(bytes);
        match digest.filter(|digest| *digest != actual) {
            Some(digest) => Err(refuse(Reason::DigestMismatch).expected(digest).actual(actual)),
            None => Ok(()),
        }
    }
}
