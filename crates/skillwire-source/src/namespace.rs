//! Decides which skill of several sources is served at each URI.
//!
//! Of two skills that claim one URI, the earlier one is served and the other is refused. The same
//! holds if the URI of one lies inside the other's directory and that skill's manifest does not list
//! it, and, if [names are unique](UriNamespace::unique_names), if both have one name. Claims that
//! arrive before [`UriNamespace::settle`] are ordered by source and group, so that
//! every start has the same result. A claim that arrives later never displaces one that was there,
//! so a new skill cannot unpublish another one.
//!
//! Replacing a group only examines the URIs that it touches, so that a change costs the same in a
//! large catalogue.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use skillwire_core::{Code, Finding, ResourceUri, SKILL_FILE, SkillUri};

use crate::source::GroupKey;

/// Something that claims the URI of a skill.
pub trait UriClaimant {
    /// The URI of its `SKILL.md`.
    fn uri(&self) -> &SkillUri;

    /// Tells whether its manifest lists this URI.
    fn lists(&self, uri: &ResourceUri) -> bool;

    /// Tells whether listings show it, so that it may share its name with others there.
    fn is_listed(&self) -> bool {
        true
    }
}

/// A group of one source: the index of the source, and the group within it.
pub type GroupId = (usize, GroupKey);

#[derive(Debug)]
struct UriClaim<T> {
    /// The number of times the namespace had settled when the group first claimed the URI.
    since: u32,
    group: GroupId,
    origin: String,
    claimant: T,
}

impl<T> UriClaim<T> {
    /// Orders claims: the first of several that exclude each other is served.
    fn rank(&self) -> (u32, &GroupId) {
        (self.since, &self.group)
    }
}

/// The claims on all URIs.
///
/// There may be a hundred thousand groups, and mostly a group claims one URI, no other group claims
/// it, and no other skill has its name. So the collections take no more room than for that one.
#[derive(Debug)]
pub struct UriNamespace<T> {
    groups: BTreeMap<GroupId, Box<[Arc<str>]>>,
    claims: BTreeMap<Arc<str>, Vec<UriClaim<T>>>,
    names: BTreeMap<Box<str>, NamedUris>,
    settled: u32,
    unique_names: bool,
}

/// The URIs of one name.
#[derive(Debug)]
enum NamedUris {
    One(Arc<str>),
    Several(BTreeSet<Arc<str>>),
}

