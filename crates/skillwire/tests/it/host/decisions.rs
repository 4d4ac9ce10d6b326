//! Signed decisions of a server, by keys that the user trusts instead of a question.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use skillwire_attest::{ContentDecision, DECISION_META, Envelope, SigningKey};
use skillwire_core::{ContentId, Digest, RelPath, SkillUri};
use skillwire_testkit::{Fault, HostileServer, ListeningServer};

use super::user::TestUser;
use crate::support::skill_with;

const REFUNDS: &str = "skill://acme/refunds/SKILL.md";
const DAY: Duration = Duration::from_hours(24);

/// A hub with one skill, and a user who knows it as `hub`.
struct Scene {
    user: TestUser,
    hub: HostileServer,
    listening: ListeningServer,
}

/// The key with this number; the user has its public half as a file.
fn key(number: u8) -> SigningKey {
    SigningKey::from_seed(&[number; 32])
}

impl Scene {
    /// A user who trusts the keys with these numbers.
    async fn trusting(keys: &[u8]) -> Self {
        let hub = HostileServer::new().skill("acme/refunds", [("policy.md", "Within 30 days.\n")]);
        let listening = hub.http().await;
        let user = TestUser::new();
        let files: Vec<String> = keys.iter().map(|number| key_file(&user, *number)).collect();
        let url = listening.url();
        let mut add = vec!["server", "add", "hub", &url, "--no-connect"];
        add.extend(files.iter().flat_map(|file| ["--trust-key", file]));
        user.run_ok(&add).await;
        Self { user, hub, listening }
    }

    /// The decision about what the hub serves at a URI now, for a day.
    fn decision(&self, uri: &str) -> ContentDecision {
        let skill = SkillUri::parse(uri).unwrap();
        let files = self.hub.entry(uri)["resources"].as_array().unwrap().clone();
        let file = |file: Value| {
            let path = file["uri"].as_str().unwrap().strip_prefix(skill.root().as_str()).unwrap();
            let path = RelPath::parse(path.trim_start_matches('/')).unwrap();
            let digest: Digest = file["digest"].as_str().unwrap().parse().unwrap();
            (path, digest, file["size"].as_u64().unwrap())
        };
        let now = SystemTime::now();
        ContentDecision {
            content: ContentId::of(files.into_iter().map(file)).unwrap(),
            skills: vec![skill],
            policy: "approved by rex after a review".into(),
            decided_at: now - DAY,
            expires: now + DAY,
            provenance: [("version".to_owned(), "1.2.0".to_owned())].into(),
        }
    }

    /// Makes the hub carry a decision with the signatures of these keys.
    fn carry(&self, uri: &str, decision: &ContentDecision, keys: &[u8]) {
        let keys: Vec<SigningKey> = keys.iter().map(|number| key(*number)).collect();
        let keys: Vec<&SigningKey> = keys.iter().collect();
        let envelope = Envelope::sign(&decision.statement(), &keys).to_json();
        let envelope: Value = serde_json::from_str(&envelope).unwrap();
        self.hub.clear_faults();
        self.hub.set_fault(Fault::entry(uri, json!({ "_meta": { DECISION_META: envelope } })));
    }

    async fn load(&self) -> i32 {
        self.user.run(&["load", "hub:refunds"]).await.code.unwrap()
    }

    async fn decision_row(&self) -> Value {
        self.user.run_json(&["list", "--json"]).await["skills"][0]["decision"].clone()
    }
}

