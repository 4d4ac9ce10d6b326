//! Upstreams and reviews through the API, as reviewers and administrators use it over HTTP.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::net::SocketAddr;

use serde_json::{Value, json};
use skillwire_core::{RelPath, SkillUri};
use skillwire_hub::{Caller, ContentFacts, Role};
use skillwire_hub_server::{HubIdentity, LocalApi, ServingOptions};
use skillwire_hub_store::{
    BlobLocation, DatabaseLocation, HubStore, NewNamespace, NewOffer, NewToken, StoreOptions,
    Upload, UploadedFile,
};
use skillwire_server::http::{ConnectionLimits, Workers, run};
use skillwire_testkit::HttpConnection;
use tokio::net::TcpListener;

struct ReviewedHub {
    store: HubStore,
    local: LocalApi,
    address: SocketAddr,
    admin: Caller,
    _folder: tempfile::TempDir,
    _following: skillwire_hub_server::Following,
}

fn file(path: &str, text: &str) -> UploadedFile {
    let path = RelPath::parse(path).unwrap();
    UploadedFile { path, bytes: text.to_owned().into(), claimed: None }
}

fn skill(description: &str) -> String {
    format!("---\nname: pdf\ndescription: {description}\n---\nRead it.\n")
}

impl ReviewedHub {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = DatabaseLocation::Sqlite(folder.path().join("hub.db"));
        let blobs = BlobLocation::Folder(folder.path().join("blobs"));
        let store = HubStore::open(StoreOptions::new(database, blobs)).await.unwrap();
        let identity = HubIdentity::new("hub", "hub");
        let options = ServingOptions::default();
        let started = skillwire_hub_server::start(store.clone(), identity.clone(), options).await;
        let (service, following) = started.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let never = std::future::pending();
        tokio::spawn(run(listener, service, Workers::here(), ConnectionLimits::default(), never));
        let local = LocalApi::new(store.clone(), identity);
        let admin = Caller::administrator("root".parse().unwrap());
        Self { store, local, address, admin, _folder: folder, _following: following }
    }

    async fn token(&self, who: &str, administrator: bool) -> String {
        let new = NewToken::new(who, who.parse().unwrap());
        let new = if administrator {
            new.with_administrator()
        } else {
            new.with_scopes([skillwire_hub::Scope::Read, skillwire_hub::Scope::Review])
        };
        self.store.create_token(&self.admin, new).await.unwrap().1.expose()
    }

    async fn send(&self, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let bearer = format!("Bearer {token}");
        let headers: &[(&str, &str)] = &[("Authorization", &bearer)];
        let mut connection = HttpConnection::open(self.address).await;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        connection.send(method, &format!("/api/v1{path}"), headers, body.as_bytes()).await;
        let reply = connection.reply().await;
        (reply.status, serde_json::from_slice(&reply.body).unwrap_or_default())
    }

    async fn operator(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let request = http::Request::builder().method(method).uri(format!("/api/v1{path}"));
        let answer = self.local.call(request.body(body.to_string().into()).unwrap()).await;
        (answer.status().as_u16(), serde_json::from_slice(answer.body()).unwrap_or_default())
    }

    /// Lets the upstream `docs` offer a content.
    async fn offer(&self, description: &str, more: &[(&str, &str)], facts: ContentFacts) {
        let mut files = vec![file("SKILL.md", &skill(description))];
        files.extend(more.iter().map(|(path, text)| file(path, text)));
        let uri = SkillUri::parse("skill://guides/pdf/SKILL.md").unwrap();
        let new = NewOffer::new(uri, files, "{}".to_owned()).with_facts(facts);
        self.store.keep_offers(&"docs".parse().unwrap(), vec![new]).await.unwrap();
    }

    async fn add_docs(&self, mode: &str) {
        let source = json!({"kind": "mcp", "url": "https://docs.example/mcp"});
        let new = json!({"label": "docs", "mode": mode, "source": source});
        assert_eq!(self.operator("POST", "/upstreams", &new).await.0, 201);
        let docs = "docs".parse().unwrap();
        let rex = "rex".parse().unwrap();
        self.store.grant(&self.admin, &docs, &rex, Role::Reviewer).await.unwrap();
    }
}

