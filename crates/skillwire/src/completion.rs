//! Completions of what only this machine or this program knows: labels of servers, handles of skills,
//! files of a skill, installed skills, agents, and codes of findings.
//!
//! A shell asks while the user types, so no server is asked: handles and files are those of the last
//! listings, which [`remember`] keeps in the cache folder.

#[cfg(feature = "add")]
use std::collections::BTreeSet;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{self, Write as _},
    path::Path,
};

use clap_complete::{CompletionCandidate, engine::ArgValueCandidates};
use serde::{Deserialize, Serialize};
use skillwire_core::{Code, Resources};
use skillwire_trust::ServerLabel;

use crate::settings::known_skills_file;

/// The largest file that is read or written.
const MAX_BYTES: usize = 4 << 20;

/// The skills of the last listings: label, then handle, then files.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct KnownSkills(BTreeMap<String, BTreeMap<String, Vec<String>>>);

impl KnownSkills {
    fn read() -> Self {
        let Some(file) = known_skills_file() else { return Self::default() };
        let small = fs::metadata(&file).is_ok_and(|facts| facts.len() <= MAX_BYTES as u64);
        let bytes = if small { fs::read(file).unwrap_or_default() } else { Vec::new() };
        serde_json::from_slice(&bytes).unwrap_or_default()
    }
}

/// Completes the handle of a skill.
pub(crate) fn handles() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let known = KnownSkills::read();
        known.0.into_values().flat_map(BTreeMap::into_keys).map(CompletionCandidate::new).collect()
    })
}

/// Completes the label of a server.
pub(crate) fn labels() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        #[cfg(feature = "host")]
        if let Ok(configured) = crate::settings::HostSettings::resolve()
            && let Ok(configured) = configured.servers().load()
        {
            let labels = configured.servers.into_keys();
            return labels.map(|label| CompletionCandidate::new(label.to_string())).collect();
        }
        Vec::new()
    })
}

/// Completes the name of an installed skill.
pub(crate) fn installed() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        #[cfg(feature = "add")]
        if let Ok(settings) = crate::settings::HostSettings::resolve()
            && let Ok(installed) =
                crate::commands::install::state::InstallState::new(&settings).load()
        {
            // One skill may be installed for the user and in projects.
            let names: BTreeSet<_> =
                installed.skills().iter().map(|skill| skill.name.clone()).collect();
            return names.into_iter().map(CompletionCandidate::new).collect();
        }
        Vec::new()
    })
}

/// Completes an agent.
pub(crate) fn agents() -> ArgValueCandidates {
    ArgValueCandidates::new(known_agents)
}

#[cfg(feature = "setup")]
fn known_agents() -> Vec<CompletionCandidate> {
    skillwire_agents::agents()
        .iter()
        .map(|agent| CompletionCandidate::new(agent.id()).help(Some(agent.name().into())))
        .collect()
}

#[cfg(not(feature = "setup"))]
fn known_agents() -> Vec<CompletionCandidate> {
    Vec::new()
}

/// Completes the code of a finding.
pub(crate) fn codes() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        Code::ALL.iter().map(|code| CompletionCandidate::new(code.as_str())).collect()
    })
}

/// Completes a file of the skill that the command line names before.
pub(crate) fn files() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let words: Vec<OsString> = std::env::args_os().collect();
        let known = KnownSkills::read();
        let named = |handle: &&String| words.iter().any(|word| word == handle.as_str());
        let skills = known.0.values().flat_map(BTreeMap::iter);
        let files = skills.filter(|(handle, _)| named(handle)).flat_map(|(_, files)| files);
        files.map(CompletionCandidate::new).collect()
    })
}

/// Keeps the skills of a listing for the next completion, and forgets those of servers that are no
/// longer configured. A cache that cannot be written costs completions and nothing else.
#[cfg(feature = "host")]
pub(crate) fn remember(found: &skillwire_host::Discovered, servers: &[ServerLabel]) {
    let Some(file) = known_skills_file() else { return };
    let before = KnownSkills::read();
    let mut now = KnownSkills(before.0.clone());
    let is_server = |label: &str| servers.iter().any(|server| server.as_str() == label);
    now.0.retain(|label, _| is_server(label));
    let mut listed: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for item in found.registry.items() {
        let id = item.skill.id();
        let paths = match &item.skill.entry().resources {
            Resources::Listed(files) => files
                .iter()
                .filter_map(|file| id.uri.below(&file.uri))
                .map(|path| path.to_string())
                .collect(),
            Resources::Dynamic => Vec::new(),
        };
        let of_label = listed.entry(id.origin.label().to_owned()).or_default();
        of_label.insert(item.handle.clone(), paths);
    }
    now.0.extend(listed);
    if now != before
        && let Ok(bytes) = serde_json::to_vec(&now)
        && bytes.len() <= MAX_BYTES
    {
        let _ = replace(&file, &bytes);
    }
}

/// Replaces a file whole. Only the user can read it, as it names skills of private servers.
#[cfg(feature = "host")]
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        crate::commands::private_file::folder(folder)?;
    }
    let new = file.with_extension(format!("new-{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&new)?.write_all(bytes)?;
    fs::rename(&new, file)
}
