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

    /// Follows the events after a number.
    pub async fn follow(&self, after: u64) -> Result<Follower, StoreError> {
        let hints = match &self.database().pools {
            Pools::Sqlite { .. } => Hints::Process(self.inner.committed.subscribe()),
            Pools::Postgres(_) => Hints::Postgres(None),
        };
        let mut follower = Follower { store: self.clone(), after, hints };
        follower.listen().await;
        Ok(follower)
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

/// What a follower found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// Events, in order and without a gap.
    Events(Vec<OutboxEvent>),
    /// Nothing happened while it waited.
    Nothing,
    /// Events are missing. The replica loads everything again and resumes at `head`.
    Gap {
        /// The number of the last event, read before anything is loaded again.
        head: u64,
    },
}

/// What tells a follower to look sooner.
enum Hints {
    /// Commits of this process. SQLite has no other way, and other processes are seen by polling.
    Process(watch::Receiver<u64>),
    /// `NOTIFY` of PostgreSQL; not connected until it is needed, and again after it broke.
    Postgres(Option<PgListener>),
}

/// Follows the events of a hub from a number on.
pub struct Follower {
    store: HubStore,
    after: u64,
    hints: Hints,
}

impl Follower {
    /// Returns the number of the last event that was returned.
    pub fn position(&self) -> u64 {
        self.after
    }

    /// Goes on after a number, when everything was loaded again.
    pub fn resume(&mut self, after: u64) {
        self.after = after;
    }

    /// Returns the next events, or waits for a hint or until `wait` has passed, and looks once more.
    ///
    /// A caller calls this in a loop; `wait` is its interval of polling.
    pub async fn next(&mut self, wait: Duration) -> Result<Followed, StoreError> {
        let deadline = Instant::now() + wait;
        // Listening begins before looking, so that no commit falls in between.
        self.listen().await;
        match self.look().await? {
            Followed::Nothing => {}
            found => return Ok(found),
        }
        self.wait_until(deadline).await;
        self.look().await
    }

    async fn look(&mut self) -> Result<Followed, StoreError> {
        let page = self.store.outbox_after(self.after, MAX_EVENTS).await?;
        if page.gap {
            return Ok(Followed::Gap { head: page.head });
        }
        match page.events.last() {
            None => Ok(Followed::Nothing),
            Some(last) => {
                self.after = last.number;
                self.forget_purged(&page.events).await?;
                Ok(Followed::Events(page.events))
            }
        }
    }

    /// Deletes erased files from the cache of this replica.
    async fn forget_purged(&self, events: &[OutboxEvent]) -> Result<(), StoreError> {
        for event in events {
            if let HubChange::VersionPurged { blobs, .. } = &event.change {
                let digests = blobs.iter().filter_map(|hex| digest_of(hex).ok()).collect();
                self.store.blobs().forget_cached(digests).await?;
            }
        }
        Ok(())
    }

    /// Connects the listener. Without one, polling goes on.
    async fn listen(&mut self) {
        let Hints::Postgres(listener @ None) = &mut self.hints else { return };
        let Pools::Postgres(pool) = &self.store.database().pools else { return };
        let connect = async {
            let mut listener = PgListener::connect_with(pool).await?;
            listener.listen(NOTIFY_CHANNEL).await?;
            Ok::<_, sqlx::Error>(listener)
        };
        match tokio::time::timeout(self.store.database().limit, connect).await {
            Ok(Ok(connected)) => *listener = Some(connected),
            Ok(Err(error)) => {
                tracing::debug!(%error, "no notices of the database; polling goes on");
            }
            Err(_) => tracing::debug!("no notices of the database in time; polling goes on"),
        }
    }

    async fn wait_until(&mut self, deadline: Instant) {
        match &mut self.hints {
            Hints::Process(committed) => {
                let after = self.after;
                let newer = committed.wait_for(|number| *number > after);
                let _ = tokio::time::timeout_at(deadline, newer).await;
            }
            Hints::Postgres(Some(listener)) => {
                let heard = tokio::time::timeout_at(deadline, listener.try_recv()).await;
                if let Ok(Err(_) | Ok(None)) = heard {
                    // The connection broke; the next call makes another.
                    self.hints = Hints::Postgres(None);
                }
            }
            Hints::Postgres(None) => tokio::time::sleep_until(deadline).await,
        }
    }
}