impl NamedUris {
    fn insert(&mut self, uri: &Arc<str>) {
        match self {
            Self::One(only) if only == uri => {}
            Self::One(only) => {
                *self = Self::Several(BTreeSet::from([Arc::clone(only), Arc::clone(uri)]));
            }
            Self::Several(uris) => {
                uris.insert(Arc::clone(uri));
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        let (one, several) = match self {
            Self::One(only) => (Some(only), None),
            Self::Several(uris) => (None, Some(uris)),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }

    /// Removes a URI and tells whether none is left.
    fn remove(&mut self, uri: &Arc<str>) -> bool {
        match self {
            Self::One(only) => only == uri,
            Self::Several(uris) => {
                uris.remove(uri);
                if uris.len() == 1
                    && let Some(only) = uris.pop_first()
                {
                    *self = Self::One(only);
                }
                false
            }
        }
    }
}

impl<T> Default for UriNamespace<T> {
    fn default() -> Self {
        Self {
            groups: BTreeMap::new(),
            claims: BTreeMap::new(),
            names: BTreeMap::new(),
            settled: 0,
            unique_names: false,
        }
    }
}

impl<T: UriClaimant> UriNamespace<T> {
    /// Serves one skill of each name only, among those that listings show.
    pub fn unique_names(&mut self) {
        self.unique_names = true;
    }

    /// Replaces all claims of a group, and returns the URIs whose holder may have changed.
    pub fn replace(
        &mut self,
        group: &GroupId,
        claimants: impl IntoIterator<Item = (String, T)>,
    ) -> BTreeSet<Arc<str>> {
        let mut touched = BTreeSet::new();
        let mut earlier = BTreeMap::new();
        for uri in self.groups.remove(group).unwrap_or_default() {
            earlier.extend(self.withdraw(group, &uri).map(|since| (Arc::clone(&uri), since)));
            touched.insert(uri);
        }
        let mut claimed = Vec::new();
        for (origin, claimant) in claimants {
            let uri = claimant.uri().file().shared();
            match self.names.get_mut(name_of(&uri)) {
                _ if !claimant.is_listed() => {}
                Some(named) => named.insert(&uri),
                None => {
                    self.names.insert(name_of(&uri).into(), NamedUris::One(Arc::clone(&uri)));
                }
            }
            let since = earlier.get(&uri).copied().unwrap_or(self.settled);
            let claim = UriClaim { since, group: group.clone(), origin, claimant };
            let claims = self.claims.entry(Arc::clone(&uri));
            let claims = claims.or_insert_with(|| Vec::with_capacity(1));
            let at = claims.partition_point(|other| other.rank() < claim.rank());
            claims.insert(at, claim);
            touched.insert(Arc::clone(&uri));
            claimed.push(uri);
        }
        if !claimed.is_empty() {
            self.groups.insert(group.clone(), claimed.into());
        }
        self.add_affected(&mut touched);
        touched
    }

    /// Adds the URIs whose holder depends on that of a touched one: a skill around or below may now
    /// exclude it or no longer do so, and so may one of the same name if names are unique.
    fn add_affected(&self, touched: &mut BTreeSet<Arc<str>>) {
        loop {
            let around: Vec<_> = touched.iter().flat_map(|uri| self.uris_above(uri)).collect();
            touched.extend(around);
            let below: Vec<_> =
                touched.iter().flat_map(|uri| self.uris_below(uri)).cloned().collect();
            touched.extend(below);
            if !self.unique_names {
                return;
            }
            let names = touched.iter().filter_map(|uri| self.names.get(name_of(uri)));
            let namesakes: Vec<_> = names.flat_map(NamedUris::iter).cloned().collect();
            let before = touched.len();
            touched.extend(namesakes);
            // A namesake lies elsewhere, where it may exclude others again.
            if touched.len() == before {
                return;
            }
        }
    }

    /// Keeps the skills that are there at their URIs, whatever is added later.
    pub fn settle(&mut self) {
        self.settled = self.settled.saturating_add(1);
    }

    /// Takes a claim back, and returns since when it was there.
    fn withdraw(&mut self, group: &GroupId, uri: &Arc<str>) -> Option<u32> {
        let claims = self.claims.get_mut(uri)?;
        let at = claims.iter().position(|claim| claim.group == *group)?;
        let since = claims.remove(at).since;
        if claims.is_empty() {
            self.claims.remove(uri);
            let name = name_of(uri);
            if self.names.get_mut(name).is_some_and(|named| named.remove(uri)) {
                self.names.remove(name);
            }
        }
        Some(since)
    }

    /// The claimed URIs of skills in the directory of a skill.
    fn uris_below<'a>(&'a self, uri: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
        let root = &uri[..uri.len() - SKILL_FILE.len()];
        let range = self
            .claims
            .range::<str, _>((std::ops::Bound::Excluded(root), std::ops::Bound::Unbounded));
        let inside = range.map(|(uri, _)| uri).take_while(move |uri| uri.starts_with(root));
        inside.filter(move |inner| ***inner != *uri)
    }

    /// The claimed URIs of skills whose directory a skill lies in, nearest first.
    fn uris_above(&self, uri: &str) -> Vec<Arc<str>> {
        let authority = uri.find("://").map_or(0, |at| at + "://".len());
        let mut found = Vec::new();
        let mut candidate = uri.to_owned();
        candidate.truncate(uri.len() - SKILL_FILE.len() - "/".len());
        while let Some(slash) = candidate[authority..].rfind('/') {
            candidate.truncate(authority + slash + "/".len());
            candidate.push_str(SKILL_FILE);
            found.extend(
                self.claims.get_key_value(candidate.as_str()).map(|(uri, _)| Arc::clone(uri)),
            );
            candidate.truncate(authority + slash);
        }
        found
    }

    /// The claimant that is served at a URI.
    pub fn holder(&self, uri: &str) -> Option<&T> {
        let claim = self.first(uri)?;
        self.is_served(claim).then_some(&claim.claimant)
    }

    fn first(&self, uri: &str) -> Option<&UriClaim<T>> {
        self.claims.get(uri)?.first()
    }

    fn is_served(&self, claim: &UriClaim<T>) -> bool {
        self.obstacle(claim).is_none()
    }

    /// The served skill that keeps a claim from being served.
    ///
    /// Only an earlier claim can, so asking whether that one is served comes to an end.
    fn obstacle(&self, claim: &UriClaim<T>) -> Option<EarlierClaim<'_, T>> {
        let uri = claim.claimant.uri();
        if let Some(first) = self.first(uri.as_str()).filter(|first| first.rank() < claim.rank()) {
            return Some(EarlierClaim::Same(first));
        }
        let excludes = |other: &&UriClaim<T>| other.rank() < claim.rank() && self.is_served(other);
        let around = self.uris_above(uri.as_str()).into_iter().find_map(|around| {
            let outer = self.first(&around)?;
            (!outer.claimant.lists(uri.file())).then_some(outer).filter(excludes)
        });
        if let Some(outer) = around {
            return Some(EarlierClaim::Around(outer));
        }
        let inside = self.uris_below(uri.as_str()).find_map(|inside| {
            let inner = self.first(inside)?;
            let listed = claim.claimant.lists(inner.claimant.uri().file());
            (!listed).then_some(inner).filter(excludes)
        });
        inside.map(EarlierClaim::Inside).or_else(|| self.earlier_namesake(claim))
    }

    /// The served skill that keeps a claim from being served because both have one name.
    fn earlier_namesake(&self, claim: &UriClaim<T>) -> Option<EarlierClaim<'_, T>> {
        if !self.unique_names || !claim.claimant.is_listed() {
            return None;
        }
        let uris = self.uris_with_same_name(claim.claimant.uri())?.iter();
        let mut earlier: Vec<_> = uris
            .filter_map(|uri| self.first(uri))
            .filter(|other| other.claimant.is_listed() && other.rank() < claim.rank())
            .collect();
        // Mostly the earliest is served, so that no other has to be asked about.
        earlier.sort_unstable_by(|one, two| one.rank().cmp(&two.rank()));
        earlier.into_iter().find(|other| self.is_served(other)).map(EarlierClaim::SameName)
    }

