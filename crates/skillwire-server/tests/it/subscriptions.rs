//! Notifications of changes, in both eras and over both transports: SRV-106 and V-20.

use bytes::Bytes;
use serde_json::{Value, json};
use skillwire_core::{RelPath, SkillPath};
use skillwire_protocol::meta::SUBSCRIPTION_ID;
use skillwire_source::MemorySource;
use skillwire_testkit::{
    SkillFolder, StdioClient, TestOptions, TestServer, initialize_params, legacy_request,
    modern_request, skill_md,
};

use crate::{
    peers::{legacy_stream, listen, listen_with, send, soon},
    support::{ALICE, BOB, TOKENS},
};

const A: &str = "skill://a/SKILL.md";
const NOTES: &str = "skill://a/notes.md";
const LIST_CHANGED: &str = "notifications/resources/list_changed";

/// A notification that legacy clients of older dialects also get.
const SKILLS_CHANGED: &str = "notifications/skills/list_changed";
const UPDATED: &str = "notifications/resources/updated";

async fn server() -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&["a", "b"]);
    folder.file("a/notes.md", "first");
    let server = TestServer::start(folder.path()).await;
    (folder, server)
}

/// Returns the method, the URI and the subscription of a notification.
fn said(message: &Value) -> (String, Value, Value) {
    assert!(message.get("id").is_none(), "{message} is no notification");
    let params = &message["params"];
    let method = message["method"].as_str().expect("a notification has a method");
    (method.to_owned(), params["uri"].clone(), params["_meta"][SUBSCRIPTION_ID].clone())
}

#[tokio::test]
async fn the_acknowledgment_comes_first_and_says_what_is_honoured_srv_106() {
    let (_folder, server) = server().await;
    let mut client = StdioClient::in_process(server.engine());
    let all = json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourcesListChanged": true,
        "resourceSubscriptions": [NOTES, A, "skill://a/none", "skill://a", "file:///etc/passwd"],
        "somethingNewer": { "deep": [1] },
    });
    for (asked, honoured) in [
        (all, json!({ "resourcesListChanged": true, "resourceSubscriptions": [A, NOTES] })),
        (json!({}), json!({})),
        (json!({ "resourcesListChanged": false, "resourceSubscriptions": [] }), json!({})),
        (json!({ "toolsListChanged": true }), json!({})),
    ] {
        let (_stream, over_http) = listen(&server, asked.clone()).await;
        let params = json!({ "notifications": asked });
        let over_stdio = client.modern(7, "subscriptions/listen", params).await.0;
        client
            .send(&json!({
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": { "requestId": 7 },
            }))
            .await;
        for first in [over_http, over_stdio] {
            assert_eq!(said(&first).0, "notifications/subscriptions/acknowledged");
            assert_eq!(first["params"]["_meta"], json!({ SUBSCRIPTION_ID: 7 }));
            assert_eq!(first["params"]["notifications"], honoured, "{asked}");
        }
    }
}

#[tokio::test]
async fn only_what_was_asked_for_is_sent_over_http_srv_106() {
    let (folder, mut server) = server().await;
    let (mut list, _) =
        listen_with(&server, &[], "list", json!({ "resourcesListChanged": true })).await;
    let (mut uris, _) =
        listen_with(&server, &[], "uris", json!({ "resourceSubscriptions": [NOTES] })).await;
    let (mut nothing, _) = listen_with(&server, &[], "nothing", json!({})).await;
    server.refresh(); // Nothing changed, so no client is notified.
    folder.file("a/notes.md", "second");
    server.refresh();
    folder.remove("b");
    server.refresh();
    folder.file("a/notes.md", "third");
    server.refresh();
    for _ in 0..3 {
        let event = list.event().await.unwrap();
        assert_eq!(said(&event), (LIST_CHANGED.into(), Value::Null, json!("list")));
    }
    for _ in 0..2 {
        let event = uris.event().await.unwrap();
        assert_eq!(said(&event), (UPDATED.into(), json!(NOTES), json!("uris")));
    }
    // The next message on each stream is its end, so the server sent nothing in between.
    server.stop().await;
    for (stream, id) in [(&mut list, "list"), (&mut uris, "uris"), (&mut nothing, "nothing")] {
        assert_eq!(stream.event().await.unwrap()["id"], id);
    }
}

