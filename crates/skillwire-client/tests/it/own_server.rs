//! The client against this project's own server.

use serde_json::{Value, json};
use skillwire_client::{Change, Client, ClientError, ClientOptions, Endpoint, Interest, Limits};
use skillwire_protocol::Era;
use skillwire_server::stdio;
use skillwire_testkit::{SkillFolder, TestServer};

use super::{Connected, Way, at};

async fn connect(server: &TestServer, way: Way) -> Connected {
    let endpoint = match way {
        Way::Pipe(_) => {
            let (output, server_input) = tokio::io::duplex(64 * 1024);
            let (server_output, input) = tokio::io::duplex(64 * 1024);
            tokio::spawn(stdio::run(server.engine(), server_input, server_output));
            Endpoint::Pipes { input: Box::new(input), output: Box::new(output) }
        }
        Way::Http(_) => at(format!("http://{}/mcp", server.address), &[]),
    };
    let client =
        Client::connect(endpoint, way.options()).await.expect("our server can be spoken to");
    Connected { client, _listening: None }
}

#[tokio::test]
async fn every_method_is_answered_by_our_own_server_in_every_way_hst_05() {
    let folder = SkillFolder::with_skills(&["acme/refunds"]);
    folder.file("acme/refunds/references/ü x.md", "Details.");
    let server = TestServer::start(folder.path()).await;
    for way in Way::ALL {
        let connected = connect(&server, way).await;
        let described = connected.client.server();
        assert_eq!(described.era, way.era());
        assert!(described.skills.is_some_and(|offer| offer.directory_read), "{described:?}");
        assert_eq!(described.oddities, Vec::<String>::new());
        let listed = connected.ask("skills/list", json!({})).await.unwrap();
        let uri = &listed["skills"][0]["uri"];
        let got = connected.ask("skills/get", json!({ "uri": uri })).await.unwrap();
        assert_eq!(got["skill"], listed["skills"][0], "{way:?}");
        for file in got["skill"]["resources"].as_array().unwrap() {
            let read = connected.ask("resources/read", json!({ "uri": file["uri"] })).await;
            let text = read.unwrap()["contents"][0]["text"].clone();
            assert_eq!(text.as_str().map(str::len).map(Value::from).as_ref(), file.get("size"));
        }
        let missing =
            connected.ask("resources/read", json!({ "uri": "skill://no/SKILL.md" })).await;
        assert!(missing.as_ref().is_err_and(ClientError::is_not_found), "{way:?} {missing:?}");
        let unknown = connected.ask("no/such", json!({})).await;
        assert!(matches!(unknown, Err(ClientError::Rpc { code: -32601, .. })), "{unknown:?}");
    }
}

#[tokio::test]
async fn changes_of_our_own_server_are_heard_in_every_way_hst_34() {
    for way in Way::ALL {
        let folder = SkillFolder::with_skills(&["a"]);
        let mut server = TestServer::start(folder.path()).await;
        let connected = connect(&server, way).await;
        let uri = "skill://a/SKILL.md";
        let mut changes =
            connected.client.listen(Interest::ListingAnd(&[uri]), Limits::default()).await.unwrap();
        folder.file("a/more.md", "More.");
        server.refresh();
        assert_eq!(changes.next().await, Some(Change::SkillsChanged), "{way:?}");
        assert_eq!(changes.next().await, Some(Change::Updated(uri.to_owned())), "{way:?}");
        connected.client.close().await;
    }
}

#[tokio::test]
async fn our_own_server_is_found_to_be_modern_hst_05() {
    let folder = SkillFolder::with_skills(&["a"]);
    let server = TestServer::start(folder.path()).await;
    let endpoint = at(format!("http://{}/mcp", server.address), &[]);
    let client = Client::connect(endpoint, ClientOptions::default()).await.unwrap();
    assert_eq!(client.server().era, Era::Modern);
}
