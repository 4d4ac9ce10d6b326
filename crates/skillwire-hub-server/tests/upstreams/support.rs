//! A hub in the test's process, with an upstream.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::{Value, json};
use skillwire_attest::{
    Envelope, SIGNATURE_FILE, Signature, SigningKey, SkillFiles, TrustedSigner, skill_statement,
};
use skillwire_core::RelPath;
use skillwire_gateway::FollowOptions;
use skillwire_git::GitOptions;
use skillwire_host::{Endpoint, WebOrigin};
use skillwire_hub::{
    AccessPolicy, AuditAction, AuditEntry, AuditFilter, Caller, CallerClass, NamespaceName,
    PageRequest, PolicyDecision, ResourcePatterns, ReviewRules, Role, Scope, SkillFacts, Subject,
    ToolPatterns, Upstream, UpstreamLimits, UpstreamMode, UpstreamSource, Verdict,
};
use skillwire_hub_server::{AccessHandle, Following, HubAccess, HubIdentity, ServingOptions};
use skillwire_hub_store::{
    BlobLocation, DatabaseLocation, HubStore, NewToken, OfferDecision, OfferRecord, StoreOptions,
    UpstreamChange,
};
use skillwire_hub_upstreams::{ContentFinding, InspectContent, InvalidAddress, UpstreamOptions};
use skillwire_server::{
    Metrics,
    http::{ConnectionLimits, Workers, run},
};
use skillwire_testkit::{HttpConnection, RpcReply, modern_headers, modern_request};
use tokio::net::TcpListener;

/// How long a test waits for something that has to happen.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Hub {
    pub(crate) store: HubStore,
    pub(crate) admin: Caller,
    pub(crate) metrics: Arc<Metrics>,
    address: SocketAddr,
    _following: Following,
    _folder: tempfile::TempDir,
}

pub(crate) fn label(text: &str) -> NamespaceName {
    text.parse().unwrap()
}

/// Limits of an upstream that a test has no time to wait for.
pub(crate) fn quick() -> UpstreamLimits {
    let mut limits = UpstreamLimits::default();
    limits.answer_ms = 500;
    limits.listing_ms = 2_000;
    limits.failures = 3;
    limits.pause_ms = 200;
    limits
}

/// The key of a signer that tests trust under a name.
pub(crate) fn key_of(signer: &str) -> SigningKey {
    let seed = skillwire_core::Digest::of(signer.as_bytes());
    SigningKey::from_seed(seed.as_bytes())
}

/// The signature of a signer over files.
pub(crate) fn signature(signer: &str, files: &[(&str, &str)]) -> String {
    let file = |(path, text): &(&str, &str)| {
        let bytes = text.as_bytes();
        let digest = skillwire_core::Digest::of(bytes);
        (RelPath::parse(path).unwrap(), digest, bytes.len() as u64)
    };
    let files = SkillFiles::new(files.iter().map(file)).unwrap();
    Envelope::sign(&skill_statement(&files).unwrap(), &[&key_of(signer)]).to_json()
}

/// Tells whose signature lies in a content, of two signers that are trusted. There is no scanner.
#[derive(Debug)]
struct SignersOfTests;

impl InspectContent for SignersOfTests {
    fn inspect(&self, _: &[(RelPath, Bytes)]) -> Option<Vec<ContentFinding>> {
        None
    }

    fn signers(&self, files: &[(RelPath, Bytes)]) -> BTreeSet<String> {
        let inside = RelPath::parse(SIGNATURE_FILE).unwrap();
        let file = |(path, bytes): &(RelPath, Bytes)| {
            (path.clone(), skillwire_core::Digest::of(bytes), bytes.len() as u64)
        };
        let covered = SkillFiles::new(files.iter().map(file)).unwrap().without(&inside);
        let signature = files.iter().find(|(path, _)| *path == inside);
        let signature = signature.and_then(|(_, bytes)| Signature::parse(bytes).ok());
        let signed_by = |signer: &&str| {
            let trusted = [TrustedSigner::key(key_of(signer).public().clone())];
            let vouched =
                signature.as_ref()?.verify(&trusted, std::time::SystemTime::now()).ok()?;
            vouched.covers(&covered).ok()
        };
        let names = ["team", "stranger"].into_iter().filter(|name| signed_by(name).is_some());
        names.map(str::to_owned).collect()
    }
}

