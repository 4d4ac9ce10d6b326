//! From a skill that a listing mentions to one that the user can approve: reads and pins
//! `SKILL.md`.

use std::sync::Arc;

use bytes::Bytes;
use skillwire_archive::ArchiveFile;
use skillwire_core::{
    Digest, Frontmatter, ResourceUri, Resources, SkillEntry, SkillResource, skill_file,
};
use skillwire_dialects::{
    FetchRoute, FilePromise, SkillOffer, fastmcp::ManifestDocument, sep_2076::NamedSkill,
};
use skillwire_trust::{
    EntrySource, KnownSkill, ListedSkill, Reason, Refusal, SkillId, UnreadSkill, check_frontmatter,
    check_promise,
};

use super::{OfferedFiles, SkillServer, archive::OfferedArchive};

/// The largest manifest that the host reads.
const MOST_MANIFEST_BYTES: u64 = 1 << 20;

/// How much of an offered skill the host reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleDepth {
    /// `SKILL.md`, and what comes along with it.
    SkillFile,
    /// Also the names of other files, where the server has a resource that lists them.
    FileNames,
}

impl<S: SkillServer> OfferedFiles<'_, S> {
    /// Reads what the user needs to approve a skill, and nothing else.
    pub(crate) async fn settle(
        &self,
        skill: &KnownSkill,
        source: EntrySource,
        depth: SettleDepth,
    ) -> Result<ListedSkill, Refusal> {
        let unread = match skill {
            KnownSkill::Listed(listed) => return Ok(listed.clone()),
            KnownSkill::Unread(unread) => unread,
            KnownSkill::Contradicted(contradicted) => match contradicted.first() {
                KnownSkill::Unread(unread) => unread,
                _ => return skill.certain().cloned(),
            },
        };
        let id = unread.id();
        let offer = unread.offer();
        if let FetchRoute::Archive { url, format, digest } = &offer.route {
            let archive = OfferedArchive { url, declared: *format, digest: *digest };
            let files = self.open_archive(id, &archive).await?;
            agree(id, offer, &files)?;
            let pins = files.iter().map(|file| pin(id.uri.root().child(&file.path), &file.bytes));
            let mut pins: Vec<_> = pins.collect();
            pins.sort_unstable_by(|a, b| a.uri.cmp(&b.uri));
            let skill_md =
                files.iter().find(|file| id.uri.root().child(&file.path) == *id.uri.file());
            let bytes = skill_md.map(|file| file.bytes.as_slice()).unwrap_or_default();
            let (frontmatter, offer) = describe(unread, (**offer).clone(), bytes)?;
            return Ok(settled(unread, frontmatter, pins, offer, source));
        }
        let mut offer = (**offer).clone();
        if let FetchRoute::Manifest { uri } = &offer.route {
            let text = self.server.read_resource(uri, MOST_MANIFEST_BYTES).await;
            let text = text.map_err(|refusal| refusal.about(id))?.bytes;
            let text = String::from_utf8_lossy(&text);
            let manifest = ManifestDocument::read(&text, self.server.policy().limits.files);
            let completed = manifest.and_then(|manifest| manifest.complete(&id.uri, offer));
            let refused = |refused| Refusal::of_entry(&id.origin, refused).about(id);
            offer = completed.map_err(refused)?;
        }
        let (bytes, offer) = self.read_skill_file(id, offer).await?;
        let offer = match depth {
            SettleDepth::SkillFile => offer,
            SettleDepth::FileNames => self.with_file_names(id, offer).await,
        };
        let (frontmatter, offer) = describe(unread, offer, &bytes)?;
        let pins = match whole(&offer) {
            Some(files) => self.within_limits(id, files)?,
            None => vec![pin(id.uri.file().clone(), &bytes)],
        };
        Ok(settled(unread, frontmatter, pins, offer, source))
    }

    /// Reads `SKILL.md`; a server that knows skills by name tells the other files along with it.
    pub(crate) async fn read_skill_file(
        &self,
        id: &SkillId,
        offer: SkillOffer,
    ) -> Result<(Bytes, SkillOffer), Refusal> {
        let named = match &offer.route {
            FetchRoute::SkillsGet { name, arguments } => {
                self.get_named(id, name, arguments, &offer).await
            }
            FetchRoute::SkillsRead { name } => self.read_page(id, name, &offer).await,
            _ => {
                let most = self.server.policy().limits.bytes;
                let bytes = self.read(id, &offer, id.uri.file(), most).await?;
                return Ok((bytes, offer));
            }
        };
        let named = named.map_err(|refusal| refusal.about(id))?;
        let offer = match named.paths {
            None => offer,
            Some(paths) => {
                let file = |path| (id.uri.root().child(&path), FilePromise::default());
                offer.naming(paths.into_iter().map(file))
            }
        };
        Ok((named.skill_file, offer))
    }

    /// Adds the names of other files to an offer, if the server has a resource that lists them.
    async fn with_file_names(&self, id: &SkillId, offer: SkillOffer) -> SkillOffer {
        match self.named_files(id, &offer.route).await {
            Ok(Some(files)) => offer.naming(files),
            Ok(None) => offer,
            // The skill can be used without them, and its files can still be read by their paths.
            Err(refusal) => {
                tracing::debug!("The files of {id} are not known. {refusal}");
                offer
            }
        }
    }

    fn within_limits(
        &self,
        skill: &SkillId,
        files: Vec<SkillResource>,
    ) -> Result<Vec<SkillResource>, Refusal> {
        let total = files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size));
        if total > self.server.policy().limits.bytes {
            return Err(Refusal::new(Reason::SkillTooLarge)
                .about(skill)
                .expected(format!("at most {} bytes", self.server.policy().limits.bytes))
                .actual(format!("{total} bytes")));
        }
        Ok(files)
    }
}

