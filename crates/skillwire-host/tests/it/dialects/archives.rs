//! Skills in archives of servers.

use serde_json::{Value, json};
use skillwire_core::Digest;
use skillwire_testkit::{HostileServer, OlderDialect, archives::corpus};
use skillwire_trust::Reason;

use super::legacy_host;
use crate::support::{Shortcuts, label};

const ARCHIVE: &str = "skill://acme/billing/refunds.tar.gz";

fn index(entry: &Value) -> String {
    json!({ "skills": [entry] }).to_string()
}

#[tokio::test]
async fn every_hostile_archive_of_a_server_is_refused_with_its_reason_ar_15() {
    for sample in corpus() {
        let url = format!("skill://acme/billing/{}", sample.name);
        let digest = Digest::of(&sample.bytes).to_string();
        let server = HostileServer::with_dialect(OlderDialect::EarlyIndexOfArchives)
            .resource(&url, sample.bytes);
        let entry = json!({
            "name": "refunds", "type": "archive", "url": url, "digest": digest,
            "description": "Handle a customer refund by the book. Use when money goes back.",
        });
        server.set_resource("skill://index.json", index(&entry));
        let host = legacy_host(&server);
        let named = host.named("acme:refunds").await;
        let refused = named.as_ref().err().map(|refusal| refusal.reason.code());
        assert_eq!(refused, sample.refused, "{}", sample.name);
    }
}

#[tokio::test]
async fn reads_come_from_the_opened_copy_and_never_live_ar_12() {
    let server = HostileServer::with_dialect(OlderDialect::EarlyIndexOfArchives)
        .resource("skill://acme/billing/refunds/examples/email.md", "live and different");
    let host = legacy_host(&server);
    let window = host.window("acme:refunds").await.unwrap();
    let reads = server.count("resources/read");
    let file = window.read("examples/email.md").await.unwrap();
    assert!(file.bytes().starts_with(b"Hello"));
    assert_eq!(server.count("resources/read"), reads);
    assert_eq!(window.read("unlisted.md").await.unwrap_err().reason, Reason::FileNotListed);
}

#[tokio::test]
async fn an_archive_that_lies_about_its_digest_is_not_opened_d3() {
    let server = HostileServer::with_dialect(OlderDialect::EarlyIndexOfArchives);
    server.set_resource(ARCHIVE, corpus()[0].bytes.clone());
    let refusal = legacy_host(&server).named("acme:refunds").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::DigestMismatch);
}

#[tokio::test]
async fn an_archive_whose_address_says_nothing_is_a_skill_of_its_own_d2() {
    let sample = corpus().remove(0);
    let entry = |url: &str| {
        json!({
            "frontmatter": {
                "name": "refunds", "license": "Apache-2.0", "metadata": { "version": "2.1.0" },
                "description": "Handle a customer refund by the book. Use when money goes back.",
            },
            "archives": [
                { "url": "skill://x.rar", "mimeType": "application/vnd.rar" },
                { "url": url, "mimeType": "application/gzip" },
            ],
        })
    };
    let (one, two) = ("skill://downloads/1", "skill://downloads/2");
    let server = HostileServer::with_dialect(OlderDialect::IndexOfArchives)
        .resource(one, sample.bytes.clone())
        .resource(two, sample.bytes);
    let document = json!({ "skills": [entry(one), entry(two)] }).to_string();
    server.set_resource("skill://index.json", document);
    let host = legacy_host(&server);
    let listing = host.list(&label("acme")).await.unwrap();
    assert_eq!(listing.skills.len(), 2, "{:?}", listing.refused);
    assert_eq!(host.named("acme:refunds").await.unwrap_err().reason, Reason::NameAmbiguous);
    let handle = format!("acme:{}", listing.skills[1].id().uri);
    let listed = host.named(&handle).await.unwrap();
    assert!(listed.integrity().is_first_seen(), "an archive without a digest");
    assert!(host.window(&handle).await.unwrap().read("scripts/calc.py").await.is_ok());
}

#[tokio::test]
async fn a_server_whose_archives_are_refused_has_no_more_of_them_opened_ar_09() {
    let bad = corpus().into_iter().find(|sample| sample.name == "bad-fifo.tar.gz").unwrap();
    let server = HostileServer::with_dialect(OlderDialect::EarlyIndexOfArchives);
    server.set_resource(ARCHIVE, bad.bytes.clone());
    let entry = json!({
        "name": "refunds", "type": "archive", "url": ARCHIVE, "description": "x",
        "digest": Digest::of(&bad.bytes).to_string(),
    });
    server.set_resource("skill://index.json", index(&entry));
    let host = legacy_host(&server);
    for _ in 0..4 {
        let refusal = host.named("acme:refunds").await.unwrap_err();
        assert_eq!(refusal.reason, Reason::ArchiveSpecial);
    }
    let refusal = host.named("acme:refunds").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::BudgetExhausted);
}
