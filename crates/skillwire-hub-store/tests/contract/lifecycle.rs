//! Reviews, channels, withdrawals and revocations.

use skillwire_hub::{
    AuditAction, AuditFilter, Caller, ChannelName, PageRequest, ReviewPolicy, Transition,
    VersionRecord, VersionRef, VersionState,
};
use skillwire_hub_store::{NewNamespace, StoreError, TransitionNote};

use crate::{
    contract,
    support::{Hub, caller, content, namespace, refused, skill, subject},
};

contract! {
    a_version_that_waits_is_served_after_another_person_approved_it,
    a_channel_is_promoted_and_rolled_back_past_withdrawn_versions,
    a_yanked_version_is_not_served_but_read_by_its_number,
    a_revoked_version_is_refused_for_good,
    content_is_revoked_in_every_skill_that_has_it,
    a_decision_is_kept_with_its_reason_and_end,
}

async fn step(
    hub: &Hub,
    who: &str,
    version: &VersionRef,
    transition: Transition,
) -> Result<VersionRecord, StoreError> {
    let note = TransitionNote::because("a test");
    hub.store.transition(&caller(who), version, transition, note).await
}

fn channel(name: &str) -> ChannelName {
    name.parse().unwrap()
}

async fn served(hub: &Hub, name: &str) -> Option<String> {
    let served = hub.store.served(&channel(name), &skill("acme/refunds")).await.unwrap();
    served.map(|version| version.version.to_string())
}

async fn a_version_that_waits_is_served_after_another_person_approved_it(hub: Hub) {
    let careful =
        NewNamespace::new(namespace("acme"), subject("olga")).with_review(ReviewPolicy::Required);
    hub.namespace_with(careful).await;
    let published = hub.publish("acme/refunds", "one").await.unwrap();
    assert_eq!(published.state, VersionState::Quarantined);
    let version = published.version;
    assert_eq!(served(&hub, "latest").await, None);
    assert_eq!(hub.store.pinned(&version).await.unwrap(), None);
    let page = PageRequest::default();
    assert_eq!(hub.store.waiting(&caller("rex"), &page).await.unwrap().items.len(), 1);
    assert!(hub.store.waiting(&caller("ana"), &page).await.unwrap().items.is_empty());

    assert_eq!(refused(step(&hub, "ana", &version, Transition::Approve).await), "not-allowed");
    let note = TransitionNote::default().with_seen(Some(content("other")));
    let moved = hub.store.transition(&caller("rex"), &version, Transition::Approve, note).await;
    assert_eq!(refused(moved), "content-moved");
    let own = hub.store.publish(&caller("olga"), crate::support::upload("acme/own", "x")).await;
    let own = step(&hub, "olga", &own.unwrap().version, Transition::Approve).await;
    assert_eq!(refused(own), "own-publication");

    let rejected = step(&hub, "rex", &version, Transition::Reject).await.unwrap();
    assert_eq!(
        (rejected.state, rejected.reason.as_deref()),
        (VersionState::Rejected, Some("a test"))
    );
    assert_eq!(
        refused(step(&hub, "rex", &version, Transition::Approve).await),
        "illegal-transition"
    );
    step(&hub, "rex", &version, Transition::Reopen).await.unwrap();
    step(&hub, "rex", &version, Transition::Approve).await.unwrap();
    assert_eq!(served(&hub, "latest").await.as_deref(), Some("1.0.0"));
    // Approving again changes nothing.
    let heads = hub.heads().await;
    step(&hub, "rex", &version, Transition::Approve).await.unwrap();
    assert_eq!(hub.heads().await, heads);
}

