//! Events for replicas, and jobs with leases.

use std::time::Duration;

use skillwire_hub::HubChange;
use skillwire_hub_store::{HubStore, NewJob};

use crate::{
    contract,
    support::{Hub, skill},
};

contract! {
    a_replica_sees_every_change_once_and_in_order,
    a_replica_hears_of_a_commit_before_its_interval_ends,
    a_replica_that_missed_events_is_told_so,
    an_event_of_a_newer_program_does_not_stop_a_replica,
    work_is_leased_once_and_given_out_again_when_its_worker_vanished,
}

async fn a_replica_sees_every_change_once_and_in_order(hub: Hub) {
    hub.namespace("acme").await;
    for text in ["one", "two", "three"] {
        hub.published("acme/refunds", text).await;
    }
    let mut events = Vec::new();
    let mut after = 0;
    for _ in 0..100 {
        let page = hub.store.outbox_after(after, 2).await.unwrap();
        assert!(!page.gap && page.events.len() <= 2);
        let Some(last) = page.events.last() else { break };
        after = last.number;
        events.extend(page.events);
    }
    let numbers: Vec<u64> = events.iter().map(|event| event.number).collect();
    let expected: Vec<u64> = (1..=hub.store.outbox_head().await.unwrap()).collect();
    assert_eq!(numbers, expected);
    let published: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.change {
            HubChange::VersionPublished { skill, version, .. } => {
                Some(format!("{skill}@{version}"))
            }
            _ => None,
        })
        .collect();
    assert_eq!(published, ["acme/refunds@1.0.0", "acme/refunds@1.0.1", "acme/refunds@1.0.2"]);
    assert_eq!(events.last().unwrap().change.skill(), Some(&skill("acme/refunds")));
}

async fn a_replica_hears_of_a_commit_before_its_interval_ends(hub: Hub) {
    hub.namespace("acme").await;
    // Another replica: only PostgreSQL tells one process of the commits of another.
    let other = if hub.is_embedded() {
        hub.store.clone()
    } else {
        HubStore::open(hub.options.clone()).await.unwrap()
    };
    let mut hints = other.hints().await;
    hub.published("acme/refunds", "one").await;
    // An hour is never waited for: the hint ends the wait.
    let waited = hints.wait(Duration::from_hours(1));
    tokio::time::timeout(Duration::from_mins(1), waited).await.expect("a hint");
}

async fn a_replica_that_missed_events_is_told_so(hub: Hub) {
    hub.namespace("acme").await;
    for number in 0..5 {
        hub.published("acme/refunds", &format!("text {number}")).await;
    }
    let head = hub.store.outbox_head().await.unwrap();
    hub.store.trim_outbox(3).await.unwrap();
    let gap_after = async |after| {
        let page = hub.store.outbox_after(after, 100).await.unwrap();
        assert_eq!(page.head, head);
        (page.gap, page.events.len())
    };
    assert!(gap_after(1).await.0);
    assert_eq!(gap_after(head).await, (false, 0));
    assert_eq!(gap_after(head - 3).await, (false, 3));
    // A hub that was restored to an earlier state has fewer events than the replica saw.
    assert!(gap_after(head + 10).await.0);
}

async fn an_event_of_a_newer_program_does_not_stop_a_replica(hub: Hub) {
    hub.namespace("acme").await;
    hub.raw(r#"UPDATE outbox SET change = '{"kind":"from-tomorrow","x":1}' WHERE number = 2"#)
        .await;
    let page = hub.store.outbox_after(0, 100).await.unwrap();
    assert_eq!(page.events[1].change, HubChange::Unknown);
    assert!(!page.gap);
}

async fn work_is_leased_once_and_given_out_again_when_its_worker_vanished(hub: Hub) {
    let job = |key: Option<&str>| NewJob {
        kind: "scan".into(),
        payload: "acme/refunds".into(),
        unique_key: key.map(str::to_owned),
        run_at: hub.store.now(),
    };
    let id = hub.store.enqueue(job(Some("scan acme/refunds"))).await.unwrap();
    assert_eq!(hub.store.enqueue(job(Some("scan acme/refunds"))).await.unwrap(), id);
    let minute = Duration::from_mins(1);
    let lease = async |worker: &str| hub.store.lease_job("scan", worker, minute).await.unwrap();
    let (one, two) = tokio::join!(lease("one"), lease("two"));
    let leased = one.clone().or(two.clone()).expect("one worker has it");
    assert!(one.is_none() || two.is_none());
    assert_eq!((leased.id, leased.attempts), (id, 1));
    let first = if one.is_some() { "one" } else { "two" };
    assert!(hub.store.renew_job(id, first, minute).await.unwrap());
    assert_eq!(hub.store.lease_job("other", "three", minute).await.unwrap(), None);

    hub.wait(2 * minute);
    assert!(!hub.store.renew_job(id, first, minute).await.unwrap());
    assert_eq!(lease("three").await.unwrap().attempts, 2);
    assert!(!hub.store.finish_job(id, first).await.unwrap());
    let later = hub.store.now().plus(minute);
    assert!(hub.store.retry_job(id, "three", "no scanner", later).await.unwrap());
    assert_eq!(lease("four").await, None);
    hub.wait(2 * minute);
    assert_eq!(lease("four").await.unwrap().attempts, 3);
    assert!(hub.store.finish_job(id, "four").await.unwrap());
    hub.wait(2 * minute);
    assert_eq!(lease("five").await, None);
    assert_ne!(hub.store.enqueue(job(Some("scan acme/refunds"))).await.unwrap(), id);
}
