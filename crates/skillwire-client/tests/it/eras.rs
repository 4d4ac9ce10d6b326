//! How the client finds out which era a server speaks.

use std::time::Duration;

use serde_json::json;
use skillwire_client::{Client, ClientError, ClientOptions, Endpoint};
use skillwire_protocol::{
    Era,
    version::{LEGACY, MODERN},
};
use skillwire_testkit::{Fault, HostileServer, ReplyGate, ScriptedReply};

use super::{Way, at, over_pipes, try_connect};

async fn era(server: &HostileServer, way: Way) -> Result<(Era, &'static str), ClientError> {
    let connected = try_connect(server, way, ClientOptions::default()).await?;
    connected.ask("skills/list", json!({})).await?;
    let described = connected.client.server();
    Ok((described.era, described.protocol_version))
}

const BOTH: [Way; 2] = [Way::ALL[0], Way::ALL[2]];

#[tokio::test]
async fn the_era_is_found_out_hst_05() {
    for way in BOTH {
        let modern = HostileServer::new().fault(Fault::ModernOnly);
        assert_eq!(era(&modern, way).await, Ok((Era::Modern, MODERN)));
        assert_eq!(modern.count("initialize"), 0, "{way:?}");
        assert_eq!(modern.complaints(), Vec::<String>::new());

        let legacy = HostileServer::new().fault(Fault::LegacyOnly);
        assert_eq!(era(&legacy, way).await, Ok((Era::Legacy, LEGACY[0])));
        let begun: Vec<_> = legacy.methods().into_iter().take(3).collect();
        assert_eq!(begun, ["server/discover", "initialize", "notifications/initialized"]);
        assert_eq!(legacy.complaints(), Vec::<String>::new(), "{way:?}");
    }
}

#[tokio::test]
async fn every_legacy_version_is_spoken_and_no_other_hst_05() {
    for way in BOTH {
        for version in LEGACY {
            let server = HostileServer::new().fault(Fault::LegacyOnly).fault(Fault::member(
                "initialize",
                "protocolVersion",
                version,
            ));
            assert_eq!(era(&server, way).await, Ok((Era::Legacy, version)));
        }
        let server = HostileServer::new().fault(Fault::LegacyOnly).fault(Fault::member(
            "initialize",
            "protocolVersion",
            "1999-01-01",
        ));
        assert!(matches!(era(&server, way).await, Err(ClientError::Protocol(_))));
    }
}

#[tokio::test]
async fn a_server_that_lists_its_versions_is_taken_at_its_word_hst_05() {
    for way in BOTH {
        let old = Fault::SupportedVersions(vec!["2099-01-01".to_owned(), LEGACY[1].to_owned()]);
        let server = HostileServer::new().fault(old);
        assert_eq!(era(&server, way).await.map(|(era, _)| era), Ok(Era::Legacy));
        let none = Fault::SupportedVersions(vec!["2099-01-01".to_owned()]);
        let server = HostileServer::new().fault(none);
        assert!(matches!(era(&server, way).await, Err(ClientError::Protocol(_))));
        assert_eq!(server.count("initialize"), 0);
        let unsupported =
            HostileServer::new().on("server/discover", |_, _| ScriptedReply::error(-32022));
        assert_eq!(era(&unsupported, way).await.map(|(era, _)| era), Ok(Era::Legacy));
    }
}

