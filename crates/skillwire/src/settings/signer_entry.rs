//! A trusted signer as configuration files name it.

use serde::Deserialize;

/// A signer: a key, or a root with an identity. Files are named relative to the file that names them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(
    not(feature = "sign"),
    expect(dead_code, reason = "only builds with `sign` use a signer")
)]
pub(super) struct SignerEntry {
    pub(super) key: Option<String>,
    pub(super) root: Option<String>,
    pub(super) identity: Option<String>,
    pub(super) issuer: Option<String>,
}

impl SignerEntry {
    /// The files that it may name; a key that is written out names none that exists.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        [&self.key, &self.root].into_iter().flatten().map(String::as_str)
    }
}
