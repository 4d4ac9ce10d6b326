//! Copying a whole hub: to a backup, from a backup, and from one engine to another.
//!
//! All three read rows of one state of the database and write them in one transaction, so that a copy
//! that fails leaves an empty target. Blobs come first, as with a publication.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, BufWriter, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use skillwire_core::Digest;
use skillwire_hub::{Action, Caller, Timestamp};

use crate::{
    blobs::BlobStore,
    error::StoreError,
    options::{BlobLocation, DatabaseLocation, StoreOptions},
    schema::{self, KNOWN_SCHEMA},
    sql::{Database, Row, Tx, Value, args, with_rows},
    store::{HubStore, connect, from_json, to_json},
    tables::{TABLES, Table},
};

/// Rows that are read and written at once.
const ROWS: usize = 100;

/// The version of the format of backups.
const FORMAT: u32 = 1;

/// What was copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransferReport {
    /// Rows of all tables.
    pub rows: u64,
    /// Blobs.
    pub blobs: u64,
    /// Bytes of the blobs.
    pub bytes: u64,
    /// Blobs that were damaged or missing before, and could not be copied.
    pub damaged: Vec<Digest>,
}

/// The last file of a backup that is written.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    schema: i64,
    made_at: Timestamp,
    blobs: u64,
    tables: Vec<TableSummary>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TableSummary {
    name: String,
    rows: u64,
    sha256: String,
}

impl Manifest {
    /// The tables of the backup that this program knows, each after those that it refers to.
    fn known_tables(&self) -> impl Iterator<Item = (&'static Table, &TableSummary)> {
        TABLES.iter().filter_map(|table| {
            let summary = self.tables.iter().find(|summary| summary.name == table.name)?;
            Some((table, summary))
        })
    }
}

