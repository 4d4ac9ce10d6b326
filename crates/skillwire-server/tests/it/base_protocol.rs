//! The base protocol on both transports: SRV-93 to SRV-96, SRV-104, SRV-105 and SRV-108.

use serde_json::{Value, json};
use skillwire_protocol::meta;
use skillwire_server::{CacheScope, Config, ServerIdentity};
use skillwire_testkit::{
    RpcReply, SkillFolder, StdioClient, TestOptions, TestServer, initialize_params, legacy_request,
    modern_headers, modern_meta, modern_request,
};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::peers::{listen_with, pipe, read_until, request_bytes};

/// Posts a modern request whose metadata is exactly `meta`.
async fn with_meta(server: &TestServer, header: &str, meta: &Value) -> (u16, RpcReply) {
    let mut request = legacy_request(5, "skills/list", json!({}));
    if !meta.is_null() {
        request["params"]["_meta"] = meta.clone();
    }
    let headers = [
        ("Content-Type", "application/json"),
        ("MCP-Protocol-Version", header),
        ("Mcp-Method", "skills/list"),
    ];
    let reply = server.post(&headers, request.to_string().as_bytes()).await;
    (reply.status, reply.message())
}

/// Returns metadata without one member.
fn meta_without(key: &str) -> Value {
    let mut meta = modern_meta();
    meta.as_object_mut().expect("metadata is an object").remove(key);
    meta
}

/// Returns metadata with another value for one member.
fn meta_with(key: &str, value: Value) -> Value {
    let mut meta = modern_meta();
    meta[key] = value;
    meta
}

#[tokio::test]
async fn discover_tells_versions_capabilities_and_freshness_on_both_transports_srv_93() {
    let folder = SkillFolder::with_skills(&["a"]);
    let config = Config::default().ttl_ms(1234).cache_scope(CacheScope::Private);
    let server =
        TestServer::with(folder.path(), TestOptions { config, ..Default::default() }).await;
    let mut pipe = StdioClient::in_process(server.engine());
    let over_http = server.modern("server/discover", json!({})).await;
    let over_stdio = pipe.modern(1, "server/discover", json!({})).await;
    assert_eq!(over_http.0, over_stdio.0);
    let result = over_http.result();
    assert_eq!(result["resultType"], "complete");
    let versions = result["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&"2026-07-28".into()), "{versions:?}");
    assert!(result["capabilities"].is_object());
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(1234), &json!("private")));
}

#[tokio::test]
async fn a_request_without_required_metadata_is_invalid_srv_94() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    let broken = [
        Value::Null,
        json!({}),
        json!([]),
        json!("2026-07-28"),
        meta_without(meta::PROTOCOL_VERSION),
        meta_without(meta::CLIENT_CAPABILITIES),
        meta_with(meta::PROTOCOL_VERSION, json!(20_260_728)),
        meta_with(meta::PROTOCOL_VERSION, json!(null)),
        meta_with(meta::CLIENT_CAPABILITIES, json!(null)),
        meta_with(meta::CLIENT_CAPABILITIES, json!([])),
        meta_with(meta::CLIENT_CAPABILITIES, json!("all")),
    ];
    let mut client = StdioClient::in_process(server.engine());
    for meta in &broken {
        let (status, reply) = with_meta(&server, "2026-07-28", meta).await;
        assert_eq!((status, reply.code()), (400, -32602), "{meta}");
        assert_eq!(reply.0["id"], 5);
        let mut request = legacy_request(6, "skills/list", json!({}));
        if !meta.is_null() {
            request["params"]["_meta"] = meta.clone();
        }
        let reply = client.request(&request).await;
        assert_eq!((reply.code(), &reply.0["id"]), (-32602, &json!(6)), "{meta}");
    }
}

