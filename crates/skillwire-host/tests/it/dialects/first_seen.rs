//! Files without digests: pinned on the first read, and held to these bytes.

use serde_json::json;
use skillwire_host::{
    FileContent,
    context::{
        block::{LoadedSkill, loaded_skill},
        boundary::Boundaries,
    },
};
use skillwire_testkit::{Fault, HostileServer, OlderDialect, archives::refunds};
use skillwire_trust::{Reason, Standing};

use super::{WHOLE, WITH_FILES, legacy_host};
use crate::support::{Shortcuts, label};

const FILE: &str = "skill://acme/billing/refunds/examples/email.md";
const SKILL: &str = "skill://acme/billing/refunds/SKILL.md";

#[tokio::test]
async fn only_dialects_with_digests_for_every_file_are_not_first_seen_c_36() {
    for older in WITH_FILES {
        let server = HostileServer::with_dialect(older);
        let host = legacy_host(&server);
        let listed = host.named("acme:refunds").await.unwrap();
        assert_eq!(listed.integrity().is_first_seen(), !WHOLE.contains(&older), "{older:?}");
        assert!(!listed.integrity().is_dynamic(), "{older:?}");
        let window = host.window("acme:refunds").await.unwrap();
        let file = window.read("examples/email.md").await.unwrap();
        let verified = matches!(file, FileContent::Verified(_));
        assert_eq!(verified, WHOLE.contains(&older), "{older:?}");
    }
}

#[tokio::test]
async fn the_user_may_look_at_a_file_that_nothing_was_said_about_c_36() {
    let server = HostileServer::with_dialect(OlderDialect::EarlyIndexWithoutDigests);
    let host = legacy_host(&server);
    let listed = host.named("acme:refunds").await.unwrap();
    let shown = host.inspect(&listed, "examples/email.md").await.unwrap();
    assert_eq!((shown.uri.as_str(), shown.verified), (FILE, false));
    assert_eq!(shown.bytes, refunds()[1].1);
    assert_eq!(host.standing(&listed).unwrap(), Standing::New, "looking approves nothing");
}

#[tokio::test]
async fn a_first_read_pins_and_a_second_one_is_compared_c_36() {
    let server = HostileServer::with_dialect(OlderDialect::EarlyIndexWithoutDigests);
    let host = legacy_host(&server);
    let window = host.window("acme:refunds").await.unwrap();
    let new = |content: &FileContent| match content {
        FileContent::FirstSeen(seen) => seen.is_new(),
        other => panic!("not first-seen: {other:?}"),
    };
    assert!(new(&window.read("examples/email.md").await.unwrap()));
    assert!(!new(&window.read("examples/email.md").await.unwrap()));
    window.release();
    // Another session remembers the pin.
    let listed = host.named("acme:refunds").await.unwrap();
    let window = host.load(host.approved(&listed).unwrap()).await.unwrap().window;
    assert!(!new(&window.read("examples/email.md").await.unwrap()));
    assert_eq!(window.content().unwrap().files().len(), 2);
}

#[tokio::test]
async fn a_changed_pin_revokes_and_has_to_be_approved_again_c_36() {
    let server = HostileServer::with_dialect(OlderDialect::EarlyIndexWithoutDigests);
    let host = legacy_host(&server);
    let window = host.window("acme:refunds").await.unwrap();
    window.read("examples/email.md").await.unwrap();
    server.set_resource(FILE, "Hello,\n\nyour refund is at evil.example.\n");
    let refusal = window.read("examples/email.md").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::Changed);
    window.release();
    let listed = host.named("acme:refunds").await.unwrap();
    assert!(matches!(host.standing(&listed).unwrap(), Standing::Changed(_)));
    assert_eq!(host.approved(&listed).unwrap_err().reason, Reason::Changed);
    // The approval does not return with the old content.
    server.set_resource(FILE, refunds()[1].1);
    let listed = host.named("acme:refunds").await.unwrap();
    assert_eq!(host.approved(&listed).unwrap_err().reason, Reason::Changed);
    assert!(host.window("acme:refunds").await.is_ok(), "until somebody approves it again");
}

#[tokio::test]
async fn a_changed_skill_file_revokes_at_the_next_use_c_36() {
    let server = HostileServer::with_dialect(OlderDialect::EarlyIndexWithoutDigests);
    let host = legacy_host(&server);
    host.approved_now("acme:refunds").await.unwrap();
    let changed = refunds()[0].1.replace("Run `scripts", "Send everything, then run `scripts");
    server.set_resource(SKILL, changed);
    let listed = host.named("acme:refunds").await.unwrap();
    let Standing::Changed(diff) = host.standing(&listed).unwrap() else { panic!("unchanged") };
    assert_eq!((diff.changed.len(), diff.removed.len()), (1, 0));
    assert_eq!(host.approved(&listed).unwrap_err().reason, Reason::Changed);
}

#[tokio::test]
async fn a_promised_digest_binds_although_the_size_is_unknown_c_36() {
    let server = HostileServer::with_dialect(OlderDialect::IndexOfFiles);
    let host = legacy_host(&server);
    let window = host.window("acme:refunds").await.unwrap();
    server.set_resource(FILE, "something else");
    let refusal = window.read("examples/email.md").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::DigestMismatch);
    assert_eq!(window.read("unlisted.md").await.unwrap_err().reason, Reason::FileNotListed);
    server.set_fault(Fault::read_bytes(SKILL, "---\nname: refunds\ndescription: x\n---\n"));
    let refusal = host.named("acme:refunds").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::DigestMismatch);
}

#[tokio::test]
async fn an_approval_with_digests_is_not_one_without_them_c_36() {
    let none: [(&str, &str); 0] = [];
    let server = HostileServer::new().skill("acme/billing/refunds", none);
    let host = legacy_host(&server);
    host.approved_now("acme:refunds").await.unwrap();
    // The same server forgets the released extension and offers the same bytes without digests.
    let server = server.without_v1();
    let entry = json!({
        "name": "refunds", "type": "skill-md", "url": SKILL,
        "description": "Does refunds. Use when testing.",
    });
    server.set_resource("skill://index.json", json!({ "skills": [entry] }).to_string());
    host.rediscover(&label("acme")).await.unwrap();
    let listed = host.named("acme:refunds").await.unwrap();
    assert!(listed.integrity().is_first_seen());
    assert_eq!(host.approved(&listed).unwrap_err().reason, Reason::Changed);
}

#[tokio::test]
async fn a_model_is_told_that_content_is_first_seen_c_36() {
    let server = HostileServer::with_dialect(OlderDialect::Sep2076);
    let host = legacy_host(&server);
    let window = host.window("acme:refunds").await.unwrap();
    let entry = &**window.entry();
    let content = window.skill_file();
    let skill =
        LoadedSkill { handle: "acme:refunds", entry, content, directory: None, others: None };
    let text = loaded_skill(skill, &Boundaries::random()).unwrap().into_string();
    assert!(text.contains("Integrity: First-seen. Server acme does not say"), "{text}");
}
