//! The user's own settings: `settings.toml` in the folder of the user's state.

use std::{io::ErrorKind, path::Path};

use serde::Deserialize;

use crate::failure::Failure;

/// The name of the file in the folder of the user's state.
const FILE: &str = "settings.toml";

/// What the user set for every command that uses skills of servers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct UserSettings {
    /// Whether `approve --yes` may approve skills without asking.
    pub(crate) unattended_approvals: bool,
    /// Where `owner/repo` is found.
    pub(crate) forge: String,
}

impl Default for UserSettings {
    fn default() -> Self {
        Self { unattended_approvals: true, forge: "https://github.com".to_owned() }
    }
}

impl UserSettings {
    /// Reads the settings. A file that cannot be read or understood is an error and never a default,
    /// which could allow more than the user wants.
    pub(super) fn read(state: &Path) -> Result<Self, Failure> {
        let path = state.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                let message = format!("`{}` cannot be read: {error}.", path.display());
                return Err(Failure::usage(message).hint("Make the file readable, or remove it."));
            }
        };
        toml::from_str(&text).map_err(|error: toml::de::Error| {
            let reason = error.to_string();
            let reason = reason.trim_end();
            Failure::usage(format!("`{}` cannot be understood.\n{reason}", path.display()))
        })
    }
}
