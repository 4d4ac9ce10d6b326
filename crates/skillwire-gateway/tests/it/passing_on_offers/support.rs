//! Shared by the tests: servers with tools, and a gateway that passes them on.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::{Value, json};
use skillwire_client::ClientOptions;
use skillwire_gateway::{
    AllowedTools, CallAudit, CallOutcome, CallRecord, NamePrefix, OfferLimits, ToolAdmission,
    UpstreamOffer, UpstreamOfferOptions,
};
use skillwire_host::{Host, OriginAddress};
use skillwire_protocol::meta;
use skillwire_server::offer::{ListChanges, Offer, Offers};
use skillwire_source::PathPatterns;
use skillwire_testkit::{
    Fault, HostileServer, ListeningServer, RpcReply, ScriptedReply, TestOptions, TestServer,
    modern_meta,
};
use skillwire_trust::ServerLabel;
use tokio::{runtime::Handle, time::timeout};

use crate::passing_on::support::{PATIENCE, listen};

/// The records of calls, as `caller upstream method name outcome`.
#[derive(Debug, Default)]
pub(crate) struct Recorded(Mutex<Vec<String>>);

impl CallAudit for Recorded {
    fn called(&self, record: &CallRecord<'_>) {
        let CallRecord { caller, upstream, method, name, outcome, .. } = record;
        let outcome = match outcome {
            CallOutcome::Failed(code) => code.to_string(),
            other => format!("{other:?}"),
        };
        let caller = &caller.name;
        self.0.lock().push(format!("{caller} {upstream} {method} {name} {outcome}"));
    }
}

/// A gateway that passes tools and prompts on.
pub(crate) struct OfferGateway {
    pub(crate) server: TestServer,
    pub(crate) offers: Vec<UpstreamOffer>,
    pub(crate) audit: Arc<Recorded>,
    _listening: Vec<ListeningServer>,
}

/// How such a gateway is put together.
pub(crate) struct OfferPlan {
    pub(crate) admission: Arc<dyn ToolAdmission>,
    pub(crate) limits: OfferLimits,
    pub(crate) tokens: Option<String>,
    /// Whether names get the label of their server.
    pub(crate) shared: bool,
}

impl Default for OfferPlan {
    fn default() -> Self {
        Self {
            admission: Arc::new(allowed(&["*/*"])),
            limits: OfferLimits::default(),
            tokens: None,
            shared: true,
        }
    }
}

/// Admits tools and prompts that match.
pub(crate) fn allowed(patterns: &[&str]) -> AllowedTools {
    let parse = || PathPatterns::parse(patterns).unwrap();
    AllowedTools::matching(parse()).with_prompts(parse())
}

impl OfferPlan {
    pub(crate) async fn start(self, servers: &[(&str, &HostileServer)]) -> OfferGateway {
        let (listening, endpoints) = listen(servers).await;
        let gateway = self.start_at(endpoints).await;
        OfferGateway { _listening: listening, ..gateway }
    }

    pub(crate) async fn start_at(
        self,
        endpoints: Vec<(ServerLabel, impl Into<OriginAddress>)>,
    ) -> OfferGateway {
        let options = ClientOptions::default().relaying_forms();
        let host = Host::builder().client_options(options).build();
        let (changes, audit) = (ListChanges::default(), Arc::new(Recorded::default()));
        let mut offers = Vec::new();
        for (label, endpoint) in endpoints {
            host.add_server(label.clone(), endpoint);
            let prefix = if self.shared { NamePrefix::of(&label) } else { NamePrefix::none() };
            let options = UpstreamOfferOptions::new(prefix, Arc::clone(&self.admission))
                .audit(Arc::clone(&audit) as Arc<dyn CallAudit>)
                .limits(self.limits)
                .changes(changes.clone());
            let relay = host.relay(&label).unwrap();
            offers.push(UpstreamOffer::start(relay, options, &Handle::current()));
        }
        for offer in &offers {
            timeout(PATIENCE, offer.tried()).await.expect("every server is tried in time");
        }
        let all = offers.iter().map(|offer| Arc::new(offer.clone()) as Arc<dyn Offer>).collect();
        let options = TestOptions {
            offers: Offers::joined(all, changes).unwrap(),
            tokens: self.tokens,
            ..TestOptions::default()
        };
        let server = TestServer::with_sources(Vec::new(), options).await;
        OfferGateway { server, offers, audit, _listening: Vec::new() }
    }
}

impl OfferGateway {
    pub(crate) async fn of(server: &HostileServer) -> Self {
        OfferPlan::default().start(&[("acme", server)]).await
    }

    /// The names of all listed tools.
    pub(crate) async fn tools(&self) -> Vec<String> {
        let listed = self.server.call("tools/list", json!({})).await;
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        listed["tools"].as_array().unwrap().iter().map(name).collect()
    }

    pub(crate) async fn call(&self, name: &str) -> RpcReply {
        self.server.modern("tools/call", json!({ "name": name, "arguments": {} })).await
    }

    /// Waits until the tools are what a test waits for.
    pub(crate) async fn until_tools(&self, wanted: &[&str]) {
        let become_wanted = async {
            while self.tools().await != wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, become_wanted).await.expect("the tools become what is waited for");
    }

    /// Waits until calls were recorded.
    pub(crate) async fn recorded(&self, count: usize) -> Vec<String> {
        let waited = async {
            while self.audit.0.lock().len() < count {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, waited).await.expect("every call is recorded");
        self.audit.0.lock().clone()
    }
}

/// A server that offers these tools and answers nothing else about them.
pub(crate) fn server_with(tools: &'static [&'static str]) -> HostileServer {
    let listed: Vec<Value> = tools.iter().map(|name| tool(name)).collect();
    HostileServer::new()
        .fault(Fault::Capabilities(json!({
            "tools": { "listChanged": true }, "prompts": {},
            "resources": { "listChanged": true, "subscribe": true },
        })))
        .on("tools/list", move |_, _| result(json!({ "tools": listed })))
        .on("prompts/list", |_, _| result(json!({ "prompts": [] })))
}

pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

/// A result that both eras accept.
pub(crate) fn result(mut members: Value) -> ScriptedReply {
    members["resultType"] = "complete".into();
    ScriptedReply::Result(members)
}

pub(crate) fn text_result(text: &str) -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] })
}

/// Metadata of a client that shows forms.
pub(crate) fn with_forms() -> Value {
    let mut meta = modern_meta();
    meta[meta::CLIENT_CAPABILITIES] = json!({ "elicitation": {} });
    meta
}
