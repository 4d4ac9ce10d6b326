//! Installing skills: where they come from, their bytes by content, and their copies in the folders of
//! agents.
//!
//! This crate knows addresses of sources, a store of contents, and directories that it fills and
//! compares. It never knows how bytes arrive, which agents there are, or what a user agreed to: the
//! caller fetches, shows and asks.
//!
//! ```
//! use skillwire_install::SourceAddress;
//!
//! let forge = "https://forge.example";
//! let source = SourceAddress::parse("acme/skills/pdf@v2", forge)?;
//! let SourceAddress::Repository(repository) = &source else { panic!("it has an owner") };
//! assert_eq!(repository.url, "https://forge.example/acme/skills.git");
//! assert_eq!(repository.path.as_deref(), Some("pdf"));
//! assert_eq!(repository.reference.as_deref(), Some("v2"));
//! assert_eq!(source.to_string(), "acme/skills/pdf@v2");
//! # Ok::<(), skillwire_install::InvalidSource>(())
//! ```

mod bundle;
mod change;
mod directory;
mod npx_lock;
mod placement;
mod project;
mod project_lock;
mod record;
mod source;
mod store;

pub use skillwire_core::{
    ContentId, Finding, Frontmatter, NoContentId, RelPath, SkillName, portable::NotPortable,
};

pub use self::{
    bundle::{BundledFile, SkillBundle, UnusableSkill},
    change::{FolderChange, holds, remove_empty},
    directory::{ReadFault, read_directory},
    npx_lock::NpxLock,
    placement::{Placement, PlacementMethod, PlacementState},
    project::{InvalidProject, ProjectFile, ProjectServer, ProjectSource},
    project_lock::{PinnedSkill, ProjectLock},
    record::{InstallScope, InstalledSkill, InstalledSkills, InvalidRecords, PinnedSource},
    source::{InvalidSource, RepositoryAddress, SourceAddress},
    store::{ContentStore, StoreFault},
};
