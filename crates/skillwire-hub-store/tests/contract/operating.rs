//! Garbage, backups, moving between engines, and erasing.

use std::time::Duration;

use skillwire_core::Digest;
use skillwire_hub::{
    AuditFilter, Caller, ChannelName, PageRequest, Role, Transition, VersionState,
};
use skillwire_hub_store::{
    DatabaseLocation, GcOptions, HubStore, NewToken, StoreError, StoreOptions, TransitionNote,
    check_backup, check_target,
};

use crate::{
    contract,
    engines::Engine,
    support::{Hub, caller, content, namespace, refused, skill, subject, upload},
};

contract! {
    garbage_is_what_no_version_names_and_no_upload_touched,
    a_backup_is_restored_with_everything_in_it,
    a_backup_that_was_changed_or_not_finished_is_refused,
    a_hub_moves_to_the_other_engine,
    a_hub_is_not_copied_into_one_that_is_in_use,
    what_a_copy_would_have_is_said_before_anything_is_written,
    a_purged_version_leaves_a_tombstone_and_a_whole_audit_log,
    a_purged_person_leaves_a_pseudonym_and_a_whole_audit_log,
    a_changed_audit_log_is_noticed,
}

const DAY: Duration = Duration::from_hours(24);

async fn garbage_is_what_no_version_names_and_no_upload_touched(hub: Hub) {
    hub.namespace("acme").await;
    hub.published("acme/refunds", "kept").await;
    // A publication that fails after its blobs were written leaves garbage.
    hub.break_versions().await;
    assert!(hub.publish("acme/refunds", "garbage").await.is_err());
    hub.mend_versions().await;
    let garbage = hub.blob_file(&Digest::of(b"garbage"));
    assert!(garbage.exists());

    let collect = async |options| hub.store.collect_garbage(&hub.admin, options).await.unwrap();
    assert_eq!(collect(GcOptions::default()).await.blobs, 0);
    hub.wait(2 * DAY);
    // Somebody begins to upload the same bytes again: they stay for another day.
    hub.break_versions().await;
    assert!(hub.publish("acme/refunds", "garbage").await.is_err());
    hub.mend_versions().await;
    assert_eq!(collect(GcOptions::default()).await.blobs, 0);
    hub.wait(2 * DAY);
    let dry = collect(GcOptions::default().with_dry_run(true)).await;
    assert_eq!((dry.blobs, dry.bytes), (1, 7));
    assert!(garbage.exists());
    let heads = hub.heads().await;
    assert_eq!(collect(GcOptions::default()).await, dry);
    assert!(!garbage.exists());
    assert_eq!(hub.heads().await.1, heads.1 + 1);
    assert_eq!(collect(GcOptions::default()).await.blobs, 0);
    assert_eq!(hub.store.verify_blobs().await.unwrap().damaged, []);
    assert!(hub.blob_file(&Digest::of(b"kept")).exists());
    let denied = hub.store.collect_garbage(&caller("olga"), GcOptions::default()).await;
    assert_eq!(refused(denied), "not-allowed");
    // What was garbage can be published again.
    hub.published("acme/refunds", "garbage").await;
    assert_eq!(hub.store.verify_blobs().await.unwrap().damaged, []);
}

/// Fills a hub with a little of everything, and returns the secret of a token.
async fn fill(hub: &Hub) -> skillwire_hub::TokenSecret {
    hub.namespace("acme").await;
    for number in 0..5 {
        for version in 0..3 {
            let text = format!("text {number} {version}");
            hub.published(&format!("acme/skill-{number}"), &text).await;
        }
    }
    let version = "acme/skill-1@1.0.2".parse().unwrap();
    let note = TransitionNote::because("it’s \"odd\"\n\tand ünïcode");
    hub.store.transition(&hub.admin, &version, Transition::Yank, note).await.unwrap();
    hub.store.revoke_content(&hub.admin, &content("text 2 0"), "bad").await.unwrap();
    let new = NewToken::new("ci", subject("ana")).with_namespaces(Some([namespace("acme")].into()));
    hub.store.create_token(&hub.admin, new).await.unwrap().1
}