impl Hub {
    pub(crate) async fn start() -> Self {
        Self::with_access(HubAccess::default()).await
    }

    /// Starts a hub in which a policy decides who sees what.
    pub(crate) async fn with_policy(policy: impl AccessPolicy + 'static) -> Self {
        let mut access = HubAccess::default();
        access.policy = Arc::new(policy);
        Self::with_access(access).await
    }

    async fn with_access(access: HubAccess) -> Self {
        Self::listing_every(Duration::from_millis(50), access).await
    }

    /// Starts a hub that lists its upstreams after a pause.
    #[expect(clippy::disallowed_methods, reason = "a test runs the `git` of its machine")]
    pub(crate) async fn listing_every(pause: Duration, access: HubAccess) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = DatabaseLocation::Sqlite(folder.path().join("hub.db"));
        let blobs = BlobLocation::Folder(folder.path().join("blobs"));
        let store = HubStore::open(StoreOptions::new(database, blobs)).await.unwrap();
        let follow = FollowOptions::default()
            .pauses(pause, pause)
            .retries(Duration::from_millis(50), Duration::from_millis(200));
        let address = Arc::new(|_: &_, source: &UpstreamSource| match source {
            UpstreamSource::Mcp { url, .. } => {
                Ok(Endpoint::Http { url: url.clone(), headers: Vec::new() }.into())
            }
            UpstreamSource::WellKnown { url } => {
                let web = WebOrigin::parse(url).map_err(|error| InvalidAddress(error.to_string()));
                web.map(Into::into)
            }
            other => Err(InvalidAddress(other.to_string())),
        });
        let mut git = GitOptions::default().local(true);
        for name in ["PATH", "HOME"] {
            git = git.variable(name, std::env::var_os(name).unwrap_or_default());
        }
        let upstreams = UpstreamOptions::new(address)
            .unwrap()
            .inspector(Arc::new(SignersOfTests))
            .follow(follow)
            .git(git)
            .local_pause(Duration::from_millis(50));
        let metrics = Arc::new(Metrics::default());
        let options = ServingOptions::default()
            .poll(Duration::from_millis(10))
            .metrics(Arc::clone(&metrics))
            .access(AccessHandle::new(access))
            .upstreams(upstreams);
        let identity = HubIdentity::new("hub", "hub");
        let started = skillwire_hub_server::start(store.clone(), identity, options).await;
        let (service, following) = started.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let never = std::future::pending();
        tokio::spawn(run(listener, service, Workers::here(), ConnectionLimits::default(), never));
        let admin = Caller::administrator("root".parse().unwrap());
        Self { store, admin, metrics, address, _following: following, _folder: folder }
    }

    /// Adds an upstream whose skills everybody may read.
    pub(crate) async fn add(&self, name: &str, source: UpstreamSource, mode: UpstreamMode) {
        self.add_with_tools(name, source, mode, &[]).await;
        let everyone = Subject::everyone();
        self.store.grant(&self.admin, &label(name), &everyone, Role::Reader).await.unwrap();
    }

    /// Adds an upstream of which clients may use these tools, and that its owner alone may read.
    pub(crate) async fn add_with_tools(
        &self,
        name: &str,
        source: UpstreamSource,
        mode: UpstreamMode,
        tools: &[&str],
    ) {
        let upstream = Upstream::new(label(name), source, mode).unwrap();
        let upstream = upstream.with_limits(quick()).unwrap();
        let upstream = upstream.with_tools(ToolPatterns::parse(tools.iter().copied()).unwrap());
        self.store.add_upstream(&self.admin, upstream, false).await.unwrap();
    }

    /// Lets a subject read skills of an upstream.
    pub(crate) async fn lets_read(&self, name: &str, subject: &str) {
        let subject = subject.parse().unwrap();
        self.store.grant(&self.admin, &label(name), &subject, Role::Reader).await.unwrap();
    }

    /// Names the resources of an upstream that clients may read.
    pub(crate) async fn set_resources(&self, name: &str, patterns: &[&str]) {
        let resources = Some(ResourcePatterns::parse(patterns.iter().copied()).unwrap());
        let change = UpstreamChange { resources, ..UpstreamChange::default() };
        self.store.change_upstream(&self.admin, &label(name), change).await.unwrap();
    }

    /// Waits until so many calls are in the audit log, and returns them, the oldest first.
    pub(crate) async fn calls(&self, count: usize) -> Vec<AuditEntry> {
        let start = std::time::Instant::now();
        loop {
            let mut filter = AuditFilter::default();
            filter.action = Some(AuditAction::Call);
            let page = PageRequest::first(100);
            let mut log = self.store.audit(&self.admin, &filter, &page).await.unwrap().items;
            if log.len() >= count {
                log.reverse();
                return log;
            }
            assert!(start.elapsed() < PATIENCE, "{} calls are recorded", log.len());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Approves new content of an upstream by itself if a signer of the content before signed it too.
    pub(crate) async fn trusts_the_same_signer(&self, name: &str) {
        let mut rules = ReviewRules::default();
        rules.same_signer = true;
        let change = UpstreamChange { rules: Some(rules), ..UpstreamChange::default() };
        self.store.change_upstream(&self.admin, &label(name), change).await.unwrap();
    }

    /// A token that reads and reviews where its subject has the role for it.
    pub(crate) async fn token(&self, subject: &str) -> String {
        let new = NewToken::new("test", subject.parse().unwrap());
        let new = new.with_scopes([Scope::Read, Scope::Review]);
        self.store.create_token(&self.admin, new).await.unwrap().1.expose()
    }

    pub(crate) async fn set_mode(&self, name: &str, mode: UpstreamMode) {
        let change =
            UpstreamChange { mode: Some(mode), leave_pin: true, ..UpstreamChange::default() };
        self.store.change_upstream(&self.admin, &label(name), change).await.unwrap();
    }

    /// Opens a connection to the hub.
    pub(crate) async fn connect(&self) -> HttpConnection {
        HttpConnection::open(self.address).await
    }

    /// What the API says to the holder of a token.
    pub(crate) async fn api(&self, token: &str, path: &str) -> (u16, Value) {
        let bearer = format!("Bearer {token}");
        let mut connection = self.connect().await;
        let path = format!("/api/v1{path}");
        connection.send("GET", &path, &[("Authorization", &bearer)], b"").await;
        let reply = connection.reply().await;
        (reply.status, serde_json::from_slice(&reply.body).unwrap_or_default())
    }

    /// Asks a mount without a token.
    pub(crate) async fn ask(&self, mount: &str, method: &str, params: Value) -> Option<RpcReply> {
        self.ask_as(None, mount, method, params).await
    }

    /// Asks a mount with a token.
    pub(crate) async fn ask_as(
        &self,
        token: Option<&str>,
        mount: &str,
        method: &str,
        params: Value,
    ) -> Option<RpcReply> {
        let mut connection = HttpConnection::open(self.address).await;
        let named = params["uri"].as_str().or(params["name"].as_str()).map(str::to_owned);
        let bearer = token.map(|token| format!("Bearer {token}"));
        let body = modern_request(1, method, params).to_string();
        let mut headers = modern_headers(method);
        if let Some(uri) = &named {
            headers.push(("Mcp-Name", uri));
        }
        if let Some(bearer) = &bearer {
            headers.push(("Authorization", bearer));
        }
        connection.send("POST", mount, &headers, body.as_bytes()).await;
        let reply = connection.reply().await;
        (reply.status == 200 || reply.body.starts_with(b"{")).then(|| reply.message())
    }

    /// Subscribes on a mount, and returns the stream after the acknowledgment with what that honours.
    pub(crate) async fn listen(
        &self,
        token: Option<&str>,
        mount: &str,
        wanted: Value,
    ) -> (HttpConnection, Value) {
        let mut connection = HttpConnection::open(self.address).await;
        let method = "subscriptions/listen";
        let body = modern_request(1, method, json!({"notifications": wanted})).to_string();
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = modern_headers(method);
        if let Some(bearer) = &bearer {
            headers.push(("Authorization", bearer));
        }
        connection.send("POST", mount, &headers, body.as_bytes()).await;
        assert_eq!(connection.head().await.unwrap().0, 200);
        let acknowledged = connection.event().await.unwrap();
        (connection, acknowledged["params"]["notifications"].clone())
    }

    /// The entries that a mount lists; none if it is not there or not open.
    pub(crate) async fn entries(&self, mount: &str) -> Vec<Value> {
        let reply = self.ask(mount, "skills/list", json!({})).await;
        let reply = reply.map(|reply| reply.0["result"]["skills"].clone());
        reply.and_then(|skills| skills.as_array().cloned()).unwrap_or_default()
    }

    pub(crate) async fn uris(&self, mount: &str) -> Vec<String> {
        let entries = self.entries(mount).await;
        entries.iter().map(|entry| entry["uri"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until a mount lists exactly these skills.
    pub(crate) async fn lists(&self, mount: &str, expected: &[&str]) {
        let start = std::time::Instant::now();
        loop {
            let now = self.uris(mount).await;
            if now == expected {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{mount} lists {now:?}, not {expected:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The text of a file, or the code of the error.
    pub(crate) async fn read(&self, mount: &str, uri: &str) -> Result<String, i64> {
        let reply = self.ask(mount, "resources/read", json!({"uri": uri})).await.unwrap();
        match reply.0["result"]["contents"][0]["text"].as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(reply.0["error"]["code"].as_i64().unwrap_or_default()),
        }
    }

    /// Waits until a file reads as expected.
    pub(crate) async fn reads(&self, mount: &str, uri: &str, expected: Result<&str, i64>) {
        let start = std::time::Instant::now();
        loop {
            let now = self.read(mount, uri).await;
            if now.as_deref().map_err(|code| *code) == expected {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{uri} reads {now:?}, not {expected:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until the metrics have a line.
    pub(crate) async fn measures(&self, line: &str) {
        let start = std::time::Instant::now();
        while !self.metrics.text().lines().any(|known| known == line) {
            assert!(start.elapsed() < PATIENCE, "no `{line}` in {}", self.metrics.text());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until this many contents wait for a reviewer.
    pub(crate) async fn waiting(&self, count: usize) -> Vec<OfferRecord> {
        let start = std::time::Instant::now();
        loop {
            let page = PageRequest::default();
            let page = self.store.waiting_offers(&self.admin, None, &page).await.unwrap();
            if page.items.len() == count {
                return page.items;
            }
            assert!(start.elapsed() < PATIENCE, "{} wait, not {count}", page.items.len());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Approves everything that waits, once so many contents do.
    pub(crate) async fn approve(&self, count: usize) {
        for offer in self.waiting(count).await {
            let decision = OfferDecision::new(Verdict::Approve, "read it");
            self.store.decide_offer(&self.admin, offer.id, decision).await.unwrap();
        }
    }
}

/// Shows everyone every skill that a role lets them read, and one skill to one subject alone.
#[derive(Debug)]
pub(crate) struct SkillForAnaAlone(pub(crate) &'static str);

impl AccessPolicy for SkillForAnaAlone {
    fn names(&self, subject: &Subject) -> bool {
        subject.as_str() == "ana"
    }

    fn depends_on_age(&self) -> bool {
        false
    }

    fn key(&self, facts: &SkillFacts) -> Box<str> {
        facts.skill.to_string().into()
    }

    fn decide(&self, class: &CallerClass, facts: &SkillFacts) -> PolicyDecision {
        let is_hidden = facts.skill.name.as_str() == self.0 && class.subject.is_none();
        let allowed = class.reads_by_role(&facts.skill.namespace) && !is_hidden;
        PolicyDecision { allowed, rules: Vec::new(), problems: Vec::new() }
    }
}
