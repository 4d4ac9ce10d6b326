//! The official Rust SDK as a client, in both eras and over both transports.
//!
//! Its client loses a custom result that carries `_meta`. That our results arrive here shows that
//! they are safe for every user of the SDK.

use std::sync::Arc;

use rmcp::{
    ClientLifecycleMode, ClientServiceExt, ServiceExt,
    model::{
        ClientRequest, CustomRequest, ProtocolVersion, ReadResourceRequestParams,
        ServerNotification, ServerResult, SubscriptionFilter,
    },
    service::{RoleClient, RunningService, SubscriptionEnd},
    transport::{
        StreamableHttpClientTransport,
        streamable_http_client::{StreamableHttpClient, StreamableHttpClientTransportConfig},
    },
};
use serde_json::{Value, json};
use skillwire_server::{Engine, stdio};
use skillwire_testkit::{SkillFolder, TestOptions, TestServer, skill_md};
use tokio::{io::DuplexStream, sync::mpsc};

use crate::support::{Listening, TOKENS, soon};

const A: &str = "skill://a/SKILL.md";

type Running = RunningService<RoleClient, Listening>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Modern,
    Legacy,
}

fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    }
}

fn url(server: &TestServer) -> String {
    format!("http://{}/mcp", server.address)
}

fn pipes(engine: Arc<Engine>) -> (DuplexStream, DuplexStream) {
    let (input, server_input) = tokio::io::duplex(64 * 1024);
    let (server_output, output) = tokio::io::duplex(64 * 1024);
    tokio::spawn(stdio::run(engine, server_input, server_output));
    (output, input)
}

/// The SDK's client over HTTP.
///
/// In a build of the whole workspace its HTTP library has a TLS stack, as the hub needs one for object
/// stores, and wants to be told which cryptography to use, even for plain HTTP.
fn http_transport(
    config: StreamableHttpClientTransportConfig,
) -> StreamableHttpClientTransport<impl StreamableHttpClient> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    StreamableHttpClientTransport::from_config(config)
}

/// Connects one client for each transport of one era, with the notifications it receives.
async fn clients(
    server: &TestServer,
    era: Era,
) -> Vec<(&'static str, Running, mpsc::UnboundedReceiver<String>)> {
    let http = http_transport(StreamableHttpClientTransportConfig::with_uri(url(server)));
    let (http_teller, http_heard) = mpsc::unbounded_channel();
    let (pipe_teller, pipe_heard) = mpsc::unbounded_channel();
    let pipes = pipes(server.engine());
    let (http_client, pipe_client) = (Listening(http_teller), Listening(pipe_teller));
    let (over_http, over_stdio) = match era {
        Era::Modern => (
            http_client.serve_with_lifecycle(http, modern()).await,
            pipe_client.serve_with_lifecycle(pipes, modern()).await,
        ),
        Era::Legacy => (http_client.serve(http).await, pipe_client.serve(pipes).await),
    };
    vec![
        ("http", over_http.expect("the client connects over HTTP"), http_heard),
        ("stdio", over_stdio.expect("the client connects over stdio"), pipe_heard),
    ]
}

/// Sends a request the SDK has no type for and returns the whole result.
async fn custom(client: &Running, method: &str, params: Value) -> Value {
    let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
    match client.send_request(request).await {
        Ok(ServerResult::CustomResult(result)) => result.0,
        other => panic!("{method} was not received as it was sent: {other:?}"),
    }
}

async fn server() -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&["a", "b"]);
    folder.file("a/notes.md", "text");
    let server = TestServer::start(folder.path()).await;
    (folder, server)
}

#[tokio::test]
async fn the_official_client_connects_on_both_eras_srv_93_srv_105() {
    let (_folder, server) = server().await;
    for (era, version) in
        [(Era::Modern, ProtocolVersion::V_2026_07_28), (Era::Legacy, ProtocolVersion::V_2025_11_25)]
    {
        for (transport, client, _) in clients(&server, era).await {
            let info = client.peer_info().expect("the server has described itself");
            assert_eq!(info.protocol_version, version, "{transport} {era:?}");
            let capabilities = serde_json::to_value(&info.capabilities).unwrap();
            let extension = &capabilities["extensions"]["io.modelcontextprotocol/skills"];
            assert_eq!(*extension, json!({ "directoryRead": true }), "{transport} {era:?}");
            client.cancel().await.unwrap();
        }
    }
}

#[tokio::test]
async fn the_official_client_lists_and_reads_resources_srv_96() {
    let (_folder, server) = server().await;
    for era in [Era::Modern, Era::Legacy] {
        for (transport, client, _) in clients(&server, era).await {
            let listed = client.list_all_resources().await.unwrap();
            let uris: Vec<_> = listed.iter().map(|resource| resource.uri.as_str()).collect();
            assert_eq!(uris[..2], [A, "skill://b/SKILL.md"], "{transport} {era:?}");
            // Older dialects list more, after the skills.
            assert_eq!(uris.len(), if era == Era::Modern { 2 } else { 5 }, "{uris:?}");
            let read = client.read_resource(ReadResourceRequestParams::new(A)).await.unwrap();
            let contents = serde_json::to_value(&read.contents).unwrap();
            assert_eq!(contents[0]["text"], skill_md("a"), "{transport} {era:?}");
            let unknown = ReadResourceRequestParams::new("skill://a/none");
            let error = client.read_resource(unknown).await.unwrap_err().to_string();
            assert!(error.contains("skill://a/none"), "{transport} {era:?}: {error}");
        }
    }
}

