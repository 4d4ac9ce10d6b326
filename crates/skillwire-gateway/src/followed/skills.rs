//! The skills of one server, in the one list that its source, its task and lookups share.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use skillwire_core::{Digest, ResourceUri, SKILL_FILE, SkillUri};
use skillwire_host::FreshListing;
use skillwire_source::path_of;
use skillwire_trust::{KnownSkill, ListedSkill};
use tokio::time::Instant;

use crate::{
    passing_on::admission::{Admission, admitted},
    passing_on::entry::text_of,
    passing_on_offers::decode_uri,
};

/// The most unlisted skills that are kept because a client named them. A client can name any
/// number, so without this limit it could fill the memory of the gateway.
const MAX_NAMED: usize = 1_000;

/// The skills of one server, listed or named by a client, and when they go stale.
///
/// This is the one list of the server's skills in the process. What a bridge shows and what a source
/// passes on both come from it, so the two cannot differ. The host has the server's last answer as
/// well, but only to answer requests for single skills from.
#[derive(Debug, Default)]
pub(crate) struct FollowedSkills {
    listed: BTreeMap<SkillUri, FollowedSkill>,
    named: HashMap<SkillUri, RecentlyNamed>,
    /// How often the server announced a change of a skill without digests.
    revisions: HashMap<SkillUri, u64>,
    /// When the listing goes stale; none before the first attempt to list the server.
    stale_at: Option<Instant>,
    /// Whether only this user may reuse the listing.
    private: bool,
    /// Whether the listing came to its end.
    complete: bool,
    /// Why the last listing failed, if it did.
    failure: Option<String>,
}

/// A listed skill.
#[derive(Debug)]
struct FollowedSkill {
    /// The skill as the host knows it.
    known: KnownSkill,
    passed_on: PassedOn,
}

/// How a listed skill is passed on.
#[derive(Debug)]
enum PassedOn {
    /// As the host knows it, which holds for almost all of the very many there may be.
    AsKnown,
    /// In another form, for an older server.
    Otherwise(Box<ListedSkill>),
    /// Not before its server was asked for it: an older server may only mention it, or the listing
    /// may contradict itself.
    Not,
}

impl FollowedSkill {
    fn new(known: KnownSkill) -> Self {
        let passed_on = match &known {
            KnownSkill::Listed(_) => PassedOn::AsKnown,
            known => known.passed_on().map_or(PassedOn::Not, |it| PassedOn::Otherwise(it.into())),
        };
        Self { known, passed_on }
    }

    fn is_passed_on(&self) -> bool {
        self.passed_on().is_some()
    }

    fn passed_on(&self) -> Option<&ListedSkill> {
        match (&self.passed_on, &self.known) {
            (PassedOn::AsKnown, KnownSkill::Listed(listed)) => Some(listed),
            (PassedOn::Otherwise(listed), _) => Some(listed),
            (PassedOn::AsKnown | PassedOn::Not, _) => None,
        }
    }

    /// Replaces the skill as the host knows it; what is passed on stays as it is.
    #[cfg(feature = "bridge")]
    fn learn(&mut self, known: KnownSkill) {
        if let (PassedOn::AsKnown, KnownSkill::Listed(listed)) = (&self.passed_on, &self.known) {
            self.passed_on = PassedOn::Otherwise(Box::new(listed.clone()));
        }
        self.known = known;
    }
}

#[derive(Debug)]
struct RecentlyNamed {
    listed: ListedSkill,
    stale_at: Instant,
    forgotten_at: Instant,
}

/// A skill that is passed on.
#[derive(Debug, Clone)]
pub(crate) struct PassedOnSkill {
    pub(crate) skill: ListedSkill,
    /// Whether the server lists it.
    pub(crate) is_listed: bool,
    /// Changes whenever the entry, the revision or `is_listed` changes.
    pub(crate) fingerprint: Digest,
}

