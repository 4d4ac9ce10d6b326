//! Gives each skill one name, for dialects that identify skills only by name.
//!
//! Names need not be unique in a catalogue, so a name that several skills share identifies none of
//! them. Each of these skills gets segments of its path put in front of its name until no other
//! skill fits.

use std::{collections::HashMap, fmt::Write as _, sync::Arc};

use skillwire_catalog::Snapshot;
use skillwire_core::{Digest, MAX_NAME_CHARS, SkillName};
use skillwire_source::Skill;

/// How much of a name that is too long remains, before the distinguishing digits.
const CUT_CHARS: usize = 55;

/// The number of hexadecimal digits that tell skills apart if nothing else does.
const DIGITS: usize = 8;

/// The names of skills that share their own name with another; every other skill keeps its own.
#[derive(Debug, Default)]
pub(crate) struct LookupNames {
    skills: HashMap<Box<str>, Arc<Skill>>,
    names: HashMap<Arc<str>, Box<str>>,
}

/// The result of looking up a name.
#[derive(Debug)]
pub(crate) enum NameLookup<'a> {
    /// The name identifies one skill.
    Skill(&'a Arc<Skill>),
    /// Several skills share the name, so it identifies none.
    Ambiguous(Vec<&'a Arc<Skill>>),
    /// No skill has the name.
    Nothing,
}

impl LookupNames {
    /// Computes the names of all listed skills; the time grows with their number.
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let shared = shared(snapshot);
        // The skills that each candidate name fits; a name that fits one skill is free for it.
        let mut meant: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, skill) in shared.iter().enumerate() {
            for name in longer_names(skill) {
                let owners = meant.entry(name).or_default();
                if !owners.contains(&index) {
                    owners.push(index);
                }
            }
        }
        let free = |name: &str| {
            meant.get(name).is_none_or(|owners| owners.len() == 1)
                && snapshot.named(name).next().is_none()
        };
        let mut found = Self::default();
        let mut taken: HashMap<Box<str>, usize> = HashMap::new();
        let named: Vec<Box<str>> = shared
            .iter()
            .map(|skill| {
                let longer = longer_names(skill).find(|name| free(name));
                longer.unwrap_or_else(|| numbered(skill.name(), skill)).into_boxed_str()
            })
            .collect();
        for name in &named {
            *taken.entry(name.clone()).or_default() += 1;
        }
        for (skill, name) in shared.into_iter().zip(named) {
            // Two skills with the same digits have no name at all.
            if taken.get(&name) == Some(&1) {
                found.names.insert(skill.uri.file().shared(), name.clone());
                found.skills.insert(name, skill);
            }
        }
        found
    }

    /// Returns the name of a listed skill.
    pub(crate) fn of_skill<'a>(&'a self, snapshot: &Snapshot, skill: &'a Skill) -> Option<&'a str> {
        let mut same = snapshot.named(skill.name());
        match (same.next(), same.next()) {
            (Some(_), None) => Some(skill.name()),
            _ => self.names.get(skill.uri.as_str()).map(|name| &**name),
        }
    }

    /// Iterates over the names with part of a path in front that begin with a text.
    pub(crate) fn longer<'a>(
        &'a self,
        typed: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Skill)> {
        let all = self.skills.iter().map(|(name, skill)| (&**name, &**skill));
        all.filter(move |(name, _)| name.starts_with(typed))
    }

    /// Finds the skill with a name.
    pub(crate) fn find<'a>(&'a self, snapshot: &'a Snapshot, name: &str) -> NameLookup<'a> {
        let mut same: Vec<_> = snapshot.named(name).take(MAX_CANDIDATES).collect();
        match (same.len(), same.pop()) {
            (1, Some(skill)) => NameLookup::Skill(skill),
            (0, _) => self.skills.get(name).map_or(NameLookup::Nothing, NameLookup::Skill),
            (_, last) => {
                same.extend(last);
                NameLookup::Ambiguous(same)
            }
        }
    }
}

/// The most skills that an error about an ambiguous name lists.
const MAX_CANDIDATES: usize = 20;

/// Lists the skills that share their name with another listed skill.
fn shared(snapshot: &Snapshot) -> Vec<Arc<Skill>> {
    let mut found: Vec<Arc<Skill>> = Vec::new();
    let mut before: Option<&Arc<Skill>> = None;
    for skill in snapshot.by_name() {
        if let Some(before) = before.filter(|before| before.name() == skill.name()) {
            if found.last().is_none_or(|last| !Arc::ptr_eq(last, before)) {
                found.push(Arc::clone(before));
            }
            found.push(Arc::clone(skill));
        }
        before = Some(skill);
    }
    found
}

/// Iterates over a skill's name with more and more of its path in front.
fn longer_names(skill: &Skill) -> impl Iterator<Item = String> {
    let path = skill.path();
    let segments: Vec<String> = path.split('/').map(str::to_owned).collect();
    let uri = Digest::of(skill.uri.as_str().as_bytes());
    (2..=segments.len()).filter_map(move |count| {
        let joined = segments[segments.len() - count..].join("-");
        // Folders may have names that are not allowed for skills.
        let words: Vec<_> = joined
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_lowercase)
            .collect();
        let name = words.join("-");
        let name = if name.len() > MAX_NAME_CHARS { cut(&name, &uri) } else { name };
        SkillName::parse(&name).ok().map(|name| name.to_string())
    })
}

/// Creates a name with digits, for a skill whose path gives it no free name.
fn numbered(name: &str, skill: &Skill) -> String {
    cut(name, &Digest::of(skill.uri.as_str().as_bytes()))
}

/// Shortens a name and appends digits of the digest of its skill's URI.
fn cut(name: &str, uri: &Digest) -> String {
    let kept: String = name.chars().take(CUT_CHARS).collect();
    let mut made = kept.trim_end_matches('-').to_owned();
    made.push('-');
    for byte in &uri.as_bytes()[..DIGITS / 2] {
        let _ = write!(made, "{byte:02x}");
    }
    made
}
