//! The verification of a whole server: every rule that a host applies, and the duties that are
//! visible from outside.

mod directories;
mod duties;
mod skills;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde::Serialize;
use skillwire_dialects::Dialect;
use skillwire_trust::{Reason, Refusal, ServerLabel};

use skillwire_remote::Remote;

use crate::host::Host;

/// How strongly the extension requires what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Demand {
    /// The extension requires it (MUST).
    Must,
    /// The extension recommends it (SHOULD).
    Should,
}

/// One violation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How strongly the extension requires it.
    pub demand: Demand,
    /// What is wrong.
    #[serde(flatten)]
    pub refusal: Refusal,
}

impl Finding {
    fn must(refusal: Refusal) -> Self {
        Self { demand: Demand::Must, refusal }
    }

    fn should(refusal: Refusal) -> Self {
        Self { demand: Demand::Should, refusal }
    }
}

/// The result of a verification.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Verification {
    /// How many skills were listed and could be read.
    pub skills: usize,
    /// How many files match.
    pub files: usize,
    /// How many skills have no digests and cannot be verified.
    pub dynamic: usize,
    /// How many skills have files without digests, which a host holds to the bytes it reads first.
    pub first_seen: usize,
    /// The dialect of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// What the dialect cannot guarantee, in sentences.
    pub not_guaranteed: Vec<&'static str>,
    /// Every violation, MUSTs first.
    pub findings: Vec<Finding>,
}

impl Verification {
    /// Tells whether the server violates no MUST.
    pub fn passed(&self) -> bool {
        self.findings.iter().all(|finding| finding.demand == Demand::Should)
    }
}

/// The progress of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// How many skills are done.
    pub done: usize,
    /// How many skills there are.
    pub total: usize,
}

/// Options of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyOptions {
    /// How many skills are read concurrently.
    pub skills_in_flight: usize,
    /// How many requests are in flight within one skill.
    pub files_in_flight: usize,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self { skills_in_flight: 16, files_in_flight: 4 }
    }
}

impl VerifyOptions {
    /// Sets how many skills are read concurrently.
    #[must_use]
    pub fn with_skills_in_flight(self, skills_in_flight: usize) -> Self {
        Self { skills_in_flight, ..self }
    }

    /// Sets how many requests are in flight within one skill.
    #[must_use]
    pub fn with_files_in_flight(self, files_in_flight: usize) -> Self {
        Self { files_in_flight, ..self }
    }
}

impl Host {
    /// Verifies everything that a server lists; approves, loads and caches nothing.
    #[tracing::instrument(skip_all, fields(%label))]
    pub async fn verify(
        &self,
        label: &ServerLabel,
        options: VerifyOptions,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Verification, Refusal> {
        let remote = self.remote(label)?;
        // A verification must test what the server says now.
        remote.forget_dialect();
        let listing = remote.list().await?;
        let dialect = listing.dialect;
        let mut found = Verification {
            skills: listing.skills.len(),
            dialect,
            not_guaranteed: dialect.map(|dialect| dialect.lacks().to_vec()).unwrap_or_default(),
            ..Verification::default()
        };
        found.findings.extend(listing.refused.iter().cloned().map(Finding::must));
        found.findings.extend(listing.truncated.clone().map(Finding::must));
        let warnings = listing.warnings.iter().map(|warning| {
            Finding::should(Refusal::new(Reason::ProtocolError).about(label).actual(warning))
        });
        found.findings.extend(warnings);

        let total = listing.skills.len();
        let done = AtomicUsize::new(0);
        let step = || {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(Progress { done, total });
        };
        let checked = each(&listing.skills, options.skills_in_flight, async |listed| {
            let checked = skills::check(&remote, listed, options.files_in_flight).await;
            step();
            checked
        });
        for checked in checked.await {
            found.files += checked.files;
            found.dynamic += usize::from(checked.dynamic);
            found.first_seen += usize::from(checked.first_seen);
            found.findings.extend(checked.findings);
        }
        // The other duties of the extension apply only to servers that speak it.
        if dialect == Some(Dialect::V1) {
            found.findings.extend(duties::check(&remote, &listing).await);
        }
        found.findings.sort_by_key(|finding| finding.demand);
        Ok(found)
    }
}

/// Processes every item, a few at a time, and returns the results in the order of the items.
async fn each<'a, T, R>(items: &'a [T], at_once: usize, work: impl AsyncFn(&'a T) -> R) -> Vec<R> {
    use futures_util::StreamExt as _;
    let work = &work;
    futures_util::stream::iter(items.iter().map(|item| work(item)))
        .buffered(at_once.max(1))
        .collect()
        .await
}

/// The server under verification.
type Server = Arc<Remote>;
