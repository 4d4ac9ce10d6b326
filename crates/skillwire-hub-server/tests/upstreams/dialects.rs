//! Upstreams that speak older dialects, and web sites that publish skills.

use serde_json::json;
use skillwire_core::Digest;
use skillwire_hub::{UpstreamMode, UpstreamSource};
use skillwire_testkit::{
    HostileServer, OlderDialect, WebSite,
    archives::{TarMember, gzip, refunds, tar},
};

use crate::support::Hub;

const OWN: &str = "/mcp/u/docs";
const ROOT: &str = "skill://acme/billing/refunds";
const FLAT: &str = "skill://refunds";

/// Each dialect, the root of its skill, and whether it names a digest for every file.
const DIALECTS: [(OlderDialect, &str, bool); 14] = [
    (OlderDialect::Draft, ROOT, false),
    (OlderDialect::Index, ROOT, false),
    (OlderDialect::IndexOfFiles, ROOT, false),
    (OlderDialect::IndexOfArchives, ROOT, false),
    (OlderDialect::EarlyIndex, ROOT, false),
    (OlderDialect::EarlyIndexWithoutDigests, ROOT, false),
    (OlderDialect::EarlyIndexOfArchives, ROOT, true),
    (OlderDialect::ScopedList, ROOT, false),
    (OlderDialect::Sep2076, FLAT, false),
    (OlderDialect::SkillsPage, FLAT, false),
    (OlderDialect::FastMcp, FLAT, true),
    (OlderDialect::Skilljack, FLAT, false),
    (OlderDialect::SkillsOverMcp, FLAT, false),
    (OlderDialect::PlainResources, FLAT, false),
];

fn older(url: String) -> UpstreamSource {
    UpstreamSource::Mcp { url, headers: std::collections::BTreeMap::new(), older: true }
}

/// The same skill among all upstreams.
fn among_all(uri: &str) -> String {
    uri.replace("skill://", "skill://docs/")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_every_older_dialect_are_passed_on_and_reviewed_where_they_name_digests() {
    let (path, text) = refunds()[1];
    for (dialect, root, whole) in DIALECTS {
        let (hub, server) = (Hub::start().await, HostileServer::with_dialect(dialect));
        let listening = server.http().await;
        hub.add("docs", older(listening.url()), UpstreamMode::Passthrough).await;
        let (skill, file) = (format!("{root}/SKILL.md"), format!("{root}/{path}"));
        hub.lists(OWN, &[&skill]).await;
        hub.reads(OWN, &file, Ok(text)).await;
        if whole {
            hub.lists("/mcp", &[&among_all(&skill)]).await;
            hub.reads("/mcp", &among_all(&file), Ok(text)).await;
        } else {
            // What its server may change at any time is at its own address alone, and is not reviewed.
            hub.lists("/mcp", &[]).await;
        }
        hub.set_mode("docs", UpstreamMode::Pin).await;
        hub.lists(OWN, &[]).await;
        if !whole {
            assert!(hub.read(OWN, &file).await.is_err(), "{dialect:?}");
            hub.waiting(0).await;
            continue;
        }
        hub.approve(1).await;
        hub.lists(OWN, &[&skill]).await;
        drop(listening);
        assert_eq!(hub.read(OWN, &file).await.as_deref(), Ok(text), "{dialect:?}");
        assert_eq!(hub.read("/mcp", &among_all(&file)).await.as_deref(), Ok(text), "{dialect:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_web_site_is_passed_on_reviewed_and_pinned() {
    let archive = gzip(&tar(&refunds().map(|(path, text)| TarMember::file(path, text))), 6);
    let place = "/.well-known/agent-skills/";
    let entry = json!({
        "name": "refunds", "type": "archive", "url": "refunds.tar.gz",
        "description": "Handle a customer refund by the book. Use when money goes back.",
        "digest": Digest::of(&archive).to_string(),
    });
    let index = json!({ "skills": [entry] }).to_string();
    let site = WebSite::new()
        .file(&format!("{place}index.json"), "application/json", index)
        .file(&format!("{place}refunds.tar.gz"), "application/gzip", archive)
        .serve()
        .await;
    let (path, text) = refunds()[1];
    let (skill, file) = (format!("{FLAT}/SKILL.md"), format!("{FLAT}/{path}"));
    for mode in UpstreamMode::ALL {
        let hub = Hub::start().await;
        let source = UpstreamSource::WellKnown { url: site.url().to_owned() };
        hub.add("docs", source, mode).await;
        if mode.is_reviewed() {
            assert_eq!(hub.waiting(1).await[0].skill.uri.as_str(), skill);
            hub.lists(OWN, &[]).await;
            hub.approve(1).await;
        }
        hub.lists(OWN, &[&skill]).await;
        hub.lists("/mcp", &[&among_all(&skill)]).await;
        hub.reads(OWN, &file, Ok(text)).await;
        hub.reads("/mcp", &among_all(&file), Ok(text)).await;
    }
}
