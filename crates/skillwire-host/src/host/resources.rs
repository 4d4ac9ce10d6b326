//! Resources of servers that are read by their URIs: files of approved skills, and what is part of no
//! skill.

use std::{cmp::Reverse, sync::Arc};

use bytes::Bytes;
use skillwire_core::{Digest, LenientUri, ResourceUri, Resources, SkillUri, media_type};
use skillwire_trust::{
    Action, Answer, ApprovedSkill, Decision, Event, KnownSkill, ListedSkill, Origin, Question,
    Reason, Refusal, Remedy, ServerLabel, SkillId, Subject,
};

use super::Host;
use crate::window::decision;

/// The largest ordinary resource that the host reads.
const MAX_RESOURCE_BYTES: u64 = 4 << 20;

/// The scheme of skills. Nothing else is read under it, so that files of skills that no listing
/// mentions stay closed, too.
const SKILL_SCHEME: &str = "skill";

/// A resource that was read by its URI, which loads no skill.
///
/// Only `ReadableResource::read` makes one, so nothing of a skill gets here that the user has not
/// approved as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceContent {
    server: ServerLabel,
    uri: String,
    bytes: Bytes,
    media_type: Option<String>,
    skill: Option<SkillId>,
}

impl ResourceContent {
    /// Returns the server that the resource was read from.
    pub fn server(&self) -> &ServerLabel {
        &self.server
    }

    /// Returns the URI of the resource on that server.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the media type: of a file of a skill as its name and its bytes say, and of any other
    /// resource as the server claims.
    pub fn media_type(&self) -> Option<&str> {
        self.media_type.as_deref()
    }

    /// Returns the skill that this is a file of. The bytes are then those that the user approved.
    pub fn skill(&self) -> Option<&SkillId> {
        self.skill.as_ref()
    }

    #[cfg(test)]
    pub(crate) fn for_test(server: &str, uri: &str, media_type: &str, bytes: &[u8]) -> Self {
        Self {
            server: ServerLabel::parse(server).unwrap(),
            uri: uri.to_owned(),
            bytes: Bytes::copy_from_slice(bytes),
            media_type: Some(media_type.to_owned()),
            skill: None,
        }
    }
}

/// A skill that a resource may be a part of.
enum OwningSkill {
    /// The server lists it.
    Listed(KnownSkill),
    /// A caller named it, the user decided about it, or its entry was refused.
    Unlisted(SkillUri),
    /// Its entry was refused, and says only with this address which skill it is about.
    Refused(Box<str>, Refusal),
}

impl OwningSkill {
    /// Finds out which skill a refused entry of a listing is about. Fails if the entry does not say
    /// so: then any resource of the server may be a part of the skill.
    fn of_refused(refusal: &Refusal) -> Result<Self, Refusal> {
        match (refusal.subject.as_deref(), refusal.file.as_deref()) {
            (Some(Subject::Skill(skill)), _) => Ok(Self::Unlisted(skill.uri.clone())),
            (_, Some(file)) => Ok(Self::Refused(file.into(), refusal.clone())),
            (_, None) => Err(refusal.clone()),
        }
    }

    fn is_at(&self, uri: &SkillUri) -> bool {
        match self {
            Self::Listed(skill) => skill.id().uri == *uri,
            Self::Unlisted(unlisted) => unlisted == uri,
            Self::Refused(..) => false,
        }
    }

    fn root(&self) -> LenientUri {
        match self {
            Self::Listed(skill) => skill.id().uri.root().into(),
            Self::Unlisted(uri) => uri.root().into(),
            Self::Refused(address, _) => LenientUri::root_of(address),
        }
    }

    /// Returns the length of the root, by which the innermost of several skills is known.
    fn depth(&self) -> usize {
        match self {
            Self::Listed(skill) => skill.id().uri.as_str().len(),
            Self::Unlisted(uri) => uri.as_str().len(),
            Self::Refused(address, _) => address.len(),
        }
    }

