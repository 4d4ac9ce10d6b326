//! The upstreams of a hub.

use skillwire_hub::{
    Action, AuditAction, Caller, HubChange, NamespaceName, NewAuditEntry, Quotas, Refusal,
    ResourcePatterns, ReviewPolicy, ReviewRules, Role, Subject, Timestamp, ToolPatterns, Upstream,
    UpstreamLimits, UpstreamMode, UpstreamSource,
};

use crate::{
    error::StoreError,
    namespaces::{insert_grant, insert_namespace, load_required},
    offers::apply_rules,
    records::{load_namespace, subject_of, time_of},
    sql::{Row, Tx, args},
    store::{HubStore, WriteTx, from_json, to_json},
};

/// An upstream, and who added it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamRecord {
    /// The upstream.
    pub upstream: Upstream,
    /// Whether the configuration file of a replica describes it.
    pub configured: bool,
    /// When it was added.
    pub created_at: Timestamp,
    /// Who added it.
    pub created_by: Subject,
}

/// What of an upstream changes; what is not set stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpstreamChange {
    /// Where its skills come from.
    pub source: Option<UpstreamSource>,
    /// How they are passed on.
    pub mode: Option<UpstreamMode>,
    /// The most that it may cost.
    pub limits: Option<UpstreamLimits>,
    /// Which new content is approved without a reviewer.
    pub rules: Option<ReviewRules>,
    /// Which of its tools and prompts clients may use.
    pub tools: Option<ToolPatterns>,
    /// Which of its resources that belong to no skill clients may read.
    pub resources: Option<ResourcePatterns>,
    /// Whether giving up a pin is meant.
    pub leave_pin: bool,
}

/// What a configuration file changed about upstreams.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfiguredUpstreams {
    /// Upstreams that are new.
    pub added: Vec<NamespaceName>,
    /// Upstreams that are different now.
    pub changed: Vec<NamespaceName>,
    /// Upstreams that the file does not describe any more.
    pub removed: Vec<NamespaceName>,
    /// Upstreams that stay as they are, because the file would leave `pin`.
    pub pinned: Vec<NamespaceName>,
}

/// The columns that [`record_of`] reads.
macro_rules! upstream_columns {
    () => {
        "label, source, mode, limits, rules, configured, created_at, created_by, tools, resources"
    };
}

impl HubStore {
    /// Adds an upstream. Its label becomes a namespace, unless one without skills has that name.
    #[tracing::instrument(skip_all, fields(label = %upstream.label))]
    pub async fn add_upstream(
        &self,
        caller: &Caller,
        upstream: Upstream,
        configured: bool,
    ) -> Result<UpstreamRecord, StoreError> {
        caller.require_administrator(Action::ManageHub)?;
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = insert_upstream(&mut tx, caller, &upstream, configured).await;
        tx.finish(result).await
    }

    /// Changes an upstream; a change to what it is already changes nothing. What waits and what its rules
    /// approve now is approved in the same transaction.
    #[tracing::instrument(skip_all, fields(%label))]
    pub async fn change_upstream(
        &self,
        caller: &Caller,
        label: &NamespaceName,
        change: UpstreamChange,
    ) -> Result<UpstreamRecord, StoreError> {
        caller.require_administrator(Action::ManageHub)?;
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = async {
            let before = require_upstream(tx.tx(), label).await?;
            let mode = change.mode.unwrap_or(before.upstream.mode);
            let source = change.source.unwrap_or_else(|| before.upstream.source.clone());
            let mut after = Upstream::new(label.clone(), source, before.upstream.mode)?
                .with_limits(change.limits.unwrap_or(before.upstream.limits))?
                .with_rules(change.rules.unwrap_or(before.upstream.rules))
                .with_tools(change.tools.unwrap_or_else(|| before.upstream.tools.clone()))
                .with_resources(
                    change.resources.unwrap_or_else(|| before.upstream.resources.clone()),
                );
            after.change_mode(mode, change.leave_pin)?;
            let configured = before.configured;
            let record = update_upstream(&mut tx, before, &after, configured).await?;
            apply_rules(&mut tx, &record.upstream).await?;
            Ok(record)
        }
        .await;
        tx.finish(result).await
    }

    /// Removes an upstream and what the hub keeps of it. Decisions and the namespace stay.
    #[tracing::instrument(skip_all, fields(%label))]
    pub async fn remove_upstream(
        &self,
        caller: &Caller,
        label: &NamespaceName,
        leave_pin: bool,
    ) -> Result<UpstreamRecord, StoreError> {
        caller.require_administrator(Action::ManageHub)?;
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = async {
            let before = require_upstream(tx.tx(), label).await?;
            before.upstream.require_unpinned(leave_pin)?;
            delete_upstream(&mut tx, &before.upstream).await?;
            Ok(before)
        }
        .await;
        tx.finish(result).await
    }

