//! The skills of this machine's folders.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::Arc,
};

use skillwire_core::{ContentId, Resources, SKILL_FILE};
use skillwire_folders::{Discovery, GatedSkill, LocalSkill};
use skillwire_trust::{EntrySource, ListedSkill, Origin, SkillId};

use super::Host;

/// The skills of this machine's folders.
#[derive(Default)]
pub(super) struct Folders {
    pub(super) skills: BTreeMap<SkillId, LocalSkill>,
    /// Skills that lie in several folders with the same name and content, and the first of each.
    copies: BTreeMap<SkillId, SkillId>,
    pub(super) gated: Vec<GatedSkill>,
}

impl Folders {
    fn new(found: Discovery) -> Self {
        let mut first: HashMap<(Origin, String, ContentId), SkillId> = HashMap::new();
        let mut copies = BTreeMap::new();
        // Earlier folders come first, and win.
        for skill in &found.skills {
            let Some(content) = content_id(skill) else { continue };
            let name = skill.entry().frontmatter.name().to_string();
            let key = (skill.origin().clone(), name, content);
            let original = first.entry(key).or_insert_with(|| skill.id().clone());
            if original != skill.id() {
                copies.insert(skill.id().clone(), original.clone());
            }
        }
        let skills = found.skills.into_iter().map(|skill| (skill.id().clone(), skill)).collect();
        Self { skills, copies, gated: found.gated }
    }
}

/// The identity of a skill's files, wherever they lie.
fn content_id(skill: &LocalSkill) -> Option<ContentId> {
    let entry = skill.entry();
    let Resources::Listed(files) = &entry.resources else { return None };
    let file = |file: &skillwire_core::SkillResource| {
        Some((entry.uri.below(&file.uri)?, file.digest, file.size))
    };
    ContentId::of(files.iter().map(file).collect::<Option<Vec<_>>>()?).ok()
}

impl Host {
    /// Sets the skills found in the folders of this machine, in place of the earlier ones.
    pub fn set_folders(&self, found: Discovery) {
        *self.inner.folders.lock() = Arc::new(Folders::new(found));
    }

    /// Returns the directory of a skill that is in a folder of this machine.
    pub fn directory_of(&self, skill: &SkillId) -> Option<PathBuf> {
        self.folders().skills.get(skill).map(|skill| skill.directory().to_owned())
    }

    /// Returns the path of the `SKILL.md` of a skill that is in a folder of this machine.
    pub fn location_of(&self, skill: &SkillId) -> Option<PathBuf> {
        self.directory_of(skill).map(|directory| directory.join(SKILL_FILE))
    }

    /// Returns the skills of folders, as the host read them last.
    pub fn in_folders(&self) -> Vec<ListedSkill> {
        self.folders().skills.values().map(listed).collect()
    }

    /// Returns the skills of folders without copies. Agents read different folders, so users keep
    /// copies of a skill in several of them.
    pub(super) fn in_folders_once(&self) -> Vec<ListedSkill> {
        let folders = self.folders();
        let originals = folders.skills.iter().filter(|(id, _)| !folders.copies.contains_key(id));
        originals.map(|(_, skill)| listed(skill)).collect()
    }

    /// Returns the paths of skills in folders, below the user's home or the project. A skill of
    /// which there are copies has the paths of all of them.
    pub fn folder_paths(&self) -> BTreeMap<SkillId, Vec<String>> {
        let folders = self.folders();
        let mut paths: BTreeMap<SkillId, Vec<String>> = BTreeMap::new();
        for id in folders.skills.keys() {
            let root = id.uri.root().as_str();
            let path = root.split_once("://").map_or(root, |(_, path)| path);
            let original = folders.copies.get(id).unwrap_or(id);
            paths.entry(original.clone()).or_default().push(path.to_owned());
        }
        paths
    }

    pub(super) fn folders(&self) -> Arc<Folders> {
        Arc::clone(&self.inner.folders.lock())
    }
}

fn listed(skill: &LocalSkill) -> ListedSkill {
    ListedSkill::new(skill.origin().clone(), Arc::clone(skill.entry()), EntrySource::Named)
}