impl FollowedSkills {
    /// Replaces the listing, and forgets named skills that it lists or that have expired.
    pub(crate) fn list(&mut self, fresh: &FreshListing, lifetime: Duration) {
        let skills = fresh.listing.skills.iter();
        let followed =
            skills.map(|known| (known.id().uri.clone(), FollowedSkill::new(known.clone())));
        self.listed = followed.collect();
        let now = Instant::now();
        let listed = &self.listed;
        let is_listed = |uri: &SkillUri| listed.get(uri).is_some_and(FollowedSkill::is_passed_on);
        self.named.retain(|uri, named| !is_listed(uri) && now < named.forgotten_at);
        let known = |uri: &SkillUri| self.listed.contains_key(uri) || self.named.contains_key(uri);
        self.revisions.retain(|uri, _| known(uri));
        self.stale_at = Some(now + lifetime);
        self.private = fresh.listing.private;
        self.complete = fresh.listing.truncated.is_none();
        self.failure = None;
    }

    /// Notes that the server could not be listed. The last listing stays, so that a short outage
    /// does not take skills away from clients.
    pub(crate) fn fail(&mut self, reason: String, retry: Duration) {
        self.stale_at = Some(Instant::now() + retry);
        self.failure = Some(reason);
    }

    /// Adds or replaces the entry of one skill that a client asked for.
    pub(crate) fn name(&mut self, skill: ListedSkill, lifetime: Duration, kept_for: Duration) {
        let uri = skill.id().uri.clone();
        if let Some(listed) = self.listed.get_mut(&uri) {
            let is_passed_on = listed.is_passed_on();
            listed.known = skill.clone().into();
            if is_passed_on {
                listed.passed_on = PassedOn::AsKnown;
                return;
            }
        }
        let now = Instant::now();
        self.named.retain(|_, named| now < named.forgotten_at);
        if self.named.len() >= MAX_NAMED {
            let oldest = self.named.iter().min_by_key(|(_, named)| named.forgotten_at);
            if let Some(oldest) = oldest.map(|(uri, _)| uri.clone()) {
                self.named.remove(&oldest);
            }
        }
        let (stale_at, forgotten_at) = (now + lifetime, now + kept_for.max(lifetime));
        self.named.insert(uri, RecentlyNamed { listed: skill, stale_at, forgotten_at });
    }

    /// Replaces the entry of a listed skill by a newer one that the host got, and tells whether that
    /// changed anything.
    ///
    /// A skill of an older server is passed on as before: what the host read of it is for the user's
    /// decision, and its next listing does not have it.
    #[cfg(feature = "bridge")]
    pub(crate) fn learn(&mut self, skill: &ListedSkill) -> bool {
        let Some(listed) = self.listed.get_mut(&skill.id().uri) else { return false };
        if listed.known.certain().is_ok_and(|known| known.entry() == skill.entry()) {
            return false;
        }
        match skill.offer() {
            None => *listed = FollowedSkill::new(skill.clone().into()),
            Some(_) => listed.learn(skill.clone().into()),
        }
        true
    }

    /// Every skill that the server lists, as the host knows it.
    #[cfg(feature = "bridge")]
    pub(crate) fn known(&self) -> impl Iterator<Item = &KnownSkill> {
        self.listed.values().map(|listed| &listed.known)
    }

    /// Removes a skill that the server no longer has.
    pub(crate) fn remove(&mut self, uri: &SkillUri) {
        self.listed.remove(uri);
        self.named.remove(uri);
        self.revisions.remove(uri);
    }

    /// Notes that the server announced a change of a skill without digests.
    pub(crate) fn revise(&mut self, uri: &SkillUri) {
        *self.revisions.entry(uri.clone()).or_default() += 1;
    }

    /// The skills a resource belongs to, innermost first.
    pub(crate) fn around(&self, uri: &ResourceUri) -> Vec<ListedSkill> {
        let mut found = Vec::new();
        let mut above = uri.parent();
        while let Some(directory) = above {
            if let Ok(skill) = SkillUri::parse(&format!("{directory}/{SKILL_FILE}")) {
                found.extend(self.skill(&skill).cloned());
            }
            above = directory.parent();
        }
        found
    }

