//! What `serve` does between its first scan and its first answer: refuses, warns and says what it
//! serves.

use std::sync::Arc;

use skillwire_catalog::{Refreshed, ViewId};
use skillwire_core::{Code, Strictness};
use skillwire_server::{Catalog, Skills};
use skillwire_source::SkillContent;

use super::{
    live::LiveFolders,
    summary::{self, ClientSetup},
};
use crate::{exit::Exit, failure::Failure, report, settings::NamedSkills};

/// What is left to do once the folders were read for the first time.
pub(super) struct StartChecks {
    named: NamedSkills,
    /// Whether a user at a terminal may be shown text that is not a line of the log.
    shows_text: bool,
    /// Work that can wait until no requests come in.
    idle_work: Vec<Box<dyn FnOnce() + Send>>,
}

impl StartChecks {
    pub(super) fn new(named: NamedSkills, shows_text: bool) -> Self {
        Self { named, shows_text, idle_work: Vec::new() }
    }

    /// Adds work for the first quiet moment after the start.
    pub(super) fn when_idle(&mut self, work: impl FnOnce() + Send + 'static) {
        self.idle_work.push(Box::new(work));
    }

    pub(super) fn shows_text(&self) -> bool {
        self.shows_text
    }

    /// Refuses to serve what `--strict` forbids, and says what is served.
    pub(super) fn run(
        self,
        skills: &Skills,
        live: &LiveFolders,
        first: Refreshed,
        client: &ClientSetup<'_>,
    ) -> Result<(), Failure> {
        refuse_collisions(live, &first)?;
        if self.shows_text {
            summary::show(&first, live.strictness(), client);
        }
        log_start(skills, &first, client);
        // The report names every skill, so dropping a large one takes time.
        tokio::task::spawn_blocking(move || drop(first));
        let Self { mut named, idle_work, .. } = self;
        let engine = Arc::clone(skills.engine());
        live.when_idle(move || {
            if !named.is_empty() {
                report_unmatched(&mut named, engine.catalog());
            }
            for missing in engine.missing_dependencies() {
                tracing::warn!("{}", report::printable(&missing.to_string()));
            }
            for work in idle_work {
                work();
            }
        });
        Ok(())
    }
}

/// Logs what is served: for an operator of a server on a port, who may read only the log, and for
/// a client that starts the server only if it asks for more than is usual.
fn log_start(skills: &Skills, first: &Refreshed, client: &ClientSetup<'_>) {
    let version = env!("CARGO_PKG_VERSION");
    let skipped = first.inspected().filter(|inspected| inspected.skill.is_none()).count();
    let served = skills.count();
    match client {
        ClientSetup::Stdio { .. } => {
            tracing::debug!(skills = served, skipped, version, "serving over stdio");
        }
        ClientSetup::Http { url, needs_token } => {
            tracing::info!(skills = served, skipped, url, tokens = needs_token, version, "serving");
        }
    }
}

/// Logs which options name no skill and no file that is served.
fn report_unmatched(named: &mut NamedSkills, catalog: &Catalog) {
    let Some(snapshot) = catalog.now(ViewId::EVERYTHING) else { return };
    for skill in snapshot.all() {
        let files = || match &skill.content {
            SkillContent::Files(tree) => tree.files.iter().map(|it| it.path.to_string()).collect(),
            SkillContent::Generated(_) => Vec::new(),
        };
        named.seen(&skill.path(), files);
        if named.is_empty() {
            return;
        }
    }
    for unmatched in named.unmatched() {
        tracing::warn!("{}", report::printable(&unmatched));
    }
}

/// With `--strict`, refuses to start if two skills claim one path or share a name, as
/// `check --strict` does.
fn refuse_collisions(live: &LiveFolders, refreshed: &Refreshed) -> Result<(), Failure> {
    if live.strictness() != Strictness::Strict {
        return Ok(());
    }
    let collisions: Vec<_> = refreshed
        .inspected()
        .flat_map(|inspected| &inspected.findings)
        .filter(|finding| matches!(finding.code, Code::PathCollision | Code::DuplicateName))
        .collect();
    if collisions.is_empty() {
        return Ok(());
    }
    let mut err = anstream::stderr().lock();
    for collision in collisions {
        report::finding(&mut err, collision)?;
    }
    Err(Failure::new(Exit::Findings, "Skills share a path or a name, and `--strict` forbids that.")
        .hint("Rename or move one of them, or serve without `--strict`."))
}