#[tokio::test]
async fn the_official_client_receives_skills_and_directories_whole_srv_104() {
    let (_folder, server) = server().await;
    for era in [Era::Modern, Era::Legacy] {
        for (transport, client, _) in clients(&server, era).await {
            let list = custom(&client, "skills/list", json!({})).await;
            assert_eq!(list["skills"][0]["uri"], A, "{transport} {era:?}");
            assert_eq!(list["skills"][0]["resources"].as_array().unwrap().len(), 2);
            let entry = custom(&client, "skills/get", json!({ "uri": A })).await;
            assert_eq!(entry["skill"], list["skills"][0], "{transport} {era:?}");
            let params = json!({ "uri": "skill://a" });
            let request = CustomRequest::new("resources/directory/read", Some(params));
            let result = client.send_request(ClientRequest::CustomRequest(request)).await.unwrap();
            let directory = serde_json::to_value(&result).unwrap();
            let children = directory["resources"].as_array().expect("children arrive");
            assert_eq!(children.len(), 2, "{transport} {era:?}");
        }
    }
}

#[tokio::test]
async fn the_official_client_listens_and_is_told_of_the_end_srv_106() {
    let (folder, mut server) = server().await;
    let mut subscriptions = Vec::new();
    let clients = clients(&server, Era::Modern).await;
    for (transport, client, _) in &clients {
        let filter = SubscriptionFilter::builder()
            .resources_list_changed()
            .tools_list_changed()
            .resource_subscriptions([A, "skill://a/none"])
            .build();
        let subscription = soon(client.listen(filter)).await.unwrap();
        let accepted = subscription.acknowledged();
        assert_eq!(accepted.resources_list_changed, Some(true), "{transport}");
        assert_eq!(accepted.tools_list_changed, None, "{transport}");
        assert_eq!(accepted.resource_subscriptions, Some(vec![A.to_owned()]), "{transport}");
        subscriptions.push((*transport, subscription));
    }
    folder.file("a/notes.md", "other");
    server.refresh();
    for (transport, subscription) in &mut subscriptions {
        let first = soon(subscription.next()).await.unwrap();
        let changed = matches!(first, Some(ServerNotification::ResourceListChangedNotification(_)));
        assert!(changed, "{transport}: {first:?}");
        match soon(subscription.next()).await.unwrap() {
            Some(ServerNotification::ResourceUpdatedNotification(updated)) => {
                assert_eq!(updated.params.uri, A, "{transport}");
            }
            other => panic!("{transport}: {other:?}"),
        }
    }
    server.stop().await;
    let (_, over_http) = &mut subscriptions[0];
    assert!(soon(over_http.next()).await.unwrap().is_none());
    assert!(matches!(over_http.end(), Some(SubscriptionEnd::Graceful(_))), "{:?}", over_http.end());
}

#[tokio::test]
async fn the_official_client_is_told_of_changes_on_the_old_era_srv_106() {
    let (folder, mut server) = server().await;
    let mut clients = clients(&server, Era::Legacy).await;
    for (_, client, _) in &clients {
        let request = rmcp::model::SubscribeRequestParams::new(A);
        #[expect(deprecated, reason = "this is how the old era subscribes")]
        client.subscribe(request).await.unwrap();
    }
    // The client opens the stream of its session in the background; repeat the change until it is
    // open.
    for (transport, _, heard) in &mut clients {
        let mut found = Vec::new();
        for round in 0..2_000 {
            folder.file("a/notes.md", format!("{transport} {round}"));
            server.refresh();
            tokio::task::yield_now().await;
            while let Ok(next) = heard.try_recv() {
                found.push(next);
            }
            if found.len() >= 2 {
                break;
            }
        }
        assert!(found.contains(&"list changed".to_owned()), "{transport}: {found:?}");
        assert!(found.contains(&A.to_owned()), "{transport}: {found:?}");
    }
}

#[tokio::test]
async fn the_official_client_sends_its_token_srv_109() {
    let folder = SkillFolder::with_skills(&["acme/a", "secret"]);
    let tokens = Some(TOKENS.to_owned());
    let server =
        TestServer::with(folder.path(), TestOptions { tokens, ..Default::default() }).await;
    let config = |token: &str| {
        let config = StreamableHttpClientTransportConfig::with_uri(url(&server));
        http_transport(config.auth_header(token))
    };
    let (teller, _heard) = mpsc::unbounded_channel();
    let client = Listening(teller);
    let bob = client.clone().serve_with_lifecycle(config("fedcba9876543210"), modern()).await;
    let list = custom(&bob.expect("bob is let in"), "skills/list", json!({})).await;
    assert_eq!(list["skills"].as_array().unwrap().len(), 1);
    let nobody = client.serve_with_lifecycle(config("0000000000000000"), modern()).await;
    assert!(nobody.is_err());
}
