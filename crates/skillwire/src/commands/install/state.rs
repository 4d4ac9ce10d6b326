//! What is installed on this machine, and the bytes of it.

use std::path::{Path, PathBuf};

use skillwire_install::{ContentStore, InstalledSkills};
use skillwire_state::StateFile;

use crate::{exit::Exit, failure::Failure, settings::HostSettings};

/// The file that says what is installed.
const FILE: &str = "installed.json";

/// The most bytes of that file; ten thousand skills need a part of it.
const MOST_BYTES: u64 = 32 << 20;

/// The records of installed skills, and the store of their contents.
pub(crate) struct InstallState {
    file: StateFile,
    store: ContentStore,
    kept: PathBuf,
}

impl InstallState {
    pub(crate) fn new(settings: &HostSettings) -> Self {
        let state = settings.state();
        Self {
            file: StateFile::new(&state, FILE, MOST_BYTES),
            store: ContentStore::new(state.join("store")),
            kept: state.join("kept"),
        }
    }

    /// The store of contents.
    pub(super) fn store(&self) -> &ContentStore {
        &self.store
    }

    /// The folder of skills that the host keeps.
    pub(super) fn kept(&self) -> &Path {
        &self.kept
    }

    /// Everything that is installed.
    pub(crate) fn load(&self) -> Result<InstalledSkills, Failure> {
        self.parse(self.file.read()?)
    }

    /// Changes the records while no other process does.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut InstalledSkills) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.file.change(|text| {
            let mut installed = self.parse(text)?;
            let before = installed.clone();
            let result = change(&mut installed)?;
            Ok(((installed != before).then(|| installed.text()), result))
        })
    }

    /// Removes contents that no installed skill has.
    pub(super) fn clean(&self) -> Result<(), Failure> {
        // Another process keeps a content before it records the skill, and holds the lock meanwhile.
        self.change(|records| {
            self.store
                .retain(&records.contents())
                .map_err(|error| Failure::caused(Exit::Internal, error))?;
            Ok(())
        })
    }

    fn parse(&self, text: Option<String>) -> Result<InstalledSkills, Failure> {
        let Some(text) = text else { return Ok(InstalledSkills::default()) };
        InstalledSkills::parse(&text).map_err(|error| {
            let path = self.file.path();
            Failure::usage(format!("`{}` {error}.", path.display()))
                .hint("Nothing was changed. Move the file away to begin anew.")
        })
    }
}
