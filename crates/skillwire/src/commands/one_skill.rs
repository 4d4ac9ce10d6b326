//! Reads the one skill of a folder, for commands that work on a single skill.

use std::sync::Arc;

use skillwire_source::{Skill, SkillSource, scan_all};

use crate::{
    args::ReadingArgs,
    exit::Exit,
    failure::Failure,
    settings::{FolderReading, unavailable},
};

/// Reads the one skill of a folder, as a server would.
pub(super) fn read(folder: &str, reading: &ReadingArgs) -> Result<Arc<Skill>, Failure> {
    let source = FolderReading::resolve(reading)?.source(folder)?;
    let scan = scan_all(&[&source as &dyn SkillSource]).map_err(unavailable)?;
    let skills: Vec<_> = scan.skills.iter().filter_map(|found| found.skill.clone()).collect();
    // A nested skill belongs to the skill around it.
    let outermost: Vec<_> = skills
        .iter()
        .filter(|skill| {
            !skills
                .iter()
                .any(|other| other.uri != skill.uri && other.uri.contains(skill.uri.file()))
        })
        .collect();
    match outermost.as_slice() {
        [skill] => Ok(Arc::clone(skill)),
        [] => Err(Failure::new(
            Exit::Findings,
            format!("`{folder}` holds no skill that can be served."),
        )
        .hint(format!("`skillwire check {folder}` says why."))),
        several => Err(Failure::usage(format!("`{folder}` holds {} skills.", several.len()))
            .hint("Name the folder of one of them.")),
    }
}
