//! The remembered dialect of a server.

use skillwire_client::Client;
use skillwire_core::Digest;
use skillwire_dialects::Dialect;
use skillwire_trust::KnownDialect;

use super::Remote;

impl Remote {
    /// Returns the server's remembered dialect, if its description has not changed since.
    pub(crate) fn recall_dialect(&self, client: &Client) -> Option<Dialect> {
        let known = self.settings.dialects.recall(&self.label)?;
        (known.described == self.described(client)).then_some(known.dialect)
    }

    /// Remembers the server's dialect; a failure only costs requests later.
    pub(crate) fn remember_dialect(&self, client: &Client, dialect: Dialect) {
        let known = KnownDialect { described: self.described(client), dialect };
        if self.settings.dialects.recall(&self.label) == Some(known) {
            return;
        }
        if let Err(error) = self.settings.dialects.remember(&self.label, known) {
            tracing::debug!("{error}");
        }
    }

    /// Makes the next listing find out again how the server offers its skills.
    pub fn forget_dialect(&self) {
        self.expire_listing();
        if let Err(error) = self.settings.dialects.forget(&self.label) {
            tracing::debug!("{error}");
        }
    }

    /// Returns a digest over what the detection depends on: the server's description and what the user
    /// allows.
    fn described(&self, client: &Client) -> Digest {
        let server = client.server().fingerprint();
        let legacy = self.allows_legacy();
        Digest::of(format!("{server} {legacy}").as_bytes())
    }
}