impl HubStore {
    /// Copies the hub into a new folder. Publishing goes on meanwhile. Only for administrators.
    ///
    /// `progress` is called with the number of blobs copied so far.
    #[tracing::instrument(skip_all, fields(folder = %folder.display()))]
    pub async fn backup(
        &self,
        caller: &Caller,
        folder: &Path,
        progress: impl Fn(u64) + Send + Sync,
    ) -> Result<TransferReport, StoreError> {
        caller.require_administrator(Action::Operate)?;
        let file = |path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::File { path, source }
        };
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(StoreError::TargetNotEmpty);
        }
        let tables = folder.join("tables");
        fs::create_dir_all(&tables).map_err(file(&tables))?;
        // Rows first: a blob that they name is never deleted within the grace time.
        let mut tx = self.begin_read().await?;
        let mut report = TransferReport::default();
        let mut summaries = Vec::new();
        for table in TABLES {
            let path = tables.join(format!("{}.jsonl", table.name));
            let mut out = BufWriter::new(File::create(&path).map_err(file(&path))?);
            let mut reader = TableReader::new(table);
            let mut rows = 0;
            loop {
                let batch = reader.next(&mut tx).await?;
                if batch.is_empty() {
                    break;
                }
                for row in &batch {
                    let line = to_json(&row.iter().map(to_json_value).collect::<Vec<_>>())?;
                    writeln!(out, "{line}").map_err(file(&path))?;
                }
                rows += batch.len() as u64;
            }
            let out = out.into_inner().map_err(|error| file(&path)(error.into_error()))?;
            out.sync_all().map_err(file(&path))?;
            let sha256 = Digest::of(&fs::read(&path).map_err(file(&path))?).hex();
            report.rows += rows;
            summaries.push(TableSummary { name: table.name.to_owned(), rows, sha256 });
        }
        tx.commit().await?;
        let blobs = BlobLocation::Folder(folder.join("blobs"));
        let blobs = BlobStore::open(&blobs, Duration::from_mins(1))?;
        self.copy_blobs(&blobs, &mut report, progress).await?;
        let manifest = Manifest {
            format: FORMAT,
            schema: KNOWN_SCHEMA,
            made_at: self.now(),
            blobs: report.blobs,
            tables: summaries,
        };
        let path = folder.join("manifest.json");
        fs::write(&path, to_json(&manifest)?).map_err(file(&path))?;
        File::open(&path).and_then(|manifest| manifest.sync_all()).map_err(file(&path))?;
        Ok(report)
    }

    /// Fills this hub, which must be new and empty, from a backup.
    #[tracing::instrument(skip_all, fields(folder = %folder.display()))]
    pub async fn restore(
        &self,
        folder: &Path,
        progress: impl Fn(u64) + Send + Sync,
    ) -> Result<TransferReport, StoreError> {
        self.require_empty().await?;
        let manifest = read_manifest(folder)?;
        let mut report = TransferReport::default();
        let blobs = BlobLocation::Folder(folder.join("blobs"));
        let blobs = BlobStore::open(&blobs, Duration::from_mins(1))?;
        for (digest, size) in blobs_of_backup(folder)? {
            copy_blob(&blobs, self.blobs(), (digest, size), &mut report).await?;
            progress(report.blobs);
        }
        let mut tx = self.database().begin_write().await?;
        clear_hub(&mut tx).await?;
        for (table, summary) in manifest.known_tables() {
            let path = table_path(folder, table);
            let file = File::open(&path).map_err(|source| StoreError::File { path, source })?;
            let mut batch = Vec::new();
            for line in BufReader::new(file).lines() {
                let line = line.map_err(|error| bad_backup(folder, error.to_string()))?;
                batch.push(read_line(table, &line)?);
                if batch.len() == ROWS {
                    report.rows += write_rows(&mut tx, table, &mut batch).await?;
                }
            }
            report.rows += write_rows(&mut tx, table, &mut batch).await?;
            tracing::debug!(table = summary.name, rows = summary.rows, "restored a table");
        }
        tx.commit().await?;
        Ok(report)
    }

    /// Copies the hub into another, which must be new and empty: another engine, another object store,
    /// or both. Writers of this hub wait meanwhile, so that nothing is lost. Only for administrators.
    #[tracing::instrument(skip_all)]
    pub async fn migrate_to(
        &self,
        caller: &Caller,
        target: &HubStore,
        progress: impl Fn(u64) + Send + Sync,
    ) -> Result<TransferReport, StoreError> {
        caller.require_administrator(Action::Operate)?;
        target.require_empty().await?;
        // Most blobs are copied while publishing goes on, and the rest below, while it waits.
        self.copy_blobs(target.blobs(), &mut TransferReport::default(), &progress).await?;
        let mut source = self.begin_write(&caller.subject).await?;
        let result = async {
            let mut report = TransferReport::default();
            self.copy_blobs(target.blobs(), &mut report, &progress).await?;
            let mut tx = target.database().begin_write().await?;
            clear_hub(&mut tx).await?;
            for table in TABLES {
                let mut reader = TableReader::new(table);
                loop {
                    let mut batch = reader.next(source.tx()).await?;
                    if batch.is_empty() {
                        break;
                    }
                    report.rows += write_rows(&mut tx, table, &mut batch).await?;
                }
            }
            tx.commit().await?;
            Ok(report)
        }
        .await;
        source.finish(result).await
    }

    async fn copy_blobs(
        &self,
        target: &BlobStore,
        report: &mut TransferReport,
        progress: impl Fn(u64) + Send + Sync,
    ) -> Result<(), StoreError> {
        let mut after = String::new();
        loop {
            let named = self.named_blobs(&after).await?;
            let Some((last, _)) = named.last() else { return Ok(()) };
            after = last.hex();
            for blob in named {
                copy_blob(self.blobs(), target, blob, report).await?;
                progress(report.blobs);
            }
        }
    }

    /// Says what a copy of this hub would have, without reading the bytes. Only for administrators.
    pub async fn size(&self, caller: &Caller) -> Result<TransferReport, StoreError> {
        caller.require_administrator(Action::Operate)?;
        let mut report = TransferReport::default();
        let mut tx = self.begin_read().await?;
        for table in TABLES {
            let count =
                tx.rows_built(format!("SELECT COUNT(*) FROM {}", table.name), args![]).await?;
            report.rows += count.first().map_or(Ok(0), |row| row.count(0))?;
        }
        tx.commit().await?;
        let mut after = String::new();
        loop {
            let named = self.named_blobs(&after).await?;
            let Some((last, _)) = named.last() else { return Ok(report) };
            after = last.hex();
            report.blobs += named.len() as u64;
            report.bytes += named.iter().map(|(_, size)| size).sum::<u64>();
        }
    }

    /// Refuses a hub that holds anything.
    async fn require_empty(&self) -> Result<(), StoreError> {
        require_empty(self.database()).await
    }
}

async fn require_empty(database: &Database) -> Result<(), StoreError> {
    let select = "SELECT outbox, audit, last_key FROM hub WHERE id = 1";
    let empty = match database.row(select, args![]).await? {
        Some(row) => (row.int(0)?, row.int(1)?, row.int(2)?) == (0, 0, 0),
        None => true,
    };
    if empty { Ok(()) } else { Err(StoreError::TargetNotEmpty) }
}

