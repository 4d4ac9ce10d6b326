//! Writes skills into folders, all of them or none, and records them.

use std::{path::PathBuf, time::SystemTime};

use skillwire_install::{
    FolderChange, InstallScope, InstalledSkill, InstalledSkills, PinnedSource, Placement,
    PlacementMethod, PlacementState, SkillBundle, holds, remove_empty,
};

use super::{state::InstallState, targets::TargetFolder};
use crate::{commands::output_folder::cannot_write, exit::Exit, failure::Failure};

/// One skill that is to be installed.
pub(super) struct PlannedSkill {
    pub(super) bundle: SkillBundle,
    pub(super) source: PinnedSource,
    pub(super) scope: InstallScope,
    pub(super) method: PlacementMethod,
    pub(super) targets: Vec<TargetFolder>,
    /// Whether a project names it.
    pub(super) synced: bool,
}

impl PlannedSkill {
    /// The directories of the skill.
    pub(super) fn directories(&self) -> impl Iterator<Item = PathBuf> {
        self.targets.iter().map(|target| target.folder.join(self.bundle.name().as_str()))
    }
}

/// What becomes of a directory whose files the user changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edits {
    /// It is replaced.
    Discard,
    /// It stays; the command has the option `--discard-edits`.
    Keep,
    /// It stays; the command has no such option, but `update` has.
    KeepUntilUpdate,
}

impl Edits {
    /// What the option `--discard-edits` of the command says.
    pub(super) fn of(discard_edits: bool) -> Self {
        if discard_edits { Self::Discard } else { Self::Keep }
    }
}

/// Installs skills.
pub(super) fn install(
    state: &InstallState,
    planned: &[PlannedSkill],
    edits: Edits,
) -> Result<Vec<InstalledSkill>, Failure> {
    let installed = state.change(|records| {
        let mut change = FolderChange::default();
        let mut installed = Vec::new();
        for skill in planned {
            let placements = placements(state, records, skill, edits)?;
            installed.push(prepare(state, &mut change, skill, placements)?);
        }
        // If the process dies before the records are written, the directories hold what the store has,
        // and the next run takes them over.
        change.commit().map_err(|error| {
            Failure::new(Exit::Usage, "The skills cannot be installed; nothing was changed.")
                .because(error)
        })?;
        for skill in &installed {
            records.insert(skill.clone());
        }
        Ok(installed)
    })?;
    state.clean()?;
    Ok(installed)
}

/// Records where an installed skill comes from now; no file of it is touched.
pub(super) fn record_source(
    state: &InstallState,
    skill: &InstalledSkill,
    source: &PinnedSource,
) -> Result<(), Failure> {
    state.change(|records| {
        if let Some(known) = records.find(&skill.name, &skill.scope) {
            records.insert(InstalledSkill { source: source.clone(), ..known.clone() });
        }
        Ok(())
    })
}

/// The directories that the skill is to be in: those that were asked for, and those where it is already,
/// so that all have the same content.
fn placements(
    state: &InstallState,
    records: &InstalledSkills,
    skill: &PlannedSkill,
    edits: Edits,
) -> Result<Vec<Placement>, Failure> {
    let earlier = records.find(skill.bundle.name().as_str(), &skill.scope);
    let mut placements = earlier.map_or_else(Vec::new, |earlier| earlier.placements.clone());
    for (directory, target) in skill.directories().zip(&skill.targets) {
        match placements.iter_mut().find(|placement| placement.directory == directory) {
            Some(placement) => {
                placement.method = skill.method;
                for agent in &target.agents {
                    if !placement.agents.contains(agent) {
                        placement.agents.push(agent.clone());
                    }
                }
            }
            None => placements.push(Placement {
                directory,
                agents: target.agents.clone(),
                method: skill.method,
                made: Vec::new(),
            }),
        }
    }
    for placement in &placements {
        let known = earlier.filter(|earlier| {
            earlier.placements.iter().any(|other| other.directory == placement.directory)
        });
        let directory = placement.directory.display();
        let is_new = holds(&placement.directory, skill.bundle.content());
        if let Some(known) = known {
            let edited = known.placements.iter().any(|other| {
                other.directory == placement.directory
                    && other.state(&known.content, state.store()) == PlacementState::Edited
            });
            if edited && !is_new && edits != Edits::Discard {
                let failure = edited_failure(&directory.to_string());
                return Err(match edits {
                    Edits::KeepUntilUpdate => failure.hint(format!(
                        "Move your version away, or lose it with `skillwire update {}{} --discard-edits`.",
                        skill.bundle.name(),
                        if skill.scope == InstallScope::User { " --global" } else { "" }
                    )),
                    Edits::Keep | Edits::Discard => failure,
                });
            }
        } else if placement.directory.symlink_metadata().is_ok() && !is_new {
            let message = format!("`{directory}` exists, and was not installed by this program.");
            return Err(Failure::new(Exit::Declined, message)
                .hint("Move it away first; nothing of yours is overwritten."));
        }
    }
    Ok(placements)
}

/// The failure for a directory that the user changed.
pub(super) fn edited_failure(directory: &str) -> Failure {
    Failure::new(
        Exit::Declined,
        format!("You changed files in `{directory}` since it was installed."),
    )
    .hint("Move your version away, or add `--discard-edits` to lose it.")
}

fn prepare(
    state: &InstallState,
    change: &mut FolderChange,
    skill: &PlannedSkill,
    mut placements: Vec<Placement>,
) -> Result<InstalledSkill, Failure> {
    let stored =
        state.store().keep(&skill.bundle).map_err(|error| Failure::caused(Exit::Usage, error))?;
    for placement in &mut placements {
        let Placement { directory, method, .. } = &placement;
        let made = match method {
            PlacementMethod::Copy => change.copy(directory, skill.bundle.files()),
            PlacementMethod::Link => change.link(directory, &stored),
        };
        let made = made.map_err(|error| cannot_write(directory, error))?;
        if !made.is_empty() {
            placement.made = made;
        }
    }
    Ok(InstalledSkill {
        name: skill.bundle.name().to_string(),
        scope: skill.scope.clone(),
        source: skill.source.clone(),
        content: *skill.bundle.content(),
        at: now(),
        synced: skill.synced,
        placements,
    })
}

fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Removes installed skills.
pub(super) fn remove(
    state: &InstallState,
    skills: &[InstalledSkill],
    discard_edits: bool,
) -> Result<(), Failure> {
    state.change(|records| {
        let mut change = FolderChange::default();
        let mut made = Vec::new();
        for skill in skills {
            for placement in &skill.placements {
                let state = placement.state(&skill.content, state.store());
                let directory = &placement.directory;
                if state == PlacementState::Edited && !discard_edits {
                    return Err(edited_failure(&directory.display().to_string()));
                }
                change.remove(directory).map_err(|error| cannot_write(directory, error))?;
                made.extend(placement.made.iter().cloned());
            }
        }
        change.commit().map_err(|error| {
            Failure::new(Exit::Usage, "The skills cannot be removed; nothing was changed.")
                .because(error)
        })?;
        made.sort();
        made.dedup();
        remove_empty(&made);
        for skill in skills {
            records.remove(&skill.name, &skill.scope);
        }
        // Folders that other skills are still in go with the last of them.
        made.retain(|folder| folder.exists());
        records.hand_over(&made);
        Ok(())
    })?;
    state.clean()
}