#[tokio::test]
async fn the_name_of_the_client_is_not_required_srv_94() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    let (status, reply) = with_meta(&server, "2026-07-28", &meta_without(meta::CLIENT_INFO)).await;
    assert_eq!(status, 200);
    assert_eq!(reply.result()["skills"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_unsupported_version_is_answered_with_the_supported_ones_srv_95() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    let supported = server.call("server/discover", json!({})).await["supportedVersions"].clone();
    let mut client = StdioClient::in_process(server.engine());
    for version in ["1900-01-01", "2026-07-29", "2027-01-01", "DRAFT-2026-v1", "latest"] {
        let meta = meta_with(meta::PROTOCOL_VERSION, json!(version));
        let (status, over_http) = with_meta(&server, version, &meta).await;
        assert_eq!(status, 400, "{version}");
        let request = modern_request(5, "skills/list", json!({ "_meta": meta }));
        let over_stdio = client.request(&request).await;
        for reply in [over_http, over_stdio] {
            assert_eq!(reply.code(), -32022, "{version}");
            let data = json!({ "supported": supported, "requested": version });
            assert_eq!(reply.0["error"]["data"], data);
            assert_eq!(reply.0["id"], 5);
        }
    }
}

#[tokio::test]
async fn answers_do_not_depend_on_connection_or_order_srv_96() {
    let folder = SkillFolder::with_skills(&["a", "b/c"]);
    folder.file("a/notes.md", "text");
    let server = TestServer::start(folder.path()).await;
    let calls = [
        ("server/discover", json!({})),
        ("skills/list", json!({})),
        ("skills/get", json!({ "uri": "skill://a/SKILL.md" })),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": "skill://a/notes.md" })),
        ("resources/directory/read", json!({ "uri": "skill://b/c" })),
        ("resources/templates/list", json!({})),
    ];
    let mut alone = Vec::new();
    for (method, params) in &calls {
        alone.push(server.modern(method, params.clone()).await.0);
    }
    // Every rotation, backwards, on one kept-alive connection and on one pipe.
    let mut connection = server.connect().await;
    let mut client = StdioClient::in_process(server.engine());
    client.request(&legacy_request(0, "initialize", initialize_params("2025-11-25"))).await;
    for start in 0..calls.len() {
        for step in 0..calls.len() {
            let index = (start + calls.len() - step) % calls.len();
            let (method, params) = &calls[index];
            let request = modern_request(1, method, params.clone());
            let mut headers = modern_headers(method);
            headers.extend(params["uri"].as_str().map(|uri| ("Mcp-Name", uri)));
            connection.send("POST", "/mcp", &headers, request.to_string().as_bytes()).await;
            assert_eq!(connection.reply().await.message().0, alone[index], "{method}");
            assert_eq!(client.request(&request).await.0, alone[index], "{method}");
        }
    }
}

#[tokio::test]
async fn metadata_of_an_earlier_request_does_not_count_for_a_later_one_srv_96() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    let bare = legacy_request(2, "skills/list", json!({}));
    let mut connection = server.connect().await;
    let complete = modern_request(1, "skills/list", json!({})).to_string();
    let headers = modern_headers("skills/list");
    connection.send("POST", "/mcp", &headers, complete.as_bytes()).await;
    connection.reply().await.message().result();
    connection.send("POST", "/mcp", &headers, bare.to_string().as_bytes()).await;
    assert_eq!(connection.reply().await.message().code(), -32602);

    let mut client = StdioClient::in_process(server.engine());
    client.modern(1, "skills/list", json!({})).await.result();
    assert_eq!(client.request(&bare).await.code(), -32602);
}

#[tokio::test]
async fn results_name_the_server_except_where_old_clients_would_lose_them_srv_104() {
    let folder = SkillFolder::with_skills(&["a"]);
    let config = Config::default().identity(ServerIdentity::new("demo", "9.8"));
    let server =
        TestServer::with(folder.path(), TestOptions { config, ..Default::default() }).await;
    let uri = json!({ "uri": "skill://a/SKILL.md" });
    for (method, params) in [
        ("server/discover", json!({})),
        ("resources/list", json!({})),
        ("resources/read", uri.clone()),
        ("resources/templates/list", json!({})),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
    ] {
        let result = server.call(method, params).await;
        let info = &result["_meta"][meta::SERVER_INFO];
        assert_eq!(*info, json!({ "name": "demo", "version": "9.8" }), "{method}");
    }
    for (method, params) in [
        ("skills/list", json!({})),
        ("skills/get", uri),
        ("resources/directory/read", json!({ "uri": "skill://a" })),
    ] {
        let result = server.call(method, params).await;
        assert!(result.get("_meta").is_none(), "{method}");
    }
}

