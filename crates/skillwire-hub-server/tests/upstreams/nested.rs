//! Skills inside other skills of an upstream: a denied one is not readable through the one around it.

use serde_json::json;
use skillwire_hub::{UpstreamMode, UpstreamSource, Verdict};
use skillwire_hub_store::OfferDecision;
use skillwire_testkit::{HostileServer, skill_md};

use crate::support::{Hub, SkillForAnaAlone};

const MOUNTS: [(&str, &str); 2] = [("/mcp/u/docs", "skill://"), ("/mcp", "skill://docs/")];
const OUTER: &str = "guides/outer/SKILL.md";
const INNER: &str = "guides/outer/inner/SKILL.md";
const PLAIN: &str = "plain/SKILL.md";
const NOT_FOUND: i64 = -32602;

/// A server with a skill inside another one, and one beside both.
fn server() -> HostileServer {
    let server = with_outer();
    server.set_skill("guides/outer/inner", [("x.md", "secret")]);
    server
}

fn with_outer() -> HostileServer {
    let inner = skill_md("inner");
    let files = [("a.md", "a"), ("inner/SKILL.md", inner.as_str()), ("inner/x.md", "secret")];
    HostileServer::new().skill("guides/outer", files).skill("plain", [("b.md", "b")])
}

impl Hub {
    /// Waits until both mounts list exactly these skills.
    async fn both_list(&self, expected: &[&str]) {
        for (mount, prefix) in MOUNTS {
            let uris: Vec<String> = expected.iter().map(|path| format!("{prefix}{path}")).collect();
            self.lists(mount, &uris.iter().map(String::as_str).collect::<Vec<_>>()).await;
        }
    }

    /// Asserts that nothing of the outer skill is there at either mount: every method answers as for a skill
    /// that does not exist.
    async fn knows_neither(&self) {
        self.both_list(&[PLAIN]).await;
        for (mount, prefix) in MOUNTS {
            for path in [OUTER, INNER, "guides/outer/a.md", "guides/outer/inner/x.md"] {
                let uri = format!("{prefix}{path}");
                for method in ["resources/read", "skills/get"] {
                    let ask = async |uri: &str| {
                        let reply = self.ask(mount, method, json!({"uri": uri})).await.unwrap();
                        assert_eq!(reply.code(), NOT_FOUND, "{method} {mount} {uri}");
                        reply.0.to_string()
                    };
                    let unknown = uri.replace("outer", "other");
                    let same = ask(&uri).await.replace("outer", "other");
                    assert_eq!(same, ask(&unknown).await, "{method} {mount} {uri}");
                }
            }
        }
    }

    async fn decide(&self, path: &str, verdict: Verdict) {
        let offers = self.store.offers_of(&"docs".parse().unwrap(), None).await.unwrap();
        let uri = format!("skill://{path}");
        let found = offers.iter().find(|it| it.skill.uri.as_str() == uri && it.offered);
        let decision = OfferDecision::new(verdict, "read it");
        self.store.decide_offer(&self.admin, found.unwrap().id, decision).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_around_one_that_is_not_approved_is_hidden_at_both_mounts_gw_17_g_07() {
    for mode in [UpstreamMode::Admit, UpstreamMode::Pin] {
        let (hub, server) = (Hub::start().await, server());
        let listening = server.http().await;
        hub.add("docs", UpstreamSource::mcp(listening.url()), mode).await;
        hub.waiting(3).await;
        hub.decide(OUTER, Verdict::Approve).await;
        hub.decide(PLAIN, Verdict::Approve).await;
        hub.knows_neither().await;
        hub.decide(INNER, Verdict::Approve).await;
        hub.both_list(&[OUTER, INNER, PLAIN]).await;
        for (mount, prefix) in MOUNTS {
            let read = hub.read(mount, &format!("{prefix}guides/outer/inner/x.md")).await;
            assert_eq!(read.as_deref(), Ok("secret"), "{mode} {mount}");
        }
        hub.decide(INNER, Verdict::Reject).await;
        hub.knows_neither().await;
        // The rejected content is not kept once the upstream moves on, and the outer skill may be pinned. This
        // takes the file out of the outer skill, too.
        server.remove("skill://guides/outer/inner/SKILL.md");
        server.set_skill("plain", [("b.md", "changed")]);
        hub.waiting(2).await;
        hub.decide(PLAIN, Verdict::Approve).await;
        hub.reads("/mcp", "skill://docs/plain/b.md", Ok("changed")).await;
        hub.knows_neither().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_upstream_lists_inside_a_pinned_skill_later_takes_nothing_away() {
    let (hub, server) = (Hub::start().await, with_outer());
    let listening = server.http().await;
    hub.add("docs", UpstreamSource::mcp(listening.url()), UpstreamMode::Pin).await;
    hub.approve(2).await;
    hub.both_list(&[OUTER, PLAIN]).await;
    server.set_skill("guides/outer/inner", [("x.md", "secret")]);
    hub.waiting(1).await;
    hub.both_list(&[OUTER, PLAIN]).await;
    hub.decide(INNER, Verdict::Reject).await;
    hub.knows_neither().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_around_one_that_a_policy_hides_is_hidden_from_the_same_callers_gw_17_g_07() {
    for mode in [UpstreamMode::Passthrough, UpstreamMode::Observe, UpstreamMode::Pin] {
        let (hub, server) = (Hub::with_policy(SkillForAnaAlone("inner")).await, server());
        let listening = server.http().await;
        hub.add("docs", UpstreamSource::mcp(listening.url()), mode).await;
        if mode.is_reviewed() {
            hub.approve(3).await;
        }
        hub.knows_neither().await;
        let token = hub.token("ana").await;
        for (mount, prefix) in MOUNTS {
            let params = json!({"uri": format!("{prefix}guides/outer/inner/x.md")});
            let start = std::time::Instant::now();
            loop {
                let ask = hub.ask_as(Some(&token), mount, "resources/read", params.clone());
                let reply = ask.await.unwrap();
                if reply.0["result"]["contents"][0]["text"] == "secret" {
                    break;
                }
                let waited = start.elapsed().as_secs();
                assert!(waited < 20, "{mode} {mount} {}", reply.0);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_is_hidden_as_soon_as_a_hidden_one_is_listed_inside_it_gw_17() {
    let (hub, server) = (Hub::with_policy(SkillForAnaAlone("inner")).await, with_outer());
    let listening = server.http().await;
    let source = UpstreamSource::mcp(listening.url());
    hub.add("docs", source, UpstreamMode::Passthrough).await;
    hub.both_list(&[OUTER, PLAIN]).await;
    server.set_skill("guides/outer/inner", [("x.md", "secret")]);
    hub.knows_neither().await;
}
