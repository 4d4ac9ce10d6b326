//! Skills of servers of older dialects, passed on in the form of the released extension.

use serde_json::{Value, json};
use skillwire_client::WebOrigin;
use skillwire_core::{Digest, skill_file};
use skillwire_testkit::{
    HostileServer, OlderDialect, WebSite, archives::TarMember, archives::gzip, archives::refunds,
    archives::tar,
};

use super::support::{Gateway, Plan, label};

const ROOT: &str = "skill://acme/acme/billing/refunds";
const FLAT: &str = "skill://acme/refunds";

async fn gateway(server: &HostileServer) -> Gateway {
    Plan { legacy: true, ..Plan::default() }.start(&[("acme", server)]).await
}

/// The files that the gateway read from a server, by any method of any dialect.
fn reads(server: &HostileServer) -> Vec<String> {
    let reads = ["resources/read", "skills/get", "skills/read", "skills/read_reference"];
    let log = server.log().into_iter();
    let log = log.filter(|logged| reads.contains(&logged.method.as_str()));
    let asked = log.map(|logged| match (&logged.params["uri"], &logged.params["reference"]) {
        (Value::String(uri), _) => uri.clone(),
        (_, Value::String(reference)) => reference.clone(),
        _ => logged.method,
    });
    asked.filter(|uri| uri != "skill://index.json" && uri != "skill://index").collect()
}

/// Returns the only entry, after checking that it agrees with its `SKILL.md` as the extension
/// demands.
async fn one_honest_entry(gateway: &Gateway) -> Value {
    let [entry]: [Value; 1] = gateway.server.skills().await.try_into().unwrap();
    let uri = entry["uri"].as_str().unwrap();
    let text = gateway.text(uri).await;
    let parsed = skill_file::check(text.as_bytes()).0.unwrap_or_else(|| panic!("{uri}: {text}"));
    assert_eq!(json!(parsed.frontmatter), entry["frontmatter"], "{uri}");
    assert_eq!(gateway.get(uri).await.result()["skill"], entry);
    if let Some(files) = entry["resources"].as_array() {
        let skill_md = files.iter().find(|file| file["uri"] == uri).unwrap();
        assert_eq!(skill_md["digest"], Digest::of(text.as_bytes()).to_string());
    }
    entry
}

/// The reads that listing a dialect costs, and whether its manifest is complete.
const COSTS: [(OlderDialect, &str, &[&str], bool); 14] = [
    (OlderDialect::Draft, ROOT, &[], false),
    (OlderDialect::Index, ROOT, &[], false),
    (OlderDialect::IndexOfFiles, ROOT, &[], false),
    (OlderDialect::IndexOfArchives, ROOT, &[], false),
    (OlderDialect::EarlyIndex, ROOT, &["skill://acme/billing/refunds/SKILL.md"], false),
    (
        OlderDialect::EarlyIndexWithoutDigests,
        ROOT,
        &["skill://acme/billing/refunds/SKILL.md"],
        false,
    ),
    (OlderDialect::EarlyIndexOfArchives, ROOT, &["skill://acme/billing/refunds.tar.gz"], true),
    (OlderDialect::ScopedList, ROOT, &["skill://acme/billing/refunds/SKILL.md"], false),
    (OlderDialect::Sep2076, FLAT, &["skills/get", "skills/get"], false),
    (OlderDialect::SkillsPage, FLAT, &["skills/read"], false),
    (OlderDialect::FastMcp, FLAT, &["skill://refunds/_manifest", "skill://refunds/SKILL.md"], true),
    (OlderDialect::Skilljack, FLAT, &["skill://refunds"], false),
    (OlderDialect::SkillsOverMcp, FLAT, &["skill://refunds"], false),
    (OlderDialect::PlainResources, FLAT, &["skill://refunds/SKILL.md"], false),
];

#[tokio::test]
async fn gw_dialects_are_passed_on_as_released_and_nothing_is_read_ahead_of_a_request() {
    for (older, root, cost, whole) in COSTS {
        let server = HostileServer::with_dialect(older);
        let gateway = gateway(&server).await;
        assert_eq!(gateway.uris().await, [format!("{root}/SKILL.md")], "{older:?}");
        assert_eq!(reads(&server), cost, "{older:?} when listed");
        let entry = one_honest_entry(&gateway).await;
        let files = entry["resources"].as_array().map(Vec::len);
        assert_eq!(files, whole.then_some(refunds().len()), "{older:?}: {entry}");
        let others = |uri: &String| uri.ends_with("email.md") || uri.ends_with("calc.py");
        assert!(!reads(&server).iter().any(others), "{older:?}: nobody asked for other files");
        for (path, text) in &refunds()[1..] {
            assert_eq!(gateway.text(&format!("{root}/{path}")).await, *text, "{older:?} {path}");
        }
        assert_eq!(gateway.read(&format!("{root}/none.md")).await.code(), -32602, "{older:?}");
    }
}

