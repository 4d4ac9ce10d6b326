//! Servers that offer skills in older ways: found, pinned, approved, and held to it.

mod archives;
mod drafts;
mod first_seen;
mod hostile;
mod ladder;
mod pointing;
mod remembering;
mod templates;
mod well_known;

use skillwire_host::Host;
use skillwire_testkit::hostile::{HostileServer, Older};

use crate::support::{host, label};

/// A host that may look through all resources of its server.
fn legacy_host(server: &HostileServer) -> Host {
    let host = host(server);
    host.allow_legacy_discovery(&label("acme")).unwrap();
    host
}

/// Every dialect that has files besides `SKILL.md`.
const WITH_FILES: [Older; 14] = [
    Older::Draft,
    Older::Index,
    Older::IndexOfFiles,
    Older::IndexOfArchives,
    Older::EarlyIndex,
    Older::EarlyIndexWithoutDigests,
    Older::EarlyIndexOfArchives,
    Older::ScopedList,
    Older::Sep2076,
    Older::SkillsPage,
    Older::FastMcp,
    Older::Skilljack,
    Older::SkillsOverMcp,
    Older::PlainResources,
];

/// Those that promise a digest for every file, one way or another.
const WHOLE: [Older; 3] = [Older::IndexOfArchives, Older::EarlyIndexOfArchives, Older::FastMcp];
