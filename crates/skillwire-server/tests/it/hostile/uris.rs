//! URIs that must not lead to a file: V-01 to V-06 and V-14.

use serde_json::json;
use skillwire_server::Config;
use skillwire_testkit::{SkillFolder, StdioClient, TestServer, modern_headers, modern_request};

use super::{server, with};

/// Requests these URIs over stdio, which can carry any string, and asserts that none is found.
async fn assert_unknown(server: &TestServer, folder: &SkillFolder, uris: &[&str]) {
    let mut client = StdioClient::in_process(server.engine());
    let root = folder.path().display().to_string();
    for uri in uris {
        for method in ["resources/read", "skills/get", "resources/directory/read"] {
            let reply = client.modern(1, method, json!({ "uri": uri })).await;
            assert_eq!(reply.code(), -32602, "{method} {uri:?}");
            let text = reply.0.to_string();
            assert!(!text.contains(&root) && !text.contains("root:"), "{text}");
            assert!(text.len() < 4_096, "{} bytes for {} of {method}", text.len(), uri.len());
        }
    }
}

#[tokio::test]
async fn steps_in_paths_lead_nowhere_v_01() {
    let (folder, server) = server().await;
    let uris = [
        "skill://s/../../etc/passwd",
        "skill://s/./x",
        "skill://s//x",
        "skill://s/a/../SKILL.md",
        "skill://s/a/./b.md",
        "skill://s/../outside.md",
        "skill://s/../s/SKILL.md",
        "skill:///s/SKILL.md",
        "skill://./s/SKILL.md",
        "skill://../../../../etc/passwd",
        "skill://s/",
        "skill://",
        "skill:",
        "",
    ];
    assert_unknown(&server, &folder, &uris).await;
}

#[tokio::test]
async fn encoded_steps_lead_nowhere_v_02() {
    let (folder, server) = server().await;
    let uris = [
        "skill://s/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "skill://s/%2E%2E/outside.md",
        "skill://s/%252e%252e/outside.md",
        "skill://s/..%5coutside.md",
        "skill://s/..%2foutside.md",
        "skill://s/x%00",
        "skill://s/x%00.md",
        "skill://s/%c0%ae%c0%ae/outside.md",
        "skill://s/%e0%80%ae/x",
        "skill://s/%78",
        "skill://s/%58",
        "skill://s/a%2fb.md",
        "skill://%73/SKILL.md",
        "skill://s/x%",
        "skill://s/x%zz",
        "skill://s/\0x",
        "skill://s/x\0",
    ];
    assert_unknown(&server, &folder, &uris).await;
}

#[tokio::test]
async fn a_file_has_one_uri_and_no_other_v_03() {
    let (folder, server) = server().await;
    let uris = [
        "SKILL://s/SKILL.md",
        "skill://S/SKILL.md",
        "skill://s/skill.md",
        "skill://s/SKILL.md/",
        "skill://s/SKILL.md?q",
        "skill://s/SKILL.md#f",
        "skill://s/SKILL.md?",
        "skill://s/SKILL.md#",
        "skill://user@s/SKILL.md",
        "skill://s:80/SKILL.md",
        "skill://s:/SKILL.md",
        " skill://s/SKILL.md",
        "skill://s/SKILL.md ",
        "skill://s/SKILL.md\n",
        "skill://s/SKILL\u{200b}.md",
        "skill://\u{ff53}/SKILL.md",
        "skill://s/SKILL.m\u{0501}",
        "skill:/s/SKILL.md",
        "skill:s/SKILL.md",
    ];
    assert_unknown(&server, &folder, &uris).await;
}

#[tokio::test]
async fn other_schemes_are_never_followed_v_04() {
    let (folder, server) = server().await;
    let own = format!("file://{}", folder.join("s/SKILL.md").display());
    let bare = folder.join("s/SKILL.md").display().to_string();
    let uris = [
        "file:///etc/passwd",
        "file:/etc/passwd",
        "/etc/passwd",
        "etc/passwd",
        "http://169.254.169.254/latest/meta-data/",
        "https://127.0.0.1/",
        "data:text/plain,x",
        "javascript:1",
        "s/SKILL.md",
        "SKILL.md",
    ];
    assert_unknown(&server, &folder, &uris).await;
    let mut client = StdioClient::in_process(server.engine());
    for uri in [&own, &bare] {
        let reply = client.modern(1, "resources/read", json!({ "uri": uri })).await;
        assert_eq!(reply.code(), -32602, "{uri}");
    }
}

