//! A whole server as one value.

use std::sync::Arc;

use skillwire_catalog::{Refreshed, ViewId};
use skillwire_source::ScanRequest;
use tokio::net::TcpListener;

use skillwire_engine::Engine;

use crate::{
    builder::SkillsBuilder,
    following::Following,
    http::{self, Admission, ConnectionLimits, HttpOptions, HttpService, Workers},
    live::Keeper,
    stdio,
};

/// Skills that are ready to be served; clones share everything.
///
/// They run alone, over stdio or HTTP, or become part of a server that is there already: an axum
/// router (feature `axum`), or a server written with the official SDK (crate `skillwire-rmcp`).
///
/// ```
/// use skillwire_server::{EmbeddedSkill, Skills};
/// use skillwire_source::GeneratedFiles;
///
/// const GREETING: EmbeddedSkill = EmbeddedSkill {
///     path: "greeting",
///     files: &[("SKILL.md", b"---\nname: greeting\ndescription: Greets. Use on arrival.\n---\n")],
/// };
/// let daily = || "---\nname: daily\ndescription: Today in numbers. Use for reports.\n---\n";
///
/// let skills = Skills::builder()
///     .embedded(&[GREETING])
///     .dynamic("reports/daily", GeneratedFiles::new().file("SKILL.md", daily))
///     .on_notice(|notice| println!("{notice}"))
///     .build()?;
/// assert_eq!(skills.count(), 2);
/// # Ok::<(), skillwire_server::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Skills(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) engine: Arc<Engine>,
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) admission: Admission,
    /// Ends when the last clone goes away.
    pub(crate) _following: Option<Following>,
}

impl Skills {
    /// Begins to put skills together.
    pub fn builder() -> SkillsBuilder {
        SkillsBuilder::default()
    }

    /// The number of skills that are served now.
    pub fn count(&self) -> usize {
        let snapshot = self.0.engine.catalog().now(ViewId::EVERYTHING);
        snapshot.map_or(0, |snapshot| snapshot.skill_count())
    }

    /// Looks at the sources now, and not only when they are next looked at anyway.
    ///
    /// Blocks while files are read. A look that is close asks generated skills for their `SKILL.md`
    /// again, and tells clients that they may have changed.
    pub fn refresh(&self, look: &ScanRequest) -> Refreshed {
        self.0.keeper.refresh(look)
    }

    /// What answers requests, for transports of your own.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.0.engine
    }

    /// What keeps the skills up to date, for programs that decide when that happens.
    pub fn keeper(&self) -> &Arc<Keeper> {
        &self.0.keeper
    }

    /// Tells whether callers need a token over HTTP.
    pub fn needs_token(&self) -> bool {
        self.0.admission.tokens.is_some()
    }

    /// Serves one client on standard input and output until its input ends.
    pub async fn serve_stdio(&self) -> std::io::Result<()> {
        stdio::run(Arc::clone(self.engine()), tokio::io::stdin(), tokio::io::stdout()).await
    }

    /// Serves HTTP at `/mcp` to clients on this machine until `shutdown` is done.
    ///
    /// With [`http_service`](Self::http_service) and [`http::run`] everything about it can be set.
    pub async fn serve_http(&self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let service = self.http_service(HttpOptions::default());
        // The threads are the caller's; who wants others calls `http::run`.
        http::run(listener, service, Workers::here(), ConnectionLimits::default(), shutdown).await;
    }

    /// Answers HTTP requests, for a server of your own.
    pub fn http_service(&self, options: HttpOptions) -> HttpService {
        HttpService::new(Arc::clone(self.engine()), self.0.admission.clone(), options)
    }
}
