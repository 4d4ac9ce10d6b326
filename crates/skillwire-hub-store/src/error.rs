//! Why the store cannot do what it was asked to.

use std::{error::Error as StdError, io, path::PathBuf};

use skillwire_core::Digest;
use skillwire_hub::{InvalidCursor, Refusal};

/// An error of the system below the store.
pub(crate) type Source = Box<dyn StdError + Send + Sync>;

/// The reason why an operation of the store failed. Whatever it is, nothing was half done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The rules of the hub refuse the request.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The cursor does not belong to the list.
    #[error(transparent)]
    Cursor(#[from] InvalidCursor),
    /// The database or the object store cannot be reached, or did not answer in time.
    #[error("The hub cannot reach its {part}, so it did not do this. Try again later.")]
    Unavailable {
        /// `database` or `blob store`.
        part: &'static str,
        /// What the system said.
        #[source]
        source: Source,
    },
    /// The disk or the database is full.
    #[error("The {part} of the hub is full, so nothing was published or changed.")]
    Full {
        /// `database` or `blob store`.
        part: &'static str,
        /// What the system said.
        #[source]
        source: Source,
    },
    /// A blob has other bytes than its name says. It is never served.
    #[error("The stored file {digest} has other bytes now, so the hub does not serve it.")]
    BlobDamaged {
        /// The digest under which it is kept.
        digest: Digest,
        /// The digest of its bytes, if their number is right.
        actual: Option<Digest>,
    },
    /// A blob that a version names is not there.
    #[error("The stored file {digest} is missing.")]
    BlobMissing {
        /// The digest under which it should be.
        digest: Digest,
    },
    /// The schema was written by a newer program that this one cannot work beside.
    #[error(
        "The hub's database has schema {found}, which needs a program that knows schema {needed}. \
         This one knows schema {known}."
    )]
    NewerSchema {
        /// The schema of the database.
        found: i64,
        /// The oldest schema a program must know to work with it.
        needed: i64,
        /// The schema this program knows.
        known: i64,
    },
    /// The schema is older, and the options do not allow to change it.
    #[error("The hub's database has schema {found}, and this program needs schema {known}.")]
    OlderSchema {
        /// The schema of the database.
        found: i64,
        /// The schema this program knows.
        known: i64,
    },
    /// A location cannot be used.
    #[error("`{location}` cannot be used as {what}: {reason}.")]
    BadLocation {
        /// The location, without secrets.
        location: String,
        /// What it should be, with its article.
        what: &'static str,
        /// Why it cannot.
        reason: String,
    },
    /// The file of the database is not there, and the options do not allow to make it.
    #[error("There is no database `{}`.", path.display())]
    NoDatabase {
        /// The file.
        path: PathBuf,
    },
    /// Something in the database is not as this program writes it.
    #[error("The hub's database holds {what} that this program cannot read.")]
    Corrupt {
        /// What it is.
        what: String,
    },
    /// A backup is not complete or was changed.
    #[error("The backup in `{}` cannot be used: {reason}.", folder.display())]
    BadBackup {
        /// The folder of the backup.
        folder: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The target of a restore or a move is not empty.
    #[error("The target holds a hub already, so nothing was copied into it.")]
    TargetNotEmpty,
    /// A file could not be read or written.
    #[error("The hub cannot use `{}`.", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The system gives no random bytes.
    #[error("The system gives no random bytes.")]
    Random(#[source] Source),
    /// The database refused a statement for another reason.
    #[error("The database refused a statement.")]
    Database(#[source] sqlx::Error),
    /// The object store refused a request for another reason.
    #[error("The blob store refused a request.")]
    Blobs(#[source] object_store::Error),
}

impl StoreError {
    /// Whether the same request may succeed later.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }

    /// Whether there is no room.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// Returns the rule that refused the request, if one did.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    /// A statement or a commit that did not answer in time.
    pub(crate) fn database_timeout() -> Self {
        let source = io::Error::from(io::ErrorKind::TimedOut);
        Self::Unavailable { part: DATABASE, source: source.into() }
    }
}

const DATABASE: &str = "database";
const BLOB_STORE: &str = "blob store";

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let code = match &error {
            sqlx::Error::Database(database) => database.code().map(std::borrow::Cow::into_owned),
            sqlx::Error::Io(source) if source.kind() == io::ErrorKind::StorageFull => {
                return Self::Full { part: DATABASE, source: error.into() };
            }
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed => {
                return Self::Unavailable { part: DATABASE, source: error.into() };
            }
            _ => None,
        };
        let is_postgres = |code: &str| code.len() == 5;
        match code.as_deref() {
            // SQLITE_FULL, and PostgreSQL's disk_full.
            Some("13" | "53100") => Self::Full { part: DATABASE, source: error.into() },
            // SQLite: busy, locked, read-only, I/O errors, cannot open; with their extended codes.
            Some(code) if !is_postgres(code) && is_unavailable_sqlite(code) => {
                Self::Unavailable { part: DATABASE, source: error.into() }
            }
            // PostgreSQL: connection errors, no resources, operator's intervention, locks, timeouts.
            Some(code)
                if is_postgres(code)
                    && ["08", "53", "57", "58", "40", "25P03", "55000", "55P03"]
                        .iter()
                        .any(|class| code.starts_with(class)) =>
            {
                Self::Unavailable { part: DATABASE, source: error.into() }
            }
            _ => Self::Database(error),
        }
    }
}

fn is_unavailable_sqlite(code: &str) -> bool {
    // The low byte of an extended code is the code itself.
    code.parse::<u32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 8 | 10 | 14))
}

impl From<object_store::Error> for StoreError {
    fn from(error: object_store::Error) -> Self {
        match io_kind(&error) {
            Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
                Self::Full { part: BLOB_STORE, source: error.into() }
            }
            _ => match error {
                object_store::Error::NotSupported { .. }
                | object_store::Error::InvalidPath { .. }
                | object_store::Error::UnknownConfigurationKey { .. } => Self::Blobs(error),
                error => Self::Unavailable { part: BLOB_STORE, source: error.into() },
            },
        }
    }
}

/// The kind of the error of the operating system that lies below an error.
fn io_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        current = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_below_the_object_store_is_told_from_one_that_is_away() {
        let generic = |kind: io::ErrorKind| object_store::Error::Generic {
            store: "LocalFileSystem",
            source: io::Error::from(kind).into(),
        };
        assert!(StoreError::from(generic(io::ErrorKind::StorageFull)).is_full());
        assert!(StoreError::from(generic(io::ErrorKind::ConnectionRefused)).is_unavailable());
    }
}
