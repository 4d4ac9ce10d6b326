//! Upstreams, what they offer, and what is decided about it.

use std::{collections::BTreeMap, time::Duration};

use skillwire_core::{ContentId, SkillUri};
use skillwire_hub::{
    AuditAction, AuditFilter, Caller, HubChange, OfferState, PageRequest, ResourcePatterns,
    ReviewRules, ToolPatterns, Upstream, UpstreamMode, UpstreamSource, Verdict,
};
use skillwire_hub_store::{
    GcOptions, HubStore, ListedContent, NewOffer, OfferDecision, OfferRecord, StoreOptions,
    UpstreamChange,
};

use crate::{
    contract,
    support::{Hub, caller, content, file, namespace, refused, subject, upload},
};

contract! {
    an_upstream_is_added_changed_and_removed_by_administrators,
    leaving_pin_must_be_said,
    the_label_of_an_upstream_is_a_namespace_of_its_own,
    what_is_offered_waits_until_a_reviewer_decides,
    a_decision_about_content_that_moved_is_refused,
    content_that_was_never_approved_is_not_kept_when_it_moves,
    content_that_was_approved_is_kept_when_it_moves,
    a_rejection_holds_when_the_same_content_comes_back,
    a_listing_that_is_complete_withdraws_what_it_leaves_out,
    an_approval_ends,
    revoked_content_is_not_approved,
    rules_never_replace_the_decision_of_a_person,
    new_rules_are_applied_to_content_that_waits,
    what_is_listed_without_a_review_is_known_since_it_was_first_seen,
    replicas_are_told_which_skills_to_load_again,
    a_backup_holds_what_upstreams_offered,
}

const URI: &str = "skill://guides/pdf/SKILL.md";

fn uri(text: &str) -> SkillUri {
    SkillUri::parse(text).unwrap()
}

fn docs(mode: UpstreamMode) -> Upstream {
    let source = UpstreamSource::mcp("https://docs.example/mcp");
    Upstream::new(namespace("docs"), source, mode).unwrap()
}

/// Adds the upstream `docs`, which `rex` reviews and `rita` reads.
async fn add_docs(hub: &Hub, mode: UpstreamMode) {
    hub.store.add_upstream(&hub.admin, docs(mode), false).await.unwrap();
    for (who, role) in
        [("rex", skillwire_hub::Role::Reviewer), ("rita", skillwire_hub::Role::Reader)]
    {
        hub.store.grant(&hub.admin, &namespace("docs"), &subject(who), role).await.unwrap();
    }
}

async fn offer(hub: &Hub, text: &str) -> OfferRecord {
    let files = vec![file("SKILL.md", text), file("LICENSE", "free")];
    let new = NewOffer::new(uri(URI), files, format!("entry of {text}"));
    let kept = hub.store.keep_offers(&namespace("docs"), vec![new]).await.unwrap();
    assert_eq!(kept, [(uri(URI), content(text))]);
    offers(hub).await.into_iter().find(|offer| offer.content == content(text)).unwrap()
}

async fn offers(hub: &Hub) -> Vec<OfferRecord> {
    hub.store.offers_of(&namespace("docs"), None).await.unwrap()
}

async fn waiting(hub: &Hub, caller: &Caller) -> Vec<ContentId> {
    let page = hub.store.waiting_offers(caller, None, &PageRequest::default()).await.unwrap();
    page.items.into_iter().map(|offer| offer.content).collect()
}

fn approve() -> OfferDecision {
    OfferDecision::new(Verdict::Approve, "read it")
}

fn reject() -> OfferDecision {
    OfferDecision::new(Verdict::Reject, "no")
}

