//! Skills in folders of this machine: the user's and the project's.
//!
//! The caller passes both base folders. Finding skills looks at names only; reading one uses the
//! same sources and the same comparison of digests as everything else. These folders are judged
//! more leniently than servers: a name that differs from its directory or is too long, a value
//! without its quotes or a long description is only a warning.
//!
//! This crate never knows a server, nor what a user approved.
//!
//! ```
//! use skillwire_folders::{ProjectTrust, discover};
//!
//! let project = tempfile::tempdir()?;
//! let skill = project.path().join(".agents/skills/refunds");
//! std::fs::create_dir_all(&skill)?;
//! let text = "---\nname: refunds\ndescription: Use when a customer wants money back.\n---\n";
//! std::fs::write(skill.join("SKILL.md"), text)?;
//!
//! let found = discover(None, Some((project.path(), ProjectTrust::Trusted)));
//! assert_eq!(found.skills[0].handle(), "project:refunds");
//! // Of a project that the user does not trust, nothing is read.
//! let found = discover(None, Some((project.path(), ProjectTrust::Untrusted)));
//! assert!(found.skills.is_empty());
//! assert_eq!(found.gated[0].path(), ".agents/skills/refunds");
//! # Ok::<(), std::io::Error>(())
//! ```

mod mend;
mod open;
mod places;
mod precedence;
mod skill;
mod walk;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use skillwire_core::{
    Code, Level, Resources, Scheme, Strictness, agent_folders::READ_FOLDERS, limits,
};
use skillwire_source::{InspectedSkill, Skill};

use self::{
    mend::{may_help, mend},
    open::{FolderOpener, listed},
    walk::{SkillDirectory, SkillWalk},
};
pub use self::{
    places::is_discovery_place,
    skill::{GatedSkill, LocalSkill},
};

pub use skillwire_core::{
    Finding, ResourceUri, SkillEntry,
    agent_folders::{discovery_paths, read_folders as folders},
};
pub use skillwire_trust::{Origin, Refusal, SkillId, VerifiedFile};

/// Whether the user trusts the folder of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectTrust {
    /// Its skills may be used.
    Trusted,
    /// The host only reports that there are skills and reads nothing of them.
    Untrusted,
}

/// Everything found in the folders of this machine.
#[derive(Debug, Default)]
pub struct Discovery {
    /// Skills that may be used: the project's before the user's, earlier folders first. A bare name
    /// means the first of several skills with that name.
    pub skills: Vec<LocalSkill>,
    /// Skills of an untrusted project.
    pub gated: Vec<GatedSkill>,
    /// What was skipped, repaired or hidden. Paths are relative to the project or the user's home;
    /// their names are untrusted, since the author of a project chose them.
    pub findings: Vec<Finding>,
    /// Whether the folders hold more than is read.
    pub is_cut: bool,
    /// The directories that links in the folders lead to, without symbolic links. A caller that
    /// watches the folders should watch these as well.
    pub behind_links: BTreeSet<PathBuf>,
}

impl Discovery {
    /// Returns a sentence that says that skills are missing, if the folders hold more than is read.
    pub fn left_out(&self) -> Option<String> {
        let sentence = "The skill folders hold more than is read, so some of their skills are \
                        missing here.";
        self.is_cut.then(|| sentence.to_owned())
    }
}

/// The limits of a search, per folder or base.
#[derive(Debug, Clone, Copy)]
struct SearchLimits {
    /// The depth of nested directories in a folder.
    depth: usize,
    /// The directories in a folder, including skills but not what is inside them.
    directories: usize,
    /// The bytes of all skills of a base.
    bytes: u64,
    /// The bytes of repaired skills, which are held in memory.
    mended: u64,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self { depth: 6, directories: 2000, bytes: 1 << 30, mended: limits::MAX_BYTES }
    }
}

/// Finds the skills of the user and of a project.
pub fn discover(home: Option<&Path>, project: Option<(&Path, ProjectTrust)>) -> Discovery {
    discover_within(home, project, SearchLimits::default())
}

fn discover_within(
    home: Option<&Path>,
    project: Option<(&Path, ProjectTrust)>,
    limits: SearchLimits,
) -> Discovery {
    let mut discovery = Discovery::default();
    let real = |base: &Path| std::fs::canonicalize(base).ok();
    let home = home.and_then(real);
    // If the project is the user's home, its folders are the user's own.
    let project = project
        .and_then(|(base, trust)| Some((real(base)?, trust)))
        .filter(|(base, _)| home.as_ref() != Some(base));
    match &project {
        Some((base, ProjectTrust::Trusted)) => {
            BaseReader::new(Origin::Project, limits).read(base, &mut discovery);
        }
        Some((base, ProjectTrust::Untrusted)) => {
            for found in search(base, limits, &mut discovery).found {
                discovery.gated.push(GatedSkill { path: found.segments.join("/") });
            }
        }
        None => {}
    }
    if let Some(base) = &home {
        BaseReader::new(Origin::Local, limits).read(base, &mut discovery);
    }
    discovery.findings.extend(precedence::settle(&mut discovery.skills));
    for finding in discovery.findings.iter().filter(|finding| finding.level >= Level::Warning) {
        tracing::warn!(file = ?finding.file, code = %finding.code, "{}", finding.message.escape_debug());
    }
    discovery
}

