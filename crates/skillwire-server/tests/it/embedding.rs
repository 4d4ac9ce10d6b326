//! Skills that a program of its own serves.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{Router, routing::get};
use serde_json::{Value, json};
use skillwire_catalog::ViewId;
use skillwire_core::Code;
use skillwire_server::{
    BuildError, Skills, embed_skills,
    http::HttpOptions,
    live::{Notice, Subject},
};
use skillwire_source::{GeneratedFiles, ScanRequest};
use skillwire_testkit::{
    HttpConnection, HttpReply, SkillFolder, StdioClient, modern_headers, modern_request, skill_md,
};
use tokio::net::TcpListener;

use crate::{
    peers::soon,
    support::{content, digest, keys, manifest},
};

const REFUNDS: &str = "skill://acme/billing/refunds/SKILL.md";

/// All notices, in order.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<Notice>>>);

impl Heard {
    fn listener(&self) -> impl Fn(&Notice) + Send + Sync + 'static {
        let heard = Arc::clone(&self.0);
        move |notice| heard.lock().expect("nobody panicked").push(notice.clone())
    }

    /// Returns the codes of the findings for which skills are left out.
    fn skipped(&self) -> Vec<Code> {
        let heard = self.0.lock().expect("nobody panicked");
        heard
            .iter()
            .filter_map(|notice| match &notice.subject {
                Subject::Skipped { finding, .. } if !notice.over => Some(finding.code),
                _ => None,
            })
            .collect()
    }
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
    let address = listener.local_addr().expect("a listener has an address");
    (listener, address)
}

/// Serves over HTTP until the test ends.
async fn serve(skills: &Skills) -> SocketAddr {
    let (listener, address) = listener().await;
    let skills = skills.clone();
    tokio::spawn(async move { skills.serve_http(listener, std::future::pending()).await });
    address
}

/// Sends a modern request to an endpoint at any path.
async fn send(
    address: SocketAddr,
    path: &str,
    extra: &[(&str, &str)],
    method: &str,
    params: Value,
) -> HttpConnection {
    let uri = params["uri"].as_str().map(str::to_owned);
    let body = modern_request(1, method, params).to_string();
    let mut headers = modern_headers(method);
    headers.extend(uri.as_deref().map(|uri| ("Mcp-Name", uri)));
    headers.extend_from_slice(extra);
    let mut connection = HttpConnection::open(address).await;
    connection.send("POST", path, &headers, body.as_bytes()).await;
    connection
}

async fn reply(address: SocketAddr, path: &str, method: &str, params: Value) -> HttpReply {
    send(address, path, &[], method, params).await.reply().await
}

async fn call(address: SocketAddr, method: &str, params: Value) -> Value {
    reply(address, "/mcp", method, params).await.message().result().clone()
}

/// Returns all listed entries.
fn entries(skills: &Skills) -> Vec<Value> {
    let snapshot = skills.engine().catalog().now(ViewId::EVERYTHING).expect("a snapshot");
    let page = snapshot.skills_page(None, 1_000);
    page.items.iter().map(|entry| serde_json::from_str(entry).expect("JSON")).collect()
}

