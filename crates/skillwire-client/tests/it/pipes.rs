//! Servers that do not keep to lines: H-70.

use serde_json::json;
use skillwire_client::ClientError;
use skillwire_protocol::Era;
use skillwire_testkit::{Fault, HostileServer, ScriptedReply};

use super::{Way, bytes, connect};

#[tokio::test]
async fn garbage_between_messages_is_passed_over_h_70() {
    for era in [Era::Modern, Era::Legacy] {
        for noise in [
            "\u{1b}[31mlistening\u{1b}[0m".as_bytes().to_vec(),
            vec![0xff, 0xfe, 0x00],
            Vec::new(),
            b"{\"level\":\"info\"}".to_vec(),
            b"[1,2]\n7\nnull\n\"x\"".to_vec(),
            vec![b'x'; 1024 * 1024],
        ] {
            // More lines than may be no messages in a row.
            let times = if noise.len() < 100 { 300 } else { 5 };
            let server = HostileServer::new().fault(Fault::NoiseBefore(noise));
            let connected = connect(&server, Way::Pipe(era)).await;
            for _ in 0..times {
                connected.ask("ping", json!({})).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_server_that_writes_only_garbage_is_broken_h_70() {
    let server =
        HostileServer::new().on("ping", |_, _| ScriptedReply::Endless(Vec::new(), b"x\n".to_vec()));
    let connected = connect(&server, Way::ALL[0]).await;
    let failed = connected.ask("ping", json!({})).await;
    assert!(matches!(failed, Err(ClientError::Closed { .. })), "{failed:?}");
    let failed = connected.ask("skills/list", json!({})).await;
    assert!(matches!(failed, Err(ClientError::Closed { .. })), "{failed:?}");
}

#[tokio::test]
async fn a_line_without_an_end_breaks_the_connection_h_70() {
    for start in [&b""[..], br#"{"jsonrpc":"2.0","id":$ID,"result":{"a":""#] {
        let start = start.to_vec();
        let server = HostileServer::new()
            .on("ping", move |_, _| ScriptedReply::Endless(start.clone(), vec![b'x'; 64 * 1024]))
            // An answer would end the line it stands in.
            .on("skills/list", |_, _| ScriptedReply::Never);
        let connected = connect(&server, Way::ALL[0]).await;
        let failed = connected.ask_within("ping", json!({}), bytes(1024)).await;
        assert!(matches!(failed, Err(ClientError::TooLarge(_))), "{failed:?}");
        let failed = connected.ask("skills/list", json!({})).await;
        assert!(matches!(failed, Err(ClientError::Closed { .. })), "{failed:?}");
    }
}

#[tokio::test]
async fn an_end_in_the_middle_fails_everything_under_way_h_70() {
    let server = HostileServer::new().on("ping", |_, n| match n {
        1 => ScriptedReply::Never,
        _ => ScriptedReply::CutOff(br#"{"jsonrpc":"2.0","id":$ID,"res"#.to_vec()),
    });
    let connected = connect(&server, Way::ALL[0]).await;
    let (first, second) =
        tokio::join!(connected.ask("ping", json!({})), connected.ask("ping", json!({})));
    for failed in [first, second] {
        let Err(ClientError::Closed { problem, .. }) = failed else { panic!("{failed:?}") };
        assert_eq!(problem, "the server ended in the middle of a message");
    }
}

#[tokio::test]
async fn a_cut_off_body_is_an_error_over_http_as_well_h_70() {
    for events in [false, true] {
        let server = HostileServer::new().on("ping", |_, _| {
            ScriptedReply::CutOff(br#"{"jsonrpc":"2.0","id":$ID,"res"#.to_vec())
        });
        if events {
            server.set_fault(Fault::AnswersWithEvents);
        }
        let connected = connect(&server, Way::Http(Era::Modern)).await;
        let failed = connected.ask("ping", json!({})).await;
        assert!(matches!(failed, Err(ClientError::Protocol(_))), "{failed:?}");
    }
}

#[tokio::test]
async fn letting_go_of_a_client_ends_its_pipes_h_70() {
    let server = HostileServer::new();
    drop(connect(&server, Way::ALL[0]).await);
    server.wait_for("(end of input)", 1).await;
}