    /// Makes the upstreams that a configuration file describes those that are marked as configured, in one
    /// transaction. What a file says never leaves `pin`: such upstreams stay as they are and are named.
    #[tracing::instrument(skip_all, fields(upstreams = wanted.len()))]
    pub async fn configure_upstreams(
        &self,
        caller: &Caller,
        wanted: &[Upstream],
    ) -> Result<ConfiguredUpstreams, StoreError> {
        caller.require_administrator(Action::ManageHub)?;
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = async {
            let mut report = ConfiguredUpstreams::default();
            for upstream in wanted {
                let label = &upstream.label;
                let Some(before) = load_upstream(tx.tx(), label).await? else {
                    insert_upstream(&mut tx, caller, upstream, true).await?;
                    report.added.push(label.clone());
                    continue;
                };
                let leaves = upstream.mode != UpstreamMode::Pin
                    && before.upstream.require_unpinned(false).is_err();
                if leaves {
                    report.pinned.push(label.clone());
                } else if before.upstream != *upstream || !before.configured {
                    update_upstream(&mut tx, before, upstream, true).await?;
                    apply_rules(&mut tx, upstream).await?;
                    report.changed.push(label.clone());
                }
            }
            let select = "SELECT label FROM upstreams WHERE configured = 1 ORDER BY label";
            for row in tx.tx().rows(select, args![]).await? {
                let label: NamespaceName = row.parsed(0, "label")?;
                if wanted.iter().any(|upstream| upstream.label == label) {
                    continue;
                }
                let before = require_upstream(tx.tx(), &label).await?.upstream;
                if before.require_unpinned(false).is_err() {
                    report.pinned.push(label);
                } else {
                    delete_upstream(&mut tx, &before).await?;
                    report.removed.push(label);
                }
            }
            Ok(report)
        }
        .await;
        tx.finish(result).await
    }

    /// Returns an upstream that the caller may read.
    pub async fn upstream(
        &self,
        caller: &Caller,
        label: &NamespaceName,
    ) -> Result<UpstreamRecord, StoreError> {
        let mut tx = self.begin_read().await?;
        let found = async {
            load_required(&mut tx, caller, label, Action::Read)
                .await
                .map_err(|_| StoreError::from(Refusal::UnknownUpstream(label.clone())))?;
            require_upstream(&mut tx, label).await
        }
        .await;
        tx.commit().await?;
        found
    }

    /// Returns the upstreams that the caller may read, by label.
    pub async fn upstreams(&self, caller: &Caller) -> Result<Vec<UpstreamRecord>, StoreError> {
        let namespaces = self.all_namespaces().await?;
        let readable = |record: &UpstreamRecord| {
            let label = &record.upstream.label;
            let namespace = namespaces.iter().find(|namespace| namespace.name == *label);
            namespace.is_some_and(|namespace| caller.may(Action::Read, namespace))
        };
        let all = self.all_upstreams().await?;
        Ok(all.into_iter().filter(readable).collect())
    }

    /// Returns every upstream, by label; for replicas that follow them.
    pub async fn all_upstreams(&self) -> Result<Vec<UpstreamRecord>, StoreError> {
        let select = concat!("SELECT ", upstream_columns!(), " FROM upstreams ORDER BY label");
        let rows = self.database().rows(select, args![]).await?;
        rows.iter().map(record_of).collect()
    }
}

async fn insert_upstream(
    tx: &mut WriteTx,
    caller: &Caller,
    upstream: &Upstream,
    configured: bool,
) -> Result<UpstreamRecord, StoreError> {
    let label = &upstream.label;
    if load_upstream(tx.tx(), label).await?.is_some() {
        return Err(Refusal::UpstreamTaken(label.clone()).into());
    }
    match load_namespace(tx.tx(), label).await? {
        Some(namespace) if namespace.usage.skills > 0 => {
            return Err(Refusal::UpstreamTaken(label.clone()).into());
        }
        Some(_) => {}
        None => {
            let quotas = Quotas::default();
            insert_namespace(tx, label, false, ReviewPolicy::None, &quotas).await?;
            insert_grant(tx, label, &caller.subject, Role::Owner).await?;
            tx.announce(HubChange::NamespaceChanged { namespace: label.clone() }).await?;
        }
    }
    let insert = "INSERT INTO upstreams (label, source, mode, limits, rules, configured,
        created_at, created_by, tools, resources) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let values = args![
        label.as_str(),
        to_json(&upstream.source)?,
        upstream.mode.as_str(),
        to_json(&upstream.limits)?,
        to_json(&upstream.rules)?,
        configured,
        tx.now.as_millis(),
        caller.subject.as_str(),
        to_json(&upstream.tools)?,
        to_json(&upstream.resources)?,
    ];
    tx.execute(insert, values).await?;
    record_change(tx, upstream, "add").await?;
    load_upstream(tx.tx(), label).await?.ok_or_else(|| gone(label))
}