/// Compares what two hubs hold, through their public faces.
async fn assert_same(one: &HubStore, other: &HubStore, hub: &Hub) {
    let page = PageRequest::first(1_000);
    let (admin, latest) = (&hub.admin, ChannelName::latest());
    let head = one.outbox_head().await.unwrap();
    assert_eq!(head, other.outbox_head().await.unwrap());
    let filter = AuditFilter::default();
    let audit = one.audit(admin, &filter, &page).await.unwrap();
    assert_eq!(audit, other.audit(admin, &filter, &page).await.unwrap());
    assert_eq!(one.all_namespaces().await.unwrap(), other.all_namespaces().await.unwrap());
    let skills = one.skills(admin, None, &page).await.unwrap();
    assert_eq!(skills, other.skills(admin, None, &page).await.unwrap());
    for summary in &skills.items {
        let versions = one.versions(admin, &summary.id, &page).await.unwrap();
        assert_eq!(versions, other.versions(admin, &summary.id, &page).await.unwrap());
    }
    let served = one.served_page(&latest, &page).await.unwrap();
    assert_eq!(served, other.served_page(&latest, &page).await.unwrap());
    assert_eq!(other.verify_audit().await.unwrap().unwrap(), audit.items.len() as u64);
    let check = other.verify_blobs().await.unwrap();
    assert_eq!((check.checked, check.damaged.len()), (16, 0));
    assert_eq!(
        one.outbox_after(0, 1_000).await.unwrap(),
        other.outbox_after(0, 1_000).await.unwrap()
    );
}

fn engine_of(hub: &Hub) -> Engine {
    if hub.is_embedded() { Engine::Embedded } else { Engine::Served }
}

async fn a_backup_is_restored_with_everything_in_it(hub: Hub) {
    let secret = fill(&hub).await;
    let folder = hub.folder.path().join("backup");
    let report = hub.store.backup(&hub.admin, &folder, |_| {}).await.unwrap();
    assert_eq!((report.blobs, report.damaged.len()), (16, 0));
    let new = Hub::new(engine_of(&hub)).await.unwrap();
    let restored = new.store.restore(&folder, |_| {}).await.unwrap();
    assert_eq!(restored, report);
    assert_same(&hub.store, &new.store, &hub).await;
    assert!(new.store.authenticate(&secret).await.unwrap().is_some());
    // The restored hub goes on where the other was.
    assert_eq!(new.published("acme/skill-0", "after").await.version.to_string(), "1.0.3");
    assert!(new.store.verify_audit().await.unwrap().is_ok());
    new.store.close().await;
}