#[tokio::test]
async fn one_call_registers_a_folder_at_a_path_and_everything_follows_srv_111() {
    let folder = SkillFolder::with_skills(&["refunds"]);
    folder.file("refunds/references/policy.md", "# Policy\n");
    let skills = Skills::builder()
        .skill("acme/billing/refunds", folder.join("refunds"))
        .build()
        .expect("the folder is there");
    let address = serve(&skills).await;
    let entry = call(address, "skills/get", json!({ "uri": REFUNDS })).await["skill"].clone();
    let listed = call(address, "skills/list", json!({})).await;
    assert_eq!(listed["skills"], json!([entry]));
    assert_eq!(entry["frontmatter"]["name"], "refunds");
    let files = manifest(&entry);
    let policy = "skill://acme/billing/refunds/references/policy.md";
    assert_eq!(files[policy], (digest(b"# Policy\n"), 9));
    assert_eq!(files[REFUNDS].0, digest(skill_md("refunds").as_bytes()));
    let read = call(address, "resources/read", json!({ "uri": policy })).await;
    assert_eq!(content(&read), b"# Policy\n");
    let root = json!({ "uri": "skill://acme/billing/refunds" });
    let children = call(address, "resources/directory/read", root).await;
    assert_eq!(children["resources"].as_array().map(Vec::len), Some(2));
    let resources = call(address, "resources/list", json!({})).await;
    assert_eq!(resources["resources"][0]["uri"], REFUNDS);
    // The same over pipes.
    let mut pipes = StdioClient::in_process(Arc::clone(skills.engine()));
    let listed = pipes.modern(1, "skills/list", json!({})).await;
    assert_eq!(listed.result()["skills"], json!([entry]));
}

#[test]
fn a_skill_beyond_the_limits_is_told_of_and_its_neighbours_are_served_srv_112() {
    let folder = SkillFolder::with_skills(&["large", "small"]);
    for index in 0..512 {
        folder.file(&format!("large/{index}.txt"), "x");
    }
    let heard = Heard::default();
    let builder = Skills::builder().folder(folder.path()).on_notice(heard.listener());
    let skills = builder.build().unwrap();
    assert_eq!(heard.skipped(), [Code::TooManyFiles]);
    assert_eq!(skills.count(), 1);
    folder.remove("large/0.txt");
    skills.refresh(&ScanRequest::everything());
    assert_eq!(skills.count(), 2);
    let last = heard.0.lock().unwrap().iter().rfind(|notice| notice.over).cloned();
    assert!(last.unwrap().to_string().starts_with("resolved: skipped "));
}

#[test]
fn a_skill_is_served_at_the_path_that_was_named_or_not_at_all_srv_111() {
    let folder = SkillFolder::with_skills(&["refunds", "refunds/nested", "other"]);
    let served = |path: &str, folder: std::path::PathBuf| {
        let heard = Heard::default();
        let builder = Skills::builder().skill(path, folder).on_notice(heard.listener());
        let skills = builder.build().unwrap();
        let uris = entries(&skills).iter().map(|entry| entry["uri"].to_string()).collect();
        (uris, heard.skipped())
    };
    let right: (Vec<_>, _) = served("acme/refunds", folder.join("refunds"));
    let uris = ["\"skill://acme/refunds/SKILL.md\"", "\"skill://acme/refunds/nested/SKILL.md\""];
    assert_eq!(right, (uris.map(str::to_owned).into(), vec![]));
    let other_name: (Vec<String>, _) = served("acme/payments", folder.join("refunds"));
    assert_eq!(other_name, (vec![], vec![Code::NameInvalid; 2]));
    let many: (Vec<String>, _) = served("acme/skills", folder.path().to_owned());
    assert_eq!(many, (vec![], vec![Code::NameInvalid; 3]));
}

#[test]
fn what_cannot_be_registered_is_an_error_when_it_is_built_srv_111() {
    let folder = SkillFolder::with_skills(&["a"]);
    let path = Skills::builder().skill("a//b", folder.join("a")).build();
    assert!(matches!(path, Err(BuildError::Path(path, _)) if path == "a//b"));
    let missing = Skills::builder().folder(folder.join("none")).build();
    assert!(matches!(missing, Err(BuildError::Unavailable(_))));
}

#[tokio::test]
async fn changes_are_followed_without_being_asked_to() {
    let folder = SkillFolder::with_skills(&["a"]);
    let skills = Skills::builder().folder(folder.path()).build().unwrap();
    let mut changes = skills.engine().catalog().changes();
    folder.skill("b");
    soon(changes.recv()).await.expect("the catalogue is there");
    assert_eq!(skills.count(), 2);
}

