//! Skills that a server mentions without listing them: in its instructions, or through tools.

use serde_json::{Value, json};
use skillwire_dialects::Dialect;
use skillwire_testkit::{Fault, HostileServer, ScriptedReply};
use skillwire_trust::{Reason, Remedy};

use super::legacy_host;
use crate::support::{host, label};

fn with_tools(capabilities: Value, names: &'static [&'static str]) -> HostileServer {
    HostileServer::new().fault(Fault::Capabilities(capabilities)).on(
        "tools/list",
        move |asked, _| {
            // One tool on each page.
            let at = asked.params["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
            let next = (at + 1 < names.len()).then(|| (at + 1).to_string());
            let tools = names.get(at).map(|name| json!({ "name": name, "inputSchema": {} }));
            ScriptedReply::Result(json!({
                "tools": tools.into_iter().collect::<Vec<_>>(), "nextCursor": next,
            }))
        },
    )
}

#[tokio::test]
async fn tools_that_hand_out_skills_are_mentioned_and_make_no_skill_lad_06() {
    let server = with_tools(json!({ "tools": {} }), &["weather", "read_skill", "list_skills"]);
    let refusal = host(&server).list(&label("acme")).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::SkillsNotOffered);
    let hint = refusal.hint.unwrap();
    assert!(hint.starts_with("Its tools `list_skills`, `read_skill` seem"), "{hint}");
    assert_eq!(server.count("tools/call"), 0);
    // With resources, the refusal names both alternatives.
    let server = with_tools(json!({ "tools": {}, "resources": {} }), &["load_skill"]);
    let refusal = host(&server).list(&label("acme")).await.unwrap_err();
    assert_eq!(refusal.remedy.as_deref(), Some(&Remedy::SearchResources(label("acme"))));
    assert!(refusal.hint.as_ref().unwrap().contains("`load_skill`"), "{refusal:?}");
    // A search through resources that finds nothing mentions the tools too.
    let listing = legacy_host(&server).list(&label("acme")).await.unwrap();
    assert_eq!(listing.skills.len(), 0);
    assert!(listing.warnings.iter().any(|warning| warning.contains("`load_skill`")));
}

#[tokio::test]
async fn tools_are_looked_at_only_where_declared_and_nothing_else_was_found_lad_06() {
    let server = with_tools(json!({}), &["read_skill"]);
    let refusal = host(&server).list(&label("acme")).await.unwrap_err();
    assert_eq!((refusal.hint, refusal.remedy), (None, None));
    assert_eq!(server.count("tools/list"), 0);
    let server = with_tools(json!({ "tools": {} }), &["weather"]);
    let refusal = host(&server).list(&label("acme")).await.unwrap_err();
    assert_eq!((refusal.hint, refusal.remedy), (None, None));
    let endless: &[&str] = &["a", "b", "c", "d", "e", "f", "g", "read_skill"];
    let server = with_tools(json!({ "tools": {} }), endless);
    let refusal = host(&server).list(&label("acme")).await.unwrap_err();
    assert_eq!((refusal.hint, refusal.remedy), (None, None));
    assert_eq!(server.count("tools/list"), 5, "no further than some pages");
    let none: [(&str, &str); 0] = [];
    let released = HostileServer::new().skill("x", none);
    assert_eq!(host(&released).list(&label("acme")).await.unwrap().dialect, Some(Dialect::V1));
    assert_eq!(released.count("tools/list"), 0);
}

#[tokio::test]
async fn skills_in_instructions_are_references_and_nobody_asks_for_them_lad_05() {
    let none: [(&str, &str); 0] = [];
    let text = "Start with skill://x/SKILL.md, then skill://hidden/SKILL.md.";
    let server = HostileServer::new()
        .skill("x", none)
        .skill("hidden", none)
        .fault(Fault::Instructions(text.into()));
    let page = json!({ "skills": [server.entry("skill://x/SKILL.md")] });
    let server = server.on("skills/list", move |_, _| ScriptedReply::Result(page.clone()));
    let host = host(&server);
    let listing = host.list(&label("acme")).await.unwrap();
    let named: Vec<_> = listing.references.iter().map(ToString::to_string).collect();
    assert_eq!(named, ["skill://hidden/SKILL.md"]);
    assert_eq!((server.count("skills/get"), server.count("resources/read")), (0, 0));
    let found = host.discover().await;
    assert_eq!(found.references[0].to_string(), "acme:skill://hidden/SKILL.md");
    assert_eq!(found.registry.items().len(), 1);
}
