//! One server: connected when needed, listed once while that is fresh, asked for skills by name.

mod address;
mod draft;
mod getting;
mod listing;
mod memory;
mod named;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value};
use skillwire_client::{
    Client, ClientError, ClientOptions, Endpoint, FetchedContent, Limits, RawAnswer, WebClient,
};
use skillwire_core::{RelPath, ResourceUri};
use skillwire_dialects::{SkillOffer, skills_page::RemoteRun, v1::ReadEntries};
use skillwire_protocol::{ErrorCode, method};
use skillwire_trust::{
    Clock, DialectMemory, MemoryDialects, Origin, Policy, Reason, Refusal, Remedy, ServerLabel,
    SkillId, SystemClock,
};
use tokio::time::{Instant, timeout_at};

pub(crate) use self::listing::{ListingInProgress, NoListing};
use self::named::NamedEntries;
pub use self::{address::OriginAddress, listing::Listing};
use crate::dialect::{
    self, AskError, DialectDetection, ListReleased, OfferedFiles, OpenedArchives, SkillServer,
};

/// The delays before the host retries after an internal error of the server.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];

/// How long after its deadline a listing may still return the pages it has.
const DEADLINE_GRACE: Duration = Duration::from_millis(250);

struct HeldListing {
    listing: Arc<Listing>,
    fresh_until: Duration,
}

/// What a host lends each of its servers.
#[derive(Clone)]
pub struct RemoteSettings {
    options: ClientOptions,
    policy: Arc<Policy>,
    clock: Arc<dyn Clock>,
    dialects: Arc<dyn DialectMemory>,
}

impl RemoteSettings {
    /// Says how connections are made.
    #[must_use]
    pub fn with_options(self, options: ClientOptions) -> Self {
        Self { options, ..self }
    }

    /// Sets budgets and limits, and what of an entry is kept.
    #[must_use]
    pub fn with_policy(self, policy: Arc<Policy>) -> Self {
        Self { policy, ..self }
    }

    /// Sets the clock that tells how long a listing is fresh.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Sets what remembers the dialect that the server spoke.
    #[must_use]
    pub fn with_dialects(self, dialects: Arc<dyn DialectMemory>) -> Self {
        Self { dialects, ..self }
    }
}

impl Default for RemoteSettings {
    /// Keeps nothing beyond the process.
    fn default() -> Self {
        Self {
            options: ClientOptions::default(),
            policy: Arc::default(),
            clock: Arc::new(SystemClock::default()),
            dialects: Arc::new(MemoryDialects::default()),
        }
    }
}

/// A configured server or web site.
pub struct Remote {
    label: ServerLabel,
    /// Whether the user allows searching all resources for skills.
    legacy: AtomicBool,
    archives: OpenedArchives,
    /// The web origin, if this is a web site and not an MCP server.
    web: Option<WebClient>,
    endpoint: Mutex<Option<Endpoint>>,
    settings: RemoteSettings,
    client: tokio::sync::Mutex<Option<Client>>,
    /// Held while the server is listed. Callers that find a stale listing at the same time wait
    /// here and share one new listing, instead of each sending all the requests.
    lister: tokio::sync::Mutex<()>,
    /// The last listing. The lock is never held across a request, so that building a context from
    /// the last listing does not wait for a slow server.
    listing: Mutex<Option<HeldListing>>,
    named: NamedEntries,
    spent: AtomicU64,
}

impl Remote {
    /// Knows a server or web site; nothing is sent before something is asked for.
    pub fn new(label: ServerLabel, address: OriginAddress, settings: RemoteSettings) -> Self {
        let (endpoint, web) = match address {
            OriginAddress::Server(endpoint) => (Some(endpoint), None),
            OriginAddress::Web(origin) => (None, Some(WebClient::new(origin))),
        };
        Self {
            label,
            legacy: AtomicBool::new(false),
            archives: OpenedArchives::default(),
            web,
            endpoint: Mutex::new(endpoint),
            settings,
            client: tokio::sync::Mutex::default(),
            lister: tokio::sync::Mutex::default(),
            listing: Mutex::default(),
            named: NamedEntries::default(),
            spent: AtomicU64::new(0),
        }
    }

    /// Returns the web site, if this is none of the MCP servers.
    pub fn web(&self) -> Option<&WebClient> {
        self.web.as_ref()
    }

    /// Allows searching all resources of the server for skills.
    pub fn allow_legacy(&self) {
        self.legacy.store(true, Ordering::Relaxed);
    }

    pub(crate) fn allows_legacy(&self) -> bool {
        self.legacy.load(Ordering::Relaxed)
    }

