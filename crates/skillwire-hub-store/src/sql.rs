//! One way to run the same statements on SQLite and on PostgreSQL.
//!
//! Statements use `$1` and only three kinds of columns: whole numbers of 64 bits, texts, and either of
//! them absent. Booleans, times and digests are kept as those, so that no statement depends on a type
//! that only one engine has.

use std::{future::Future, time::Duration};

use sqlx::{
    AssertSqlSafe, PgPool, Postgres, Row as _, SqlSafeStr, SqlStr, Sqlite, SqlitePool,
    pool::PoolConnection, postgres::PgRow, sqlite::SqliteRow,
};

use crate::error::StoreError;

/// An argument of a statement.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Int(Option<i64>),
    Text(Option<String>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}

impl From<Option<i64>> for Value {
    fn from(value: Option<i64>) -> Self {
        Self::Int(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Int(Some(i64::from(value)))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.to_owned()))
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(Some(value))
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Self::Text(Some(value.clone()))
    }
}

impl From<Option<String>> for Value {
    fn from(value: Option<String>) -> Self {
        Self::Text(value)
    }
}

/// The arguments of a statement, each turned into a [`Value`].
macro_rules! args {
    ($($value:expr),* $(,)?) => { vec![$($crate::sql::Value::from($value)),*] };
}
pub(crate) use args;

/// A row of a result.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    pub(crate) fn int(&self, column: usize) -> Result<i64, StoreError> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(column)?,
            Self::Postgres(row) => row.try_get(column)?,
        })
    }

    pub(crate) fn optional_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(column)?,
            Self::Postgres(row) => row.try_get(column)?,
        })
    }

    pub(crate) fn text(&self, column: usize) -> Result<String, StoreError> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(column)?,
            Self::Postgres(row) => row.try_get(column)?,
        })
    }

    pub(crate) fn optional_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(column)?,
            Self::Postgres(row) => row.try_get(column)?,
        })
    }

    /// A count or size, which is never negative.
    pub(crate) fn count(&self, column: usize) -> Result<u64, StoreError> {
        let value = self.int(column)?;
        u64::try_from(value).map_err(|_| StoreError::corrupt(format!("the negative count {value}")))
    }

    pub(crate) fn flag(&self, column: usize) -> Result<bool, StoreError> {
        Ok(self.int(column)? != 0)
    }

    /// A text that was written by a type of the domain and is read back by it.
    pub(crate) fn parsed<T: std::str::FromStr>(
        &self,
        column: usize,
        what: &str,
    ) -> Result<T, StoreError> {
        let text = self.text(column)?;
        text.parse().map_err(|_| StoreError::corrupt(format!("the {what} `{text}`")))
    }
}

/// Builds a query of one engine with its arguments. A macro, as the bounds of a generic function would
/// have to name every type of both engines.
macro_rules! query {
    ($engine:ty, $sql:expr, $arguments:expr) => {{
        let mut query = sqlx::query::<$engine>($sql);
        for argument in $arguments {
            query = match argument {
                Value::Int(value) => query.bind(value),
                Value::Text(value) => query.bind(value),
            };
        }
        query
    }};
}

/// An open transaction.
///
/// It is not the one of `sqlx`: SQLite ends a transaction by itself when the disk is full, and `sqlx` would
/// believe for good that it is still open, and refuse to begin another on that connection. A connection
/// goes back to its pool only after `COMMIT` or `ROLLBACK` succeeded; otherwise it is closed, which ends
/// its transaction on either engine.
pub(crate) enum Tx {
    Sqlite(OpenTransaction<Sqlite>),
    Postgres(OpenTransaction<Postgres>),
}

/// A connection in a transaction.
pub(crate) struct OpenTransaction<E: sqlx::Database> {
    /// Present until the transaction ended well.
    connection: Option<PoolConnection<E>>,
    limit: Duration,
}

