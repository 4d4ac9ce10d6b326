//! Changes that a server tells by itself.

use serde_json::json;
use skillwire_host::client::{Change, ClientError, Limits};
use skillwire_protocol::version::Era;
use skillwire_testkit::hostile::{Fault, HostileServer, Reply};

use super::{Way, connect};

const URI: &str = "skill://refunds/SKILL.md";

fn server() -> HostileServer {
    HostileServer::new().skill("refunds", [("x.md", "x")])
}

#[tokio::test]
async fn hst_34_changes_are_heard_in_every_way() {
    for way in Way::ALL {
        let server = server();
        let connected = connect(&server, way).await;
        let mut changes = connected.client.listen(&[URI], Limits::default()).await.unwrap();
        server.tell_list_changed();
        assert_eq!(changes.next().await, Some(Change::SkillsChanged), "{way:?}");
        server.tell_updated(URI);
        assert_eq!(changes.next().await, Some(Change::Updated(URI.to_owned())), "{way:?}");
        assert_eq!(server.complaints(), Vec::<String>::new(), "{way:?}");
        let subscribed =
            if way.era() == Era::Modern { "subscriptions/listen" } else { "resources/subscribe" };
        assert_eq!(server.count(subscribed), 1, "{way:?}");
        connected.ask("ping", json!({})).await.expect("requests go on meanwhile");
    }
}

#[tokio::test]
async fn hst_34_whoever_falls_behind_is_told_to_look_at_everything() {
    for way in Way::ALL {
        let server = server();
        let connected = connect(&server, way).await;
        let mut changes = connected.client.listen(&[URI], Limits::default()).await.unwrap();
        for _ in 0..20 {
            // The server's own queue is short, so it gets time to send.
            for _ in 0..30 {
                server.tell_updated(URI);
            }
            connected.ask("ping", json!({})).await.unwrap();
        }
        let mut seen = std::collections::BTreeSet::new();
        while seen.len() < 2 {
            seen.insert(format!("{:?}", changes.next().await.expect("the stream is open")));
            if seen.len() < 2 {
                server.tell_list_changed();
            }
        }
    }
}

#[tokio::test]
async fn hst_34_letting_go_of_changes_ends_the_subscription() {
    for way in [Way::ALL[0], Way::ALL[2]] {
        let server = server();
        let connected = connect(&server, way).await;
        drop(connected.client.listen(&[], Limits::default()).await.unwrap());
        let told = if way == Way::ALL[0] { "notifications/cancelled" } else { "(disconnected)" };
        server.wait_for(told, 1).await;
    }
}

#[tokio::test]
async fn hst_34_a_server_without_streams_tells_nothing() {
    let server = server().fault(Fault::NoLegacyStream);
    let connected = connect(&server, Way::Http(Era::Legacy)).await;
    let mut changes = connected.client.listen(&[], Limits::default()).await.unwrap();
    assert_eq!(changes.next().await, None);
    for way in [Way::ALL[0], Way::ALL[2]] {
        let server = HostileServer::new().on("subscriptions/listen", |_, _| Reply::error(-32601));
        let connected = connect(&server, way).await;
        let refused = connected.client.listen(&[], Limits::default()).await;
        assert!(matches!(refused, Err(ClientError::Rpc { code: -32601, .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn hst_34_changes_end_with_the_connection() {
    let server = server().on("ping", |_, _| Reply::CutOff(Vec::new()));
    let connected = connect(&server, Way::ALL[0]).await;
    let mut changes = connected.client.listen(&[], Limits::default()).await.unwrap();
    assert!(connected.ask("ping", json!({})).await.is_err());
    assert_eq!(changes.next().await, None);
}
