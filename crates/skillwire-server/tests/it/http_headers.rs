//! Headers that must agree with the body: SRV-99, SRV-100, V-11 to V-13.

use serde_json::{Value, json};
use skillwire_protocol::meta;
use skillwire_testkit::{HttpReply, SkillFolder, TestServer, modern_meta, modern_request};

const URI: &str = "skill://a/SKILL.md";
/// [`URI`] in base64.
const URI_BASE64: &str = "=?base64?c2tpbGw6Ly9hL1NLSUxMLm1k?=";
/// `skill://b/SKILL.md` in base64.
const OTHER_BASE64: &str = "=?base64?c2tpbGw6Ly9iL1NLSUxMLm1k?=";

const JSON: (&str, &str) = ("Content-Type", "application/json");
const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");

async fn server() -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&["a", "b"]);
    let server = TestServer::start(folder.path()).await;
    (folder, server)
}

/// Posts a request with exactly these headers and the content type.
async fn post(
    server: &TestServer,
    headers: &[(&str, &str)],
    method: &str,
    params: Value,
) -> HttpReply {
    let body = modern_request(3, method, params).to_string();
    let headers: Vec<_> = [JSON].into_iter().chain(headers.iter().copied()).collect();
    server.post(&headers, body.as_bytes()).await
}

#[track_caller]
fn assert_mismatch(reply: &HttpReply, what: &str) {
    let message = reply.message();
    assert_eq!((reply.status, message.code()), (400, -32020), "{what}");
    assert_eq!(message.0["id"], 3, "{what}");
}

#[tokio::test]
async fn missing_version_header_is_header_mismatch_srv_99() {
    let (_folder, server) = server().await;
    let reply = post(&server, &[("Mcp-Method", "skills/list")], "skills/list", json!({})).await;
    assert_mismatch(&reply, "no version");
}

#[tokio::test]
async fn missing_method_header_is_header_mismatch_srv_99() {
    let (_folder, server) = server().await;
    for method in ["server/discover", "skills/list", "resources/list", "no/such/method"] {
        assert_mismatch(&post(&server, &[VERSION], method, json!({})).await, method);
    }
}

#[tokio::test]
async fn missing_name_header_is_header_mismatch_where_it_is_required_srv_99() {
    let (_folder, server) = server().await;
    for (method, params) in [
        ("resources/read", json!({ "uri": URI })),
        ("tools/call", json!({ "name": "x" })),
        ("prompts/get", json!({ "name": "x" })),
    ] {
        let reply = post(&server, &[VERSION, ("Mcp-Method", method)], method, params).await;
        assert_mismatch(&reply, method);
    }
}

#[tokio::test]
async fn header_names_have_no_case_and_values_have_srv_99() {
    let (_folder, server) = server().await;
    let params = json!({ "uri": URI });
    let shouted = [
        ("mcp-protocol-VERSION", "2026-07-28"),
        ("MCP-METHOD", "resources/read"),
        ("mcp-name", URI),
    ];
    let reply = post(&server, &shouted, "resources/read", params.clone()).await;
    assert_eq!(reply.status, 200);
    for (method, name) in [("Resources/Read", URI), ("resources/read", "SKILL://a/SKILL.md")] {
        let headers = [VERSION, ("Mcp-Method", method), ("Mcp-Name", name)];
        let reply = post(&server, &headers, "resources/read", params.clone()).await;
        assert_mismatch(&reply, method);
    }
}

#[tokio::test]
async fn names_in_base64_are_decoded_before_they_are_compared_srv_99() {
    let (folder, mut server) = server().await;
    folder.file("a/caf\u{e9}.md", "text");
    server.refresh();
    let read = |name: &'static str, uri: &'static str| {
        let server = &server;
        async move {
            let headers = [VERSION, ("Mcp-Method", "resources/read"), ("Mcp-Name", name)];
            post(server, &headers, "resources/read", json!({ "uri": uri })).await
        }
    };
    read(URI_BASE64, URI).await.message().result();
    // Once header and body agree, an unknown URI is an error of the method.
    let unknown = read("=?base64?c2tpbGw6Ly9hL2NhZsOpLm1k?=", "skill://a/caf\u{e9}.md").await;
    assert_eq!((unknown.status, unknown.message().code()), (200, -32602));
    for (name, uri) in [
        (OTHER_BASE64, URI),
        ("=?base64?c2tpbGw6Ly9hL1NLSUxMLm1k", URI),
        ("=?BASE64?c2tpbGw6Ly9hL1NLSUxMLm1k?=", URI),
        ("=?base64?!!!?=", URI),
        ("=?base64?c2tpbGw6Ly9hL1NLSUxMLm1?=", URI),
        ("=?base64?/w==?=", URI),
        ("=?base64??=", URI),
        ("c2tpbGw6Ly9hL1NLSUxMLm1k", URI),
        // A value that looks encoded is decoded, even if the body contains it literally.
        (URI_BASE64, URI_BASE64),
    ] {
        assert_mismatch(&read(name, uri).await, name);
    }
}

