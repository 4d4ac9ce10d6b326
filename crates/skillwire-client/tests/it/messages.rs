//! What goes over the wire, and what counts as an answer: HST-05, HST-06, H-11, H-43.

use serde_json::json;
use skillwire_client::{Client, ClientError, ClientOptions, Interest, Limits};
use skillwire_protocol::Era;
use skillwire_testkit::{Fault, HostileServer, ReplyGate, ScriptedReply};

use super::{Way, at, connect, object};

const FILE: &str = "skill://refunds/references/ü x.md";

fn server() -> HostileServer {
    HostileServer::new().skill("refunds", [("references/ü x.md", "Details.")])
}

#[tokio::test]
async fn every_request_carries_what_its_era_and_transport_ask_for_hst_05() {
    for way in Way::ALL {
        for events in [false, true] {
            let server = server();
            if events {
                server.set_fault(Fault::AnswersWithEvents);
            }
            let connected = connect(&server, way).await;
            let listed = connected.ask("skills/list", json!({})).await.unwrap();
            assert_eq!(listed["skills"][0]["uri"], "skill://refunds/SKILL.md", "{way:?}");
            connected
                .ask("skills/get", json!({ "uri": listed["skills"][0]["uri"] }))
                .await
                .unwrap();
            let read = connected.ask("resources/read", json!({ "uri": FILE })).await.unwrap();
            assert_eq!(read["contents"][0]["text"], "Details.", "{way:?}");
            assert_eq!(server.complaints(), Vec::<String>::new(), "{way:?}");
            let own_meta = json!({ "uri": FILE, "_meta": { "com.example/trace": "7" } });
            connected.ask("resources/read", own_meta).await.unwrap();
            let last = server.log().pop().unwrap();
            assert_eq!(last.params["_meta"]["com.example/trace"], "7");
            assert_eq!(last.complaints, Vec::<String>::new(), "{way:?}");
        }
    }
}

#[tokio::test]
async fn a_result_with_metadata_keeps_its_skills_hst_05() {
    // The client of the official SDK takes such a result for a tool result and loses the rest of
    // it.
    for way in Way::ALL {
        let meta = json!({ "io.modelcontextprotocol/serverInfo": { "name": "x", "version": "1" } });
        let server = server()
            .fault(Fault::member("skills/list", "_meta", meta.clone()))
            .fault(Fault::member("skills/get", "_meta", meta));
        let connected = connect(&server, way).await;
        let listed = connected.ask("skills/list", json!({})).await.unwrap();
        assert_eq!(listed["skills"][0], server.entry("skill://refunds/SKILL.md"), "{way:?}");
        let got = connected.ask("skills/get", json!({ "uri": "skill://refunds/SKILL.md" })).await;
        assert_eq!(got.unwrap()["skill"], server.entry("skill://refunds/SKILL.md"), "{way:?}");
    }
}

#[tokio::test]
async fn an_unknown_type_of_result_is_invalid_and_not_retried_hst_06_h_11() {
    for way in Way::ALL {
        for value in [json!("input_required"), json!("surprise"), json!(null), json!(7)] {
            let server = server().fault(Fault::result_type("skills/list", value.clone()));
            let failed = connect(&server, way).await.ask("skills/list", json!({})).await;
            match value.as_str() {
                Some("input_required") => assert_eq!(failed, Err(ClientError::InputRequired)),
                _ => assert!(matches!(failed, Err(ClientError::Protocol(_))), "{value}"),
            }
            assert_eq!(server.count("skills/list"), 1, "{way:?} {value}");
        }
        let name = "resultType".to_owned();
        let server =
            server().fault(Fault::WithoutMember { method: "skills/list".to_owned(), name });
        connect(&server, way).await.ask("skills/list", json!({})).await.expect("older servers");
    }
}

#[tokio::test]
async fn answers_find_their_requests_in_any_order_hst_05() {
    for way in Way::ALL {
        let gate = ReplyGate::new();
        let held = gate.clone();
        let server = server().on("ping", move |asked, n| {
            let reply = ScriptedReply::Result(asked.params["n"].clone());
            assert!(reply_is_object(&reply));
            if n == 1 { ScriptedReply::Held(held.clone(), Box::new(reply)) } else { reply }
        });
        let connected = connect(&server, way).await;
        let first = connected.ask("ping", json!({ "n": { "first": 1 } }));
        let second = async {
            server.wait_for("ping", 1).await;
            let answer = connected.ask("ping", json!({ "n": { "second": 2 } })).await;
            gate.open();
            answer
        };
        let (first, second) = tokio::join!(first, second);
        assert_eq!(first.unwrap(), json!({ "first": 1 }), "{way:?}");
        assert_eq!(second.unwrap(), json!({ "second": 2 }), "{way:?}");
    }
}

