//! One server, for a program that passes its skills on to other hosts.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use serde::Deserialize;
use skillwire_client::{Changes, Client, ClientError, Interest};
use skillwire_core::{RelPath, ResourceUri, SkillResource, SkillUri, limits, media_type};
use skillwire_dialects::{FetchRoute, sep_2076::ArgumentValues};
use skillwire_protocol::{Era, NextPage, PageLimits, Pager};
use skillwire_remote::{Listing, Remote, SettleDepth, with_frontmatter};
use skillwire_trust::{
    EntrySource, KnownSkill, ListedSkill, Reason, Refusal, ServerLabel, UnreadSkill, VerifiedFile,
};

use super::Host;

/// The most pages of one directory, and the most children on them: as many files as a skill may
/// have.
const CHILDREN: PageLimits = PageLimits::new(20, 2 * limits::MAX_FILES);

/// A directory entry, as the server reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryChild {
    /// The URI of the entry.
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

/// One server whose skills are passed on: listed, requested by name, and read when a client reads.
///
/// A relay loads nothing, and nothing it returns goes to a model: the receiver is a host with its
/// own rules. The approvals of this host still notice every change.
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

/// A listing, and how long the server says that it is valid.
#[derive(Debug, Clone)]
pub struct FreshListing {
    /// The listing.
    pub listing: Arc<Listing>,
    /// How long it may be used; `None` if the server's era does not state lifetimes.
    pub lifetime: Option<Duration>,
}

/// An entry, and how long the server says that it is valid.
#[derive(Debug, Clone)]
pub struct FreshEntry {
    /// The skill.
    pub listed: ListedSkill,
    /// How long it may be used; `None` if the server's era does not state lifetimes.
    pub lifetime: Option<Duration>,
}

impl Host {
    /// Returns a relay of one server.
    pub fn relay(&self, label: &ServerLabel) -> Result<Relay, Refusal> {
        let remote = self.remote(label)?;
        Ok(Relay { host: self.clone(), remote, label: label.clone() })
    }
}

impl Relay {
    /// Returns the user's label of the server.
    pub fn label(&self) -> &ServerLabel {
        &self.label
    }

    /// Returns the listing while it is fresh, otherwise a new one.
    pub async fn list(&self) -> Result<FreshListing, Refusal> {
        let listing = self.host.list(&self.label).await?;
        let listing = self.completed(listing).await;
        let lifetime = self.stated(self.remote.lifetime()).await?;
        Ok(FreshListing { listing, lifetime })
    }

    /// Makes the next [`Self::list`] ask the server, even if the listing is still fresh.
    pub fn expire_listing(&self) {
        self.remote.expire_listing();
    }

    /// Asks for one skill, whether or not it is listed.
    pub async fn get(&self, uri: &SkillUri) -> Result<FreshEntry, Refusal> {
        let listed = self.host.get_from(&self.remote, uri, EntrySource::Named).await?;
        let lifetime = self.stated(self.remote.named_lifetime(uri)).await?;
        Ok(FreshEntry { listed, lifetime })
    }

    /// Completes a listing of an older dialect as far as the released extension needs it.
    ///
    /// This costs one read of each `SKILL.md` whose frontmatter the listing does not have. A skill
    /// whose `SKILL.md` cannot be read stays unread.
    async fn completed(&self, listing: Arc<Listing>) -> Arc<Listing> {
        if listing.skills.iter().all(|skill| skill.offer().is_none()) {
            return listing;
        }
        let mut whole = Listing { skills: Vec::new(), ..(*listing).clone() };
        for skill in &listing.skills {
            match skill {
                KnownSkill::Unread(unread) if !unread.offer().dialect.lists_frontmatter() => {
                    match self.settle(skill).await {
                        Ok(settled) => whole.skills.push(settled.into()),
                        Err(refusal) => {
                            whole.refused.push(refusal.about(skill.id()));
                            whole.skills.push(skill.clone());
                        }
                    }
                }
                _ => whole.skills.push(skill.clone()),
            }
        }
        Arc::new(whole)
    }

    /// Reads a skill that a listing only mentions, and withdraws an approval of other content.
    async fn settle(&self, skill: &KnownSkill) -> Result<ListedSkill, Refusal> {
        let settled = self.remote.settle(skill, EntrySource::Named, SettleDepth::SkillFile).await?;
        self.host.note_change(&settled)?;
        Ok(settled)
    }

