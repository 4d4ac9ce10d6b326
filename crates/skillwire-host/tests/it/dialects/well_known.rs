//! Skills of web origins, in the three forms of their index.

use serde_json::{Value, json};
use skillwire_client::WebOrigin;
use skillwire_core::Digest;
use skillwire_dialects::Dialect;
use skillwire_host::Host;
use skillwire_testkit::{
    ServedWebSite, WebSite, archives::TarMember, archives::ZipMember, archives::gzip,
    archives::refunds, archives::tar, archives::zip,
};
use skillwire_trust::Reason;

use crate::support::{Shortcuts, label};

const NEW: &str = "/.well-known/agent-skills/";
const OLD: &str = "/.well-known/skills/";
const JSON: &str = "application/json";
const DESCRIPTION: &str = "Handle a customer refund by the book. Use when money goes back.";

fn host(site: &ServedWebSite) -> Host {
    let host = Host::builder().build();
    host.add_server(label("acme"), WebOrigin::parse(site.url()).unwrap());
    host
}

fn archive() -> Vec<u8> {
    gzip(&tar(&refunds().map(|(path, text)| TarMember::file(path, text))), 6)
}

fn digest(bytes: &[u8]) -> String {
    Digest::of(bytes).to_string()
}

fn index(skills: &Value) -> String {
    json!({ "skills": skills }).to_string()
}

/// Creates a site that publishes the files one by one.
fn files(index: &Value) -> WebSite {
    let site = WebSite::new().file(&format!("{OLD}index.json"), JSON, index.to_string());
    refunds().into_iter().fold(site, |site, (path, text)| {
        site.file(&format!("{OLD}refunds/{path}"), "text/plain", text)
    })
}

/// Creates a site with one artifact.
fn artifact(kind: &str, url: &str, bytes: Vec<u8>) -> WebSite {
    let entry = json!({
        "name": "refunds", "type": kind, "description": DESCRIPTION, "url": url,
        "digest": digest(&bytes),
    });
    WebSite::new().file(&format!("{NEW}index.json"), JSON, index(&json!([entry]))).file(
        &format!("{NEW}{}", url.rsplit('/').next().unwrap()),
        "application/gzip",
        bytes,
    )
}

#[tokio::test]
async fn d11c_an_archive_is_downloaded_once_at_activation() {
    let site = artifact("archive", "refunds.tar.gz", archive()).serve().await;
    let host = host(&site);
    let listing = host.list(&label("acme")).await.unwrap();
    assert_eq!(listing.dialect, Some(Dialect::WellKnown));
    assert_eq!(site.requests(), [format!("{NEW}index.json")], "nothing is fetched ahead");
    let window = host.window("acme:refunds").await.unwrap();
    assert!(!window.integrity().is_first_seen());
    assert!(window.read("scripts/calc.py").await.is_ok());
    assert!(window.read("examples/email.md").await.is_ok());
    let artifact = format!("{NEW}refunds.tar.gz");
    assert_eq!(site.requests().iter().filter(|path| **path == artifact).count(), 1);
}

#[tokio::test]
async fn d11c_a_single_file_has_its_digest_and_nothing_beside_it() {
    let skill_md = refunds()[0].1.as_bytes().to_vec();
    let site = artifact("skill-md", "/.well-known/agent-skills/SKILL.md", skill_md).serve().await;
    let host = host(&site);
    let window = host.window("acme:refunds").await.unwrap();
    assert!(!window.integrity().is_first_seen());
    assert_eq!(window.read("x.md").await.unwrap_err().reason, Reason::FileNotListed);
}

#[tokio::test]
async fn d11a_files_without_digests_are_first_seen_and_no_others_exist() {
    let entry = json!({
        "name": "refunds", "description": DESCRIPTION,
        "files": ["SKILL.md", "examples/email.md", "scripts/calc.py"],
    });
    let site = files(&json!({ "skills": [entry] })).serve().await;
    let window = host(&site).window("acme:refunds").await.unwrap();
    assert!(window.integrity().is_first_seen());
    assert_eq!(
        &window.read("examples/email.md").await.unwrap().bytes()[..],
        refunds()[1].1.as_bytes()
    );
    assert_eq!(window.read("other.md").await.unwrap_err().reason, Reason::FileNotListed);
}