impl<E: sqlx::Database> OpenTransaction<E> {
    fn connection(&mut self) -> Result<&mut E::Connection, StoreError> {
        match &mut self.connection {
            Some(connection) => Ok(&mut **connection),
            None => Err(StoreError::corrupt("a transaction that has ended")),
        }
    }
}

impl<E: sqlx::Database> Drop for OpenTransaction<E> {
    fn drop(&mut self) {
        if let Some(connection) = &mut self.connection {
            connection.close_on_drop();
        }
    }
}

/// Runs `COMMIT` or `ROLLBACK` and gives the connection back if it succeeded.
macro_rules! end {
    ($transaction:expr, $sql:expr) => {{
        let mut transaction = $transaction;
        let limit = transaction.limit;
        in_time(limit, sqlx::raw_sql($sql).execute(transaction.connection()?)).await?;
        drop(transaction.connection.take());
        Ok(())
    }};
}

/// Takes a connection and begins a transaction on it.
macro_rules! begin {
    ($variant:path, $pool:expr, $limit:expr, $sql:expr) => {{
        let connection = Some(in_time($limit, $pool.acquire()).await?);
        let mut transaction = OpenTransaction { connection, limit: $limit };
        in_time($limit, sqlx::raw_sql($sql).execute(transaction.connection()?)).await?;
        Ok($variant(transaction))
    }};
}

impl Tx {
    pub(crate) async fn execute(
        &mut self,
        sql: &'static str,
        arguments: Vec<Value>,
    ) -> Result<u64, StoreError> {
        self.execute_sql(sql.into_sql_str(), arguments).await
    }

    /// Runs a statement that was put together here, of constants and numbered placeholders only.
    pub(crate) async fn execute_built(
        &mut self,
        sql: String,
        arguments: Vec<Value>,
    ) -> Result<u64, StoreError> {
        self.execute_sql(AssertSqlSafe(sql).into_sql_str(), arguments).await
    }

    async fn execute_sql(&mut self, sql: SqlStr, arguments: Vec<Value>) -> Result<u64, StoreError> {
        match self {
            Self::Sqlite(tx) => {
                let query = query!(Sqlite, sql, arguments);
                Ok(in_time(tx.limit, query.execute(tx.connection()?)).await?.rows_affected())
            }
            Self::Postgres(tx) => {
                let query = query!(Postgres, sql, arguments);
                Ok(in_time(tx.limit, query.execute(tx.connection()?)).await?.rows_affected())
            }
        }
    }

    pub(crate) async fn rows(
        &mut self,
        sql: &'static str,
        arguments: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        self.rows_sql(sql.into_sql_str(), arguments).await
    }

    /// Runs a query that was put together here, of constants and numbered placeholders only.
    pub(crate) async fn rows_built(
        &mut self,
        sql: String,
        arguments: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        self.rows_sql(AssertSqlSafe(sql).into_sql_str(), arguments).await
    }

    async fn rows_sql(
        &mut self,
        sql: SqlStr,
        arguments: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        match self {
            Self::Sqlite(tx) => {
                let query = query!(Sqlite, sql, arguments);
                let rows = in_time(tx.limit, query.fetch_all(tx.connection()?)).await?;
                Ok(rows.into_iter().map(Row::Sqlite).collect())
            }
            Self::Postgres(tx) => {
                let query = query!(Postgres, sql, arguments);
                let rows = in_time(tx.limit, query.fetch_all(tx.connection()?)).await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    pub(crate) async fn row(
        &mut self,
        sql: &'static str,
        arguments: Vec<Value>,
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, arguments).await?.into_iter().next())
    }

    /// Runs a script of several statements, such as a migration.
    pub(crate) async fn script(&mut self, sql: &'static str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(tx) => {
                sqlx::raw_sql(sql).execute(tx.connection()?).await?;
            }
            Self::Postgres(tx) => {
                sqlx::raw_sql(sql).execute(tx.connection()?).await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(transaction) => end!(transaction, "COMMIT"),
            Self::Postgres(transaction) => end!(transaction, "COMMIT"),
        }
    }

