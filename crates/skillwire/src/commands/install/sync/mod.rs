//! `skillwire sync`: gives the user the skills that a project names, as its lock file pins them.

mod brought;
mod files;
mod servers;
mod sources;
mod trust;

use std::io::{self, Write as _};

use serde_json::json;
use skillwire_install::InstalledSkill;
use skillwire_trust::ServerLabel;

use self::{
    brought::DroppedServers, files::ProjectFiles, servers::OwnLabels, sources::PlannedSources,
};
use super::{
    installing::{self, Edits},
    state::InstallState,
    targets::Project,
};
use crate::{
    args::SyncArgs,
    commands::Outcome,
    exit::Exit,
    failure::Failure,
    output::{STRONG, counted},
    prose, report, session,
    settings::HostSettings,
};

/// What a sync did.
#[derive(Debug, Default)]
struct SyncReport {
    /// Servers that were configured for the user, by their label here.
    servers: Vec<ServerLabel>,
    installed: Vec<InstalledSkill>,
    /// Skills of sources that were in place already.
    unchanged: usize,
    removed: Vec<String>,
    /// Servers that an earlier sync configured and that the project no longer names.
    removed_servers: Vec<ServerLabel>,
    /// Those of them that stay, because the user decided about more of their skills.
    kept_servers: Vec<ServerLabel>,
    /// Handles of skills whose approval by an earlier sync was withdrawn.
    withdrawn: Vec<String>,
    /// Handles of skills of servers that are approved as the lock file pins them.
    approved: Vec<String>,
    lock_written: bool,
    /// Whether it is recorded what came from servers, so that a later sync can take it away.
    recorded: bool,
}

pub(in crate::commands) fn run(args: &SyncArgs) -> Outcome {
    let settings = HostSettings::resolve()?;
    let project = Project::find()?;
    let mut files = ProjectFiles::read(project.root(), &settings)?;
    trust::check(args, &settings, &files)?;
    session::run(args.json, async || {
        let state = InstallState::new(&settings);
        let mut report = SyncReport::default();
        let planned = sources::resolve(args, &settings, &state, &mut files).await?;
        let labels = servers::configure(args, &settings, &files, &mut report)?;
        let place = SyncPlace { settings: &settings, state: &state, labels: &labels };
        match carry_out(args, &place, &mut files, planned, &mut report).await {
            Ok(exit) => Ok(exit),
            Err(failure) => {
                if !args.dry_run && !report.recorded {
                    servers::take_back(&settings, &report.servers).await?;
                }
                Err(failure)
            }
        }
    })
}

/// What a sync works on.
struct SyncPlace<'a> {
    settings: &'a HostSettings,
    state: &'a InstallState,
    labels: &'a OwnLabels,
}

/// Asks, installs, approves and takes away, or says what would change.
async fn carry_out(
    args: &SyncArgs,
    place: &SyncPlace<'_>,
    files: &mut ProjectFiles,
    planned: PlannedSources,
    report: &mut SyncReport,
) -> Outcome {
    let SyncPlace { settings, state, labels } = *place;
    let approvals = servers::resolve(args, settings, files, labels).await?;
    let removed = sources::dropped(state, files)?;
    let dropped = brought::dropped(settings, files, labels, &approvals)?;
    if args.dry_run {
        let install = planned.missing.iter().map(|skill| skill.bundle.name().to_string());
        let remove = removed.into_iter().map(|skill| skill.name);
        let changes = PlannedChanges {
            install: install.collect(),
            remove: remove.collect(),
            servers: &report.servers,
            dropped: &dropped,
        };
        return show_planned(args, files, &changes);
    }
    report.unchanged = planned.unchanged;
    report.installed = installing::install(state, &planned.missing, Edits::of(args.discard_edits))?;
    installing::remove(state, &removed, args.discard_edits)?;
    report.removed = removed.into_iter().map(|skill| skill.name).collect();
    report.approved = servers::approve(settings, &approvals).await?;
    brought::take_away(settings, dropped, report).await?;
    brought::record(settings, files, labels, &approvals, &report.servers)?;
    report.recorded = true;
    if !args.frozen {
        report.lock_written = files.write_lock()?;
    }
    // What was just written is what the user agreed to.
    trust::record(settings, files)?;
    finish(args, files, report)
}

/// What a sync would do.
struct PlannedChanges<'a> {
    install: Vec<String>,
    remove: Vec<String>,
    servers: &'a [ServerLabel],
    dropped: &'a DroppedServers,
}

