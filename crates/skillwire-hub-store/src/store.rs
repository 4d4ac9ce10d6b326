//! Opening a hub, and the transaction that every change goes through.

use std::{str::FromStr as _, sync::Arc, time::Duration};

use skillwire_core::Digest;
use skillwire_hub::{
    AuditEntry, ChainHash, HubChange, NewAuditEntry, OutboxEvent, Subject, Timestamp,
};
use sqlx::{
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::sync::watch;

use crate::{
    blob_cache::BlobCache,
    blobs::BlobStore,
    error::StoreError,
    options::{Clock, DatabaseLocation, StoreOptions},
    schema,
    sql::{Database, Pools, Tx, Value, args, with_rows},
};

/// Rows in one statement; PostgreSQL and SQLite take far more arguments than twelve times this.
pub(crate) const ROWS_PER_STATEMENT: usize = 32;

/// The channel of PostgreSQL's `NOTIFY`.
pub(crate) const NOTIFY_CHANNEL: &str = "skillwire_hub";

/// A hub's records and bytes. Clones share one set of connections.
#[derive(Clone)]
pub struct HubStore {
    pub(crate) inner: Arc<Inner>,
    /// Whether changes are undone after they were made.
    rehearses: bool,
}

pub(crate) struct Inner {
    pub(crate) database: Database,
    pub(crate) blobs: BlobStore,
    pub(crate) clock: Clock,
    /// The number of the last event that this process committed: a hint for followers.
    pub(crate) committed: watch::Sender<u64>,
}

impl HubStore {
    /// Opens a hub; makes it, or updates its schema, if the options allow it.
    #[tracing::instrument(skip_all, fields(database = %options.database, blobs = %options.blobs))]
    pub async fn open(options: StoreOptions) -> Result<Self, StoreError> {
        let cache = options.blob_cache.as_ref();
        let cache = cache.map(|(folder, bytes)| BlobCache::open(folder, *bytes)).transpose()?;
        let blobs = BlobStore::open(&options.blobs, options.timeout)?.with_cache(cache);
        let database = connect(&options).await?;
        schema::prepare(&database, schema::MIGRATIONS, options.migrate).await?;
        begin_hub(&database).await?;
        let inner =
            Inner { database, blobs, clock: options.clock, committed: watch::Sender::new(0) };
        Ok(Self { inner: Arc::new(inner), rehearses: false })
    }

    /// Closes every connection. Later operations fail. A follower that still listens is not waited for
    /// longer than a statement may take.
    pub async fn close(&self) {
        let database = &self.inner.database;
        if tokio::time::timeout(database.limit, database.close()).await.is_err() {
            tracing::debug!("a connection was still in use when the store was closed");
        }
    }

    /// Returns the same store for a caller that only asks what a change would do: the change is made by the
    /// same code and refused by the same rules, and then undone. Nothing is announced or logged.
    #[must_use]
    pub fn rehearsal(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), rehearses: true }
    }

    /// Asks the database for an answer.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.database().row("SELECT outbox FROM hub WHERE id = 1", args![]).await?;
        Ok(())
    }

    /// Returns the time of the hub.
    pub fn now(&self) -> Timestamp {
        (self.inner.clock)()
    }

    pub(crate) fn database(&self) -> &Database {
        &self.inner.database
    }

    pub(crate) fn blobs(&self) -> &BlobStore {
        &self.inner.blobs
    }

    pub(crate) async fn begin_read(&self) -> Result<Tx, StoreError> {
        self.inner.database.begin_read().await
    }

    pub(crate) async fn begin_write(&self, actor: &Subject) -> Result<WriteTx, StoreError> {
        WriteTx::begin(self, actor.as_str()).await
    }
}

pub(crate) async fn connect(options: &StoreOptions) -> Result<Database, StoreError> {
    let limit = options.timeout;
    let pools = match &options.database {
        DatabaseLocation::Sqlite(path) => {
            if !options.create && !path.exists() {
                return Err(StoreError::NoDatabase { path: path.clone() });
            }
            let connect = SqliteConnectOptions::new()
                .filename(path)
                .create_if_missing(options.migrate)
                .journal_mode(SqliteJournalMode::Wal)
                // A commit is on the disk before it is acknowledged.
                .synchronous(SqliteSynchronous::Full)
                .foreign_keys(true)
                .busy_timeout(limit);
            let pool = |most| SqlitePoolOptions::new().max_connections(most).acquire_timeout(limit);
            let writer = pool(1).connect_with(connect.clone()).await;
            let writer = writer.map_err(|error| unusable_file(&options.database, error))?;
            let readers = pool(options.connections).connect_with(connect).await?;
            Pools::Sqlite { readers, writer }
        }
        DatabaseLocation::Postgres(url) => {
            let bad = |error: sqlx::Error| StoreError::BadLocation {
                location: options.database.to_string(),
                what: "a database",
                reason: error.to_string(),
            };
            let connect = PgConnectOptions::from_str(url)
                .map_err(bad)?
                .application_name("skillwire-hub")
                .options(session_limits(limit));
            let pool = PgPoolOptions::new()
                .max_connections(options.connections)
                .acquire_timeout(limit)
                .connect_with(connect)
                .await?;
            Pools::Postgres(pool)
        }
    };
    Ok(Database { pools, limit })
}

