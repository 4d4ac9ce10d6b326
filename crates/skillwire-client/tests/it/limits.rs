//! What an answer may cost: H-07, H-14, H-15, H-35.

use std::time::Duration;

use serde_json::json;
use skillwire_client::{ClientError, Limits};
use skillwire_protocol::Era;
use skillwire_testkit::{Fault, HostileServer, ReplyGate, ScriptedReply};

use super::{Way, bytes, connect, within};

const LIMIT: usize = 1024 * 1024;

#[tokio::test]
async fn an_endless_answer_is_given_up_at_the_limit_h_14_h_35() {
    for way in Way::ALL {
        for events in [false, true] {
            let server = HostileServer::new().on("resources/read", |_, _| {
                let start = br#"{"jsonrpc":"2.0","id":$ID,"result":{"contents":[{"text":""#;
                ScriptedReply::Endless(start.to_vec(), vec![b'x'; 64 * 1024])
            });
            if events {
                server.set_fault(Fault::AnswersWithEvents);
            }
            let connected = connect(&server, way).await;
            let limits = Limits::for_file(10, Duration::from_secs(20));
            assert!(limits.bytes < LIMIT);
            let failed = connected.ask_within("resources/read", json!({}), limits).await;
            assert_eq!(too_large(&failed), Some(()), "{way:?} {failed:?}");
        }
    }
}

fn too_large<T>(outcome: &Result<T, ClientError>) -> Option<()> {
    matches!(outcome, Err(ClientError::TooLarge(_))).then_some(())
}

#[tokio::test]
async fn a_declared_length_beyond_the_limit_is_not_waited_for_h_14() {
    let server = HostileServer::new().on("ping", |_, _| {
        ScriptedReply::Headers(200, vec![("Content-Length".to_owned(), (512 * LIMIT).to_string())])
    });
    let connected = connect(&server, Way::Http(Era::Modern)).await;
    let failed = connected.ask_within("ping", json!({}), bytes(LIMIT)).await;
    assert_eq!(failed, Err(ClientError::TooLarge(LIMIT)));
}

#[tokio::test]
async fn endless_events_that_say_nothing_are_given_up_at_the_limit_h_35() {
    let server = HostileServer::new().fault(Fault::AnswersWithEvents).on("ping", |_, _| {
        let event = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n: hm\n\ndata: ";
        ScriptedReply::Endless(Vec::new(), event.repeat(100))
    });
    for era in [Era::Modern, Era::Legacy] {
        let connected = connect(&server, Way::Http(era)).await;
        let failed = connected.ask_within("ping", json!({}), bytes(LIMIT)).await;
        assert_eq!(failed, Err(ClientError::TooLarge(LIMIT)));
    }
}

#[tokio::test]
async fn a_limit_is_that_of_the_request_and_ends_only_it_h_14() {
    for way in Way::ALL {
        let server = HostileServer::new()
            .on("ping", |_, _| ScriptedReply::Result(json!({ "text": "x".repeat(2 * LIMIT) })));
        let connected = connect(&server, way).await;
        let (small, large) = tokio::join!(
            connected.ask_within("ping", json!({}), bytes(LIMIT)),
            connected.ask_within("ping", json!({}), bytes(3 * LIMIT)),
        );
        assert_eq!(small, Err(ClientError::TooLarge(LIMIT)), "{way:?}");
        assert_eq!(large.unwrap()["text"].as_str().unwrap().len(), 2 * LIMIT, "{way:?}");
        let failed = connected.ask_within("ping", json!({}), bytes(LIMIT)).await;
        assert_eq!(too_large(&failed), Some(()), "{way:?}");
        connected.ask("skills/list", json!({})).await.expect("the connection lives on");
    }
}

