//! Which HTTP requests are accepted.

use serde_json::{Value, json};
use skillwire_testkit::SkillFolder;

use crate::support::{HttpServer, command, uris};

const TOKENS: &str =
    "# callers\nci       0123456789abcdef0123\nbilling  fedcba9876543210fedc  acme/**\n";
const CI: (&str, &str) = ("Authorization", "Bearer 0123456789abcdef0123");
const BILLING: (&str, &str) = ("Authorization", "Bearer fedcba9876543210fedc");

fn folder() -> SkillFolder {
    let folder = SkillFolder::with_skills(&["acme/refunds", "open"]);
    folder.file("tokens", TOKENS);
    folder
}

#[tokio::test]
async fn a_token_file_lets_in_only_who_has_a_token_srv_109() {
    let folder = folder();
    let server = HttpServer::serve(&folder, &[".", "--token-file", "tokens"]).await;
    for wrong in ["", "Bearer wrong-wrong-wrong-wrong", "Basic 0123456789abcdef0123"] {
        let headers = [("Authorization", wrong)];
        let headers = if wrong.is_empty() { &[][..] } else { &headers };
        let reply = server.request(headers, "skills/list", Value::Null).await;
        assert_eq!(reply.status, 401, "{wrong:?}");
        assert!(!reply.text().contains("acme"), "{}", reply.text());
    }
    let reply = server.request(&[CI], "skills/list", Value::Null).await;
    assert_eq!(reply.status, 200);
    assert_eq!(uris(&reply.message()), ["skill://acme/refunds/SKILL.md", "skill://open/SKILL.md"]);
}

#[tokio::test]
async fn a_caller_with_patterns_sees_only_those_skills_srv_107() {
    let folder = folder();
    let server = HttpServer::serve(&folder, &[".", "--token-file", "tokens"]).await;
    let reply = server.request(&[BILLING], "skills/list", Value::Null).await;
    assert_eq!(uris(&reply.message()), ["skill://acme/refunds/SKILL.md"]);
    assert_eq!(reply.message().result()["cacheScope"], "private");
    let params = json!({ "uri": "skill://open/SKILL.md" });
    let denied = server.request(&[BILLING], "skills/get", params.clone()).await;
    assert_eq!(denied.message().code(), -32602);
    let allowed = server.request(&[CI], "skills/get", params).await;
    assert_eq!(allowed.message().result()["skill"]["uri"], "skill://open/SKILL.md");
}

#[tokio::test]
async fn with_tokens_every_address_may_be_listened_on_v_28() {
    let folder = folder();
    let arguments = ["serve", ".", "--http", "0.0.0.0:0", "--token-file", "tokens"];
    let mut server = HttpServer::start(command(&folder, &arguments)).await;
    server.address.set_ip([127, 0, 0, 1].into());
    assert_eq!(server.request(&[], "skills/list", Value::Null).await.status, 401);
    assert_eq!(server.request(&[CI], "skills/list", Value::Null).await.status, 200);
}

#[tokio::test]
async fn tokens_never_show_up_in_the_log_srv_109() {
    let folder = folder();
    let arguments = ["serve", ".", "--http", "127.0.0.1:0", "--token-file", "tokens"];
    let mut command = command(&folder, &arguments);
    command.env("SKILLWIRE_LOG", "trace");
    let server = HttpServer::start(command).await;
    for caller in [CI, BILLING, ("Authorization", "Bearer mistyped-secret-token")] {
        server.request(&[caller], "skills/list", Value::Null).await;
    }
    #[cfg(unix)]
    {
        server.process.signal("TERM");
        let said = server.process.wait().await.assert_exit(0).stderr;
        for secret in ["0123456789abcdef0123", "fedcba9876543210fedc", "mistyped-secret"] {
            assert!(!said.contains(secret), "{said}");
        }
    }
}

#[tokio::test]
async fn origins_are_refused_unless_they_are_allowed_srv_97() {
    let folder = folder();
    let app = ("Origin", "https://app.example.com");
    let closed = HttpServer::serve(&folder, &["."]).await;
    assert_eq!(closed.request(&[app], "skills/list", Value::Null).await.status, 403);
    let open =
        HttpServer::serve(&folder, &[".", "--allow-origin", "https://App.example.com"]).await;
    assert_eq!(open.request(&[app], "skills/list", Value::Null).await.status, 200);
    for origin in ["https://evil.example", "null", "http://app.example.com"] {
        let reply = open.request(&[("Origin", origin)], "skills/list", Value::Null).await;
        assert_eq!(reply.status, 403, "{origin}");
    }
}

#[tokio::test]
async fn host_names_are_refused_unless_they_are_allowed_v_21() {
    let folder = folder();
    let host = ("Host", "skills.example.com:8640");
    let closed = HttpServer::serve(&folder, &["."]).await;
    assert_eq!(closed.request(&[host], "skills/list", Value::Null).await.status, 403);
    let open = HttpServer::serve(&folder, &[".", "--allow-host", "Skills.Example.com"]).await;
    assert_eq!(open.request(&[host], "skills/list", Value::Null).await.status, 200);
    let foreign = [("Host", "evil.example")];
    assert_eq!(open.request(&foreign, "skills/list", Value::Null).await.status, 403);
}
