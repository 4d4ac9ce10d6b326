//! Keeping a running server up to date.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use skillwire_catalog::{
    catalog::{Catalog, ViewId},
    refresh::{Refreshed, Refresher},
};
use skillwire_core::finding::{Code, Finding, Level, Strictness};
use skillwire_server::engine::Engine;
use skillwire_source::{
    namespace::SiteId,
    source::{Inspected, Look},
    watch::{News, Watch, WatchState, Watcher},
};
use tokio::{sync::mpsc, time::sleep_until};

use super::signals::Reload;
use crate::{exit::Exit, failure::Failure, report::printable, waiting::Waiting};

/// The shortest pause between two looks at the folders.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// The same while the system tells of every change, as far as it knows.
const WATCHED_PAUSE: Duration = Duration::from_mins(1);

/// A look may take at most one part in so many of the time.
const SHARE: u32 = 20;

/// How long after the start every file is read anew, whatever an index said about it.
const FIRST_READING: Duration = Duration::from_secs(30);

/// How often every file is read anew, whatever the file system says about changes.
const READING: Duration = Duration::from_hours(1);

/// Looks at the folders again and again.
pub(super) struct Live {
    refresher: Arc<Mutex<Refresher>>,
    strictness: Strictness,
    engine: Arc<Engine>,
    took: Duration,
    /// Whether the system tells of changes in every folder.
    watched: bool,
    /// What was said before, so that it is said once.
    told: Told,
    /// Who waits for the first look.
    waiting: Option<Waiting>,
}

/// What the operator was told, by what it is about.
#[derive(Default)]
struct Told {
    sites: BTreeMap<SiteId, BTreeSet<String>>,
    disputes: BTreeMap<Arc<str>, BTreeSet<String>>,
    folders: BTreeSet<String>,
    watches: BTreeSet<String>,
}

impl Live {
    pub(super) fn new(
        refresher: Refresher,
        strictness: Strictness,
        engine: Arc<Engine>,
        waiting: Waiting,
    ) -> Self {
        Self {
            refresher: Arc::new(Mutex::new(refresher)),
            strictness,
            engine,
            took: Duration::ZERO,
            watched: false,
            told: Told::default(),
            waiting: Some(waiting),
        }
    }

    pub(super) fn strictness(&self) -> Strictness {
        self.strictness
    }

    /// Looks at the folders once, off the event loop.
    pub(super) async fn refresh(&mut self, look: Look) -> Result<Refreshed, Failure> {
        let (whole, closely) = (look.at.is_none(), look.closely);
        let (shared, engine) = (Arc::clone(&self.refresher), Arc::clone(&self.engine));
        let started = Instant::now();
        let refreshed = tokio::task::spawn_blocking(move || {
            let refreshed = shared.lock().unwrap_or_else(PoisonError::into_inner).refresh(&look);
            if !refreshed.sites.is_empty() {
                tokio::task::spawn_blocking(move || engine.warm());
            }
            refreshed
        })
        .await
        .map_err(|error| Failure::new(Exit::Internal, format!("Reading skills broke: {error}.")))?;
        self.waiting = None;
        if whole && !closely {
            self.took = started.elapsed();
        }
        self.count(&refreshed);
        self.tell(&refreshed, whole);
        Ok(refreshed)
    }

    /// Keeps up with the folders for ever.
    pub(super) async fn follow(&mut self, reload: &mut Reload) {
        let catalog = self.catalog();
        let (sender, mut news) = mpsc::unbounded_channel();
        // The watcher gathers news for a while before it tells them, so few are ever waiting.
        let (_watcher, state) = Watcher::start(self.watched(), move |told| {
            let _ = sender.send(told);
        });
        let mut next_look = Instant::now() + self.pause();
        let mut next_reading = Instant::now() + FIRST_READING;
        loop {
            let look = tokio::select! {
                () = sleep_until(next_look.into()) => Look::everywhere(),
                () = sleep_until(next_reading.into()) => Look::everywhere().closely(),
                places = catalog.stale() => Look::at(places).closely(),
                Some(told) = news.recv() => match told {
                    News::Changed(paths) => Look::at(paths),
                    News::Everything => Look::everywhere(),
                },
                () = reload.requested() => {
                    tracing::info!("reading all folders again");
                    Look::everywhere()
                }
            };
            if look.at.is_none() && look.closely {
                next_reading = Instant::now() + READING;
            }
            let whole = look.at.is_none();
            if let Err(failure) = self.refresh(look).await {
                tracing::error!("{}", failure.message());
            }
            if whole {
                self.tell_watches(&state);
                next_look = Instant::now() + self.pause();
            }
        }
    }

