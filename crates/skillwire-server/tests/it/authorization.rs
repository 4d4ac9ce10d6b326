//! Which callers may request what: SRV-107, SRV-109 and V-18.

use serde_json::{Value, json};
use skillwire_server::{
    CacheScope, Config,
    http::{AccessRules, HttpOptions},
};
use skillwire_testkit::{
    LEGACY_HEADERS, SkillFolder, TestOptions, TestServer, initialize_params, legacy_request,
    modern_headers, modern_request,
};

use crate::{
    peers::send,
    support::{ALICE, BOB, TOKENS},
};

const HIDDEN: &str = "skill://secret/vault/SKILL.md";

/// A server on which `alice` sees everything and `bob` only what is below `acme`.
async fn server(config: Config) -> (SkillFolder, TestServer) {
    let folder = SkillFolder::with_skills(&["acme/a", "acme/b", "secret/vault", "secret/zoo"]);
    folder.file("secret/vault/keys/list.md", "hidden text");
    let tokens = Some(TOKENS.to_owned());
    let options = TestOptions { tokens, config, ..Default::default() };
    let server = TestServer::with(folder.path(), options).await;
    (folder, server)
}

/// Returns an error without the URI it is about, so that two can be compared.
fn without(error: &Value, uri: &str) -> String {
    error.to_string().replace(uri, "URI")
}

#[tokio::test]
async fn without_a_valid_token_nothing_is_answered_srv_109() {
    let (_folder, server) = server(Config::default()).await;
    let tokens = [
        None,
        Some("Bearer 0123456789abcdeF"),
        Some("Bearer 0123456789abcde"),
        Some("Bearer 0123456789abcdef0"),
        Some("Bearer"),
        Some("Bearer "),
        Some("0123456789abcdef"),
        Some("Basic 0123456789abcdef"),
        Some("Bearer alice 0123456789abcdef"),
        Some("Bearer 0123456789abcdef, Bearer fedcba9876543210"),
        Some("Bearer \u{e9}"),
    ];
    for token in tokens {
        for method in ["POST", "GET", "DELETE"] {
            let mut headers = modern_headers("skills/list");
            headers.extend(token.map(|token| ("Authorization", token)));
            let mut connection = server.connect().await;
            let body = modern_request(1, "skills/list", json!({})).to_string();
            connection.send(method, "/mcp", &headers, body.as_bytes()).await;
            let reply = connection.reply().await;
            assert_eq!(reply.status, 401, "{method} {token:?}");
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
            assert!(!reply.text().contains("skill://"), "{}", reply.text());
        }
    }
    let twice = [ALICE, ALICE];
    assert_eq!(server.modern_with(&twice, "skills/list", json!({})).await.status, 401);
    assert_eq!(server.modern_with(&[ALICE], "skills/list", json!({})).await.status, 200);
}

