//! One server as a program sees it that passes its skills on.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde::Deserialize;
use skillwire_client::{Changes, ClientError, Interest};
use skillwire_core::{ResourceUri, SkillResource, SkillUri, limits, media_type};
use skillwire_protocol::Era;
use skillwire_trust::{
    EntrySource, KnownSkill, ListedSkill, Reason, Refusal, ServerLabel, VerifiedFile,
};

use super::Host;
use crate::{
    dialect::with_frontmatter,
    remote::{Listing, Remote},
};

/// The most pages of one directory, and children on them: as many files as a skill may have.
const MAX_PAGES: usize = 20;
const MAX_CHILDREN: usize = 2 * limits::MAX_FILES;

/// Something in a directory, as its server tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryChild {
    /// Where it is.
    pub uri: ResourceUri,
    /// Whether it is a directory.
    pub is_directory: bool,
}

#[derive(Deserialize)]
struct RawPage {
    resources: Vec<RawChild>,
    #[serde(rename = "nextCursor", default)]
    next: Option<String>,
}

#[derive(Deserialize)]
struct RawChild {
    uri: String,
    #[serde(rename = "mimeType", default)]
    media_type: Option<String>,
}

/// One server whose skills are passed on: listed, asked for by name, read when a client reads.
///
/// Nothing is loaded here, and nothing reaches a model; the receiver of the skills is a host with
/// rules of its own. Approvals of this host see every change all the same.
#[derive(Clone)]
pub struct Relay {
    host: Host,
    remote: Arc<Remote>,
    label: ServerLabel,
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay").field("label", &self.label).finish_non_exhaustive()
    }
}

/// A listing, and how long the server says that it stays as it is.
#[derive(Debug, Clone)]
pub struct FreshListing {
    /// What was listed.
    pub listing: Arc<Listing>,
    /// How long it may be used; nothing when servers of that era do not say.
    pub lifetime: Option<Duration>,
}

impl FreshListing {
    /// Every skill whose entry can be used as it is; the server has to be asked for the others.
    pub fn skills(&self) -> impl Iterator<Item = &ListedSkill> {
        self.listing.skills.iter().filter_map(|skill| skill.certain().ok())
    }
}

/// An entry, and how long the server says that it stays as it is.
#[derive(Debug, Clone)]
pub struct FreshEntry {
    /// The skill.
    pub listed: ListedSkill,
    /// How long it may be used; nothing when servers of that era do not say.
    pub lifetime: Option<Duration>,
}

impl Host {
    /// One server, for a program that passes its skills on.
    pub fn relay(&self, label: &ServerLabel) -> Result<Relay, Refusal> {
        let remote = self.remote(label)?;
        Ok(Relay { host: self.clone(), remote, label: label.clone() })
    }
}

impl Relay {
    /// What the user calls the server.
    pub fn label(&self) -> &ServerLabel {
        &self.label
    }

    /// The listing while it is fresh, else a new one.
    pub async fn list(&self) -> Result<FreshListing, Refusal> {
        let listing = self.host.list(&self.label).await?;
        let listing = self.passed_on(listing).await;
        let lifetime = self.stated(self.remote.lifetime()).await?;
        Ok(FreshListing { listing, lifetime })
    }

    /// Has the next [`Self::list`] ask the server, whatever it said about lifetimes.
    pub fn expire_listing(&self) {
        self.remote.expire_listing();
    }

    /// Asks for one skill, whether or not it is listed.
    pub async fn get(&self, uri: &SkillUri) -> Result<FreshEntry, Refusal> {
        let listed = self.host.get_from(&self.remote, uri, EntrySource::Named).await?;
        let listed = listed.passed_on();
        let lifetime = self.stated(self.remote.named_lifetime(uri)).await?;
        Ok(FreshEntry { listed, lifetime })
    }

