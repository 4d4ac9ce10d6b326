//! Publishing: what is new, what exists, what is refused.

use skillwire_core::Digest;
use skillwire_hub::{
    Action, Caller, ChannelName, PageRequest, Quotas, Role, Similarity, Transition, VersionState,
    parse_version,
};
use skillwire_hub_store::{NewNamespace, StoreError, TransitionNote, Upload};

use crate::{
    contract,
    support::{Hub, caller, content, file, namespace, refused, skill, subject, upload},
};

contract! {
    a_published_version_is_served_and_its_files_are_read_back,
    the_same_bytes_again_are_answered_with_the_version_that_exists,
    a_version_that_exists_with_other_bytes_is_refused,
    an_upload_that_lies_about_its_bytes_is_refused_and_leaves_nothing,
    a_dry_run_says_what_would_happen_and_changes_nothing,
    a_name_like_a_protected_one_waits_for_an_administrator,
    a_popular_name_is_guarded_like_a_protected_one,
    a_namespace_that_is_full_refuses_more,
    publishers_at_the_same_time_get_one_version_each,
    the_same_upload_many_times_at_once_is_one_version,
    several_versions_are_published_at_once_or_none_is,
}

async fn a_published_version_is_served_and_its_files_are_read_back(hub: Hub) {
    hub.namespace("acme").await;
    let published = hub.publish("acme/refunds", "one").await.unwrap();
    assert_eq!(published.version.to_string(), "acme/refunds@1.0.0");
    assert_eq!(published.content, content("one"));
    assert_eq!((published.state, published.existing), (VersionState::Approved, false));

    let latest = ChannelName::latest();
    let served = hub.store.served(&latest, &skill("acme/refunds")).await.unwrap().unwrap();
    assert_eq!(served.content, content("one"));
    assert_eq!(served.entry, "entry of one");
    let paths: Vec<_> = served.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["LICENSE", "SKILL.md"]);
    let bytes = hub.store.read_blob(&served.files[1].digest, served.files[1].size).await.unwrap();
    assert_eq!(bytes, "one");

    let record = hub.store.version(&caller("rita"), &published.version).await.unwrap();
    assert_eq!((record.content, record.size), (content("one"), 7));
    assert_eq!(record.publisher, subject("ana"));
    let usage = hub.store.namespace(&hub.admin, &namespace("acme")).await.unwrap().usage;
    assert_eq!((usage.skills, usage.versions, usage.bytes), (1, 1, 7));
    assert_eq!(published.event, Some(hub.store.outbox_head().await.unwrap()));
}

async fn the_same_bytes_again_are_answered_with_the_version_that_exists(hub: Hub) {
    hub.namespace("acme").await;
    let first = hub.publish("acme/refunds", "one").await.unwrap();
    hub.published("acme/refunds", "two").await;
    let heads = hub.heads().await;
    let again = hub.publish("acme/refunds", "one").await.unwrap();
    assert_eq!((again.version, again.existing, again.event), (first.version, true, None));
    assert_eq!(hub.heads().await, heads);
    let renamed = upload("acme/refunds", "one").with_version(Some(parse_version("7").unwrap()));
    assert_eq!(refused(hub.store.publish(&caller("ana"), renamed).await), "content-taken");
}

async fn a_version_that_exists_with_other_bytes_is_refused(hub: Hub) {
    hub.namespace("acme").await;
    hub.published("acme/refunds", "one").await;
    let version = Some(parse_version("1.0.0").unwrap());
    let other = upload("acme/refunds", "two").with_version(version);
    assert_eq!(refused(hub.store.publish(&caller("ana"), other).await), "version-taken");
    let differs = upload("acme/refunds", "two")
        .with_version(Some(parse_version("1.1").unwrap()))
        .with_declared_version(Some("1.2".into()));
    assert_eq!(refused(hub.store.publish(&caller("ana"), differs).await), "versions-differ");
    let declared = upload("acme/refunds", "two").with_declared_version(Some("2.1".into()));
    let published = hub.store.publish(&caller("ana"), declared).await.unwrap();
    assert_eq!(published.version.version.to_string(), "2.1.0");
    assert_eq!(hub.published("acme/refunds", "three").await.version.to_string(), "2.1.1");
}