async fn an_upstream_is_added_changed_and_removed_by_administrators(hub: Hub) {
    let denied = hub.store.add_upstream(&caller("ana"), docs(UpstreamMode::Admit), false).await;
    assert_eq!(refused(denied), "not-allowed");
    add_docs(&hub, UpstreamMode::Passthrough).await;
    let again = hub.store.add_upstream(&hub.admin, docs(UpstreamMode::Admit), false).await;
    assert_eq!(refused(again), "upstream-taken");
    let change = UpstreamChange { mode: Some(UpstreamMode::Admit), ..Default::default() };
    let label = namespace("docs");
    let denied = hub.store.change_upstream(&caller("rex"), &label, change.clone()).await;
    assert_eq!(refused(denied), "not-allowed");
    let changed = hub.store.change_upstream(&hub.admin, &label, change.clone()).await.unwrap();
    assert_eq!(changed.upstream.mode, UpstreamMode::Admit);
    let heads = hub.heads().await;
    hub.store.change_upstream(&hub.admin, &label, change).await.unwrap();
    assert_eq!(hub.heads().await, heads, "the same again changes nothing");
    assert_eq!(hub.store.upstreams(&caller("rita")).await.unwrap().len(), 1);
    assert!(hub.store.upstreams(&caller("eve")).await.unwrap().is_empty());
    assert_eq!(refused(hub.store.upstream(&caller("eve"), &label).await), "unknown-upstream");
    hub.store.remove_upstream(&hub.admin, &label, false).await.unwrap();
    assert_eq!(refused(hub.store.upstream(&hub.admin, &label).await), "unknown-upstream");
    let mut filter = AuditFilter::default();
    filter.action = Some(AuditAction::ChangeUpstream);
    let log = hub.store.audit(&hub.admin, &filter, &PageRequest::default()).await.unwrap();
    assert_eq!(log.items.len(), 3);
}

async fn leaving_pin_must_be_said(hub: Hub) {
    add_docs(&hub, UpstreamMode::Pin).await;
    let label = namespace("docs");
    let open = UpstreamChange { mode: Some(UpstreamMode::Passthrough), ..Default::default() };
    let denied = hub.store.change_upstream(&hub.admin, &label, open.clone()).await;
    assert_eq!(refused(denied), "leaves-pin");
    let denied = hub.store.remove_upstream(&hub.admin, &label, false).await;
    assert_eq!(refused(denied), "leaves-pin");
    let meant = UpstreamChange { leave_pin: true, ..open };
    let changed = hub.store.change_upstream(&hub.admin, &label, meant).await.unwrap();
    assert_eq!(changed.upstream.mode, UpstreamMode::Passthrough);
}

async fn the_label_of_an_upstream_is_a_namespace_of_its_own(hub: Hub) {
    hub.namespace("acme").await;
    hub.published("acme/refunds", "one").await;
    let source = UpstreamSource::mcp("https://acme.example/mcp");
    let taken = Upstream::new(namespace("acme"), source, UpstreamMode::Admit).unwrap();
    let taken = hub.store.add_upstream(&hub.admin, taken, false).await;
    assert_eq!(refused(taken), "upstream-taken");
    // A namespace that was prepared with its roles is taken over.
    hub.namespace("docs").await;
    hub.store.add_upstream(&hub.admin, docs(UpstreamMode::Admit), false).await.unwrap();
    let published = hub.store.publish(&caller("ana"), upload("docs/pdf", "one")).await;
    assert_eq!(refused(published), "belongs-to-upstream");
}

async fn what_is_offered_waits_until_a_reviewer_decides(hub: Hub) {
    add_docs(&hub, UpstreamMode::Admit).await;
    let offered = offer(&hub, "one").await;
    assert_eq!(offered.entry, "entry of one");
    assert!(offered.offered);
    assert_eq!(waiting(&hub, &caller("rex")).await, [content("one")]);
    assert!(waiting(&hub, &caller("rita")).await.is_empty(), "readers review nothing");
    let denied = hub.store.decide_offer(&caller("rita"), offered.id, approve()).await;
    assert_eq!(refused(denied), "not-allowed");
    let unknown = hub.store.decide_offer(&caller("eve"), offered.id, approve()).await;
    assert_eq!(refused(unknown), "unknown-record");
    let long = OfferDecision::new(Verdict::Approve, "x".repeat(3_000));
    assert_eq!(refused(hub.store.decide_offer(&caller("rex"), offered.id, long).await), "bad-text");
    let findings = approve().with_open_findings(vec!["SW-1".into()]);
    let decided = hub.store.decide_offer(&caller("rex"), offered.id, findings).await.unwrap();
    assert_eq!(decided.state(hub.store.now()), OfferState::Approved);
    let decision = decided.decision.unwrap();
    assert_eq!((decision.by.as_str(), decision.reason.as_str()), ("rex", "read it"));
    assert_eq!(decision.open_findings, ["SW-1"]);
    assert!(waiting(&hub, &caller("rex")).await.is_empty());
    // The decision is in the log, with the content.
    let mut filter = AuditFilter::default();
    (filter.action, filter.content) = (Some(AuditAction::Decide), Some(content("one")));
    let events = hub.store.audit(&hub.admin, &filter, &PageRequest::default()).await.unwrap();
    assert_eq!(events.items[0].target, format!("docs:{URI}"));
}

