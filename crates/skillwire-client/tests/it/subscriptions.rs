//! Changes that a server announces.

use serde_json::json;
use skillwire_client::{Change, ClientError, Interest, Limits};
use skillwire_protocol::Era;
use skillwire_testkit::{Fault, HostileServer, ScriptedReply};

use super::{Way, connect};

const URI: &str = "skill://refunds/SKILL.md";

fn server() -> HostileServer {
    HostileServer::new().skill("refunds", [("x.md", "x")])
}

#[tokio::test]
async fn changes_are_heard_in_every_way_hst_34() {
    for way in Way::ALL {
        let server = server();
        let connected = connect(&server, way).await;
        let mut changes =
            connected.client.listen(Interest::ListingAnd(&[URI]), Limits::default()).await.unwrap();
        server.notify_list_changed();
        assert_eq!(changes.next().await, Some(Change::SkillsChanged), "{way:?}");
        server.notify_updated(URI);
        assert_eq!(changes.next().await, Some(Change::Updated(URI.to_owned())), "{way:?}");
        assert_eq!(server.complaints(), Vec::<String>::new(), "{way:?}");
        let subscribed =
            if way.era() == Era::Modern { "subscriptions/listen" } else { "resources/subscribe" };
        assert_eq!(server.count(subscribed), 1, "{way:?}");
        connected.ask("ping", json!({})).await.expect("requests go on meanwhile");
    }
}

#[tokio::test]
async fn letting_go_of_changes_ends_the_subscription_hst_34() {
    for way in [Way::ALL[0], Way::ALL[2]] {
        let server = server();
        let connected = connect(&server, way).await;
        drop(connected.client.listen(Interest::Listing, Limits::default()).await.unwrap());
        let told = if way == Way::ALL[0] { "notifications/cancelled" } else { "(disconnected)" };
        server.wait_for(told, 1).await;
    }
}

#[tokio::test]
async fn a_server_without_streams_tells_nothing_hst_34() {
    let server = server().fault(Fault::NoLegacyStream);
    let connected = connect(&server, Way::Http(Era::Legacy)).await;
    let mut changes = connected.client.listen(Interest::Listing, Limits::default()).await.unwrap();
    assert_eq!(changes.next().await, None);
    for way in [Way::ALL[0], Way::ALL[2]] {
        let server =
            HostileServer::new().on("subscriptions/listen", |_, _| ScriptedReply::error(-32601));
        let connected = connect(&server, way).await;
        let refused = connected.client.listen(Interest::Listing, Limits::default()).await;
        assert!(matches!(refused, Err(ClientError::Rpc { code: -32601, .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn changes_end_with_the_connection_hst_34() {
    for way in Way::ALL {
        let server = server();
        let connected = connect(&server, way).await;
        let mut changes =
            connected.client.listen(Interest::Listing, Limits::default()).await.unwrap();
        let mut again =
            connected.client.listen(Interest::Listing, Limits::default()).await.unwrap();
        if way == Way::Http(Era::Modern) {
            // The stream is a request of its own, which the server ends with a result.
            server.send_message(r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete"}}"#);
        } else {
            connected.client.close().await;
        }
        assert_eq!(changes.next().await, None, "{way:?}");
        assert_eq!(again.next().await, None, "{way:?}");
    }
}

#[tokio::test]
async fn a_new_session_is_listened_to_anew_hst_34() {
    let server = server();
    let connected = connect(&server, Way::Http(Era::Legacy)).await;
    let mut old = connected.client.listen(Interest::Listing, Limits::default()).await.unwrap();
    connected.client.rediscover().await.unwrap();
    assert_eq!(old.next().await, None, "the old session's stream is over");
    let mut changes = connected.client.listen(Interest::Listing, Limits::default()).await.unwrap();
    server.notify_list_changed();
    assert_eq!(changes.next().await, Some(Change::SkillsChanged));
    assert_eq!(server.count("(stream)"), 2);
}
