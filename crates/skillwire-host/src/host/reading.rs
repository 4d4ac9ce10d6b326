//! Fetching bytes: listed files are verified, all others are marked as unverified.

use bytes::Bytes;
use serde_json::Value;
use skillwire_core::{Digest, RelPath, ResourceUri, Resources, SkillResource, skill_file};
use skillwire_dialects::{SkillOffer, skills_page::RemoteRun};
use skillwire_trust::{
    Action, EntrySource, KnownSkill, ListedSkill, LoggedContent, Reason, Refusal, Remedy, SkillId,
    VerifiedFile, reference,
};

use super::Host;
use crate::window::find;
use skillwire_remote::Remote;

/// Content for the user to look at; nothing turns it into text for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected {
    /// The skill.
    pub skill: SkillId,
    /// The file.
    pub uri: ResourceUri,
    /// Its bytes.
    pub bytes: Bytes,
    /// Whether the bytes match the entry; if not, nothing says what they should be.
    pub verified: bool,
}

/// A file with the listed size and digest.
struct FetchedFile {
    file: VerifiedFile,
    /// Whether a server sent it just now.
    is_new: bool,
}

fn is_skill_file(held: &ListedSkill, file: &SkillResource) -> bool {
    file.uri == *held.id().uri.file()
}

impl Host {
    /// Fetches one listed file, from the cache or from the skill's own server, and verifies it: size
    /// and digest, and for `SKILL.md` the frontmatter that the entry lists.
    ///
    /// Every file that a user or a model gets comes from here. The host drops bytes that do not
    /// match. It then asks for the entry once more, and if the entry changed, the user has to approve
    /// the skill again.
    pub(crate) async fn fetch(
        &self,
        held: &ListedSkill,
        file: &SkillResource,
    ) -> Result<VerifiedFile, Refusal> {
        let content = || held.content().map(|content| content.fingerprint());
        let fingerprint = if is_skill_file(held, file) { content() } else { None };
        self.fetch_known(held, file, fingerprint).await
    }

    /// Fetches one listed file of a skill whose content has this fingerprint, which the caller may
    /// know already.
    pub(super) async fn fetch_known(
        &self,
        held: &ListedSkill,
        file: &SkillResource,
        fingerprint: Option<Digest>,
    ) -> Result<VerifiedFile, Refusal> {
        // Boxed, so that the futures of programs that call this do not nest too deeply to compile.
        let fetched = Box::pin(self.fetch_listed(held, file)).await?;
        if is_skill_file(held, file) {
            self.compare_frontmatter(held, fingerprint, fetched.file.bytes())?;
        }
        Ok(self.keep(fetched))
    }

    /// Fetches one listed file for another host, which compares the frontmatter itself.
    pub(super) async fn fetch_to_pass_on(
        &self,
        held: &ListedSkill,
        file: &SkillResource,
    ) -> Result<VerifiedFile, Refusal> {
        // Boxed, so that the futures of programs that call this do not nest too deeply to compile.
        let fetched = Box::pin(self.fetch_listed(held, file)).await?;
        let differs = fetched.is_new
            && is_skill_file(held, file)
            && self.compare_frontmatter(held, None, fetched.file.bytes()).is_err();
        Ok(if differs { fetched.file } else { self.keep(fetched) })
    }

    /// Has the server of a skill run one of its scripts. The caller has the user's consent.
    pub(crate) async fn run_on_server(
        &self,
        held: &ListedSkill,
        offer: &SkillOffer,
        script: &RelPath,
        arguments: Value,
    ) -> Result<RemoteRun, Refusal> {
        let skill = held.id();
        let server = self.server_of(skill, &skill.uri.root().child(script))?;
        // Boxed, so that the futures of programs that call this do not nest too deeply to compile.
        Box::pin(server.execute(skill, offer, script, arguments)).await
    }

    /// Caches a file that a server sent, after everything about it was compared.
    fn keep(&self, fetched: FetchedFile) -> VerifiedFile {
        let FetchedFile { file, is_new } = fetched;
        if is_new && let Err(error) = self.inner.cache.put(&file) {
            tracing::warn!("A file cannot be cached: {error}. It is used all the same.");
        }
        file
    }

