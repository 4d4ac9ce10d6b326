//! The schema of the database: migrations, and which programs may use which schema.
//!
//! A rolling upgrade runs two versions of the program side by side. A migration that only adds something
//! leaves `readable_from` as it was, so that the older program goes on beside the newer one. A
//! migration that the older program cannot live with raises it, and the older program refuses to start
//! and to write.

use crate::{
    error::StoreError,
    sql::{Database, Tx, args},
};

/// One step of the schema.
pub(crate) struct Migration {
    /// The schema after it.
    pub(crate) version: i64,
    /// The oldest schema that a program must know to work with it.
    pub(crate) readable_from: i64,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// Every migration, in order. One that was released never changes.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        readable_from: 1,
        sqlite: include_str!("../migrations/sqlite/0001_base.sql"),
        postgres: include_str!("../migrations/postgres/0001_base.sql"),
    },
    Migration {
        version: 2,
        // An older program would collect the files of approved offers as garbage.
        readable_from: 2,
        sqlite: include_str!("../migrations/sqlite/0002_upstreams.sql"),
        postgres: include_str!("../migrations/postgres/0002_upstreams.sql"),
    },
    Migration {
        version: 3,
        // An older program does not know calls, which the audit log now has.
        readable_from: 3,
        sqlite: include_str!("../migrations/sqlite/0003_upstream_tools.sql"),
        postgres: include_str!("../migrations/postgres/0003_upstream_tools.sql"),
    },
    Migration {
        version: 4,
        // An older program passes no resources on, and leaves what is set here as it is.
        readable_from: 3,
        sqlite: include_str!("../migrations/sqlite/0004_upstream_resources.sql"),
        postgres: include_str!("../migrations/postgres/0004_upstream_resources.sql"),
    },
    Migration {
        version: 5,
        // An older program keeps no facts, and leaves those that are here as they are.
        readable_from: 3,
        sqlite: include_str!("../migrations/sqlite/0005_observed_facts.sql"),
        postgres: include_str!("../migrations/postgres/0005_observed_facts.sql"),
    },
];

/// The schema this program knows.
pub(crate) const KNOWN_SCHEMA: i64 = 5;

const TABLE_SQLITE: &str = "CREATE TABLE IF NOT EXISTS schema_version (
    id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, readable_from INTEGER NOT NULL)";
const TABLE_POSTGRES: &str = "CREATE TABLE IF NOT EXISTS schema_version (
    id BIGINT PRIMARY KEY CHECK (id = 1), version BIGINT NOT NULL, readable_from BIGINT NOT NULL)";

/// Brings the schema up to date, or refuses.
pub(crate) async fn prepare(
    database: &Database,
    migrations: &[Migration],
    may_change: bool,
) -> Result<(), StoreError> {
    let known = migrations.last().map_or(0, |migration| migration.version);
    let mut tx = database.begin_write().await?;
    if tx.is_postgres() {
        // Replicas that start together take turns; `CREATE TABLE IF NOT EXISTS` alone is not atomic.
        tx.rows("SELECT 1::bigint FROM pg_advisory_xact_lock(73118247)", args![]).await?;
        tx.script(TABLE_POSTGRES).await?;
    } else {
        tx.script(TABLE_SQLITE).await?;
    }
    let current = "SELECT version, readable_from FROM schema_version WHERE id = 1";
    let (found, needed) = match tx.row(current, args![]).await? {
        Some(row) => (row.int(0)?, row.int(1)?),
        None => (0, 0),
    };
    if needed > known {
        return Err(StoreError::NewerSchema { found, needed, known });
    }
    if found < known && !may_change {
        return Err(StoreError::OlderSchema { found, known });
    }
    for migration in migrations.iter().filter(|migration| migration.version > found) {
        apply(&mut tx, migration).await?;
    }
    tx.commit().await
}

async fn apply(tx: &mut Tx, migration: &Migration) -> Result<(), StoreError> {
    let script = if tx.is_postgres() { migration.postgres } else { migration.sqlite };
    tx.script(script).await?;
    let record = "INSERT INTO schema_version (id, version, readable_from) VALUES (1, $1, $2)
        ON CONFLICT (id) DO UPDATE SET version = excluded.version,
            readable_from = excluded.readable_from";
    tx.execute(record, args![migration.version, migration.readable_from]).await?;
    tracing::info!(schema = migration.version, "the hub's database has a new schema");
    Ok(())
}
