//! `skillwire update`: shows what changed in a source since its skills were installed, and installs it.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    path::Path,
};

use serde::Serialize;
use serde_json::json;
use skillwire_core::ContentId;
use skillwire_git::{CommitId, GitRepository};
use skillwire_install::{
    InstallScope, InstalledSkill, Placement, PlacementMethod, PlacementState, SkillBundle,
    SourceAddress,
};

use super::{
    agrees, card,
    fetch::FetchedSource,
    find,
    installing::{Edits, PlannedSkill, edited_failure, install, record_source},
    kept, repository, run_command, split_handles,
    state::InstallState,
    targets::Project,
};
use crate::{
    args::UpdateArgs,
    commands::Outcome,
    exit::Exit,
    failure::Failure,
    output::{STRONG, WARNING, counted},
    prose, report,
    report::printable,
    session,
    settings::HostSettings,
};

/// What an update did to one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum UpdateState {
    UpToDate,
    WouldChange,
    Updated,
    /// Its content is the same, and a directory of it was missing.
    PutBack,
    Declined,
    Failed,
}

/// The result for one skill, for `--json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct UpdateRow {
    name: String,
    scope: InstallScope,
    state: UpdateState,
    before: ContentId,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<ContentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

pub(in crate::commands) fn run(args: &UpdateArgs) -> Outcome {
    let settings = HostSettings::resolve()?;
    let state = InstallState::new(&settings);
    let installed = state.load()?;
    let (handles, names) = split_handles(&args.names, installed.skills());
    let mut exit = Exit::Ok;
    for handle in &handles {
        // A skill that is only looked at is not approved.
        let mut words = vec![if args.dry_run { "show" } else { "approve" }, handle.as_str()];
        words.extend((args.yes && !args.dry_run).then_some("--yes"));
        words.extend(args.json.then_some("--json"));
        let ended = run_command(&words)?;
        if exit == Exit::Ok {
            exit = ended;
        }
    }
    let wants_every = args.all || args.names.is_empty();
    if names.is_empty() && !wants_every {
        return Ok(exit);
    }
    let found = find(installed.skills(), &names, args.scope, &Project::find()?)?;
    session::run(args.json, async || {
        let mut sources: BTreeMap<String, FetchedSource> = BTreeMap::new();
        let mut rows = Vec::new();
        for skill in found {
            let updated = update(args, &settings, &state, skill, &mut sources).await;
            let row = updated.or_else(|failure| {
                // Each skill is decided on its own: one that fails does not keep others back.
                if !args.json {
                    writeln!(prose::stderr(), "{}: {failure}", skill.name)?;
                }
                let reason = anstream::adapter::strip_str(&failure.to_string()).to_string();
                Ok::<_, Failure>(row(skill, UpdateState::Failed, None, Some(reason)))
            })?;
            rows.push(row);
        }
        let updated = finish(args, &rows)?;
        Ok(if updated == Exit::Ok { exit } else { updated })
    })
}

fn finish(args: &UpdateArgs, rows: &[UpdateRow]) -> Outcome {
    let with = |state: UpdateState| rows.iter().filter(|row| row.state == state).count();
    if args.json {
        report::json(&mut io::stdout().lock(), &json!({"skills": rows}))?;
    } else if rows.is_empty() {
        writeln!(prose::stderr(), "No skill is installed here.")?;
    } else {
        let mut words = Vec::new();
        for (state, word) in [
            (UpdateState::Updated, "updated"),
            (UpdateState::PutBack, "put back"),
            (UpdateState::WouldChange, "would change"),
            (UpdateState::UpToDate, "up to date"),
            (UpdateState::Declined, "left as it is"),
            (UpdateState::Failed, "not updated"),
        ] {
            if with(state) > 0 {
                words.push(format!("{} {word}", with(state)));
            }
        }
        let words = words.join(", ");
        writeln!(prose::stdout(), "{}: {words}.", counted(rows.len(), "skill"))?;
    }
    Ok(if with(UpdateState::Failed) == 0 { Exit::Ok } else { Exit::Findings })
}

fn row(
    skill: &InstalledSkill,
    state: UpdateState,
    after: Option<ContentId>,
    reason: Option<String>,
) -> UpdateRow {
    UpdateRow {
        name: skill.name.clone(),
        scope: skill.scope.clone(),
        state,
        before: skill.content,
        after,
        reason,
    }
}

async fn update(
    args: &UpdateArgs,
    settings: &HostSettings,
    state: &InstallState,
    skill: &InstalledSkill,
    sources: &mut BTreeMap<String, FetchedSource>,
) -> Result<UpdateRow, Failure> {
    let address = &skill.source.address;
    // Several skills of one source are fetched once.
    let key = address.to_string();
    if !sources.contains_key(&key) {
        sources.insert(key.clone(), FetchedSource::open(address, None).await?);
    }
    let source = &sources[&key];
    let pinned = source.pinned(&skill.source.folder);
    if let Some(found) = source.repository()
        && !args.allow_rewritten
    {
        check_history(settings, skill, found).await?;
    }
    let bundle = source.bundle(folder(settings, source, skill)?).await?;
    if bundle.name().as_str() != skill.name {
        let message = format!("The skill is now called `{}`.", bundle.name());
        return Err(Failure::new(Exit::Findings, message).hint("Remove it, and add the other one."));
    }
    let changed = *bundle.content() != skill.content;
    let missing = missing(state, skill);
    if !changed && missing.is_none() {
        // A new commit with the same files is only recorded: the folders stay as they are.
        if !args.dry_run {
            record_source(state, skill, &pinned)?;
        }
        return Ok(row(skill, UpdateState::UpToDate, None, None));
    }
    check_edits(args, state, skill)?;
    let after = changed.then_some(*bundle.content());
    if changed && !args.json {
        show(settings, state, skill, &bundle, pinned.commit.as_deref())?;
    }
    if args.dry_run {
        return Ok(row(skill, UpdateState::WouldChange, after, None));
    }
    let question = match missing {
        Some(directory) if !changed => {
            format!("`{}` is missing. Put `{}` back?", directory.display(), skill.name)
        }
        _ => format!("Update `{}`?", skill.name),
    };
    if !agrees(settings, &question, args.yes)? {
        return Ok(row(skill, UpdateState::Declined, None, None));
    }
    let planned = PlannedSkill {
        bundle,
        source: pinned,
        scope: skill.scope.clone(),
        method: PlacementMethod::Copy,
        targets: Vec::new(),
        synced: skill.synced,
    };
    let installed = install(state, &[planned], Edits::of(args.discard_edits))?;
    if changed && skill.scope == InstallScope::Kept {
        kept::approve(settings, state, &installed, args.yes).await?;
    }
    let done = if changed { UpdateState::Updated } else { UpdateState::PutBack };
    Ok(row(skill, done, after, None))
}