/// Checks that a hub can be copied to a place: nothing is there, or an empty hub. Makes nothing there.
pub async fn check_target(options: &StoreOptions) -> Result<(), StoreError> {
    if let DatabaseLocation::Sqlite(path) = &options.database
        && !path.exists()
    {
        return Ok(());
    }
    let database = connect(&options.clone().with_migrate(false)).await?;
    let checked = match schema::prepare(&database, schema::MIGRATIONS, false).await {
        // A database without any table of a hub.
        Err(StoreError::OlderSchema { found: 0, .. }) => Ok(()),
        Err(StoreError::OlderSchema { .. }) => Err(StoreError::TargetNotEmpty),
        Err(error) => Err(error),
        Ok(()) => require_empty(&database).await,
    };
    database.close().await;
    checked
}

/// Checks the manifest of a backup and its tables, and says what a restore would copy. Reads no bytes of files.
pub fn check_backup(folder: &Path) -> Result<TransferReport, StoreError> {
    let manifest = read_manifest(folder)?;
    let blobs = blobs_of_backup(folder)?;
    Ok(TransferReport {
        rows: manifest.tables.iter().map(|table| table.rows).sum(),
        blobs: blobs.len() as u64,
        bytes: blobs.iter().map(|(_, size)| size).sum(),
        damaged: Vec::new(),
    })
}