    /// A listing as the released extension has it: what an older dialect only mentions is read.
    ///
    /// This costs one read of each `SKILL.md` whose frontmatter the listing does not tell.
    async fn passed_on(&self, listing: Arc<Listing>) -> Arc<Listing> {
        if listing.skills.iter().all(|skill| skill.offer().is_none()) {
            return listing;
        }
        let mut whole = Listing { skills: Vec::new(), ..(*listing).clone() };
        for skill in &listing.skills {
            match skill {
                KnownSkill::Unread(unread) if unread.offer().dialect.lists_frontmatter() => {
                    whole.skills.push(unread.passed_on().into());
                }
                KnownSkill::Listed(_) | KnownSkill::Unread(_) => {
                    match self.remote.settle(skill, EntrySource::Named).await {
                        Ok(settled) => whole.skills.push(settled.passed_on().into()),
                        Err(refusal) => whole.refused.push(refusal.about(skill.id())),
                    }
                }
                KnownSkill::Contradicted(_) => whole.skills.push(skill.clone()),
            }
        }
        Arc::new(whole)
    }

    /// A lifetime as far as the server can have stated one: the old era has no words for it.
    async fn stated(&self, lifetime: Option<Duration>) -> Result<Option<Duration>, Refusal> {
        if self.remote.web().is_some() {
            return Ok(None);
        }
        let legacy = self.remote.client().await?.server().era == Era::Legacy;
        Ok(lifetime.filter(|_| !legacy))
    }

    /// The entry of a skill as it was last seen, if that is newer than the listing.
    pub fn newer(&self, uri: &SkillUri) -> Option<ListedSkill> {
        self.remote.newer(uri)
    }

    /// Reads a listed file; what comes back has the listed size and digest.
    pub async fn read(
        &self,
        held: &ListedSkill,
        file: &SkillResource,
    ) -> Result<VerifiedFile, Refusal> {
        self.host.fetch(held, file).await
    }

    /// Reads a file of a skill without digests; nothing says what it should be.
    ///
    /// A `SKILL.md` without frontmatter, which some older dialects allow, gets the listed one.
    pub async fn read_dynamic(
        &self,
        held: &ListedSkill,
        uri: &ResourceUri,
    ) -> Result<Bytes, Refusal> {
        let skill = held.id();
        let bytes = self.host.read_unlisted(skill, uri, self.host.policy().limits.bytes).await?;
        let offer = self.remote.offer_of(&skill.uri).filter(|_| uri == skill.uri.file());
        if offer.is_some_and(|offer| offer.dialect.may_lack_frontmatter()) {
            return Ok(with_frontmatter(&held.entry().frontmatter, bytes));
        }
        Ok(bytes)
    }

    /// Asks for the children of a directory; nothing if the server offers no such thing.
    ///
    /// What is no child of the directory is left out, and so is what comes after many of them.
    pub async fn children(
        &self,
        directory: &ResourceUri,
    ) -> Result<Option<Vec<DirectoryChild>>, Refusal> {
        let mut children = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let answer = self.remote.directory(directory.as_str(), cursor.as_deref()).await?;
            let Some(answer) = answer else { return Ok(None) };
            let page: RawPage = answer.read().map_err(|error| {
                Refusal::new(Reason::ProtocolError).about(&self.label).file(directory).actual(error)
            })?;
            children.extend(page.resources.into_iter().filter_map(|raw| {
                let uri = ResourceUri::parse(&raw.uri).ok()?;
                let is_directory = raw.media_type.as_deref() == Some(media_type::DIRECTORY);
                (uri.parent().as_ref() == Some(directory))
                    .then_some(DirectoryChild { uri, is_directory })
            }));
            cursor = page.next;
            if cursor.is_none() || children.len() >= MAX_CHILDREN {
                break;
            }
        }
        children.truncate(MAX_CHILDREN);
        Ok(Some(children))
    }

    /// Listens for changes of the listing.
    pub async fn listen(&self) -> Result<Changes, Refusal> {
        let client = self.remote.client().await?;
        self.heard(client.listen(Interest::Listing, self.remote.limits()).await)
    }

    /// Listens for changes of these resources, where one request is enough for all of them.
    pub async fn listen_to(&self, uris: &[&str]) -> Result<Option<Changes>, Refusal> {
        let client = self.remote.client().await?;
        if client.server().era == Era::Legacy {
            return Ok(None);
        }
        self.heard(client.listen(Interest::Resources(uris), self.remote.limits()).await).map(Some)
    }

    fn heard(&self, changes: Result<Changes, ClientError>) -> Result<Changes, Refusal> {
        changes.map_err(|error| Refusal::new(Reason::ServerError).about(&self.label).actual(error))
    }

    /// Ends the connection, so that the next request makes a new one and learns the era anew.
    pub async fn disconnect(&self) {
        self.remote.disconnect().await;
    }
}