async fn a_backup_that_was_changed_or_not_finished_is_refused(hub: Hub) {
    fill(&hub).await;
    let folder = hub.folder.path().join("backup");
    hub.store.backup(&hub.admin, &folder, |_| {}).await.unwrap();
    let again = hub.store.backup(&hub.admin, &folder, |_| {}).await;
    assert!(matches!(again, Err(StoreError::TargetNotEmpty)));
    let new = Hub::new(engine_of(&hub)).await.unwrap();
    let tokens = folder.join("tables/tokens.jsonl");
    let before = std::fs::read_to_string(&tokens).unwrap();
    std::fs::write(&tokens, before.replace("ana", "eve")).unwrap();
    let refused = new.store.restore(&folder, |_| {}).await;
    assert!(matches!(refused, Err(StoreError::BadBackup { .. })), "{refused:?}");
    std::fs::write(&tokens, before).unwrap();
    let manifest = folder.join("manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::remove_file(&manifest).unwrap();
    let refused = new.store.restore(&folder, |_| {}).await;
    assert!(matches!(refused, Err(StoreError::BadBackup { .. })), "{refused:?}");
    assert_eq!(new.heads().await, (0, 0));
    std::fs::write(&manifest, text).unwrap();
    new.store.restore(&folder, |_| {}).await.unwrap();
    new.store.close().await;
}

async fn a_hub_moves_to_the_other_engine(hub: Hub) {
    let secret = fill(&hub).await;
    let other = if hub.is_embedded() { Engine::Served } else { Engine::Embedded };
    let Some(target) = Hub::new(other).await else { return };
    let report = hub.store.migrate_to(&hub.admin, &target.store, |_| {}).await.unwrap();
    assert_eq!((report.blobs, report.damaged.len()), (16, 0));
    assert_same(&hub.store, &target.store, &hub).await;
    assert!(target.store.authenticate(&secret).await.unwrap().is_some());
    assert_eq!(target.published("acme/skill-0", "after").await.version.to_string(), "1.0.3");
    target.store.close().await;
}

async fn a_hub_is_not_copied_into_one_that_is_in_use(hub: Hub) {
    fill(&hub).await;
    let folder = hub.folder.path().join("backup");
    hub.store.backup(&hub.admin, &folder, |_| {}).await.unwrap();
    let used = Hub::new(engine_of(&hub)).await.unwrap();
    used.namespace("mine").await;
    let heads = used.heads().await;
    let restored = used.store.restore(&folder, |_| {}).await;
    assert!(matches!(restored, Err(StoreError::TargetNotEmpty)));
    let moved = hub.store.migrate_to(&hub.admin, &used.store, |_| {}).await;
    assert!(matches!(moved, Err(StoreError::TargetNotEmpty)));
    assert_eq!(used.heads().await, heads);
    let denied = hub.store.migrate_to(&caller("olga"), &used.store, |_| {}).await;
    assert_eq!(refused(denied), "not-allowed");
    used.store.close().await;
}

async fn what_a_copy_would_have_is_said_before_anything_is_written(hub: Hub) {
    let options = hub.options.clone();
    check_target(&options).await.unwrap();
    fill(&hub).await;
    assert!(matches!(check_target(&options).await, Err(StoreError::TargetNotEmpty)));
    let denied = hub.store.size(&caller("olga")).await;
    assert_eq!(refused(denied), "not-allowed");
    let size = hub.store.size(&hub.admin).await.unwrap();
    let folder = hub.folder.path().join("backup");
    let copied = hub.store.backup(&hub.admin, &folder, |_| {}).await.unwrap();
    assert_eq!(size, copied);
    assert_eq!(check_backup(&folder).unwrap(), copied);
    assert!(matches!(check_backup(hub.folder.path()), Err(StoreError::BadBackup { .. })));
    let nowhere = DatabaseLocation::Sqlite(hub.folder.path().join("nowhere.db"));
    let nowhere = StoreOptions::new(nowhere, options.blobs.clone());
    check_target(&nowhere).await.unwrap();
    // A mistyped path must not become a new hub.
    let opened = HubStore::open(nowhere.clone().with_create(false)).await;
    assert!(matches!(opened.err(), Some(StoreError::NoDatabase { .. })));
    assert!(!hub.folder.path().join("nowhere.db").exists());
    std::fs::write(hub.folder.path().join("nowhere.db"), "not a database, but a longer text")
        .unwrap();
    let error = HubStore::open(nowhere).await.err().unwrap().to_string();
    assert!(error.contains("nowhere.db` cannot be used as a database"), "{error}");
}

async fn a_purged_version_leaves_a_tombstone_and_a_whole_audit_log(hub: Hub) {
    hub.namespace("acme").await;
    let version = hub.published("acme/refunds", "private").await;
    hub.published("acme/refunds", "fine").await;
    let purge = async |who: &Caller| hub.store.purge_version(who, &version, "court order").await;
    assert_eq!(refused(purge(&caller("olga")).await), "not-allowed");
    let tombstone = purge(&hub.admin).await.unwrap();
    assert_eq!((tombstone.state, tombstone.purged), (VersionState::Revoked, true));
    assert_eq!((tombstone.files.len(), tombstone.entry.as_str()), (0, ""));
    assert_eq!(tombstone.content, content("private"));
    assert!(!hub.blob_file(&Digest::of(b"private")).exists());
    // The licence is shared with the other version.
    assert!(hub.blob_file(&Digest::of(b"free")).exists());
    assert_eq!(hub.store.pinned(&version).await.unwrap(), None);
    assert_eq!(refused(hub.publish("acme/refunds", "private").await), "content-revoked");
    assert!(hub.store.verify_audit().await.unwrap().is_ok());
    assert_eq!(hub.store.verify_blobs().await.unwrap().damaged, []);
    let usage = hub.store.namespace(&hub.admin, &namespace("acme")).await.unwrap().usage;
    assert_eq!((usage.versions, usage.bytes), (2, 8));
    let heads = hub.heads().await;
    purge(&hub.admin).await.unwrap();
    assert_eq!(hub.heads().await, heads);
    // Another skill may still publish the same bytes, which are then stored again.
    hub.published("acme/other", "private").await;
    assert_eq!(hub.store.verify_blobs().await.unwrap().damaged, []);
}

async fn a_purged_person_leaves_a_pseudonym_and_a_whole_audit_log(hub: Hub) {
    hub.namespace("acme").await;
    let version = hub.published("acme/refunds", "one").await;
    let new = NewToken::new("ana", subject("ana"));
    let (_, secret) = hub.store.create_token(&caller("ana"), new).await.unwrap();
    hub.store
        .grant(&hub.admin, &namespace("acme"), &subject("banana"), Role::Reader)
        .await
        .unwrap();
    let purge = async |store: &HubStore, name: &str| {
        store.purge_subject(&hub.admin, &subject(name), "ana asked for it").await
    };
    // Asking what would be erased erases nothing.
    let heads = hub.heads().await;
    let asked = purge(&hub.store.rehearsal(), "ana").await.unwrap().unwrap();
    assert_eq!(hub.heads().await, heads);
    let erased = purge(&hub.store, "ana").await.unwrap().unwrap();
    assert_eq!((erased.records, erased.tokens), (asked.records, 1));
    let pseudonym = erased.pseudonym;
    assert!(hub.heads().await.0 > heads.0 + 1, "replicas are told of the token and the roles");
    assert_eq!(purge(&hub.store, "ana").await.unwrap(), None);
    for name in ["*", "hub"] {
        assert_eq!(refused(purge(&hub.store, name).await), "not-a-person");
    }
    let tokens = hub.store.tokens(&hub.admin, &PageRequest::default()).await.unwrap();
    assert!(!tokens.items.iter().any(|token| token.name == "ana"), "{tokens:?}");
    assert!(pseudonym.as_str().starts_with("erased-"));
    assert_eq!(hub.store.authenticate(&secret).await.unwrap(), None);
    let record = hub.store.version(&hub.admin, &version).await.unwrap();
    assert_eq!(record.publisher, pseudonym);
    let page = PageRequest::first(1_000);
    let audit = hub.store.audit(&hub.admin, &AuditFilter::default(), &page).await.unwrap();
    let text = format!("{audit:?}{:?}", hub.store.all_namespaces().await.unwrap());
    assert!(!text.contains("\"ana\"") && !text.contains("\\\"ana\\\""), "{text}");
    assert!(text.contains("banana"), "{text}");
    assert!(audit.items.iter().any(|entry| entry.actor == pseudonym.as_str()));
    assert!(hub.store.verify_audit().await.unwrap().is_ok());
    let denied = hub.store.publish(&caller("ana"), upload("acme/refunds", "two")).await;
    assert_eq!(refused(denied), "unknown-namespace");
    let acme = hub.store.namespace(&hub.admin, &namespace("acme")).await.unwrap();
    assert!(acme.grants.get(&pseudonym).is_some_and(|roles| roles.contains(&Role::Publisher)));
    assert_eq!(
        hub.store.skill(&hub.admin, &skill("acme/refunds")).await.unwrap().channels.len(),
        1
    );
}

async fn a_changed_audit_log_is_noticed(hub: Hub) {
    hub.namespace("acme").await;
    hub.published("acme/refunds", "one").await;
    let count = hub.heads().await.1;
    let broken = async || hub.store.verify_audit().await.unwrap().unwrap_err().number;
    hub.raw("UPDATE audit SET actor = 'eve' WHERE number = 2").await;
    assert_eq!(broken().await, 2);
    hub.raw("UPDATE audit SET actor = 'root' WHERE number = 2").await;
    assert!(hub.store.verify_audit().await.unwrap().is_ok());
    // Without its last entries the chain holds, but it is too short.
    hub.raw(&format!("DELETE FROM audit WHERE number = {count}")).await;
    assert_eq!(broken().await, count);
}