#[tokio::test]
async fn programs_and_folders_are_for_the_operator_of_the_machine_alone() {
    let hub = ReviewedHub::start().await;
    let (root, ana) = (hub.token("root2", true).await, hub.token("ana", false).await);
    for source in [
        json!({"kind": "command", "command": "/bin/sh"}),
        json!({"kind": "folder", "path": "/srv"}),
        json!({"kind": "git", "url": "file:///srv"}),
        json!({"kind": "git", "url": "/srv/skills"}),
        json!({"kind": "git", "url": "ext::sh -c id"}),
    ] {
        let new = json!({"label": "here", "mode": "admit", "source": source, "dry_run": true});
        let (status, problem) = hub.send(&root, "POST", "/upstreams", &new).await;
        assert_eq!(
            (status, &problem["type"]),
            (403, &json!("urn:skillwire:problem:local-upstream"))
        );
        assert_eq!(hub.operator("POST", "/upstreams", &new).await.0, 200);
    }
    let remote = json!({"kind": "mcp", "url": "https://docs.example/mcp"});
    let new = json!({"label": "docs", "mode": "admit", "source": remote});
    assert_eq!(hub.send(&ana, "POST", "/upstreams", &new).await.0, 403);
    assert_eq!(hub.send(&root, "POST", "/upstreams", &new).await.0, 201);
    assert_eq!(hub.send(&root, "POST", "/upstreams", &new).await.0, 409);
    assert_eq!(hub.send(&ana, "GET", "/upstreams/docs", &Value::Null).await.0, 404);
    let local = json!({"source": {"kind": "folder", "path": "/srv"}});
    assert_eq!(hub.send(&root, "PATCH", "/upstreams/docs", &local).await.0, 403);
    for bad in
        [json!({"mode": "hide"}), json!({"limits": {"pages": 0}}), json!({"rules": {"x": true}})]
    {
        assert_eq!(hub.send(&root, "PATCH", "/upstreams/docs", &bad).await.0, 400, "{bad}");
    }
    let limits = json!({"limits": {"pages": 7}});
    let (_, changed) = hub.send(&root, "PATCH", "/upstreams/docs", &limits).await;
    assert_eq!(changed["upstream"]["limits"]["pages"], 7);
    assert_eq!(changed["upstream"]["limits"]["answer-ms"], 10_000, "the others stay");
}

#[tokio::test]
async fn leaving_pin_is_said_and_a_dry_run_changes_nothing() {
    let hub = ReviewedHub::start().await;
    hub.add_docs("pin").await;
    let open = json!({"mode": "passthrough"});
    let (status, problem) = hub.operator("PATCH", "/upstreams/docs", &open).await;
    assert_eq!((status, &problem["type"]), (409, &json!("urn:skillwire:problem:leaves-pin")));
    assert_eq!(hub.operator("DELETE", "/upstreams/docs", &Value::Null).await.0, 409);
    let tried = "/upstreams/docs?leave_pin=true&dry_run=true";
    assert_eq!(hub.operator("DELETE", tried, &Value::Null).await.1["dry_run"], true);
    assert_eq!(hub.operator("GET", "/upstreams/docs", &Value::Null).await.1["mode"], "pin");
    let meant = json!({"mode": "passthrough", "leave_pin": true});
    assert_eq!(hub.operator("PATCH", "/upstreams/docs", &meant).await.0, 200);
    assert_eq!(hub.operator("DELETE", "/upstreams/docs", &Value::Null).await.0, 200);
    assert_eq!(hub.operator("GET", "/upstreams", &Value::Null).await.1, json!({"items": []}));
}

