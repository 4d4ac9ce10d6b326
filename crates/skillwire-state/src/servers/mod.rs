//! The servers that the user configured, in the JSON shape of MCP clients.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use skillwire_client::ServerConfig;
use skillwire_core::visible::truncated;
use skillwire_trust::{ServerLabel, StoreError};

use super::folder::{Fault, Folder};

mod import;
mod json;
#[cfg(test)]
mod tests;

pub use import::{Imported, import};

/// The key of the servers in the file.
const KEY: &str = "mcpServers";

/// The configuration file. Its other content is preserved.
#[derive(Debug, Clone)]
pub struct Servers {
    folder: PathBuf,
    file: String,
}

/// The servers of a configuration file, and the problems with them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Configured {
    /// Every usable server.
    pub servers: BTreeMap<ServerLabel, ServerConfig>,
    /// The servers whose resources may all be searched for skills of older dialects.
    pub legacy: BTreeSet<ServerLabel>,
    /// Problems with the other servers, and settings of these that are ignored.
    pub problems: Vec<ServerProblem>,
}

/// A problem with a configured server, for the user; it never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerProblem {
    /// The server's name in the file, without anything that acts on a terminal.
    pub server: String,
    /// What is wrong, as a clause.
    pub problem: String,
}

impl ServerProblem {
    fn new(server: &str, problem: impl Into<String>) -> Self {
        Self { server: truncated(server), problem: problem.into() }
    }
}

impl fmt::Display for ServerProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server `{}`: {}.", self.server, self.problem)
    }
}

impl Servers {
    /// Creates the store for a file in a folder; both are created on the first write.
    pub fn new(folder: impl Into<PathBuf>, file: impl Into<String>) -> Self {
        Self { folder: folder.into(), file: file.into() }
    }

    /// Returns the path of the configuration file.
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.file)
    }

    /// Reads every server; an unusable one does not affect the others.
    #[tracing::instrument(skip_all, fields(file = %self.path().display()))]
    pub fn load(&self) -> Result<Configured, StoreError> {
        let Some(folder) = Folder::find(&self.folder)? else { return Ok(Configured::default()) };
        let mut document = self.read(&folder)?;
        let mut configured = Configured::default();
        for (name, value) in self.servers(&mut document)? {
            let mut tell =
                |problem: String| configured.problems.push(ServerProblem::new(name, problem));
            let json::Read { config, legacy, notes } = json::read(value);
            match (ServerLabel::parse(name), config) {
                (Ok(label), Ok(config)) => {
                    notes.into_iter().for_each(tell);
                    if legacy {
                        configured.legacy.insert(label.clone());
                    }
                    configured.servers.insert(label, config);
                }
                (Err(error), _) => tell(format!("the label {error}")),
                (_, Err(error)) => tell(error.to_string()),
            }
        }
        Ok(configured)
    }

    /// Adds a server and returns whether it did; a taken label keeps its server.
    #[tracing::instrument(skip_all, fields(%label))]
    pub fn add(&self, label: &ServerLabel, config: &ServerConfig) -> Result<bool, StoreError> {
        self.change(&Folder::make(&self.folder)?, |servers| {
            let free = !servers.contains_key(label.as_str());
            if free {
                servers.insert(label.to_string(), json::write(config));
            }
            free
        })
    }

    /// Allows or forbids searching all resources of a server for skills; returns whether the server
    /// exists.
    #[tracing::instrument(skip_all, fields(%label, allowed))]
    pub fn set_legacy(&self, label: &ServerLabel, allowed: bool) -> Result<bool, StoreError> {
        let Some(folder) = Folder::find(&self.folder)? else { return Ok(false) };
        self.change(&folder, |servers| match servers.get_mut(label.as_str()) {
            Some(Value::Object(server)) if allowed => {
                server.insert(json::LEGACY.to_owned(), true.into());
                true
            }
            Some(Value::Object(server)) => {
                server.shift_remove(json::LEGACY);
                true
            }
            _ => false,
        })
    }

    /// Removes a server; returns whether it existed.
    #[tracing::instrument(skip_all, fields(%label))]
    pub fn remove(&self, label: &ServerLabel) -> Result<bool, StoreError> {
        let Some(folder) = Folder::find(&self.folder)? else { return Ok(false) };
        self.change(&folder, |servers| servers.shift_remove(label.as_str()).is_some())
    }

    /// Changes the servers under the lock; writes the file if `change` returns true.
    fn change(
        &self,
        folder: &Folder,
        change: impl FnOnce(&mut Map<String, Value>) -> bool,
    ) -> Result<bool, StoreError> {
        let _locked = folder.lock(&format!("{}.lock", self.file))?;
        let mut document = self.read(folder)?;
        let changed = change(self.servers(&mut document)?);
        if changed {
            let text = format!("{:#}\n", Value::Object(document));
            if text.len() > json::MAX_BYTES {
                let problem = format!("cannot have more than {} bytes", json::MAX_BYTES);
                return Err(Fault::new(self.path(), problem).into());
            }
            let new = format!("{}.new", self.file);
            // A process that was killed may have left one. This process holds the lock, so no other
            // process still writes to it.
            folder.remove_file(&new)?;
            folder.replace(&self.file, &new, text.as_bytes(), true)?;
        }
        Ok(changed)
    }

    fn read(&self, folder: &Folder) -> Result<Map<String, Value>, StoreError> {
        let bytes = folder.read(&self.file, json::MAX_BYTES as u64)?;
        let Some(bytes) = bytes else { return Ok(Map::new()) };
        let text = String::from_utf8(bytes).map_err(|_| self.wrong("is not text"))?;
        json::document(&text).map_err(|error| self.wrong(error))
    }

    fn servers<'a>(
        &self,
        document: &'a mut Map<String, Value>,
    ) -> Result<&'a mut Map<String, Value>, StoreError> {
        match document.entry(KEY).or_insert_with(|| Map::new().into()) {
            Value::Object(servers) => Ok(servers),
            _ => Err(self.wrong("has an `mcpServers` that is not an object")),
        }
    }

    fn wrong(&self, problem: impl fmt::Display) -> StoreError {
        let path: &Path = &self.path();
        Fault::new(path, format!("{problem}; fix it by hand, nothing was changed")).into()
    }
}
