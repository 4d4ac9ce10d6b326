//! Which programs may use which schema.

use skillwire_hub::{ResourcePatterns, ToolPatterns, Upstream, UpstreamMode, UpstreamSource};
use skillwire_hub_store::{HubStore, StoreError, UpstreamChange};

use crate::{
    contract,
    support::{Hub, caller, upload},
};

contract! {
    an_older_program_refuses_a_schema_that_it_cannot_work_with,
    two_programs_work_side_by_side_while_a_schema_only_adds,
    a_schema_is_made_only_if_the_options_allow_it,
    many_replicas_start_at_once_on_a_new_database,
    upstreams_from_before_there_were_tools_and_resources_allow_none,
}

async fn an_older_program_refuses_a_schema_that_it_cannot_work_with(hub: Hub) {
    hub.namespace("acme").await;
    let heads = hub.heads().await;
    hub.raw("UPDATE schema_version SET version = 99, readable_from = 99").await;
    let opened = HubStore::open(hub.options.clone()).await;
    assert!(matches!(opened.err(), Some(StoreError::NewerSchema { found: 99, needed: 99, .. })));
    // One that runs already stops to write.
    let written = hub.publish("acme/refunds", "one").await;
    assert!(matches!(written, Err(StoreError::NewerSchema { .. })));
    assert_eq!(hub.heads().await, heads);
}

async fn two_programs_work_side_by_side_while_a_schema_only_adds(hub: Hub) {
    hub.namespace("acme").await;
    // What a newer program's migration could do during a rolling upgrade.
    hub.raw(
        "ALTER TABLE versions ADD COLUMN weight BIGINT; CREATE TABLE evidence (id BIGINT);
         UPDATE schema_version SET version = 98",
    )
    .await;
    let older = HubStore::open(hub.options.clone()).await.unwrap();
    older.publish(&caller("ana"), upload("acme/refunds", "one")).await.unwrap();
    hub.published("acme/refunds", "two").await;
    // The older program does not take the newer schema back.
    let again = HubStore::open(hub.options.clone()).await.unwrap();
    assert_eq!(again.outbox_head().await.unwrap(), hub.store.outbox_head().await.unwrap());
    older.close().await;
    again.close().await;
}

async fn a_schema_is_made_only_if_the_options_allow_it(hub: Hub) {
    hub.raw("UPDATE schema_version SET version = 0, readable_from = 0").await;
    let opened = HubStore::open(hub.options.clone().with_migrate(false)).await;
    assert!(matches!(opened.err(), Some(StoreError::OlderSchema { found: 0, .. })));
}

async fn many_replicas_start_at_once_on_a_new_database(hub: Hub) {
    hub.raw("DROP TABLE schema_version; DROP TABLE hub").await;
    for table in [
        "observations",
        "offer_blobs",
        "offers",
        "upstreams",
        "jobs",
        "outbox",
        "audit",
        "decisions",
        "trusted_publishers",
        "tokens",
        "revoked_content",
        "channels",
        "blobs",
        "version_blobs",
        "versions",
        "name_guards",
        "skills",
        "grants",
        "namespaces",
    ] {
        hub.raw(&format!("DROP TABLE {table}")).await;
    }
    let starts: Vec<_> = (0..4)
        .map(|_| {
            let options = hub.options.clone().with_connections(2);
            tokio::spawn(async move { HubStore::open(options).await })
        })
        .collect();
    for start in starts {
        let store = start.await.unwrap().expect("it starts");
        store.ping().await.unwrap();
        store.close().await;
    }
    hub.namespace("acme").await;
}

async fn upstreams_from_before_there_were_tools_and_resources_allow_none(hub: Hub) {
    let label = "docs".parse().unwrap();
    let source = UpstreamSource::mcp("https://docs.example/mcp");
    let upstream = Upstream::new("docs".parse().unwrap(), source, UpstreamMode::Pin).unwrap();
    hub.store.add_upstream(&hub.admin, upstream.clone(), false).await.unwrap();
    // The schema as a program without tools left it.
    hub.raw(
        "ALTER TABLE upstreams DROP COLUMN tools;
         ALTER TABLE upstreams DROP COLUMN resources;
         ALTER TABLE observations DROP COLUMN facts;
         UPDATE schema_version SET version = 2, readable_from = 2",
    )
    .await;
    let store = HubStore::open(hub.options.clone()).await.unwrap();
    assert_eq!(store.upstream(&hub.admin, &label).await.unwrap().upstream, upstream);
    let tools = ToolPatterns::parse(["read_*", "search"]).unwrap();
    let resources = ResourcePatterns::parse(["file:///docs/**"]).unwrap();
    let change = UpstreamChange {
        tools: Some(tools.clone()),
        resources: Some(resources.clone()),
        ..UpstreamChange::default()
    };
    store.change_upstream(&hub.admin, &label, change).await.unwrap();
    // What is not named stays.
    let change = UpstreamChange { mode: Some(UpstreamMode::Pin), ..UpstreamChange::default() };
    store.change_upstream(&hub.admin, &label, change).await.unwrap();
    let kept = store.upstream(&hub.admin, &label).await.unwrap().upstream;
    assert_eq!((kept.tools, kept.resources), (tools, resources));
    store.close().await;
}
