//! Decisions of reviewers about content.

use skillwire_core::ContentId;
use skillwire_hub::{
    Action, AuditAction, Caller, Cursor, Decision, HubChange, NewAuditEntry, Page, PageRequest,
    Refusal, Timestamp, Verdict,
};

use crate::{
    error::StoreError,
    lifecycle::check_reason,
    records::{optional_time_of, subject_of, time_of},
    sql::{Row, args},
    store::{HubStore, WriteTx, from_json, number, to_json},
};

/// The columns that [`decision_of`] reads.
macro_rules! decision_columns {
    () => {
        "id, content, place, verdict, decided_by, at, reason, until_at, findings"
    };
}
pub(crate) use decision_columns;

impl HubStore {
    /// Records a decision about content of an upstream. Decisions about versions of the hub come from
    /// [`HubStore::transition`]. Only for administrators.
    pub async fn decide(&self, caller: &Caller, decision: Decision) -> Result<(), StoreError> {
        caller.require_administrator(Action::Operate)?;
        check_reason(&decision.reason)?;
        if decision.place.is_empty() || decision.place.len() > 300 {
            return Err(Refusal::BadText { what: "place", limit: 300 }.into());
        }
        let mut tx = self.begin_write(&caller.subject).await?;
        let decision = Decision { by: caller.subject.clone(), at: tx.now, ..decision };
        let result = insert_decision(&mut tx, &decision).await;
        tx.finish(result).await
    }

    /// Returns the last decision about content in a place, if it still holds.
    pub async fn decision(
        &self,
        place: &str,
        content: &ContentId,
    ) -> Result<Option<Decision>, StoreError> {
        let select = concat!(
            "SELECT ",
            decision_columns!(),
            " FROM decisions WHERE content = $1 AND place = $2 ORDER BY id DESC LIMIT 1"
        );
        let row = self.database().row(select, args![content.to_string(), place]).await?;
        let decision = row.map(|row| decision_of(&row, 0)).transpose()?;
        Ok(decision.map(|(_, decision)| decision).filter(|decision| decision.holds(self.now())))
    }

    /// Lists the decisions in a place, the newest first. Only for administrators.
    pub async fn decisions(
        &self,
        caller: &Caller,
        place: &str,
        page: &PageRequest,
    ) -> Result<Page<Decision>, StoreError> {
        caller.require_administrator(Action::Operate)?;
        let before = match &page.after {
            Some(cursor) => number(cursor.number("decisions")?),
            None => i64::MAX,
        };
        let select = concat!(
            "SELECT ",
            decision_columns!(),
            " FROM decisions WHERE place = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
        );
        let limit = i64::from(page.limit()) + 1;
        let rows = self.database().rows(select, args![place, before, limit]).await?;
        let items = rows.iter().map(|row| decision_of(row, 0)).collect::<Result<_, _>>()?;
        let page = Page::cut(items, page.limit(), |(id, _): &(i64, Decision)| {
            Cursor::new("decisions", &[&id.to_string()])
        });
        Ok(page.map(|(_, decision)| decision))
    }
}

/// Writes a decision with its audit entry and event.
pub(crate) async fn insert_decision(
    tx: &mut WriteTx,
    decision: &Decision,
) -> Result<(), StoreError> {
    let key = tx.next_key();
    let insert =
        "INSERT INTO decisions (id, content, place, verdict, decided_by, at, reason, until_at,
        findings) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let verdict = match decision.verdict {
        Verdict::Approve => "approve",
        Verdict::Reject => "reject",
    };
    let values = args![
        key,
        decision.content.to_string(),
        decision.place.as_str(),
        verdict,
        decision.by.as_str(),
        decision.at.as_millis(),
        decision.reason.as_str(),
        decision.until.map(Timestamp::as_millis),
        to_json(&decision.open_findings)?,
    ];
    tx.execute(insert, values).await?;
    tx.audit(NewAuditEntry {
        action: AuditAction::Decide,
        target: decision.place.clone(),
        content: Some(decision.content),
        details: to_json(decision)?,
    })
    .await?;
    let (content, place) = (decision.content, decision.place.clone());
    tx.announce(HubChange::Decided { content, place }).await
}

/// Reads the columns of `decision_columns!`, which begin at `first`.
pub(crate) fn decision_of(row: &Row, first: usize) -> Result<(i64, Decision), StoreError> {
    let verdict = match row.text(first + 3)?.as_str() {
        "approve" => Verdict::Approve,
        "reject" => Verdict::Reject,
        other => return Err(StoreError::corrupt(format!("the verdict `{other}`"))),
    };
    let decision = Decision {
        content: row.parsed(first + 1, "content")?,
        place: row.text(first + 2)?,
        verdict,
        by: subject_of(row, first + 4)?,
        at: time_of(row, first + 5)?,
        reason: row.text(first + 6)?,
        until: optional_time_of(row, first + 7)?,
        open_findings: from_json(&row.text(first + 8)?, "findings")?,
    };
    Ok((row.int(first)?, decision))
}