async fn a_decision_about_content_that_moved_is_refused(hub: Hub) {
    add_docs(&hub, UpstreamMode::Pin).await;
    let seen = offer(&hub, "one").await;
    hub.store.decide_offer(&caller("rex"), seen.id, approve()).await.unwrap();
    let second = offer(&hub, "two").await;
    let other = approve().with_seen(Some(content("one")));
    let moved = hub.store.decide_offer(&caller("rex"), second.id, other).await;
    assert_eq!(refused(moved), "content-moved");
    let again = approve().with_seen(Some(content("one")));
    let moved = hub.store.decide_offer(&caller("rex"), seen.id, again).await;
    assert_eq!(refused(moved), "content-moved");
    // What is served can be stopped at any time.
    hub.store.decide_offer(&caller("rex"), seen.id, reject()).await.unwrap();
    assert_eq!(offers(&hub).await.len(), 1);
}

async fn content_that_was_never_approved_is_not_kept_when_it_moves(hub: Hub) {
    add_docs(&hub, UpstreamMode::Admit).await;
    for number in 0..20 {
        offer(&hub, &format!("text {number}")).await;
    }
    assert_eq!(offers(&hub).await.len(), 1, "a changing upstream fills no store");
    hub.wait(Duration::from_hours(48));
    let report = hub.store.collect_garbage(&hub.admin, GcOptions::default()).await.unwrap();
    // Nineteen texts; the licence is shared with the one that is kept.
    assert_eq!(report.blobs, 19);
    let kept = offers(&hub).await.remove(0);
    for stored in &kept.files {
        hub.store.read_blob(&stored.digest, stored.size).await.unwrap();
    }
}

async fn content_that_was_approved_is_kept_when_it_moves(hub: Hub) {
    add_docs(&hub, UpstreamMode::Pin).await;
    let first = offer(&hub, "one").await;
    hub.store.decide_offer(&caller("rex"), first.id, approve()).await.unwrap();
    offer(&hub, "two").await;
    offer(&hub, "three").await;
    let kept: Vec<_> = offers(&hub).await.iter().map(|it| (it.content, it.offered)).collect();
    assert_eq!(kept.len(), 2);
    assert!(kept.contains(&(content("one"), false)) && kept.contains(&(content("three"), true)));
    hub.wait(Duration::from_hours(48));
    hub.store.collect_garbage(&hub.admin, GcOptions::default()).await.unwrap();
    for stored in &first.files {
        hub.store.read_blob(&stored.digest, stored.size).await.unwrap();
    }
    assert!(hub.store.verify_blobs().await.unwrap().damaged.is_empty());
}

async fn a_rejection_holds_when_the_same_content_comes_back(hub: Hub) {
    add_docs(&hub, UpstreamMode::Admit).await;
    let bad = offer(&hub, "bad").await;
    hub.store.decide_offer(&caller("rex"), bad.id, reject()).await.unwrap();
    offer(&hub, "good").await;
    let back = offer(&hub, "bad").await;
    assert_eq!(back.state(hub.store.now()), OfferState::Rejected);
    assert!(waiting(&hub, &caller("rex")).await.is_empty());
}

async fn a_listing_that_is_complete_withdraws_what_it_leaves_out(hub: Hub) {
    add_docs(&hub, UpstreamMode::Pin).await;
    let label = namespace("docs");
    let compare = async |text: Option<&str>, is_complete| {
        let listed: BTreeMap<_, _> =
            text.map(|text| (uri(URI), content(text))).into_iter().collect();
        hub.store.compare_listing(&label, &listed, is_complete).await.unwrap().len()
    };
    assert_eq!(compare(Some("one"), true).await, 1, "it has to be fetched");
    let first = offer(&hub, "one").await;
    assert_eq!(compare(Some("one"), true).await, 0);
    hub.store.decide_offer(&caller("rex"), first.id, approve()).await.unwrap();
    assert_eq!(compare(None, false).await, 0);
    assert!(offers(&hub).await[0].offered, "a listing that broke off says nothing");
    assert_eq!(compare(None, true).await, 0);
    assert!(!offers(&hub).await[0].offered);
    // It comes back without being fetched again.
    assert_eq!(compare(Some("one"), true).await, 0);
    assert!(offers(&hub).await[0].offered);
    let heads = hub.heads().await;
    assert_eq!(compare(Some("one"), true).await, 0);
    assert_eq!(hub.heads().await, heads, "what is known is not written again");
}

