//! Lists in pages: everything once, in order, and nothing that a caller may not see.

use std::future::Future;

use skillwire_hub::{
    AuditFilter, Caller, ChannelName, Cursor, Page, PageRequest, ReviewPolicy, VersionRecord,
};
use skillwire_hub_store::{HubStore, NewNamespace, NewToken, ReadRecord, SkillSummary, StoreError};

use crate::{
    contract,
    support::{Hub, caller, content, namespace, skill, subject},
};

contract! {
    every_list_is_walked_in_pages_without_repeats,
    a_cursor_of_another_list_is_refused,
    readers_of_a_content_are_found_in_the_audit_log,
    the_log_of_a_skill_has_its_channels_and_its_versions,
}

/// Walks a list in pages of two.
async fn walk<T, F: Future<Output = Result<Page<T>, StoreError>>>(
    mut list: impl FnMut(PageRequest) -> F,
) -> Vec<T> {
    let mut items = Vec::new();
    let mut after: Option<Cursor> = None;
    for _ in 0..100 {
        let page = list(PageRequest::first(2).after(after)).await.unwrap();
        assert!(page.items.len() <= 2);
        items.extend(page.items);
        after = page.next.map(|cursor| cursor.to_string().parse().unwrap());
        if after.is_none() {
            return items;
        }
    }
    panic!("the list does not end");
}

async fn skills_of(
    store: HubStore,
    who: Caller,
    page: PageRequest,
) -> Result<Page<SkillSummary>, StoreError> {
    store.skills(&who, None, &page).await
}

async fn versions_of(
    store: HubStore,
    page: PageRequest,
) -> Result<Page<VersionRecord>, StoreError> {
    store.versions(&caller("rita"), &skill("acme/s1"), &page).await
}

async fn every_list_is_walked_in_pages_without_repeats(hub: Hub) {
    for name in ["acme", "beta", "gamma"] {
        hub.namespace(name).await;
    }
    let closed = NewNamespace::new(namespace("closed"), subject("zoe"));
    hub.store.create_namespace(&hub.admin, closed).await.unwrap();
    for number in 1..=5 {
        hub.published(&format!("acme/s{number}"), &format!("text {number}")).await;
        hub.published("acme/s1", &format!("version {number}")).await;
        let hidden = crate::support::upload(&format!("closed/s{number}"), "x");
        hub.store.publish(&hub.admin, hidden).await.unwrap();
    }
    hub.published("gamma/last", "text").await;
    let store = || hub.store.clone();

    let skills = walk(|page| skills_of(store(), caller("rita"), page)).await;
    let names: Vec<String> = skills.iter().map(|skill| skill.id.to_string()).collect();
    assert_eq!(names, ["acme/s1", "acme/s2", "acme/s3", "acme/s4", "acme/s5", "gamma/last"]);
    assert_eq!(walk(|page| skills_of(store(), hub.admin.clone(), page)).await.len(), 11);

    let versions = walk(|page| versions_of(store(), page)).await;
    let numbers: Vec<String> = versions.iter().map(|v| v.version.to_string()).collect();
    assert_eq!(numbers, ["1.0.5", "1.0.4", "1.0.3", "1.0.2", "1.0.1", "1.0.0"]);

    let served = walk(|page| {
        let store = store();
        async move { store.served_page(&ChannelName::latest(), &page).await }
    })
    .await;
    assert_eq!(served.len(), 11);
    let namespaces = walk(|page| {
        let (store, rita) = (store(), caller("rita"));
        async move { store.namespaces(&rita, &page).await }
    })
    .await;
    assert_eq!(namespaces.len(), 3);

    for number in 0..5 {
        let new = NewToken::new(format!("token {number}"), subject("ana"));
        hub.store.create_token(&hub.admin, new).await.unwrap();
    }
    let tokens = walk(|page| {
        let store = store();
        async move { store.tokens(&caller("ana"), &page).await }
    })
    .await;
    assert_eq!(tokens.len(), 5);

    let audit = walk(|page| {
        let (store, admin) = (store(), hub.admin.clone());
        async move { store.audit(&admin, &AuditFilter::default(), &page).await }
    })
    .await;
    let numbers: Vec<u64> = audit.iter().map(|entry| entry.number).collect();
    let expected: Vec<u64> = (1..=hub.heads().await.1).rev().collect();
    assert_eq!(numbers, expected);

    let careful = NewNamespace::new(namespace("careful"), subject("olga"))
        .with_review(ReviewPolicy::Required);
    hub.namespace_with(careful).await;
    for number in 1..=5 {
        hub.published(&format!("careful/s{number}"), "waits").await;
    }
    let waiting = walk(|page| {
        let store = store();
        async move { store.waiting(&caller("rex"), &page).await }
    })
    .await;
    let names: Vec<String> = waiting.iter().map(|version| version.skill.to_string()).collect();
    assert_eq!(names, ["careful/s1", "careful/s2", "careful/s3", "careful/s4", "careful/s5"]);
}

