//! The audit log: searching, recording reads, and checking its chain.

use std::collections::BTreeMap;

use skillwire_core::ContentId;
use skillwire_hub::{
    Action, AuditAction, AuditEntry, AuditFilter, BrokenChain, Caller, ChainHash, Commitment,
    Cursor, NewAuditEntry, Page, PageRequest, SkillId, Timestamp, verify_chain,
};

use crate::{
    error::StoreError,
    records::time_of,
    sql::{Row, Value, args},
    store::{HubStore, from_hex, number},
};

/// The columns that [`entry_of`] reads.
macro_rules! audit_columns {
    () => {
        "number, at, actor, actor_salt, actor_commitment, action, target, content, details, \
         details_salt, details_commitment, hash"
    };
}

/// Reads of one content by one caller within a moment, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRecord {
    /// Who read.
    pub actor: String,
    /// The version that was read, or whatever names it.
    pub target: String,
    /// The content it belongs to.
    pub content: ContentId,
    /// The files that were read, and how often.
    pub files: BTreeMap<String, u64>,
}

/// A call of a tool or prompt of an upstream, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// Who called.
    pub actor: String,
    /// The upstream.
    pub upstream: String,
    /// The method, such as `tools/call`.
    pub method: &'static str,
    /// The upstream's own name of the tool or prompt.
    pub name: String,
    /// How the call ended.
    pub outcome: String,
    /// When it ended.
    pub ended_at: Timestamp,
    /// How many milliseconds it took.
    pub took_ms: u64,
}

impl HubStore {
    /// Searches the audit log, the newest entries first. Entries about a skill are also those about its versions.
    /// Only for administrators.
    pub async fn audit(
        &self,
        caller: &Caller,
        filter: &AuditFilter,
        page: &PageRequest,
    ) -> Result<Page<AuditEntry>, StoreError> {
        caller.require_administrator(Action::ReadAudit)?;
        let before = match &page.after {
            Some(cursor) => number(cursor.number("audit")?),
            None => i64::MAX,
        };
        let mut sql =
            concat!("SELECT ", audit_columns!(), " FROM audit WHERE number < $1").to_owned();
        let mut values = args![before];
        if let Some(target) = &filter.target {
            values.push(target.into());
            if target.parse::<SkillId>().is_ok() {
                // Versions are `NAMESPACE/NAME@VERSION`. `A` follows `@`, so the index finds them as a range.
                sql.push_str(" AND (target = $2 OR (target >= $3 AND target < $4))");
                values.push(format!("{target}@").into());
                values.push(format!("{target}A").into());
            } else {
                sql.push_str(" AND target = $2");
            }
        }
        // Columns are constants; what a caller wrote becomes an argument.
        let mut limit_to = |condition: &str, value: Value| {
            values.push(value);
            sql.extend([" AND ", condition, " $", &values.len().to_string()]);
        };
        if let Some(content) = filter.content {
            limit_to("content =", content.to_string().into());
        }
        if let Some(actor) = &filter.actor {
            limit_to("actor =", actor.into());
        }
        if let Some(action) = filter.action {
            limit_to("action =", action.as_str().into());
        }
        if let Some(since) = filter.since {
            limit_to("at >=", since.as_millis().into());
        }
        if let Some(until) = filter.until {
            limit_to("at <", until.as_millis().into());
        }
        values.push(Value::from(i64::from(page.limit()) + 1));
        sql.extend([" ORDER BY number DESC LIMIT $", &values.len().to_string()]);
        let mut tx = self.begin_read().await?;
        let rows = tx.rows_built(sql, values).await?;
        tx.commit().await?;
        let items = rows.iter().map(entry_of).collect::<Result<_, _>>()?;
        Ok(Page::cut(items, page.limit(), |last: &AuditEntry| {
            Cursor::new("audit", &[&last.number.to_string()])
        }))
    }

    /// Records reads in one transaction, and how many others could not be recorded. Servers collect some
    /// before they call this.
    pub async fn record_reads(&self, reads: &[ReadRecord], lost: u64) -> Result<(), StoreError> {
        if reads.is_empty() && lost == 0 {
            return Ok(());
        }
        let hub = crate::hub_subject()?;
        let recorded = reads.iter().map(|read| {
            let details = serde_json::json!({"files": read.files});
            let entry = entry(AuditAction::Read, &read.target, Some(read.content), &details);
            (read.actor.as_str(), entry)
        });
        let missing = (lost > 0).then(|| (hub.as_str(), not_recorded(AuditAction::Read, lost)));
        let mut tx = self.begin_write(&hub).await?;
        let result = tx.audit_all(recorded.chain(missing)).await;
        tx.finish(result).await
    }