async fn copy_blob(
    from: &BlobStore,
    to: &BlobStore,
    (digest, size): (Digest, u64),
    report: &mut TransferReport,
) -> Result<(), StoreError> {
    match from.get(&digest, size).await {
        Ok(bytes) => {
            to.put_all([(digest, bytes)]).await?;
            report.blobs += 1;
            report.bytes += size;
        }
        Err(StoreError::BlobDamaged { .. } | StoreError::BlobMissing { .. }) => {
            tracing::error!(%digest, "a stored file is damaged or missing and is not copied");
            report.damaged.push(digest);
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Deletes the row of a new hub, to make room for the one that is copied. It is looked at once more with
/// the lock held: another process may have begun to use the hub meanwhile.
async fn clear_hub(tx: &mut Tx) -> Result<(), StoreError> {
    let delete = "DELETE FROM hub WHERE outbox = 0 AND audit = 0 AND last_key = 0";
    if tx.execute(delete, args![]).await? == 1 { Ok(()) } else { Err(StoreError::TargetNotEmpty) }
}

/// Reads a table in the order of its key, some rows at a time.
struct TableReader {
    table: &'static Table,
    last: Option<Vec<Value>>,
}

impl TableReader {
    fn new(table: &'static Table) -> Self {
        Self { table, last: None }
    }

    async fn next(&mut self, tx: &mut Tx) -> Result<Vec<Vec<Value>>, StoreError> {
        let table = self.table;
        let columns = table.columns().collect::<Vec<_>>().join(", ");
        let key = table.key.join(", ");
        let mut sql = format!("SELECT {columns} FROM {}", table.name);
        let arguments = self.last.take().unwrap_or_default();
        if !arguments.is_empty() {
            sql.push_str(&with_rows(&format!(" WHERE ({key}) >"), arguments.len(), 1, ""));
        }
        sql.extend([" ORDER BY ", &key, " LIMIT ", &ROWS.to_string()]);
        let rows = tx.rows_built(sql, arguments).await?;
        let rows =
            rows.iter().map(|row| values_of(table, row)).collect::<Result<Vec<_>, StoreError>>()?;
        self.last = rows.last().map(|row| {
            let position = |name: &&str| table.columns().position(|column| column == *name);
            table.key.iter().filter_map(position).map(|index| row[index].clone()).collect()
        });
        Ok(rows)
    }
}

fn values_of(table: &Table, row: &Row) -> Result<Vec<Value>, StoreError> {
    let value = |(index, column): (usize, &'static str)| {
        Ok(if table.is_number(column) {
            Value::Int(row.optional_int(index)?)
        } else {
            Value::Text(row.optional_text(index)?)
        })
    };
    table.columns().enumerate().map(value).collect()
}

/// Inserts rows and empties the batch.
async fn write_rows(
    tx: &mut Tx,
    table: &Table,
    batch: &mut Vec<Vec<Value>>,
) -> Result<u64, StoreError> {
    if batch.is_empty() {
        return Ok(0);
    }
    let rows = batch.len();
    let columns: Vec<_> = table.columns().collect();
    let start = format!("INSERT INTO {} ({}) VALUES", table.name, columns.join(", "));
    let sql = with_rows(&start, columns.len(), rows, "");
    tx.execute_built(sql, batch.drain(..).flatten().collect()).await?;
    Ok(rows as u64)
}

fn to_json_value(value: &Value) -> Json {
    match value {
        Value::Int(value) => value.map_or(Json::Null, Json::from),
        Value::Text(value) => value.clone().map_or(Json::Null, Json::from),
    }
}

/// Reads one line of a backup; each column has the kind that its table says.
fn read_line(table: &Table, line: &str) -> Result<Vec<Value>, StoreError> {
    let mut row: Vec<Json> = from_json(line, "row of a backup")?;
    let bad = || StoreError::corrupt(format!("a row of `{}` in a backup", table.name));
    let columns: Vec<_> = table.columns().collect();
    // A backup of an older schema has fewer of the columns that were added last.
    let added: Vec<_> = table.added().map(|(_, before)| Json::from(before)).collect();
    let absent = columns.len().saturating_sub(row.len());
    row.extend(added.iter().skip(added.len().saturating_sub(absent)).cloned());
    if row.len() != columns.len() {
        return Err(bad());
    }
    let value = |(column, value): (&str, Json)| match (table.is_number(column), value) {
        (true, Json::Null) => Ok(Value::Int(None)),
        (true, Json::Number(number)) => Ok(Value::Int(Some(number.as_i64().ok_or_else(bad)?))),
        (false, Json::Null) => Ok(Value::Text(None)),
        (false, Json::String(text)) => Ok(Value::Text(Some(text))),
        _ => Err(bad()),
    };
    columns.into_iter().zip(row).map(value).collect()
}

fn table_path(folder: &Path, table: &Table) -> PathBuf {
    folder.join("tables").join(format!("{}.jsonl", table.name))
}

fn bad_backup(folder: &Path, reason: impl Into<String>) -> StoreError {
    StoreError::BadBackup { folder: folder.to_owned(), reason: reason.into() }
}

/// Reads the manifest and compares every table with it.
fn read_manifest(folder: &Path) -> Result<Manifest, StoreError> {
    let path = folder.join("manifest.json");
    let text = fs::read_to_string(&path)
        .map_err(|_| bad_backup(folder, "it has no `manifest.json`, so it was not finished"))?;
    let manifest: Manifest = serde_json::from_str(&text)
        .map_err(|error| bad_backup(folder, format!("its manifest cannot be read ({error})")))?;
    if manifest.format != FORMAT || !(1..=KNOWN_SCHEMA).contains(&manifest.schema) {
        let reason = format!(
            "it has format {} and schema {}, and this program reads format {FORMAT} and schemas up \
             to {KNOWN_SCHEMA}",
            manifest.format, manifest.schema
        );
        return Err(bad_backup(folder, reason));
    }
    // Migrations so far only added tables and columns, so that one of an older schema has fewer of them.
    let known = manifest.known_tables().count();
    if known != manifest.tables.len() || (manifest.schema == KNOWN_SCHEMA && known != TABLES.len())
    {
        return Err(bad_backup(folder, "it has other tables than this program knows"));
    }
    for (table, summary) in manifest.known_tables() {
        let path = table_path(folder, table);
        let bytes = fs::read(&path).map_err(|source| StoreError::File { path, source })?;
        if Digest::of(&bytes).hex() != summary.sha256 {
            return Err(bad_backup(folder, format!("its table `{}` was changed", table.name)));
        }
    }
    Ok(manifest)
}

/// The blobs that versions of a backup name.
fn blobs_of_backup(folder: &Path) -> Result<Vec<(Digest, u64)>, StoreError> {
    let lines = |name: &str| -> Result<Vec<Vec<Value>>, StoreError> {
        let table = TABLES.iter().find(|table| table.name == name);
        let table = table.ok_or_else(|| bad_backup(folder, "it has no blobs"))?;
        let path = table_path(folder, table);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            // A backup of an older schema has fewer tables; the manifest was compared before.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(StoreError::File { path, source }),
        };
        text.lines().map(|line| read_line(table, line)).collect()
    };
    let mut named = std::collections::HashSet::new();
    for table in ["version_blobs", "offer_blobs"] {
        for row in lines(table)? {
            if let [_, Value::Text(Some(digest))] = row.as_slice() {
                named.insert(digest.clone());
            }
        }
    }
    let mut blobs = Vec::new();
    for row in lines("blobs")? {
        if let [Value::Int(Some(size)), _, Value::Text(Some(hex))] = row.as_slice()
            && named.contains(hex)
        {
            blobs.push((crate::garbage::digest_of(hex)?, size.unsigned_abs()));
        }
    }
    Ok(blobs)
}