fn reply_is_object(reply: &ScriptedReply) -> bool {
    matches!(reply, ScriptedReply::Result(value) if value.is_object())
}

#[tokio::test]
async fn notifications_before_an_answer_are_tolerated_hst_05() {
    for way in Way::ALL {
        let progress = json!({
            "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progress": 1 },
        });
        let server = server().on("ping", move |_, _| {
            ScriptedReply::After(
                vec![progress.clone(); 3],
                Box::new(ScriptedReply::Result(json!({ "ok": true }))),
            )
        });
        let answer = connect(&server, way).await.ask("ping", json!({})).await;
        assert_eq!(answer, Ok(json!({ "ok": true })), "{way:?}");
    }
}

#[tokio::test]
async fn an_answer_to_another_request_is_none_hst_05() {
    for era in [Era::Modern, Era::Legacy] {
        let other = br#"{"jsonrpc":"2.0","id":99999,"result":{}}"#.to_vec();
        let server = server().on("ping", move |_, _| ScriptedReply::Message(other.clone()));
        let failed = connect(&server, Way::Http(era)).await.ask("ping", json!({})).await;
        assert!(matches!(failed, Err(ClientError::Protocol(_))), "{failed:?}");
        let text = br#"{"jsonrpc":"2.0","id":"$ID","result":{}}"#.to_vec();
        let server =
            HostileServer::new().on("ping", move |_, _| ScriptedReply::Message(text.clone()));
        let failed = connect(&server, Way::Http(era)).await.ask("ping", json!({})).await;
        assert!(matches!(failed, Err(ClientError::Protocol(_))), "{failed:?}");
    }
}

#[tokio::test]
async fn errors_are_told_apart_h_43() {
    for way in Way::ALL {
        let server = server().on("resources/read", |_, n| match n {
            1 => ScriptedReply::error(-32602),
            2 => ScriptedReply::error(-32002),
            3 => ScriptedReply::error(-32603),
            _ => ScriptedReply::Result(
                json!({ "resultType": "input_required", "inputRequests": {} }),
            ),
        });
        let connected = connect(&server, way).await;
        let read = async || connected.ask("resources/read", json!({ "uri": FILE })).await;
        for code in [-32602, -32002] {
            let error = read().await.unwrap_err();
            assert!(error.is_not_found(), "{code}: {error:?}");
            assert!(matches!(error, ClientError::Rpc { code: found, .. } if found == code));
        }
        let error = read().await.unwrap_err();
        assert!(!error.is_not_found() && matches!(error, ClientError::Rpc { code: -32603, .. }));
        assert_eq!(read().await, Err(ClientError::InputRequired), "{way:?}");
    }
}

#[tokio::test]
async fn a_status_is_an_error_unless_it_carries_one_h_43() {
    for era in [Era::Modern, Era::Legacy] {
        let server = server().on("ping", |_, n| match n {
            1 => ScriptedReply::Status(500, b"<html>".to_vec()),
            2 => ScriptedReply::Status(500, Vec::new()),
            _ => {
                let error = br#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-1,"message":"no"}}"#;
                ScriptedReply::Status(400, error.to_vec())
            }
        });
        let connected = connect(&server, Way::Http(era)).await;
        for _ in 0..2 {
            let failed = connected.ask("ping", json!({})).await;
            assert_eq!(failed, Err(ClientError::HttpStatus(500)));
        }
        let failed = connected.ask("ping", json!({})).await;
        assert_eq!(failed, Err(ClientError::Rpc { code: -1, message: "no".to_owned() }));
    }
}

#[tokio::test]
async fn redirects_are_not_followed_and_secrets_go_nowhere_else_hst_05() {
    let elsewhere = HostileServer::new();
    let other = elsewhere.http().await;
    let location = ("Location".to_owned(), other.url());
    let server =
        server().on("ping", move |_, _| ScriptedReply::Headers(307, vec![location.clone()]));
    let listening = server.http().await;
    let endpoint = at(listening.url(), &[("Authorization", "Bearer hush-hush")]);
    let client = Client::connect(endpoint, Way::ALL[2].options()).await.unwrap();
    let error = client.request("ping", object(json!({})), Limits::default()).await.unwrap_err();
    assert_eq!(error, ClientError::Redirected("`127.0.0.1`".to_owned()));
    assert!(elsewhere.log().is_empty());
    let sent = server.log().pop().unwrap();
    assert_eq!(sent.header("authorization"), Some("Bearer hush-hush"));
    assert!(!format!("{client:?} {error:?} {error}").contains("hush"));
}

