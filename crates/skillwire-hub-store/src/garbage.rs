//! Deleting blobs that no version and no offer names, and checking those that one names.

use std::time::Duration;

use skillwire_core::Digest;
use skillwire_hub::{Action, AuditAction, Caller, NewAuditEntry};

use crate::{
    error::StoreError,
    sql::{Row, args},
    store::{HubStore, WriteTx},
};

/// How many blobs are deleted while the lock is held.
const BATCH: usize = 32;

/// Which blobs are garbage.
///
/// A publication writes a row for each of its blobs with the time, then the blobs, then the version or offer
/// that names them. Garbage is what neither names and what no publication touched within `grace`, which
/// must be longer than any upload takes. Blobs are deleted while the lock of all writers is held, so
/// that no publication can touch one in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GcOptions {
    /// How long a blob stays after it was last touched.
    pub grace: Duration,
    /// How many of the newest events stay for replicas; one that is further behind loads everything.
    pub keep_events: u64,
    /// Whether to count only, and delete nothing.
    pub dry_run: bool,
}

impl Default for GcOptions {
    fn default() -> Self {
        Self { grace: Duration::from_hours(24), keep_events: 100_000, dry_run: false }
    }
}

impl GcOptions {
    /// Sets how long a blob stays after it was last touched.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Counts only, and deletes nothing.
    #[must_use]
    pub fn with_dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }
}

/// What garbage collection deleted, or would delete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GcReport {
    /// How many blobs.
    pub blobs: u64,
    /// How many bytes they had.
    pub bytes: u64,
}

/// What a check of all blobs found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlobCheck {
    /// How many blobs were read and compared.
    pub checked: u64,
    /// Blobs that have other bytes or are missing.
    pub damaged: Vec<Digest>,
}

impl HubStore {
    /// Deletes blobs that no version names. Only for administrators.
    #[tracing::instrument(skip_all, fields(dry_run = options.dry_run))]
    pub async fn collect_garbage(
        &self,
        caller: &Caller,
        options: GcOptions,
    ) -> Result<GcReport, StoreError> {
        caller.require_administrator(Action::Operate)?;
        let before = self.now().minus(options.grace).as_millis();
        let mut report = GcReport::default();
        let mut after = (0, String::new());
        loop {
            // Candidates are found without the lock, and looked at once more with it.
            let select = "SELECT b.digest, b.size, b.touched_at FROM blobs b
                WHERE b.touched_at < $1 AND (b.touched_at, b.digest) > ($2, $3)
                AND NOT EXISTS (SELECT 1 FROM version_blobs v WHERE v.digest = b.digest)
                AND NOT EXISTS (SELECT 1 FROM offer_blobs o WHERE o.digest = b.digest)
                ORDER BY b.touched_at, b.digest LIMIT $4";
            let batch = i64::try_from(BATCH).unwrap_or(32);
            let values = args![before, after.0, &after.1, batch];
            let found = self.database().rows(select, values).await?;
            let Some(last) = found.last() else { break };
            after = (last.int(2)?, last.text(0)?);
            if options.dry_run {
                for row in &found {
                    report.blobs += 1;
                    report.bytes += row.count(1)?;
                }
                continue;
            }
            let mut tx = self.begin_write(&caller.subject).await?;
            let result = self.delete_garbage(&mut tx, &found, before).await;
            let deleted = tx.finish(result).await?;
            report.blobs += deleted.blobs;
            report.bytes += deleted.bytes;
        }
        if !options.dry_run {
            self.trim_outbox(options.keep_events).await?;
        }
        Ok(report)
    }

    async fn delete_garbage(
        &self,
        tx: &mut WriteTx,
        candidates: &[Row],
        before: i64,
    ) -> Result<GcReport, StoreError> {
        let mut report = GcReport::default();
        let mut garbage = Vec::new();
        let check = "SELECT b.digest, b.size FROM blobs b WHERE b.digest = $1 AND b.touched_at < $2
            AND NOT EXISTS (SELECT 1 FROM version_blobs v WHERE v.digest = b.digest)
            AND NOT EXISTS (SELECT 1 FROM offer_blobs o WHERE o.digest = b.digest)";
        for row in candidates {
            let hex = row.text(0)?;
            if let Some(row) = tx.tx().row(check, args![&hex, before]).await? {
                report.blobs += 1;
                report.bytes += row.count(1)?;
                garbage.push(digest_of(&hex)?);
            }
        }
        self.blobs().delete_all(&garbage).await?;
        forget_blobs(tx, &garbage).await?;
        if report.blobs > 0 {
            let details = serde_json::json!({"blobs": report.blobs, "bytes": report.bytes});
            tx.audit(NewAuditEntry {
                action: AuditAction::CollectGarbage,
                target: "blobs".to_owned(),
                content: None,
                details: details.to_string(),
            })
            .await?;
        }
        Ok(report)
    }

    /// Reads every blob that a version names and compares it. Damage is recorded in the audit log.
    #[tracing::instrument(skip_all)]
    pub async fn verify_blobs(&self) -> Result<BlobCheck, StoreError> {
        let mut check = BlobCheck::default();
        let mut after = String::new();
        loop {
            let rows = self.named_blobs(&after).await?;
            let Some((last, _)) = rows.last() else { return Ok(check) };
            after = last.hex();
            for (digest, size) in rows {
                match self.read_blob(&digest, size).await {
                    Ok(_) => {}
                    Err(StoreError::BlobDamaged { .. } | StoreError::BlobMissing { .. }) => {
                        check.damaged.push(digest);
                    }
                    Err(error) => return Err(error),
                }
                check.checked += 1;
            }
        }
    }

    /// Returns up to 200 blobs after one that versions name, with their sizes, in order.
    pub(crate) async fn named_blobs(&self, after: &str) -> Result<Vec<(Digest, u64)>, StoreError> {
        let select = "SELECT b.digest, b.size FROM blobs b WHERE b.digest > $1
            AND (EXISTS (SELECT 1 FROM version_blobs v WHERE v.digest = b.digest)
                OR EXISTS (SELECT 1 FROM offer_blobs o WHERE o.digest = b.digest))
            ORDER BY b.digest LIMIT 200";
        let rows = self.database().rows(select, args![after]).await?;
        rows.iter().map(|row| Ok((digest_of(&row.text(0)?)?, row.count(1)?))).collect()
    }
}

/// Deletes the rows of blobs that were deleted.
pub(crate) async fn forget_blobs(tx: &mut WriteTx, blobs: &[Digest]) -> Result<(), StoreError> {
    for digest in blobs {
        tx.execute("DELETE FROM blobs WHERE digest = $1", args![digest.hex()]).await?;
    }
    Ok(())
}

pub(crate) fn digest_of(hex: &str) -> Result<Digest, StoreError> {
    let digest = format!("sha256:{hex}").parse();
    digest.map_err(|_| StoreError::corrupt(format!("the digest `{hex}`")))
}