    /// Fetches one listed file and compares its size and digest.
    async fn fetch_listed(
        &self,
        held: &ListedSkill,
        file: &SkillResource,
    ) -> Result<FetchedFile, Refusal> {
        let skill = held.id();
        if skill.origin.server().is_none() {
            let host = self.clone();
            let id = skill.clone();
            let file = file.clone();
            let read = tokio::task::spawn_blocking(move || host.read_from_folder(&id, &file)).await;
            let read = read.unwrap_or_else(|error| {
                Err(Refusal::new(Reason::FileMissing).about(skill).actual(error))
            });
            return read.map(|file| FetchedFile { file, is_new: false });
        }
        // Pinned files are fetched again, so that the host notices a change, unless the server is
        // known to be away.
        let may_be_cached = !held.integrity().is_first_seen()
            || self.inner.offline
            || held.source() == EntrySource::Remembered;
        if may_be_cached && let Some(verified) = self.cached(skill, file) {
            return Ok(FetchedFile { file: verified, is_new: false });
        }
        let server = self.server_of(skill, &file.uri)?;
        let fetched = match held.offer() {
            Some(offer) => server.read_offered(skill, offer, &file.uri, file.size).await,
            None => server.read(&file.uri, file.size).await.map(|content| content.bytes),
        };
        let fetched = match fetched {
            Ok(bytes) => VerifiedFile::check(skill, file, bytes),
            Err(refusal) => Err(refusal.about(skill)),
        };
        let verified = match fetched {
            Ok(verified) => verified,
            Err(refusal) if held.integrity().is_first_seen() => {
                // While the server is away, what the user approved may be used.
                let cached =
                    || self.cached(skill, file).filter(|_| refusal.reason.is_server_away());
                match cached() {
                    Some(cached) => return Ok(FetchedFile { file: cached, is_new: false }),
                    None => return Err(self.pin_broken(skill, refusal)?),
                }
            }
            Err(refusal) => return Err(self.recover(held, refusal).await),
        };
        Ok(FetchedFile { file: verified, is_new: true })
    }

    pub(super) fn cached(&self, skill: &SkillId, file: &SkillResource) -> Option<VerifiedFile> {
        let bytes = self.inner.cache.get(skill, file)?;
        VerifiedFile::check(skill, file, bytes).ok()
    }

    /// Returns the headings of a skill's `SKILL.md`, one per line, if it is in a folder of this
    /// machine or cached; this fetches nothing.
    pub fn headings(&self, skill: &KnownSkill) -> Option<String> {
        let id = skill.id();
        if id.origin.server().is_none() {
            let folders = self.folders();
            return folders.skills.get(id).map(|skill| skill.headings().to_owned());
        }
        let Resources::Listed(files) = &skill.entry().resources else { return None };
        let cached = self.cached(id, find(files, id.uri.file())?)?;
        Some(skill_file::headings(cached.bytes()))
    }

    /// Reads one file of a skill in a folder; a file that changed since it was listed is refused.
    ///
    /// This reads from disk, so an asynchronous caller should use a blocking thread.
    pub fn read_from_folder(
        &self,
        skill: &SkillId,
        file: &SkillResource,
    ) -> Result<VerifiedFile, Refusal> {
        let folders = self.folders();
        let local = folders.skills.get(skill);
        let local = local.ok_or_else(|| Refusal::new(Reason::SkillNotFound).about(skill))?;
        let verified = local.read(&file.uri)?;
        // The host may have read the folder again since the skill was loaded.
        VerifiedFile::check(skill, file, verified.bytes().clone())
    }

    /// Asks for the entry once and decides what a mismatch means.
    async fn recover(&self, held: &ListedSkill, refusal: Refusal) -> Refusal {
        if !refusal.reason.is_about_content() {
            return refusal;
        }
        if held.source() == EntrySource::Recovered {
            return Refusal { reason: Reason::SkillUnstable, ..refusal };
        }
        let id = held.id();
        let Some(Ok(remote)) = id.origin.server().map(|label| self.remote(label)) else {
            return refusal;
        };
        match self.get_from(&remote, &id.uri, EntrySource::Recovered).await {
            Ok(now) if now.entry() == held.entry() => refusal,
            Ok(_) => Refusal {
                reason: Reason::Changed,
                hint: None,
                remedy: Some(Box::new(Remedy::ReviewChanges(id.clone()))),
                ..refusal
            },
            Err(gone) if gone.reason == Reason::SkillNotFound => gone,
            Err(_) => refusal,
        }
    }