    pub(crate) async fn roll_back(self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(transaction) => end!(transaction, "ROLLBACK"),
            Self::Postgres(transaction) => end!(transaction, "ROLLBACK"),
        }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(..))
    }
}

/// Bounds a statement: a database behind a broken network does not answer, and does not hang up either.
pub(crate) async fn in_time<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(limit, work).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(StoreError::database_timeout()),
    }
}

/// The pools of one engine.
#[derive(Clone)]
pub(crate) enum Pools {
    /// Many connections that read, and one that writes: SQLite has one writer at a time, and a queue in
    /// front of one connection is faster and fairer than eight that find the database locked.
    Sqlite { readers: SqlitePool, writer: SqlitePool },
    /// PostgreSQL lets many connections write; the row of the hub orders them.
    Postgres(PgPool),
}

/// A database of either engine.
#[derive(Clone)]
pub(crate) struct Database {
    pub(crate) pools: Pools,
    /// How long one statement may take.
    pub(crate) limit: Duration,
}

impl Database {
    /// Begins a transaction that reads one state of the database.
    pub(crate) async fn begin_read(&self) -> Result<Tx, StoreError> {
        match &self.pools {
            Pools::Sqlite { readers, .. } => {
                begin!(Tx::Sqlite, readers, self.limit, "BEGIN")
            }
            Pools::Postgres(pool) => {
                let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                begin!(Tx::Postgres, pool, self.limit, begin)
            }
        }
    }

    /// Begins a transaction that writes. On SQLite it has the lock at once: a transaction that reads first
    /// and writes later fails when another wrote in between.
    pub(crate) async fn begin_write(&self) -> Result<Tx, StoreError> {
        match &self.pools {
            Pools::Sqlite { writer, .. } => {
                begin!(Tx::Sqlite, writer, self.limit, "BEGIN IMMEDIATE")
            }
            Pools::Postgres(pool) => {
                begin!(Tx::Postgres, pool, self.limit, "BEGIN")
            }
        }
    }

    /// Runs one query outside a transaction.
    pub(crate) async fn rows(
        &self,
        sql: &'static str,
        arguments: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        match &self.pools {
            Pools::Sqlite { readers, .. } => {
                let query = query!(Sqlite, sql, arguments);
                let rows = in_time(self.limit, query.fetch_all(readers)).await?;
                Ok(rows.into_iter().map(Row::Sqlite).collect())
            }
            Pools::Postgres(pool) => {
                let query = query!(Postgres, sql, arguments);
                let rows = in_time(self.limit, query.fetch_all(pool)).await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// Runs one query outside a transaction and returns its first row.
    pub(crate) async fn row(
        &self,
        sql: &'static str,
        arguments: Vec<Value>,
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, arguments).await?.into_iter().next())
    }

    pub(crate) async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { readers, writer } => {
                readers.close().await;
                writer.close().await;
            }
            Pools::Postgres(pool) => pool.close().await,
        }
    }
}

/// Appends `($1, $2), ($3, $4), …` to a statement.
pub(crate) fn with_rows(start: &str, columns: usize, rows: usize, end: &str) -> String {
    let mut sql = start.to_owned();
    for row in 0..rows {
        sql.push_str(if row == 0 { " (" } else { ", (" });
        for column in 0..columns {
            let comma = if column == 0 { "" } else { ", " };
            sql.push_str(comma);
            sql.push('$');
            sql.push_str(&(row * columns + column + 1).to_string());
        }
        sql.push(')');
    }
    sql.push_str(end);
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered_row_by_row() {
        let sql = with_rows("INSERT INTO t VALUES", 2, 2, " ON CONFLICT DO NOTHING");
        assert_eq!(sql, "INSERT INTO t VALUES ($1, $2), ($3, $4) ON CONFLICT DO NOTHING");
    }
}
