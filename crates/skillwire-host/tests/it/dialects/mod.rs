//! Servers of older dialects: the host finds, pins and verifies their skills.

mod archives;
mod detection;
mod drafts;
mod first_seen;
mod hostile;
mod pointing;
mod remembering;
mod templates;
mod well_known;

use skillwire_host::Host;
use skillwire_testkit::{HostileServer, OlderDialect};

use crate::support::{host, label};

/// Creates a host that may search all resources of its server.
fn legacy_host(server: &HostileServer) -> Host {
    let host = host(server);
    host.allow_legacy_discovery(&label("acme")).unwrap();
    host
}

/// Every dialect that has files besides `SKILL.md`.
const WITH_FILES: [OlderDialect; 14] = [
    OlderDialect::Draft,
    OlderDialect::Index,
    OlderDialect::IndexOfFiles,
    OlderDialect::IndexOfArchives,
    OlderDialect::EarlyIndex,
    OlderDialect::EarlyIndexWithoutDigests,
    OlderDialect::EarlyIndexOfArchives,
    OlderDialect::ScopedList,
    OlderDialect::Sep2076,
    OlderDialect::SkillsPage,
    OlderDialect::FastMcp,
    OlderDialect::Skilljack,
    OlderDialect::SkillsOverMcp,
    OlderDialect::PlainResources,
];

/// Dialects that promise a digest for every file.
const WHOLE: [OlderDialect; 3] =
    [OlderDialect::IndexOfArchives, OlderDialect::EarlyIndexOfArchives, OlderDialect::FastMcp];