    /// Why claimants of a URI are not served there, with the origin of each.
    pub fn conflicts(&self, uri: &str) -> Vec<(&str, Finding)> {
        let claims = self.claims.get(uri).into_iter().flatten();
        let refused = claims.filter_map(|claim| {
            let finding = self.obstacle(claim)?.finding(claim);
            Some((claim.origin.as_str(), finding))
        });
        refused.collect()
    }

    /// The URIs with the same skill name as this one, itself included; `None` if it is the only
    /// one.
    pub fn uris_with_same_name(&self, uri: &SkillUri) -> Option<&BTreeSet<Arc<str>>> {
        match self.names.get(name_of(uri.as_str()))? {
            NamedUris::One(_) => None,
            NamedUris::Several(uris) => Some(uris),
        }
    }
}

/// Lists the first few names, so that messages stay short.
pub(crate) fn list_a_few(names: impl ExactSizeIterator<Item = impl std::fmt::Display>) -> String {
    const SHOWN: usize = 3;
    let more = names.len().saturating_sub(SHOWN);
    let shown: Vec<String> = names.take(SHOWN).map(|name| format!("`{name}`")).collect();
    let shown = shown.join(" and ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// The name in a skill's URI; names have no character that a URI would encode.
fn name_of(uri: &str) -> &str {
    let root = uri.strip_suffix(SKILL_FILE).map_or(uri, |root| root.trim_end_matches('/'));
    root.rsplit('/').next().unwrap_or(root)
}

/// An earlier claim that excludes another one.
enum EarlierClaim<'a, T> {
    /// It is at the same URI.
    Same(&'a UriClaim<T>),
    /// Its directory is around the other, and its manifest does not list that.
    Around(&'a UriClaim<T>),
    /// It stands inside the other, whose manifest does not list it.
    Inside(&'a UriClaim<T>),
    /// It has the same name, and names are unique.
    SameName(&'a UriClaim<T>),
}

impl<T: UriClaimant> EarlierClaim<'_, T> {
    /// The finding about the claim that is excluded.
    fn finding(&self, claim: &UriClaim<T>) -> Finding {
        let origin = &claim.origin;
        let message = match self {
            Self::Same(first) => format!(
                "`{origin}` would be served at `{}`, where `{}` is served.",
                claim.claimant.uri(),
                first.origin
            ),
            Self::Around(outer) => format!(
                "It would stand inside the skill of `{}`, whose manifest does not list it.",
                outer.origin
            ),
            Self::Inside(inner) => format!(
                "The skill of `{}` would stand inside it, and its manifest does not list that.",
                inner.origin
            ),
            Self::SameName(first) => {
                let name = name_of(claim.claimant.uri().as_str());
                let message =
                    format!("It has the name `{name}` of `{}`, which is served.", first.origin);
                return Finding::new(
                    Code::DuplicateName,
                    format!("{origin}/{SKILL_FILE}"),
                    message,
                )
                .help("Give one of them and its directory another name.");
            }
        };
        Finding::new(Code::PathCollision, format!("{origin}/{SKILL_FILE}"), message)
            .help("Serve its folder under a prefix (`team=DIR`), or rename it and its directory.")
    }
}