    /// Tells whether a text names something in a skill of this server, in any spelling that the server may
    /// understand so. Skills that are not passed on count too.
    pub(crate) fn has_around(&self, uri: &str) -> bool {
        let known = |uri: &SkillUri| self.listed.contains_key(uri) || self.named.contains_key(uri);
        enclosing_skills(uri).iter().any(known)
    }

    /// Tells whether a skill has this name, or this path. Skills that are not passed on count too.
    pub(crate) fn has_named(&self, name: &str) -> bool {
        let mut known = self.listed.keys().chain(self.named.keys());
        known.any(|uri| *uri.root().name() == *name || (name.contains('/') && path_of(uri) == name))
    }

    fn skill(&self, uri: &SkillUri) -> Option<&ListedSkill> {
        let named = || self.named.get(uri).map(|named| &named.listed);
        self.listed.get(uri).and_then(FollowedSkill::passed_on).or_else(named)
    }

    /// The skills that `admission` lets the gateway pass on, with their fingerprints.
    pub(crate) fn passed_on(&self, admission: &dyn Admission) -> Vec<PassedOnSkill> {
        let all = self.all();
        let admitted = admitted(&all, admission);
        admitted
            .into_iter()
            .filter_map(|uri| {
                let skill = (*all.get(uri)?).clone();
                let is_listed = self.listed.get(uri).is_some_and(FollowedSkill::is_passed_on);
                let revision = self.revisions.get(uri).copied().unwrap_or_default();
                let fingerprint = fingerprint(&skill, is_listed, revision);
                Some(PassedOnSkill { skill, is_listed, fingerprint })
            })
            .collect()
    }

    /// Tells whether a skill is passed on.
    pub(crate) fn passes_on(&self, uri: &SkillUri, admission: &dyn Admission) -> bool {
        admitted(&self.all(), admission).contains(uri)
    }

    fn all(&self) -> BTreeMap<&SkillUri, &ListedSkill> {
        let named = self.named.iter().map(|(uri, named)| (uri, &named.listed));
        let listed = self.listed.iter();
        let listed = listed.filter_map(|(uri, listed)| Some((uri, listed.passed_on()?)));
        listed.chain(named).collect()
    }

    /// When the first entry goes stale; none before the first attempt to list the server.
    pub(crate) fn stale_at(&self) -> Option<Instant> {
        let named = self.named.values().map(|named| named.stale_at);
        self.stale_at.map(|listing| named.fold(listing, Instant::min))
    }

    pub(crate) fn is_private(&self) -> bool {
        self.private
    }

    /// Whether the last listing came to its end.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// The listed skills that can be passed on.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &ListedSkill> {
        self.listed.values().filter_map(FollowedSkill::passed_on)
    }

    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The URIs of the listed skills that can be passed on.
    pub(crate) fn listed_uris(&self) -> impl Iterator<Item = &SkillUri> {
        let passed_on = self.listed.iter().filter(|(_, listed)| listed.is_passed_on());
        passed_on.map(|(uri, _)| uri)
    }
}

/// Returns the URIs of all skills that something with this URI would lie in, in any spelling that a server
/// may understand so.
pub fn enclosing_skills(uri: &str) -> Vec<SkillUri> {
    let decoded = decode_uri(uri);
    let mut skills = Vec::new();
    for spelling in [uri, &*decoded] {
        let mut rest = spelling.split(['?', '#']).next().unwrap_or(spelling);
        while let Some((directory, _)) = rest.rsplit_once('/') {
            skills.extend(SkillUri::parse(&format!("{directory}/{SKILL_FILE}")));
            rest = directory;
        }
    }
    skills
}

fn fingerprint(skill: &ListedSkill, is_listed: bool, revision: u64) -> Digest {
    Digest::of(format!("{is_listed} {revision} {}", text_of(skill)).as_bytes())
}
