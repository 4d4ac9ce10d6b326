//! Who is admitted to a hub, what decides who sees what, and what the hub signs.

use std::{fs, time::Duration};

use serde_json::{Value, json};
use skillwire_testkit::{HttpConnection, HttpReply};

use super::{
    TestHub,
    workflows::{Issuer, encode},
};
use crate::{host::user::TestUser, support::skill_with};

/// How clients write the address of the hub.
const BASE: &str = "https://hub.example";

const REFUNDS: &str = "skill://acme/refunds/SKILL.md";

/// A hub with tables added to its configuration, and the skill `refunds`.
async fn hub_with(tables: &str) -> TestHub {
    let url = format!("\nurl = \"{BASE}\"\nlisten");
    let change = |text: String| format!("{}\n{tables}", text.replacen("\nlisten", &url, 1));
    let hub = TestHub::configured(change).await;
    hub.folder.skill("refunds");
    hub.publish("refunds").await;
    hub
}

/// A hub that admits callers of an issuer, of whom the group `payments` reads `acme`.
async fn hub_of(issuer: &Issuer) -> TestHub {
    hub_with(&format!(
        "[[access.issuers]]\nissuer = \"{}\"\n[access.roles.acme]\nreader = [\"group:payments\"]\n",
        issuer.url()
    ))
    .await
}

/// A token of an issuer for a mount.
fn issued(issuer: &Issuer, mount: &str, claims: &Value) -> String {
    let mut all = json!({ "aud": format!("{BASE}{mount}"), "sub": "ana" });
    for (name, value) in claims.as_object().unwrap() {
        all[name] = value.clone();
    }
    issuer.token(&all)
}

impl TestHub {
    async fn list(&self, mount: &str, token: &str) -> HttpReply {
        self.mcp(mount, token, "skills/list", Value::Null).await
    }

    async fn get(&self, path: &str) -> HttpReply {
        let mut connection = HttpConnection::open(self.server.address).await;
        connection.send("GET", path, &[], b"").await;
        connection.reply().await
    }

    /// Waits until a request is answered as expected.
    async fn until(&self, token: &str, expected: &[&str]) {
        for _ in 0..200 {
            if self.list("/mcp", token).await.status == 200
                && self.uris("/mcp", token).await == expected
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{:?} is not {expected:?}", self.uris("/mcp", token).await);
    }

    /// Changes the configuration of the running hub.
    fn reconfigure(&self, from: &str, to: &str) {
        let file = self.folder.join("hub/hub.toml");
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&file, text.replace(from, to)).unwrap();
    }
}

#[tokio::test]
async fn a_client_without_a_token_is_told_where_to_get_one_for_each_mount() {
    let issuer = Issuer::start().await;
    let hub = hub_of(&issuer).await;
    hub.run(&["hub", "promote", "acme/refunds", "1.0.0", "stable"]).await.assert_exit(0);
    for mount in ["/mcp", "/mcp/c/stable", "/api/v1"] {
        let document = format!("/.well-known/oauth-protected-resource{mount}");
        let reply = hub.get(&document).await;
        assert_eq!(reply.status, 200, "{mount}");
        let found: Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(found["resource"], format!("{BASE}{mount}"));
        assert_eq!(found["authorization_servers"], json!([issuer.url()]));
        let refused = if mount == "/api/v1" {
            hub.api_as("", "GET", "/namespaces/acme", b"").await
        } else {
            hub.list(mount, "").await
        };
        assert_eq!(refused.status, 401, "{mount}");
        let challenge = refused.header("www-authenticate").unwrap();
        let wanted = format!("resource_metadata=\"{BASE}{document}\"");
        assert!(challenge.contains(&wanted), "{challenge}");
    }
}

