//! The user's own settings: `settings.toml` in the folder of the user's state.

use std::{io::ErrorKind, path::Path};

use serde::Deserialize;
#[cfg(feature = "page")]
use skillwire_state::StateFile;

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
        Self::parse(&text, &path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let reason = error.to_string();
            let reason = reason.trim_end();
            Failure::usage(format!("`{}` cannot be understood.\n{reason}", path.display()))
        })
    }

    /// Forbids approvals without a question, and leaves the rest of the file as the user wrote it.
    #[cfg(feature = "page")]
    pub(super) fn forbid_unattended_approvals(state: &Path) -> Result<(), Failure> {
        let file = StateFile::new(state, FILE, MAX_BYTES);
        let changed = file.change(|old| -> Result<_, ChangeFailure> {
            let (old, path) = (old.unwrap_or_default(), file.path());
            let before = Self::parse(&old, &path)?;
            let new = with_unattended_forbidden(&old);
            // What was written must mean this change and no other.
            let wanted = Self { unattended_approvals: false, ..before };
            if Self::parse(&new, &path)? != wanted {
                let message = format!("`{}` cannot be changed here.", path.display());
                let hint = format!("Write `{UNATTENDED} = false` into it yourself.");
                return Err(Failure::usage(message).hint(hint).into());
            }
            Ok((Some(new), ()))
        });
        changed.map_err(|failure| failure.0)
    }
}

/// The setting about approvals without a question.
#[cfg(feature = "page")]
const UNATTENDED: &str = "unattended-approvals";

/// The largest file of settings that is changed.
#[cfg(feature = "page")]
const MAX_BYTES: u64 = 64 * 1024;

/// Why settings were not changed.
#[cfg(feature = "page")]
struct ChangeFailure(Failure);

#[cfg(feature = "page")]
impl From<Failure> for ChangeFailure {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

#[cfg(feature = "page")]
impl From<skillwire_trust::StoreError> for ChangeFailure {
    fn from(error: skillwire_trust::StoreError) -> Self {
        Self(Failure::caused(crate::exit::Exit::Internal, error))
    }
}

#[cfg(feature = "page")]
fn with_unattended_forbidden(text: &str) -> String {
    let line = format!("{UNATTENDED} = false");
    let is_setting = |old: &&str| {
        let rest = old.trim_start().strip_prefix(UNATTENDED);
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    match text.lines().find(is_setting) {
        Some(old) => text.replacen(old, &line, 1),
        None => format!("{line}\n{text}"),
    }
}

#[cfg(all(test, feature = "page"))]
mod tests {
    use super::*;

    #[test]
    fn forbidding_changes_one_setting_and_keeps_the_rest_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let read = || std::fs::read_to_string(state.join(FILE)).unwrap();
        UserSettings::forbid_unattended_approvals(&state).unwrap();
        assert_eq!(read(), "unattended-approvals = false\n");
        let written =
            "# mine\n unattended-approvals=true # for now\nforge = \"https://forge.example\"\n";
        std::fs::write(state.join(FILE), written).unwrap();
        UserSettings::forbid_unattended_approvals(&state).unwrap();
        let kept = "# mine\nunattended-approvals = false\nforge = \"https://forge.example\"\n";
        assert_eq!(read(), kept);
        for unusable in ["unattended-approvals = maybe\n", "\"unattended-approvals\" = true\n"] {
            std::fs::write(state.join(FILE), unusable).unwrap();
            assert!(UserSettings::forbid_unattended_approvals(&state).is_err(), "{unusable}");
            assert_eq!(read(), unusable);
        }
    }
}