#[tokio::test]
async fn subscriptions_share_a_pipe_and_are_told_apart_srv_106() {
    let (folder, mut server) = server().await;
    let mut client = StdioClient::in_process(server.engine());
    for (id, filter) in [
        (json!(1), json!({ "resourcesListChanged": true })),
        (json!("1"), json!({ "resourceSubscriptions": [NOTES, A] })),
    ] {
        let params = json!({ "notifications": filter });
        let request = modern_request(id.clone(), "subscriptions/listen", params);
        assert_eq!(said(&client.request(&request).await.0).2, id);
    }
    server.refresh();
    folder.file("a/notes.md", "second");
    server.refresh();
    let mut found = Vec::new();
    for _ in 0..3 {
        found.push(said(&client.next().await.unwrap()));
    }
    found.sort_by_key(|(method, uri, _)| (method.clone(), uri.to_string()));
    let wanted = [
        (LIST_CHANGED.to_owned(), Value::Null, json!(1)),
        (UPDATED.to_owned(), json!(A), json!("1")),
        (UPDATED.to_owned(), json!(NOTES), json!("1")),
    ];
    assert_eq!(found, wanted);
    assert_eq!(client.modern(2, "skills/list", json!({})).await.0["id"], 2);
}

#[tokio::test]
async fn a_file_that_goes_away_is_an_update_srv_106() {
    let (folder, mut server) = server().await;
    let (mut stream, _) = listen(&server, json!({ "resourceSubscriptions": [NOTES] })).await;
    folder.remove("a/notes.md");
    server.refresh();
    assert_eq!(said(&stream.event().await.unwrap()).1, NOTES);
}

#[tokio::test]
async fn a_listener_that_missed_changes_is_told_of_everything_it_follows_srv_106() {
    let (folder, mut server) = server().await;
    let filter = json!({ "resourcesListChanged": true, "resourceSubscriptions": [A, NOTES] });
    let (mut stream, _) = listen(&server, filter).await;
    // More changes than the server keeps for a listener, which cannot run in between.
    for round in 0..100 {
        folder.file("b/other.md", format!("{round}"));
        server.refresh();
    }
    let mut found = Vec::new();
    while found.len() < 3 {
        found.push(said(&stream.event().await.unwrap()));
    }
    let wanted = [
        (LIST_CHANGED.to_owned(), Value::Null, json!(7)),
        (UPDATED.to_owned(), json!(A), json!(7)),
        (UPDATED.to_owned(), json!(NOTES), json!(7)),
    ];
    assert_eq!(found, wanted);
}

#[tokio::test]
async fn a_filter_that_cannot_be_read_is_refused_srv_106() {
    let (_folder, server) = server().await;
    let mut client = StdioClient::in_process(server.engine());
    for params in [
        json!({}),
        json!({ "notifications": null }),
        json!({ "notifications": [] }),
        json!({ "notifications": "all" }),
        json!({ "notifications": { "resourcesListChanged": "yes" } }),
        json!({ "notifications": { "resourceSubscriptions": A } }),
        json!({ "notifications": { "resourceSubscriptions": [1] } }),
        json!({ "notifications": { "resourceSubscriptions": [null] } }),
    ] {
        // An accepted filter opens a stream without end.
        let reply = soon(server.modern("subscriptions/listen", params.clone())).await;
        assert_eq!(reply.code(), -32602, "{params}");
        assert_eq!(client.modern(1, "subscriptions/listen", params).await.code(), -32602);
    }
}