    /// Records calls in one transaction, and how many others could not be recorded. Servers collect some
    /// before they call this.
    pub async fn record_calls(&self, calls: &[CallRecord], lost: u64) -> Result<(), StoreError> {
        if calls.is_empty() && lost == 0 {
            return Ok(());
        }
        let hub = crate::hub_subject()?;
        let recorded = calls.iter().map(|call| {
            let details = serde_json::json!({
                "method": call.method,
                "name": call.name,
                "outcome": call.outcome,
                "ended": call.ended_at.to_string(),
                "took_ms": call.took_ms,
            });
            (call.actor.as_str(), entry(AuditAction::Call, &call.upstream, None, &details))
        });
        let missing = (lost > 0).then(|| (hub.as_str(), not_recorded(AuditAction::Call, lost)));
        let mut tx = self.begin_write(&hub).await?;
        let result = tx.audit_all(recorded.chain(missing)).await;
        tx.finish(result).await
    }

    /// Checks the whole chain, also against what the hub's row says the last entry is. Returns how
    /// many entries there are, or where the chain breaks.
    #[tracing::instrument(skip_all)]
    pub async fn verify_audit(&self) -> Result<Result<u64, BrokenChain>, StoreError> {
        let mut tx = self.begin_read().await?;
        let head = "SELECT audit, audit_hash FROM hub WHERE id = 1";
        let head = tx.row(head, args![]).await?;
        let head = head.ok_or_else(|| StoreError::corrupt("no row of the hub"))?;
        let expected = (head.count(0)?, ChainHash::from_digest(head.parsed(1, "hash")?));
        let mut last = (0, ChainHash::genesis());
        loop {
            let select = concat!(
                "SELECT ",
                audit_columns!(),
                " FROM audit WHERE number > $1 ORDER BY number LIMIT 1000"
            );
            let rows = tx.rows(select, args![number(last.0)]).await?;
            let entries = rows.iter().map(entry_of).collect::<Result<Vec<_>, _>>()?;
            if entries.is_empty() {
                break;
            }
            last = match verify_chain(last, &entries) {
                Ok(last) => last,
                Err(broken) => return Ok(Err(broken)),
            };
        }
        tx.commit().await?;
        // Entries that were cut off at the end leave a chain that holds, but not up to the hub's row.
        if last == expected { Ok(Ok(last.0)) } else { Ok(Err(BrokenChain { number: last.0 + 1 })) }
    }
}

fn entry(
    action: AuditAction,
    target: &str,
    content: Option<ContentId>,
    details: &serde_json::Value,
) -> NewAuditEntry {
    NewAuditEntry { action, target: target.to_owned(), content, details: details.to_string() }
}

/// The entry by which the log itself says where it is incomplete.
fn not_recorded(action: AuditAction, lost: u64) -> NewAuditEntry {
    entry(action, "*", None, &serde_json::json!({ "not_recorded": lost }))
}

fn entry_of(row: &Row) -> Result<AuditEntry, StoreError> {
    let content = row.optional_text(7)?;
    let content = content.map(|text| text.parse::<ContentId>()).transpose();
    Ok(AuditEntry {
        number: row.count(0)?,
        at: time_of(row, 1)?,
        actor: row.text(2)?,
        actor_salt: row.optional_text(3)?.map(|text| from_hex(&text)).transpose()?,
        actor_commitment: Commitment::from_digest(row.parsed(4, "commitment")?),
        action: row.parsed(5, "action")?,
        target: row.text(6)?,
        content: content.map_err(|_| StoreError::corrupt("a content of the audit log"))?,
        details: row.text(8)?,
        details_salt: row.optional_text(9)?.map(|text| from_hex(&text)).transpose()?,
        details_commitment: Commitment::from_digest(row.parsed(10, "commitment")?),
        hash: ChainHash::from_digest(row.parsed(11, "hash")?),
    })
}