    /// Says which folders the system tells nothing of.
    fn tell_watches(&mut self, state: &WatchState) {
        let mut unwatched = BTreeSet::new();
        for (root, watch) in state.roots() {
            if let Watch::Unwatched(reason) = watch {
                unwatched.insert(format!(
                    "{} is looked through from time to time instead of being watched: {reason}",
                    root.display()
                ));
            }
        }
        self.watched = state.roots().iter().all(|(_, watch)| *watch == Watch::Watched);
        say(&self.told.watches, Some(&unwatched));
        self.told.watches = unwatched;
    }

    fn watched(&self) -> Vec<PathBuf> {
        self.refresher.lock().unwrap_or_else(PoisonError::into_inner).watched()
    }

    fn catalog(&self) -> Arc<Catalog> {
        let shared = self.refresher.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(shared.catalog())
    }

    /// How long to wait before looking at everything again.
    fn pause(&self) -> Duration {
        let least = if self.watched { WATCHED_PAUSE } else { MIN_PAUSE };
        least.max(self.took * SHARE)
    }

    fn count(&self, refreshed: &Refreshed) {
        let served = self.catalog().now(ViewId::EVERYTHING);
        let served = served.map_or(0, |snapshot| snapshot.skill_count());
        self.engine.metrics().skills.set(i64::try_from(served).unwrap_or(i64::MAX));
        if !refreshed.changes.is_empty() {
            self.engine.metrics().snapshots.inc();
        }
    }

    /// Logs what is new: skipped skills, warnings, folders that cannot be read, and recoveries.
    fn tell(&mut self, refreshed: &Refreshed, whole: bool) {
        for (site, inspected) in &refreshed.sites {
            let now = inspected.iter().flat_map(|found| lines(found, self.strictness)).collect();
            let before = self.told.sites.insert(site.clone(), now);
            say(&before.unwrap_or_default(), self.told.sites.get(site));
        }
        for site in &refreshed.gone {
            say(&self.told.sites.remove(site).unwrap_or_default(), None);
        }
        self.told.sites.retain(|_, lines| !lines.is_empty());
        for (uri, disputes) in &refreshed.disputes {
            let now = disputes.iter().map(|(origin, f)| skipped(origin, f)).collect();
            let before = self.told.disputes.insert(Arc::clone(uri), now);
            say(&before.unwrap_or_default(), self.told.disputes.get(uri));
        }
        self.told.disputes.retain(|_, lines| !lines.is_empty());
        if whole {
            let gone = refreshed.unavailable.iter();
            let gone = gone.map(|folder| format!("{folder} What it held before is still served."));
            let now: BTreeSet<_> = gone.chain(refreshed.findings.iter().map(line)).collect();
            say(&self.told.folders, Some(&now));
            self.told.folders = now;
        }
    }
}

/// What there is to say about one place.
fn lines(inspected: &Inspected, strictness: Strictness) -> Vec<String> {
    if inspected.skill.is_some() {
        return inspected.findings.iter().filter(|f| concerns_operator(f)).map(line).collect();
    }
    // A dispute is told with the URI it is about.
    let reasons = inspected.reasons(strictness).filter(|f| f.code != Code::PathCollision);
    reasons.map(|finding| skipped(&inspected.origin, finding)).collect()
}

fn skipped(origin: &str, finding: &Finding) -> String {
    format!("skipped {origin}: {}", line(finding))
}

/// Logs what was not said before, and what no longer holds.
fn say(before: &BTreeSet<String>, now: Option<&BTreeSet<String>>) {
    let nothing = BTreeSet::new();
    let now = now.unwrap_or(&nothing);
    for news in now.difference(before) {
        tracing::warn!("{}", printable(news));
    }
    for gone in before.difference(now) {
        tracing::info!("no longer: {}", printable(gone));
    }
}

/// Tells whether whoever runs the server must know, although the skill is served: it breaks the
/// format, shares its name, or holds something that looks like a skill and is none. The rest is for
/// authors, who run `skillwire check`.
fn concerns_operator(finding: &Finding) -> bool {
    finding.level == Level::Error
        || matches!(finding.code, Code::DuplicateName | Code::NestedSkillInvalid)
}

fn line(finding: &Finding) -> String {
    let place = match finding.position {
        Some(position) => format!("{}:{}", finding.file, position.line),
        None => finding.file.clone(),
    };
    format!("{} ({place}) [{}]", finding.message, finding.code)
}