/// The error of a file that cannot be opened as a database, with its name.
fn unusable_file(database: &DatabaseLocation, error: sqlx::Error) -> StoreError {
    match StoreError::from(error) {
        StoreError::Database(error) => StoreError::BadLocation {
            location: database.to_string(),
            what: "a database of SQLite",
            reason: match &error {
                sqlx::Error::Database(said) => said.message().to_owned(),
                other => other.to_string(),
            },
        },
        other => other,
    }
}

/// What a session of PostgreSQL may hold up. A replica that vanished in the middle of a transaction
/// must not keep the row of the hub, which every writer needs.
fn session_limits(limit: Duration) -> [(&'static str, String); 3] {
    let millis = limit.as_millis().to_string();
    [
        ("statement_timeout", millis.clone()),
        ("lock_timeout", millis.clone()),
        ("idle_in_transaction_session_timeout", millis),
    ]
}

/// Makes the row of a new hub.
async fn begin_hub(database: &Database) -> Result<(), StoreError> {
    let mut tx = database.begin_write().await?;
    let insert = "INSERT INTO hub (id, outbox, audit, audit_hash, last_key)
        VALUES (1, 0, 0, $1, 0) ON CONFLICT (id) DO NOTHING";
    tx.execute(insert, args![ChainHash::genesis().digest().to_string()]).await?;
    tx.commit().await
}

/// A transaction that changes the hub.
///
/// It begins by locking the row of the hub, on PostgreSQL as on SQLite. Writers therefore take turns, so
/// that the rules see a state that no other writer changes, events are committed in the order of
/// their numbers, and the audit log is one chain. Measured, PostgreSQL commits 1,800 such transactions a
/// second; a hub needs a few.
pub(crate) struct WriteTx {
    tx: Tx,
    store: HubStore,
    pub(crate) now: Timestamp,
    actor: String,
    outbox: u64,
    audit: u64,
    chain: ChainHash,
    last_key: i64,
    events: u64,
}

impl WriteTx {
    async fn begin(store: &HubStore, actor: &str) -> Result<Self, StoreError> {
        const SQLITE: &str = "SELECT outbox, audit, audit_hash, last_key,
            (SELECT readable_from FROM schema_version WHERE id = 1),
            (SELECT version FROM schema_version WHERE id = 1) FROM hub WHERE id = 1";
        const POSTGRES: &str = "SELECT outbox, audit, audit_hash, last_key,
            (SELECT readable_from FROM schema_version WHERE id = 1),
            (SELECT version FROM schema_version WHERE id = 1) FROM hub WHERE id = 1 FOR UPDATE";
        let mut tx = store.inner.database.begin_write().await?;
        let sql = if tx.is_postgres() { POSTGRES } else { SQLITE };
        let Some(row) = tx.row(sql, args![]).await? else {
            return Err(StoreError::corrupt("no row of the hub"));
        };
        let (needed, found) = (row.int(4)?, row.int(5)?);
        let known = schema::KNOWN_SCHEMA;
        if needed > known {
            // Another program changed the schema while this one ran.
            tx.roll_back().await?;
            return Err(StoreError::NewerSchema { found, needed, known });
        }
        Ok(Self {
            outbox: row.count(0)?,
            audit: row.count(1)?,
            chain: ChainHash::from_digest(row.parsed(2, "hash of the audit log")?),
            last_key: row.int(3)?,
            now: store.now(),
            actor: actor.to_owned(),
            store: store.clone(),
            events: 0,
            tx,
        })
    }

    /// Returns a key that no record has.
    pub(crate) fn next_key(&mut self) -> i64 {
        self.last_key += 1;
        self.last_key
    }

    /// Returns the number of the last event, for callers that wait until they see their own change.
    pub(crate) fn last_event(&self) -> u64 {
        self.outbox
    }

    /// Returns who makes the change.
    pub(crate) fn actor(&self) -> &str {
        &self.actor
    }

    /// Appends to the audit log, in the name of the caller.
    pub(crate) async fn audit(&mut self, entry: NewAuditEntry) -> Result<(), StoreError> {
        let actor = self.actor.clone();
        self.audit_as(&actor, entry).await
    }

    /// Appends to the audit log, in another name.
    pub(crate) async fn audit_as(
        &mut self,
        actor: &str,
        entry: NewAuditEntry,
    ) -> Result<(), StoreError> {
        self.audit_all([(actor, entry)]).await
    }

    /// Appends entries to the audit log, each in the name of its actor.
    pub(crate) async fn audit_all<'a>(
        &mut self,
        entries: impl IntoIterator<Item = (&'a str, NewAuditEntry)>,
    ) -> Result<(), StoreError> {
        const START: &str = "INSERT INTO audit (number, at, actor, actor_salt, actor_commitment,
            action, target, content, details, details_salt, details_commitment, hash) VALUES";
        const COLUMNS: usize = 12;
        let mut rows = Vec::new();
        for (actor, entry) in entries {
            self.audit += 1;
            let entry =
                AuditEntry::chain(entry, self.audit, self.now, actor, random_bytes()?, self.chain);
            self.chain = entry.hash;
            rows.push(args![
                number(entry.number),
                entry.at.as_millis(),
                entry.actor,
                entry.actor_salt.map(hex),
                entry.actor_commitment.digest().to_string(),
                entry.action.as_str(),
                entry.target,
                entry.content.map(|content| content.to_string()),
                entry.details,
                entry.details_salt.map(hex),
                entry.details_commitment.digest().to_string(),
                entry.hash.digest().to_string(),
            ]);
        }
        for chunk in rows.chunks_mut(ROWS_PER_STATEMENT) {
            let sql = with_rows(START, COLUMNS, chunk.len(), "");
            let values = chunk.iter_mut().flat_map(std::mem::take).collect();
            self.tx.execute_built(sql, values).await?;
        }
        Ok(())
    }

    /// Tells replicas of a change.
    pub(crate) async fn announce(&mut self, change: HubChange) -> Result<(), StoreError> {
        self.outbox += 1;
        self.events += 1;
        let event = OutboxEvent { number: self.outbox, at: self.now, change };
        let insert = "INSERT INTO outbox (number, at, change) VALUES ($1, $2, $3)";
        let change = to_json(&event.change)?;
        self.tx.execute(insert, args![number(event.number), event.at.as_millis(), change]).await?;
        Ok(())
    }

    /// Commits what an operation did, or undoes it if it failed.
    pub(crate) async fn finish<T>(self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        match result {
            Ok(value) if self.store.rehearses => {
                self.tx.roll_back().await?;
                Ok(value)
            }
            Ok(value) => {
                self.commit().await?;
                Ok(value)
            }
            Err(error) => {
                // The connection may be gone with the error; then so is the transaction.
                if let Err(second) = self.tx.roll_back().await {
                    tracing::debug!(%second, "a transaction could not be rolled back");
                }
                Err(error)
            }
        }
    }

    async fn commit(mut self) -> Result<(), StoreError> {
        let update = "UPDATE hub SET outbox = $1, audit = $2, audit_hash = $3, last_key = $4
            WHERE id = 1";
        let hash = self.chain.digest().to_string();
        let values = args![number(self.outbox), number(self.audit), hash, self.last_key];
        self.tx.execute(update, values).await?;
        if self.events > 0 && self.tx.is_postgres() {
            // Delivered by the commit. A hint only: followers also ask by themselves.
            let notify = "SELECT 1::bigint FROM pg_notify($1, $2)";
            let number = self.outbox.to_string();
            self.tx.rows(notify, args![NOTIFY_CHANNEL, number]).await?;
        }
        self.tx.commit().await?;
        if self.events > 0 {
            self.store.inner.committed.send_replace(self.outbox);
        }
        Ok(())
    }

    pub(crate) async fn execute(
        &mut self,
        sql: &'static str,
        arguments: Vec<Value>,
    ) -> Result<u64, StoreError> {
        self.tx.execute(sql, arguments).await
    }

    pub(crate) fn tx(&mut self) -> &mut Tx {
        &mut self.tx
    }
}

/// Returns bytes from the system's random source.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Random(error.into()))?;
    Ok(bytes)
}

/// A count as the database keeps it. The hub has fewer than 2^63 of everything.
pub(crate) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(crate) fn hex(bytes: [u8; 16]) -> String {
    let mut padded = [0; 32];
    padded[..16].copy_from_slice(&bytes);
    Digest::from_bytes(padded).hex()[..32].to_owned()
}

pub(crate) fn from_hex(text: &str) -> Result<[u8; 16], StoreError> {
    let padded: Digest = format!("sha256:{text}{}", "0".repeat(32))
        .parse()
        .map_err(|_| StoreError::corrupt(format!("the salt `{text}`")))?;
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&padded.as_bytes()[..16]);
    Ok(bytes)
}

pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::corrupt(format!("a record without a JSON form ({error})")))
}

pub(crate) fn from_json<T: serde::de::DeserializeOwned>(
    text: &str,
    what: &str,
) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::corrupt(format!("the {what} `{text}`")))
}
