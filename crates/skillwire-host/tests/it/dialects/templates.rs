//! Templates of skills, which a user fills in.

use serde_json::{Map, json};
use skillwire_host::{dialect::Dialect, refusal::Reason};
use skillwire_testkit::hostile::{Fault, HostileServer, Older, Reply};

use super::legacy_host;
use crate::support::{Shortcuts, host, label};

fn server() -> HostileServer {
    HostileServer::speaking(Older::Plain)
        .fault(Fault::Capabilities(json!({ "resources": {}, "completions": {} })))
        .resource("skill://docs/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads.\n---\n")
        .on("resources/templates/list", |_, _| {
            Reply::Result(json!({ "resourceTemplates": [
                { "uriTemplate": "skill://docs/{product}/SKILL.md", "name": "Products" },
                { "uriTemplate": "skill://docs/{+path}", "name": "Files" },
            ] }))
        })
        .on("completion/complete", |asked, _| {
            assert_eq!(asked.params["ref"]["uri"], "skill://docs/{product}/SKILL.md");
            Reply::Result(json!({ "completion": { "values": ["pdf"], "total": 1 } }))
        })
}

#[tokio::test]
async fn d12_a_filled_template_is_a_skill_that_the_user_named() {
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
    assert_eq!((listed.dialect(), listed.is_first_seen()), (Dialect::Template, true));
    assert!(host.window(&handle).await.is_ok());
}

#[tokio::test]
async fn d12_templates_are_never_walked_and_nothing_undeclared_is_asked() {
    let walked = server();
    legacy_host(&walked).list(&label("acme")).await.unwrap();
    assert_eq!(walked.count("completion/complete") + walked.count("resources/templates/list"), 0);
    let bare = server().fault(Fault::Capabilities(json!({ "resources": {} })));
    let host = host(&bare);
    let templates = host.templates(&label("acme")).await.unwrap();
    let values = host.complete(&label("acme"), &templates[0], "product", "", &Map::new()).await;
    assert_eq!(values.unwrap(), [""; 0]);
    assert_eq!(bare.count("completion/complete"), 0);
    // Without the user's word for this server, a URI that nothing lists is no skill.
    let refusal = host.named("acme:skill://docs/pdf/SKILL.md").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::SkillsNotOffered);
}