fn key_file(user: &TestUser, number: u8) -> String {
    let name = format!("key{number}.pub");
    user.home.file(&name, key(number).public().to_pem());
    user.home.join(&name).to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_signed_decision_of_a_trusted_key_loads_exactly_its_content_without_a_question() {
    let scene = Scene::trusting(&[1]).await;
    assert_eq!(scene.load().await, 4, "a server that decided nothing");
    let decision = scene.decision(REFUNDS);
    scene.carry(REFUNDS, &decision, &[1]);
    assert_eq!(scene.decision_row().await["state"], "decided");
    assert_eq!(scene.load().await, 0);
    let listing = scene.user.run_json(&["list", "--json"]).await;
    let row = &listing["skills"][0];
    assert_eq!((&row["state"], &row["decided"]), (&json!("approved"), &json!("decision")));
    assert_eq!(row["decision"]["provenance"]["version"], "1.2.0");
    let key_text = format!("key {}", key(1).public().id());
    assert_eq!(row["decision"]["key"], key_text);
    let shown = scene.user.run_json(&["show", "hub:refunds", "--json"]).await;
    assert_eq!(shown["grants"], json!({}), "loading, and nothing else");
    let text = scene.user.run_ok(&["show", "hub:refunds"]).await;
    assert!(text.contains("approved by a signed decision: "), "{text}");
    assert!(text.contains("approved by rex after a review"), "{text}");
    assert!(text.contains("version: 1.2.0"), "{text}");
    let log = scene.user.run_ok(&["audit"]).await;
    let line = log.lines().find(|line| line.contains(" approve ")).unwrap();
    assert!(line.contains(&format!("by a signed decision of hub: {key_text}, until ")), "{line}");

    // The content changes, and the old decision says nothing about it.
    scene.hub.rotate("skill://acme/refunds/policy.md", "Within 90 days.\n");
    assert_eq!(scene.load().await, 4);
    let refused = scene.decision_row().await;
    assert!(refused["problem"].as_str().unwrap().contains("is for other content"), "{refused}");
    scene.carry(REFUNDS, &scene.decision(REFUNDS), &[1]);
    assert_eq!(scene.load().await, 0);
}

#[tokio::test]
async fn a_decision_counts_for_a_skill_that_its_full_uri_names_once_the_server_is_listed() {
    let scene = Scene::trusting(&[1]).await;
    scene.carry(REFUNDS, &scene.decision(REFUNDS), &[1]);
    let shown = scene.user.run_json(&["list", "--json"]).await;
    let named = format!("hub:{REFUNDS}");
    // Without a listing, the skill might lie inside another one.
    scene.hub.set_fault(Fault::member("skills/list", "skills", "none"));
    scene.user.run(&["load", &named]).await.assert_refused(4, "not_approved");
    scene.carry(REFUNDS, &scene.decision(REFUNDS), &[1]);
    scene.user.run_ok(&["load", &named]).await;
    assert_eq!(shown["skills"][0]["decision"]["state"], "decided");
    // An approved skill needs no listing.
    scene.hub.clear_log();
    scene.user.run_ok(&["load", &named]).await;
    assert_eq!(scene.hub.count("skills/list"), 0);
    // A skill inside another one of the server is the user's to decide about.
    scene.hub.set_skill("acme/refunds/inner", [("x", "x")]);
    let inner = "skill://acme/refunds/inner/SKILL.md";
    scene.carry(inner, &scene.decision(inner), &[1]);
    scene.user.run(&["load", &format!("hub:{inner}")]).await.assert_refused(4, "not_approved");
}

#[tokio::test]
async fn decisions_for_another_skill_by_another_key_outside_their_time_or_forged_are_none() {
    let scene = Scene::trusting(&[1]).await;
    let honest = scene.decision(REFUNDS);
    let now = SystemTime::now();
    let other = SkillUri::parse("skill://acme/other/SKILL.md").unwrap();
    let ended = ContentDecision { expires: now - Duration::from_secs(5), ..honest.clone() };
    let early = ContentDecision { decided_at: now + DAY, expires: now + 2 * DAY, ..honest.clone() };
    let elsewhere = ContentDecision { skills: vec![other], ..honest.clone() };
    for (decision, keys, problem) in [
        (&ended, [1], "ended at"),
        (&early, [1], "begins only at"),
        (&elsewhere, [1], "is for another skill"),
        (&honest, [2], "was not made with"),
    ] {
        scene.carry(REFUNDS, decision, &keys);
        let row = scene.decision_row().await;
        assert!(row["problem"].as_str().unwrap().contains(problem), "{row}");
        assert_ne!(scene.load().await, 0, "{problem}");
    }
    // An envelope whose payload was changed after it was signed, and something that is none.
    for envelope in [json!({ "payloadType": "x" }), json!("approve"), json!({ "verified": true })] {
        scene.hub.clear_faults();
        scene.hub.set_fault(Fault::entry(REFUNDS, json!({ "_meta": { DECISION_META: envelope } })));
        assert_eq!(scene.decision_row().await["state"], "refused");
        assert_ne!(scene.load().await, 0);
    }
    // What a server merely says about itself is shown and never believed.
    let claims = json!({ "_meta": { "dev.skillwire/provenance": { "version": "9.9.9" } } });
    scene.hub.clear_faults();
    scene.hub.set_fault(Fault::entry(REFUNDS, claims));
    let text = scene.user.run_ok(&["show", "hub:refunds"]).await;
    assert!(text.contains("carries no signed decision") && !text.contains("9.9.9"), "{text}");
}

#[tokio::test]
async fn without_a_trusted_key_a_decision_is_not_even_read_and_a_key_counts_for_its_server_alone() {
    let scene = Scene::trusting(&[]).await;
    scene.carry(REFUNDS, &scene.decision(REFUNDS), &[1]);
    assert_eq!(scene.load().await, 4);
    assert_eq!(scene.decision_row().await, Value::Null);
    let file = key_file(&scene.user, 1);
    scene.user.run_ok(&["server", "trust", "hub", &file]).await;
    assert_eq!(scene.load().await, 0);
    // The same server under another label, for which no key is trusted.
    let url = scene.listening.url();
    scene.user.run_ok(&["server", "add", "other", &url, "--no-connect"]).await;
    scene.user.run(&["load", "other:refunds"]).await.assert_exit(4);
    let listed = scene.user.run_json(&["server", "list", "--json"]).await;
    assert_eq!(listed[0]["trustKeys"], json!([key(1).public().to_line()]));
    assert_eq!(listed[1]["trustKeys"], Value::Null);
}

#[tokio::test]
async fn what_a_key_decided_ends_with_the_key_with_the_decision_and_when_the_hub_takes_it_back() {
    let scene = Scene::trusting(&[1, 2]).await;
    let decision = scene.decision(REFUNDS);
    scene.carry(REFUNDS, &decision, &[1]);
    assert_eq!(scene.load().await, 0);
    // The hub takes its decision back: the same bytes, and no decision.
    scene.hub.clear_faults();
    assert_eq!(scene.load().await, 4);
    assert_eq!(scene.user.state_of("hub:refunds").await, "new");
    // While a hub changes its key, it signs with both; then the new one alone.
    scene.carry(REFUNDS, &decision, &[1, 2]);
    assert_eq!(scene.load().await, 0);
    scene.carry(REFUNDS, &decision, &[2]);
    assert_eq!(scene.load().await, 0);
    // The user stops trusting the key that decided.
    let new = key_file(&scene.user, 2);
    scene.carry(REFUNDS, &decision, &[1]);
    scene.user.run_ok(&["server", "trust", "hub", &new]).await;
    assert_eq!(scene.load().await, 4);
    scene.carry(REFUNDS, &decision, &[2]);
    assert_eq!(scene.load().await, 0);
    scene.user.run_ok(&["server", "trust", "hub", "--none"]).await;
    assert_eq!(scene.user.state_of("hub:refunds").await, "new");
    assert_eq!(scene.load().await, 4);
    // The record of a decision that has ended approves nothing, even while the hub is away.
    scene.user.run_ok(&["server", "trust", "hub", &new]).await;
    assert_eq!(scene.load().await, 0);
    let offline = &["load", "hub:refunds", "--offline"];
    scene.user.run_ok(offline).await;
    let record = scene.user.state("approvals/hub/skill=3a++acme+refunds.json");
    let mut text: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    text["approval"]["signer"]["until"] = json!("2020-01-01T00:00:00Z");
    fs::write(&record, text.to_string()).unwrap();
    scene.user.run(offline).await.assert_exit(4);
}

#[tokio::test]
async fn a_decision_covers_no_scripts_tools_inner_skills_or_skills_without_digests() {
    let scene = Scene::trusting(&[1]).await;
    let text = skill_with("refunds", "allowed-tools: Read Write\n");
    scene.hub.set_skill("acme/refunds", [("SKILL.md", &*text), ("scripts/a.sh", "echo hello\n")]);
    scene.carry(REFUNDS, &scene.decision(REFUNDS), &[1]);
    assert_eq!(scene.load().await, 0);
    let refused = scene.user.run(&["run", "hub:refunds", "scripts/a.sh"]).await;
    assert!(refused.stderr.contains("not_granted") && refused.stdout.is_empty(), "{refused:?}");
    let shown = scene.user.run_json(&["show", "hub:refunds", "--json"]).await;
    assert_eq!(shown["grants"], json!({}));
    // A skill inside another one of the server.
    scene.hub.set_skill("acme/refunds/inner", [("x", "x")]);
    let inner = "skill://acme/refunds/inner/SKILL.md";
    scene.carry(inner, &scene.decision(inner), &[1]);
    scene.user.run(&["load", "hub:inner"]).await.assert_exit(4);
    // A skill without digests.
    let dynamic = json!({ "resources": "dynamic" });
    scene.carry(REFUNDS, &scene.decision(REFUNDS), &[1]);
    scene.hub.set_fault(Fault::entry(REFUNDS, dynamic));
    scene.user.run(&["load", "hub:acme/refunds", "--allow-dynamic"]).await.assert_exit(4);
}

#[tokio::test]
async fn the_users_own_no_counts_more_than_a_decision() {
    let scene = Scene::trusting(&[1]).await;
    scene.carry(REFUNDS, &scene.decision(REFUNDS), &[1]);
    assert_eq!(scene.load().await, 0);
    scene.user.run_ok(&["revoke", "hub:refunds"]).await;
    assert_eq!(scene.load().await, 4);
    let scene = Scene::trusting(&[1]).await;
    scene.carry(REFUNDS, &scene.decision(REFUNDS), &[1]);
    scene.user.run_ok(&["disable", "hub:refunds"]).await;
    assert_eq!(scene.load().await, 8);
}

#[tokio::test]
async fn a_lock_file_carries_the_keys_and_takes_decisions_about_skills_that_it_does_not_list() {
    let scene = Scene::trusting(&[1]).await;
    scene.carry(REFUNDS, &scene.decision(REFUNDS), &[1]);
    assert_eq!(scene.load().await, 0);
    let user = &scene.user;
    assert_eq!(user.run_ok(&["lock"]).await, "Wrote 0 approved skills to `skillwire.lock`.\n");
    let text = fs::read_to_string(user.home.join("work/skillwire.lock")).unwrap();
    assert!(text.contains(&key(1).public().to_line()), "{text}");

    // Another machine, whose user trusts nothing.
    let agent = TestUser::new();
    agent.add_http_server("hub", &scene.listening).await;
    agent.home.file("work/skillwire.lock", &text);
    let load = ["load", "hub:refunds", "--lock", "skillwire.lock"];
    agent.run(&load[..2]).await.assert_exit(4);
    agent.run_ok(&load).await;
    let named = format!("hub:{REFUNDS}");
    agent.run_ok(&["load", &named, "--lock", "skillwire.lock"]).await;
    scene.hub.clear_faults();
    agent.run(&load).await.assert_refused(4, "not_locked");
    // A skill that the lock lists stays at the content that it lists.
    user.run_ok(&["revoke", "hub:refunds"]).await;
    user.approve("hub:refunds").await;
    user.run_ok(&["lock"]).await;
    scene.hub.rotate("skill://acme/refunds/policy.md", "Within 90 days.\n");
    scene.carry(REFUNDS, &scene.decision(REFUNDS), &[1]);
    user.run(&load).await.assert_refused(4, "policy.md` changed");
    agent.home.file("work/skillwire.lock", text.replace("ed25519:", "ed25519:x"));
    agent.run(&load).await.assert_refused(2, "trusted key of `hub` cannot be used");
}