async fn update_upstream(
    tx: &mut WriteTx,
    before: UpstreamRecord,
    after: &Upstream,
    configured: bool,
) -> Result<UpstreamRecord, StoreError> {
    if *after == before.upstream && configured == before.configured {
        return Ok(before);
    }
    let update = "UPDATE upstreams SET source = $2, mode = $3, limits = $4, rules = $5,
        configured = $6, tools = $7, resources = $8 WHERE label = $1";
    let values = args![
        after.label.as_str(),
        to_json(&after.source)?,
        after.mode.as_str(),
        to_json(&after.limits)?,
        to_json(&after.rules)?,
        configured,
        to_json(&after.tools)?,
        to_json(&after.resources)?,
    ];
    tx.execute(update, values).await?;
    record_change(tx, after, "set").await?;
    require_upstream(tx.tx(), &after.label).await
}

async fn delete_upstream(tx: &mut WriteTx, upstream: &Upstream) -> Result<(), StoreError> {
    let label = upstream.label.as_str();
    let blobs = "DELETE FROM offer_blobs WHERE offer IN
        (SELECT id FROM offers WHERE upstream = $1)";
    tx.execute(blobs, args![label]).await?;
    tx.execute("DELETE FROM offers WHERE upstream = $1", args![label]).await?;
    tx.execute("DELETE FROM observations WHERE upstream = $1", args![label]).await?;
    tx.execute("DELETE FROM upstreams WHERE label = $1", args![label]).await?;
    record_change(tx, upstream, "remove").await
}

/// Refuses a namespace that belongs to an upstream.
pub(crate) async fn require_own(tx: &mut Tx, namespace: &NamespaceName) -> Result<(), StoreError> {
    let select = "SELECT label FROM upstreams WHERE label = $1";
    match tx.row(select, args![namespace.as_str()]).await? {
        None => Ok(()),
        Some(_) => Err(Refusal::BelongsToUpstream(namespace.clone()).into()),
    }
}

pub(crate) async fn load_upstream(
    tx: &mut Tx,
    label: &NamespaceName,
) -> Result<Option<UpstreamRecord>, StoreError> {
    let select = concat!("SELECT ", upstream_columns!(), " FROM upstreams WHERE label = $1");
    let row = tx.row(select, args![label.as_str()]).await?;
    row.map(|row| record_of(&row)).transpose()
}

pub(crate) async fn require_upstream(
    tx: &mut Tx,
    label: &NamespaceName,
) -> Result<UpstreamRecord, StoreError> {
    let found = load_upstream(tx, label).await?;
    found.ok_or_else(|| Refusal::UnknownUpstream(label.clone()).into())
}

fn gone(label: &NamespaceName) -> StoreError {
    StoreError::corrupt(format!("an upstream `{label}` that is gone after it was added"))
}

fn record_of(row: &Row) -> Result<UpstreamRecord, StoreError> {
    let label: NamespaceName = row.parsed(0, "label")?;
    let mode = row.text(2)?;
    let corrupt = |what: &str| StoreError::corrupt(format!("the {what} of the upstream `{label}`"));
    let mode = mode.parse().map_err(|()| corrupt("mode"))?;
    let source = from_json(&row.text(1)?, "source of an upstream")?;
    let upstream = Upstream::new(label.clone(), source, mode)
        .and_then(|upstream| {
            let limits = serde_json::from_str(&row.text(3).unwrap_or_default());
            upstream.with_limits(limits.unwrap_or_default())
        })
        .map_err(|_| corrupt("record"))?;
    Ok(UpstreamRecord {
        upstream: upstream
            .with_rules(from_json(&row.text(4)?, "rules of an upstream")?)
            .with_tools(from_json(&row.text(8)?, "tools of an upstream")?)
            .with_resources(from_json(&row.text(9)?, "resources of an upstream")?),
        configured: row.flag(5)?,
        created_at: time_of(row, 6)?,
        created_by: subject_of(row, 7)?,
    })
}

/// Writes the audit entry and the event of a change.
async fn record_change(
    tx: &mut WriteTx,
    upstream: &Upstream,
    step: &str,
) -> Result<(), StoreError> {
    let details = serde_json::json!({
        "step": step,
        "mode": upstream.mode,
        "source": upstream.source,
        "limits": upstream.limits,
        "rules": upstream.rules,
        "tools": upstream.tools,
        "resources": upstream.resources,
    });
    tx.audit(NewAuditEntry {
        action: AuditAction::ChangeUpstream,
        target: upstream.label.to_string(),
        content: None,
        details: details.to_string(),
    })
    .await?;
    tx.announce(HubChange::UpstreamChanged { upstream: upstream.label.clone() }).await
}