async fn an_approval_ends(hub: Hub) {
    add_docs(&hub, UpstreamMode::Admit).await;
    let offered = offer(&hub, "one").await;
    let end = hub.store.now().plus(Duration::from_mins(1));
    let until = approve().with_until(Some(end));
    let decided = hub.store.decide_offer(&caller("rex"), offered.id, until.clone()).await.unwrap();
    assert_eq!(decided.state(hub.store.now()), OfferState::Approved);
    hub.wait(Duration::from_secs(61));
    assert_eq!(waiting(&hub, &caller("rex")).await, [content("one")]);
    let past = hub.store.decide_offer(&caller("rex"), offered.id, until).await;
    assert_eq!(refused(past), "in-the-past");
}

async fn revoked_content_is_not_approved(hub: Hub) {
    add_docs(&hub, UpstreamMode::Pin).await;
    let offered = offer(&hub, "one").await;
    hub.store.decide_offer(&caller("rex"), offered.id, approve()).await.unwrap();
    hub.store.revoke_content(&hub.admin, &content("one"), "it leaks").await.unwrap();
    assert_eq!(offers(&hub).await[0].state(hub.store.now()), OfferState::Rejected);
    let again = OfferDecision::new(Verdict::Approve, "still");
    let denied = hub.store.decide_offer(&caller("rex"), offered.id, again).await;
    assert_eq!(refused(denied), "content-revoked");
}

async fn rules_never_replace_the_decision_of_a_person(hub: Hub) {
    add_docs(&hub, UpstreamMode::Admit).await;
    let offered = offer(&hub, "one").await;
    hub.store.approve_by_rules(&offered.skill, &content("one"), &["text only"]).await.unwrap();
    let decided = offers(&hub).await.remove(0);
    assert_eq!(decided.state(hub.store.now()), OfferState::Approved);
    assert_eq!(decided.decision.unwrap().by.as_str(), "hub");
    hub.store.decide_offer(&caller("rex"), offered.id, reject()).await.unwrap();
    hub.store.approve_by_rules(&offered.skill, &content("one"), &["text only"]).await.unwrap();
    assert_eq!(offers(&hub).await[0].state(hub.store.now()), OfferState::Rejected);
}

async fn new_rules_are_applied_to_content_that_waits(hub: Hub) {
    let text_only = || {
        let mut rules = ReviewRules::default();
        rules.text_only = true;
        rules
    };
    add_docs(&hub, UpstreamMode::Admit).await;
    let waits = offer(&hub, "one").await;
    let state = async || offers(&hub).await[0].state(hub.store.now());
    let set = async |change| {
        hub.store.change_upstream(&hub.admin, &namespace("docs"), change).await.unwrap();
    };
    // Rules that ask for what no scanner or signer said approve nothing.
    let mut findings = text_only();
    findings.no_findings = true;
    set(UpstreamChange { rules: Some(findings), ..Default::default() }).await;
    assert_eq!(state().await, OfferState::Waiting);
    set(UpstreamChange { rules: Some(text_only()), ..Default::default() }).await;
    let decided = offers(&hub).await.remove(0);
    assert_eq!(decided.state(hub.store.now()), OfferState::Approved);
    let decision = decided.decision.unwrap();
    assert_eq!(decision.by.as_str(), "hub");
    assert_eq!(decision.reason, "rules of the upstream: text only");
    // What a person rejected stays rejected, and what is no longer offered is not decided about.
    hub.store.decide_offer(&caller("rex"), waits.id, reject()).await.unwrap();
    set(UpstreamChange { rules: Some(ReviewRules::default()), ..Default::default() }).await;
    set(UpstreamChange { rules: Some(text_only()), ..Default::default() }).await;
    assert_eq!(state().await, OfferState::Rejected);
    // The same through the configuration file.
    set(UpstreamChange { rules: Some(ReviewRules::default()), ..Default::default() }).await;
    let second = offer(&hub, "two").await;
    let configured = docs(UpstreamMode::Admit).with_rules(text_only());
    hub.store.configure_upstreams(&hub.admin, &[configured]).await.unwrap();
    let decided = offers(&hub).await.into_iter().find(|offer| offer.id == second.id).unwrap();
    assert_eq!(decided.state(hub.store.now()), OfferState::Approved);
}