#[tokio::test]
async fn rules_are_tried_on_what_waits_and_then_decide_about_it() {
    let hub = ReviewedHub::start().await;
    hub.add_docs("admit").await;
    let mut facts = ContentFacts::default();
    facts.worst = Some("none".to_owned());
    hub.offer("Reads.", &[], facts).await;
    let set = async |wish: Value| {
        let (status, changed) = hub.operator("PATCH", "/upstreams/docs", &wish).await;
        assert_eq!(status, 200, "{changed}");
        changed
    };
    let waiting = async || {
        let (_, page) = hub.operator("GET", "/reviews", &Value::Null).await;
        page["items"].as_array().unwrap().len()
    };
    let rules = json!({"text-only": true, "no-findings": true});
    let tried = set(json!({"rules": rules, "dry_run": true})).await;
    assert_eq!(tried["rules"][0]["approved"], true, "{tried}");
    assert_eq!(waiting().await, 1, "a dry run decides nothing");
    // A rule that compares says why it does not approve.
    let signer = set(json!({"rules": {"same-signer": true}})).await;
    assert_eq!(signer["rules"][0]["approved"], false, "{signer}");
    assert_eq!(waiting().await, 1);
    // Another setting alone neither decides nor speaks of rules.
    let other = set(json!({"limits": {"pages": 9}})).await;
    assert_eq!(other["rules"], Value::Null, "{other}");
    let decided = set(json!({"rules": {"same-signer": false, "no-findings": true}})).await;
    let because = &decided["rules"][0];
    assert_eq!((&because["approved"], &because["because"]), (&json!(true), &json!(["no finding"])));
    assert_eq!(waiting().await, 0);
    // What no scanner looked at is not without findings.
    hub.offer("Reads more.", &[], ContentFacts::default()).await;
    let unscanned = set(json!({"rules": {"no-findings": true}})).await;
    assert_eq!(unscanned["rules"][0]["because"], json!(["not scanned to the end"]), "{unscanned}");
    assert_eq!(waiting().await, 1);
}