async fn an_upload_that_lies_about_its_bytes_is_refused_and_leaves_nothing(hub: Hub) {
    hub.namespace("acme").await;
    let heads = hub.heads().await;
    let publish = async |upload: Upload| refused(hub.store.publish(&caller("ana"), upload).await);
    let lie = upload("acme/refunds", "one").with_content(Some(content("two")));
    assert_eq!(publish(lie).await, "content-differs");
    // What arrives of a torn upload has another digest than its publisher announced.
    let mut torn = upload("acme/refunds", "one");
    torn.files[0].claimed = Some(Digest::of(b"one and more"));
    assert_eq!(publish(torn).await, "digest-differs");
    let mut twice = upload("acme/refunds", "one");
    twice.files.push(file("LICENSE", "other"));
    assert_eq!(publish(twice).await, "no-identity");
    let empty = Upload::new(skill("acme/refunds"), vec![file("README.md", "x")]);
    assert_eq!(publish(empty).await, "no-skill-file");
    assert_eq!(hub.heads().await, heads);
    for text in ["one", "other", "x", "free"] {
        assert!(!hub.blob_file(&Digest::of(text.as_bytes())).exists(), "{text}");
    }
    let page = hub.store.skills(&hub.admin, None, &PageRequest::default()).await.unwrap();
    assert!(page.items.is_empty());
}

async fn a_dry_run_says_what_would_happen_and_changes_nothing(hub: Hub) {
    hub.namespace("acme").await;
    let heads = hub.heads().await;
    let dry = upload("acme/refunds", "one").with_dry_run(true);
    let would = hub.store.publish(&caller("ana"), dry).await.unwrap();
    assert_eq!(would.version.version.to_string(), "1.0.0");
    assert_eq!((would.existing, would.event), (false, None));
    assert_eq!(hub.heads().await, heads);
    assert!(!hub.blob_file(&Digest::of(b"one")).exists());
}

async fn a_name_like_a_protected_one_waits_for_an_administrator(hub: Hub) {
    let bank = NewNamespace::new(namespace("bank"), subject("olga")).with_protected(true);
    hub.namespace_with(bank).await;
    hub.namespace("acme").await;
    hub.published("bank/payments", "real").await;
    for (name, similarity) in [
        ("acme/payments", Similarity::Same),
        ("acme/paymemts", Similarity::OneEdit),
        ("acme/payments-pro", Similarity::Suffix),
        ("acme/payrnents", Similarity::Confusable),
    ] {
        let published = hub.publish(name, name).await.unwrap();
        assert_eq!(published.state, VersionState::Quarantined, "{name}");
        assert_eq!(published.name_conflict.unwrap().similarity, similarity, "{name}");
        let approve = async |who: &Caller| {
            let note = TransitionNote::default();
            hub.store.transition(who, &published.version, Transition::Approve, note).await
        };
        assert_eq!(refused(approve(&caller("rex")).await), "name-needs-administrator", "{name}");
        assert_eq!(approve(&hub.admin).await.unwrap().state, VersionState::Approved);
        // The name is accepted, so that the next version does not wait.
        let next = hub.publish(name, &format!("next {name}")).await.unwrap();
        assert_eq!(next.state, VersionState::Approved, "{name}");
    }
    let other = hub.publish("acme/invoices", "fine").await.unwrap();
    assert_eq!((other.state, other.name_conflict), (VersionState::Approved, None));
    // The owner of a protected namespace names skills as they like.
    let own = hub.publish("bank/payments-pro", "own").await.unwrap();
    assert_eq!(own.state, VersionState::Approved);
}

async fn a_popular_name_is_guarded_like_a_protected_one(hub: Hub) {
    hub.namespace("acme").await;
    hub.namespace("beta").await;
    hub.published("acme/refunds", "real").await;
    assert_eq!(hub.publish("beta/refund", "1").await.unwrap().name_conflict, None);
    hub.store.set_popular(&hub.admin, &skill("acme/refunds"), true).await.unwrap();
    assert!(hub.publish("beta/refunds2", "2").await.unwrap().name_conflict.is_some());
    hub.store.set_popular(&hub.admin, &skill("acme/refunds"), false).await.unwrap();
    assert_eq!(hub.publish("beta/refunds3", "3").await.unwrap().name_conflict, None);
    let refusal = hub.store.set_popular(&caller("olga"), &skill("acme/refunds"), true).await;
    assert_eq!(refused(refusal), "not-allowed");
}

