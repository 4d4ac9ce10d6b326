//! A folder that is one skill, served at a path that its owner chose.

use std::path::PathBuf;

use skillwire_core::{Code, Finding, SKILL_FILE, SkillPath};

use crate::{
    directory::{DirectoryOptions, DirectorySource},
    source::{InspectedSkill, ScanRequest, SkillSource, SourceChange, SourceUnavailable},
};

/// A source of one folder whose `SKILL.md` is served at exactly one path.
///
/// If the folder holds several skills, or the skill's name no longer ends the path, the skill is
/// refused with a finding instead of being served somewhere else.
#[derive(Debug)]
pub struct SingleSkillSource {
    path: SkillPath,
    directory: DirectorySource,
}

impl SingleSkillSource {
    /// Makes a source of the skill in a folder; the path replaces the prefix of the options.
    pub fn new(
        path: SkillPath,
        folder: impl Into<PathBuf>,
        options: DirectoryOptions,
    ) -> Result<Self, SourceUnavailable> {
        let mut prefix: Vec<String> = path.segments().map(str::to_owned).collect();
        prefix.pop();
        let directory = DirectorySource::new(folder, options.prefix(prefix))?;
        Ok(Self { path, directory })
    }

    /// Refuses a skill that would be served at another path.
    fn check_path(&self, mut inspected: InspectedSkill) -> InspectedSkill {
        let Some(skill) = &inspected.skill else { return inspected };
        let served = skill.path();
        let wanted = self.path.to_string();
        let inside = served.strip_prefix(&wanted).is_some_and(|rest| rest.starts_with('/'));
        if served != wanted && !inside {
            let file = format!("{}/{SKILL_FILE}", inspected.origin);
            let message = format!("The skill would be served at `{served}`, not at `{wanted}`.");
            let help = "Name the folder of one skill, and a path that ends in the skill's name.";
            inspected.findings.push(Finding::new(Code::NameInvalid, file, message).help(help));
            inspected.skill = None;
        }
        inspected
    }
}

impl SkillSource for SingleSkillSource {
    fn scan(
        &self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        self.directory.scan(look, &mut |found| {
            report(match found {
                SourceChange::Updated(key, inspected) => SourceChange::Updated(
                    key,
                    inspected.into_iter().map(|one| self.check_path(one)).collect(),
                ),
                gone @ SourceChange::Removed(_) => gone,
            });
        })
    }

    fn watched_directories(&self) -> Vec<PathBuf> {
        self.directory.watched_directories()
    }
}