#[tokio::test]
async fn repeated_headers_are_header_mismatch_even_when_they_agree_srv_99() {
    let (_folder, server) = server().await;
    let good = [VERSION, ("Mcp-Method", "resources/read"), ("Mcp-Name", URI)];
    for repeated in good {
        let headers: Vec<_> = good.into_iter().chain([repeated]).collect();
        let reply = post(&server, &headers, "resources/read", json!({ "uri": URI })).await;
        assert_mismatch(&reply, repeated.0);
    }
}

#[tokio::test]
async fn bytes_that_are_no_ascii_are_header_mismatch_srv_99() {
    let (_folder, server) = server().await;
    let params = json!({ "uri": "skill://a/\u{e9}" });
    let headers = [VERSION, ("Mcp-Method", "resources/read"), ("Mcp-Name", "skill://a/\u{e9}")];
    assert_mismatch(&post(&server, &headers, "resources/read", params).await, "UTF-8 in a header");
}

#[tokio::test]
async fn broken_metadata_and_versions_have_their_own_codes_v_11() {
    let (_folder, server) = server().await;
    let with = |key: &str, value: Value| {
        let mut meta = modern_meta();
        meta[key] = value;
        meta
    };
    let cases = [
        ("2026-07-28", json!({}), -32602),
        ("2026-07-28", with(meta::PROTOCOL_VERSION, json!(7)), -32602),
        ("2026-07-28", with(meta::PROTOCOL_VERSION, json!("2025-11-25")), -32020),
        ("2025-11-25", modern_meta(), -32020),
        ("2099-01-01", modern_meta(), -32020),
        ("", modern_meta(), -32020),
        ("2099-01-01", with(meta::PROTOCOL_VERSION, json!("2099-01-01")), -32022),
        ("2099-01-01", json!({}), -32602),
    ];
    for (header, meta, code) in cases {
        let headers = [("MCP-Protocol-Version", header), ("Mcp-Method", "skills/list")];
        let reply = post(&server, &headers, "skills/list", json!({ "_meta": meta })).await;
        assert_eq!((reply.status, reply.message().code()), (400, code), "{header} {meta}");
    }
}

#[tokio::test]
async fn a_body_that_its_headers_do_not_announce_is_not_acted_upon_v_12() {
    let (_folder, server) = server().await;
    let cases = [
        ("tools/list", URI),
        ("skills/list", URI),
        ("", URI),
        ("resources/read", "skill://b/SKILL.md"),
        ("resources/read", OTHER_BASE64),
        ("resources/read", "skill://a/SKILL.md/"),
        ("resources/read", ""),
    ];
    for (method, name) in cases {
        let headers = [VERSION, ("Mcp-Method", method), ("Mcp-Name", name)];
        let reply = post(&server, &headers, "resources/read", json!({ "uri": URI })).await;
        assert_mismatch(&reply, &format!("{method} {name}"));
        assert!(!reply.text().contains("Does a."), "the file was sent");
    }
    // The server does not open a stream either.
    let headers = [VERSION, ("Mcp-Method", "skills/list")];
    let params = json!({ "notifications": { "resourcesListChanged": true } });
    let reply = post(&server, &headers, "subscriptions/listen", params).await;
    assert_mismatch(&reply, "a stream");
}

#[tokio::test]
async fn line_breaks_in_a_header_do_not_get_through_v_12() {
    let (_folder, server) = server().await;
    let uri = "skill://a/SKILL.md\r\nX-Other: 1";
    let body = modern_request(3, "resources/read", json!({ "uri": uri })).to_string();
    for line_break in ["\r", "\n", "\r\n", "\0", "\n\t", "\r\n "] {
        let name = format!("skill://a/SKILL.md{line_break}X-Other: 1");
        let headers = [JSON, VERSION, ("Mcp-Method", "resources/read"), ("Mcp-Name", &name)];
        let mut connection = server.connect().await;
        connection.send("POST", "/mcp", &headers, body.as_bytes()).await;
        let reply = connection.reply().await;
        assert_eq!(reply.status, 400, "{line_break:?}");
        if !reply.body.is_empty() {
            assert_eq!(reply.message().code(), -32020, "{line_break:?}");
        }
    }
}

#[tokio::test]
async fn a_name_is_not_needed_for_skills_and_directories_but_must_be_right_srv_100_v_13() {
    let (_folder, server) = server().await;
    for (method, uri, encoded) in [
        ("skills/get", URI, URI_BASE64),
        ("resources/directory/read", "skill://a", "=?base64?c2tpbGw6Ly9h?="),
    ] {
        let call = |name: Option<&'static str>| {
            let server = &server;
            async move {
                let headers: Vec<_> = [VERSION, ("Mcp-Method", method)]
                    .into_iter()
                    .chain(name.map(|name| ("Mcp-Name", name)))
                    .collect();
                post(server, &headers, method, json!({ "uri": uri })).await
            }
        };
        for good in [None, Some(uri), Some(encoded)] {
            let reply = call(good).await;
            assert_eq!(reply.status, 200, "{method} {good:?}");
            reply.message().result();
        }
        for wrong in ["skill://b/SKILL.md", "", "a", OTHER_BASE64, "=?base64?*?="] {
            assert_mismatch(&call(Some(wrong)).await, &format!("{method} {wrong}"));
        }
    }
}