/// A directory of the skill that is no longer there.
fn missing<'a>(state: &InstallState, skill: &'a InstalledSkill) -> Option<&'a Path> {
    let is_missing = |placement: &&Placement| {
        placement.state(&skill.content, state.store()) == PlacementState::Missing
    };
    skill.placements.iter().find(is_missing).map(|placement| placement.directory.as_path())
}

/// Where the skill is from, as the user reads it.
fn shown(settings: &HostSettings, skill: &InstalledSkill) -> Result<String, Failure> {
    Ok(printable(&skill.source.address.for_user_of(&settings.user()?.forge)))
}

/// The folder of the skill in the source: where it was, or where a skill of that name is now.
fn folder<'a>(
    settings: &HostSettings,
    source: &'a FetchedSource,
    skill: &InstalledSkill,
) -> Result<&'a str, Failure> {
    let offered = source.offered();
    let at = offered.iter().find(|offered| offered.folder == skill.source.folder);
    let named = || offered.iter().find(|offered| offered.name.as_deref() == Some(&skill.name));
    if let Some(found) = at.or_else(named) {
        return Ok(&found.folder);
    }
    let message = format!("{} no longer has the skill `{}`.", shown(settings, skill)?, skill.name);
    Err(Failure::new(Exit::NotFound, message)
        .hint(format!("It stays installed; `skillwire remove {}` removes it.", skill.name)))
}

/// Refuses a repository whose past is not the one that was installed from: a moved tag, a rewritten
/// history, another address or another repository at the same address.
async fn check_history(
    settings: &HostSettings,
    skill: &InstalledSkill,
    found: &GitRepository,
) -> Result<(), Failure> {
    let follow =
        "Look at the repository. If it is as it should be, `--allow-rewritten` follows it.";
    let from = shown(settings, skill)?;
    if let Some(moved) = found.redirected_to() {
        let message =
            format!("{from} was moved or renamed: its server sends `git` to {}.", printable(moved));
        return Err(Failure::new(Exit::Verification, message)
            .hint(format!("Another owner may have it now. {follow}")));
    }
    let Some(before) = skill.source.commit.as_deref().and_then(CommitId::parse) else {
        return Ok(());
    };
    if before == *found.commit() {
        return Ok(());
    }
    let failed = |error| repository::failure(&from, found.commit().as_str(), error);
    let short = |commit: &str| commit[..commit.len().min(12)].to_owned();
    let old = short(before.as_str());
    let new = short(found.commit().as_str());
    if let SourceAddress::Repository(address) = &skill.source.address
        && let Some(reference) = &address.reference
        && found.is_tag().await.map_err(failed)?
    {
        let reference = printable(reference);
        let message = format!("The tag `{reference}` of {from} was moved from {old} to {new}.");
        return Err(Failure::new(Exit::Verification, message)
            .hint(format!("A tag names one commit for good. {follow}")));
    }
    if !found.descends_from(&before).await.map_err(failed)? {
        let message =
            format!("The history of {from} was rewritten: {new} does not follow on {old}.");
        return Err(Failure::new(Exit::Verification, message).hint(format!(
            "It was force-pushed, or the address now leads to a repository of another owner. {follow}"
        )));
    }
    Ok(())
}

fn check_edits(
    args: &UpdateArgs,
    state: &InstallState,
    skill: &InstalledSkill,
) -> Result<(), Failure> {
    let edited = skill
        .placements
        .iter()
        .find(|it| it.state(&skill.content, state.store()) == PlacementState::Edited);
    match edited {
        Some(edited) if !args.discard_edits => {
            Err(edited_failure(&edited.directory.display().to_string()))
        }
        _ => Ok(()),
    }
}

fn show(
    settings: &HostSettings,
    state: &InstallState,
    skill: &InstalledSkill,
    bundle: &SkillBundle,
    commit: Option<&str>,
) -> Result<(), Failure> {
    let mut out = prose::stderr();
    let to = commit
        .map_or_else(String::new, |commit| format!(" at {}", &commit[..commit.len().min(12)]));
    let from = shown(settings, skill)?;
    writeln!(out, "{STRONG}{}{STRONG:#} changed in {from}{to}:", skill.name)?;
    if let Ok(Some(before)) = state.store().read(&skill.content) {
        card::changes(&mut out, &before, bundle)?;
    } else {
        let note = "What was installed is no longer in the store, so all of it is shown.";
        writeln!(out, "{WARNING}warning{WARNING:#}: {note}")?;
        card::write(&mut out, bundle, &from)?;
    }
    Ok(())
}