    /// Returns the origin that refusals and skills name.
    pub fn origin(&self) -> Origin {
        Origin::Server(self.label.clone())
    }

    /// Returns the connection, which is opened on first use and again after it was lost.
    pub async fn client(&self) -> Result<Client, Refusal> {
        let mut held = self.client.lock().await;
        if let Some(client) = held.as_ref() {
            return Ok(client.clone());
        }
        let endpoint = self.open()?;
        let client = Box::pin(Client::connect(endpoint, self.settings.options.clone())).await;
        let client = client.map_err(|error| self.refuse(&error))?;
        *held = Some(client.clone());
        Ok(client)
    }

    /// Closes the connection, if there is one.
    pub async fn disconnect(&self) {
        let client = self.client.lock().await.take();
        if let Some(client) = client {
            client.close().await;
        }
    }

    /// Sends a request; if the connection has ended, drops it, so that the next request opens a new
    /// one.
    pub(crate) async fn request(
        &self,
        client: &Client,
        method: &str,
        params: Map<String, Value>,
        limits: Limits,
    ) -> Result<RawAnswer, ClientError> {
        let answer = client.request(method, params, limits).await;
        if let Err(error) = &answer {
            self.noticed(error).await;
        }
        answer
    }

    /// Drops a connection that has ended, so that the next request opens a new one.
    pub async fn noticed(&self, error: &ClientError) {
        if matches!(error, ClientError::Closed { .. }) {
            self.client.lock().await.take();
        }
    }

    /// Returns the endpoint for one connection; pipes that the embedder opened can be used once.
    fn open(&self) -> Result<Endpoint, Refusal> {
        let mut endpoint = self.endpoint.lock();
        let again = endpoint.as_ref().and_then(Endpoint::reopen);
        again.or_else(|| endpoint.take()).ok_or_else(|| {
            let refusal = Refusal::new(Reason::ServerUnreachable).about(&self.label);
            let is_web = self.web.is_some();
            refusal.actual(if is_web {
                "a web site, which is no MCP server"
            } else {
                "closed pipes"
            })
        })
    }

    /// Returns a connection to a server that declares the extension; others are not asked for
    /// skills.
    async fn skills_client(&self) -> Result<Client, Refusal> {
        let client = self.client().await?;
        if client.server().skills.is_none() {
            return Err(Refusal::new(Reason::SkillsNotOffered)
                .about(&self.label)
                .expected("a server that declares `io.modelcontextprotocol/skills`"));
        }
        Ok(client)
    }

    /// Asks the server again what it offers, and drops the listing made under the old answer.
    pub async fn rediscover(&self) -> Result<(), Refusal> {
        let client = self.client().await?;
        client.rediscover().await.map_err(|error| self.refuse(&error))?;
        self.held().take();
        Ok(())
    }

    /// Returns the listing, or a new one if it is stale; concurrent callers share one.
    pub async fn list(&self) -> Result<Arc<Listing>, Refusal> {
        self.list_within(self.settings.policy.budgets.listing_time).await
    }

    /// Returns the listing, or a new one if it is stale, as far as the server sends it in this time.
    pub async fn list_within(&self, time: Duration) -> Result<Arc<Listing>, Refusal> {
        if let Some(fresh) = self.fresh_listing() {
            return Ok(fresh);
        }
        let deadline = Instant::now() + time;
        // A listing ends itself at the deadline and keeps the pages it has. Waiting for another
        // caller's listing, or for a connection, is ended from here a little later. The future is
        // boxed because it holds those of every dialect.
        let listed = timeout_at(deadline + DEADLINE_GRACE, Box::pin(self.list_by(deadline))).await;
        listed.unwrap_or_else(|_| {
            Err(Refusal::new(Reason::ServerTimeout)
                .about(&self.label)
                .expected(format!("a listing within {time:?}"))
                .actual("none yet"))
        })
    }

    async fn list_by(&self, deadline: Instant) -> Result<Arc<Listing>, Refusal> {
        let _listing = self.lister.lock().await;
        // Another caller may have listed the server while this one waited for the lock.
        if let Some(fresh) = self.fresh_listing() {
            return Ok(fresh);
        }
        let (listing, mut lifetime) = self.list_anew(deadline).await?;
        // The next caller may have more time than this one.
        if listing.truncated.as_ref().is_some_and(|why| why.reason == Reason::ServerTimeout) {
            lifetime = Duration::ZERO;
        }
        self.named.clear();
        let listing = Arc::new(listing);
        let fresh_until = self.settings.clock.elapsed() + lifetime;
        *self.held() = Some(HeldListing { listing: Arc::clone(&listing), fresh_until });
        Ok(listing)
    }

