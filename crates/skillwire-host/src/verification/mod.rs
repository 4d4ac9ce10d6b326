//! The audit of a whole server: every rule a host applies, and the duties that can be seen from
//! outside.

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

use crate::{host::Host, remote::Remote};

/// How strongly the extension demands what was not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Demand {
    /// A conforming server must.
    Must,
    /// A good server should.
    Should,
}

/// One thing that is not as it ought to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How strongly the extension demands it.
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

/// What a verification found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Verification {
    /// Skills that were listed and could be read.
    pub skills: usize,
    /// Files whose bytes match.
    pub files: usize,
    /// Skills without digests, which cannot be verified.
    pub dynamic: usize,
    /// Skills with files that have no digests, which are held to what is seen first.
    pub first_seen: usize,
    /// How the server offers its skills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// What that way of offering them cannot guarantee, in sentences.
    pub not_guaranteed: Vec<&'static str>,
    /// Everything that is not as it ought to be, MUSTs first.
    pub findings: Vec<Finding>,
}

impl Verification {
    /// Tells whether no MUST is broken.
    pub fn passed(&self) -> bool {
        self.findings.iter().all(|finding| finding.demand == Demand::Should)
    }
}

/// How far a verification has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Skills that are done.
    pub done: usize,
    /// Skills there are.
    pub total: usize,
}

/// How a verification goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Skills that are read at the same time.
    pub skills_in_flight: usize,
    /// Requests in flight within one skill.
    pub files_in_flight: usize,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self { skills_in_flight: 16, files_in_flight: 4 }
    }
}

impl Host {
    /// Verifies everything a server lists. Nothing is approved, loaded or cached.
    #[tracing::instrument(skip_all, fields(%label))]
    pub async fn verify(
        &self,
        label: &ServerLabel,
        options: VerifyOptions,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Verification, Refusal> {
        let remote = self.remote(label)?;
        // A verification is about what the server says now.
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
        // The other duties of the extension hold only for servers that speak it.
        if dialect == Some(Dialect::V1) {
            found.findings.extend(duties::check(&remote, &listing).await);
        }
        found.findings.sort_by_key(|finding| finding.demand);
        Ok(found)
    }
}

/// Does the same for every item, some at a time, and returns the results in the items' order.
async fn each<'a, T, R>(items: &'a [T], at_once: usize, work: impl AsyncFn(&'a T) -> R) -> Vec<R> {
    use futures_util::StreamExt as _;
    let work = &work;
    futures_util::stream::iter(items.iter().map(|item| work(item)))
        .buffered(at_once.max(1))
        .collect()
        .await
}

/// The server a verification talks to.
type Server = Arc<Remote>;
