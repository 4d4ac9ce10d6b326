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

#[tokio::test]
async fn the_text_of_a_prompt_is_a_resource_under_its_banner_hst_69() {
    let bridged = approved().await;
    let mut client = bridged.modern(false);
    let params = json!({ "name": "acme:refunds", "arguments": { "file": "references/x.md" } });
    let result = client.request("prompts/get", params).await["result"].clone();
    let messages = result["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 3);
    let words = messages[0]["content"]["text"].as_str().unwrap();
    assert!(words.starts_with("Use the skill acme:refunds"), "{words}");
    let text = |message: &Value| {
        assert_eq!(message["content"]["type"], "resource");
        message["content"]["resource"]["text"].as_str().unwrap().to_owned()
    };
    assert!(text(&messages[1]).contains("<mcp_skill"), "{result}");
    assert!(text(&messages[1]).contains("Origin: MCP server acme"), "{result}");
    assert!(text(&messages[2]).contains("details"));
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