#[tokio::test]
async fn d11b_digests_of_files_and_of_the_whole_skill_bind() {
    let listed = |bad: bool| {
        let files: Vec<_> = refunds()
            .iter()
            .map(|(path, text)| json!({ "path": path, "digest": digest(text.as_bytes()) }))
            .collect();
        let whole = if bad {
            digest(b"")
        } else {
            "sha256:29575d72792aa1d040d94de9081ac368df87e7cb3e1314788f0c1112af2e537a".to_owned()
        };
        let entry = json!({
            "name": "refunds", "description": DESCRIPTION, "digest": whole, "files": files,
        });
        json!({ "version": "0.2.0", "skills": [entry] })
    };
    let site = files(&listed(false)).serve().await;
    let window = host(&site).window("acme:refunds").await.unwrap();
    assert!(window.read("scripts/calc.py").await.is_ok());
    let site = files(&listed(true)).serve().await;
    let listing = host(&site).list(&label("acme")).await.unwrap();
    assert_eq!(listing.refused[0].reason, Reason::DigestMismatch);
    // A file differs from what the index says.
    let site = files(&listed(false)).file(&format!("{OLD}refunds/scripts/calc.py"), JSON, "evil");
    let site = site.serve().await;
    let window = host(&site).window("acme:refunds").await.unwrap();
    assert_eq!(window.read("scripts/calc.py").await.unwrap_err().reason, Reason::DigestMismatch);
}

#[tokio::test]
async fn redirects_stay_on_the_origin_d11() {
    let elsewhere = WebSite::new().file("/x", JSON, index(&json!([]))).serve().await;
    for (to, reason) in [
        (format!("{}/x", elsewhere.url()), Reason::RedirectOutside),
        ("https://127.0.0.1/x".to_owned(), Reason::RedirectOutside),
        ("http://169.254.169.254/latest".to_owned(), Reason::RedirectOutside),
        ("file:///etc/passwd".to_owned(), Reason::RedirectOutside),
        (format!("{NEW}index.json"), Reason::ProtocolError),
    ] {
        let site = WebSite::new().redirect(&format!("{NEW}index.json"), &to).serve().await;
        let refusal = host(&site).list(&label("acme")).await.unwrap_err();
        assert_eq!(refusal.reason, reason, "{to}");
    }
    assert_eq!(elsewhere.requests(), [""; 0]);
    let site = WebSite::new()
        .redirect(&format!("{NEW}index.json"), "/moved.json")
        .file("/moved.json", JSON, index(&json!([])))
        .serve()
        .await;
    assert!(host(&site).list(&label("acme")).await.is_ok());
}

#[tokio::test]
async fn an_index_does_not_lead_to_private_addresses_d11() {
    for url in [
        "http://example.com/x.tar.gz",
        "http://127.0.0.1:1/x.tar.gz",
        "file:///etc/passwd.zip",
        "https://169.254.169.254/x.zip",
        "https://[::ffff:10.0.0.1]/x.zip",
        "https://localhost/x.zip",
    ] {
        let site = artifact("archive", url, archive()).serve().await;
        let host = host(&site);
        let listing = host.list(&label("acme")).await.unwrap();
        let refusal = match listing.refused.first() {
            Some(refusal) => refusal.clone(),
            None => host.named("acme:refunds").await.unwrap_err(),
        };
        assert_eq!(refusal.reason, Reason::AddressForbidden, "{url}");
    }
}

#[tokio::test]
async fn pages_that_are_no_index_and_origins_without_one_d11() {
    let page =
        WebSite::new().file(&format!("{NEW}index.json"), "text/html", "<html>Not found</html>");
    let refusal = host(&page.serve().await).list(&label("acme")).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::SkillsNotOffered);
    let both = WebSite::new().file(&format!("{NEW}index.json"), "text/html", "<html>").file(
        &format!("{OLD}index.json"),
        JSON,
        index(&json!([])),
    );
    assert!(host(&both.serve().await).list(&label("acme")).await.is_ok());
    let broken = WebSite::new().status(&format!("{NEW}index.json"), 500).serve().await;
    assert_eq!(host(&broken).list(&label("acme")).await.unwrap_err().reason, Reason::ServerError);
    let large = WebSite::new().file(&format!("{NEW}index.json"), JSON, vec![b' '; 5 << 20]);
    let refusal = host(&large.serve().await).list(&label("acme")).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::ResponseTooLarge);
}

