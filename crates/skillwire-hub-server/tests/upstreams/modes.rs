//! Each mode against an upstream that stays, changes, lies, hangs and goes away.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::Value;
use skillwire_attest::SIGNATURE_FILE;
use skillwire_hub::{Caller, Role, UpstreamMode, UpstreamSource};
use skillwire_hub_server::HubAccess;
use skillwire_testkit::{Fault, HostileServer, ReplyGate, ScriptedReply, skill_md};

use crate::support::{Hub, signature};

const OWN: &str = "/mcp/u/docs";
const FILE: &str = "skill://guides/pdf/notes.md";
const SKILL: &str = "skill://guides/pdf/SKILL.md";
const PREFIXED: &str = "skill://docs/guides/pdf/SKILL.md";
const NOT_FOUND: i64 = -32602;

fn server() -> HostileServer {
    HostileServer::new().skill("guides/pdf", [("notes.md", "one")])
}

/// A hub whose upstream `docs` was approved, if its mode wants that.
async fn served(mode: UpstreamMode) -> (Hub, HostileServer, skillwire_testkit::ListeningServer) {
    let (hub, server) = (Hub::start().await, server());
    let listening = server.http().await;
    hub.add("docs", UpstreamSource::mcp(listening.url()), mode).await;
    if mode.is_reviewed() {
        hub.waiting(1).await;
        assert_eq!(hub.uris(OWN).await, [""; 0], "hidden until decided");
        assert_eq!(hub.read(OWN, FILE).await, Err(NOT_FOUND));
        hub.approve(1).await;
    }
    hub.lists(OWN, &[SKILL]).await;
    hub.lists("/mcp", &[PREFIXED]).await;
    assert_eq!(hub.read(OWN, FILE).await.as_deref(), Ok("one"));
    assert_eq!(hub.read("/mcp", "skill://docs/guides/pdf/notes.md").await.as_deref(), Ok("one"));
    (hub, server, listening)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_fetched_before_a_client_reads_gw_15() {
    for mode in [UpstreamMode::Passthrough, UpstreamMode::Observe] {
        let (hub, server) = (Hub::start().await, server());
        let listening = server.http().await;
        hub.add("docs", UpstreamSource::mcp(listening.url()), mode).await;
        hub.lists(OWN, &[SKILL]).await;
        server.wait_for("skills/list", 3).await;
        assert_eq!(server.count("resources/read"), 0, "{mode}");
        assert_eq!(hub.read(OWN, FILE).await.as_deref(), Ok("one"));
        assert_eq!(server.count("resources/read"), 1, "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unchanged_upstream_is_fetched_once() {
    for mode in [UpstreamMode::Admit, UpstreamMode::Pin] {
        let (hub, server, _listening) = served(mode).await;
        let (lists, reads) = (server.count("skills/list"), server.count("resources/read"));
        server.wait_for("skills/list", lists + 4).await;
        assert_eq!(hub.read(OWN, FILE).await.as_deref(), Ok("one"), "{mode}");
        assert_eq!(hub.uris("/mcp").await, [PREFIXED], "{mode}");
        assert_eq!(server.count("resources/read"), reads, "{mode}");
        hub.waiting(0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_file_is_served_hidden_or_kept_back_by_mode() {
    for mode in UpstreamMode::ALL {
        let (hub, server, _listening) = served(mode).await;
        server.rotate(FILE, "two");
        match mode {
            UpstreamMode::Passthrough | UpstreamMode::Observe => {
                hub.reads(OWN, FILE, Ok("two")).await;
            }
            UpstreamMode::Admit => {
                hub.lists(OWN, &[]).await;
                hub.lists("/mcp", &[]).await;
                assert_eq!(hub.read(OWN, FILE).await, Err(NOT_FOUND));
                hub.approve(1).await;
                hub.reads(OWN, FILE, Ok("two")).await;
                // What was approved before is served again once it is offered again.
                server.rotate(FILE, "one");
                hub.reads(OWN, FILE, Ok("one")).await;
            }
            UpstreamMode::Pin => {
                hub.waiting(1).await;
                assert_eq!(hub.uris(OWN).await, [SKILL]);
                assert_eq!(hub.read(OWN, FILE).await.as_deref(), Ok("one"));
                hub.approve(1).await;
                hub.reads(OWN, FILE, Ok("two")).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_added_file_and_changed_frontmatter_are_new_content() {
    for mode in [UpstreamMode::Admit, UpstreamMode::Pin] {
        for what in ["a file", "frontmatter"] {
            let (hub, server, _listening) = served(mode).await;
            let other = skill_md("pdf").replace("Does pdf", "Does something else");
            match what {
                "a file" => {
                    server.set_skill("guides/pdf", [("notes.md", "one"), ("more.md", "x")]);
                }
                _ => server.set_skill("guides/pdf", [("notes.md", "one"), ("SKILL.md", &other)]),
            }
            hub.waiting(1).await;
            let expected: &[&str] = if mode == UpstreamMode::Pin { &[SKILL] } else { &[] };
            hub.lists(OWN, expected).await;
            let more = hub.read(OWN, "skill://guides/pdf/more.md").await;
            assert_eq!(more, Err(NOT_FOUND), "{mode} {what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_added_file_and_changed_frontmatter_are_served_at_once_unreviewed() {
    for mode in [UpstreamMode::Passthrough, UpstreamMode::Observe] {
        let (hub, server, _listening) = served(mode).await;
        server.set_skill("guides/pdf", [("notes.md", "one"), ("more.md", "x")]);
        hub.reads(OWN, "skill://guides/pdf/more.md", Ok("x")).await;
        let other = skill_md("pdf").replace("Does pdf", "Does something else");
        server.set_skill("guides/pdf", [("notes.md", "one"), ("SKILL.md", &other)]);
        hub.reads(OWN, SKILL, Ok(&other)).await;
        hub.reads(OWN, "skill://guides/pdf/more.md", Err(NOT_FOUND)).await;
        assert_eq!(hub.uris("/mcp").await, [PREFIXED], "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approved_content_is_served_while_the_server_hangs_or_drips() {
    for reply in SLOW {
        approved_content_is_served_while_the_server_is_slow(reply).await;
    }
}

async fn approved_content_is_served_while_the_server_is_slow(reply: fn() -> ScriptedReply) {
    let (slow, hub) = (Arc::new(AtomicBool::new(false)), Hub::start().await);
    let server = switched(&slow, reply);
    let listening = server.http().await;
    hub.add("docs", UpstreamSource::mcp(listening.url()), UpstreamMode::Admit).await;
    hub.approve(1).await;
    hub.lists(OWN, &[SKILL]).await;
    slow.store(true, Ordering::Relaxed);
    let lists = server.count("skills/list");
    server.wait_for("skills/list", lists + 2).await;
    assert_eq!(hub.read(OWN, FILE).await.as_deref(), Ok("one"));
    assert_eq!(hub.uris("/mcp").await, [PREFIXED]);
}

/// How a slow server answers: never, or with the beginning of an answer that never ends.
const SLOW: [fn() -> ScriptedReply; 2] = [
    || ScriptedReply::Never,
    || ScriptedReply::Dripped(b"{\"jsonrpc\":".to_vec(), ReplyGate::default(), Vec::new()),
];

/// A server that answers otherwise about skills while the flag is set.
fn switched(flag: &Arc<AtomicBool>, reply: fn() -> ScriptedReply) -> HostileServer {
    let flag = Arc::clone(flag);
    let answer = move |_: &_, _| {
        if flag.load(Ordering::Relaxed) { reply() } else { ScriptedReply::Honest }
    };
    server().on("skills/list", answer.clone()).on("resources/read", answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_skill_is_gone_unless_it_is_pinned() {
    for mode in UpstreamMode::ALL {
        let (hub, server, _listening) = served(mode).await;
        server.remove(SKILL);
        if mode == UpstreamMode::Pin {
            let lists = server.count("skills/list");
            server.wait_for("skills/list", lists + 3).await;
            assert_eq!(hub.read(OWN, FILE).await.as_deref(), Ok("one"));
            assert_eq!(hub.uris("/mcp").await, [PREFIXED]);
        } else {
            hub.lists(OWN, &[]).await;
            hub.lists("/mcp", &[]).await;
            hub.reads(OWN, FILE, Err(NOT_FOUND)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approved_content_is_served_while_the_server_is_gone_and_other_is_not() {
    for mode in UpstreamMode::ALL {
        let (gone, hub) = (Arc::new(AtomicBool::new(false)), Hub::start().await);
        let server = switched(&gone, || ScriptedReply::CutOff(Vec::new()));
        let listening = server.http().await;
        hub.add("docs", UpstreamSource::mcp(listening.url()), mode).await;
        if mode.is_reviewed() {
            hub.approve(1).await;
        }
        hub.lists(OWN, &[SKILL]).await;
        hub.lists("/mcp", &[PREFIXED]).await;
        // Open connections end with the next request, and no other is accepted.
        gone.store(true, Ordering::Relaxed);
        drop(listening);
        for _ in 0..20 {
            match hub.read(OWN, FILE).await {
                Ok(text) => assert!(mode.is_reviewed() && text == "one", "{mode} {text}"),
                Err(code) => {
                    assert!(!mode.is_reviewed(), "{mode} {code}");
                    assert_ne!(code, NOT_FOUND, "{mode}: what is listed is not unknown");
                }
            }
            assert_eq!(hub.uris(OWN).await, [SKILL], "{mode}");
        }
        assert_eq!(hub.uris("/mcp").await, [PREFIXED], "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lies_about_its_bytes_gets_none_of_them_through_gw_18() {
    for mode in UpstreamMode::ALL {
        let (hub, server, _listening) = served(mode).await;
        // The entry names new bytes, and reads return others.
        server.rotate(FILE, "two");
        server.set_fault(Fault::read_bytes(FILE, "evil"));
        let lists = server.count("skills/list");
        server.wait_for("skills/list", lists + 4).await;
        match mode {
            UpstreamMode::Pin => {
                assert_eq!(hub.read(OWN, FILE).await.as_deref(), Ok("one"));
            }
            UpstreamMode::Admit => {
                hub.lists(OWN, &[]).await;
                assert_eq!(hub.read(OWN, FILE).await, Err(NOT_FOUND));
            }
            _ => assert!(hub.read(OWN, FILE).await.is_err(), "{mode}"),
        }
        if mode.is_reviewed() {
            hub.waiting(0).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_that_cannot_be_fetched_is_named_to_reviewers_alone() {
    let (hub, server, _listening) = served(UpstreamMode::Pin).await;
    hub.store
        .grant(&hub.admin, &"docs".parse().unwrap(), &"rex".parse().unwrap(), Role::Reviewer)
        .await
        .unwrap();
    let (rex, ana) = (hub.token("rex").await, hub.token("ana").await);
    let status = async |token: &str| hub.api(token, "/upstreams/docs").await.1["status"].clone();
    let until = async |count: u64| {
        let start = std::time::Instant::now();
        loop {
            let status = status(&rex).await;
            if status["unfetched"] == count {
                return status;
            }
            assert!(start.elapsed().as_secs() < 20, "{status}");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    until(0).await;
    server.set_fault(Fault::read_bytes(FILE, "evil"));
    server.rotate(FILE, "two");
    let told = until(1).await;
    let skill = &told["unfetched_skills"][0];
    assert_eq!(skill["skill"], SKILL, "{told}");
    assert!(!skill["reason"].as_str().unwrap().is_empty(), "{told}");
    assert_eq!(told["health"], "answering", "the listing is fine");
    // Who does not review is told nothing of content that waits.
    let hidden = status(&ana).await;
    assert_eq!(hidden["unfetched"], 0, "{hidden}");
    assert_eq!(hidden["unfetched_skills"], Value::Null, "{hidden}");
    server.clear_faults();
    server.rotate(FILE, "three");
    hub.waiting(1).await;
    until(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_is_tried_on_skills_that_nobody_reviewed() {
    let (hub, _server, _listening) = served(UpstreamMode::Passthrough).await;
    let (access, caller) = (HubAccess::default(), Caller::anonymous());
    let skill = "docs/pdf".parse().unwrap();
    let start = std::time::Instant::now();
    let explained = loop {
        let found = skillwire_hub_server::explain(&hub.store, &access, &caller, &skill).await;
        if let Some(explained) = found.unwrap() {
            break explained;
        }
        assert!(start.elapsed().as_secs() < 20, "the listing is not kept");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    let facts = &explained.facts;
    assert_eq!((facts.state.as_str(), facts.origin.as_str()), ("unreviewed", "docs"));
    assert!(!facts.dynamic && !facts.has_scripts, "{facts:?}");
    assert!(explained.decision.allowed, "everybody may read the upstream");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_server_delays_neither_pinned_skills_nor_others_gw_23() {
    for reply in SLOW {
        a_slow_server_delays_nothing(reply).await;
    }
}

async fn a_slow_server_delays_nothing(reply: fn() -> ScriptedReply) {
    let slow = Arc::new(AtomicBool::new(false));
    let hub = Hub::start().await;
    let hanging = switched(&slow, reply);
    let other = HostileServer::new().skill("other", [("notes.md", "other")]);
    let (one, two) = (hanging.http().await, other.http().await);
    hub.add("docs", UpstreamSource::mcp(one.url()), UpstreamMode::Pin).await;
    hub.add("live", UpstreamSource::mcp(one.url()), UpstreamMode::Passthrough).await;
    hub.add("fine", UpstreamSource::mcp(two.url()), UpstreamMode::Passthrough).await;
    hub.approve(1).await;
    hub.lists("/mcp/u/live", &[SKILL]).await;
    hub.lists("/mcp/u/fine", &["skill://other/SKILL.md"]).await;
    hub.lists(OWN, &[SKILL]).await;
    slow.store(true, Ordering::Relaxed);
    let start = std::time::Instant::now();
    for _ in 0..10 {
        assert_eq!(hub.read(OWN, FILE).await.as_deref(), Ok("one"));
        let fine = hub.read("/mcp/u/fine", "skill://other/notes.md").await;
        assert_eq!(fine.as_deref(), Ok("other"));
    }
    assert!(start.elapsed().as_millis() < 2_000, "{:?}", start.elapsed());
    assert!(hub.read("/mcp/u/live", FILE).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_observed_upstream_leaves_a_record_of_what_is_new() {
    let (hub, server, _listening) = served(UpstreamMode::Observe).await;
    server.rotate(FILE, "two");
    hub.reads(OWN, FILE, Ok("two")).await;
    let start = std::time::Instant::now();
    loop {
        let filter = skillwire_hub::AuditFilter::default();
        let page = skillwire_hub::PageRequest::first(100);
        let log = hub.store.audit(&hub.admin, &filter, &page).await.unwrap();
        let observed = log.items.iter().filter(|entry| {
            entry.action == skillwire_hub::AuditAction::Offer && entry.details.contains("observed")
        });
        if observed.count() == 2 {
            return;
        }
        assert!(start.elapsed().as_secs() < 20, "the second content was never recorded");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn content_that_another_key_signed_is_new_content_that_no_rule_approves() {
    let skill = skill_md("pdf");
    let put = |server: &HostileServer, signer: &str, notes: &str| {
        let files = [("SKILL.md", skill.as_str()), ("notes.md", notes)];
        let signature = signature(signer, &files);
        let [skill, notes] = files;
        server.set_skill("guides/pdf", [skill, notes, (SIGNATURE_FILE, signature.as_str())]);
        signature
    };
    let signature_uri = format!("skill://guides/pdf/{SIGNATURE_FILE}");
    for mode in UpstreamMode::ALL {
        let (hub, server) = (Hub::start().await, HostileServer::new());
        put(&server, "team", "one");
        let listening = server.http().await;
        hub.add("docs", UpstreamSource::mcp(listening.url()), mode).await;
        hub.trusts_the_same_signer("docs").await;
        if mode.is_reviewed() {
            let first = hub.waiting(1).await;
            assert!(first[0].facts.signers.iter().eq(["team"]), "{:?}", first[0].facts);
            hub.approve(1).await;
        }
        hub.lists(OWN, &[SKILL]).await;
        // The same signer signs another content: the rule approves it.
        let by_team = put(&server, "team", "two");
        hub.reads(OWN, FILE, Ok("two")).await;
        hub.waiting(0).await;
        // Another key signs the very same files.
        let by_stranger = put(&server, "stranger", "two");
        if !mode.is_reviewed() {
            hub.reads(OWN, &signature_uri, Ok(&by_stranger)).await;
            continue;
        }
        let waiting = hub.waiting(1).await;
        assert!(waiting[0].facts.signers.iter().eq(["stranger"]), "{:?}", waiting[0].facts);
        if mode == UpstreamMode::Pin {
            hub.reads(OWN, &signature_uri, Ok(&by_team)).await;
            hub.reads(OWN, FILE, Ok("two")).await;
            hub.lists("/mcp", &[PREFIXED]).await;
        } else {
            hub.lists(OWN, &[]).await;
            hub.lists("/mcp", &[]).await;
            assert_eq!(hub.read(OWN, FILE).await, Err(NOT_FOUND));
        }
        // A signature over other files is no signature at all.
        let forged = [
            ("SKILL.md", skill.as_str()),
            ("notes.md", "three"),
            (SIGNATURE_FILE, by_team.as_str()),
        ];
        server.set_skill("guides/pdf", forged);
        let start = std::time::Instant::now();
        while !hub.waiting(1).await[0].facts.signers.is_empty() {
            assert!(start.elapsed().as_secs() < 20, "the forged content never waits");
        }
        hub.approve(1).await;
        hub.reads(OWN, FILE, Ok("three")).await;
    }
}