/// Compares an opened archive with the files that its entry lists, if it lists any.
fn agree(skill: &SkillId, offer: &SkillOffer, files: &[ArchiveFile]) -> Result<(), Refusal> {
    if offer.promises.is_empty() {
        return Ok(());
    }
    for file in files {
        let uri = skill.uri.root().child(&file.path);
        if !offer.promises.contains_key(&uri) {
            return Err(Refusal::new(Reason::FileNotListed).about(skill).file(uri));
        }
        check_promise(skill, offer, &uri, &file.bytes)?;
    }
    let packed = |uri: &ResourceUri| {
        files.iter().any(|file| skill.uri.below(uri).as_ref() == Some(&file.path))
    };
    match offer.promises.keys().find(|uri| !packed(uri)) {
        Some(missing) => Err(Refusal::new(Reason::FileMissing).about(skill).file(missing)),
        None => Ok(()),
    }
}

/// Returns the size and digest that the host holds a file to from now on.
pub fn pin(uri: ResourceUri, bytes: &[u8]) -> SkillResource {
    SkillResource { uri, digest: Digest::of(bytes), size: bytes.len() as u64 }
}

/// Returns every file with digest and size, if the server promised all of them.
fn whole(offer: &SkillOffer) -> Option<Vec<SkillResource>> {
    if offer.first_seen {
        return None;
    }
    let files = offer.promises.iter().map(|(uri, promise)| {
        Some(SkillResource { uri: uri.clone(), digest: promise.digest?, size: promise.size? })
    });
    files.collect()
}

fn settled(
    unread: &UnreadSkill,
    frontmatter: Frontmatter,
    pins: Vec<SkillResource>,
    offer: SkillOffer,
    source: EntrySource,
) -> ListedSkill {
    let SkillId { origin, uri } = unread.id().clone();
    let entry = SkillEntry { uri, frontmatter, resources: Resources::Listed(pins) };
    ListedSkill::settled(origin, Arc::new(entry), Arc::new(offer), source)
}

fn has_fence(bytes: &[u8]) -> bool {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).starts_with(b"---")
}

/// Puts the listed frontmatter in front of a `SKILL.md` that has none.
pub fn with_frontmatter(listed: &Frontmatter, bytes: Bytes) -> Bytes {
    match std::str::from_utf8(&bytes) {
        Ok(text) if !has_fence(&bytes) => {
            let name = listed.name().as_str();
            let described = NamedSkill::new(name, Some(listed.description()));
            described.facts.skill_file(name, text).into()
        }
        _ => bytes,
    }
}

/// Reads the frontmatter and compares it with the listed one, as far as the dialect lists it.
fn describe(
    unread: &UnreadSkill,
    mut offer: SkillOffer,
    bytes: &[u8],
) -> Result<(Frontmatter, SkillOffer), Refusal> {
    let id = unread.id();
    let refuse = |reason| Refusal::new(reason).about(id).file(id.uri.file());
    let said = &unread.entry().frontmatter;
    if offer.dialect.may_lack_frontmatter() && !has_fence(bytes) {
        offer.described_elsewhere = true;
        return Ok((said.clone(), offer));
    }
    offer.described_elsewhere = false;
    if offer.dialect.lists_frontmatter() {
        check_frontmatter(id, said, bytes)?;
        return Ok((said.clone(), offer));
    }
    let (parsed, findings) = skill_file::check(bytes);
    let parsed = parsed.ok_or_else(|| {
        let actual = findings.first().map_or("unreadable frontmatter", |f| f.message.as_str());
        refuse(Reason::FrontmatterUnreadable)
            .expected("frontmatter as the skill format defines it")
            .actual(actual)
    })?;
    let found = parsed.frontmatter;
    let mismatch = |what: &str, expected: &str, actual: &str| {
        refuse(Reason::FrontmatterMismatch)
            .expected(format!("the {what} `{expected}`, as listed"))
            .actual(format!("`{actual}`"))
    };
    let name_may_differ = offer.dialect.name_rule().file_may_differ();
    if !name_may_differ && found.name() != said.name() {
        return Err(mismatch("name", said.name().as_str(), found.name().as_str()));
    }
    if offer.dialect.lists_exact_description() && found.description() != said.description() {
        return Err(mismatch("description", said.description(), found.description()));
    }
    Ok((found, offer))
}
