//! Where a hub is kept, and how the store is opened.

use std::{
    fmt,
    path::PathBuf,
    str::FromStr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use skillwire_hub::Timestamp;

use crate::error::StoreError;

/// Where the metadata is kept.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseLocation {
    /// A file of SQLite.
    Sqlite(PathBuf),
    /// The URL of a PostgreSQL database, `postgres://user:password@host/database`.
    Postgres(String),
}

impl FromStr for DatabaseLocation {
    type Err = StoreError;

    /// Reads `postgres://…`, `sqlite:PATH` or a path.
    fn from_str(text: &str) -> Result<Self, StoreError> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        if path.is_empty() || path.contains("://") {
            let reason = "it is neither `postgres://…` nor a path".to_owned();
            let location = without_password(text);
            return Err(StoreError::BadLocation { location, what: "a database", reason });
        }
        Ok(Self::Sqlite(path.into()))
    }
}

impl fmt::Display for DatabaseLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => path.display().fmt(f),
            Self::Postgres(url) => f.write_str(&without_password(url)),
        }
    }
}

impl fmt::Debug for DatabaseLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A URL without what stands between `//` and `@`, and without its query.
fn without_password(url: &str) -> String {
    let url = url.split_once('?').map_or(url, |(front, _)| front);
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        _ => url.to_owned(),
    }
}

/// Where the bytes of files are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobLocation {
    /// A folder of this machine. Files and folders are synced before a publication is acknowledged.
    Folder(PathBuf),
    /// A bucket of S3 or of a server that speaks its protocol.
    S3(S3Location),
}

/// A bucket, and how to reach it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct S3Location {
    /// The bucket.
    pub bucket: String,
    /// What all keys begin with, without slashes at its ends; may be empty.
    pub prefix: String,
    /// The address of the server, if it is not that of AWS.
    pub endpoint: Option<String>,
    /// The region.
    pub region: String,
    /// The access key; none to use the credentials of the machine's role.
    pub access_key: Option<String>,
    /// The secret key.
    pub secret_key: Option<String>,
}

impl S3Location {
    /// A bucket of AWS in `us-east-1`, reached with the credentials of the machine's role.
    pub fn new(bucket: impl Into<String>) -> Self {
        Self {
            bucket: bucket.into(),
            prefix: String::new(),
            endpoint: None,
            region: "us-east-1".to_owned(),
            access_key: None,
            secret_key: None,
        }
    }

    /// Sets what all keys begin with.
    #[must_use]
    pub fn with_prefix(mut self, prefix: &str) -> Self {
        prefix.trim_matches('/').clone_into(&mut self.prefix);
        self
    }

    /// Sets the address of the server. One that begins with `http://` is reached without TLS.
    #[must_use]
    pub fn with_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// Sets the region.
    #[must_use]
    pub fn with_region(mut self, region: impl Into<String>) -> Self {
        self.region = region.into();
        self
    }

    /// Sets the keys.
    #[must_use]
    pub fn with_keys(mut self, access: impl Into<String>, secret: impl Into<String>) -> Self {
        self.access_key = Some(access.into());
        self.secret_key = Some(secret.into());
        self
    }
}

impl fmt::Display for S3Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.prefix)
    }
}

impl fmt::Debug for S3Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for BlobLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(f),
            Self::S3(location) => location.fmt(f),
        }
    }
}

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How a store is opened.
#[derive(Clone)]
#[non_exhaustive]
pub struct StoreOptions {
    /// Where the metadata is.
    pub database: DatabaseLocation,
    /// Where the bytes are.
    pub blobs: BlobLocation,
    /// Whether an older schema is brought up to date, and a missing database made.
    pub migrate: bool,
    /// Whether a file of SQLite that is missing is made. A mistyped path must not become a new, empty hub.
    pub create: bool,
    /// The most connections to the database.
    pub connections: u32,
    /// How long one statement or one request to the object store may take.
    pub timeout: Duration,
    /// A folder and how many bytes of blobs it may hold. It serves files that a replica has read before
    /// while the object store is away. Blobs in a folder need none.
    pub blob_cache: Option<(PathBuf, u64)>,
    /// Tells the time.
    pub clock: Clock,
}

impl StoreOptions {
    /// Opens, makes or updates a hub with the system's clock, 8 connections and 10 seconds of patience.
    pub fn new(database: DatabaseLocation, blobs: BlobLocation) -> Self {
        Self {
            database,
            blobs,
            migrate: true,
            create: true,
            connections: 8,
            timeout: Duration::from_secs(10),
            blob_cache: None,
            clock: Arc::new(|| Timestamp::from_system_time(SystemTime::now())),
        }
    }

    /// Sets whether the schema may be made or changed.
    #[must_use]
    pub fn with_migrate(mut self, migrate: bool) -> Self {
        self.migrate = migrate;
        self
    }

    /// Sets whether a file of SQLite that is missing is made.
    #[must_use]
    pub fn with_create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets the most connections to the database, at least 2.
    #[must_use]
    pub fn with_connections(mut self, connections: u32) -> Self {
        self.connections = connections.max(2);
        self
    }

    /// Sets how long one statement or request may take.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Keeps blobs that were read in a folder, up to a number of bytes.
    #[must_use]
    pub fn with_blob_cache(mut self, folder: PathBuf, bytes: u64) -> Self {
        self.blob_cache = Some((folder, bytes));
        self
    }

    /// Sets what tells the time.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_read_and_shown_without_their_passwords() {
        let postgres: DatabaseLocation = "postgres://hub:hunter2@db/hub?x=hunter2".parse().unwrap();
        assert_eq!(postgres.to_string(), "postgres://…@db/hub");
        assert!(!format!("{postgres:?}").contains("hunter2"));
        let sqlite: DatabaseLocation = "sqlite:hub.db".parse().unwrap();
        assert_eq!(sqlite, DatabaseLocation::Sqlite("hub.db".into()));
        assert!("mysql://db/hub".parse::<DatabaseLocation>().is_err());
        let s3 = S3Location::new("skills").with_keys("id", "hunter2").with_prefix("/a/");
        assert_eq!(format!("{s3:?}"), "s3://skills/a");
    }
}