#[tokio::test]
async fn the_address_of_an_upstream_is_a_resource_of_its_own_and_hidden_ones_are_not_told_apart() {
    let issuer = Issuer::start().await;
    let hub = hub_of(&issuer).await;
    hub.folder.file("notes/guide/SKILL.md", skill_with("guide", ""));
    let folder = hub.folder.join("notes");
    let source = ["--folder", folder.to_str().unwrap(), "--mode", "passthrough", "--hub", "hub"];
    hub.run(&[&["hub", "upstream", "add", "docs"][..], &source].concat()).await.assert_exit(0);
    let roles = "[access.roles.docs]\nreader = [\"group:payments\"]\n[access.roles.acme]";
    hub.reconfigure("[access.roles.acme]", roles);
    let group = |name: &str| json!({ "groups": [name] });
    let payments = issued(&issuer, "/mcp/u/docs", &group("payments"));
    let mut listed = String::new();
    for _ in 0..200 {
        let reply = hub.list("/mcp/u/docs", &payments).await;
        listed = String::from_utf8(reply.body).unwrap();
        if listed.contains("guide/SKILL.md") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(listed.contains("guide/SKILL.md"), "{listed}");
    // A token for one mount is none for another.
    let whole = issued(&issuer, "/mcp", &group("payments"));
    assert_eq!(hub.list("/mcp/u/docs", &whole).await.status, 401);
    assert_eq!(hub.list("/mcp", &payments).await.status, 401);
    let mut hidden = Vec::new();
    for label in ["docs", "nosuch"] {
        let mount = format!("/mcp/u/{label}");
        let document = format!("/.well-known/oauth-protected-resource{mount}");
        let found: Value = serde_json::from_slice(&hub.get(&document).await.body).unwrap();
        assert_eq!(found["resource"], format!("{BASE}{mount}"));
        let refused = hub.list(&mount, "").await;
        assert_eq!(refused.status, 401, "{mount}");
        let challenge = refused.header("www-authenticate").unwrap();
        let wanted = format!("resource_metadata=\"{BASE}{document}\"");
        assert!(challenge.contains(&wanted), "{challenge}");
        let sales = hub.list(&mount, &issued(&issuer, &mount, &group("sales"))).await;
        hidden.push((sales.status, sales.body));
        // A token for one address that does not exist counts for no other one.
        let elsewhere = issued(&issuer, "/mcp/u/elsewhere", &group("sales"));
        assert_eq!(hub.list("/mcp/u/elsewhere", &elsewhere).await.status, 404);
        assert_eq!(hub.list(&mount, &elsewhere).await.status, 401, "{mount}");
    }
    assert_eq!(hidden[0].0, 404);
    assert_eq!(hidden[0], hidden[1]);
}

#[tokio::test]
async fn a_token_of_the_issuer_counts_for_the_mount_it_is_meant_for_and_its_groups_have_roles() {
    let issuer = Issuer::start().await;
    let hub = hub_of(&issuer).await;
    hub.run(&["hub", "promote", "acme/refunds", "1.0.0", "stable"]).await.assert_exit(0);
    let token = issued(&issuer, "/mcp", &json!({ "groups": ["payments"] }));
    assert_eq!(hub.uris("/mcp", &token).await, [REFUNDS]);
    // A token for one mount is none for another, nor for the API.
    for reply in
        [hub.list("/mcp/c/stable", &token).await, hub.api_as(&token, "GET", "/skills", b"").await]
    {
        assert_eq!(reply.status, 401);
        let challenge = reply.header("www-authenticate").unwrap();
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
    }
    let stable = issued(&issuer, "/mcp/c/stable", &json!({ "groups": ["payments"] }));
    assert_eq!(hub.uris("/mcp/c/stable", &stable).await, [REFUNDS]);
    let api = issued(&issuer, "/api/v1", &json!({ "groups": ["payments"] }));
    let skills: Value =
        serde_json::from_slice(&hub.api_as(&api, "GET", "/skills", b"").await.body).unwrap();
    assert_eq!(skills["items"].as_array().unwrap().len(), 1);
    // A caller of another group sees nothing, and a subject cannot call itself a group.
    for claims in [json!({ "groups": ["sales"] }), json!({})] {
        let other = issued(&issuer, "/mcp", &claims);
        assert!(hub.uris("/mcp", &other).await.is_empty());
    }
    let impostor = issued(&issuer, "/mcp", &json!({ "sub": "group:payments" }));
    assert_eq!(hub.list("/mcp", &impostor).await.status, 401);
}

#[tokio::test]
async fn tokens_of_others_for_others_outside_their_time_or_with_another_algorithm_are_refused() {
    let (issuer, stranger) = (Issuer::start().await, Issuer::start().await);
    let hub = hub_of(&issuer).await;
    let good = |claims: &Value| issued(&issuer, "/mcp", claims);
    assert_eq!(hub.list("/mcp", &good(&json!({}))).await.status, 200);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let head = |header: Value| {
        let token = good(&json!({}));
        let rest = token.split_once('.').unwrap().1.to_owned();
        format!("{}.{rest}", encode(header.to_string()))
    };
    for (token, problem) in [
        (issued(&stranger, "/mcp", &json!({})), "not trusted"),
        (issued(&stranger, "/mcp", &json!({ "iss": issuer.url() })), "signature"),
        (good(&json!({ "aud": "https://other.example/mcp" })), "audience"),
        (good(&json!({ "aud": null })), "audience"),
        (good(&json!({ "exp": now - 600 })), "expired"),
        (good(&json!({ "exp": null })), "expired"),
        (good(&json!({ "nbf": now + 600 })), "not valid yet"),
        (good(&json!({ "sub": null })), "does not name its caller"),
        (head(json!({ "alg": "none" })), "algorithm"),
        (head(json!({ "alg": "HS256", "kid": "k" })), "algorithm"),
        (head(json!({ "alg": "ES256", "kid": "other" })), "does not publish"),
        (head(json!({ "alg": "ES256", "kid": "k", "crit": ["x"] })), "extensions"),
        (good(&json!({ "pad": "x".repeat(20_000) })), "too long"),
        ("nonsense".to_owned(), "not a signed"),
        ("a.b.c".to_owned(), "not a signed"),
    ] {
        let reply = hub.list("/mcp", &token).await;
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        assert_eq!(reply.status, 401, "{problem}: {text}");
        assert!(text.contains(problem), "{problem}: {text}");
    }
}

#[tokio::test]
async fn a_blocked_subject_is_refused_at_once_and_a_role_counts_without_a_restart() {
    let issuer = Issuer::start().await;
    let hub = hub_of(&issuer).await;
    let token = issued(&issuer, "/mcp", &json!({ "groups": ["payments"] }));
    assert_eq!(hub.uris("/mcp", &token).await, [REFUNDS]);
    let bea = issued(&issuer, "/mcp", &json!({ "sub": "bea" }));
    assert!(hub.uris("/mcp", &bea).await.is_empty());
    // A configuration that cannot be used changes nothing.
    hub.reconfigure("reader = [\"group:payments\"]", "raeder = [\"bea\"]");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(hub.uris("/mcp", &token).await, [REFUNDS]);
    hub.reconfigure("raeder = [\"bea\"]", "reader = [\"bea\", \"group:payments\"]");
    hub.until(&bea, &[REFUNDS]).await;
    hub.reconfigure("[[access.issuers]]", "[access]\nblocked = [\"ana\"]\n[[access.issuers]]");
    for _ in 0..200 {
        if hub.list("/mcp", &token).await.status == 401 {
            assert_eq!(hub.uris("/mcp", &bea).await, [REFUNDS]);
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the blocked subject is still admitted");
}

#[tokio::test]
async fn the_hub_signs_what_it_serves_and_a_host_that_trusts_its_key_does_not_ask() {
    let hub = hub_with("").await;
    let made = hub.run(&["hub", "key", "new", "hub", "--json"]).await.assert_exit(0).json();
    hub.run(&["hub", "key", "new", "hub"]).await.assert_refused(2, "has a key already");
    hub.folder.file("reader", hub.new_token("ana", &["--admin"]).await);
    let user = TestUser::new();
    let (url, token) = (format!("{}/mcp", hub.url()), hub.folder.join("reader"));
    let public = made["public"].as_str().unwrap();
    let public = hub.folder.join(public);
    let add = ["server", "add", "hub", &url, "--bearer-token-file", token.to_str().unwrap()];
    user.run_ok(&[&add[..], &["--trust-key", public.to_str().unwrap()]].concat()).await;
    // The running hub sees its new key within a moment.
    let mut row = Value::Null;
    for _ in 0..100 {
        row = user.run_json(&["list", "--json"]).await["skills"][0].clone();
        if row["decision"]["state"] == "decided" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(row["decision"]["state"], "decided", "{row}");
    assert_eq!(row["decision"]["provenance"]["version"], "1.0.0");
    user.run_ok(&["load", "hub:skill://acme/refunds/SKILL.md"]).await;
    user.run_ok(&["load", "hub:refunds"]).await;
    // A new version has a decision of its own, and the old key signs until it is retired.
    let rotated = hub.run(&["hub", "key", "rotate", "hub", "--json"]).await.assert_exit(0).json();
    hub.folder.file("refunds/more.md", "More.\n");
    hub.publish("refunds").await;
    user.run_ok(&["load", "hub:refunds"]).await;
    let mut keys = Value::Null;
    for _ in 0..100 {
        keys = serde_json::from_slice(&hub.api("GET", "/keys", b"").await.body).unwrap();
        if keys["items"].as_array().unwrap().len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(keys["items"].as_array().unwrap().len(), 2, "{keys}");
    let content = user.run_json(&["show", "hub:refunds", "--json"]).await;
    let content =
        content["_meta"]["dev.skillwire/provenance"]["contentId"].as_str().unwrap().to_owned();
    let path = format!("/content/{content}/decisions");
    let found: Value = serde_json::from_slice(&hub.api("GET", &path, b"").await.body).unwrap();
    assert_eq!(found["items"][0]["version"], "1.0.1", "{found}");
    assert_eq!(found["items"][0]["envelope"]["signatures"].as_array().unwrap().len(), 2);
    let old = made["id"].as_str().unwrap();
    hub.run(&["hub", "key", "retire", "hub", old]).await.assert_exit(0);
    let listed = hub.run(&["hub", "key", "list", "hub", "--json"]).await.assert_exit(0).json();
    assert_eq!(listed[0]["id"], rotated["id"]);
    // What the old key decided does not count any more once the hub has stopped signing with it.
    for _ in 0..100 {
        if user.run(&["load", "hub:refunds"]).await.code == Some(4) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("a retired key still decides");
}

#[cfg(feature = "policy")]
mod policies {
    use super::*;

    const POLICY: &str = "@id(\"sales-reads-refunds\")\npermit (principal in Group::\"sales\", action, \
                          resource == Skill::\"acme/refunds\");\n@id(\"no-scripts\")\nforbid (principal, \
                          action, resource) when { resource.has_scripts };\n";

    #[tokio::test]
    async fn policies_grant_and_forbid_over_roles_and_are_replaced_while_the_hub_runs() {
        const DEPLOY: &str = "skill://acme/deploy/SKILL.md";
        let issuer = Issuer::start().await;
        let hub = hub_of(&issuer).await;
        hub.folder.file("deploy/SKILL.md", skill_with("deploy", ""));
        hub.folder.file("deploy/scripts/a.sh", "echo\n");
        hub.publish("deploy").await;
        let payments = issued(&issuer, "/mcp", &json!({ "groups": ["payments"] }));
        let sales = issued(&issuer, "/mcp", &json!({ "sub": "sam", "groups": ["sales"] }));
        assert_eq!(hub.uris("/mcp", &payments).await, [DEPLOY, REFUNDS]);
        assert!(hub.uris("/mcp", &sales).await.is_empty());
        hub.folder.file("hub/policy.cedar", POLICY);
        hub.reconfigure(
            "[[access.issuers]]",
            "[access.policy]\nfile = \"policy.cedar\"\n[[access.issuers]]",
        );
        hub.until(&payments, &[REFUNDS]).await;
        hub.until(&sales, &[REFUNDS]).await;
        // Hidden means unknown, by its URI, too.
        let read = hub.read("/mcp", &payments, DEPLOY).await;
        let unknown = hub.read("/mcp", &payments, "skill://acme/nothing/SKILL.md").await;
        assert_eq!(read["error"]["code"], unknown["error"]["code"], "{read}");
        // A broken policy changes nothing; a publication is decided about by itself.
        hub.folder.file("hub/policy.cedar", "permit (principal");
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        assert_eq!(hub.uris("/mcp", &sales).await, [REFUNDS]);
        hub.folder.file("refunds/scripts/a.sh", "echo\n");
        hub.publish("refunds").await;
        assert!(hub.uris("/mcp", &sales).await.is_empty());
        hub.folder.file("hub/policy.cedar", "");
        hub.until(&payments, &[DEPLOY, REFUNDS]).await;
    }

    #[cfg(feature = "scan")]
    #[tokio::test]
    async fn a_policy_hides_a_published_skill_by_what_the_hub_found_in_it() {
        const SEVERE: &str = "@id(\"severe\") forbid (principal, action, resource) when \
                              { [\"high\", \"critical\"].contains(resource.worst_finding) };";
        let issuer = Issuer::start().await;
        let hub = hub_of(&issuer).await;
        hub.folder.file("notes/SKILL.md", crate::scan::LURE).file("severe.cedar", SEVERE);
        let arguments = ["publish", "notes", "--namespace", "acme", "--yes", "--despite-findings"];
        hub.run(&arguments).await.assert_exit(0);
        let payments = issued(&issuer, "/mcp", &json!({ "groups": ["payments"] }));
        hub.until(&payments, &["skill://acme/notes/SKILL.md", REFUNDS]).await;
        let tried = ["hub", "policy", "test", "severe.cedar", "--hub", "hub"];
        let tried = hub.run(&tried).await.assert_exit(1).stdout;
        assert!(tried.contains("- group:payments loses acme/notes  (severe)"), "{tried}");
        assert!(!tried.contains("acme/refunds"), "{tried}");
        hub.reconfigure(
            "[[access.issuers]]",
            "[access.policy]\nfile = \"../severe.cedar\"\n[[access.issuers]]",
        );
        hub.until(&payments, &[REFUNDS]).await;
        let versions = async |skill: &str| {
            hub.run(&["hub", "versions", skill, "--json"]).await.assert_exit(0).json()
        };
        assert_eq!(versions("acme/notes").await[0]["worst_finding"], "critical");
        assert_eq!(versions("acme/refunds").await[0]["worst_finding"], "none");
        // A version that the operator of the machine publishes is looked at as well.
        hub.folder.file("local/notes/SKILL.md", format!("{}\nMore.\n", crate::scan::LURE));
        let local =
            ["hub", "import", "local", "--namespace", "acme", "--yes", "--despite-findings"];
        let local = [&local[..], &["--dry-run", "--json", "--hub", "hub"]].concat();
        let imported = hub.run(&local).await.assert_exit(0).json();
        assert_eq!(imported[0]["version"]["worst_finding"], "critical", "{imported}");
    }

    #[tokio::test]
    async fn a_policy_is_checked_tried_and_explained_before_it_counts() {
        let hub = hub_with("[access.roles.acme]\nreader = [\"group:payments\"]\n").await;
        hub.folder.file("new.cedar", POLICY);
        let checked = hub.run(&["hub", "policy", "check", "new.cedar"]).await.assert_exit(0);
        assert_eq!(checked.stdout, "`new.cedar` can be used: 2 rules.\n");
        hub.folder.file(
            "bad.cedar",
            "permit (principal, action, resource) when { resource.colour == 1 };",
        );
        let bad = hub.run(&["hub", "policy", "check", "bad.cedar"]).await.assert_exit(2);
        assert!(bad.stderr.contains("colour"), "{}", bad.stderr);
        let explain = async |who: &str, more: &[&str]| {
            let arguments =
                ["hub", "policy", "explain", "acme/refunds", "--as", who, "--hub", "hub"];
            hub.run(&[&arguments[..], more].concat()).await.assert_exit(0).stdout
        };
        let text = explain("group:payments", &[]).await;
        assert!(
            text.starts_with("group:payments sees acme/refunds: decided by roles.\n"),
            "{text}"
        );
        let text = explain("group:sales", &[]).await;
        assert!(
            text.starts_with("group:sales does not see acme/refunds: no rule allows it.\n"),
            "{text}"
        );
        let text = explain("group:sales", &["--policy", "new.cedar"]).await;
        assert!(text.contains("decided by sales-reads-refunds"), "{text}");
        hub.folder.file("forbid.cedar", "@id(\"nothing\") forbid (principal, action, resource);");
        let tried = hub
            .run(&["hub", "policy", "test", "forbid.cedar", "--hub", "hub"])
            .await
            .assert_exit(1);
        assert!(
            tried.stdout.contains("- group:payments loses acme/refunds  (nothing)"),
            "{}",
            tried.stdout
        );
        let same =
            hub.run(&["hub", "policy", "test", "new.cedar", "--hub", "hub"]).await.assert_exit(0);
        assert!(same.stdout.starts_with("0 changes for "), "{}", same.stdout);
    }
}
