//! What a server has to declare before the client sends a request: HST-01 to HST-03, H-01 to H-04.

use serde_json::{Value, json};
use skillwire_client::ClientError;
use skillwire_protocol::SKILLS_EXTENSION;
use skillwire_testkit::{Fault, HostileServer};

use super::{Way, connect};

const DIRECTORY: &str = "resources/directory/read";

fn server() -> HostileServer {
    HostileServer::new().skill("refunds", [("references/x.md", "Details.")])
}

#[tokio::test]
async fn nothing_is_asked_of_a_server_that_declares_nothing_hst_01_h_01() {
    for way in Way::ALL {
        let server = server().fault(Fault::Undeclared);
        let connected = connect(&server, way).await;
        assert_eq!(connected.client.server().skills, None);
        for method in ["skills/list", "skills/get", DIRECTORY] {
            let refused = connected.ask(method, json!({ "uri": "skill://refunds" })).await;
            assert_eq!(refused, Err(ClientError::NotOffered(method.to_owned())), "{way:?}");
        }
        let listed = connected.ask("resources/list", json!({})).await.unwrap();
        assert_eq!(listed["resources"][0]["uri"], "skill://refunds/SKILL.md", "a plain resource");
        let asked = server.methods();
        assert!(!asked.iter().any(|method| method.starts_with("skills/") || method == DIRECTORY));
    }
}

#[tokio::test]
async fn only_an_object_is_a_declaration_hst_03_h_02() {
    for way in Way::ALL {
        for (value, counts) in [
            (json!({}), true),
            (json!([]), true),
            (json!(true), false),
            (json!("yes"), false),
            (json!(null), false),
            (json!([{}]), false),
        ] {
            let server = server().fault(Fault::Declared(value.clone()));
            let connected = connect(&server, way).await;
            assert_eq!(connected.client.server().skills.is_some(), counts, "{way:?} {value}");
            let odd = value != json!({});
            assert_eq!(!connected.client.server().oddities.is_empty(), odd, "{way:?} {value}");
            let listed = connected.ask("skills/list", json!({})).await;
            assert_eq!(listed.is_ok(), counts, "{way:?} {value}");
        }
        let capabilities = json!({ "experimental": { SKILLS_EXTENSION: {} } });
        let server = server().fault(Fault::Capabilities(capabilities));
        assert_eq!(connect(&server, way).await.client.server().skills, None);
    }
}

#[tokio::test]
async fn directories_are_read_only_when_that_is_true_hst_02_h_03() {
    let values: [Option<Value>; 7] = [
        None,
        Some(json!(false)),
        Some(json!("true")),
        Some(json!(1)),
        Some(json!({})),
        Some(json!(null)),
        Some(json!([true])),
    ];
    for way in Way::ALL {
        for value in &values {
            let server = server();
            if let Some(value) = value {
                server.set_fault(Fault::DirectoryRead(value.clone()));
            }
            let connected = connect(&server, way).await;
            let read = connected.ask(DIRECTORY, json!({ "uri": "skill://refunds" })).await;
            assert_eq!(read, Err(ClientError::NotOffered(DIRECTORY.to_owned())), "{value:?}");
            assert_eq!(server.count(DIRECTORY), 0);
        }
        let server = server().fault(Fault::DirectoryRead(json!(true)));
        let connected = connect(&server, way).await;
        let read = connected.ask(DIRECTORY, json!({ "uri": "skill://refunds" })).await.unwrap();
        assert_eq!(read["resources"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn the_latest_declaration_governs_new_requests_h_04() {
    let server = server();
    let connected = connect(&server, Way::ALL[0]).await;
    connected.ask("skills/list", json!({})).await.unwrap();
    server.set_fault(Fault::Undeclared);
    connected.ask("skills/list", json!({})).await.expect("nothing new was heard yet");
    assert_eq!(connected.client.rediscover().await.unwrap().skills, None);
    let refused = connected.ask("skills/list", json!({})).await;
    assert!(matches!(refused, Err(ClientError::NotOffered(_))));
    server.clear_faults();
    connected.client.rediscover().await.unwrap();
    connected.ask("skills/list", json!({})).await.unwrap();
}

#[tokio::test]
async fn a_description_of_wrong_types_is_no_description_hst_03() {
    for fault in [
        Fault::Capabilities(json!([])),
        Fault::Capabilities(json!("all")),
        Fault::Instructions(json!(["read this"])),
        Fault::member("server/discover", "supportedVersions", json!("2026-07-28")),
        Fault::WithoutMember {
            method: "server/discover".to_owned(),
            name: "capabilities".to_owned(),
        },
    ] {
        let server = server().fault(fault.clone());
        let way = Way::ALL[0];
        let failed = super::try_connect(&server, way, way.options()).await.map(|_| ());
        assert!(matches!(failed, Err(ClientError::Protocol(_))), "{fault:?}: {failed:?}");
    }
}
