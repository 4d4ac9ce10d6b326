//! Scans one of the paths that the user named.

use std::path::{Path, PathBuf};

use skillwire_core::{Finding, Level, RelPath, SKILL_FILE};
use skillwire_source::{DirectorySource, InspectedSkill, ScanResults, SkillSource, scan_each};

use super::{git_ignored, selection::Selection, silence::SilenceRules};
use crate::{
    failure::Failure,
    report::Silenced,
    settings::{FolderReading, folder_of, unavailable},
};

/// A folder to check, and how.
pub(super) struct CheckedFolder<'a> {
    /// The path as the user typed it, or the folder around a `SKILL.md` that the user typed.
    argument: &'a str,
    /// Its path without symbolic links.
    root: PathBuf,
    /// Whether the user named a `SKILL.md`, which is checked on its own.
    alone: bool,
    silences: SilenceRules,
    reading: &'a FolderReading,
    selection: &'a Selection,
}

/// The skills and findings of one folder.
#[derive(Default)]
pub(super) struct FolderScan {
    pub(super) places: Vec<CheckedPlace>,
    /// Findings that belong to no skill.
    pub(super) findings: Vec<Finding>,
    pub(super) silenced: Vec<Silenced>,
}

/// A skill, or a directory that failed to be one.
pub(super) struct CheckedPlace {
    /// Its directory, without symbolic links.
    pub(super) directory: PathBuf,
    /// The name of its directory in findings.
    pub(super) origin: String,
    pub(super) findings: Vec<Finding>,
}

impl<'a> CheckedFolder<'a> {
    pub(super) fn open(
        path: &'a str,
        reading: &'a FolderReading,
        selection: &'a Selection,
    ) -> Result<Self, Failure> {
        let argument = around_skill_file(path);
        let root = reading.source(argument)?.canonical_root().to_owned();
        let silences = SilenceRules::beside(&root)?;
        Ok(Self { argument, root, alone: argument != path, silences, reading, selection })
    }

    /// Scans the folder and checks every skill in it.
    pub(super) fn scan(&self) -> Result<FolderScan, Failure> {
        let [collected] = &mut scan_sources(&[&self.source()?])?[..] else {
            return Ok(FolderScan::default());
        };
        Ok(self.heeded(std::mem::take(collected), false))
    }

    fn source(&self) -> Result<DirectorySource, Failure> {
        self.reading.source(self.argument)
    }

    /// The name of the folder in findings.
    pub(super) fn name(&self) -> &'a str {
        folder_of(self.argument)
    }

    /// Applies the author's decisions and `--strict` to what was found.
    fn heeded(&self, collected: ScanResults, strict: bool) -> FolderScan {
        let mut silenced = Vec::new();
        let mut heed = |findings: Vec<Finding>| -> Vec<Finding> {
            let mut heeded = Vec::with_capacity(findings.len());
            for mut finding in findings {
                let path = self.path_of(&finding.file);
                if !self.selection.takes(finding.code)
                    || path.as_deref().is_some_and(|path| self.excludes(path))
                {
                    continue;
                }
                if let Some(reason) = self.silences.reason(&finding, path.as_deref()) {
                    silenced.push((finding, reason.to_owned()));
                    continue;
                }
                if strict && finding.level == Level::Warning {
                    finding.level = Level::Error;
                }
                heeded.push(finding);
            }
            heeded
        };
        let findings = heed(collected.findings);
        let place = |InspectedSkill { origin, mut findings, skill }| {
            let directory = self.path_of(&origin).unwrap_or_else(|| self.root.clone());
            if self.excludes(&directory) {
                return None;
            }
            findings.extend(git_ignored::findings(&directory, &origin, skill.as_deref()));
            Some(CheckedPlace { directory, origin, findings: heed(findings) })
        };
        let places = collected.skills.into_iter().filter_map(place).collect();
        FolderScan { places, findings, silenced }
    }

    /// Whether the user or the `skillwire.toml` beside the skills leaves a path out.
    fn excludes(&self, path: &Path) -> bool {
        let relative = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
        self.silences.excludes(path)
            || relative.is_some_and(|relative| self.selection.excludes(relative))
    }

    /// The path of a file that findings call by this name; `None` if it is not in the folder.
    pub(super) fn path_of(&self, file: &str) -> Option<PathBuf> {
        let inside = file.strip_prefix(folder_of(self.argument))?.trim_start_matches('/');
        if inside.is_empty() {
            return Some(self.root.clone());
        }
        let inside = RelPath::parse(inside).ok()?;
        Some(self.root.join(inside.as_str()))
    }

    /// The folder's path without symbolic links.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}

/// Scans folders as one server would serve them, and each `SKILL.md` on its own.
pub(super) fn scan_together(
    folders: &[CheckedFolder<'_>],
    strict: bool,
) -> Result<Vec<FolderScan>, Failure> {
    let sources: Vec<_> = folders.iter().map(CheckedFolder::source).collect::<Result<_, _>>()?;
    let served: Vec<&dyn SkillSource> = sources
        .iter()
        .zip(folders)
        .filter(|(_, folder)| !folder.alone)
        .map(|(source, _)| source as &dyn SkillSource)
        .collect();
    let mut served = scan_sources(&served)?.into_iter();
    let mut scans = Vec::new();
    for (source, folder) in sources.iter().zip(folders) {
        let collected = if folder.alone { scan_sources(&[source])?.pop() } else { served.next() };
        scans.push(folder.heeded(collected.unwrap_or_default(), strict));
    }
    Ok(scans)
}

fn scan_sources(sources: &[&dyn SkillSource]) -> Result<Vec<ScanResults>, Failure> {
    scan_each(sources).map_err(unavailable)
}

/// Turns a path to a `SKILL.md`, in upper or lower case, into the path of its skill.
fn around_skill_file(path: &str) -> &str {
    let path_ref = Path::new(path);
    let names_skill_file =
        path_ref.file_name().is_some_and(|name| name.eq_ignore_ascii_case(SKILL_FILE));
    match path_ref.parent().and_then(Path::to_str) {
        Some("") if names_skill_file => ".",
        Some(parent) if names_skill_file => parent,
        _ => path,
    }
}