async fn a_channel_is_promoted_and_rolled_back_past_withdrawn_versions(hub: Hub) {
    hub.namespace("acme").await;
    let mut versions = Vec::new();
    for text in ["one", "two", "three", "four"] {
        let version = hub.published("acme/refunds", text).await;
        let pointer = hub.store.promote(&caller("ana"), &version, &channel("stable")).await;
        assert_eq!(pointer.unwrap().version, version.version);
        versions.push(version);
    }
    step(&hub, "ana", &versions[2], Transition::Yank).await.unwrap();
    step(&hub, "rex", &versions[1], Transition::Revoke).await.unwrap();
    let id = skill("acme/refunds");
    let back = hub.store.roll_back(&caller("ana"), &id, &channel("stable")).await.unwrap();
    assert_eq!((back.version.to_string().as_str(), back.served), ("1.0.0", true));
    assert_eq!(served(&hub, "stable").await.as_deref(), Some("1.0.0"));
    let nothing = hub.store.roll_back(&caller("ana"), &id, &channel("stable")).await;
    assert_eq!(refused(nothing), "nothing-to-roll-back-to");
    let promoted = hub.store.promote(&caller("ana"), &versions[2], &channel("stable")).await;
    assert_eq!(refused(promoted), "not-promotable");
    let unknown = hub.store.roll_back(&caller("ana"), &id, &channel("pilot")).await;
    assert_eq!(refused(unknown), "unknown-channel");
    let denied = hub.store.promote(&caller("rita"), &versions[3], &channel("stable")).await;
    assert_eq!(refused(denied), "not-allowed");

    let mut moves = AuditFilter::default();
    moves.action = Some(AuditAction::MoveChannel);
    let moves = hub.store.audit(&hub.admin, &moves, &PageRequest::default()).await.unwrap();
    // Four promotions, four times `latest`, one roll-back.
    assert_eq!(moves.items.len(), 9);
    assert!(moves.items[0].details.contains(r#""rollback":true"#));
    assert_eq!(moves.items[0].actor, "ana");
}

async fn a_yanked_version_is_not_served_but_read_by_its_number(hub: Hub) {
    hub.namespace("acme").await;
    let version = hub.published("acme/refunds", "one").await;
    step(&hub, "ana", &version, Transition::Yank).await.unwrap();
    assert_eq!(served(&hub, "latest").await, None);
    let page = PageRequest::default();
    let listed = hub.store.served_page(&channel("latest"), &page).await.unwrap();
    assert!(listed.items.is_empty());
    let pinned = hub.store.pinned(&version).await.unwrap().unwrap();
    assert_eq!((pinned.state, pinned.content), (VersionState::Yanked, content("one")));
    let summary = hub.store.skill(&caller("rita"), &version.skill).await.unwrap();
    assert_eq!((summary.channels.len(), summary.channels[0].served), (1, false));

    step(&hub, "ana", &version, Transition::Restore).await.unwrap();
    step(&hub, "ana", &version, Transition::Deprecate).await.unwrap();
    assert_eq!(served(&hub, "latest").await.as_deref(), Some("1.0.0"));
}

async fn a_revoked_version_is_refused_for_good(hub: Hub) {
    hub.namespace("acme").await;
    let version = hub.published("acme/refunds", "one").await;
    assert_eq!(refused(step(&hub, "ana", &version, Transition::Revoke).await), "not-allowed");
    step(&hub, "rex", &version, Transition::Revoke).await.unwrap();
    assert_eq!(served(&hub, "latest").await, None);
    assert_eq!(hub.store.pinned(&version).await.unwrap(), None);
    for transition in Transition::ALL {
        let outcome = step(&hub, "olga", &version, transition).await;
        if transition == Transition::Revoke {
            assert_eq!(outcome.unwrap().state, VersionState::Revoked);
        } else {
            assert_eq!(refused(outcome), "illegal-transition", "{transition}");
        }
    }
    assert_eq!(refused(hub.publish("acme/refunds", "one").await), "content-revoked");
}

async fn content_is_revoked_in_every_skill_that_has_it(hub: Hub) {
    hub.namespace("acme").await;
    hub.namespace("beta").await;
    let one = hub.published("acme/refunds", "bad").await;
    let two = hub.published("beta/returns", "bad").await;
    hub.published("beta/returns", "good").await;
    let revoke =
        async |who: &Caller| hub.store.revoke_content(who, &content("bad"), "malware").await;
    assert_eq!(refused(revoke(&caller("olga")).await), "not-allowed");
    assert_eq!(revoke(&hub.admin).await.unwrap(), [one.clone(), two.clone()]);
    for version in [&one, &two] {
        assert_eq!(hub.store.pinned(version).await.unwrap(), None);
    }
    assert_eq!(refused(hub.publish("acme/other", "bad").await), "content-revoked");
    let latest = channel("latest");
    let good = hub.store.served(&latest, &skill("beta/returns")).await.unwrap();
    assert_eq!(good.unwrap().content, content("good"));
    let heads = hub.heads().await;
    revoke(&hub.admin).await.unwrap();
    assert_eq!(hub.heads().await, heads);
    // Content that no version has yet is refused as well.
    hub.store.revoke_content(&hub.admin, &content("worse"), "").await.unwrap();
    assert_eq!(refused(hub.publish("acme/other", "worse").await), "content-revoked");
}

async fn a_decision_is_kept_with_its_reason_and_end(hub: Hub) {
    let careful =
        NewNamespace::new(namespace("acme"), subject("olga")).with_review(ReviewPolicy::Required);
    hub.namespace_with(careful).await;
    let version = hub.published("acme/refunds", "one").await;
    let until = hub.store.now().plus(std::time::Duration::from_mins(1));
    let note = TransitionNote::because("looks right")
        .with_seen(Some(content("one")))
        .with_until(Some(until))
        .with_open_findings(vec!["long-text".into()]);
    hub.store.transition(&caller("rex"), &version, Transition::Approve, note).await.unwrap();
    let decision = hub.store.decision("acme/refunds", &content("one")).await.unwrap().unwrap();
    assert_eq!((decision.by, decision.reason.as_str()), (subject("rex"), "looks right"));
    assert_eq!((decision.until, decision.open_findings.len()), (Some(until), 1));
    hub.wait(std::time::Duration::from_secs(61));
    assert_eq!(hub.store.decision("acme/refunds", &content("one")).await.unwrap(), None);
    let listed = hub.store.decisions(&hub.admin, "acme/refunds", &PageRequest::default()).await;
    assert_eq!(listed.unwrap().items.len(), 1);
    let note = TransitionNote::because("a\u{1b}[2J");
    let bad = hub.store.transition(&caller("rex"), &version, Transition::Yank, note).await;
    assert_eq!(refused(bad), "bad-text");
}
