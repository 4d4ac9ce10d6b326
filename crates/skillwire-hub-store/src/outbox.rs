//! Following the changes of a hub.
//!
//! Events are numbered without gaps in the order of their commits, so a follower that remembers the last
//! number misses nothing. Polling is the truth; `NOTIFY` and this process's own commits only make it
//! poll sooner.

use std::time::Duration;

use skillwire_hub::{HubChange, OutboxEvent};
use sqlx::postgres::PgListener;
use tokio::{sync::watch, time::Instant};

use crate::{
    error::StoreError,
    garbage::digest_of,
    records::time_of,
    sql::{Pools, args},
    store::{HubStore, NOTIFY_CHANNEL, number},
};

/// The most events that are read at once.
const MAX_EVENTS: u32 = 1_000;

/// How long connecting the listener may hold up polling.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(1);

/// Events after a number, and how far the hub is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxPage {
    /// The events, in order.
    pub events: Vec<OutboxEvent>,
    /// The number of the last event that was committed.
    pub head: u64,
    /// Whether events after the number are missing: they were trimmed, or the hub was restored.
    pub gap: bool,
}

impl HubStore {
    /// Returns the number of the last event.
    pub async fn outbox_head(&self) -> Result<u64, StoreError> {
        let row = self.database().row("SELECT outbox FROM hub WHERE id = 1", args![]).await?;
        row.map_or(Ok(0), |row| row.count(0))
    }

    /// Returns events after a number, at most `limit` of them.
    pub async fn outbox_after(&self, after: u64, limit: u32) -> Result<OutboxPage, StoreError> {
        let mut tx = self.begin_read().await?;
        let head = tx.row("SELECT outbox FROM hub WHERE id = 1", args![]).await?;
        let head = head.map_or(Ok(0), |row| row.count(0))?;
        let mut events = Vec::new();
        if head > after {
            let select = "SELECT number, at, change FROM outbox WHERE number > $1
                ORDER BY number LIMIT $2";
            let limit = i64::from(limit.clamp(1, MAX_EVENTS));
            for row in tx.rows(select, args![number(after), limit]).await? {
                // An event that cannot be read must not stop a replica: it loads everything again.
                let change = serde_json::from_str(&row.text(2)?).unwrap_or(HubChange::Unknown);
                events.push(OutboxEvent { number: row.count(0)?, at: time_of(&row, 1)?, change });
            }
        }
        tx.commit().await?;
        let expected = (after + 1..).take(events.len());
        let in_order = events.iter().map(|event| event.number).eq(expected);
        let gap = head < after || !in_order || (head > after && events.is_empty());
        Ok(OutboxPage { events, head, gap })
    }

    /// Returns what tells a replica of commits before it polls again.
    pub async fn hints(&self) -> ChangeHints {
        let source = match &self.database().pools {
            Pools::Sqlite { .. } => HintSource::Process(self.inner.committed.subscribe()),
            Pools::Postgres(_) => HintSource::Postgres(None),
        };
        let mut hints = ChangeHints { store: self.clone(), source };
        hints.listen().await;
        hints
    }

    /// Deletes the files of erased versions from the cache of this replica; `None` if it is not known which
    /// versions were erased.
    pub async fn forget_erased(&self, events: Option<&[OutboxEvent]>) -> Result<(), StoreError> {
        let Some(events) = events else { return self.blobs().forget_all_cached().await };
        for event in events {
            if let HubChange::VersionPurged { blobs, .. } = &event.change {
                let digests = blobs.iter().filter_map(|hex| digest_of(hex).ok()).collect();
                self.blobs().forget_cached(digests).await?;
            }
        }
        Ok(())
    }

    /// Deletes events that are older than the newest `keep`. Followers that are further behind see a gap.
    pub async fn trim_outbox(&self, keep: u64) -> Result<u64, StoreError> {
        let mut tx = self.begin_write(&crate::hub_subject()?).await?;
        let last = tx.last_event().saturating_sub(keep);
        let delete = "DELETE FROM outbox WHERE number <= $1";
        let result = tx.execute(delete, args![number(last)]).await;
        tx.finish(result).await
    }
}

/// Tells a replica to look for changes before its interval of polling ends.
///
/// A hint may be lost or come twice. What a replica applies is what [`HubStore::outbox_after`] returns.
pub struct ChangeHints {
    store: HubStore,
    source: HintSource,
}

enum HintSource {
    /// Commits of this process. SQLite has no other way, and other processes are seen by polling.
    Process(watch::Receiver<u64>),
    /// `NOTIFY` of PostgreSQL; not connected until it is needed, and again after it broke.
    Postgres(Option<PgListener>),
}

impl ChangeHints {
    /// Waits for a hint, or until the time has passed.
    ///
    /// A commit between two calls is a hint for the second one, so that none falls in between.
    pub async fn wait(&mut self, at_most: Duration) {
        let deadline = Instant::now() + at_most;
        self.listen().await;
        match &mut self.source {
            HintSource::Process(committed) => {
                let _ = tokio::time::timeout_at(deadline, committed.changed()).await;
            }
            HintSource::Postgres(Some(listener)) => {
                let heard = tokio::time::timeout_at(deadline, listener.try_recv()).await;
                if let Ok(Err(_) | Ok(None)) = heard {
                    // The connection broke; the next call makes another.
                    self.source = HintSource::Postgres(None);
                }
            }
            HintSource::Postgres(None) => tokio::time::sleep_until(deadline).await,
        }
    }

    /// Connects the listener. Without one, polling goes on.
    async fn listen(&mut self) {
        let HintSource::Postgres(listener @ None) = &mut self.source else { return };
        let Pools::Postgres(pool) = &self.store.database().pools else { return };
        let connect = async {
            let mut listener = PgListener::connect_with(pool).await?;
            listener.listen(NOTIFY_CHANNEL).await?;
            Ok::<_, sqlx::Error>(listener)
        };
        match tokio::time::timeout(LISTEN_TIMEOUT, connect).await {
            Ok(Ok(connected)) => *listener = Some(connected),
            Ok(Err(error)) => {
                tracing::debug!(%error, "no notices of the database; polling goes on");
            }
            Err(_) => tracing::debug!("no notices of the database in time; polling goes on"),
        }
    }
}
