//! Decides which skills the gateway passes on.

use std::collections::{BTreeMap, BTreeSet};

use skillwire_core::{RelPath, Resources, SKILL_FILE, SkillUri};
use skillwire_trust::ListedSkill;

/// Decides which skills and files the gateway passes on.
///
/// A client that asks for a denied one, by any method, gets the same answer as for one that does
/// not exist.
pub trait Admission: Send + Sync + std::fmt::Debug {
    /// Tells whether a skill may be passed on as it is listed now.
    fn admits(&self, skill: &ListedSkill) -> bool;

    /// Tells whether a skill that was passed on may still be. The gateway asks this for each read
    /// of a file, before and after it, so that a withdrawn approval takes effect at once.
    fn still_admits(&self, _skill: &ListedSkill) -> bool {
        true
    }

    /// Tells whether only what the user approved may be passed on, so that the gateway holds files
    /// without listed digests to the bytes that were read first.
    fn holds_to_approval(&self) -> bool {
        false
    }

    /// Tells whether a file of a skill may be passed on.
    fn admits_file(&self, _skill: &ListedSkill, _path: &RelPath) -> bool {
        true
    }
}

/// Admits every skill and every file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AdmitAll;

impl Admission for AdmitAll {
    fn admits(&self, _skill: &ListedSkill) -> bool {
        true
    }
}

/// Returns the skills that are passed on.
///
/// A skill is passed on whole or not at all, because its manifest lists every file. One denied
/// file, or one denied skill inside it, therefore denies the whole skill; otherwise its manifest
/// would name what the admission hides.
pub(crate) fn admitted<'a>(
    skills: &BTreeMap<&'a SkillUri, &'a ListedSkill>,
    admission: &dyn Admission,
) -> BTreeSet<&'a SkillUri> {
    let mut admitted: BTreeSet<&SkillUri> = BTreeSet::new();
    let mut denied = Vec::new();
    for (uri, skill) in skills {
        if admits_whole(skill, admission) {
            admitted.insert(uri);
        } else {
            denied.push(*uri);
        }
    }
    for uri in denied {
        let mut above = uri.root().parent();
        while let Some(directory) = above {
            if let Ok(around) = SkillUri::parse(&format!("{directory}/{SKILL_FILE}")) {
                admitted.remove(&around);
            }
            above = directory.parent();
        }
    }
    admitted
}

fn admits_whole(skill: &ListedSkill, admission: &dyn Admission) -> bool {
    let files = match &skill.entry().resources {
        Resources::Listed(files) => files.as_slice(),
        Resources::Dynamic => &[],
    };
    let paths = files.iter().filter_map(|file| skill.id().uri.below(&file.uri));
    admission.admits(skill) && paths.into_iter().all(|path| admission.admits_file(skill, &path))
}
