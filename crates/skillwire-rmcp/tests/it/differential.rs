//! Sends the same requests to our own server and to the official SDK with skills attached.
//!
//! Both ask one engine, so this compares everything around it: reading requests, checking headers,
//! eras, result types, and what the SDK does to an answer before it sends it.

use std::net::SocketAddr;

use rmcp::{
    ServerHandler,
    model::{Implementation, ServerCapabilities, ServerConfig},
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Value, json};
use skillwire_rmcp::WithSkills;
use skillwire_server::{Config, ServerIdentity, Skills};
use skillwire_source::GeneratedFiles;
use skillwire_testkit::{
    HttpConnection, HttpReply, LEGACY_HEADERS, SkillFolder, initialize_params, legacy_request,
    modern_headers, modern_request, skill_md,
};
use tokio::net::TcpListener;

/// A handler that has only a name.
struct Bare;

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::default())
            .with_server_info(Implementation::new("both", "1"))
    }
}

/// The two servers, over the same skills.
struct Pair {
    _folder: SkillFolder,
    ours: SocketAddr,
    theirs: SocketAddr,
}

impl Pair {
    async fn start() -> Self {
        let folder = SkillFolder::with_skills(&["acme/a", "acme/a/inner", "b", "c", "d"]);
        folder
            .file("b/a b/ü.txt", "text with \u{2028} and \0")
            .file("b/data.bin", [0xff, 0, 0xfe])
            .file("b/empty.txt", "")
            .directory("b/none");
        let config = Config::default().page_size(2).identity(ServerIdentity::new("both", "1"));
        let live = GeneratedFiles::new()
            .file("SKILL.md", || skill_md("live"))
            .file("data/now.txt", || "now")
            .try_file("data/broken.txt", || Err::<String, _>("on purpose"));
        let skills = Skills::builder()
            .folder(folder.path())
            .dynamic("live", live)
            .config(config)
            .build()
            .expect("the folder is there");
        let (listener, ours) = listen().await;
        let alone = skills.clone();
        tokio::spawn(async move { alone.serve_http(listener, std::future::pending()).await });
        let service = StreamableHttpService::new(
            move || Ok(WithSkills::new(Bare, &skills)),
            LocalSessionManager::default().into(),
            StreamableHttpServerConfig::default().with_json_response(true),
        );
        let app = axum::Router::new().nest_service("/mcp", service);
        let (listener, theirs) = listen().await;
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { _folder: folder, ours, theirs }
    }

    /// Sends one request to both servers and returns both answers, ours first.
    async fn send(&self, headers: &[(&str, &str)], body: &str) -> [HttpReply; 2] {
        [post(self.ours, headers, body).await, post(self.theirs, headers, body).await]
    }

    async fn modern(&self, method: &str, params: Value) -> [HttpReply; 2] {
        let (name, body) = (name(&params), modern_request(1, method, params).to_string());
        let mut headers = modern_headers(method);
        headers.extend(name.as_deref().map(|name| ("Mcp-Name", name)));
        self.send(&headers, &body).await
    }

    /// Sends one request within a legacy session of each server.
    async fn legacy(&self, method: &str, params: Value) -> [HttpReply; 2] {
        let ours = in_session(self.ours, method, params.clone()).await;
        [ours, in_session(self.theirs, method, params).await]
    }
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
    let address = listener.local_addr().expect("a listener has an address");
    (listener, address)
}

async fn post(address: SocketAddr, headers: &[(&str, &str)], body: &str) -> HttpReply {
    let mut connection = HttpConnection::open(address).await;
    connection.send("POST", "/mcp", headers, body.as_bytes()).await;
    connection.reply().await
}

async fn in_session(address: SocketAddr, method: &str, params: Value) -> HttpReply {
    let opening = legacy_request(0, "initialize", initialize_params("2025-11-25")).to_string();
    let opened = post(address, &LEGACY_HEADERS, &opening).await;
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    let mut headers = LEGACY_HEADERS.to_vec();
    headers.extend([("Mcp-Session-Id", &*session), ("MCP-Protocol-Version", "2025-11-25")]);
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    post(address, &headers, initialized).await;
    post(address, &headers, &legacy_request(1, method, params).to_string()).await
}

