//! Work that any replica may do, taken with a lease so that a crash gives it to another.

use std::time::Duration;

use skillwire_hub::Timestamp;

use crate::{
    error::StoreError,
    sql::args,
    store::{HubStore, number},
};

/// Work to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// What kind of work.
    pub kind: String,
    /// What it needs, in the form that its worker reads.
    pub payload: String,
    /// A name that only one waiting job may have: queueing it again changes nothing.
    pub unique_key: Option<String>,
    /// When it may begin.
    pub run_at: Timestamp,
}

/// Work that a worker has leased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its number.
    pub id: u64,
    /// What kind of work.
    pub kind: String,
    /// What it needs.
    pub payload: String,
    /// How often it was leased, this time included.
    pub attempts: u64,
    /// Until when the lease holds.
    pub leased_until: Timestamp,
}

impl HubStore {
    /// Queues work and returns its number; that of the waiting job if one has the same unique key.
    pub async fn enqueue(&self, job: NewJob) -> Result<u64, StoreError> {
        let mut tx = self.begin_write(&crate::hub_subject()?).await?;
        let result = async {
            if let Some(key) = &job.unique_key {
                let select = "SELECT id FROM jobs WHERE unique_key = $1";
                if let Some(row) = tx.tx().row(select, args![key]).await? {
                    return row.count(0);
                }
            }
            let id = tx.next_key();
            let insert = "INSERT INTO jobs (id, kind, payload, unique_key, run_at, attempts)
                VALUES ($1, $2, $3, $4, $5, 0)";
            let run_at = job.run_at.as_millis();
            let values = args![id, job.kind, job.payload, job.unique_key, run_at];
            tx.execute(insert, values).await?;
            Ok(id.unsigned_abs())
        }
        .await;
        tx.finish(result).await
    }

    /// Leases the longest waiting work of a kind. Work whose lease ended is given out again.
    pub async fn lease_job(
        &self,
        kind: &str,
        worker: &str,
        lease: Duration,
    ) -> Result<Option<Job>, StoreError> {
        const SQLITE: &str =
            "UPDATE jobs SET worker = $1, leased_until = $2, attempts = attempts + 1
            WHERE id = (SELECT id FROM jobs WHERE kind = $3 AND run_at <= $4
                AND (leased_until IS NULL OR leased_until <= $4) ORDER BY run_at, id LIMIT 1)
            RETURNING id, kind, payload, attempts, leased_until";
        const POSTGRES: &str =
            "UPDATE jobs SET worker = $1, leased_until = $2, attempts = attempts + 1
            WHERE id = (SELECT id FROM jobs WHERE kind = $3 AND run_at <= $4
                AND (leased_until IS NULL OR leased_until <= $4) ORDER BY run_at, id LIMIT 1
                FOR UPDATE SKIP LOCKED)
            RETURNING id, kind, payload, attempts, leased_until";
        let now = self.now();
        let mut tx = self.database().begin_write().await?;
        let sql = if tx.is_postgres() { POSTGRES } else { SQLITE };
        let until = now.plus(lease).as_millis();
        let row = tx.row(sql, args![worker, until, kind, now.as_millis()]).await?;
        tx.commit().await?;
        let job = row.map(|row| {
            Ok(Job {
                id: row.count(0)?,
                kind: row.text(1)?,
                payload: row.text(2)?,
                attempts: row.count(3)?,
                leased_until: Timestamp::from_millis(row.int(4)?),
            })
        });
        job.transpose()
    }

    /// Extends a lease. Returns whether the worker still has it.
    pub async fn renew_job(
        &self,
        id: u64,
        worker: &str,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let update = "UPDATE jobs SET leased_until = $3
            WHERE id = $1 AND worker = $2 AND leased_until > $4";
        let now = self.now();
        let until = now.plus(lease).as_millis();
        let mut tx = self.database().begin_write().await?;
        let rows = tx.execute(update, args![number(id), worker, until, now.as_millis()]).await?;
        tx.commit().await?;
        Ok(rows == 1)
    }

    /// Ends work. Returns whether the worker still had it; if not, another does it again.
    pub async fn finish_job(&self, id: u64, worker: &str) -> Result<bool, StoreError> {
        let delete = "DELETE FROM jobs WHERE id = $1 AND worker = $2";
        let mut tx = self.database().begin_write().await?;
        let rows = tx.execute(delete, args![number(id), worker]).await?;
        tx.commit().await?;
        Ok(rows == 1)
    }

    /// Gives work back after a failure, to be done again at a later time.
    pub async fn retry_job(
        &self,
        id: u64,
        worker: &str,
        error: &str,
        run_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let update = "UPDATE jobs SET worker = NULL, leased_until = NULL, run_at = $3,
            last_error = $4 WHERE id = $1 AND worker = $2";
        let error: String = error.chars().take(1_000).collect();
        let mut tx = self.database().begin_write().await?;
        let values = args![number(id), worker, run_at.as_millis(), error];
        let rows = tx.execute(update, values).await?;
        tx.commit().await?;
        Ok(rows == 1)
    }
}