#[tokio::test]
async fn names_of_other_systems_are_never_mapped_v_05() {
    let (folder, server) = server().await;
    let uris = [
        r"skill://s/a\b.md",
        r"skill:\\s\SKILL.md",
        r"skill://s\SKILL.md",
        r"C:\Windows\win.ini",
        "skill://s/C:/Windows/win.ini",
        r"\\server\share\x",
        "skill://s/CON",
        "skill://s/NUL.md",
        "skill://s/x::$DATA",
        "skill://s/x:stream",
        "skill://s/x.",
        "skill://s/x ",
        "skill://s/SKILL~1.md",
    ];
    assert_unknown(&server, &folder, &uris).await;
}

#[tokio::test]
async fn skills_get_takes_the_uri_of_a_skill_and_nothing_else_v_06() {
    let (_folder, server) = server().await;
    let long = format!("skill://{}", "x".repeat(3 << 20));
    let mut client = StdioClient::in_process(server.engine());
    for uri in [
        json!("skill://s/x"),
        json!("skill://s/a/b.md"),
        json!("skill://s"),
        json!("skill://s/a"),
        json!("skill://acme"),
        json!("skill://unknown/SKILL.md"),
        json!(""),
        json!(long),
        json!(1),
        json!(null),
        json!([]),
        json!(["skill://s/SKILL.md"]),
        json!({ "uri": "skill://s/SKILL.md" }),
        json!(true),
    ] {
        let reply = client.modern(1, "skills/get", json!({ "uri": uri })).await;
        assert_eq!(reply.code(), -32602);
        let message = reply.message();
        assert!(message.len() < 600, "{} bytes", message.len());
        if let Some(uri) = uri.as_str() {
            let start: String = uri.chars().take(100).collect();
            assert!(message.contains(&start), "{message}");
        }
        let text = modern_request(1, "skills/get", json!({ "uri": uri })).to_string();
        let over_http = server.post(&modern_headers("skills/get"), text.as_bytes()).await;
        assert_eq!(over_http.message().0, reply.0);
    }
    for params in [json!({}), json!({ "URI": "skill://s/SKILL.md" }), json!({ "name": "s" })] {
        assert_eq!(client.modern(1, "skills/get", params).await.code(), -32602);
    }
    for params in [json!([]), json!("x"), json!(null), json!(1)] {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "skills/get", "params": params });
        assert_eq!(client.request(&body).await.code(), -32602);
    }
    // Ten megabytes exceed the limit of any request.
    let huge = modern_request(1, "skills/get", json!({ "uri": "x".repeat(10 << 20) }));
    assert_eq!(client.request(&huge).await.code(), -32600);
}

#[tokio::test]
async fn directories_are_read_where_they_are_declared_and_are_directories_v_14() {
    let (_folder, server) = server().await;
    for uri in ["skill://s/SKILL.md", "skill://s/x", "skill://s/", "skill://s/a/", "skill://none"] {
        let reply =
            server.modern_with(&[], "resources/directory/read", json!({ "uri": uri })).await;
        assert_eq!((reply.status, reply.message().code()), (200, -32602), "{uri}");
    }
    // A prefix of skills is a directory like any other.
    let prefix = json!({ "uri": "skill://acme" });
    let children = server.call("resources/directory/read", prefix).await;
    assert_eq!(children["resources"][0]["uri"], "skill://acme/t");

    let config = Config::default().directory_read(false);
    let (_folder, server) = with(config).await;
    for uri in [json!("skill://s"), json!("skill://none"), json!(1)] {
        let reply =
            server.modern_with(&[], "resources/directory/read", json!({ "uri": uri })).await;
        assert_eq!((reply.status, reply.message().code()), (404, -32601), "{uri}");
    }
}