#[tokio::test]
async fn only_a_server_that_does_not_know_the_question_is_asked_the_old_way_hst_05() {
    for (status, legacy) in [
        (400, true),
        (404, true),
        (405, true),
        (401, false),
        (403, false),
        (429, false),
        (500, false),
    ] {
        let server = HostileServer::new()
            .on("server/discover", move |_, _| ScriptedReply::Status(status, b"no".to_vec()));
        let found = era(&server, Way::ALL[2]).await;
        if legacy {
            assert_eq!(found.map(|(era, _)| era), Ok(Era::Legacy), "{status}");
        } else {
            match status {
                401 => assert!(matches!(found, Err(ClientError::LoginRequired(_))), "{found:?}"),
                _ => assert_eq!(found, Err(ClientError::HttpStatus(status))),
            }
            assert_eq!(server.count("initialize"), 0, "{status}");
        }
    }
    for code in [-32020, -32021] {
        let server =
            HostileServer::new().on("server/discover", move |_, _| ScriptedReply::error(code));
        assert!(matches!(era(&server, Way::ALL[0]).await, Err(ClientError::Rpc { .. })));
        assert_eq!(server.count("initialize"), 0, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_legacy_server_may_say_nothing_to_what_it_does_not_know_hst_05() {
    let server = HostileServer::new().fault(Fault::LegacySilent);
    assert_eq!(era(&server, Way::ALL[0]).await, Ok((Era::Legacy, LEGACY[0])));
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_may_be_slow_hst_05() {
    let gate = ReplyGate::new();
    let held = gate.clone();
    let answer = json!({ "supportedVersions": [MODERN], "capabilities": {} });
    let server = HostileServer::new()
        .on("server/discover", move |_, _| {
            ScriptedReply::Held(held.clone(), Box::new(ScriptedReply::Result(answer.clone())))
        })
        .on("initialize", move |_, _| {
            gate.open();
            ScriptedReply::Never
        });
    let client = Client::connect(over_pipes(&server), ClientOptions::default()).await.unwrap();
    assert_eq!(client.server().era, Era::Modern);
}

#[tokio::test(start_paused = true)]
async fn connecting_has_a_deadline_h_15() {
    let server = HostileServer::new()
        .fault(Fault::LegacySilent)
        .on("initialize", |_, _| ScriptedReply::Never);
    let timeout = Duration::from_secs(30);
    let failed = Client::connect(over_pipes(&server), ClientOptions::default()).await;
    assert_eq!(failed.map(|_| ()), Err(ClientError::Timeout(timeout)));
}

#[tokio::test]
async fn a_session_is_ended_and_begun_anew_hst_05() {
    let server = HostileServer::new().fault(Fault::LegacyOnly).on("ping", |_, n| {
        if n == 1 { ScriptedReply::Status(404, Vec::new()) } else { ScriptedReply::Honest }
    });
    let connected = super::connect(&server, Way::Http(Era::Legacy)).await;
    let failed = connected.ask("ping", json!({})).await;
    assert!(matches!(failed, Err(ClientError::Closed { .. })), "{failed:?}");
    connected.client.rediscover().await.unwrap();
    connected.ask("ping", json!({})).await.unwrap();
    connected.client.close().await;
    assert_eq!(server.count("initialize"), 2);
    let deleted = server.log().into_iter().find(|logged| logged.method == "(DELETE)").unwrap();
    assert_eq!(deleted.header("mcp-session-id"), Some("session-1"));
    assert_eq!(server.complaints(), Vec::<String>::new());
}

#[tokio::test]
async fn nothing_is_asked_once_a_connection_is_closed_hst_05() {
    for way in Way::ALL {
        let server = HostileServer::new();
        let connected = super::connect(&server, way).await;
        connected.client.close().await;
        server.clear_log();
        let failed = connected.ask("ping", json!({})).await;
        assert!(matches!(failed, Err(ClientError::Closed { .. })), "{way:?} {failed:?}");
        assert_eq!(server.count("ping"), 0);
    }
}

#[tokio::test]
async fn https_speaks_tls_and_shows_nothing_before_hst_05() {
    use tokio::io::AsyncReadExt;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let seen = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut first = vec![0; 512];
        let length = stream.read(&mut first).await.unwrap();
        first.truncate(length);
        first
    });
    let endpoint: Endpoint = at(url, &[("Authorization", "Bearer hush-hush")]);
    let failed = Client::connect(endpoint, ClientOptions::default()).await;
    assert!(matches!(failed, Err(ClientError::Unreachable { .. })), "{failed:?}");
    let first = seen.await.unwrap();
    assert_eq!(first[0], 0x16, "a TLS handshake");
    assert!(!String::from_utf8_lossy(&first).contains("hush"));
}
