//! The tool that finds skills of a server.

use serde_json::{Value, json};
use skillwire_testkit::SkillFolder;

use crate::support::{StdioServer, TEST_TIMEOUT, skill_with};

fn skills() -> SkillFolder {
    let folder = SkillFolder::new();
    folder.file("refunds/SKILL.md", skill_with("refunds", ""));
    folder.file("billing/invoices/SKILL.md", skill_with("invoices", "tags: [refund, tax]\n"));
    folder.file("weather/SKILL.md", skill_with("weather", ""));
    folder
}

/// The URIs that a search returns, in order.
async fn found(server: &mut StdioServer, query: &str) -> Vec<String> {
    let call = json!({ "name": "find_skills", "arguments": { "query": query } });
    let answer = server.modern("tools/call", call).await;
    let content = answer.result()["content"].as_array().unwrap().clone();
    let links = content.iter().filter(|block| block["type"] == "resource_link");
    links.map(|link| link["uri"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn skills_are_found_by_name_and_tag_with_the_name_first() {
    let folder = skills();
    let mut server = StdioServer::serve(&folder, &[".", "--find-tool", "--unlisted=weather"]);
    let tools = server.modern("tools/list", Value::Null).await;
    assert_eq!(tools.result()["tools"][0]["name"], "find_skills");
    let expected = ["skill://refunds/SKILL.md", "skill://billing/invoices/SKILL.md"];
    assert_eq!(found(&mut server, "refund").await, expected);
    assert_eq!(found(&mut server, "invoices").await, expected[1..]);
    assert_eq!(found(&mut server, "nothing-of-the-kind").await, [""; 0]);
    // A search does not find a skill that is not listed.
    assert_eq!(found(&mut server, "weather").await, [""; 0]);
    for wrong in [json!({}), json!({ "query": 1 }), json!({ "query": "a", "more": 1 })] {
        let call = json!({ "name": "find_skills", "arguments": wrong });
        assert_eq!(server.modern("tools/call", call).await.code(), -32602, "{wrong}");
    }
}

#[tokio::test]
async fn headings_of_a_folder_are_found_and_follow_changes() {
    let folder = skills();
    let text = |heading: &str| format!("{}\n# {heading}\n", skill_with("weather", ""));
    folder.file("weather/SKILL.md", text("Barometers"));
    let mut server = StdioServer::serve(&folder, &[".", "--find-tool"]);
    let weather = ["skill://weather/SKILL.md"];
    assert_eq!(found(&mut server, "barometer").await, weather);
    folder.file("weather/SKILL.md", text("Thermometers"));
    let changed = async { while found(&mut server, "thermometer").await != weather {} };
    tokio::time::timeout(TEST_TIMEOUT, changed).await.expect("the change is noticed in time");
    assert_eq!(found(&mut server, "barometer").await, [""; 0]);
}

#[tokio::test]
async fn a_server_offers_no_search_unless_its_operator_wants_it() {
    let folder = skills();
    let mut server = StdioServer::serve(&folder, &["."]);
    let tools = server.modern("tools/list", Value::Null).await;
    assert_eq!(tools.result()["tools"], json!([]));
}
