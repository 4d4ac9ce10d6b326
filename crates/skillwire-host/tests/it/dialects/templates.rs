//! Templates of skills, which a user fills in.

use serde_json::{Map, json};
use skillwire_dialects::Dialect;
use skillwire_testkit::{Fault, HostileServer, OlderDialect, ScriptedReply};
use skillwire_trust::Reason;

use super::legacy_host;
use crate::support::{Shortcuts, host, label};

fn server() -> HostileServer {
    HostileServer::with_dialect(OlderDialect::PlainResources)
        .fault(Fault::Capabilities(json!({ "resources": {}, "completions": {} })))
        .resource("skill://docs/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads.\n---\n")
        // The skill that a template leads to is not listed.
        .on("resources/list", |_, _| ScriptedReply::Result(json!({ "resources": [] })))
        .on("resources/templates/list", |_, _| {
            ScriptedReply::Result(json!({ "resourceTemplates": [
                { "uriTemplate": "skill://docs/{product}/SKILL.md", "name": "Products" },
                { "uriTemplate": "skill://docs/{+path}", "name": "Files" },
            ] }))
        })
        .on("completion/complete", |asked, _| {
            assert_eq!(asked.params["ref"]["uri"], "skill://docs/{product}/SKILL.md");
            ScriptedReply::Result(json!({ "completion": { "values": ["pdf"], "total": 1 } }))
        })
}

#[tokio::test]
async fn a_filled_template_is_a_skill_that_the_user_named_d12() {
    let server = server();
    let host = legacy_host(&server);
    let templates = host.templates(&label("acme")).await.unwrap();
    let [template] = templates.as_slice() else { panic!("{templates:?}") };
    let values = host.complete(&label("acme"), template, "product", "p", &Map::new()).await;
    assert_eq!(values.unwrap(), ["pdf"]);
    let values = json!({ "product": "pdf" });
    let uri = template.fill(values.as_object().unwrap()).unwrap();
    let handle = format!("acme:{uri}");
    let listed = host.named(&handle).await.unwrap();
    assert_eq!((listed.dialect(), listed.integrity().is_first_seen()), (Dialect::Templates, true));
    assert!(host.window(&handle).await.is_ok());
}

#[tokio::test]
async fn templates_are_never_walked_and_nothing_undeclared_is_asked_d12() {
    let walked = server();
    legacy_host(&walked).list(&label("acme")).await.unwrap();
    assert_eq!(walked.count("completion/complete") + walked.count("resources/templates/list"), 0);
    let bare = server().fault(Fault::Capabilities(json!({ "resources": {} })));
    let host = host(&bare);
    let templates = host.templates(&label("acme")).await.unwrap();
    let values = host.complete(&label("acme"), &templates[0], "product", "", &Map::new()).await;
    assert_eq!(values.unwrap(), [""; 0]);
    assert_eq!(bare.count("completion/complete"), 0);
    // The user may name a skill that no listing mentions; it is read as the resource that it is.
    let named = host.named("acme:skill://docs/pdf/SKILL.md").await.unwrap();
    assert_eq!((named.dialect(), named.integrity().is_first_seen()), (Dialect::Templates, true));
    assert_eq!(bare.methods().iter().filter(|method| method.starts_with("skills/")).count(), 0);
    let refusal = host.named("acme:skill://docs/none/SKILL.md").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::SkillNotFound);
}

#[tokio::test]
async fn templates_of_every_page_and_of_the_index_are_offered_once_d12() {
    let template = |text: &str| json!({ "uriTemplate": text, "name": "x" });
    let pages = [template("skill://docs/{product}/SKILL.md"), template("skill://{+path}/SKILL.md")];
    let server = HostileServer::with_dialect(OlderDialect::EarlyIndex).on(
        "resources/templates/list",
        move |asked, _| match asked.params["cursor"].as_str() {
            None => {
                ScriptedReply::Result(json!({ "resourceTemplates": [pages[0]], "nextCursor": "2" }))
            }
            Some(_) => ScriptedReply::Result(json!({ "resourceTemplates": [pages[1]] })),
        },
    );
    let index = json!({ "skills": [
        { "type": "mcp-resource-template", "description": "x", "url": "skill://{+path}/SKILL.md" },
        { "type": "skill-md", "description": "x", "urlTemplate": "skill://old/{name}/SKILL.md" },
    ] });
    server.set_resource("skill://index.json", index.to_string());
    let host = host(&server);
    let templates = host.templates(&label("acme")).await.unwrap();
    let texts: Vec<_> = templates.iter().map(|template| template.template.as_str()).collect();
    let expected = [
        "skill://docs/{product}/SKILL.md",
        "skill://{+path}/SKILL.md",
        "skill://old/{name}/SKILL.md",
    ];
    assert_eq!(texts, expected);
    let listing = host.list(&label("acme")).await.unwrap();
    assert!(listing.warnings[0].contains("has 2 templates"), "{:?}", listing.warnings);
}
