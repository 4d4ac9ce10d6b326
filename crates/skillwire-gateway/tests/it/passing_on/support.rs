//! Shared by the tests: servers whose skills are passed on, and a gateway that does so.

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use skillwire_client::Endpoint;
use skillwire_gateway::{Admission, AdmitAll, FollowOptions, FollowedServers};
use skillwire_host::{Host, OriginAddress};
use skillwire_source::{DirectoryOptions, DirectorySource, SkillSource};
use skillwire_testkit::{HostileServer, ListeningServer, RpcReply, TestOptions, TestServer};
use skillwire_trust::{Policy, ServerLabel};
use tokio::{runtime::Handle, time::timeout};

/// A test that waits longer than this has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn label(text: &str) -> ServerLabel {
    ServerLabel::parse(text).unwrap()
}

/// A gateway, and the listeners of the servers that it follows.
pub(crate) struct Gateway {
    pub(crate) server: TestServer,
    pub(crate) upstreams: FollowedServers,
    _listening: Vec<ListeningServer>,
}

/// How a gateway is put together.
pub(crate) struct Plan {
    pub(crate) admission: Arc<dyn Admission>,
    pub(crate) options: FollowOptions,
    pub(crate) policy: Policy,
    pub(crate) server: TestOptions,
    pub(crate) folders: Vec<Box<dyn SkillSource>>,
    /// Whether all resources of the servers may be looked through.
    pub(crate) legacy: bool,
    /// How long the first listing may take before the gateway goes on without it.
    pub(crate) settles: Duration,
}

impl Default for Plan {
    fn default() -> Self {
        let retry = Duration::from_millis(50);
        Self {
            admission: Arc::new(AdmitAll),
            options: FollowOptions::default().retries(retry, retry),
            policy: Policy::default().with_entry_text(true),
            server: TestOptions::default(),
            folders: Vec::new(),
            legacy: false,
            settles: PATIENCE,
        }
    }
}

impl Plan {
    /// Serves a folder as well.
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        let source = DirectorySource::new(folder, DirectoryOptions::default()).unwrap();
        self.folders.push(Box::new(source));
        self
    }

    /// Passes servers on, over HTTP, each under its label.
    pub(crate) async fn start(self, servers: &[(&str, &HostileServer)]) -> Gateway {
        let (listening, endpoints) = listen(servers).await;
        let gateway = self.start_at(endpoints).await;
        Gateway { _listening: listening, ..gateway }
    }

    /// Passes on whatever is at these endpoints.
    pub(crate) async fn start_at(
        mut self,
        endpoints: Vec<(ServerLabel, impl Into<OriginAddress>)>,
    ) -> Gateway {
        let host = Host::builder().policy(self.policy).build();
        let labels: Vec<ServerLabel> = endpoints.iter().map(|(label, _)| label.clone()).collect();
        for (label, endpoint) in endpoints {
            host.add_server(label.clone(), endpoint);
            if self.legacy {
                host.allow_legacy_discovery(&label).unwrap();
            }
        }
        let runtime = Handle::current();
        let upstreams =
            FollowedServers::start(&host, &labels, &self.admission, &self.options, &runtime)
                .unwrap();
        upstreams.settle(self.settles).await;
        let mut sources = self.folders;
        sources.extend(upstreams.sources());
        self.server.lookup = Some(Arc::new(upstreams.clone()));
        let mut server = TestServer::not_ready(sources, self.server).await;
        server.follow().await;
        Gateway { server, upstreams, _listening: Vec::new() }
    }
}

/// Has servers listen over HTTP; each has the endpoint that goes with its label.
pub(crate) async fn listen(
    servers: &[(&str, &HostileServer)],
) -> (Vec<ListeningServer>, Vec<(ServerLabel, Endpoint)>) {
    let mut listening = Vec::new();
    let mut endpoints = Vec::new();
    for (name, server) in servers {
        let listener = server.http().await;
        endpoints.push((label(name), http(&listener)));
        listening.push(listener);
    }
    (listening, endpoints)
}

/// A server's address, with a secret that only its operator knows.
pub(crate) fn http(listening: &ListeningServer) -> Endpoint {
    let secret = skillwire_client::Secret::new("Bearer upstream-secret");
    let headers = vec![("Authorization".to_owned(), secret)];
    Endpoint::Http { url: listening.url(), headers }
}

impl Gateway {
    /// Passes one honest or dishonest server on, as `acme`.
    pub(crate) async fn of(server: &HostileServer) -> Self {
        Plan::default().start(&[("acme", server)]).await
    }

    /// The URIs of all listed skills.
    pub(crate) async fn uris(&self) -> Vec<String> {
        let skills = self.server.skills().await;
        skills.iter().map(|entry| entry["uri"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) async fn get(&self, uri: &str) -> RpcReply {
        self.server.modern("skills/get", json!({ "uri": uri })).await
    }

    pub(crate) async fn read(&self, uri: &str) -> RpcReply {
        self.server.modern("resources/read", json!({ "uri": uri })).await
    }

    pub(crate) async fn text(&self, uri: &str) -> String {
        let reply = self.read(uri).await;
        reply.result()["contents"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Waits until the listing is what a test waits for.
    pub(crate) async fn until_listed(&self, is_there: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let waited = async {
            loop {
                let skills = self.server.skills().await;
                if is_there(&skills) {
                    return skills;
                }
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, waited).await.expect("the listing becomes what is waited for")
    }
}
