//! A whole server as one value.

use std::sync::Arc;

use skillwire_catalog::{Refreshed, ViewId, VisibleSkills};
use skillwire_source::ScanRequest;
use tokio::net::TcpListener;

use skillwire_engine::Engine;

use crate::{
    builder::SkillsBuilder,
    following::FollowingThread,
    http::{
        self, Admission, ConnectionLimits, HttpOptions, HttpService, TokenChanges, Tokens, Workers,
    },
    live::SourceFollower,
    stdio,
};

/// Holds skills that are ready to be served; clones share everything.
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
pub struct Skills(pub(crate) Arc<SkillsInner>);

#[derive(Debug)]
pub(crate) struct SkillsInner {
    pub(crate) engine: Arc<Engine>,
    pub(crate) follower: Arc<SourceFollower>,
    pub(crate) admission: Admission,
    /// Stops the thread that follows the sources when the last clone is dropped.
    pub(crate) _following: Option<FollowingThread>,
}

impl Skills {
    /// Returns a builder without any skills.
    pub fn builder() -> SkillsBuilder {
        SkillsBuilder::default()
    }

    /// Returns the number of skills that are served now.
    pub fn count(&self) -> usize {
        let snapshot = self.0.engine.catalog().now(ViewId::EVERYTHING);
        snapshot.map_or(0, |snapshot| snapshot.skill_count())
    }

    /// Scans the sources now instead of waiting for the next scheduled scan.
    ///
    /// Blocks while files are read. A scan with `force_read` asks generated skills for their
    /// `SKILL.md` again, and notifies clients that they may have changed.
    pub fn refresh(&self, look: &ScanRequest) -> Refreshed {
        self.0.follower.refresh(look)
    }

    /// Returns the engine that answers requests, for transports of your own.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.0.engine
    }

    /// Returns the follower that updates the skills, for programs that schedule scans themselves.
    pub fn follower(&self) -> &Arc<SourceFollower> {
        &self.0.follower
    }

    /// Tells whether callers need a token over HTTP.
    pub fn needs_token(&self) -> bool {
        self.0.admission.tokens.is_some()
    }

    /// Accepts these tokens from now on, and no others; returns `None` if the server was built
    /// without tokens.
    ///
    /// Streams and sessions of a token that is gone, or that has another name or other patterns,
    /// end at once.
    #[tracing::instrument(skip_all)]
    pub fn replace_tokens(&self, tokens: Tokens) -> Option<TokenChanges> {
        let table = self.0.admission.tokens.as_ref()?;
        Some(table.replace(tokens, self.engine().catalog()))
    }

    /// Ends what callers with tokens of an authorization server have, unless `visible` still shows them
    /// the same skills; it gets their names, and returns `None` for one that is not admitted any more.
    ///
    /// Call this when roles, groups or blocked subjects change: streams and sessions of the others go on.
    pub fn recheck_verified(&self, visible: impl Fn(&str) -> Option<VisibleSkills>) {
        if let Some(table) = self.0.admission.tokens.as_ref() {
            table.recheck_verified(visible, self.engine().catalog());
        }
    }

    /// Publishes some skills under `/.well-known/` from now on, and no others.
    pub fn replace_public(&self, visible: impl Into<VisibleSkills>) {
        let catalog = self.engine().catalog();
        let before = self.0.admission.public.swap(Some(Arc::new(catalog.restrict(visible))));
        if let Some(before) = before {
            catalog.retire(*before);
        }
    }

    /// Serves one client on standard input and output until its input ends.
    pub async fn serve_stdio(&self) -> std::io::Result<()> {
        stdio::run(Arc::clone(self.engine()), tokio::io::stdin(), tokio::io::stdout()).await
    }

    /// Serves HTTP at `/mcp` to clients on this machine until `shutdown` is done.
    ///
    /// Use [`http_service`](Self::http_service) and [`http::run`] to set hosts, limits and threads.
    pub async fn serve_http(&self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let service = self.http_service(HttpOptions::default());
        // Connections run on the caller's runtime; `http::run` takes other threads.
        http::run(listener, service, Workers::here(), ConnectionLimits::default(), shutdown).await;
    }

    /// Returns a service that answers HTTP requests, for a server of your own.
    pub fn http_service(&self, options: HttpOptions) -> HttpService {
        HttpService::new(Arc::clone(self.engine()), self.0.admission.clone(), options)
    }
}