async fn a_namespace_that_is_full_refuses_more(hub: Hub) {
    let mut quotas = Quotas::default();
    (quotas.skills, quotas.versions_per_skill, quotas.bytes) = (2, 2, 100);
    (quotas.version_bytes, quotas.version_files) = (20, 2);
    let small = NewNamespace::new(namespace("acme"), subject("olga")).with_quotas(quotas);
    hub.namespace_with(small).await;
    hub.published("acme/one", "1").await;
    hub.published("acme/one", "2").await;
    assert_eq!(refused(hub.publish("acme/one", "3").await), "over-quota");
    hub.published("acme/two", "1").await;
    assert_eq!(refused(hub.publish("acme/three", "1").await), "over-quota");
    assert_eq!(refused(hub.publish("acme/two", &"x".repeat(17)).await), "over-quota");
    let mut many = upload("acme/two", "2");
    many.files.push(file("more", ""));
    assert_eq!(refused(hub.store.publish(&caller("ana"), many).await), "over-quota");
    // The same bytes again need no room.
    assert!(hub.publish("acme/one", "1").await.unwrap().existing);
}

async fn publishers_at_the_same_time_get_one_version_each(hub: Hub) {
    hub.namespace("acme").await;
    let before = hub.heads().await.0;
    let tasks: Vec<_> = (0..12)
        .map(|number| {
            let store = hub.store.clone();
            let upload = upload("acme/refunds", &format!("text {number}"));
            tokio::spawn(async move { store.publish(&caller("ana"), upload).await })
        })
        .collect();
    let mut versions = Vec::new();
    for task in tasks {
        versions.push(task.await.unwrap().unwrap().version.version.to_string());
    }
    versions.sort_by_key(|version| parse_version(version).unwrap());
    let expected: Vec<_> = (0..12).map(|number| format!("1.0.{number}")).collect();
    assert_eq!(versions, expected);
    // Two events for each: the version, and `latest` that follows it.
    assert_eq!(hub.heads().await.0, before + 24);
    assert!(!hub.store.outbox_after(before, 1_000).await.unwrap().gap);
}

async fn the_same_upload_many_times_at_once_is_one_version(hub: Hub) {
    hub.namespace("acme").await;
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let store = hub.store.clone();
            tokio::spawn(async move {
                store.publish(&caller("ana"), upload("acme/refunds", "one")).await
            })
        })
        .collect();
    let mut new = 0;
    for task in tasks {
        let published = task.await.unwrap().unwrap();
        assert_eq!(published.version.version.to_string(), "1.0.0");
        new += u32::from(!published.existing);
    }
    assert_eq!(new, 1);
    let denied = hub.store.publish(&caller("rita"), upload("acme/refunds", "two")).await;
    assert!(matches!(
        denied,
        Err(StoreError::Refused(skillwire_hub::Refusal::NotAllowed {
            action: Action::Publish,
            ..
        }))
    ));
    assert!(!Role::Reader.allows(Action::Publish));
}

async fn several_versions_are_published_at_once_or_none_is(hub: Hub) {
    hub.namespace("acme").await;
    let ana = caller("ana");
    let uploads = ["one", "two", "three"].map(|name| upload(&format!("acme/{name}"), name));
    let published = hub.store.publish_all(&ana, uploads.to_vec()).await.unwrap();
    let versions: Vec<String> = published.iter().map(|one| one.version.to_string()).collect();
    assert_eq!(versions, ["acme/one@1.0.0", "acme/two@1.0.0", "acme/three@1.0.0"]);
    let served = hub.store.served(&ChannelName::latest(), &skill("acme/two")).await.unwrap();
    assert_eq!(served.unwrap().content, published[1].content);
    // Again they are the same versions.
    let again = hub.store.publish_all(&ana, uploads.to_vec()).await.unwrap();
    assert!(again.iter().all(|one| one.existing));
    let heads = hub.heads().await;
    let partly = [upload("acme/four", "four"), upload("other/five", "five")];
    let code = refused(hub.store.publish_all(&ana, partly.to_vec()).await);
    assert_eq!(code, "unknown-namespace");
    assert_eq!(hub.heads().await, heads);
    assert!(hub.store.served(&ChannelName::latest(), &skill("acme/four")).await.unwrap().is_none());
}