    /// Tells whether the server may have content of the skill at this URI.
    fn may_have(&self, uri: &LenientUri) -> bool {
        let offer = match self {
            Self::Listed(skill) => skill.offer(),
            Self::Unlisted(_) | Self::Refused(..) => None,
        };
        let mut addresses = offer.into_iter().flat_map(|offer| offer.route.addresses());
        uri.may_be_within(&self.root())
            || addresses.any(|address| uri.may_be_within(&LenientUri::read(address)))
    }

    /// Tells whether a listed file of the skill has these bytes.
    fn has_file(&self, digest: &Digest) -> bool {
        let Self::Listed(skill) = self else { return false };
        let offers = skill.offer().into_iter();
        let mut promised = offers.flat_map(|offer| offer.promises.values());
        let listed = match &skill.entry().resources {
            Resources::Listed(files) => files.as_slice(),
            Resources::Dynamic => &[],
        };
        listed.iter().any(|file| file.size > 0 && file.digest == *digest)
            || promised.any(|promise| promise.size != Some(0) && promise.digest == Some(*digest))
    }
}

/// A URI of a server that may be read.
enum ReadableResource {
    /// A file of a skill that the user approved as it is.
    SkillFile(Box<ApprovedSkill>, ResourceUri),
    /// A resource that is part of none of these skills, which are all that the host knows of the
    /// server.
    Ordinary(Vec<OwningSkill>),
}

impl ReadableResource {
    /// Returns the skill that the URI is a file of.
    fn skill(&self) -> Option<&ApprovedSkill> {
        match self {
            Self::SkillFile(approved, _) => Some(approved),
            Self::Ordinary(_) => None,
        }
    }

    async fn read(
        self,
        host: &Host,
        server: &ServerLabel,
        uri: &str,
    ) -> Result<ResourceContent, Refusal> {
        let skill = self.skill().map(|approved| approved.id().clone());
        let (bytes, media_type) = match self {
            Self::SkillFile(approved, file) => {
                let read = host.read_approved(&approved, &file).await?;
                // The user may have withdrawn the approval while the server answered.
                host.approved(approved.listed())?;
                let media_type = media_type::of(&file.name(), read.bytes());
                (read.bytes().clone(), Some(media_type.to_owned()))
            }
            Self::Ordinary(skills) => {
                let remote = host.remote(server)?;
                let content = remote.read_resource(uri, MAX_RESOURCE_BYTES).await?;
                // The server may have a file of a skill under a second URI.
                let digest = Digest::of(&content.bytes);
                for skill in skills.iter().filter(|skill| skill.has_file(&digest)) {
                    host.approved(&host.latest(server, skill).await?)?;
                }
                (content.bytes, content.media_type)
            }
        };
        Ok(ResourceContent {
            server: server.clone(),
            uri: uri.to_owned(),
            bytes,
            media_type,
            skill,
        })
    }
}

impl Host {
    /// Reads a resource of a server. This never loads a skill, even if the URI looks like one.
    ///
    /// A file of a skill is read only if the user approved the skill as it is, and only the bytes that
    /// were approved are returned. While a window on a skill of another origin is open, the host asks
    /// the user about each read that nothing else forbids.
    pub async fn read_resource(
        &self,
        server: &ServerLabel,
        uri: &str,
    ) -> Result<ResourceContent, Refusal> {
        self.remote(server)?;
        let acting = self
            .open_windows()
            .into_iter()
            .find(|window| window.skill().origin != Origin::Server(server.clone()));
        let Some(window) = acting else {
            return self.read_resource_answered(server, uri, None).await;
        };
        self.check_resource(server, uri).await?;
        let question = Question::CrossOriginRead {
            skill: window.skill().clone(),
            server: server.clone(),
            uri: uri.to_owned(),
        };
        let answer = self.ask(&question).await;
        self.read_resource_answered(server, uri, Some((window.skill(), answer))).await
    }