#[tokio::test]
async fn deep_nesting_is_refused_and_only_for_its_request_h_14() {
    for way in Way::ALL {
        let server = HostileServer::new().on("ping", |_, n| match n {
            1 => ScriptedReply::Text(format!(
                "{{\"a\":{}{}}}",
                "[".repeat(100_000),
                "]".repeat(100_000)
            )),
            _ => {
                ScriptedReply::Text(format!("{{\"a\":{}{}}}", "[".repeat(1_000), "]".repeat(1_000)))
            }
        });
        let connected = connect(&server, way).await;
        let failed = connected.ask("ping", json!({})).await;
        assert!(matches!(failed, Err(ClientError::Protocol(_))), "{way:?} {failed:?}");
        let text = connected.client.request("ping", super::object(json!({})), bytes(LIMIT)).await;
        assert!(text.unwrap().text().len() > 2_000, "whose depth it is decides who reads it");
    }
}

#[tokio::test]
async fn repeated_keys_reach_the_reader_as_they_are_h_14() {
    for way in Way::ALL {
        let uri = "skill://a/SKILL.md".to_owned();
        let text = r#"{"uri":"skill://a/SKILL.md","uri":"skill://b/SKILL.md"}"#.to_owned();
        let fault = Fault::EntryText { uri, text: text.clone() };
        let server = HostileServer::new().skill("a", [("x", "x")]).fault(fault);
        let client = connect(&server, way).await.client;
        let answer = client.request("skills/list", super::object(json!({})), bytes(LIMIT)).await;
        assert!(answer.unwrap().text().contains(&text), "{way:?}");
        let twice = br#"{"jsonrpc":"2.0","id":$ID,"result":{},"result":{"skills":[]}}"#;
        let server = HostileServer::new()
            .on("skills/list", move |_, _| ScriptedReply::Message(twice.to_vec()));
        let failed = connect(&server, way).await.ask("skills/list", json!({})).await;
        assert!(matches!(failed, Err(ClientError::Protocol(_))), "{way:?} {failed:?}");
    }
}

#[tokio::test]
async fn a_cursor_beyond_the_limit_ends_the_page_h_07() {
    for way in Way::ALL {
        let server = HostileServer::new().fault(Fault::FirstCursor("x".repeat(LIMIT).into()));
        let connected = connect(&server, way).await;
        let failed = connected.ask_within("skills/list", json!({}), bytes(LIMIT)).await;
        assert_eq!(failed, Err(ClientError::TooLarge(LIMIT)), "{way:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_or_drips_runs_out_of_time_h_15() {
    for era in [Era::Modern, Era::Legacy] {
        let server = HostileServer::new().on("ping", |_, n| match n {
            1 => ScriptedReply::Never,
            _ => ScriptedReply::Dripped(b"{\"json".to_vec(), ReplyGate::new(), Vec::new()),
        });
        let honest = HostileServer::new().skill("a", [("x", "x")]);
        let (slow, other) =
            (connect(&server, Way::Pipe(era)).await, connect(&honest, Way::Pipe(era)).await);
        for _ in 0..2 {
            let limits = Limits::default().with_timeout(Duration::from_mins(10));
            let mut asked = std::pin::pin!(slow.ask_within("ping", json!({}), limits));
            tokio::select! {
                biased;
                _ = &mut asked => panic!("there is no answer yet"),
                listed = other.ask("skills/list", json!({})) => drop(listed.unwrap()),
            }
            assert_eq!(asked.await, Err(ClientError::Timeout(limits.timeout)));
        }
    }
}

#[tokio::test]
async fn over_http_time_runs_out_as_well_h_15() {
    for era in [Era::Modern, Era::Legacy] {
        let server = HostileServer::new().on("ping", |_, n| match n {
            1 => ScriptedReply::Never,
            _ => ScriptedReply::Dripped(b"{\"json".to_vec(), ReplyGate::new(), Vec::new()),
        });
        let connected = connect(&server, Way::Http(era)).await;
        for _ in 0..2 {
            let failed = connected.ask_within("ping", json!({}), within(100)).await;
            assert!(matches!(failed, Err(ClientError::Timeout(_))), "{failed:?}");
        }
        connected.ask("skills/list", json!({})).await.expect("others are not kept waiting");
    }
}