#[tokio::test]
async fn gw_d10_a_guide_without_frontmatter_gets_the_listed_one() {
    let server = HostileServer::with_dialect(OlderDialect::Usage);
    let gateway = gateway(&server).await;
    let entry = one_honest_entry(&gateway).await;
    assert_eq!(
        (&entry["frontmatter"]["name"], &entry["resources"]),
        (&json!("folk-usage"), &json!("dynamic"))
    );
    let text = gateway.text(entry["uri"].as_str().unwrap()).await;
    assert!(text.ends_with("---\n\n# How to use the tools\n"), "{text}");
}

#[tokio::test]
async fn gw_d7_a_skill_without_frontmatter_gets_the_listed_one_and_no_digests() {
    let server = HostileServer::with_dialect(OlderDialect::FastMcp);
    let text = "# Refunds\n";
    server.set_resource("skill://refunds/SKILL.md", text);
    let hash = Digest::of(text.as_bytes()).to_string();
    let files = json!([{ "path": "SKILL.md", "size": text.len(), "hash": hash }]);
    let manifest = json!({ "skill": "refunds", "files": files });
    server.set_resource("skill://refunds/_manifest", manifest.to_string());
    let gateway = gateway(&server).await;
    assert_eq!(one_honest_entry(&gateway).await["resources"], "dynamic");
}

#[tokio::test]
async fn gw_d11_a_web_origin_is_passed_on_with_what_its_index_promises() {
    let archive = gzip(&tar(&refunds().map(|(path, text)| TarMember::file(path, text))), 6);
    let place = "/.well-known/agent-skills/";
    let entry = json!({
        "name": "refunds", "type": "archive", "url": "refunds.tar.gz",
        "description": "Handle a customer refund by the book. Use when money goes back.",
        "digest": Digest::of(&archive).to_string(),
    });
    let site = WebSite::new()
        .file(
            &format!("{place}index.json"),
            "application/json",
            json!({ "skills": [entry] }).to_string(),
        )
        .file(&format!("{place}refunds.tar.gz"), "application/gzip", archive)
        .serve()
        .await;
    let web = WebOrigin::parse(site.url()).unwrap();
    let gateway = Plan::default().start_at(vec![(label("acme"), web)]).await;
    let entry = one_honest_entry(&gateway).await;
    assert_eq!(entry["resources"].as_array().unwrap().len(), refunds().len());
    let (path, text) = refunds()[1];
    assert_eq!(gateway.text(&format!("{FLAT}/{path}")).await, text);
    let archives = site.requests().into_iter().filter(|path| path.ends_with(".tar.gz")).count();
    assert_eq!(archives, 1, "one download is enough for all of it");
}

#[tokio::test]
async fn gw_d11_files_without_digests_are_dynamic_and_read_one_by_one() {
    let place = "/.well-known/skills/";
    let entry = json!({
        "name": "refunds", "files": refunds().map(|(path, _)| path),
        "description": "Handle a customer refund by the book. Use when money goes back.",
    });
    let site = WebSite::new().file(
        &format!("{place}index.json"),
        "application/json",
        json!({ "skills": [entry] }).to_string(),
    );
    let site = refunds().into_iter().fold(site, |site, (path, text)| {
        site.file(&format!("{place}refunds/{path}"), "text/plain", text)
    });
    let site = site.serve().await;
    let web = WebOrigin::parse(site.url()).unwrap();
    let gateway = Plan::default().start_at(vec![(label("acme"), web)]).await;
    assert_eq!(one_honest_entry(&gateway).await["resources"], "dynamic");
    let asked = |file: &str| site.requests().iter().filter(|path| path.ends_with(file)).count();
    assert_eq!((asked("email.md"), asked("calc.py")), (0, 0));
    assert_eq!(gateway.text(&format!("{FLAT}/examples/email.md")).await, refunds()[1].1);
    assert_eq!((asked("email.md"), asked("calc.py")), (1, 0));
}