async fn a_cursor_of_another_list_is_refused(hub: Hub) {
    hub.namespace("acme").await;
    for number in 1..=3 {
        hub.published(&format!("acme/s{number}"), "text").await;
    }
    let page = hub.store.skills(&hub.admin, None, &PageRequest::first(1)).await.unwrap();
    let foreign = PageRequest::first(1).after(page.next);
    let refused = hub.store.tokens(&hub.admin, &foreign).await;
    assert!(matches!(refused, Err(StoreError::Cursor(_))));
    let refused = hub.store.served_page(&ChannelName::latest(), &foreign).await;
    assert!(matches!(refused, Err(StoreError::Cursor(_))));
    assert!("'; DROP TABLE skills".parse::<Cursor>().is_err());
}

async fn the_log_of_a_skill_has_its_channels_and_its_versions(hub: Hub) {
    hub.namespace("acme").await;
    let version = hub.published("acme/refunds", "one").await;
    hub.published("acme/refunds-more", "two").await;
    hub.published("acme/refund", "three").await;
    let read = ReadRecord {
        actor: "rita".into(),
        target: version.to_string(),
        content: content("one"),
        files: [("SKILL.md".to_owned(), 1)].into(),
    };
    hub.store.record_reads(&[read], 0).await.unwrap();
    let revoke = skillwire_hub::Transition::Revoke;
    let note = skillwire_hub_store::TransitionNote::because("leaked key");
    hub.store.transition(&hub.admin, &version, revoke, note).await.unwrap();
    let log = async |target: &str, actor: Option<&str>| {
        let mut filter = AuditFilter::default();
        filter.target = Some(target.into());
        filter.actor = actor.map(str::to_owned);
        let found = hub.store.audit(&hub.admin, &filter, &PageRequest::default()).await.unwrap();
        let shown =
            |entry: &skillwire_hub::AuditEntry| format!("{} {}", entry.action, entry.target);
        found.items.iter().map(shown).collect::<Vec<_>>()
    };
    let of_version = ["transition acme/refunds@1.0.0", "read acme/refunds@1.0.0"];
    let published = ["move-channel acme/refunds", "publish acme/refunds@1.0.0"];
    let all = log("acme/refunds", None).await;
    assert_eq!(all[..2], of_version);
    assert_eq!(all.len(), 4, "{all:?}");
    assert!(published.iter().all(|entry| all.iter().any(|it| it == entry)), "{all:?}");
    assert_eq!(log("acme/refunds", Some("rita")).await, of_version[1..]);
    assert_eq!(log("acme/refunds@1.0.0", None).await.len(), 3);
}

async fn readers_of_a_content_are_found_in_the_audit_log(hub: Hub) {
    hub.namespace("acme").await;
    hub.published("acme/refunds", "one").await;
    let read = |actor: &str, text: &str| ReadRecord {
        actor: actor.into(),
        target: "acme/refunds@1.0.0".into(),
        content: content(text),
        files: [("SKILL.md".to_owned(), 2)].into(),
    };
    let start = hub.store.now();
    let reads = [read("rita", "one"), read("rex", "one"), read("rita", "other")];
    hub.store.record_reads(&reads, 7).await.unwrap();
    let mut filter = AuditFilter::default();
    filter.content = Some(content("one"));
    filter.action = Some(skillwire_hub::AuditAction::Read);
    filter.since = Some(start);
    filter.until = Some(hub.store.now());
    let found = hub.store.audit(&hub.admin, &filter, &PageRequest::default()).await.unwrap();
    let readers: Vec<&str> = found.items.iter().map(|entry| entry.actor.as_str()).collect();
    assert_eq!(readers, ["rex", "rita"]);
    filter.actor = Some("rita".into());
    filter.target = Some("acme/refunds@1.0.0".into());
    let found = hub.store.audit(&hub.admin, &filter, &PageRequest::default()).await.unwrap();
    assert_eq!(found.items.len(), 1);
    assert_eq!(found.items[0].details, r#"{"files":{"SKILL.md":2}}"#);
    // The log says that it is incomplete.
    let mut lost = AuditFilter::default();
    lost.actor = Some("hub".into());
    let found = hub.store.audit(&hub.admin, &lost, &PageRequest::default()).await.unwrap();
    assert_eq!(found.items[0].details, r#"{"not_recorded":7}"#);
    assert_eq!(hub.store.verify_audit().await.unwrap(), Ok(found.items[0].number));
    let denied = hub.store.audit(&caller("olga"), &filter, &PageRequest::default()).await;
    assert_eq!(crate::support::refused(denied), "not-allowed");
    assert!(hub.heads().await.1 > 3);
}