#[tokio::test]
async fn what_is_not_an_answer_is_refused_hst_05() {
    let html = |_: &_, _: usize| {
        ScriptedReply::Headers(200, vec![("Content-Type".to_owned(), "text/html".to_owned())])
    };
    let zipped = |_: &_, _: usize| {
        ScriptedReply::Headers(200, vec![("Content-Encoding".to_owned(), "gzip".to_owned())])
    };
    let server = server().on("ping", html).on("tools/list", zipped);
    let connected = connect(&server, Way::Http(Era::Modern)).await;
    for method in ["ping", "tools/list"] {
        let failed = connected.ask(method, json!({})).await;
        assert!(matches!(failed, Err(ClientError::Protocol(_))), "{method}: {failed:?}");
    }
}

#[tokio::test]
async fn an_unreachable_server_is_said_to_be_so_hst_05() {
    let listening = HostileServer::new().http().await;
    let url = listening.url();
    drop(listening);
    let failed = Client::connect(at(url, &[]), ClientOptions::default()).await;
    assert!(matches!(failed, Err(ClientError::Unreachable { .. })), "{failed:?}");
}

#[tokio::test]
async fn a_request_nobody_waits_for_is_cancelled_hst_05() {
    for way in Way::ALL {
        let server = server().on("ping", |_, _| ScriptedReply::Never);
        let connected = connect(&server, way).await;
        tokio::select! {
            _ = connected.ask("ping", json!({})) => panic!("there is no answer"),
            () = server.wait_for("ping", 1) => {}
        }
        if way == Way::Http(Era::Modern) {
            server.wait_for("(disconnected)", 1).await;
            assert_eq!(server.count("notifications/cancelled"), 0);
        } else {
            server.wait_for("notifications/cancelled", 1).await;
            let log = server.log();
            let told = log.iter().find(|l| l.method == "notifications/cancelled").unwrap();
            assert!(told.params["requestId"].is_u64(), "{way:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_asks_learns_nothing_hst_05() {
    let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    let sample = r#"{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{}}"#;
    for way in [Way::Pipe(Era::Legacy), Way::Http(Era::Legacy)] {
        let server = server();
        let connected = connect(&server, way).await;
        let changes = connected.client.listen(Interest::Listing, Limits::default()).await.unwrap();
        for (n, question) in [ping, sample].into_iter().enumerate() {
            server.send_message(question);
            server.wait_for("(response)", n + 1).await;
        }
        let log = server.log().into_iter();
        let answers: Vec<_> = log.filter(|l| l.method == "(response)").map(|l| l.params).collect();
        assert_eq!(answers[0], json!({ "jsonrpc": "2.0", "id": "p", "result": {} }), "{way:?}");
        assert_eq!(answers[1]["error"]["code"], -32601, "{way:?}");
        drop(changes);
    }

    // A modern client sends no answers at all.
    let server = HostileServer::new();
    let connected = connect(&server, Way::Pipe(Era::Modern)).await;
    server.send_message(sample);
    connected.ask("ping", json!({})).await.unwrap();
    assert_eq!(server.count("(response)"), 0);
}

#[tokio::test]
async fn a_server_that_repeats_the_users_token_does_not_show_it_sec_04() {
    let echo = br#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"got Bearer hush-hush, not hush-hush2"}}"#;
    for status in [200, 400] {
        let server = server().on("ping", move |_, _| ScriptedReply::Status(status, echo.to_vec()));
        let listening = server.http().await;
        let endpoint = at(listening.url(), &[("Authorization", "Bearer hush-hush")]);
        let client = Client::connect(endpoint, Way::ALL[2].options()).await.unwrap();
        let error = client.request("ping", object(json!({})), Limits::default()).await.unwrap_err();
        assert!(!format!("{error:?} {error}").contains("hush-hush"), "{error:?}");
        assert_eq!(error.server_text(), Some("got ***, not ***2"));
        assert_eq!(error.to_string(), "The server answered with error -32000.");
    }
}

#[tokio::test]
async fn a_token_that_is_missing_and_one_that_is_wrong_are_told_apart_fu_09() {
    let server = HostileServer::new()
        .on("server/discover", |_, _| ScriptedReply::Status(401, b"who are you".to_vec()));
    let listening = server.http().await;
    for (headers, expected) in [
        (&[][..], ClientError::LoginRequired("there is none".to_owned())),
        (&[("authorization", "Bearer wrong-token")][..], ClientError::TokenRefused),
    ] {
        let endpoint = at(listening.url(), headers);
        let failed = Client::connect(endpoint, ClientOptions::default()).await;
        assert_eq!(failed.map(|_| ()), Err(expected));
    }
}