    /// Refuses a resource of a server that would not be read whatever the user answered, so that a
    /// caller need not ask about it. The refusal is in the log.
    pub async fn check_resource(&self, server: &ServerLabel, uri: &str) -> Result<(), Refusal> {
        // Boxed, so that the futures of programs that call this do not nest too deeply to compile.
        let readable = Box::pin(self.readable(server, uri)).await;
        readable.map(|_| ()).inspect_err(|refusal| {
            self.log_resource(server, uri, None, Err(refusal.reason));
        })
    }

    /// Reads a resource of a server as [`Self::read_resource`] does, for a caller that asks its users
    /// itself, after [`Self::check_resource`]; `acting` is the skill of another origin that the reader
    /// acts on, with the user's answer.
    #[tracing::instrument(skip_all, fields(%server, uri))]
    pub async fn read_resource_answered(
        &self,
        server: &ServerLabel,
        uri: &str,
        acting: Option<(&SkillId, Answer)>,
    ) -> Result<ResourceContent, Refusal> {
        self.remote(server)?;
        if let Some((skill, answer)) = acting {
            let refused = match answer {
                Answer::Yes(_) | Answer::Once(_) => None,
                Answer::No => Some(Reason::UserDeclined),
                Answer::Unavailable => Some(Reason::NotGranted),
            };
            let outcome = refused.map_or(Ok(()), Err);
            let detail = format!("{server}:{uri}");
            self.log_skill(skill, None, Action::CrossOriginRead, outcome, Some(&detail));
            if let Some(reason) = refused {
                return Err(Refusal::new(reason).about(skill).file(detail));
            }
        }
        // Boxed, so that the futures of programs that call this do not nest too deeply to compile.
        let readable = Box::pin(self.readable(server, uri)).await;
        let skill = readable.as_ref().ok().and_then(ReadableResource::skill).cloned();
        let read = match readable {
            Ok(readable) => Box::pin(readable.read(self, server, uri)).await,
            Err(refusal) => Err(refusal),
        };
        let outcome = read.as_ref().map(|_| ()).map_err(|refusal| refusal.reason);
        self.log_resource(server, uri, skill.as_ref(), outcome);
        read
    }

    /// Finds out what a URI of a server leads to, and refuses what the user has not approved.
    async fn readable(&self, server: &ServerLabel, uri: &str) -> Result<ReadableResource, Refusal> {
        let refuse = |reason| Refusal::new(reason).about(server).file(uri.escape_debug());
        let lenient = LenientUri::parse(uri).map_err(|invalid| {
            refuse(Reason::ToolInputInvalid)
                .expected("a URI that every server understands in the same way")
                .actual(format!("one that {invalid}"))
        })?;
        if self.inner.offline {
            return Err(refuse(Reason::Offline));
        }
        let (skills, undeclared) = self.skills_of(server).await?;
        let mut owners: Vec<_> = skills.iter().filter(|skill| skill.may_have(&lenient)).collect();
        owners.sort_by_key(|skill| Reverse(skill.depth()));
        let mut innermost = None;
        for owner in owners {
            let approved = self.approved(&self.latest(server, owner).await?)?;
            innermost.get_or_insert(approved);
        }
        if let Some(approved) = innermost {
            let file = ResourceUri::parse(uri).ok();
            let file = file.filter(|file| approved.id().uri.contains(file));
            let file = file.ok_or_else(|| {
                let refusal = Refusal::new(Reason::FileNotListed).about(approved.id());
                refusal
                    .file(uri.escape_debug())
                    .expected("the URI of a file, as the skill lists it")
            })?;
            return Ok(ReadableResource::SkillFile(Box::new(approved), file));
        }
        if lenient.may_have_scheme(SKILL_SCHEME) || lenient.may_name_skill_file() {
            return Err(match undeclared {
                // Nobody can approve a skill of a server that offers none.
                Some(refusal) => refusal.file(uri.escape_debug()),
                None => self.unlisted(server, uri),
            });
        }
        // A lock file names skills alone, and nothing else of servers is used while it decides.
        if self.inner.lock.is_some() {
            return Err(refuse(Reason::ResourceNotLocked)
                .expected("a file of a skill that the lock file lists")
                .actual("a resource that is part of no skill"));
        }
        Ok(ReadableResource::Ordinary(skills))
    }

