//! What changes while the page is open: servers that list other skills, and folders of this machine.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::future::join_all;
use skillwire_client::{Change, Changes};
use skillwire_host::Listing;
use skillwire_source::watch_skill_folders;
use skillwire_trust::{Refusal, ServerLabel};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::{HostPage, ListingState, lock};
use crate::session::SkillFolders;

/// How long a server has to accept a subscription.
const LISTENING: Duration = Duration::from_secs(2);

/// The shortest time between two listings of a server that announces changes without end.
const SPACING: Duration = Duration::from_secs(1);

/// How often a server is looked at that announces nothing. While its listing is still fresh by its own
/// word, looking sends no request.
const LOOK: Duration = Duration::from_mins(1);

/// How often a server is looked at that announces changes, in case one was lost.
const LOOK_AT_ANNOUNCING: Duration = Duration::from_mins(5);

/// The first and the longest pause before a server that failed is asked again.
const RETRIES: (Duration, Duration) = (Duration::from_secs(10), Duration::from_mins(5));

/// How long the folders have to be quiet before they are read again.
const QUIET: Duration = Duration::from_millis(300);

impl HostPage {
    /// Lists every server that can be used, each as it answers, and again whenever one changes.
    pub(crate) async fn follow_servers(&self) {
        let labels = self.host.servers();
        for label in &labels {
            lock(&self.listings).insert(label.clone(), ListingState::Asked);
        }
        self.look_again().await;
        if self.offline {
            join_all(labels.iter().map(|label| self.list(label))).await;
            return;
        }
        join_all(self.configured.servers.keys().map(|label| self.follow_server(label))).await;
    }

    async fn follow_server(&self, label: &ServerLabel) {
        let mut asked_again = self.asked_again.subscribe();
        let mut changes = None;
        let mut retry = RETRIES.0;
        loop {
            asked_again.mark_unchanged();
            let Ok(relay) = self.host.relay(label) else {
                // Its token or login is missing. The user asks again once it is there.
                if asked_again.changed().await.is_err() {
                    return;
                }
                continue;
            };
            // The subscription begins before the listing, or a change between the two was in neither.
            if changes.is_none() {
                let heard = timeout(LISTENING, relay.listen()).await;
                changes = heard.ok().and_then(Result::ok);
            }
            let started = Instant::now();
            let pause = if self.list(label).await {
                retry = RETRIES.0;
                if changes.is_some() { LOOK_AT_ANNOUNCING } else { LOOK }
            } else {
                changes = None;
                relay.disconnect().await;
                let pause = retry;
                retry = (2 * retry).min(RETRIES.1);
                pause
            };
            let spaced = Instant::now() + SPACING.max(4 * started.elapsed());
            tokio::select! {
                () = sleep(pause) => {}
                () = announced(&mut changes) => {
                    sleep_until(spaced).await;
                    relay.expire_listing();
                }
                // It may have another address now, so the subscription begins anew.
                _ = asked_again.changed() => changes = None,
            }
        }
    }

    /// Lists one server while its listing is not fresh, and returns whether it answered.
    pub(super) async fn list(&self, label: &ServerLabel) -> bool {
        let at = SystemTime::now();
        let outcome = self.host.list(label).await;
        let is_listed = outcome.is_ok();
        self.take_listing(label, at, outcome);
        self.look_again().await;
        is_listed
    }

    /// Notes what came of listing a server, and tells open pages if that is something else than before.
    fn take_listing(
        &self,
        label: &ServerLabel,
        at: SystemTime,
        outcome: Result<Arc<Listing>, Refusal>,
    ) {
        let mut listings = lock(&self.listings);
        let before = listings.get(label);
        let is_news = match (before, &outcome) {
            (Some(ListingState::Listed { .. }), Ok(_)) => false,
            (Some(ListingState::Failed { refusal, .. }), Err(now)) => refusal != now,
            _ => true,
        };
        let state = match outcome {
            Ok(listing) => {
                let changed = match before {
                    Some(ListingState::Listed { listing: earlier, changed, .. }) => {
                        let is_same =
                            Arc::ptr_eq(earlier, &listing) || earlier.skills == listing.skills;
                        if is_same { *changed } else { Some(at) }
                    }
                    _ => None,
                };
                ListingState::Listed { at, listing, changed }
            }
            Err(refusal) => ListingState::Failed { at, refusal },
        };
        listings.insert(label.clone(), state);
        drop(listings);
        if is_news {
            self.live.send_modify(|live| live.skills += 1);
        }
    }

    /// Reads the folders of this machine again whenever something changes in them.
    pub(crate) async fn follow_folders(&self, folders: SkillFolders) {
        let news = Arc::new(Notify::new());
        let watcher = {
            let news = Arc::clone(&news);
            watch_skill_folders(folders.roots(), move |_| news.notify_one())
        };
        let folders = Arc::new(folders);
        loop {
            news.notified().await;
            sleep(QUIET).await;
            let (folders, host) = (Arc::clone(&folders), self.host.clone());
            let read = move || host.set_folders(folders.read());
            if tokio::task::spawn_blocking(read).await.is_err() {
                break;
            }
            self.look_again().await;
        }
        drop(watcher);
    }
}

/// Waits until a server announces that its skills changed. When its announcements end, this waits for a
/// moment, so that a server that ends them at once is not listed without end.
async fn announced(changes: &mut Option<Changes>) {
    let Some(open) = changes else { return std::future::pending().await };
    loop {
        match open.next().await {
            Some(Change::SkillsChanged | Change::Updated(_)) => return,
            Some(Change::ToolsChanged | Change::PromptsChanged) => {}
            None => {
                *changes = None;
                return sleep(LOOK).await;
            }
        }
    }
}