#[tokio::test]
async fn a_server_that_stops_ends_its_streams_in_order_srv_106() {
    let (folder, mut server) = server().await;
    let filter = json!({ "resourcesListChanged": true });
    let (mut modern, _) = listen_with(&server, &[], "s", filter).await;
    let (session, _) = server.initialize("2025-11-25").await;
    let mut legacy = legacy_stream(&server, &session).await;
    folder.skill("c");
    server.refresh();
    assert_eq!(said(&modern.event().await.unwrap()).0, LIST_CHANGED);
    assert_eq!(said(&legacy.event().await.unwrap()).0, LIST_CHANGED);
    assert_eq!(said(&legacy.event().await.unwrap()).0, SKILLS_CHANGED);
    server.stop().await;
    let last = modern.event().await.unwrap();
    let result = json!({ "resultType": "complete", "_meta": { SUBSCRIPTION_ID: "s" } });
    assert_eq!(last, json!({ "jsonrpc": "2.0", "id": "s", "result": result }));
    assert_eq!(modern.event().await, None);
    assert_eq!(legacy.event().await, None);
}

#[tokio::test]
async fn a_caller_hears_nothing_of_what_it_may_not_read_srv_106_srv_107_v_20() {
    let folder = SkillFolder::with_skills(&["acme/a", "secret"]);
    let tokens = Some(TOKENS.to_owned());
    let mut server =
        TestServer::with(folder.path(), TestOptions { tokens, ..Default::default() }).await;
    let mine = "skill://acme/a/SKILL.md";
    let hidden = "skill://secret/SKILL.md";
    let filter = json!({ "resourcesListChanged": true, "resourceSubscriptions": [hidden, mine] });
    let (mut alice, all) = listen_with(&server, &[ALICE], 1, filter.clone()).await;
    let (mut bob, some) = listen_with(&server, &[BOB], 1, filter).await;
    let honoured = |message: &Value| message["params"]["notifications"].clone();
    assert_eq!(honoured(&all)["resourceSubscriptions"], json!([mine, hidden]));
    assert_eq!(honoured(&some)["resourceSubscriptions"], json!([mine]));
    folder.file("secret/new.md", "text");
    server.refresh();
    assert_eq!(said(&alice.event().await.unwrap()).0, LIST_CHANGED);
    assert_eq!(said(&alice.event().await.unwrap()).1, hidden);
    folder.file("acme/a/new.md", "text");
    server.refresh();
    // The first notification that bob gets is about his own skill.
    assert_eq!(said(&bob.event().await.unwrap()).0, LIST_CHANGED);
    assert_eq!(said(&bob.event().await.unwrap()).1, mine);
    server.stop().await;
    assert_eq!(bob.event().await.unwrap()["id"], 1);
}