    /// Refuses the URI of a skill that the server does not list.
    fn unlisted(&self, server: &ServerLabel, uri: &str) -> Refusal {
        let Ok(uri) = SkillUri::parse(uri) else {
            return Refusal::new(Reason::SkillNotFound)
                .about(server)
                .file(uri.escape_debug())
                .expected("a file of a skill that the user approved, or a resource of no skill")
                .remedy(Remedy::ListSkills);
        };
        let skill = SkillId { origin: Origin::Server(server.clone()), uri };
        if self.inner.lock.is_some() {
            return Refusal::new(Reason::NotLocked).about(&skill).remedy(Remedy::UpdateLock);
        }
        let refusal = Refusal::new(Reason::NotApproved).about(&skill);
        refusal.remedy(Remedy::ApproveSkill(skill))
    }

    /// Returns every skill of a server that the host knows, and the refusal of a server that offers
    /// none. It refuses if the server's listing is not complete, because then nothing shows what else
    /// is a skill.
    async fn skills_of(
        &self,
        server: &ServerLabel,
    ) -> Result<(Vec<OwningSkill>, Option<Refusal>), Refusal> {
        let (listing, undeclared) = match self.list(server).await {
            Ok(listing) => (listing, None),
            Err(refusal) if refusal.reason == Reason::SkillsNotOffered => {
                (Arc::default(), Some(refusal))
            }
            Err(refusal) => return Err(refusal),
        };
        if let Some(truncated) = &listing.truncated {
            return Err(truncated.clone());
        }
        let (records, errors) = self.inner.records.of_origin(&Origin::Server(server.clone()));
        if let Some(error) = errors.into_iter().next() {
            return Err(super::unusable(error));
        }
        let mut skills: Vec<_> = listing.skills.iter().cloned().map(OwningSkill::Listed).collect();
        for refusal in &listing.refused {
            skills.push(OwningSkill::of_refused(refusal)?);
        }
        let known = records.into_iter().map(|record| record.id.uri);
        let known = known.chain(self.remote(server)?.named_uris());
        let unlisted: Vec<_> =
            known.filter(|uri| !skills.iter().any(|skill| skill.is_at(uri))).collect();
        skills.extend(unlisted.into_iter().map(OwningSkill::Unlisted));
        Ok((skills, undeclared))
    }

    async fn latest(
        &self,
        server: &ServerLabel,
        skill: &OwningSkill,
    ) -> Result<ListedSkill, Refusal> {
        match skill {
            OwningSkill::Listed(skill) => self.certain(skill).await,
            OwningSkill::Unlisted(uri) => self.get(server, uri).await,
            OwningSkill::Refused(_, refusal) => Err(refusal.clone()),
        }
    }

    fn log_resource(
        &self,
        server: &ServerLabel,
        uri: &str,
        skill: Option<&ApprovedSkill>,
        outcome: Result<(), Reason>,
    ) {
        if let Some(approved) = skill {
            return self.log(approved, Action::ReadResource, outcome, Some(uri));
        }
        let (decision, reason): (Decision, _) = decision(outcome);
        self.append(&Event {
            time: self.inner.clock.now(),
            skill: None,
            label: server.to_string(),
            content: None,
            content_id: None,
            action: Action::ReadResource,
            decision,
            reason,
            detail: Some(uri.to_owned()),
        });
    }
}
