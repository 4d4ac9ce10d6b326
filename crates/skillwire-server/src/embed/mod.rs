//! Skills served from a program of your own.
//!
//! [`Skills`] puts sources together and keeps them up to date. It runs alone, over stdio or HTTP, or
//! becomes part of a server that is there already: an axum router (feature `axum`), or a server
//! written with the official SDK (feature `rmcp`). `docs/embedding.md` shows each way.

#[cfg(feature = "axum")]
mod axum;
mod builder;
mod following;

use std::sync::Arc;

use skillwire_catalog::{catalog::ViewId, refresh::Refreshed};
pub use skillwire_source::EmbeddedSkill;
use skillwire_source::ScanRequest;
use tokio::net::TcpListener;

#[cfg(feature = "axum")]
pub use self::axum::Endpoint;
pub use self::builder::{BuildError, SkillsBuilder};
use self::following::Following;
use crate::{
    http::{self, ConnectionLimits, HttpOptions, HttpService, Workers},
    live::Keeper,
    stdio,
};
use skillwire_engine::Engine;

/// Skills that are ready to be served; clones share everything.
///
/// ```
/// use skillwire_server::embed::{EmbeddedSkill, Skills};
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
/// # Ok::<(), skillwire_server::embed::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Skills(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    engine: Arc<Engine>,
    keeper: Arc<Keeper>,
    /// Ends when the last clone goes away.
    _following: Option<Following>,
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
        HttpService::new(Arc::clone(self.engine()), options)
    }
}