    /// Lists the server again, beginning with the dialect it used before.
    async fn list_anew(&self, deadline: Instant) -> Result<(Listing, Duration), Refusal> {
        if let Some(web) = &self.web {
            return dialect::list_web_origin(self, web).await;
        }
        let client = self.client().await?;
        let detection =
            DialectDetection::new(self, client.server(), self.allows_legacy(), deadline);
        let (listing, lifetime) = detection.list(self.recall_dialect(&client)).await?;
        if let Some(dialect) = listing.dialect {
            self.remember_dialect(&client, dialect);
        }
        Ok((listing, lifetime))
    }

    /// Has the server run a script of a skill.
    pub async fn execute(
        &self,
        skill: &SkillId,
        offer: &SkillOffer,
        script: &RelPath,
        arguments: Value,
    ) -> Result<RemoteRun, Refusal> {
        OfferedFiles::new(self).execute(skill, offer, script, arguments).await
    }

    /// Reads a file of a skill that an older server offers, and compares it with what was promised.
    pub async fn read_offered(
        &self,
        skill: &SkillId,
        offer: &SkillOffer,
        file: &ResourceUri,
        most: u64,
    ) -> Result<Bytes, Refusal> {
        OfferedFiles::new(self).read(skill, offer, file, most).await
    }

    /// Reads the `SKILL.md` of a skill that an older server offers; some servers name the other files
    /// along with it.
    pub async fn read_skill_file(
        &self,
        skill: &SkillId,
        offer: SkillOffer,
    ) -> Result<(Bytes, SkillOffer), Refusal> {
        OfferedFiles::new(self).read_skill_file(skill, offer).await
    }

    /// Returns the entry reader for the user's policy.
    fn entry_reader(&self) -> ReadEntries {
        let Policy { limits, keeps_entry_text, .. } = *self.settings.policy;
        ReadEntries::default().with_limits(limits).with_entry_text(keeps_entry_text)
    }

    fn fresh_listing(&self) -> Option<Arc<Listing>> {
        let held = self.held();
        let fresh = held.as_ref().filter(|held| self.settings.clock.elapsed() < held.fresh_until);
        fresh.map(|held| Arc::clone(&held.listing))
    }

