//! D7: a `_manifest` in each skill, and a template for its files.

use std::{borrow::Cow, sync::Arc};

use skillwire_catalog::Snapshot;
use skillwire_core::RelPath;
use skillwire_dialects::fastmcp::{MANIFEST, ManifestDocument, ManifestFile, skill_of_manifest};
use skillwire_source::{FileTree, Skill, SkillContent};

/// Returns the files of a skill, unless it has none to list or a file named `_manifest` of its own.
pub(crate) fn tree(skill: &Skill) -> Option<&FileTree> {
    let SkillContent::Files(tree) = &skill.content else { return None };
    let own = RelPath::parse(MANIFEST).ok()?;
    tree.file(&own).is_none().then_some(tree)
}

/// Finds the skill whose manifest has this URI.
pub(crate) fn skill_of<'a>(snapshot: &'a Snapshot, uri: &str) -> Option<&'a Arc<Skill>> {
    snapshot.skill(&skill_of_manifest(uri)?).filter(|skill| tree(skill).is_some())
}

/// Writes the manifest.
pub(crate) fn manifest(skill: &Skill) -> Option<Vec<u8>> {
    let files = tree(skill)?.files.iter().map(|file| ManifestFile {
        path: Cow::Borrowed(&file.path),
        size: Some(file.size),
        hash: Some(file.digest),
    });
    let skill = Some(skill.name().into());
    Some(ManifestDocument { skill, files: files.collect() }.write())
}