    /// Returns a lifetime only if the server can have stated one: the legacy era has no field for
    /// it.
    async fn stated(&self, lifetime: Option<Duration>) -> Result<Option<Duration>, Refusal> {
        if self.remote.web().is_some() {
            return Ok(None);
        }
        let legacy = self.remote.client().await?.server().era == Era::Legacy;
        Ok(lifetime.filter(|_| !legacy))
    }

    /// Returns the latest entry of a skill, if it is newer than the listing.
    pub fn newer(&self, uri: &SkillUri) -> Option<ListedSkill> {
        self.remote.newer(uri)
    }

    /// Reads a listed file and verifies its size and digest.
    #[tracing::instrument(skip_all, fields(skill = %held.id(), file = %file.uri))]
    pub async fn read(
        &self,
        held: &ListedSkill,
        file: &SkillResource,
    ) -> Result<VerifiedFile, Refusal> {
        self.host.fetch_to_pass_on(held, file).await
    }

    /// Reads a file of a skill without digests, which cannot be verified.
    ///
    /// A `SKILL.md` without frontmatter, which some older dialects allow, gets the listed
    /// frontmatter.
    #[tracing::instrument(skip_all, fields(skill = %held.id(), file = %uri))]
    pub async fn read_dynamic(
        &self,
        held: &ListedSkill,
        uri: &ResourceUri,
    ) -> Result<Bytes, Refusal> {
        let skill = held.id();
        let bytes = self.host.read_unlisted(skill, uri, self.host.policy().limits.bytes).await?;
        Ok(described(held, uri, bytes))
    }

    /// Reads a file of a skill without digests if the user approved the skill as it is now, and
    /// holds the file to the bytes that were read first.
    pub async fn read_approved(
        &self,
        held: &ListedSkill,
        uri: &ResourceUri,
    ) -> Result<Bytes, Refusal> {
        let skill = held.id();
        let now = self.host.get_from(&self.remote, &skill.uri, EntrySource::Named).await?;
        let approved = self.host.approved(&now)?;
        let file = self.host.read_approved(&approved, uri).await?;
        // The user may have withdrawn the approval while the server answered.
        self.host.approved(&now)?;
        Ok(described(&now, uri, file.bytes().clone()))
    }

    /// Reads the `SKILL.md` that the server writes for values of the skill's arguments.
    ///
    /// With `approved_only`, the user must have approved the skill as it is now, and the text is held to
    /// the one that was read first for these values.
    pub async fn read_with(
        &self,
        held: &ListedSkill,
        arguments: &ArgumentValues,
        approved_only: bool,
    ) -> Result<Bytes, Refusal> {
        let skill = held.id();
        let bytes = if approved_only {
            let now = self.host.get_from(&self.remote, &skill.uri, EntrySource::Named).await?;
            let bytes = self.host.read_variant(self.host.approved(&now)?, arguments).await?;
            // The user may have withdrawn the approval while the server answered.
            self.host.approved(&now)?;
            bytes
        } else {
            let wanted = held.with_arguments(arguments)?;
            let offer = wanted.offer().map(|offer| (**offer).clone());
            let offer = offer.ok_or_else(|| Refusal::new(Reason::ArgumentUnknown).about(skill))?;
            self.remote.read_skill_file(skill, offer).await?.0
        };
        Ok(described(held, skill.uri.file(), bytes))
    }

    /// Lists the children of a directory of a skill; returns `None` if nothing says what is there.
    ///
    /// A server that does not list directories may have named the skill's files in another way.
    pub async fn children(
        &self,
        held: &ListedSkill,
        directory: &ResourceUri,
    ) -> Result<Option<Vec<DirectoryChild>>, Refusal> {
        if held.offer().is_none_or(|offer| offer.route == FetchRoute::Resources)
            && let Some(children) = self.directory(directory).await?
        {
            return Ok(Some(children));
        }
        let Some(offer) = held.offer() else { return Ok(None) };
        let known = if offer.names_files || (offer.complete && held.content().is_some()) {
            held.clone()
        } else {
            let unread = UnreadSkill::new(
                held.id().origin.clone(),
                Arc::clone(held.entry()),
                Arc::clone(offer),
            );
            let depth = SettleDepth::FileNames;
            self.remote.settle(&unread.into(), EntrySource::Named, depth).await?
        };
        let others = known.other_files().unwrap_or_default().into_iter().map(|(path, _)| path);
        let root = held.id().uri.root();
        let files = others.chain([RelPath::skill_file()]).map(|path| root.child(&path));
        Ok(children_of(directory, files))
    }

