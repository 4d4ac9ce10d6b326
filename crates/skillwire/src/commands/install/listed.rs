//! Installed skills, as `list` shows them beside those of servers and folders.

use std::io::{self, Write};

use serde::Serialize;
use skillwire_core::visible::one_line;
use skillwire_install::{InstallScope, InstalledSkill, PlacementState};

use super::state::InstallState;
use crate::{
    failure::Failure,
    output::{ADDED, FAINT, WARNING},
    settings::HostSettings,
};

/// One installed skill.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::commands) struct InstalledRow {
    #[serde(flatten)]
    skill: InstalledSkill,
    state: PlacementState,
    /// Where it is from, as the user reads it.
    #[serde(skip)]
    from: String,
}

/// Reads what is installed and compares it with what is in the folders.
pub(in crate::commands) fn rows(settings: &HostSettings) -> Result<Vec<InstalledRow>, Failure> {
    let state = InstallState::new(settings);
    let forge = settings.user()?.forge;
    let installed = state.load()?;
    let row = |skill: &InstalledSkill| {
        let states = skill.placements.iter().map(|it| it.state(&skill.content, state.store()));
        let worst = states.max_by_key(|state| match state {
            PlacementState::Intact => 0,
            PlacementState::Missing => 1,
            PlacementState::Edited => 2,
        });
        InstalledRow {
            skill: skill.clone(),
            state: worst.unwrap_or(PlacementState::Missing),
            from: skill.source.address.for_user_of(&forge),
        }
    };
    Ok(installed.skills().iter().map(row).collect())
}

/// Writes the rows, if there are any.
pub(in crate::commands) fn print(out: &mut impl Write, rows: &[InstalledRow]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "{FAINT}installed{FAINT:#}")?;
    let widest = rows.iter().map(|row| row.skill.name.len()).max().unwrap_or(0);
    for InstalledRow { skill, state, from } in rows {
        let (style, word) = match state {
            PlacementState::Intact => (ADDED, "intact "),
            PlacementState::Edited => (WARNING, "edited "),
            PlacementState::Missing => (WARNING, "missing"),
        };
        let commit = skill.source.commit.as_deref().unwrap_or_default();
        let commit = commit.get(..7).map_or_else(String::new, |short| format!(" ({short})"));
        let scope = match &skill.scope {
            InstallScope::User => "for you".to_owned(),
            InstallScope::Kept => "kept".to_owned(),
            InstallScope::Project(root) => format!("in {}", one_line(&root.display().to_string())),
        };
        let agents: Vec<&str> = skill
            .placements
            .iter()
            .flat_map(|placement| placement.agents.iter().map(String::as_str))
            .filter(|_| skill.scope != InstallScope::Kept)
            .collect();
        let agents =
            if agents.is_empty() { String::new() } else { format!(", {}", agents.join(", ")) };
        let from = one_line(from);
        writeln!(
            out,
            "  {:widest$}  {style}{word}{style:#}  {from}{commit}  {FAINT}{scope}{agents}{FAINT:#}",
            skill.name
        )?;
    }
    Ok(())
}