    /// Reads a file of a dynamic skill, for which no digest is listed.
    pub(crate) async fn read_unlisted(
        &self,
        skill: &SkillId,
        uri: &ResourceUri,
        most: u64,
    ) -> Result<Bytes, Refusal> {
        let server = self.server_of(skill, uri)?;
        let bytes = match server.offer_of(&skill.uri) {
            Some(offer) => server.read_offered(skill, &offer, uri, most).await,
            None => server.read(uri, most).await.map(|content| content.bytes),
        };
        bytes.map_err(|refusal| refusal.about(skill))
    }

    pub(super) fn server_of(
        &self,
        skill: &SkillId,
        uri: &ResourceUri,
    ) -> Result<std::sync::Arc<Remote>, Refusal> {
        let refuse = |reason| Refusal::new(reason).about(skill).file(uri);
        if self.inner.offline {
            return Err(refuse(Reason::Offline).hint("Load it once while the server is there."));
        }
        let label = skill.origin.server().ok_or_else(|| refuse(Reason::SkillNotFound))?;
        self.remote(label)
    }

    /// Shows the user a file of a skill before anything is approved. This loads nothing.
    #[tracing::instrument(skip_all, fields(skill = %listed.id(), file))]
    pub async fn inspect(&self, listed: &ListedSkill, file: &str) -> Result<Inspected, Refusal> {
        let skill = listed.id();
        let refuse = |reason| Refusal::new(reason).about(skill).file(file.escape_debug());
        let candidates = reference::resolve(&skill.uri, file).map_err(refuse)?;
        let inspected = match &listed.entry().resources {
            Resources::Listed(files) if candidates.iter().all(|uri| find(files, uri).is_none()) => {
                let uri = candidates.into_iter().find(|uri| listed.may_have(uri));
                let uri = uri.ok_or_else(|| refuse(Reason::FileNotListed))?;
                let offer = listed.offer().ok_or_else(|| refuse(Reason::FileNotListed))?;
                let most = self.policy().limits.bytes;
                let server = self.server_of(skill, &uri)?;
                let bytes = server.read_offered(skill, offer, &uri, most).await?;
                Inspected { skill: skill.clone(), uri, bytes, verified: false }
            }
            Resources::Listed(files) => {
                let listed_file = candidates.iter().find_map(|uri| find(files, uri));
                let listed_file = listed_file.ok_or_else(|| refuse(Reason::FileNotListed))?;
                let verified = self.fetch(listed, listed_file).await?;
                let uri = verified.uri().clone();
                let bytes = verified.bytes().clone();
                Inspected {
                    skill: skill.clone(),
                    uri,
                    bytes,
                    verified: !listed.integrity().is_first_seen(),
                }
            }
            Resources::Dynamic => {
                let uri = candidates.into_iter().next();
                let uri = uri.ok_or_else(|| refuse(Reason::PathOutsideSkill))?;
                let bytes = self.read_unlisted(skill, &uri, self.policy().limits.bytes).await?;
                if uri == *skill.uri.file() {
                    self.compare_frontmatter(listed, None, &bytes)?;
                }
                Inspected { skill: skill.clone(), uri, bytes, verified: false }
            }
        };
        let content = listed.content().map(|content| LoggedContent::from(&content));
        self.log_skill(skill, content, Action::Inspect, Ok(()), Some(file));
        Ok(inspected)
    }

    /// Returns a file as it was last read, for the user to look at, if it is still cached.
    pub fn inspect_cached(&self, skill: &SkillId, file: &SkillResource) -> Option<Inspected> {
        let cached = self.cached(skill, file)?;
        let uri = cached.uri().clone();
        let bytes = cached.bytes().clone();
        Some(Inspected { skill: skill.clone(), uri, bytes, verified: true })
    }
}
