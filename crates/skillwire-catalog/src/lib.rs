//! Holds everything a server serves, as immutable snapshots that are swapped whole.
//!
//! A [`Snapshot`] answers by exact lookup and by binary search; a view that shows few of very many skills
//! steps over the counts of chunks without any of them. A [`Catalog`] holds the current snapshot behind an atomic pointer and
//! tells listeners what each swap changed. A [`Refresher`] fills it from its sources. This crate
//! never knows a transport, and opens no file.
//!
//! ```
//! use std::sync::Arc;
//!
//! use skillwire_catalog::{
//!     Catalog, EmbeddedSkill, MemorySource, Refresher, ScanRequest, SnapshotOptions, ViewId,
//! };
//!
//! let greeting = EmbeddedSkill {
//!     path: "greeting",
//!     files: &[("SKILL.md", b"---\nname: greeting\ndescription: Greets. Use on arrival.\n---\n")],
//! };
//! let mut source = MemorySource::new("embedded");
//! source.add_embedded(&greeting)?;
//! let catalog = Arc::new(Catalog::new(SnapshotOptions::default()));
//! Refresher::new(Arc::clone(&catalog), vec![Box::new(source)]).refresh(&ScanRequest::everything());
//!
//! let snapshot = catalog.now(ViewId::EVERYTHING).expect("it was refreshed");
//! assert!(snapshot.skill("skill://greeting/SKILL.md").is_some());
//! # Ok::<(), skillwire_catalog::InvalidEmbedded>(())
//! ```

mod catalog;
mod change;
mod cursor;
mod directories;
mod instructions;
mod listing;
mod number_set;
mod refresh;
mod requested_skills;
mod snapshot;
mod sorted_skills;
mod uri_index;
#[cfg(test)]
mod views_tests;
mod visible;
mod whole;

pub use skillwire_core::{Finding, RelPath, SkillUri};
pub use skillwire_source::{
    ChangeCallback, EmbeddedSkill, FileRecord, FileStore, FileTree, GroupId, InspectedSkill,
    InvalidEmbedded, MemorySource, PathPatterns, RemoteChild, ScanRequest, Skill, SkillSource,
    SourceUnavailable,
};

pub use self::{
    catalog::{Catalog, CatalogChanges, StaleReporter, ViewId},
    change::{UpdatedFiles, ViewChange},
    cursor::{CursorSeal, InvalidCursor},
    directories::{FoundDirectory, generated_children, remote_children},
    listing::Page,
    refresh::{Refreshed, Refresher},
    snapshot::{CatalogDelta, FoundFile, Snapshot, SnapshotOptions},
    visible::{SkillFilter, VisibleSkills},
};