#[tokio::test]
async fn a_reviewer_has_one_queue_and_decides_about_what_they_saw() {
    let hub = ReviewedHub::start().await;
    hub.add_docs("pin").await;
    let (rex, eve) = (hub.token("rex", false).await, hub.token("eve", false).await);
    let acme = NewNamespace::new("acme".parse().unwrap(), "root".parse().unwrap())
        .with_review(skillwire_hub::ReviewPolicy::Required);
    hub.store.create_namespace(&hub.admin, acme).await.unwrap();
    hub.store
        .grant(&hub.admin, &"acme".parse().unwrap(), &"rex".parse().unwrap(), Role::Reviewer)
        .await
        .unwrap();
    let mut facts = ContentFacts::default();
    facts.findings.push("SW-1".to_owned());
    hub.offer("Reads.", &[], facts).await;
    let upload = Upload::new("acme/pdf".parse().unwrap(), vec![file("SKILL.md", &skill("Ours."))]);
    hub.store.publish(&hub.admin, upload).await.unwrap();
    let (_, listed) = hub.send(&rex, "GET", "/reviews?limit=1", &Value::Null).await;
    let first = &listed["items"][0];
    assert_eq!((&first["kind"], &first["worst_finding"]), (&json!("upstream"), &json!("unknown")));
    let next = format!("/reviews?limit=1&cursor={}", listed["next"].as_str().unwrap());
    let (_, second) = hub.send(&rex, "GET", &next, &Value::Null).await;
    let version = &second["items"][0];
    assert_eq!((&version["kind"], &version["skill"]), (&json!("version"), &json!("acme/pdf")));
    assert!(second.get("next").is_none());
    let (_, only) = hub.send(&rex, "GET", "/reviews?upstream=docs", &Value::Null).await;
    assert_eq!(only["items"].as_array().unwrap().len(), 1);
    assert_eq!(hub.send(&eve, "GET", "/reviews", &Value::Null).await.1, json!({"items": []}));
    let one = format!("/reviews/{}", first["id"]);
    assert_eq!(hub.send(&eve, "GET", &one, &Value::Null).await.0, 404);
    assert_eq!(hub.send(&rex, "GET", &format!("{one}/files/NOTES"), &Value::Null).await.0, 404);

    // Nothing is decided without the content that was seen, and nothing by a dry run.
    let decision = |content: &Value, dry_run: bool| json!({"verdict": "approve", "reason": "read it", "content": content, "dry_run": dry_run});
    let path = format!("{one}/decision");
    let blind = json!({"verdict": "approve", "reason": "x"});
    assert_eq!(hub.send(&rex, "POST", &path, &blind).await.0, 400);
    for reason in ["", " \t\n"] {
        let blank = json!({"verdict": "approve", "reason": reason, "content": first["content"]});
        let (status, problem) = hub.send(&rex, "POST", &path, &blank).await;
        assert_eq!(
            (status, &problem["type"]),
            (400, &json!("urn:skillwire:problem:no-reason")),
            "{problem}"
        );
    }
    let (_, tried) = hub.send(&rex, "POST", &path, &decision(&first["content"], true)).await;
    assert_eq!((&tried["review"]["state"], &tried["dry_run"]), (&json!("approved"), &json!(true)));
    let past = json!({"verdict": "approve", "reason": "x", "content": first["content"],
        "until": "2020-01-01T00:00:00Z"});
    assert_eq!(hub.send(&rex, "POST", &path, &past).await.0, 400);
    assert_eq!(hub.send(&rex, "POST", &path, &decision(&version["content"], false)).await.0, 409);
    assert_eq!(hub.send(&eve, "POST", &path, &decision(&first["content"], false)).await.0, 404);
    let (status, done) = hub.send(&rex, "POST", &path, &decision(&first["content"], false)).await;
    assert_eq!((status, &done["review"]["state"]), (200, &json!("approved")), "{done}");

    // The next content is compared with what was approved.
    let mut facts = ContentFacts::default();
    facts.links.insert("https://evil.example".to_owned());
    hub.offer("Reads and sends.", &[("notes.md", "hello\n")], facts).await;
    let (_, waiting) = hub.send(&rex, "GET", "/reviews?upstream=docs", &Value::Null).await;
    let changed = &waiting["items"][0];
    let (_, detail) =
        hub.send(&rex, "GET", &format!("/reviews/{}", changed["id"]), &Value::Null).await;
    assert_eq!(detail["approved"], first["content"]);
    assert_eq!(detail["frontmatter"][0]["field"], "/description");
    assert_eq!(detail["facts"]["links"]["added"], json!(["https://evil.example"]));
    assert_eq!(detail["files"].as_array().unwrap().len(), 2);
    let rules = json!({"rules": {"no-new-links": true}, "dry_run": true});
    let (_, trial) = hub.operator("PATCH", "/upstreams/docs", &rules).await;
    assert_eq!(trial["rules"][0]["approved"], false);

    // The upstream moves on before the reviewer decides.
    hub.offer("Something else.", &[], ContentFacts::default()).await;
    let path = format!("/reviews/{}/decision", changed["id"]);
    let (status, problem) =
        hub.send(&rex, "POST", &path, &decision(&changed["content"], false)).await;
    assert_eq!((status, &problem["type"]), (409, &json!("urn:skillwire:problem:content-moved")));
    let (_, waiting) = hub.send(&rex, "GET", "/reviews?upstream=docs", &Value::Null).await;
    assert_eq!(problem["actual"], waiting["items"][0]["content"]);
    let named = format!("Review {} has it.", waiting["items"][0]["id"]);
    assert!(problem["detail"].as_str().unwrap().contains(&named), "{problem}");

    // A version goes through its own states.
    let path = format!("/reviews/{}/decision", version["id"]);
    let (_, done) = hub.send(&rex, "POST", &path, &decision(&version["content"], false)).await;
    assert_eq!(done["review"]["state"], "approved");
    let (_, shown) = hub.send(&rex, "GET", "/skills/acme/pdf/versions/1.0.0", &Value::Null).await;
    assert_eq!(shown["state"], "approved");
}