/// Searches the folders of a base, and adds what is to be said about them.
fn search<'a>(base: &'a Path, limits: SearchLimits, discovery: &mut Discovery) -> SkillWalk<'a> {
    let mut walk = SkillWalk::new(base, limits);
    for folder in READ_FOLDERS {
        walk.folder(folder);
    }
    discovery.findings.append(&mut walk.findings);
    discovery.is_cut |= walk.is_cut;
    walk
}

/// Reads the skills of one base.
struct BaseReader {
    origin: Origin,
    scheme: Scheme,
    limits: SearchLimits,
}

impl BaseReader {
    fn new(origin: Origin, limits: SearchLimits) -> Self {
        // The label of a folder's origin is a valid scheme, and no server's URIs can be confused
        // with it.
        let scheme = Scheme::parse(origin.label()).unwrap_or_default();
        Self { origin, scheme, limits }
    }

    fn read(mut self, base: &Path, discovery: &mut Discovery) {
        let SkillWalk { found, mut behind_links, .. } = search(base, self.limits, discovery);
        discovery.behind_links.append(&mut behind_links);
        for found in found {
            if self.limits.bytes == 0 {
                let message = "There is more in these folders than is read; the rest is left out.";
                let finding = Finding::new(Code::TooManyBytes, found.segments.join("/"), message)
                    .help("Remove skills that are not needed.");
                discovery.findings.push(finding);
                discovery.is_cut = true;
                return;
            }
            self.read_one(&found, discovery);
        }
    }

    fn read_one(&mut self, found: &SkillDirectory, discovery: &mut Discovery) {
        let mut opening = FolderOpener::new(found, &self.scheme);
        let mut read = opening.read();
        let is_outermost = |inspected: &&InspectedSkill| inspected.origin == opening.label;
        let outermost = read.iter().flatten().find(is_outermost);
        let name = outermost.and_then(|outer| outer.skill.as_ref()).map(|s| s.name().to_owned());
        if name.is_some_and(|name| found.segments.last() != Some(&name)) {
            opening = opening.below_directory();
            read = opening.read();
        } else if outermost.is_some_and(may_help)
            && let Some(mended) = mend(&opening, self.limits.mended)
        {
            self.limits.mended -= mended.bytes;
            for inspected in mended.inspected {
                add(inspected, discovery, |skill| {
                    Some(LocalSkill::new(&self.origin, &opening.directory, listed(skill)?))
                });
            }
            return;
        }
        match read {
            Ok(inspected) => {
                for inspected in inspected {
                    let added = add(inspected, discovery, |skill| {
                        let read = listed(skill)?;
                        let directory = read.store.directory()?;
                        Some(LocalSkill::new(&self.origin, &directory, read))
                    });
                    self.limits.bytes = self.limits.bytes.saturating_sub(added);
                }
            }
            Err(finding) => discovery.findings.push(*finding),
        }
    }
}

/// Adds a skill and its findings, and returns its size in bytes.
fn add(
    inspected: InspectedSkill,
    discovery: &mut Discovery,
    make: impl FnOnce(&Skill) -> Option<LocalSkill>,
) -> u64 {
    let used = inspected.skill.is_some();
    discovery.findings.extend(inspected.findings.into_iter().filter_map(|finding| {
        match finding.level {
            // An error that does not keep the skill from being used is reported as a warning.
            Level::Error if used && !finding.skips(Strictness::Lenient) => {
                Some(Finding { level: Level::Warning, ..finding })
            }
            Level::Error | Level::Warning => Some(finding),
            Level::Info | Level::Advice => None,
        }
    }));
    let Some(skill) = inspected.skill else { return 0 };
    let Some(skill) = make(&skill) else {
        let message = "The skill changed while it was read.";
        discovery.findings.push(Finding::new(Code::Unstable, inspected.origin, message));
        return 0;
    };
    let Resources::Listed(files) = &skill.entry().resources else { return 0 };
    let bytes = files.iter().map(|file| file.size).sum();
    discovery.skills.push(skill);
    bytes
}

#[cfg(test)]
mod tests;