/// Says what a sync would do.
fn show_planned(args: &SyncArgs, files: &ProjectFiles, changes: &PlannedChanges<'_>) -> Outcome {
    let PlannedChanges { install, remove, servers, dropped } = changes;
    let withdrawn: Vec<&str> = dropped.handles().collect();
    let would = install.len() + remove.len();
    if args.json {
        let planned = json!({
            "project": files.root(),
            "servers": servers.iter().map(ServerLabel::as_str).collect::<Vec<_>>(),
            "serversRemoved": dropped.servers.iter().map(ServerLabel::as_str).collect::<Vec<_>>(),
            "serversKept": dropped.kept.iter().map(ServerLabel::as_str).collect::<Vec<_>>(),
            "wouldInstall": install,
            "wouldRemove": remove,
            "wouldWithdraw": withdrawn,
            "wouldChange": would,
        });
        report::json(&mut io::stdout().lock(), &planned)?;
        return Ok(Exit::Ok);
    }
    let mut out = prose::stdout();
    for (labels, done) in [(*servers, "added"), (&dropped.servers, "removed")] {
        for label in labels {
            writeln!(out, "The server {STRONG}{label}{STRONG:#} would be {done}.")?;
        }
    }
    for (names, done) in [(install, "installed"), (remove, "removed")] {
        for name in names {
            writeln!(out, "{STRONG}{name}{STRONG:#} would be {done}.")?;
        }
    }
    for handle in &withdrawn {
        writeln!(out, "The approval of {STRONG}{handle}{STRONG:#} would be withdrawn.")?;
    }
    for label in &dropped.kept {
        writeln!(
            out,
            "The server {STRONG}{label}{STRONG:#} would stay, because you decided about more of its skills."
        )?;
    }
    let is_change = would > 0 || !servers.is_empty();
    if !is_change && withdrawn.is_empty() && dropped.servers.is_empty() {
        writeln!(out, "Nothing would change.")?;
    }
    Ok(Exit::Ok)
}

fn finish(args: &SyncArgs, files: &ProjectFiles, report: &SyncReport) -> Outcome {
    if args.json {
        let done = json!({
            "project": files.root(),
            "servers": report.servers.iter().map(ServerLabel::as_str).collect::<Vec<_>>(),
            "installed": report.installed,
            "unchanged": report.unchanged,
            "removed": report.removed,
            "serversRemoved": report.removed_servers.iter().map(ServerLabel::as_str).collect::<Vec<_>>(),
            "serversKept": report.kept_servers.iter().map(ServerLabel::as_str).collect::<Vec<_>>(),
            "withdrawn": report.withdrawn,
            "approved": report.approved,
            "lockWritten": report.lock_written,
            "wouldChange": 0,
        });
        report::json(&mut io::stdout().lock(), &done)?;
        return Ok(Exit::Ok);
    }
    let mut out = prose::stdout();
    for label in &report.servers {
        writeln!(out, "Added the server {STRONG}{label}{STRONG:#}.")?;
    }
    for skill in &report.installed {
        writeln!(out, "Installed {STRONG}{}{STRONG:#}.", skill.name)?;
    }
    for name in &report.removed {
        writeln!(out, "Removed {name}.")?;
    }
    for handle in &report.withdrawn {
        writeln!(out, "Withdrew the approval of {handle}.")?;
    }
    for label in &report.removed_servers {
        writeln!(out, "Removed the server {label}.")?;
    }
    for label in &report.kept_servers {
        writeln!(
            out,
            "The server {label} stays, because you decided about more of its skills; `skillwire server \
             remove {label}` removes it."
        )?;
    }
    for handle in &report.approved {
        writeln!(out, "Approved {STRONG}{handle}{STRONG:#}.")?;
    }
    if report.lock_written {
        writeln!(out, "Wrote `{}`; commit it beside `{}`.", files::LOCK, super::PROJECT_FILE)?;
    }
    let all = report.unchanged + report.installed.len() + files.approvals().skills().count();
    writeln!(out, "{} in place.", counted(all, "skill"))?;
    Ok(Exit::Ok)
}

/// The failure of `--frozen`: the lock file does not say what the project's file asks for.
fn not_locked(problem: String) -> Failure {
    Failure::new(Exit::Findings, problem).hint(format!(
        "Run `skillwire sync` without `--frozen`, review what changes in `{}`, and commit it.",
        files::LOCK
    ))
}