#[tokio::test]
async fn a_token_counts_in_its_header_only_srv_109() {
    let (_folder, server) = server(Config::default()).await;
    let body = modern_request(1, "skills/list", json!({ "access_token": "0123456789abcdef" }));
    for path in ["/mcp?access_token=0123456789abcdef", "/mcp?token=0123456789abcdef"] {
        let mut connection = server.connect().await;
        let mut headers = modern_headers("skills/list");
        headers.push(("Cookie", "token=0123456789abcdef"));
        connection.send("POST", path, &headers, body.to_string().as_bytes()).await;
        assert_eq!(connection.reply().await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn who_is_not_let_in_need_not_send_a_body_srv_109() {
    let (_folder, server) = server(Config::default()).await;
    let mut connection = server.connect().await;
    connection
        .write(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
             Expect: 100-continue\r\nContent-Length: 1000000\r\n\r\n",
        )
        .await;
    assert_eq!(connection.reply().await.status, 401, "before any byte of the body");
}

#[tokio::test]
async fn a_page_of_an_allowed_origin_still_needs_a_token_srv_109() {
    let folder = SkillFolder::with_skills(&["acme/a"]);
    let access = AccessRules::default().origins(["https://app.example".into()]);
    let http = HttpOptions::default().access(access);
    let tokens = Some(TOKENS.to_owned());
    let options = TestOptions { http, tokens, ..Default::default() };
    let server = TestServer::with(folder.path(), options).await;
    let origin = ("Origin", "https://app.example");
    assert_eq!(server.modern_with(&[origin], "skills/list", json!({})).await.status, 401);
    assert_eq!(server.modern_with(&[origin, BOB], "skills/list", json!({})).await.status, 200);
}

#[tokio::test]
async fn every_method_denies_what_is_not_shown_as_if_it_were_not_there_srv_107() {
    let (_folder, server) = server(Config::default()).await;
    let ask = |caller: (&'static str, &'static str), method: &'static str, uri: String| {
        let server = &server;
        async move { server.modern_with(&[caller], method, json!({ "uri": uri })).await.message().0 }
    };
    for (method, uri) in [
        ("skills/get", HIDDEN),
        ("resources/read", HIDDEN),
        ("resources/read", "skill://secret/vault/keys/list.md"),
        ("resources/read", "skill://secret/vault"),
        ("resources/directory/read", "skill://secret/vault"),
        ("resources/directory/read", "skill://secret/vault/keys"),
        ("resources/directory/read", "skill://secret"),
        ("resources/directory/read", HIDDEN),
    ] {
        let unknown = uri.replace("secret", "nowhere");
        let denied = ask(BOB, method, uri.to_owned()).await;
        let absent = ask(BOB, method, unknown.clone()).await;
        assert_eq!(denied["error"]["code"], -32602, "{method} {uri}");
        assert_eq!(
            without(&denied["error"], uri),
            without(&absent["error"], &unknown),
            "{method} {uri} tells that there is something"
        );
    }
    // The denied skill exists: the other caller gets it.
    assert!(ask(ALICE, "skills/get", HIDDEN.to_owned()).await["result"].is_object());
}

#[tokio::test]
async fn nothing_that_is_sent_names_what_is_not_shown_srv_107() {
    let config = Config::default().page_size(1);
    let (_folder, server) = server(config).await;
    let skill_template = "skill://{+skillPath}/SKILL.md";
    let complete = json!({
        "ref": { "type": "ref/resource", "uri": skill_template },
        "argument": { "name": "skillPath", "value": "" },
    });
    let mut complete_hidden = complete.clone();
    complete_hidden["argument"]["value"] = "sec".into();
    for (method, mut params) in [
        ("server/discover", json!({})),
        ("skills/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("completion/complete", complete),
        ("completion/complete", complete_hidden),
    ] {
        for page in 0..10 {
            let reply = server.modern_with(&[BOB], method, params.clone()).await;
            assert_eq!(reply.status, 200, "{method}");
            assert!(!reply.text().contains("secret"), "{method}: {}", reply.text());
            assert!(!reply.text().contains("vault"), "{method}: {}", reply.text());
            match reply.message().result().get("nextCursor") {
                Some(next) => params["cursor"] = next.clone(),
                None => break,
            }
            assert!(page < 9, "{method} has no end");
        }
    }
}

#[tokio::test]
async fn the_old_era_denies_in_the_same_way_srv_107() {
    let (_folder, server) = server(Config::default()).await;
    let mut headers = LEGACY_HEADERS.to_vec();
    headers.push(BOB);
    let body = legacy_request(0, "initialize", initialize_params("2025-11-25")).to_string();
    let opened = server.post(&headers, body.as_bytes()).await;
    assert!(!opened.text().contains("secret"), "{}", opened.text());
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    headers.push(("Mcp-Session-Id", &session));
    for method in
        ["resources/read", "skills/get", "resources/directory/read", "resources/subscribe"]
    {
        let mut errors = Vec::new();
        for uri in [HIDDEN, "skill://nowhere/vault/SKILL.md"] {
            let body = legacy_request(1, method, json!({ "uri": uri })).to_string();
            let reply = server.post(&headers, body.as_bytes()).await.message();
            assert!(matches!(reply.code(), -32002 | -32602), "{method}");
            errors.push(without(&reply.0["error"], uri));
        }
        assert_eq!(errors[0], errors[1], "{method}");
    }
}

#[tokio::test]
async fn answers_to_restricted_callers_are_never_shared_srv_107() {
    let config = Config::default().cache_scope(CacheScope::Public);
    let (_folder, server) = server(config).await;
    for (method, params) in [
        ("server/discover", json!({})),
        ("skills/list", json!({})),
        ("skills/get", json!({ "uri": "skill://acme/a/SKILL.md" })),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": "skill://acme/a/SKILL.md" })),
        ("resources/directory/read", json!({ "uri": "skill://acme/a" })),
        ("resources/templates/list", json!({})),
    ] {
        let reply = server.modern_with(&[BOB], method, params).await.message();
        assert_eq!(reply.result()["cacheScope"], "private", "{method}");
    }
}

#[tokio::test]
async fn cursors_of_another_caller_are_worth_no_more_than_forged_ones_v_18() {
    let config = Config::default().page_size(1);
    let (_folder, server) = server(config).await;
    for method in ["skills/list", "resources/list"] {
        let page = server.modern_with(&[ALICE], method, json!({})).await.message();
        let page = page.result()["nextCursor"].clone();
        let next = server.modern_with(&[ALICE], method, json!({ "cursor": page })).await.message();
        let cursor = next.result()["nextCursor"].clone();
        let stolen = server.modern_with(&[BOB], method, json!({ "cursor": cursor })).await;
        let forged = server.modern_with(&[BOB], method, json!({ "cursor": "AAAA" })).await;
        assert_eq!(stolen.message().code(), -32602);
        assert_eq!((stolen.status, stolen.text()), (forged.status, forged.text()), "{method}");
    }
}

#[tokio::test]
async fn uris_of_another_caller_are_unknown_also_in_subscriptions_v_18() {
    let (_folder, server) = server(Config::default()).await;
    let filter = json!({ "resourceSubscriptions": [HIDDEN, "skill://nowhere/x/SKILL.md"] });
    let (_stream, first) = crate::peers::listen_with(&server, &[BOB], 1, filter).await;
    assert_eq!(first["params"]["notifications"], json!({}));
}

#[tokio::test]
async fn one_caller_cannot_take_the_streams_of_all_others_sec_13() {
    let folder = SkillFolder::with_skills(&["a", "acme/b"]);
    let options = TestOptions { tokens: Some(TOKENS.to_owned()), ..TestOptions::default() };
    let server = TestServer::with(folder.path(), options).await;
    let filter = json!({ "notifications": { "resourcesListChanged": true } });
    let (mut streams, mut refused) = (Vec::new(), None);
    for id in 0..300 {
        let mut stream = send(&server, &[BOB], id, "subscriptions/listen", filter.clone()).await;
        let (status, _) = stream.head().await.expect("an answer");
        if status != 200 {
            refused = Some(status);
            break;
        }
        streams.push(stream);
    }
    assert_eq!((streams.len(), refused), (256, Some(429)), "a quarter of all connections");
    let reply = server.modern_with(&[BOB], "subscriptions/listen", filter.clone()).await;
    assert_eq!(reply.status, 429);
    assert!(reply.message().message().contains("Close one"), "{}", reply.text());
    // Other callers have streams of their own, and the caller itself is answered otherwise.
    let mut stream = send(&server, &[ALICE], 1, "subscriptions/listen", filter.clone()).await;
    assert_eq!(stream.head().await.expect("an answer").0, 200);
    assert_eq!(server.modern_with(&[BOB], "skills/list", json!({})).await.status, 200);
    // A stream that ends frees its place, as soon as the server notices.
    drop(streams);
    let mut status = 429;
    for _ in 0..1_000 {
        let mut stream = send(&server, &[BOB], 1, "subscriptions/listen", filter.clone()).await;
        status = stream.head().await.expect("an answer").0;
        if status == 200 {
            break;
        }
    }
    assert_eq!(status, 200);
}
