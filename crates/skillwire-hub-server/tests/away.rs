//! A replica whose database is away.

use std::{net::SocketAddr, time::Duration};

use skillwire_hub_server::{HubIdentity, ServingOptions};
use skillwire_hub_store::{BlobLocation, DatabaseLocation, HubStore, StoreOptions};
use skillwire_server::http::{ConnectionLimits, Workers, run};
use skillwire_testkit::HttpConnection;
use tokio::net::TcpListener;

async fn status(address: SocketAddr, method: &str, path: &str) -> u16 {
    let mut connection = HttpConnection::open(address).await;
    connection.send(method, path, &[("Content-Type", "application/json")], b"{}").await;
    connection.reply().await.status
}

#[tokio::test]
async fn a_replica_without_its_database_is_not_ready_and_serves_until_its_limit() {
    for (limit, still_served) in [(Duration::from_mins(5), true), (Duration::ZERO, false)] {
        let folder = tempfile::tempdir().unwrap();
        let database = DatabaseLocation::Sqlite(folder.path().join("hub.db"));
        let blobs = BlobLocation::Folder(folder.path().join("blobs"));
        let store = HubStore::open(StoreOptions::new(database, blobs)).await.unwrap();
        let options = ServingOptions::default().stale_limit(limit).poll(Duration::from_millis(5));
        let identity = HubIdentity::new("hub", "hub");
        let started = skillwire_hub_server::start(store.clone(), identity, options).await;
        let (service, _following) = started.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let never = std::future::pending();
        tokio::spawn(run(listener, service, Workers::here(), ConnectionLimits::default(), never));
        assert_eq!(status(address, "GET", "/readyz").await, 200);
        // Nobody has a token, so that an admitted request is one without a valid one.
        assert_eq!(status(address, "POST", "/mcp").await, 401);
        store.close().await;
        let start = std::time::Instant::now();
        while status(address, "GET", "/readyz").await != 503 {
            assert!(start.elapsed() < Duration::from_secs(20), "the replica never notices");
        }
        let expected = if still_served { 401 } else { 503 };
        assert_eq!(status(address, "POST", "/mcp").await, expected);
        assert_eq!(status(address, "GET", "/healthz").await, 200);
        // Writes and reads of the API fail at once.
        assert_eq!(status(address, "GET", "/api/v1/skills").await, 503);
    }
}
