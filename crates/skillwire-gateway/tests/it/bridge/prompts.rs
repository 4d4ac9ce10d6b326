//! Approved skills as prompts.

use serde_json::{Value, json};

use super::support::{Bridged, host, load, refunds, yes};

async fn approved() -> Bridged {
    let bridged = Bridged::over(host(&refunds()));
    bridged.settled(&["acme:refunds"]).await;
    bridged.modern(true).call_and_answer("load_skill", load(), yes()).await;
    let mut client = bridged.modern(false);
    loop {
        let prompts = client.request("prompts/list", json!({})).await["result"]["prompts"].clone();
        if prompts != json!([]) {
            assert_eq!(prompts[0]["name"], "acme:refunds");
            return bridged;
        }
    }
}

#[tokio::test]
async fn only_approved_skills_are_prompts_and_a_new_approval_is_announced() {
    let bridged = Bridged::over(host(&refunds()));
    bridged.settled(&["acme:refunds"]).await;
    let mut client = bridged.legacy(true).await;
    let prompts = client.request("prompts/list", json!({})).await;
    assert_eq!(prompts["result"]["prompts"], json!([]));
    client.call_and_answer("load_skill", load(), yes()).await;
    client.hear("notifications/prompts/list_changed").await;
    let prompts = client.request("prompts/list", json!({})).await;
    assert_eq!(prompts["result"]["prompts"][0]["name"], "acme:refunds");
}

/// The one message of the prompt with these arguments.
async fn message(bridged: &Bridged, arguments: Value) -> String {
    let params = json!({ "name": "acme:refunds", "arguments": arguments });
    let result = bridged.modern(false).request("prompts/get", params).await["result"].clone();
    let messages = result["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1, "some clients use the first message only: {result}");
    assert_eq!(messages[0]["role"], "user");
    assert_eq!(messages[0]["content"]["type"], "text", "some clients drop resources: {result}");
    messages[0]["content"]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn one_message_has_the_text_of_the_skill_under_its_banner_hst_69_cl_03() {
    let bridged = approved().await;
    let text = message(&bridged, json!({})).await;
    assert!(text.starts_with("Use the skill acme:refunds."), "{text}");
    assert!(text.contains("<mcp_skill") && text.contains("Origin: MCP server acme"), "{text}");
    let text = message(&bridged, json!({ "file": "references/x.md" })).await;
    assert!(text.contains("<mcp_skill_file") && text.contains("details"), "{text}");
}

#[tokio::test]
async fn words_after_the_command_are_the_request_in_every_client_cl_03() {
    let bridged = approved().await;
    let prompts = bridged.modern(false).request("prompts/list", json!({})).await;
    let arguments = prompts["result"]["prompts"][0]["arguments"].clone();
    assert_eq!(arguments.as_array().map(Vec::len), Some(1), "{arguments}");
    assert_eq!(
        (&arguments[0]["name"], &arguments[0]["required"]),
        (&json!("request"), &json!(false))
    );
    let whole = message(&bridged, json!({ "request": "refund order 5" })).await;
    assert!(whole.ends_with("\nThe user's request: refund order 5"), "{whole}");
    // Clients that divide words among the arguments they know from earlier versions.
    let divided = message(&bridged, json!({ "request": "refund", "file": "order" })).await;
    assert!(divided.ends_with("\nThe user's request: refund order"), "{divided}");
    let as_file = message(&bridged, json!({ "file": "/etc/passwd" })).await;
    assert!(as_file.ends_with("\nThe user's request: /etc/passwd"), "{as_file}");
    // A client that fills in the words itself sends a placeholder.
    let placeholder = message(&bridged, json!({ "request": "$1", "file": "$2" })).await;
    assert!(!placeholder.contains("The user's request"), "{placeholder}");
}

#[tokio::test]
async fn files_of_a_skill_are_completed() {
    let bridged = approved().await;
    let mut client = bridged.modern(false);
    let params = json!({
        "ref": { "type": "ref/prompt", "name": "acme:refunds" },
        "argument": { "name": "file", "value": "ref" },
    });
    let result = client.request("completion/complete", params).await["result"].clone();
    assert_eq!(result["completion"]["values"], json!(["references/x.md"]));
}
