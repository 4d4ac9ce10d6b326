//! Which HTTP requests are accepted.

use serde_json::{Value, json};
use skillwire_testkit::{HttpConnection, SkillFolder};
#[cfg(unix)]
use skillwire_testkit::{modern_headers, modern_request};

use crate::support::{HttpServer, command, run, uris};
#[cfg(unix)]
use crate::support::{ServerProcess, skill_with};

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

/// Opens a stream of changes, and reads until it is acknowledged.
#[cfg(unix)]
async fn stream(server: &HttpServer, token: (&str, &str)) -> HttpConnection {
    let mut connection = HttpConnection::open(server.address).await;
    let mut headers = modern_headers("subscriptions/listen");
    headers.push(token);
    let params = json!({ "notifications": { "resourcesListChanged": true } });
    let body = modern_request(1, "subscriptions/listen", params).to_string();
    connection.send("POST", "/mcp", &headers, body.as_bytes()).await;
    let (status, _) = connection.head().await.expect("the subscription is answered");
    assert_eq!(status, 200);
    connection.event().await.expect("the stream is acknowledged");
    connection
}

#[cfg(unix)]
#[tokio::test]
async fn a_reload_of_the_token_file_takes_effect_at_once_fu_03() {
    let folder = folder();
    let mut server = HttpServer::serve(&folder, &[".", "--token-file", "tokens"]).await;
    let mut removed = stream(&server, CI).await;
    let mut kept = stream(&server, BILLING).await;
    let next = ("Authorization", "Bearer 00112233445566778899");
    assert_eq!(server.request(&[next], "skills/list", Value::Null).await.status, 401);
    // A legacy session of the token that will be removed.
    let session = server.initialize(CI).await;

    folder.file("tokens", "billing fedcba9876543210fedc acme/**\nnext 00112233445566778899 open\n");
    server.process.signal("HUP");
    let line = server.process.wait_for_line("read the token file again").await;
    assert!(line.contains("added=1 removed=1 kept=1"), "{line}");
    assert_eq!(server.request(&[CI], "skills/list", Value::Null).await.status, 401);
    let reply = server.request(&[next], "skills/list", Value::Null).await;
    assert_eq!(uris(&reply.message()), ["skill://open/SKILL.md"]);
    let reply = server.request(&[BILLING], "skills/list", Value::Null).await;
    assert_eq!(uris(&reply.message()), ["skill://acme/refunds/SKILL.md"]);
    let session = ("Mcp-Session-Id", session.as_str());
    assert_eq!(server.legacy(&[next, session], "ping").await.status, 404);
    assert_eq!(server.legacy(&[CI, session], "ping").await.status, 401);

    // The stream of the removed token ends, the other one goes on.
    while removed.event().await.is_some() {}
    folder.file("acme/more/SKILL.md", skill_with("more", ""));
    let change = kept.event().await.expect("the other stream goes on");
    assert_eq!(change["method"], "notifications/resources/list_changed");

    // A file that cannot be used changes nothing.
    folder.file("tokens", "broken\n");
    server.process.signal("HUP");
    server.process.wait_for_line("The tokens from before stay in force.").await;
    assert_eq!(server.request(&[BILLING], "skills/list", Value::Null).await.status, 200);
}