#[tokio::test]
async fn entries_that_point_outside_are_refused_d11() {
    for (entry, reason) in [
        (json!({ "files": ["SKILL.md", "../x"] }), Reason::ResourceOutside),
        (json!({ "files": ["SKILL.md", "/x"] }), Reason::ResourceOutside),
        (json!({ "files": ["SKILL.md", "a%2e%2e/x"] }), Reason::ResourceOutside),
        (json!({ "files": ["SKILL.md", "x?y"] }), Reason::ResourceOutside),
        (json!({ "files": ["x.md"] }), Reason::SkillFileNotListed),
        (json!({ "type": "archive", "url": "x.zip" }), Reason::DigestInvalid),
        (json!({}), Reason::EntryMalformed),
    ] {
        let mut whole = json!({ "name": "refunds", "description": DESCRIPTION });
        whole.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
        let site = WebSite::new().file(&format!("{NEW}index.json"), JSON, index(&json!([whole])));
        let listing = host(&site.serve().await).list(&label("acme")).await.unwrap();
        assert_eq!(listing.refused[0].reason, reason, "{entry}");
    }
}

/// Creates a site with an archive at a URL without an ending.
fn nameless(kind: &'static str, bytes: Vec<u8>) -> WebSite {
    let entry = json!({
        "name": "refunds", "type": "archive", "description": DESCRIPTION, "url": "download?id=7",
        "digest": digest(&bytes),
    });
    WebSite::new().file(&format!("{NEW}index.json"), JSON, index(&json!([entry]))).file(
        &format!("{NEW}download?id=7"),
        kind,
        bytes,
    )
}

#[tokio::test]
async fn d11c_an_archive_is_what_it_is_sent_as_and_then_what_its_address_ends_in() {
    let zipped = zip(&refunds().map(|(path, text)| ZipMember::new(path, text, 0o100_644)));
    for (kind, bytes) in [
        ("application/gzip", archive()),
        ("application/x-gzip; q=1", archive()),
        ("application/zip", zipped.clone()),
    ] {
        let site = nameless(kind, bytes).serve().await;
        let window = host(&site).window("acme:refunds").await;
        let window = window.unwrap_or_else(|refusal| panic!("{kind}: {refusal}"));
        assert!(window.read("scripts/calc.py").await.is_ok(), "{kind}");
    }
    // A media type that says nothing leaves the decision to the ending.
    let bytes = zipped.clone();
    let entry = json!({
        "name": "refunds", "type": "archive", "description": DESCRIPTION,
        "url": "refunds.zip?v=2", "digest": digest(&bytes),
    });
    let site = WebSite::new()
        .file(&format!("{NEW}index.json"), JSON, index(&json!([entry])))
        .file(&format!("{NEW}refunds.zip?v=2"), "application/octet-stream", bytes)
        .serve()
        .await;
    assert!(host(&site).window("acme:refunds").await.is_ok());
    // The media type decides; the ending is not tried after it.
    let site = artifact("archive", "refunds.zip", zipped).serve().await;
    let refusal = host(&site).approved_now("acme:refunds").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::ArchiveBroken);
    let site = nameless("text/html", archive()).serve().await;
    let refusal = host(&site).approved_now("acme:refunds").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::ArchiveFormat);
    assert_eq!(refusal.actual.as_deref(), Some("text/html"));
}

#[tokio::test]
async fn d11b_a_package_must_hold_exactly_the_files_that_its_entry_lists() {
    let packed = archive();
    let site = |files: &[(&str, &str)]| {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| json!({ "path": path, "digest": digest(text.as_bytes()) }))
            .collect();
        let package = json!({ "url": "refunds.tar.gz", "digest": digest(&packed) });
        let entry = json!({
            "name": "refunds", "description": DESCRIPTION, "files": files, "package": package,
        });
        let index = json!({ "version": "0.2.0", "skills": [entry] }).to_string();
        WebSite::new().file(&format!("{OLD}index.json"), JSON, index).file(
            &format!("{OLD}refunds.tar.gz"),
            "application/gzip",
            packed.clone(),
        )
    };
    let all = refunds();
    let serving = site(&all).serve().await;
    let window = host(&serving).window("acme:refunds").await.unwrap();
    assert!(!window.integrity().is_first_seen());
    let (more, other) =
        ([all[0], all[1], all[2], ("x.md", "x")], [all[0], all[1], (all[2].0, "x")]);
    for (files, reason) in [
        (&all[..2], Reason::FileNotListed),
        (&more[..], Reason::FileMissing),
        (&other[..], Reason::DigestMismatch),
    ] {
        let serving = site(files).serve().await;
        let refusal = host(&serving).approved_now("acme:refunds").await.unwrap_err();
        assert_eq!(refusal.reason, reason);
    }
}
