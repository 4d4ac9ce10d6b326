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

use super::folder::{Folder, PathError};

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
    /// The public keys whose signed decisions about a server's skills count instead of a question.
    pub trust_keys: BTreeMap<ServerLabel, Vec<String>>,
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
            let json::ReadServer { config, legacy, trust_keys, notes } = json::read(value);
            match (ServerLabel::parse(name), config) {
                (Ok(label), Ok(config)) => {
                    notes.into_iter().for_each(tell);
                    if legacy {
                        configured.legacy.insert(label.clone());
                    }
                    if !trust_keys.is_empty() {
                        configured.trust_keys.insert(label.clone(), trust_keys);
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
                servers.insert(label.to_string(), json::write(config).into());
            }
            free
        })
    }

    /// Changes how a server is reached; returns whether it exists. What else is said about it stays.
    #[tracing::instrument(skip_all, fields(%label))]
    pub fn set(&self, label: &ServerLabel, config: &ServerConfig) -> Result<bool, StoreError> {
        let Some(folder) = Folder::find(&self.folder)? else { return Ok(false) };
        self.change(&folder, |servers| match servers.get_mut(label.as_str()) {
            Some(Value::Object(server)) => {
                *server = json::replace(server, config);
                true
            }
            _ => false,
        })
    }

    /// Allows or forbids searching all resources of a server for skills; returns whether the server
    /// exists.
    #[tracing::instrument(skip_all, fields(%label, allowed))]
    pub fn set_legacy(&self, label: &ServerLabel, allowed: bool) -> Result<bool, StoreError> {
        self.set_key(label, json::LEGACY, allowed.then(|| true.into()))
    }

    /// Sets the public keys whose signed decisions about a server's skills count instead of a question;
    /// returns whether the server exists.
    #[tracing::instrument(skip_all, fields(%label, keys = keys.len()))]
    pub fn set_trust_keys(&self, label: &ServerLabel, keys: &[String]) -> Result<bool, StoreError> {
        self.set_key(label, json::TRUST_KEYS, (!keys.is_empty()).then(|| keys.into()))
    }

    /// Sets or removes one setting of a server; returns whether the server exists.
    fn set_key(
        &self,
        label: &ServerLabel,
        key: &str,
        value: Option<Value>,
    ) -> Result<bool, StoreError> {
        let Some(folder) = Folder::find(&self.folder)? else { return Ok(false) };
        self.change(&folder, |servers| match servers.get_mut(label.as_str()) {
            Some(Value::Object(server)) => {
                match value {
                    Some(value) => server.insert(key.to_owned(), value),
                    None => server.shift_remove(key),
                };
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
                return Err(PathError::new(self.path(), problem).into());
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
        PathError::new(path, format!("{problem}; fix it by hand, nothing was changed")).into()
    }
}
