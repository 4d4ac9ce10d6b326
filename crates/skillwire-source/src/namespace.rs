//! One namespace for the skills of several sources, kept up to date place by place.
//!
//! Two skills at one URI are both refused; so is a skill that would stand inside another one's
//! directory without being in its manifest. A change is judged by looking at what it touches.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use skillwire_core::{Code, Finding, ResourceUri, SKILL_FILE, SkillUri};

use crate::source::GroupKey;

/// Something that wants to stand at a skill's URI.
pub trait UriClaimant {
    /// The URI of its `SKILL.md`.
    fn uri(&self) -> &SkillUri;

    /// Tells whether its manifest lists this URI.
    fn lists(&self, uri: &ResourceUri) -> bool;
}

/// A place of a source: which source, and which place within it.
pub type GroupId = (usize, GroupKey);

#[derive(Debug)]
struct Claim<T> {
    site: GroupId,
    origin: String,
    occupant: T,
}

/// Who stands where.
///
/// Mostly a site claims one URI, nobody else claims it, and its name is nobody else's: there may be a
/// hundred thousand of these, so that one of anything takes no room for more.
#[derive(Debug)]
pub struct UriNamespace<T> {
    sites: BTreeMap<GroupId, Box<[Arc<str>]>>,
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

    /// Takes a URI away and tells whether none is left.
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
        Self { sites: BTreeMap::new(), claims: BTreeMap::new(), names: BTreeMap::new() }
    }
}

impl<T: UriClaimant> UriNamespace<T> {
    /// Replaces everything a place claimed before, and returns the URIs whose holder may differ.
    pub fn replace(
        &mut self,
        site: &GroupId,
        occupants: impl IntoIterator<Item = (String, T)>,
    ) -> BTreeSet<Arc<str>> {
        let mut touched = BTreeSet::new();
        for uri in self.sites.remove(site).unwrap_or_default() {
            self.withdraw(site, &uri);
            touched.insert(uri);
        }
        let mut claimed = Vec::new();
        for (origin, occupant) in occupants {
            let uri = occupant.uri().file().shared();
            match self.names.get_mut(name_of(&uri)) {
                Some(named) => named.insert(&uri),
                None => {
                    self.names.insert(name_of(&uri).into(), Named::One(Arc::clone(&uri)));
                }
            }
            let claim = Claim { site: site.clone(), origin, occupant };
            let claims = self.claims.entry(Arc::clone(&uri));
            claims.or_insert_with(|| Vec::with_capacity(1)).push(claim);
            touched.insert(Arc::clone(&uri));
            claimed.push(uri);
        }
        if !claimed.is_empty() {
            self.sites.insert(site.clone(), claimed.into());
        }
        // What stands below a touched skill may have become an intruder, or ceased to be one.
        let below: Vec<Arc<str>> = touched.iter().flat_map(|uri| self.below(uri)).collect();
        touched.extend(below);
        touched
    }

    fn withdraw(&mut self, site: &GroupId, uri: &Arc<str>) {
        let Some(claims) = self.claims.get_mut(uri) else { return };
        claims.retain(|claim| claim.site != *site);
        if claims.is_empty() {
            self.claims.remove(uri);
            let name = name_of(uri);
            if self.names.get_mut(name).is_some_and(|named| named.remove(uri)) {
                self.names.remove(name);
            }
        }
    }

    fn below(&self, uri: &str) -> Vec<Arc<str>> {
        let root = &uri[..uri.len() - SKILL_FILE.len()];
        let range = self
            .claims
            .range::<str, _>((std::ops::Bound::Excluded(root), std::ops::Bound::Unbounded));
        range.map(|(uri, _)| uri).take_while(|uri| uri.starts_with(root)).map(Arc::clone).collect()
    }

    /// The one that stands at a URI, if nothing disputes it.
    pub fn holder(&self, uri: &str) -> Option<&T> {
        let claim = self.undisputed(uri)?;
        self.owner(claim).is_none().then_some(&claim.occupant)
    }

    fn undisputed(&self, uri: &str) -> Option<&Claim<T>> {
        match self.claims.get(uri).map(Vec::as_slice) {
            Some([claim]) => Some(claim),
            _ => None,
        }
    }

    /// The skill inside whose directory a claim stands without belonging to it.
    fn owner(&self, claim: &Claim<T>) -> Option<&Claim<T>> {
        let uri = claim.occupant.uri();
        let mut above = uri.root().parent();
        while let Some(directory) = above {
            if let Some(owner) = self.undisputed(&format!("{directory}/{SKILL_FILE}"))
                && !owner.occupant.lists(uri.file())
            {
                return Some(owner);
            }
            above = directory.parent();
        }
        None
    }

    /// Why those who claim a URI do not stand there, with the origin of each.
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

    /// The URIs that share the name of this one, itself included, when there are several.
    pub fn uris_with_same_name(&self, uri: &SkillUri) -> Option<&BTreeSet<Arc<str>>> {
        match self.names.get(name_of(uri.as_str()))? {
            Named::One(_) => None,
            Named::Several(uris) => Some(uris),
        }
    }
}

/// Names a few of many things, so that what is said of each of them stays short.
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