async fn what_is_listed_without_a_review_is_known_since_it_was_first_seen(hub: Hub) {
    add_docs(&hub, UpstreamMode::Passthrough).await;
    let label = namespace("docs");
    let look = async |listed: ListedContent, records: bool| {
        let listed = BTreeMap::from([(uri(URI), listed)]);
        let new = hub.store.observe_listing(&label, &listed, records).await.unwrap();
        (new, hub.store.observations(&label).await.unwrap().remove(&uri(URI)).unwrap())
    };
    let one = ListedContent::new(Some(content("one")), true);
    let (new, first) = look(one.clone(), false).await;
    assert_eq!((new, &first.listed), (0, &one));
    hub.wait(Duration::from_hours(48));
    assert_eq!(look(one.clone(), false).await, (0, first.clone()));
    // A hub that begins to record names it once, and it is no younger for that.
    assert_eq!(look(one.clone(), true).await, (1, first.clone()));
    assert_eq!(look(one, true).await, (0, first.clone()));
    // Other content is new, and so is content without digests.
    let (new, second) = look(ListedContent::new(Some(content("two")), false), true).await;
    assert_eq!(new, 1);
    assert!(second.since > first.since && !second.listed.has_scripts);
    hub.wait(Duration::from_hours(1));
    let (new, moving) = look(ListedContent::new(None, false), true).await;
    assert_eq!((new, moving.listed.content), (0, None));
    assert!(moving.since > second.since);
    let mut filter = AuditFilter::default();
    filter.action = Some(AuditAction::Offer);
    let log = hub.store.audit(&hub.admin, &filter, &PageRequest::default()).await.unwrap();
    assert_eq!(log.items.len(), 2);
}

async fn replicas_are_told_which_skills_to_load_again(hub: Hub) {
    add_docs(&hub, UpstreamMode::Admit).await;
    let before = hub.store.outbox_head().await.unwrap();
    let offered = offer(&hub, "one").await;
    hub.store.decide_offer(&caller("rex"), offered.id, approve()).await.unwrap();
    let page = hub.store.outbox_after(before, 10).await.unwrap();
    let changed: Vec<_> = page
        .events
        .iter()
        .filter_map(|event| match &event.change {
            HubChange::OffersChanged { upstream, skills } => Some((upstream.as_str(), skills)),
            _ => None,
        })
        .collect();
    assert_eq!(changed.len(), 2);
    assert!(changed.iter().all(|(label, skills)| *label == "docs" && skills[..] == [URI]));
}

async fn a_backup_holds_what_upstreams_offered(hub: Hub) {
    add_docs(&hub, UpstreamMode::Pin).await;
    let offered = offer(&hub, "one").await;
    hub.store.decide_offer(&caller("rex"), offered.id, approve()).await.unwrap();
    let tools = ToolPatterns::parse(["read_*"]).unwrap();
    let resources = ResourcePatterns::parse(["file:///docs/**"]).unwrap();
    let change = UpstreamChange {
        tools: Some(tools.clone()),
        resources: Some(resources.clone()),
        ..UpstreamChange::default()
    };
    hub.store.change_upstream(&hub.admin, &namespace("docs"), change).await.unwrap();
    let backup = hub.folder.path().join("backup");
    hub.store.backup(&hub.admin, &backup, |_| {}).await.unwrap();
    let database = skillwire_hub_store::DatabaseLocation::Sqlite(hub.folder.path().join("b.db"));
    let blobs = skillwire_hub_store::BlobLocation::Folder(hub.folder.path().join("b-blobs"));
    let restored = HubStore::open(StoreOptions::new(database, blobs)).await.unwrap();
    restored.restore(&backup, |_| {}).await.unwrap();
    let kept = restored.offers_of(&namespace("docs"), None).await.unwrap();
    assert_eq!(kept[0].content, content("one"));
    let docs = restored.upstream(&hub.admin, &namespace("docs")).await.unwrap().upstream;
    assert_eq!((docs.tools, docs.resources), (tools, resources));
    assert!(kept[0].decision.is_some());
    for stored in &kept[0].files {
        restored.read_blob(&stored.digest, stored.size).await.unwrap();
    }
    restored.close().await;
}