    /// Lists the children of a directory; returns `None` if the server does not offer that.
    ///
    /// Entries that are not children of the directory are left out, and so are those above a limit.
    #[tracing::instrument(skip_all, fields(server = %self.label, %directory))]
    async fn directory(
        &self,
        directory: &ResourceUri,
    ) -> Result<Option<Vec<DirectoryChild>>, Refusal> {
        let mut children = Vec::new();
        let mut pager = Pager::new(CHILDREN);
        loop {
            let answer = self.remote.directory(directory.as_str(), pager.cursor()).await?;
            let Some(answer) = answer else { return Ok(None) };
            let page: RawPage = answer.read().map_err(|error| {
                Refusal::new(Reason::ProtocolError).about(&self.label).file(directory).actual(error)
            })?;
            let received = page.resources.len();
            children.extend(page.resources.into_iter().filter_map(|raw| {
                let uri = ResourceUri::parse(&raw.uri).ok()?;
                let is_directory = raw.media_type.as_deref() == Some(media_type::DIRECTORY);
                (uri.parent().as_ref() == Some(directory))
                    .then_some(DirectoryChild { uri, is_directory })
            }));
            if pager.received(received, page.next) != NextPage::Ask {
                break;
            }
        }
        children.truncate(CHILDREN.items);
        Ok(Some(children))
    }

    /// Returns the longest time that one answer of the server may take.
    pub fn answer_time(&self) -> Duration {
        self.host.policy().budgets.answer_time
    }

    /// Subscribes to changes of the listing.
    #[tracing::instrument(skip_all, fields(server = %self.label))]
    pub async fn listen(&self) -> Result<Changes, Refusal> {
        let client = self.remote.client().await?;
        self.heard(client.listen(Interest::Listing, self.remote.limits()).await)
    }

    /// Subscribes to changes of these resources, if one request is enough for all of them.
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

    /// Subscribes to changes of the lists of tools and prompts, and to that of resources if it is wanted.
    pub async fn listen_to_offers(&self, resources: bool) -> Result<Changes, Refusal> {
        let client = self.remote.client().await?;
        self.heard(client.listen(Interest::Offers { resources }, self.remote.limits()).await)
    }

    /// Returns the connection to the server, for requests that are about no skill.
    ///
    /// Errors of such requests go to [`Self::noticed`], which opens a new connection if this one
    /// has ended.
    pub async fn client(&self) -> Result<Client, Refusal> {
        self.remote.client().await
    }

    /// Drops the connection if an error says that it has ended, so that the next request opens a new
    /// one.
    pub async fn noticed(&self, error: &ClientError) {
        self.remote.noticed(error).await;
    }

    /// Closes the connection, so that the next request opens a new one and learns the era again.
    pub async fn disconnect(&self) {
        self.remote.disconnect().await;
    }
}

/// Returns the children of a directory that files lie in or below; `None` if there is no such
/// directory.
fn children_of(
    directory: &ResourceUri,
    files: impl Iterator<Item = ResourceUri>,
) -> Option<Vec<DirectoryChild>> {
    let mut children = BTreeMap::new();
    for file in files {
        let mut below = file;
        let mut is_directory = false;
        while let Some(parent) = below.parent() {
            if parent == *directory {
                children.insert(below, is_directory);
                break;
            }
            below = parent;
            is_directory = true;
        }
    }
    let child = |(uri, is_directory)| DirectoryChild { uri, is_directory };
    (!children.is_empty()).then(|| children.into_iter().map(child).collect())
}

/// Puts the listed frontmatter in front of a `SKILL.md` that has none, if the dialect allows that.
fn described(held: &ListedSkill, uri: &ResourceUri, bytes: Bytes) -> Bytes {
    let is_skill_file = uri == held.id().uri.file();
    if is_skill_file && held.dialect().may_lack_frontmatter() {
        return with_frontmatter(&held.entry().frontmatter, bytes);
    }
    bytes
}