#[tokio::test]
async fn the_thread_that_follows_ends_with_the_last_clone() {
    let folder = SkillFolder::with_skills(&["a"]);
    let skills = Skills::builder().folder(folder.path()).build().unwrap();
    let engine = Arc::downgrade(skills.engine());
    drop(skills.clone());
    assert!(engine.upgrade().is_some());
    drop(skills);
    soon(async {
        while engine.upgrade().is_some() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn skills_are_a_part_of_a_router_that_has_pages_of_its_own() {
    let folder = SkillFolder::with_skills(&["a"]);
    let skills = Skills::builder().folder(folder.path()).build().unwrap();
    let own = Router::new().route("/", get(|| async { "own" }));
    let app = own.nest("/api/v1", skills.router(HttpOptions::default()));
    let (listener, address) = listener().await;
    tokio::spawn(async move { axum::serve(listener, app).await });
    let mut page = HttpConnection::open(address).await;
    page.send("GET", "/", &[], b"").await;
    assert_eq!(page.reply().await.text(), "own");
    let listed = reply(address, "/api/v1/mcp", "skills/list", json!({})).await;
    assert_eq!(listed.message().result()["skills"][0]["uri"], "skill://a/SKILL.md");
    let host = [("Host", "evil.example")];
    let foreign = send(address, "/api/v1/mcp", &host, "skills/list", json!({})).await.reply().await;
    assert_eq!(foreign.status, 403);
    let filter = json!({ "notifications": { "resourcesListChanged": true } });
    let mut stream = send(address, "/api/v1/mcp", &[], "subscriptions/listen", filter).await;
    assert_eq!(stream.head().await.expect("an answer").0, 200);
    soon(stream.event()).await.expect("an acknowledgment");
    folder.skill("b");
    let told = soon(stream.event()).await.expect("a change");
    assert_eq!(told["method"], "notifications/resources/list_changed");
}

#[test]
fn embedded_skills_are_served_as_those_in_the_folder_are() {
    let embedded = embed_skills!("../../examples/skills");
    let heard = Heard::default();
    let embedded = Skills::builder().embedded(embedded).on_notice(heard.listener());
    let folder = Skills::builder().folder("../../examples/skills").build().unwrap();
    let embedded = embedded.build().unwrap();
    assert_eq!(embedded.count(), 10);
    assert_eq!(entries(&embedded), entries(&folder));
    assert_eq!(heard.skipped(), []);
}

#[tokio::test]
async fn dynamic_files_are_made_each_time_they_are_read_srv_48() {
    let counter = std::sync::atomic::AtomicU32::new(0);
    let files = GeneratedFiles::new()
        .file("SKILL.md", || skill_md("daily"))
        .file("data/count.txt", move || {
            counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst).to_string()
        })
        .try_file("data/broken.txt", || Err::<String, _>("secret path /srv/keys"));
    let skills = Skills::builder().dynamic("reports/daily", files).build().unwrap();
    let entry = &entries(&skills)[0];
    assert_eq!(entry["resources"], "dynamic");
    assert_eq!(keys(entry), ["frontmatter", "resources", "uri"]);
    let address = serve(&skills).await;
    let count = json!({ "uri": "skill://reports/daily/data/count.txt" });
    let first = content(&call(address, "resources/read", count.clone()).await);
    let second = content(&call(address, "resources/read", count).await);
    assert_ne!(first, second);
    let broken = json!({ "uri": "skill://reports/daily/data/broken.txt" });
    let refused = reply(address, "/mcp", "resources/read", broken).await;
    assert_eq!(refused.message().code(), -32603);
    assert!(!refused.text().contains("secret"), "{}", refused.text());
}

#[test]
fn a_dynamic_skill_with_a_path_that_leads_out_is_not_served() {
    let files =
        GeneratedFiles::new().file("SKILL.md", || skill_md("daily")).file("../outside.txt", || "x");
    let heard = Heard::default();
    let builder = Skills::builder().dynamic("daily", files).on_notice(heard.listener());
    assert_eq!(builder.build().unwrap().count(), 0);
    assert_eq!(heard.skipped(), [Code::Unreadable]);
}
