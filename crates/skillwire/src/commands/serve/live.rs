//! Keeping a running server up to date.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use skillwire_catalog::refresh::{Refreshed, Refresher};
use skillwire_core::finding::{Code, Finding, Level, Strictness};

use super::signals::Reload;
use crate::{exit::Exit, failure::Failure, report::printable};

/// The shortest pause between two looks at the folders.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// A look may take at most one part in so many of the time.
const SHARE: u32 = 20;

/// Looks at the folders again and again.
pub(super) struct Live {
    refresher: Arc<Mutex<Refresher>>,
    strictness: Strictness,
    took: Duration,
    /// What was said before, so that it is said once.
    told: BTreeSet<String>,
}

impl Live {
    pub(super) fn new(refresher: Refresher, strictness: Strictness) -> Self {
        Self {
            refresher: Arc::new(Mutex::new(refresher)),
            strictness,
            took: Duration::ZERO,
            told: BTreeSet::new(),
        }
    }

    pub(super) fn strictness(&self) -> Strictness {
        self.strictness
    }

    /// Reads all folders once, off the event loop.
    pub(super) async fn refresh(&mut self) -> Result<Refreshed, Failure> {
        let shared = Arc::clone(&self.refresher);
        let started = Instant::now();
        let refreshed = tokio::task::spawn_blocking(move || {
            shared.lock().unwrap_or_else(PoisonError::into_inner).refresh()
        })
        .await
        .map_err(|error| Failure::new(Exit::Internal, format!("Reading skills broke: {error}.")))?;
        self.took = started.elapsed();
        self.tell(&refreshed);
        Ok(refreshed)
    }

    /// Refreshes for ever: on SIGHUP, and as often as a small share of time allows.
    pub(super) async fn follow(&mut self, reload: &mut Reload) {
        loop {
            let pause = MIN_PAUSE.max(self.took * SHARE);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = reload.requested() => tracing::info!("reading all folders again"),
            }
            if let Err(failure) = self.refresh().await {
                tracing::error!("{}", failure.message());
            }
        }
    }

    /// Logs what is new: skipped skills, warnings, folders that cannot be read, and recoveries.
    fn tell(&mut self, refreshed: &Refreshed) {
        let mut now = BTreeSet::new();
        for unavailable in &refreshed.unavailable {
            now.insert(format!("{unavailable} What it held before is still served."));
        }
        for inspected in &refreshed.scan.inspected {
            if inspected.skill.is_some() {
                now.extend(inspected.findings.iter().filter(|f| concerns_operator(f)).map(line));
            } else {
                let reasons = inspected.reasons(self.strictness);
                now.extend(reasons.map(|f| format!("skipped {}: {}", inspected.origin, line(f))));
            }
        }
        now.extend(refreshed.scan.findings.iter().map(line));
        for news in now.difference(&self.told) {
            tracing::warn!("{}", printable(news));
        }
        for gone in self.told.difference(&now) {
            tracing::info!("no longer: {}", printable(gone));
        }
        self.told = now;
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