/// Returns the header that repeats a request's name, if a header can carry it.
fn name(params: &Value) -> Option<String> {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let name = params["uri"].as_str().or(params["name"].as_str())?;
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
    Some(if plain { name.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(name)) })
}

/// Returns the message of an answer, which is the body or its one event.
fn message(reply: &HttpReply) -> Value {
    let text = reply.text();
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let body = data.rfind(|line| !line.is_empty()).unwrap_or(&text);
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{}: {text:?}", reply.status))
}

/// Lists the requests that both servers must answer alike, in either era.
fn requests() -> Vec<(&'static str, Value)> {
    let mut requests = vec![
        ("skills/list", json!({})),
        ("skills/list", json!({ "unknown": true })),
        ("skills/list", json!({ "cursor": "forged" })),
        ("skills/list", json!({ "cursor": 5 })),
        ("resources/list", json!({})),
        ("resources/list", json!({ "cursor": "forged" })),
        ("resources/templates/list", json!({})),
        ("resources/templates/list", json!({ "cursor": "forged" })),
        ("skills/get", json!({})),
        ("skills/get", json!({ "uri": 5 })),
        ("resources/directory/read", json!({})),
        ("resources/directory/read", json!({ "uri": {} })),
        ("resources/directory/read", json!({ "uri": "skill://b", "cursor": "forged" })),
        ("resources/directory/read", json!({ "uri": "skill://live", "cursor": "x" })),
        ("completion/complete", json!({})),
    ];
    let skill = "skill://{+skillPath}/SKILL.md";
    for (template, argument) in [
        (skill, json!({ "name": "skillPath", "value": "a" })),
        (skill, json!({ "name": "other", "value": "a" })),
        ("skill://{+skillPath}/{+filePath}", json!({ "name": "filePath", "value": "" })),
        ("other://{x}", json!({ "name": "x", "value": "" })),
    ] {
        let reference = json!({ "type": "ref/resource", "uri": template });
        let context = json!({ "arguments": { "skillPath": "b" } });
        let params = json!({ "ref": reference, "argument": argument, "context": context });
        requests.push(("completion/complete", params));
    }
    for uri in [
        "skill://acme/a/SKILL.md",
        "skill://acme/a/inner/SKILL.md",
        "skill://b/SKILL.md",
        "skill://b/a%20b/%C3%BC.txt",
        "skill://b/data.bin",
        "skill://b/empty.txt",
        "skill://live/SKILL.md",
        "skill://live/data/now.txt",
        "skill://live/data/broken.txt",
        "skill://live/data",
        "skill://live",
        "skill://acme",
        "skill://acme/a",
        "skill://b",
        "skill://b/",
        "skill://b/none",
        "skill://b/a%20b",
        "skill://b/../b/SKILL.md",
        "skill://b/%2e%2e/b/SKILL.md",
        "SKILL://b/SKILL.md",
        "skill://nowhere/SKILL.md",
        "file:///etc/passwd",
        "",
        "ü",
    ] {
        for method in ["skills/get", "resources/read", "resources/directory/read"] {
            requests.push((method, json!({ "uri": uri })));
        }
    }
    requests
}

#[tokio::test]
async fn both_paths_answer_alike_on_the_modern_era() {
    let pair = Pair::start().await;
    for (method, params) in requests() {
        let shown = format!("{method} {params}");
        let [ours, theirs] = pair.modern(method, params).await;
        assert_eq!(message(&ours), message(&theirs), "{shown}");
        assert_eq!(ours.status, theirs.status, "{shown}");
        assert_eq!(ours.header("content-type"), theirs.header("content-type"), "{shown}");
    }
}

#[tokio::test]
async fn both_paths_answer_alike_on_the_old_era() {
    let pair = Pair::start().await;
    for (method, params) in requests() {
        let shown = format!("{method} {params}");
        let [ours, theirs] = pair.legacy(method, params).await;
        assert_eq!(message(&ours), message(&theirs), "{shown}");
        assert_eq!(ours.status, theirs.status, "{shown}");
    }
}

