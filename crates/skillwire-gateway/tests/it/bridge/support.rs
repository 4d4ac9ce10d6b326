//! A bridge in the test's process, and clients of it.

use std::sync::Arc;

use serde_json::{Value, json};
use skillwire_client::Endpoint;
use skillwire_engine::{
    Caller, Engine,
    offer::{ListChanges, Offer, Offers},
};
use skillwire_gateway::{ApprovalCommand, Bridge, BridgeExtras, BridgeOptions, WantedApproval};
use skillwire_host::Host;
use skillwire_protocol::meta;
use skillwire_server::{Config, Skills};
use skillwire_source::ScanRequest;
use skillwire_testkit::{
    HostileServer, StdioClient, initialize_params, legacy_request, modern_meta, modern_request,
};
use skillwire_trust::{MemoryRecords, ServerLabel};
use tokio::time::{Duration, timeout};

pub(crate) const NONE: [(&str, &str); 0] = [];

/// A test that waits longer than this has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn label(text: &str) -> ServerLabel {
    ServerLabel::parse(text).expect("a label")
}

/// The pipes of a server, as an endpoint.
pub(crate) fn endpoint(server: &HostileServer) -> Endpoint {
    let (input, output) = server.pipes();
    Endpoint::Pipes { input: Box::new(input), output: Box::new(output) }
}

/// A host of one server, `acme`.
pub(crate) fn host(server: &HostileServer) -> Host {
    let host = Host::builder().build();
    host.add_server(label("acme"), endpoint(server));
    host
}

/// A host of one server, `acme`, that shares its records with others.
pub(crate) fn host_with(server: &HostileServer, records: &Arc<MemoryRecords>) -> Host {
    let host = Host::builder().records(Arc::clone(records)).build();
    host.add_server(label("acme"), endpoint(server));
    host
}

/// A server with one skill of two files.
pub(crate) fn refunds() -> HostileServer {
    HostileServer::new().skill("acme/refunds", [("references/x.md", "details")])
}

/// A bridge that follows its servers.
pub(crate) struct Bridged {
    pub(crate) bridge: Bridge,
    pub(crate) engine: Arc<Engine>,
    following: tokio::task::JoinHandle<()>,
}

/// The command of a program that runs a bridge.
#[derive(Debug)]
struct ExampleCommand;

impl ApprovalCommand for ExampleCommand {
    fn approve(&self, skill: &str, wanted: WantedApproval<'_>) -> String {
        let grant = match wanted {
            WantedApproval::Run(grants) => format!(" with {} grants", grants.items().len()),
            WantedApproval::RemoteRun => " there".to_owned(),
            _ => String::new(),
        };
        format!("example allow {skill}{grant}")
    }
}

impl Drop for Bridged {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl Bridged {
    pub(crate) fn over(host: Host) -> Self {
        // Tests that wait for a first listing say so.
        let options = BridgeOptions::default().first_listing(Duration::ZERO);
        Self::with(host, options.approval_command(ExampleCommand))
    }

    pub(crate) fn with(host: Host, options: BridgeOptions) -> Self {
        Self::with_extras(host, options, BridgeExtras::default())
    }

    pub(crate) fn with_extras(host: Host, options: BridgeOptions, extras: BridgeExtras) -> Self {
        let changes = ListChanges::default();
        let runtime = tokio::runtime::Handle::current();
        let bridge = Bridge::start_with(host, options, changes.clone(), &runtime, extras);
        let bridge = bridge.expect("there are random numbers");
        let offers =
            Offers::joined(vec![Arc::new(bridge.clone())], changes).expect("names are unique");
        let config = Config::default().catalogue_instructions(false);
        let skills = Skills::builder()
            .config(config)
            .offers(offers)
            .sources(bridge.sources())
            .lookup(Arc::new(bridge.servers().clone()))
            .on_notice(|_| {})
            .prepare()
            .expect("a bridge can be put together");
        skills.refresh(&ScanRequest::everything());
        let engine = Arc::clone(skills.engine());
        let follower = Arc::clone(skills.follower());
        let bridge_too = bridge.clone();
        let following = tokio::spawn(async move {
            tokio::join!(
                bridge_too.follow(),
                follower.follow(async || std::future::pending().await)
            );
        });
        Self { bridge, engine, following }
    }

    /// The description of `load_skill` for a client of this name.
    pub(crate) fn description_for(&self, client: Option<&str>) -> String {
        let caller = Caller { client: client.map(Into::into), ..Caller::default() };
        let tools = self.bridge.tools(&caller);
        let tool = tools.iter().find(|tool| tool.name() == "load_skill");
        let tool = tool.expect("the tool is offered");
        let tool: Value = serde_json::from_str(tool.json()).expect("tools are JSON");
        tool["description"].as_str().expect("it has a description").to_owned()
    }