#[tokio::test]
async fn initialize_declares_the_extension_on_both_transports_srv_105() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    let modern = server.call("server/discover", json!({})).await["capabilities"].clone();
    let (_, over_http) = server.initialize("2025-11-25").await;
    let mut client = StdioClient::in_process(server.engine());
    let request = legacy_request(0, "initialize", initialize_params("2025-11-25"));
    let over_stdio = client.request(&request).await.result().clone();
    assert_eq!(over_http, over_stdio);
    let mut declared = over_http["capabilities"].clone();
    // Older dialects have a key of their own.
    declared.as_object_mut().unwrap().remove("skills");
    assert_eq!(declared, modern);
    assert_eq!(
        over_http["capabilities"]["extensions"]["io.modelcontextprotocol/skills"],
        json!({ "directoryRead": true })
    );
    for key in ["protocolVersion", "instructions"] {
        assert!(over_http[key].is_string(), "{key}");
    }
    assert!(over_http["serverInfo"]["name"].is_string());
}

/// Ids that a server may be tempted to parse as something else.
const IDS: [&str; 12] = [
    "0",
    "-1",
    "-0",
    "9007199254740993",
    "18446744073709551616",
    "123456789012345678901234567890",
    r#""""#,
    r#""1""#,
    r#""null""#,
    r#"" spaced ""#,
    "\"\u{e9}\u{2028}\u{1f600}\"",
    r#""a\"b\\c\n""#,
];

/// Creates a modern request whose id is written exactly like this.
fn with_raw_id(id: &str, method: &str) -> String {
    let request = modern_request("ID", method, json!({})).to_string();
    request.replacen(r#""ID""#, id, 1)
}

#[tokio::test]
async fn ids_come_back_as_they_were_srv_108() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    for id in IDS {
        for method in ["skills/list", "no/such/method"] {
            let body = with_raw_id(id, method);
            let reply = server.post(&modern_headers(method), body.as_bytes()).await.text();
            let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
            assert!(reply.starts_with(&start), "{id}: {reply}");
            let written = pipe(server.engine(), body + "\n").await;
            assert_eq!(String::from_utf8(written).unwrap().trim_end(), reply, "{id}");
        }
    }
}

#[tokio::test]
async fn a_subscription_has_the_id_of_its_request_whatever_its_size_srv_108_srv_106() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    for id in IDS {
        let body = with_raw_id(id, "subscriptions/listen").replacen(
            r#""params":{"#,
            r#""params":{"notifications":{},"#,
            1,
        );
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream
            .write_all(request_bytes("", &body, "subscriptions/listen").as_bytes())
            .await
            .unwrap();
        let first = read_until(&mut stream, "}}\n\n").await;
        assert!(first.contains(&format!(r#""{}":{id}}}"#, meta::SUBSCRIPTION_ID)), "{id}: {first}");
    }
}

#[tokio::test]
async fn an_unreadable_id_is_left_out_and_never_null_srv_108_v_10() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    for id in ["null", "{}", "[1]", "1.5", "1e3", "true", r#""\ud800""#] {
        let body = with_raw_id(id, "skills/list");
        let reply = server.post(&modern_headers("skills/list"), body.as_bytes()).await;
        assert_eq!(reply.status, 400, "{id}");
        let message = reply.message();
        assert_eq!(message.code(), -32600, "{id}");
        assert!(message.0.get("id").is_none(), "{id}: {}", message.0);
        let written = pipe(server.engine(), body + "\n").await;
        assert_eq!(String::from_utf8(written).unwrap().trim_end(), reply.text(), "{id}");
    }
}

#[tokio::test]
async fn a_string_id_is_echoed_in_notifications_srv_108() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    let (_stream, first) = listen_with(&server, &[], "sub-1", json!({})).await;
    assert_eq!(first["params"]["_meta"][meta::SUBSCRIPTION_ID], "sub-1");
}
