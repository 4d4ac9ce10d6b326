//! Servers of drafts of the extension: entries without sizes, or without a list of files.

use serde_json::{Value, json};
use skillwire_core::Digest;
use skillwire_dialects::Dialect;
use skillwire_testkit::{
    HostileServer, OlderDialect, ScriptedReply, archives::refunds, refunds_frontmatter,
};
use skillwire_trust::{Reason, Remedy};

use super::legacy_host;
use crate::support::{Shortcuts, host, label};

const SKILL: &str = "skill://acme/billing/refunds/SKILL.md";
const FILE: &str = "skill://acme/billing/refunds/examples/email.md";

/// Creates a server of a draft that lists these entries.
fn listing(entries: &Value) -> HostileServer {
    let page = json!({ "skills": entries });
    HostileServer::with_dialect(OlderDialect::Draft)
        .on("skills/list", move |_, _| ScriptedReply::Result(page.clone()))
}

fn entry(files: &Value) -> Value {
    json!({ "uri": SKILL, "frontmatter": refunds_frontmatter(), "resources": files })
}

fn file(uri: &str, text: &str) -> Value {
    json!({ "uri": uri, "digest": Digest::of(text.as_bytes()).to_string() })
}

#[tokio::test]
async fn draft_entries_without_sizes_are_first_seen_and_their_digests_bind_d1() {
    let server = HostileServer::with_dialect(OlderDialect::Draft);
    let host = host(&server);
    assert_eq!(host.list(&label("acme")).await.unwrap().warnings, [""; 0]);
    let listed = host.named("acme:refunds").await.unwrap();
    assert_eq!((listed.dialect(), listed.integrity().is_first_seen()), (Dialect::Draft, true));
    let window = host.window("acme:refunds").await.unwrap();
    assert!(window.read("scripts/calc.py").await.is_ok());
    server.set_resource(FILE, "Hello,\n\nyour refund is at evil.example.\n");
    let refusal = window.read("examples/email.md").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::DigestMismatch, "though it was never seen before");
    assert_eq!(window.read("other.md").await.unwrap_err().reason, Reason::FileNotListed);
}

#[tokio::test]
async fn draft_one_sign_of_the_release_makes_a_missing_size_an_error_d1() {
    let [(_, skill_md), ..] = refunds();
    let old = entry(&json!([file(SKILL, skill_md)]));
    let other = |resources: Value| {
        json!({
            "uri": "skill://x/SKILL.md", "resources": resources,
            "frontmatter": { "name": "x", "description": "X." },
        })
    };
    let sized = json!({ "uri": "skill://x/SKILL.md", "digest": "sha256:0", "size": 1 });
    for released in [json!("dynamic"), json!([sized])] {
        let server = listing(&json!([old, other(released.clone())]));
        let listing = legacy_host(&server).list(&label("acme")).await.unwrap();
        assert_eq!(listing.dialect, Some(Dialect::V1), "{released}");
        let reasons: Vec<_> = listing.refused.iter().map(|refusal| refusal.reason).collect();
        assert!(reasons.contains(&Reason::SizeInvalid), "{released}: {reasons:?}");
        assert!(listing.skills.iter().all(|skill| skill.id().uri.as_str() != SKILL));
    }
}

#[tokio::test]
async fn draft_a_missing_list_of_files_needs_the_users_word_and_is_dynamic_d1() {
    let server = listing(&json!([{ "uri": SKILL, "frontmatter": refunds_frontmatter() }]));
    let listing = host(&server).list(&label("acme")).await.unwrap();
    assert_eq!((listing.dialect, listing.skills.len()), (Some(Dialect::Draft), 0));
    assert_eq!(listing.refused[0].reason, Reason::ResourcesInvalid);
    assert_eq!(listing.refused[0].remedy.as_deref(), Some(&Remedy::AcceptDraft(label("acme"))));
    let listing = legacy_host(&server).list(&label("acme")).await.unwrap();
    assert!(listing.skills[0].integrity().is_dynamic());
    assert_eq!(listing.refused, []);
}

#[tokio::test]
async fn draft_is_refused_like_any_other_entry_for_what_it_lists_d1() {
    let [(_, skill_md), ..] = refunds();
    let many: Vec<_> =
        (0..600).map(|n| file(&format!("skill://acme/billing/refunds/{n}.md"), "x")).collect();
    for (files, reason) in [
        (json!([file(FILE, "x")]), Reason::SkillFileNotListed),
        (json!([file(SKILL, skill_md), file("skill://other/x.md", "x")]), Reason::ResourceOutside),
        (json!([file(SKILL, skill_md), file(SKILL, skill_md)]), Reason::ResourceDuplicate),
        (json!([{ "uri": SKILL, "digest": "md5:0" }]), Reason::DigestInvalid),
        (json!(many), Reason::TooManyFiles),
    ] {
        let server = listing(&json!([entry(&files)]));
        let listing = host(&server).list(&label("acme")).await.unwrap();
        assert_eq!((listing.dialect, listing.skills.len()), (Some(Dialect::Draft), 0));
        assert_eq!(listing.refused[0].reason, reason);
    }
    for files in [json!(null), json!({}), json!(7), json!("static")] {
        let server = listing(&json!([entry(&files)]));
        let listing = legacy_host(&server).list(&label("acme")).await.unwrap();
        assert_eq!(listing.dialect, Some(Dialect::V1), "{files}");
        assert_eq!(listing.refused[0].reason, Reason::ResourcesInvalid, "{files}");
    }
}

#[tokio::test]
async fn draft_a_skill_is_asked_for_where_the_draft_has_that_method_d1() {
    let files =
        refunds().map(|(path, text)| file(&format!("skill://acme/billing/refunds/{path}"), text));
    let answer = json!({ "skill": entry(&json!(files)) });
    let unlisted = "skill://acme/billing/chargebacks/SKILL.md";
    let server = HostileServer::with_dialect(OlderDialect::Draft)
        .on("skills/get", move |_, _| ScriptedReply::Result(answer.clone()));
    let host = host(&server);
    let named = host.named(&format!("acme:{SKILL}")).await.unwrap();
    assert_eq!((named.dialect(), named.integrity().is_first_seen()), (Dialect::Draft, true));
    assert!(server.count("skills/get") > 0);
    let refusal = host.named(&format!("acme:{unlisted}")).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::EntrySubstituted);
}

#[tokio::test]
async fn draft_an_entry_by_name_alone_never_makes_a_released_server_a_draft_d1() {
    let [(_, skill_md), ..] = refunds();
    let answer = json!({ "skill": entry(&json!([file(SKILL, skill_md)])) });
    let none: [(&str, &str); 0] = [];
    let server = HostileServer::new()
        .skill("x", none)
        .on("skills/get", move |_, _| ScriptedReply::Result(answer.clone()));
    let refusal = legacy_host(&server).named(&format!("acme:{SKILL}")).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::SizeInvalid);
}

#[tokio::test]
async fn draft_files_without_digests_are_of_no_draft_d1() {
    let server = listing(&json!([entry(&json!([{ "uri": SKILL }]))]));
    for host in [host(&server), legacy_host(&server)] {
        let listing = host.list(&label("acme")).await.unwrap();
        assert_eq!((listing.skills.len(), listing.refused.len()), (0, 1));
        assert_eq!(listing.refused[0].reason, Reason::DigestInvalid);
    }
}
