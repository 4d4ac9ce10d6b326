//! `skillwire remove`: takes installed skills away, with everything that was made for them.

use std::io::{self, Write as _};

use serde_json::json;
use skillwire_install::{InstallScope, InstalledSkill};

use super::{
    agrees, find, installing, kept, run_command, split_handles, state::InstallState,
    targets::Project,
};
use crate::{
    args::RemoveArgs,
    commands::Outcome,
    exit::Exit,
    output::counted,
    prose, report, session,
    settings::{AgentSettings, HostSettings},
};

pub(in crate::commands) fn run(args: &RemoveArgs) -> Outcome {
    let settings = HostSettings::resolve()?;
    let state = InstallState::new(&settings);
    let installed = state.load()?;
    let (handles, names) = split_handles(&args.names, installed.skills());
    let mut exit = Exit::Ok;
    for handle in &handles {
        let mut words = vec!["revoke", handle.as_str()];
        words.extend(args.json.then_some("--json"));
        let ended = run_command(&words)?;
        if exit == Exit::Ok {
            exit = ended;
        }
    }
    if names.is_empty() && !args.all {
        return Ok(exit);
    }
    let found = find(installed.skills(), &names, args.scope, &Project::find()?)?;
    let found: Vec<InstalledSkill> = found.into_iter().cloned().collect();
    if found.is_empty() {
        writeln!(prose::stderr(), "No skill is installed here.")?;
        return Ok(exit);
    }
    if !args.json {
        let mut err = prose::stderr();
        let folders = AgentSettings::resolve()?;
        for skill in &found {
            for placement in &skill.placements {
                let directory = folders.short(&placement.directory);
                writeln!(err, "{}  {directory}", kept::name_of(skill))?;
            }
        }
    }
    let question = format!("Remove {}?", counted(found.len(), "skill"));
    if !args.yes && !agrees(&settings, &question, false)? {
        writeln!(prose::stderr(), "Nothing was removed.")?;
        return Ok(exit);
    }
    installing::remove(&state, &found, args.discard_edits)?;
    let of_host: Vec<_> =
        found.iter().filter(|skill| skill.scope == InstallScope::Kept).cloned().collect();
    if !of_host.is_empty() {
        session::run(args.json, async || {
            kept::forget(&settings, &state, &of_host).await?;
            Ok(Exit::Ok)
        })?;
    }
    if args.json {
        report::json(&mut io::stdout().lock(), &json!({"removed": found}))?;
        return Ok(exit);
    }
    for skill in &found {
        writeln!(prose::stdout(), "Removed {}.", kept::name_of(skill))?;
    }
    Ok(exit)
}
