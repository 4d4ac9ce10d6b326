//! Denied skills: every method answers as if they did not exist.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};
use skillwire_core::RelPath;
use skillwire_gateway::Admission;
use skillwire_testkit::{Fault, HostileServer, TestOptions};
use skillwire_trust::ListedSkill;

use super::support::{Gateway, Plan};

/// Denies skills and files of these names.
#[derive(Debug, Default)]
struct Deny {
    skills: Vec<&'static str>,
    files: Vec<&'static str>,
    lifted: AtomicBool,
}

impl Admission for Deny {
    fn admits(&self, skill: &ListedSkill) -> bool {
        self.lifted.load(Ordering::SeqCst) || !self.skills.contains(&skill.name().as_str())
    }

    fn admits_file(&self, _skill: &ListedSkill, path: &RelPath) -> bool {
        !self.files.contains(&path.as_str())
    }
}

fn server() -> HostileServer {
    HostileServer::new()
        .skill("outer", [("x", "x")])
        .skill("open", [("y", "y"), ("secret.txt", "s")])
        .skill("denied", [("x", "x")])
        .dynamic_skill("live", [("x", "x"), ("secret.txt", "s")])
}

async fn denying(server: &HostileServer, deny: Deny) -> (Gateway, Arc<Deny>) {
    let deny = Arc::new(deny);
    let plan = Plan { admission: Arc::clone(&deny) as Arc<dyn Admission>, ..Plan::default() };
    (plan.start(&[("acme", server)]).await, deny)
}

/// The answers that a client gets about a skill, with its name replaced so that they can be
/// compared.
async fn probed(gateway: &Gateway, name: &str) -> Vec<String> {
    let mut replies = Vec::new();
    for (method, path) in [
        ("skills/get", "/SKILL.md"),
        ("resources/read", "/SKILL.md"),
        ("resources/read", "/x"),
        ("resources/directory/read", ""),
        ("resources/read", ""),
    ] {
        let uri = format!("skill://acme/{name}{path}");
        let reply = gateway.server.modern(method, json!({ "uri": uri })).await;
        assert!(reply.code() != 0, "{reply:?}");
        replies.push(reply.0.to_string().replace(name, "NAME"));
    }
    let session = gateway.server.initialize("2025-11-25").await.0;
    let subscribe = json!({ "uri": format!("skill://acme/{name}/SKILL.md") });
    let reply = gateway.server.legacy(&session, "resources/subscribe", subscribe).await.message();
    replies.push(reply.0.to_string().replace(name, "NAME"));
    replies
}

#[tokio::test]
async fn a_denied_skill_is_not_there_for_any_method_gw_16_g_08() {
    let server = server();
    let (gateway, deny) =
        denying(&server, Deny { skills: vec!["denied"], ..Deny::default() }).await;
    let uris = gateway.uris().await;
    assert!(!uris.iter().any(|uri| uri.contains("denied")), "{uris:?}");
    let listed = gateway.server.call("resources/list", json!({})).await.to_string();
    let above = json!({ "uri": "skill://acme" });
    let above = gateway.server.call("resources/directory/read", above).await.to_string();
    assert!(!listed.contains("denied") && !above.contains("denied"));
    assert_eq!(probed(&gateway, "denied").await, probed(&gateway, "absent").await);
    // The gateway fetched nothing to answer these requests.
    assert_eq!(server.count("resources/read"), 0);
    // Once the skill is admitted, clients can list and read it.
    deny.lifted.store(true, Ordering::SeqCst);
    gateway.upstreams.reconsider();
    gateway.until_listed(|skills| skills.len() == uris.len() + 1).await;
    assert_eq!(gateway.text("skill://acme/denied/x").await, "x");
}

#[tokio::test]
async fn an_unlisted_skill_is_denied_alike_gw_16() {
    let server = server().fault(Fault::Unlisted("skill://denied/SKILL.md".to_owned()));
    let (gateway, _) = denying(&server, Deny { skills: vec!["denied"], ..Deny::default() }).await;
    assert_eq!(probed(&gateway, "denied").await, probed(&gateway, "absent").await);
}

#[tokio::test]
async fn a_denied_skill_inside_another_denies_that_one_as_well_gw_17_g_07() {
    let inner = "---\nname: inner\ndescription: Inside.\n---\n";
    let server = HostileServer::new()
        .skill("outer", [("inner/SKILL.md", inner), ("x", "x")])
        .skill("outer/inner", [("SKILL.md", inner)])
        .skill("outer-two", [("x", "x")]);
    let (gateway, _) = denying(&server, Deny { skills: vec!["inner"], ..Deny::default() }).await;
    assert_eq!(gateway.uris().await, ["skill://acme/outer-two/SKILL.md"]);
    for uri in ["skill://acme/outer/x", "skill://acme/outer/inner/SKILL.md"] {
        assert_eq!(gateway.read(uri).await.code(), -32602, "{uri}");
    }
    // Denying the outer skill does not deny the inner one.
    let (gateway, _) = denying(&server, Deny { skills: vec!["outer"], ..Deny::default() }).await;
    let uris = ["skill://acme/outer-two/SKILL.md", "skill://acme/outer/inner/SKILL.md"];
    assert_eq!(gateway.uris().await, uris);
}

#[tokio::test]
async fn a_denied_file_denies_its_skill_gw_17_g_07() {
    let server = server();
    let (gateway, _) =
        denying(&server, Deny { files: vec!["secret.txt"], ..Deny::default() }).await;
    let uris = gateway.uris().await;
    assert!(!uris.iter().any(|uri| uri.contains("open")), "{uris:?}");
    assert_eq!(gateway.read("skill://acme/open/y").await.code(), -32602);
    // A skill without a manifest loses only the denied file, since no manifest names it.
    assert_eq!(gateway.text("skill://acme/live/x").await, "x");
    assert_eq!(gateway.read("skill://acme/live/secret.txt").await.code(), -32602);
}

#[tokio::test]
async fn a_token_that_may_not_see_a_skill_does_not_have_it_asked_for_gw_16() {
    const ALICE: &str = "alice-token-0123456789";
    let server = server().fault(Fault::Unlisted("skill://denied/SKILL.md".to_owned()));
    let options = TestOptions {
        tokens: Some(format!("alice {ALICE} acme/open\n")),
        ..TestOptions::default()
    };
    let plan = Plan { server: options, ..Plan::default() };
    let gateway = plan.start(&[("acme", &server)]).await;
    let bearer = format!("Bearer {ALICE}");
    let headers = [("Authorization", bearer.as_str())];
    let ask = async |method: &str, uri: &str| -> Value {
        gateway.server.modern_with(&headers, method, json!({ "uri": uri })).await.message().0
    };
    assert!(ask("skills/get", "skill://acme/open/SKILL.md").await["result"].is_object());
    assert_eq!(ask("skills/get", "skill://acme/denied/SKILL.md").await["error"]["code"], -32602);
    // The same holds for a URI of the server's own.
    assert_eq!(ask("skills/get", "skill://outer/SKILL.md").await["error"]["code"], -32602);
    assert_eq!(server.count("skills/get"), 0);
}