#[tokio::test]
async fn numbers_about_all_skills_are_for_unrestricted_tokens_only_sec_09() {
    let folder = folder();
    let server = HttpServer::serve(&folder, &[".", "--token-file", "tokens", "--metrics"]).await;
    let get = async |header: (&str, &str)| {
        let mut connection = HttpConnection::open(server.address).await;
        connection.send("GET", "/metrics", &[header], b"").await;
        connection.reply().await
    };
    let all = get(CI).await;
    assert_eq!(all.status, 200);
    assert!(all.text().contains(r#"skillwire_skills{mount="/mcp"} 2"#), "{}", all.text());
    let some = get(BILLING).await;
    assert_eq!(some.status, 403);
    assert!(!some.text().contains("skillwire_"), "{}", some.text());
    assert_eq!(get(("Authorization", "Bearer wrong-wrong-wrong")).await.status, 401);
}

#[tokio::test]
async fn clients_without_a_token_learn_who_issues_them_p_15() {
    let folder = folder();
    let issuer = "https://login.example.com";
    let arguments = [".", "--token-file", "tokens", "--issuer", issuer, "--title", "Acme skills"];
    let server = HttpServer::serve(&folder, &arguments).await;
    let refused = server.request(&[], "skills/list", Value::Null).await;
    assert_eq!(refused.status, 401);
    // The address is the one that the client wrote into `Host`, which has no port here.
    let document = "http://127.0.0.1/.well-known/oauth-protected-resource/mcp";
    let challenge = format!("Bearer resource_metadata=\"{document}\"");
    assert_eq!(refused.header("www-authenticate"), Some(challenge.as_str()));
    for path in ["/mcp", ""] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let reply = server.get(&path).await;
        assert_eq!(reply.status, 200, "{path}");
        let document: Value = serde_json::from_str(&reply.text()).unwrap();
        assert_eq!(
            document,
            json!({
                "resource": "http://127.0.0.1/mcp",
                "authorization_servers": [issuer],
                "bearer_methods_supported": ["header"],
                "resource_name": "Acme skills",
            })
        );
    }
    assert_eq!(server.get("/.well-known/oauth-protected-resource/other").await.status, 404);
    // Behind a proxy the operator names the address.
    let arguments = [&arguments[..], &["--url", "https://skills.example.com/team/mcp"]].concat();
    let behind = HttpServer::start_named(&folder, &arguments).await;
    let refused = behind.request(&[], "skills/list", Value::Null).await;
    let expected = "Bearer resource_metadata=\"https://skills.example.com/.well-known/\
                    oauth-protected-resource/team/mcp\"";
    assert_eq!(refused.header("www-authenticate"), Some(expected));
    // Without an issuer there is nothing to say.
    let plain = HttpServer::serve(&folder, &[".", "--token-file", "tokens"]).await;
    let refused = plain.request(&[], "skills/list", Value::Null).await;
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    assert_eq!(plain.get("/.well-known/oauth-protected-resource").await.status, 404);
}

#[tokio::test]
async fn an_issuer_without_tokens_is_refused_p_15() {
    let folder = folder();
    for (arguments, words) in [
        (&["--issuer", "https://login.example.com"][..], "`--issuer` needs `--token-file`."),
        (&["--token-file", "tokens", "--issuer", "login"], "`--issuer login` cannot be used."),
        (&["--url", "http://skills.example.com/mcp"], "`--url http://skills.example.com/mcp`"),
    ] {
        let serve = ["serve", ".", "--http", "127.0.0.1:0"];
        run(&folder, &[&serve[..], arguments].concat()).await.assert_refused(2, words);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn tokens_that_others_can_learn_are_warned_of_fu_19() {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    let folder = folder();
    let said = async |address: &str, mode: u32, more: &[&str]| {
        fs::set_permissions(folder.join("tokens"), fs::Permissions::from_mode(mode)).unwrap();
        let arguments = ["serve", ".", "--http", address, "--token-file", "tokens"];
        let mut process = ServerProcess::start(command(&folder, &[&arguments[..], more].concat()));
        let line = process.wait_for_line("listening on").await;
        process.signal("TERM");
        (line, process.wait().await.assert_exit(0).stderr)
    };
    let (line, open) = said("0.0.0.0:0", 0o644, &[]).await;
    assert!(!line.contains("0.0.0.0"), "{line}");
    assert!(open.contains("Tokens cross the network unencrypted."), "{open}");
    assert!(open.contains("can read the tokens in `tokens`"), "{open}");
    let (_, safe) = said("127.0.0.1:0", 0o600, &[]).await;
    assert!(!safe.contains("okens "), "{safe}");
    let url = "https://skills.example.com/mcp";
    let (line, behind) = said("0.0.0.0:0", 0o600, &["--url", url]).await;
    assert_eq!(line, format!("listening on {url}"));
    assert!(!behind.contains("unencrypted"), "{behind}");
}
