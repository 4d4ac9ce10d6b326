//! What syncs of projects brought from servers, so that a later sync takes it away again.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};
use skillwire_core::SkillUri;
use skillwire_state::StateFile;
use skillwire_trust::{Origin, Record, RecordStore as _, ServerLabel, SkillId};

use super::{
    SyncReport,
    files::ProjectFiles,
    servers::{self, OwnLabels, PlannedApprovals},
};
use crate::{
    failure::Failure,
    session::{Session, SessionOptions},
    settings::{HostSettings, server_address},
};

/// The file that says what came from servers.
const FILE: &str = "project-servers.json";

/// The most bytes of that file.
const MOST_BYTES: u64 = 4 << 20;

/// By the folder of the project, then by the user's label of the server.
type BroughtByProject = BTreeMap<String, BTreeMap<String, BroughtServer>>;

/// What a project brought from one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BroughtServer {
    /// The address: a label may mean another server by now.
    address: String,
    /// Whether a sync configured the server, of this project or of another.
    configured: bool,
    /// The handles of skills that a sync approved, of this project or of another, by their URIs.
    approved: BTreeMap<String, String>,
}

/// What a project brought from servers and no longer names.
#[derive(Default)]
pub(super) struct DroppedServers {
    pub(super) servers: Vec<ServerLabel>,
    /// Servers that stay, because the user decided about more of their skills: those decisions would go
    /// with them.
    pub(super) kept: Vec<ServerLabel>,
    /// Skills whose approval goes, with their handles.
    approvals: Vec<(SkillId, String)>,
}

impl DroppedServers {
    /// The handles of skills whose approval goes.
    pub(super) fn handles(&self) -> impl Iterator<Item = &str> {
        self.approvals.iter().map(|(_, handle)| handle.as_str())
    }
}

fn file(settings: &HostSettings) -> StateFile {
    StateFile::new(settings.state(), FILE, MOST_BYTES)
}

fn parse(text: Option<&str>) -> Result<BroughtByProject, Failure> {
    text.map_or_else(|| Ok(BroughtByProject::default()), serde_json::from_str).map_err(|error| {
        Failure::usage(format!("`{FILE}` in the folder of your state cannot be understood."))
            .because(error)
            .hint("Remove the file; servers that projects brought then stay until you remove them.")
    })
}

fn key(root: &Path) -> String {
    root.display().to_string()
}

/// Whether an earlier sync brought something from servers for this project.
pub(super) fn is_recorded(settings: &HostSettings, root: &Path) -> Result<bool, Failure> {
    Ok(parse(file(settings).read()?.as_deref())?.contains_key(&key(root)))
}

/// Finds what the project brought and no longer names, and what no other project brought as well.
pub(super) fn dropped(
    settings: &HostSettings,
    files: &ProjectFiles,
    labels: &OwnLabels,
    planned: &PlannedApprovals,
) -> Result<DroppedServers, Failure> {
    let mut all = parse(file(settings).read()?.as_deref())?;
    let mut dropped = DroppedServers::default();
    let Some(own) = all.remove(&key(files.root())) else { return Ok(dropped) };
    let configured = settings.servers().load()?.servers;
    for (text, brought) in own {
        let Ok(label) = ServerLabel::parse(&text) else { continue };
        let is_same = |config| server_address(config) == brought.address;
        if !configured.get(&label).is_some_and(is_same) {
            continue;
        }
        let others = || {
            let of_label = all.values().filter_map(|servers| servers.get(&text));
            of_label.filter(|other| other.address == brought.address)
        };
        for (uri, handle) in &brought.approved {
            let Ok(uri) = SkillUri::parse(uri) else { continue };
            let id = SkillId { origin: Origin::Server(label.clone()), uri };
            let is_kept = planned.names(&id)
                || others().any(|other| other.approved.contains_key(id.uri.as_str()));
            if !is_kept {
                dropped.approvals.push((id, handle.clone()));
            }
        }
        let is_named = labels.values().any(|own| *own == label);
        if !brought.configured || is_named || others().next().is_some() {
            continue;
        }
        let goes = |record: &Record| dropped.approvals.iter().any(|(id, _)| *id == record.id);
        let (records, _) = settings.records().of_origin(&Origin::Server(label.clone()));
        let stays = records.iter().any(|record| {
            let given = record.approval.is_some() && !goes(record);
            given || record.declined.is_some() || record.disabled
        });
        if stays { &mut dropped.kept } else { &mut dropped.servers }.push(label);
    }
    Ok(dropped)
}

/// Withdraws the approvals and removes the servers.
pub(super) async fn take_away(
    settings: &HostSettings,
    dropped: DroppedServers,
    report: &mut SyncReport,
) -> Result<(), Failure> {
    report.kept_servers = dropped.kept;
    if dropped.servers.is_empty() && dropped.approvals.is_empty() {
        return Ok(());
    }
    let session = Session::open(&SessionOptions { offline: true, ..SessionOptions::default() })?;
    let withdraw = || -> Result<(), Failure> {
        for (id, handle) in dropped.approvals {
            if session.host().revoke(&id)? {
                report.withdrawn.push(handle);
            }
        }
        servers::remove(settings, &session, &dropped.servers)
    };
    let withdrawn = withdraw();
    session.host().disconnect().await;
    withdrawn?;
    report.removed_servers = dropped.servers;
    Ok(())
}

/// Notes what the project brings now.
pub(super) fn record(
    settings: &HostSettings,
    files: &ProjectFiles,
    labels: &OwnLabels,
    planned: &PlannedApprovals,
    added: &[ServerLabel],
) -> Result<(), Failure> {
    let configured = settings.servers().load()?.servers;
    let root = key(files.root());
    file(settings).change(|text| {
        let before = parse(text.as_deref())?;
        let mut all = before.clone();
        let earlier = all.remove(&root).unwrap_or_default();
        let mut now: BTreeMap<String, BroughtServer> = BTreeMap::new();
        for label in labels.values() {
            let Some(address) = configured.get(label).map(server_address) else { continue };
            let name = label.to_string();
            let is_same = |known: &&BroughtServer| known.address == address;
            let known = earlier.get(&name).filter(is_same);
            let of_others = all.values().filter_map(|servers| servers.get(&name)).filter(is_same);
            let noted: Vec<&BroughtServer> = known.into_iter().chain(of_others).collect();
            let was_configured = noted.iter().any(|it| it.configured);
            // What was approved for this project or another before, and what was approved now.
            let mut approved: BTreeMap<String, String> =
                noted.iter().flat_map(|it| it.approved.clone()).collect();
            approved.extend(planned.approved_of(label));
            approved.retain(|uri, _| {
                let parsed = SkillUri::parse(uri).ok();
                parsed.is_some_and(|uri| {
                    planned.names(&SkillId { origin: Origin::Server(label.clone()), uri })
                })
            });
            let brought = BroughtServer {
                address,
                configured: was_configured || added.contains(label),
                approved,
            };
            if brought.configured || !brought.approved.is_empty() {
                now.insert(name, brought);
            }
        }
        if !now.is_empty() {
            all.insert(root, now);
        }
        if all == before {
            return Ok((None, ()));
        }
        let text = serde_json::to_string_pretty(&all).map_err(std::io::Error::from)? + "\n";
        Ok((Some(text), ()))
    })
}
