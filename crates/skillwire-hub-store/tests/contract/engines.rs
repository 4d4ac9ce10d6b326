//! The engines that the contract runs on.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use skillwire_hub_store::{BlobLocation, DatabaseLocation, S3Location};
use skillwire_testkit::HubPlace;
use sqlx::{Connection as _, PgConnection};

/// What the contract runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// SQLite and a folder.
    Embedded,
    /// PostgreSQL and an S3 server.
    Served,
}

/// A place of this process, for what belongs to no hub.
static ANY: OnceLock<HubPlace> = OnceLock::new();

/// Returns a place for a new hub, or nothing if the engine is not installed and not required.
pub(crate) fn place(engine: Engine, folder: &Path) -> Option<(DatabaseLocation, BlobLocation)> {
    if engine == Engine::Embedded {
        let database = DatabaseLocation::Sqlite(folder.join("hub.db"));
        return Some((database, BlobLocation::Folder(folder.join("blobs"))));
    }
    let place = HubPlace::new()?;
    let location = S3Location::new(&place.bucket)
        .with_endpoint(&place.endpoint)
        .with_prefix("skills")
        .with_keys(place.access_key, place.secret_key);
    let database = DatabaseLocation::Postgres(place.database.clone());
    ANY.get_or_init(|| place);
    Some((database, BlobLocation::S3(location)))
}

/// The folder in which the S3 server keeps a bucket.
pub(crate) fn bucket_folder(bucket: &str) -> PathBuf {
    let any = ANY.get().expect("an S3 server");
    any.bucket_folder.with_file_name(bucket)
}

/// A connection to PostgreSQL that belongs to no hub.
pub(crate) async fn administrator_of_postgres() -> PgConnection {
    let any = ANY.get().expect("PostgreSQL");
    PgConnection::connect(&any.administration).await.expect("a connection")
}