#[tokio::test]
async fn a_subscription_follows_a_bounded_number_of_files_v_20() {
    let mut source = MemorySource::new("memory");
    for skill in 0..10 {
        let name = format!("s{skill}");
        let files = (0..500).map(|n| RelPath::parse(&format!("{n}.md")).unwrap());
        let files = files.map(|path| (path, Bytes::from_static(b"x")));
        let head = (RelPath::skill_file(), Bytes::from(skill_md(&name)));
        source.add(&SkillPath::parse(&name).unwrap(), files.chain([head])).unwrap();
    }
    let server = TestServer::with_sources(vec![Box::new(source)], TestOptions::default()).await;
    let known = (0..10).flat_map(|s| (0..500).map(move |n| format!("skill://s{s}/{n}.md")));
    let unknown = (0..60_000).map(|n| format!("skill://none/{n}.md"));
    let uris: Vec<_> = unknown.chain(known).collect();
    let (_stream, first) = listen(&server, json!({ "resourceSubscriptions": uris })).await;
    let honoured = &first["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(honoured.as_array().unwrap().len(), 4_096);
}

#[tokio::test]
async fn an_id_that_would_swell_every_notification_is_refused_v_20() {
    let (_folder, server) = server().await;
    let id = "x".repeat(1 << 20);
    let params = json!({ "notifications": { "resourcesListChanged": true } });
    let mut connection =
        send(&server, &[], id.as_str(), "subscriptions/listen", params.clone()).await;
    assert_eq!(soon(connection.reply()).await.message().code(), -32600);
    let mut client = StdioClient::in_process(server.engine());
    let request = modern_request(id.as_str(), "subscriptions/listen", params);
    assert_eq!(client.request(&request).await.code(), -32600);
}

#[tokio::test]
async fn a_legacy_session_hears_of_what_it_subscribed_to_over_http_srv_106() {
    let (folder, mut server) = server().await;
    let (session, _) = server.initialize("2025-11-25").await;
    let (other, _) = server.initialize("2025-11-25").await;
    let mut stream = legacy_stream(&server, &session).await;
    let mut quiet = legacy_stream(&server, &other).await;
    let call = |method: &'static str, uri: &'static str| {
        server.legacy(&session, method, json!({ "uri": uri }))
    };
    assert_eq!(call("resources/subscribe", NOTES).await.message().result(), &json!({}));
    folder.file("a/notes.md", "second");
    server.refresh();
    assert_eq!(said(&stream.event().await.unwrap()).0, LIST_CHANGED);
    assert_eq!(said(&stream.event().await.unwrap()).0, SKILLS_CHANGED);
    let updated = stream.event().await.unwrap();
    assert_eq!(updated["params"], json!({ "uri": NOTES }), "no metadata of the modern era");
    let call = |method: &'static str, uri: &'static str| {
        server.legacy(&session, method, json!({ "uri": uri }))
    };
    assert_eq!(call("resources/unsubscribe", NOTES).await.message().result(), &json!({}));
    folder.file("a/notes.md", "third");
    server.refresh();
    assert_eq!(said(&stream.event().await.unwrap()).0, LIST_CHANGED);
    assert_eq!(said(&stream.event().await.unwrap()).0, SKILLS_CHANGED);
    for _ in 0..2 {
        assert_eq!(said(&quiet.event().await.unwrap()).0, LIST_CHANGED);
        assert_eq!(said(&quiet.event().await.unwrap()).0, SKILLS_CHANGED);
    }
    server.stop().await;
    assert_eq!((stream.event().await, quiet.event().await), (None, None));
}

#[tokio::test]
async fn a_legacy_session_hears_of_what_it_subscribed_to_over_stdio_srv_106() {
    let (folder, mut server) = server().await;
    let mut client = StdioClient::in_process(server.engine());
    client.request(&legacy_request(0, "initialize", initialize_params("2025-06-18"))).await;
    let subscribe = |method: &str| legacy_request(1, method, json!({ "uri": NOTES }));
    client.request(&subscribe("resources/subscribe")).await.result();
    folder.file("a/notes.md", "second");
    server.refresh();
    assert_eq!(said(&client.next().await.unwrap()).0, LIST_CHANGED);
    assert_eq!(said(&client.next().await.unwrap()).0, SKILLS_CHANGED);
    assert_eq!(client.next().await.unwrap()["params"], json!({ "uri": NOTES }));
    client.request(&subscribe("resources/unsubscribe")).await.result();
    folder.file("a/notes.md", "third");
    server.refresh();
    assert_eq!(said(&client.next().await.unwrap()).0, LIST_CHANGED);
    assert_eq!(said(&client.next().await.unwrap()).0, SKILLS_CHANGED);
    assert_eq!(client.modern(2, "skills/list", json!({})).await.0["id"], 2);
}

#[tokio::test]
async fn a_legacy_subscription_to_a_file_that_is_gone_can_be_ended_srv_106() {
    let (folder, mut server) = server().await;
    let mut client = StdioClient::in_process(server.engine());
    client.request(&legacy_request(0, "initialize", initialize_params("2025-06-18"))).await;
    let subscribe = |method: &str| legacy_request(1, method, json!({ "uri": NOTES }));
    client.request(&subscribe("resources/subscribe")).await.result();
    folder.remove("a/notes.md");
    server.refresh();
    for _ in 0..3 {
        client.next().await.unwrap();
    }
    assert_eq!(client.request(&subscribe("resources/unsubscribe")).await.result(), &json!({}));
    folder.file("a/notes.md", "back");
    server.refresh();
    assert_eq!(said(&client.next().await.unwrap()).0, LIST_CHANGED);
    assert_eq!(said(&client.next().await.unwrap()).0, SKILLS_CHANGED);
    folder.file("a/notes.md", "changed");
    server.refresh();
    assert_eq!(said(&client.next().await.unwrap()).0, LIST_CHANGED);
    assert_eq!(said(&client.next().await.unwrap()).0, SKILLS_CHANGED);
    assert_eq!(client.modern(2, "skills/list", json!({})).await.0["id"], 2);
}