#[tokio::test]
async fn both_paths_give_the_same_pages_and_take_each_others_cursors_srv_56() {
    let pair = Pair::start().await;
    for (method, member, of) in [
        ("skills/list", "skills", json!({})),
        ("resources/list", "resources", json!({})),
        ("resources/directory/read", "resources", json!({ "uri": "skill://b" })),
    ] {
        let (mut params, mut pages, mut items) = (of, 0, 0);
        loop {
            let [ours, theirs] = pair.modern(method, params.clone()).await;
            let (ours, theirs) = (message(&ours), message(&theirs));
            assert_eq!(ours, theirs, "{method} page {pages}");
            pages += 1;
            items += ours["result"][member].as_array().map_or(0, Vec::len);
            match ours["result"].get("nextCursor") {
                Some(cursor) => params["cursor"] = cursor.clone(),
                None => break,
            }
        }
        assert!(pages > 1 && items > pages, "{method}: {pages} pages, {items} items");
    }
}

/// Requests whose headers and body disagree, or that lack one.
#[tokio::test]
async fn both_paths_refuse_headers_that_disagree_with_the_body_srv_99() {
    let pair = Pair::start().await;
    let read = |uri: &str| modern_request(1, "resources/read", json!({ "uri": uri })).to_string();
    let (a, version) = ("skill://b/SKILL.md", ("MCP-Protocol-Version", "2026-07-28"));
    let method = ("Mcp-Method", "resources/read");
    let cases: [&[(&str, &str)]; 6] = [
        &[version, method],
        &[version, ("Mcp-Name", a)],
        &[version, ("Mcp-Method", "skills/get"), ("Mcp-Name", a)],
        &[version, method, ("Mcp-Name", "skill://c/SKILL.md")],
        &[version, method, ("Mcp-Name", "=?base64?!!?=")],
        &[("MCP-Protocol-Version", "2025-11-25"), method, ("Mcp-Name", a)],
    ];
    for extra in cases {
        let mut headers = LEGACY_HEADERS.to_vec();
        headers.extend_from_slice(extra);
        let [ours, theirs] = pair.send(&headers, &read(a)).await;
        let codes = [&ours, &theirs].map(|reply| message(reply)["error"]["code"].clone());
        assert_eq!(codes, [json!(-32020), json!(-32020)], "{extra:?}");
        assert_eq!([ours.status, theirs.status], [400, 400], "{extra:?}");
    }
}

/// Returns the status and the error code of an answer; no code for a result or a body that is not
/// JSON.
fn gist(reply: &HttpReply) -> (u16, Option<i64>) {
    let message = serde_json::from_slice::<Value>(&reply.body).ok();
    (reply.status, message.and_then(|message| message["error"]["code"].as_i64()))
}

/// Records what the SDK does by itself before it asks a handler. Each line was observed; when the
/// SDK changes, this test fails.
#[tokio::test]
async fn where_the_sdk_itself_answers_otherwise_is_known() {
    let pair = Pair::start().await;
    let request = |method: &str, params: Value| modern_request(1, method, params).to_string();
    for (method, body, ours, theirs) in [
        ("skills/list", "{".to_owned(), (400, Some(-32700)), (415, None)),
        ("skills/list", "[]".to_owned(), (400, Some(-32600)), (415, None)),
        // The SDK ignores parameters of listings that it cannot read.
        (
            "resources/list",
            request("resources/list", json!({ "cursor": {} })),
            (200, Some(-32602)),
            (200, None),
        ),
        // The SDK checks the name in the body before it reports that the header is missing.
        (
            "resources/read",
            request("resources/read", json!({})),
            (400, Some(-32020)),
            (200, Some(-32602)),
        ),
    ] {
        let replies = pair.send(&modern_headers(method), &body).await;
        assert_eq!(replies.each_ref().map(gist), [ours, theirs], "{body}");
    }
    let unknown = request("nothing/here", json!({}));
    let replies = pair.send(&modern_headers("nothing/here"), &unknown).await;
    assert_eq!(replies.each_ref().map(gist), [(404, Some(-32601)); 2]);
}
