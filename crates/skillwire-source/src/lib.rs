//! Finds skills, checks them and hashes their files: in directories, in memory, in programs.
//!
//! This crate knows files and the format of skills. It never knows MCP, a client or a network, and
//! nothing that a client sends ever becomes a file name here.
//!
//! A [`SkillSource`] reports groups of skills that changed since its last scan: skills that can be
//! served, and for everything else the findings that say why not. The sources of this crate are
//! [`DirectorySource`], [`SingleSkillSource`], [`MemorySource`], [`GeneratedSource`] and
//! [`OnDemandSource`].
//!
//! ```
//! use skillwire_source::{MemorySource, RelPath, SkillPath, scan_all};
//!
//! let mut source = MemorySource::new("built-in");
//! let text = "---\nname: refunds\ndescription: Use when a customer wants money back.\n---\n";
//! source.add(&SkillPath::parse("acme/refunds")?, [(RelPath::skill_file(), text.into())])?;
//!
//! let results = scan_all(&[&source])?;
//! let skill = results.skills[0].skill.as_ref().expect("the skill has no problem");
//! assert_eq!(skill.uri.as_str(), "skill://acme/refunds/SKILL.md");
//! assert_eq!(skill.description(), "Use when a customer wants money back.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every source with files works in the same three steps. A `tree` lists what is there, a `survey`
//! decides from names and sizes what may be read, and `assemble` makes skills of the content.

mod assemble;
mod change_tracker;
mod directory;
mod embedded;
mod entry_text;
mod file_store;
mod generated;
mod held;
mod inventory;
mod location;
mod lookup;
mod memory;
mod namespace;
mod on_demand;
mod patterns;
mod progress;
mod rules;
mod single_skill;
mod skill;
mod source;
mod survey;
mod tree;
mod uri_template;
mod watching;

pub use bytes::Bytes;
pub use skillwire_core::{
    ContentId, Digest, Finding, Frontmatter, InvalidPath, RelPath, ResourceUri, Scheme, SkillPath,
    SkillUri, Strictness,
};
pub use skillwire_watch::{
    FolderChanges, FolderWatcher, PartialCoverage, WatchCoverage, WatchState,
};

pub use crate::{
    change_tracker::ChangeTracker,
    directory::{DirectoryOptions, DirectorySource},
    embedded::{EmbeddedSkill, InvalidEmbedded},
    entry_text::{EntryText, MakeEntry},
    file_store::{BoxFuture, ContentOwner, FileStore, FileStoreError, MemoryFiles, RemoteFiles},
    generated::{
        GenerateError, GeneratedFiles, GeneratedSource, RemoteChild, RemoteGenerator,
        SkillGenerator, inspect_generated,
    },
    held::HeldSkills,
    inventory::{ScanResults, SkillInventory, scan_all, scan_each, servable, shared_name_finding},
    lookup::{CachePolicy, LookupOutcome, SkillLookup, SkillLookups},
    memory::{FilesClash, MemorySource, inspect_files},
    namespace::{GroupId, UriClaimant, UriNamespace},
    on_demand::{FetchSkill, FetchedFiles, OnDemandSource},
    patterns::{InvalidPattern, PathPatterns},
    progress::ScanProgress,
    rules::SecretAllowList,
    single_skill::SingleSkillSource,
    skill::{FileRecord, FileTree, ResourceMetadata, Skill, SkillContent, path_of},
    source::{
        ChangeCallback, GroupKey, InspectedSkill, ScanRequest, SkillSource, SourceChange,
        SourceUnavailable,
    },
    uri_template::{InvalidTemplate, UriTemplate},
    watching::watch_skill_folders,
};
