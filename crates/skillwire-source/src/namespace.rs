//! Decides which skill of several sources is served at each URI.
//!
//! Two skills that claim one URI are both refused. So is a skill whose URI lies inside another
//! skill's directory if that skill's manifest does not list it. Replacing a group only examines the
//! URIs that it touches, so that a change costs the same in a large catalogue.

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
}

/// A group of one source: the index of the source, and the group within it.
pub type GroupId = (usize, GroupKey);

#[derive(Debug)]
struct Claim<T> {
    group: GroupId,
    origin: String,
    claimant: T,
}

/// The claims on all URIs.
///
/// There may be a hundred thousand groups, and mostly a group claims one URI, no other group claims
/// it, and no other skill has its name. So the collections take no more room than for that one.
#[derive(Debug)]
pub struct UriNamespace<T> {
    groups: BTreeMap<GroupId, Box<[Arc<str>]>>,
    claims: BTreeMap<Arc<str>, Vec<Claim<T>>>,
    names: BTreeMap<Box<str>, Named>,
}

/// The URIs of one name.
#[derive(Debug)]
enum Named {
    One(Arc<str>),
    Several(BTreeSet<Arc<str>>),
}

impl Named {
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
        Self { groups: BTreeMap::new(), claims: BTreeMap::new(), names: BTreeMap::new() }
    }
}

impl<T: UriClaimant> UriNamespace<T> {
    /// Replaces all claims of a group, and returns the URIs whose holder may have changed.
    pub fn replace(
        &mut self,
        group: &GroupId,
        claimants: impl IntoIterator<Item = (String, T)>,
    ) -> BTreeSet<Arc<str>> {
        let mut touched = BTreeSet::new();
        for uri in self.groups.remove(group).unwrap_or_default() {
            self.withdraw(group, &uri);
            touched.insert(uri);
        }
        let mut claimed = Vec::new();
        for (origin, claimant) in claimants {
            let uri = claimant.uri().file().shared();
            match self.names.get_mut(name_of(&uri)) {
                Some(named) => named.insert(&uri),
                None => {
                    self.names.insert(name_of(&uri).into(), Named::One(Arc::clone(&uri)));
                }
            }
            let claim = Claim { group: group.clone(), origin, claimant };
            let claims = self.claims.entry(Arc::clone(&uri));
            claims.or_insert_with(|| Vec::with_capacity(1)).push(claim);
            touched.insert(Arc::clone(&uri));
            claimed.push(uri);
        }
        if !claimed.is_empty() {
            self.groups.insert(group.clone(), claimed.into());
        }
        // A skill below a touched URI may now lie inside another skill, or no longer do so.
        let below: Vec<Arc<str>> = touched.iter().flat_map(|uri| self.uris_below(uri)).collect();
        touched.extend(below);
        touched
    }

    fn withdraw(&mut self, group: &GroupId, uri: &Arc<str>) {
        let Some(claims) = self.claims.get_mut(uri) else { return };
        claims.retain(|claim| claim.group != *group);
        if claims.is_empty() {
            self.claims.remove(uri);
            let name = name_of(uri);
            if self.names.get_mut(name).is_some_and(|named| named.remove(uri)) {
                self.names.remove(name);
            }
        }
    }

    fn uris_below(&self, uri: &str) -> Vec<Arc<str>> {
        let root = &uri[..uri.len() - SKILL_FILE.len()];
        let range = self
            .claims
            .range::<str, _>((std::ops::Bound::Excluded(root), std::ops::Bound::Unbounded));
        range.map(|(uri, _)| uri).take_while(|uri| uri.starts_with(root)).map(Arc::clone).collect()
    }

    /// The claimant that is served at a URI, if there is no conflict.
    pub fn holder(&self, uri: &str) -> Option<&T> {
        let claim = self.undisputed(uri)?;
        self.owner(claim).is_none().then_some(&claim.claimant)
    }

    fn undisputed(&self, uri: &str) -> Option<&Claim<T>> {
        match self.claims.get(uri).map(Vec::as_slice) {
            Some([claim]) => Some(claim),
            _ => None,
        }
    }

    /// The skill around a claim whose manifest does not list it.
    fn owner(&self, claim: &Claim<T>) -> Option<&Claim<T>> {
        let uri = claim.claimant.uri();
        let mut above = uri.root().parent();
        while let Some(directory) = above {
            if let Some(owner) = self.undisputed(&format!("{directory}/{SKILL_FILE}"))
                && !owner.claimant.lists(uri.file())
            {
                return Some(owner);
            }
            above = directory.parent();
        }
        None
    }

    /// Why the claimants of a URI are not served, with the origin of each.
    pub fn conflicts(&self, uri: &str) -> Vec<(&str, Finding)> {
        let Some(claims) = self.claims.get(uri) else { return Vec::new() };
        if let [claim] = claims.as_slice() {
            return self
                .owner(claim)
                .map(|owner| (claim.origin.as_str(), intruder(claim, owner)))
                .into_iter()
                .collect();
        }
        let origins = list_a_few(claims.iter().map(|claim| &claim.origin));
        let message = format!("{origins} would be served at the same URI, `{uri}`.");
        claims
            .iter()
            .map(|claim| {
                let file = format!("{}/{SKILL_FILE}", claim.origin);
                let finding = Finding::new(Code::PathCollision, file, message.clone())
                    .help("Rename one of them, or serve one folder under a prefix (`team=DIR`).");
                (claim.origin.as_str(), finding)
            })
            .collect()
    }

    /// The URIs with the same skill name as this one, itself included; `None` if it is the only
    /// one.
    pub fn uris_with_same_name(&self, uri: &SkillUri) -> Option<&BTreeSet<Arc<str>>> {
        match self.names.get(name_of(uri.as_str()))? {
            Named::One(_) => None,
            Named::Several(uris) => Some(uris),
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

fn intruder<T>(claim: &Claim<T>, owner: &Claim<T>) -> Finding {
    let file = format!("{}/{SKILL_FILE}", claim.origin);
    let message = format!(
        "It would stand inside the skill of `{}`, whose manifest does not list it.",
        owner.origin
    );
    Finding::new(Code::PathCollision, file, message)
        .help("Serve one of the folders under another prefix (`team=DIR`).")
}
