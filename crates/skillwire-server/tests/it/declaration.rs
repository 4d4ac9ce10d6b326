//! Declaration and negotiation: SRV-01 to SRV-10.

use serde_json::{Value, json};
use skillwire_server::Config;
use skillwire_testkit::{
    LEGACY_HEADERS, SkillFolder, StdioClient, TestOptions, TestServer, initialize_params,
    legacy_request, modern_headers, modern_meta, modern_request,
};

use crate::support::{METHOD_NOT_FOUND, children, root, text};

const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// Returns what a server declares, in both eras and over both transports.
async fn declarations(server: &TestServer) -> Vec<Value> {
    let (_, initialized) = server.initialize("2025-11-25").await;
    let mut modern = StdioClient::in_process(server.engine());
    let mut legacy = StdioClient::in_process(server.engine());
    let initialize = legacy_request(1, "initialize", initialize_params("2025-11-25"));
    [
        server.call("server/discover", json!({})).await,
        initialized,
        modern.modern(1, "server/discover", json!({})).await.result().clone(),
        legacy.request(&initialize).await.result().clone(),
    ]
    .map(|result| result["capabilities"].clone())
    .into()
}

async fn without_directories(folder: &SkillFolder) -> TestServer {
    let config = Config::default().directory_read(false);
    TestServer::with(folder.path(), TestOptions { config, ..TestOptions::default() }).await
}

#[tokio::test]
async fn extension_is_declared_as_an_object_on_both_eras_srv_01() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    for capabilities in declarations(&server).await {
        assert!(capabilities["extensions"][EXTENSION].is_object(), "{capabilities}");
        assert!(capabilities.get("experimental").is_none());
    }
}

#[tokio::test]
async fn skills_list_is_implemented_on_both_eras_srv_02() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    let modern = server.call("skills/list", json!({})).await;
    let (session, _) = server.initialize("2025-11-25").await;
    let legacy = server.legacy(&session, "skills/list", json!({})).await.message();
    for result in [&modern, legacy.result()] {
        assert_eq!(result["skills"][0]["uri"], "skill://a/SKILL.md");
    }
}

#[tokio::test]
async fn skills_get_is_implemented_on_both_eras_srv_03() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    let params = json!({ "uri": "skill://a/SKILL.md" });
    let modern = server.call("skills/get", params.clone()).await;
    let (session, _) = server.initialize("2025-11-25").await;
    let legacy = server.legacy(&session, "skills/get", params).await.message();
    for result in [&modern, legacy.result()] {
        assert_eq!(result["skill"]["uri"], "skill://a/SKILL.md");
    }
}

#[tokio::test]
async fn declared_directory_read_works_on_every_skill_root_srv_04() {
    let folder = SkillFolder::with_skills(&["a", "acme/billing/refunds", "outer", "outer/inner"]);
    let server = TestServer::start(folder.path()).await;
    for capabilities in declarations(&server).await {
        assert_eq!(capabilities["extensions"][EXTENSION]["directoryRead"], true);
    }
    let skills = server.skills().await;
    assert_eq!(skills.len(), 4);
    for entry in skills {
        let found = children(&server, &root(&entry)).await;
        assert!(found.iter().any(|child| child["uri"] == entry["uri"]), "{found:?}");
    }
}

#[tokio::test]
async fn directory_read_is_not_declared_when_it_is_off_srv_05() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = without_directories(&folder).await;
    for capabilities in declarations(&server).await {
        let setting = capabilities["extensions"][EXTENSION].get("directoryRead");
        assert!(setting.is_none_or(|value| *value == json!(false)), "{capabilities}");
    }
}

#[tokio::test]
async fn resources_are_declared_beside_the_extension_srv_06() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    for capabilities in declarations(&server).await {
        assert!(capabilities["resources"].is_object(), "{capabilities}");
    }
}

#[tokio::test]
async fn resources_list_depends_on_no_connection_and_no_earlier_request_srv_07() {
    let folder = SkillFolder::with_skills(&["a", "b", "acme/c"]);
    let server = TestServer::start(folder.path()).await;
    let first = server.call("resources/list", json!({})).await;
    assert_eq!(first["resources"].as_array().map(Vec::len), Some(3));
    let mut connection = server.connect().await;
    for (method, params) in [
        ("skills/list", json!({})),
        ("resources/list", json!({})),
        ("skills/get", json!({ "uri": "skill://b/SKILL.md" })),
        ("resources/list", json!({})),
        ("skills/get", json!({ "uri": "skill://unknown/SKILL.md" })),
        ("resources/list", json!({})),
    ] {
        let body = modern_request(1, method, params).to_string();
        connection.send("POST", "/mcp", &modern_headers(method), body.as_bytes()).await;
        let reply = connection.reply().await;
        if method == "resources/list" {
            assert_eq!(*reply.message().result(), first);
        }
    }
    assert_eq!(server.call("resources/list", json!({})).await, first);
}

#[tokio::test]
async fn resources_list_of_an_empty_server_is_empty_srv_07() {
    let folder = SkillFolder::new();
    let server = TestServer::start(folder.path()).await;
    assert_eq!(server.call("resources/list", json!({})).await["resources"], json!([]));
}

#[tokio::test]
async fn settings_without_options_are_written_as_an_empty_object_srv_08() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = without_directories(&folder).await;
    let discovered = server.modern_with(&[], "server/discover", json!({})).await.text();
    let initialize = legacy_request(0, "initialize", initialize_params("2025-11-25")).to_string();
    let initialized = server.post(&LEGACY_HEADERS, initialize.as_bytes()).await.text();
    for body in [discovered, initialized] {
        assert!(body.contains(r#""io.modelcontextprotocol/skills":{}"#), "{body}");
    }
}

#[tokio::test]
async fn client_need_not_declare_the_extension_srv_09() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    for capabilities in [json!({}), json!({ "extensions": {} }), json!({ "elicitation": {} })] {
        let mut meta = modern_meta();
        meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        let result = server.call("skills/list", json!({ "_meta": meta })).await;
        assert_eq!(text(&result["skills"][0]["uri"]), "skill://a/SKILL.md");
    }
}

#[tokio::test]
async fn directory_read_is_an_unknown_method_when_it_is_off_srv_10() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = without_directories(&folder).await;
    let params = json!({ "uri": "skill://a" });
    let reply = server.modern_with(&[], "resources/directory/read", params.clone()).await;
    assert_eq!(reply.status, 404);
    assert_eq!(reply.message().code(), METHOD_NOT_FOUND);
    let (session, _) = server.initialize("2025-11-25").await;
    let reply = server.legacy(&session, "resources/directory/read", params.clone()).await;
    assert_eq!(reply.message().code(), METHOD_NOT_FOUND);
    let mut client = StdioClient::in_process(server.engine());
    let reply = client.modern(1, "resources/directory/read", params).await;
    assert_eq!(reply.code(), METHOD_NOT_FOUND);
}
