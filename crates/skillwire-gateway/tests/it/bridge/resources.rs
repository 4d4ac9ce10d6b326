//! The tool `read_resource`.

use serde_json::json;
use skillwire_host::Host;
use skillwire_testkit::HostileServer;

use super::support::{Bridged, done, endpoint, host, label, load, refunds, refused, yes};

/// A server with a skill, and a resource that belongs to none.
fn notes() -> HostileServer {
    let server = HostileServer::new().skill("notes", [("today.md", "read the mail")]);
    server.resource(URI, "buy milk")
}

const URI: &str = "docs://notes/today.md";

#[tokio::test]
async fn a_model_reads_ordinary_resources_of_servers_p_05() {
    let host = host(&refunds());
    host.add_server(label("notes"), endpoint(&notes()));
    let bridged = Bridged::over(host);
    bridged.settled(&["acme:refunds", "notes:notes"]).await;
    let mut client = bridged.legacy(false).await;
    let read = client.call("read_resource", json!({ "server": "notes", "uri": URI })).await;
    let text = done(&read);
    assert!(text.starts_with("<mcp_resource ") && text.contains("buy milk"), "{text}");
    assert!(text.contains("no skill was loaded"), "{text}");
    let file = json!({ "server": "notes", "uri": "skill://notes/today.md" });
    assert_eq!(refused(&client.call("read_resource", file).await), "not_approved");
    let unknown = client.call("read_resource", json!({ "server": "unknown", "uri": URI })).await;
    assert_eq!(refused(&unknown), "server_unknown");
    let missing = client.call("read_resource", json!({ "server": "notes" })).await;
    assert_eq!(refused(&missing), "tool_input_invalid");
}

#[tokio::test]
async fn while_a_skill_of_another_origin_is_loaded_each_read_needs_a_yes_p_05_hst_76() {
    let server = notes();
    let host = host(&refunds());
    host.add_server(label("notes"), endpoint(&server));
    let bridged = Bridged::over(host);
    bridged.settled(&["acme:refunds", "notes:notes"]).await;
    let mut client = bridged.legacy(true).await;
    client.call_and_answer("load_skill", load(), yes()).await;
    // What is refused whatever the user answers is not asked about.
    let file = json!({ "server": "notes", "uri": "skill://notes/today.md" });
    assert_eq!(refused(&client.call("read_resource", file).await), "not_approved");
    let arguments = json!({ "server": "notes", "uri": URI });
    for (answer, code) in [
        (json!({ "action": "decline" }), "user_declined"),
        (json!({ "action": "accept", "content": { "read": false } }), "not_granted"),
    ] {
        let (form, result) =
            client.call_and_answer("read_resource", arguments.clone(), answer).await;
        let message = form["message"].as_str().unwrap();
        assert!(message.contains("`notes`") && message.contains("acme:"), "{message}");
        assert_eq!(refused(&result), code);
    }
    assert_eq!(server.count("resources/read"), 0);
    let agreed = json!({ "action": "accept", "content": { "read": true } });
    let (_, result) = client.call_and_answer("read_resource", arguments, agreed).await;
    assert!(done(&result).contains("buy milk"), "{result}");
}

#[tokio::test]
async fn without_servers_there_is_no_tool_to_read_their_resources_p_05() {
    let bridged = Bridged::over(Host::builder().build());
    let tools = bridged.modern(false).request("tools/list", json!({})).await;
    assert!(!tools.to_string().contains("read_resource"), "{tools}");
}