    /// Waits until the skills that clients are told of are these.
    pub(crate) async fn settled(&self, handles: &[&str]) {
        let mut wanted = handles.to_vec();
        wanted.sort_unstable();
        let settled = async {
            loop {
                let description = self.description_for(None);
                let lines = description.lines().filter_map(|line| line.strip_prefix("- "));
                let mut now: Vec<_> = lines.filter_map(|line| line.split(": ").next()).collect();
                now.sort_unstable();
                if now == wanted {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, settled).await.expect("the skills become known in time");
    }

    /// A client of the modern era.
    pub(crate) fn modern(&self, forms: bool) -> Modern {
        Modern { client: StdioClient::in_process(Arc::clone(&self.engine)), forms, id: 0 }
    }

    /// A client of the legacy era.
    pub(crate) async fn legacy(&self, forms: bool) -> Legacy {
        self.legacy_called("a client of a test", forms).await
    }

    /// A client of the legacy era that gives itself this name.
    pub(crate) async fn legacy_called(&self, name: &str, forms: bool) -> Legacy {
        let mut client = StdioClient::in_process(Arc::clone(&self.engine));
        let mut params = initialize_params("2025-06-18");
        params["clientInfo"]["name"] = name.into();
        if forms {
            params["capabilities"] = json!({ "elicitation": {} });
        }
        let opened = client.request(&legacy_request(0, "initialize", params)).await;
        Legacy { client, opened: opened.result().clone(), heard: Vec::new(), id: 0 }
    }
}

/// A client of the modern era.
pub(crate) struct Modern {
    pub(crate) client: StdioClient,
    forms: bool,
    id: i64,
}

impl Modern {
    pub(crate) async fn request(&mut self, method: &str, mut params: Value) -> Value {
        let mut meta = modern_meta();
        if self.forms {
            meta[meta::CLIENT_CAPABILITIES] = json!({ "elicitation": { "form": {} } });
        }
        params["_meta"] = meta;
        self.id += 1;
        self.client.request(&modern_request(self.id, method, params)).await.0
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.request("tools/call", params).await["result"].clone()
    }

    /// Calls a tool and answers the form it shows; returns the form and the result.
    pub(crate) async fn call_and_answer(
        &mut self,
        tool: &str,
        arguments: Value,
        answer: Value,
    ) -> (Value, Value) {
        let asked = self.call(tool, arguments.clone()).await;
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let form = asked["inputRequests"]["approve"]["params"].clone();
        let params = json!({
            "name": tool,
            "arguments": arguments,
            "requestState": asked["requestState"],
            "inputResponses": { "approve": answer },
        });
        (form, self.request("tools/call", params).await["result"].clone())
    }
}

impl Modern {
    /// The URIs of `skills/list`, in their order.
    pub(crate) async fn listed(&mut self) -> Vec<String> {
        let answer = self.request("skills/list", json!({})).await;
        let skills = answer["result"]["skills"].as_array().cloned().unwrap_or_default();
        skills.iter().filter_map(|skill| skill["uri"].as_str().map(str::to_owned)).collect()
    }

    /// Waits until `skills/list` shows these.
    pub(crate) async fn until_listed(&mut self, uris: &[String]) {
        let listed = async { while self.listed().await != uris {} };
        timeout(PATIENCE, listed).await.expect("the skills are passed on in time");
    }
}

/// A client of the legacy era.
pub(crate) struct Legacy {
    pub(crate) client: StdioClient,
    pub(crate) opened: Value,
    heard: Vec<String>,
    id: i64,
}

impl Legacy {
    pub(crate) async fn send(&mut self, method: &str, params: Value) {
        self.id += 1;
        self.client.send(&legacy_request(self.id, method, params)).await;
    }

    /// The next message that is no notification.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            let message = self.client.next().await.expect("the bridge is there");
            if message.get("id").is_some() {
                return message;
            }
            self.heard.push(message["method"].as_str().unwrap_or_default().to_owned());
        }
    }

    /// Waits until a notification has come.
    pub(crate) async fn hear(&mut self, method: &str) {
        while !self.heard.iter().any(|heard| heard == method) {
            let message = self.client.next().await.expect("the bridge is there");
            self.heard.push(message["method"].as_str().unwrap_or_default().to_owned());
        }
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        self.send(method, params).await;
        self.next().await
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        self.request("tools/call", params).await["result"].clone()
    }

    pub(crate) async fn call_and_answer(
        &mut self,
        tool: &str,
        arguments: Value,
        answer: Value,
    ) -> (Value, Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        let asked = self.request("tools/call", params).await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let response = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer });
        self.client.send(&response).await;
        (asked["params"].clone(), self.next().await["result"].clone())
    }
}

/// The text of a result.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

/// The text of a result that must be a success.
pub(crate) fn done(result: &Value) -> &str {
    assert_eq!(result.get("isError"), None, "{result}");
    text(result)
}

/// The code of a result that must be a refusal.
pub(crate) fn refused(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    let code =
        result["structuredContent"]["refusal"]["reason"].as_str().expect("a code").to_owned();
    assert!(text(result).starts_with(&format!("Refused ({code}): ")), "{result}");
    code
}

pub(crate) fn yes() -> Value {
    json!({ "action": "accept", "content": { "load": true } })
}

pub(crate) fn load() -> Value {
    json!({ "name": "acme:refunds" })
}

/// The arguments that read a file of the skill.
pub(crate) fn read(path: &str) -> Value {
    json!({ "name": "acme:refunds", "path": path })
}