    fn held(&self) -> MutexGuard<'_, Option<HeldListing>> {
        self.listing.lock()
    }

    /// Returns how much longer the listing is fresh, if there is one.
    pub fn lifetime(&self) -> Option<Duration> {
        let held = self.held();
        held.as_ref().map(|held| held.fresh_until.saturating_sub(self.settings.clock.elapsed()))
    }

    /// Marks the listing as stale, so that the next caller lists the server again.
    pub fn expire_listing(&self) {
        if let Some(held) = self.held().as_mut() {
            held.fresh_until = Duration::ZERO;
        }
    }

    /// Returns the last listing, however old, so that building a context sends no request.
    pub fn held_listing(&self) -> Option<Arc<Listing>> {
        self.held().as_ref().map(|held| Arc::clone(&held.listing))
    }

    /// Reads one resource; `size` limits the answer before anything is decoded.
    pub async fn read(&self, uri: &ResourceUri, size: u64) -> Result<FetchedContent, Refusal> {
        self.read_resource(uri.as_str(), size).await
    }

    /// Reads a resource that need not belong to a skill.
    pub async fn read_resource(&self, uri: &str, most: u64) -> Result<FetchedContent, Refusal> {
        SkillServer::read_resource(self, uri, most).await
    }

    /// Reads a resource and returns the whole answer.
    async fn read_raw(&self, uri: &str, size: u64) -> Result<RawAnswer, Refusal> {
        let client = self.client().await?;
        let limits = Limits::for_file(size, self.settings.policy.budgets.answer_time);
        let mut delays = RETRY_DELAYS.into_iter();
        let answer = loop {
            match self.request(&client, method::RESOURCES_READ, uri_params(uri), limits).await {
                Ok(answer) => break answer,
                Err(error) if error.is_not_found() => {
                    return Err(Refusal::new(Reason::FileMissing)
                        .about(&self.label)
                        .file(uri)
                        .actual(&error)
                        .server_text(error.server_text()));
                }
                Err(error) => match delays.next().filter(|_| is_internal(&error)) {
                    Some(delay) => tokio::time::sleep(delay).await,
                    None => return Err(self.refuse(&error).file(uri)),
                },
            }
        };
        self.spend(answer.text().len())?;
        Ok(answer)
    }

    /// Lists the children of a directory, if the server offers that.
    pub async fn directory(
        &self,
        uri: &str,
        cursor: Option<&str>,
    ) -> Result<Option<RawAnswer>, Refusal> {
        if self.web.is_some() {
            return Ok(None);
        }
        let client = self.client().await?;
        if !client.server().skills.as_ref().is_some_and(|offer| offer.directory_read) {
            return Ok(None);
        }
        let limits = self.limits();
        let mut params = uri_params(uri);
        if let Some(cursor) = cursor {
            params.insert("cursor".to_owned(), cursor.into());
        }
        let answer = self.request(&client, method::DIRECTORY_READ, params, limits).await;
        answer.map(Some).map_err(|error| self.refuse(&error).file(uri))
    }

    /// Returns the limits of one answer under the user's policy.
    pub fn limits(&self) -> Limits {
        let budgets = self.settings.policy.budgets;
        Limits::default().with_bytes(budgets.answer_bytes).with_timeout(budgets.answer_time)
    }

    pub(crate) fn spend(&self, bytes: usize) -> Result<(), Refusal> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let most = self.settings.policy.budgets.session_bytes;
        if self.spent.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > most {
            return Err(self.exhausted(format!("at most {most} bytes in one session"), "more"));
        }
        Ok(())
    }

    /// Converts an error of the connection to a refusal, without repeating anything secret.
    pub fn refuse(&self, error: &ClientError) -> Refusal {
        let reason = match error {
            ClientError::LoginRequired(_) => Reason::LoginRequired,
            ClientError::TokenRefused => Reason::TokenRefused,
            ClientError::Certificate { .. } => Reason::CertificateUntrusted,
            ClientError::Forbidden(_) => Reason::AddressForbidden,
            ClientError::Timeout(_) => Reason::ServerTimeout,
            ClientError::TooLarge(_) => Reason::ResponseTooLarge,
            ClientError::Protocol(_) => Reason::ProtocolError,
            ClientError::Rpc { .. } => Reason::ServerError,
            ClientError::InputRequired => Reason::InputRequired,
            _ => Reason::ServerUnreachable,
        };
        let refusal = Refusal::new(reason).about(&self.label).server_text(error.server_text());
        let label = || self.label.clone();
        match error {
            // The reason already says that the server cannot be reached.
            ClientError::Unreachable { problem, .. } => {
                refusal.actual(problem).remedy(Remedy::StartServer)
            }
            ClientError::Certificate { problem, .. } => {
                refusal.actual(problem).remedy(Remedy::TrustCertificate)
            }
            ClientError::LoginRequired(_) => refusal.actual(error).remedy(Remedy::LogIn(label())),
            ClientError::TokenRefused => refusal.remedy(Remedy::ReplaceToken(label())),
            ClientError::Protocol(detail) => refusal.actual(detail),
            other => refusal.actual(other),
        }
    }
}

impl SkillServer for Remote {
    fn origin(&self) -> Origin {
        self.origin()
    }

    fn policy(&self) -> &Policy {
        &self.settings.policy
    }

    fn web(&self) -> Option<&WebClient> {
        self.web.as_ref()
    }

    fn archives(&self) -> &OpenedArchives {
        &self.archives
    }

    async fn ask(&self, method: &str, params: Map<String, Value>) -> Result<RawAnswer, AskError> {
        let client = self.client().await.map_err(AskError::Unconnected)?;
        self.request(&client, method, params, self.limits()).await.map_err(AskError::Failed)
    }

    async fn read_answer(&self, uri: &str, most: u64) -> Result<RawAnswer, Refusal> {
        self.read_raw(uri, most).await
    }

    fn spend(&self, bytes: usize) -> Result<(), Refusal> {
        self.spend(bytes)
    }

    fn refuse(&self, error: &ClientError) -> Refusal {
        self.refuse(error)
    }

    fn forget_dialect(&self) {
        self.forget_dialect();
    }
}

impl ListReleased for Remote {
    async fn list_released(&self, deadline: Instant) -> Result<(Listing, Duration), NoListing> {
        let client = self.client().await?;
        self.fetch_listing(&client, deadline).await
    }
}

/// Tells whether the server failed internally, which may be temporary.
fn is_internal(error: &ClientError) -> bool {
    error.code() == Some(ErrorCode::Internal) || matches!(error, ClientError::HttpStatus(500..=599))
}

fn uri_params(uri: &str) -> Map<String, Value> {
    Map::from_iter([("uri".to_owned(), uri.into())])
}
