//! Skills in archives: downloaded once, checked and opened, and read only from the opened copy.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use parking_lot::Mutex;
use skillwire_archive::{ArchiveFile, ArchiveFormat, ArchiveLimits, Budget, unpack};
use skillwire_client::FetchedContent;
use skillwire_core::{Digest, ResourceUri};
use skillwire_trust::{Reason, Refusal, SkillId};

use super::{OfferedFiles, SkillServer};

/// The largest archive that the host downloads: the size limit of a skill, and some overhead.
const MOST_BYTES: u64 = skillwire_core::limits::MAX_BYTES + (4 << 20);

/// An archive by address and digest: an index may name another one at the same address later.
type ArchiveKey = (String, Option<Digest>);

/// The archives opened in this session, and the bytes that others may still expand to.
#[derive(Default)]
pub(crate) struct OpenedArchives {
    opened: Mutex<HashMap<ArchiveKey, Arc<Vec<ArchiveFile>>>>,
    budget: Mutex<Budget>,
}

/// An archive, as its entry names it.
pub(super) struct OfferedArchive<'a> {
    pub(super) url: &'a str,
    /// The format that the entry declares.
    pub(super) declared: Option<ArchiveFormat>,
    pub(super) digest: Option<Digest>,
}

impl OfferedArchive<'_> {
    /// Returns the format: as the entry declares, else as the server sent it, else by the URL's
    /// ending.
    fn format(&self, sent_as: Option<&str>) -> Option<ArchiveFormat> {
        let address = self.url.split(['?', '#']).next().unwrap_or_default();
        let sent = || sent_as.and_then(ArchiveFormat::of_media_type);
        self.declared.or_else(sent).or_else(|| ArchiveFormat::of_name(address))
    }
}

impl<S: SkillServer> OfferedFiles<'_, S> {
    /// Downloads and opens an archive; one with a digest is opened once per session.
    pub(super) async fn open_archive(
        &self,
        skill: &SkillId,
        archive: &OfferedArchive<'_>,
    ) -> Result<Arc<Vec<ArchiveFile>>, Refusal> {
        let held = self.opened_copy(archive);
        if let Some(files) = held.filter(|_| archive.digest.is_some()) {
            return Ok(files);
        }
        let budget = *self.server.archives().budget.lock();
        if budget.is_spent() {
            let most = "no more archives of this server in one session".to_owned();
            return Err(self.server.exhausted(most, "another one").about(skill));
        }
        let content = if self.server.web().is_some() {
            self.read_web(skill, archive.url, MOST_BYTES).await?
        } else {
            let content = self.server.read_resource(archive.url, MOST_BYTES).await;
            content.map_err(|refusal| refusal.about(skill))?
        };
        self.open_content(skill, archive, &content)
    }

    /// Compares an archive with its digest and opens it within the server's budget.
    fn open_content(
        &self,
        skill: &SkillId,
        archive: &OfferedArchive<'_>,
        content: &FetchedContent,
    ) -> Result<Arc<Vec<ArchiveFile>>, Refusal> {
        let FetchedContent { bytes, media_type } = content;
        let actual = Digest::of(bytes);
        if let Some(digest) = archive.digest.filter(|digest| *digest != actual) {
            return Err(Refusal::new(Reason::DigestMismatch)
                .about(skill)
                .file(archive.url)
                .expected(digest)
                .actual(actual));
        }
        let format = archive.format(media_type.as_deref()).ok_or_else(|| {
            Refusal::new(Reason::ArchiveFormat)
                .about(skill)
                .file(archive.url)
                .expected("`application/gzip` or `application/zip`, or such an ending")
                .actual(media_type.as_deref().unwrap_or("neither").escape_debug())
        })?;
        let mut budget = self.server.archives().budget.lock();
        let opened = unpack(format, bytes, &budget.next(ArchiveLimits::default()));
        let files = opened.map_err(|refused| {
            budget.spend_refused();
            let entry = refused.entry_name().map(str::escape_debug);
            let file = entry.map_or_else(|| archive.url.to_owned(), |entry| entry.to_string());
            Refusal::new(refused.reason().into()).about(skill).file(file).actual(refused.detail())
        })?;
        budget.spend(&files);
        drop(budget);
        let files = Arc::new(files);
        let mut opened = self.server.archives().opened.lock();
        opened.insert((archive.url.to_owned(), archive.digest), Arc::clone(&files));
        Ok(files)
    }

    fn opened_copy(&self, archive: &OfferedArchive<'_>) -> Option<Arc<Vec<ArchiveFile>>> {
        let opened = self.server.archives().opened.lock();
        opened.get(&(archive.url.to_owned(), archive.digest)).map(Arc::clone)
    }

    /// Reads a file of an archive from the opened copy, and never from anywhere else.
    pub(super) async fn read_archived(
        &self,
        skill: &SkillId,
        archive: &OfferedArchive<'_>,
        file: &ResourceUri,
    ) -> Result<Bytes, Refusal> {
        let files = match self.opened_copy(archive) {
            Some(files) => files,
            None => self.open_archive(skill, archive).await?,
        };
        let path = skill.uri.below(file);
        let found = files.iter().find(|found| Some(&found.path) == path.as_ref());
        let missing = || Refusal::new(Reason::FileMissing).about(skill).file(file);
        found.map(|found| Bytes::from(found.bytes.clone())).ok_or_else(missing)
    }
}
