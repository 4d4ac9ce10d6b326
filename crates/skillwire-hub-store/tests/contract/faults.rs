//! What breaks below a hub: each a clear refusal, nothing half published, nothing lost.

use std::time::Duration;

use skillwire_core::Digest;
use skillwire_hub::{AuditAction, AuditFilter, ChannelName, PageRequest};
use skillwire_hub_store::{BlobLocation, DatabaseLocation, HubStore, StoreError};
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};

use crate::{
    contract,
    engines::administrator_of_postgres,
    support::{Hub, caller, skill, upload},
};

contract! {
    a_blob_that_was_changed_is_never_served_and_is_reported,
    a_blob_that_is_missing_is_reported_and_written_again,
    a_transaction_that_fails_after_the_blobs_publishes_nothing,
    a_database_that_is_away_refuses_writes_and_loses_nothing,
    an_object_store_that_is_away_refuses_uploads_and_publishes_nothing,
    files_that_a_replica_has_read_are_served_while_the_object_store_is_away,
    a_publisher_that_is_killed_loses_nothing_that_was_acknowledged,
}

async fn damages(hub: &Hub) -> usize {
    let mut filter = AuditFilter::default();
    filter.action = Some(AuditAction::BlobDamaged);
    hub.store.audit(&hub.admin, &filter, &PageRequest::default()).await.unwrap().items.len()
}

async fn a_blob_that_was_changed_is_never_served_and_is_reported(hub: Hub) {
    hub.namespace("acme").await;
    hub.published("acme/refunds", "good text").await;
    let digest = Digest::of(b"good text");
    let file = hub.blob_file(&digest);
    for (bytes, same_size) in [("evil text", true), ("evil", false), ("evil and longer", false)] {
        std::fs::write(&file, bytes).unwrap();
        let read = hub.store.read_blob(&digest, 9).await;
        let Err(StoreError::BlobDamaged { digest: named, actual }) = read else {
            panic!("{read:?}");
        };
        assert_eq!((named, actual.is_some()), (digest, same_size));
    }
    // Many reads of one damaged blob are reported once.
    assert_eq!(damages(&hub).await, 1);
    assert_eq!(hub.store.verify_blobs().await.unwrap().damaged, [digest]);
    // Another publication of the same bytes mends it.
    hub.published("acme/other", "good text").await;
    assert_eq!(hub.store.read_blob(&digest, 9).await.unwrap(), "good text");
}

async fn a_blob_that_is_missing_is_reported_and_written_again(hub: Hub) {
    hub.namespace("acme").await;
    hub.published("acme/refunds", "text").await;
    let digest = Digest::of(b"text");
    std::fs::remove_file(hub.blob_file(&digest)).unwrap();
    let read = hub.store.read_blob(&digest, 4).await;
    assert!(matches!(read, Err(StoreError::BlobMissing { .. })), "{read:?}");
    assert_eq!(damages(&hub).await, 1);
    let folder = hub.folder.path().join("backup");
    let report = hub.store.backup(&hub.admin, &folder, |_| {}).await.unwrap();
    assert_eq!(report.damaged, [digest]);
    hub.published("acme/other", "text").await;
    assert_eq!(hub.store.read_blob(&digest, 4).await.unwrap(), "text");
}

async fn a_transaction_that_fails_after_the_blobs_publishes_nothing(hub: Hub) {
    hub.namespace("acme").await;
    hub.published("acme/refunds", "one").await;
    let heads = hub.heads().await;
    hub.break_versions().await;
    assert!(hub.publish("acme/refunds", "two").await.is_err());
    assert!(hub.publish("acme/new", "three").await.is_err());
    assert!(hub.blob_file(&Digest::of(b"two")).exists());
    assert_eq!(hub.heads().await, heads);
    assert!(hub.store.skill(&hub.admin, &skill("acme/new")).await.is_err());
    hub.mend_versions().await;
    // The publisher repeats the request, and numbers go on without a gap.
    assert_eq!(hub.published("acme/refunds", "two").await.version.to_string(), "1.0.1");
    let page = hub.store.outbox_after(heads.0, 10).await.unwrap();
    assert_eq!((page.events.len(), page.gap), (2, false));
    assert!(hub.store.verify_audit().await.unwrap().is_ok());
}

async fn a_database_that_is_away_refuses_writes_and_loses_nothing(hub: Hub) {
    hub.namespace("acme").await;
    hub.published("acme/refunds", "one").await;
    let heads = hub.heads().await;
    let options = hub.options.clone().with_timeout(Duration::from_millis(300));
    let store = HubStore::open(options).await.unwrap();
    let publish = async || store.publish(&caller("ana"), upload("acme/refunds", "two")).await;
    match &hub.options.database {
        DatabaseLocation::Sqlite(path) => {
            let url = format!("sqlite:{}", path.display());
            let mut other = SqliteConnection::connect(&url).await.unwrap();
            sqlx::raw_sql("BEGIN EXCLUSIVE").execute(&mut other).await.unwrap();
            let refused = publish().await.unwrap_err();
            assert!(refused.is_unavailable(), "{refused:?}");
            sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
        }
        DatabaseLocation::Postgres(url) => {
            let name = url.split('?').next().unwrap().rsplit('/').next().unwrap().to_owned();
            let mut admin = administrator_of_postgres().await;
            let mut run = async |sql: String| {
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
            };
            run(format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")).await;
            run(format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            ))
            .await;
            for _ in 0..3 {
                let refused = publish().await.unwrap_err();
                assert!(refused.is_unavailable(), "{refused:?}");
            }
            assert!(store.ping().await.is_err());
            run(format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).await;
        }
    }
    // The same store goes on when the database is back.
    let published = publish().await.unwrap();
    assert_eq!(published.version.version.to_string(), "1.0.1");
    assert_eq!(hub.heads().await.0, heads.0 + 2);
    store.close().await;
}

async fn an_object_store_that_is_away_refuses_uploads_and_publishes_nothing(hub: Hub) {
    hub.namespace("acme").await;
    let heads = hub.heads().await;
    let mut options = hub.options.clone().with_timeout(Duration::from_millis(500));
    match &mut options.blobs {
        BlobLocation::Folder(folder) => {
            // A file stands where the folder of the blobs should be.
            let digest = Digest::of(b"one");
            std::fs::create_dir_all(folder.join("sha256")).unwrap();
            let blocked = folder.join("sha256").join(&digest.hex()[..2]);
            std::fs::write(&blocked, "in the way").unwrap();
        }
        BlobLocation::S3(location) => {
            // Nothing listens on this port: it was free a moment ago.
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let address = free.local_addr().unwrap();
            drop(free);
            location.endpoint = Some(format!("http://{address}"));
        }
    }
    let store = HubStore::open(options).await.unwrap();
    let refused = store.publish(&caller("ana"), upload("acme/refunds", "one")).await.unwrap_err();
    assert!(refused.is_unavailable(), "{refused:?}");
    assert_eq!(hub.heads().await, heads);
    let served = hub.store.served(&ChannelName::latest(), &skill("acme/refunds")).await.unwrap();
    assert_eq!(served, None);
    if let BlobLocation::Folder(folder) = &hub.options.blobs {
        let digest = Digest::of(b"one");
        std::fs::remove_file(folder.join("sha256").join(&digest.hex()[..2])).unwrap();
    }
    hub.published("acme/refunds", "one").await;
    store.close().await;
}

async fn files_that_a_replica_has_read_are_served_while_the_object_store_is_away(hub: Hub) {
    hub.namespace("acme").await;
    let version = hub.published("acme/refunds", "read before").await;
    hub.published("acme/refunds", "not read").await;
    let cache = hub.folder.path().join("cache");
    let options = hub.options.clone().with_blob_cache(cache.clone(), 1 << 20);
    let store = HubStore::open(options).await.unwrap();
    let (read, unread) = (Digest::of(b"read before"), Digest::of(b"not read"));
    assert_eq!(store.read_blob(&read, 11).await.unwrap(), "read before");
    if hub.is_embedded() {
        // Blobs in a folder are not kept twice.
        assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
        return store.close().await;
    }
    let files = [read, unread].map(|digest| hub.blob_file(&digest));
    for file in &files {
        std::fs::rename(file, file.with_extension("away")).unwrap();
    }
    assert_eq!(store.read_blob(&read, 11).await.unwrap(), "read before");
    assert!(store.read_blob(&unread, 8).await.is_err());
    for file in &files {
        std::fs::rename(file.with_extension("away"), file).unwrap();
    }
    // A purge on another replica reaches the cache with its event.
    let head = store.outbox_head().await.unwrap();
    hub.store.purge_version(&hub.admin, &version, "").await.unwrap();
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 1);
    let events = store.outbox_after(head, 100).await.unwrap().events;
    store.forget_erased(Some(&events)).await.unwrap();
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
    assert!(store.read_blob(&read, 11).await.is_err());
    // A replica that missed events cannot know what was erased, and forgets everything.
    assert_eq!(store.read_blob(&unread, 8).await.unwrap(), "not read");
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 1);
    store.forget_erased(None).await.unwrap();
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
    store.close().await;
}

/// What the killed process is told, as JSON: the database, and the folder or the keys of the bucket.
const KILLED: &str = "SKILLWIRE_TEST_KILLED_PUBLISHER";

/// The process that is killed: it publishes until then, and says what was acknowledged.
#[test]
fn publisher_process() {
    #[expect(clippy::disallowed_methods, reason = "how the process is told where to publish")]
    let Ok(told) = std::env::var(KILLED) else { return };
    let told: Vec<String> = serde_json::from_str(&told).unwrap();
    let database: DatabaseLocation = told[0].parse().unwrap();
    let blobs = match &told[1..] {
        [folder] => BlobLocation::Folder(folder.into()),
        [bucket, prefix, endpoint, access, secret] => BlobLocation::S3(
            skillwire_hub_store::S3Location::new(bucket)
                .with_prefix(prefix)
                .with_endpoint(endpoint)
                .with_keys(access, secret),
        ),
        other => panic!("{other:?}"),
    };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let options = skillwire_hub_store::StoreOptions::new(database, blobs);
        let store = HubStore::open(options).await.unwrap();
        let process = std::process::id();
        for number in 0..100_000 {
            let upload = upload("acme/refunds", &format!("text {number} of {process}"));
            let published = store.publish(&caller("ana"), upload).await.unwrap();
            println!("acknowledged {}", published.version);
        }
    });
}

async fn a_publisher_that_is_killed_loses_nothing_that_was_acknowledged(hub: Hub) {
    use std::io::BufRead as _;

    hub.namespace("acme").await;
    let database = match &hub.options.database {
        DatabaseLocation::Sqlite(path) => path.display().to_string(),
        DatabaseLocation::Postgres(url) => url.clone(),
    };
    let mut told = vec![database];
    match &hub.options.blobs {
        BlobLocation::Folder(folder) => told.push(folder.display().to_string()),
        BlobLocation::S3(s3) => told.extend([
            s3.bucket.clone(),
            s3.prefix.clone(),
            s3.endpoint.clone().unwrap(),
            s3.access_key.clone().unwrap(),
            s3.secret_key.clone().unwrap(),
        ]),
    }
    let mut acknowledged = std::collections::BTreeSet::new();
    for round in 1..=3 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "faults::publisher_process", "--nocapture"])
            .env(KILLED, serde_json::to_string(&told).unwrap())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok).filter_map(|line| {
            line.split_once("acknowledged ").map(|(_, version)| version.to_owned())
        });
        acknowledged.extend(lines.by_ref().take(5 + round));
        child.kill().unwrap();
        // Acknowledgements that were on their way when it was killed count as well.
        acknowledged.extend(lines);
        child.wait().unwrap();
    }
    assert!(acknowledged.len() >= 10);
    for version in &acknowledged {
        let version = version.parse().unwrap();
        let record = hub.store.version(&hub.admin, &version).await.unwrap();
        for file in &record.files {
            hub.store.read_blob(&file.digest, file.size).await.unwrap();
        }
    }
    let (head, audit) = hub.heads().await;
    let page = hub.store.outbox_after(0, 1_000).await.unwrap();
    assert_eq!((page.gap, page.head), (false, head));
    assert!(audit > acknowledged.len() as u64);
    assert_eq!(hub.store.verify_blobs().await.unwrap().damaged, []);
    // The next writer is not held up by what the killed one left.
    hub.published("acme/refunds", "after").await;
}

/// Where this test finds its tiny disk, or the folder in which files may not grow, when it runs again.
const DISK: &str = "SKILLWIRE_TEST_FULL_DISK";
const LIMITED: &str = "SKILLWIRE_TEST_LIMITED_FOLDER";

/// Runs this test again in a mount namespace of its own with a tiny disk, where everything is real. A machine that
/// gives no such namespace limits the size of files instead: then nothing is said to be full, and nothing may be lost
/// either.
#[test]
#[expect(clippy::disallowed_methods, reason = "how the test finds its disk in the namespace")]
fn a_full_disk_refuses_publications_and_keeps_what_was_acknowledged() {
    for (name, is_disk) in [(DISK, true), (LIMITED, false)] {
        if let Some(place) = std::env::var_os(name) {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            return runtime.block_on(fill_disk(std::path::Path::new(&place), is_disk));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let again = "exec \"$0\" --exact \
        faults::a_full_disk_refuses_publications_and_keeps_what_was_acknowledged";
    let mount = format!("mount -t tmpfs -o size=1500k tmpfs \"$1\" || exit 77; {again}");
    // The signal for a file that is too large would end the process.
    let limit = format!("trap '' XFSZ; ulimit -f 1400; {again}");
    let ways = [
        (&["unshare", "--user", "--map-root-user", "--mount", "sh"][..], &mount, DISK),
        (&["unshare", "--mount", "sh"], &mount, DISK),
        (&["sh"], &limit, LIMITED),
    ];
    let required = std::env::var("SKILLWIRE_REQUIRE_ISOLATION").is_ok_and(|value| value == "1");
    for (command, script, variable) in ways {
        assert!(variable == DISK || !required, "this machine mounts no disk for the test");
        let output = std::process::Command::new(command[0])
            .args(&command[1..])
            .args(["-c", script])
            .arg(std::env::current_exe().unwrap())
            .arg(folder.path())
            .env(variable, folder.path())
            .output();
        // Other codes are those of a machine that gives no namespace or no mount.
        match output {
            Ok(output) if output.status.code() == Some(0) => {
                let text = String::from_utf8_lossy(&output.stdout);
                assert!(text.contains("1 passed"), "{text}");
                return;
            }
            Ok(output) if output.status.code() == Some(101) => {
                panic!("{}", String::from_utf8_lossy(&output.stdout));
            }
            _ => {}
        }
    }
    panic!("no shell ran the test again");
}

async fn fill_disk(disk: &std::path::Path, is_disk: bool) {
    use skillwire_hub::Caller;
    use skillwire_hub_store::{NewNamespace, StoreOptions};

    let options = StoreOptions::new(
        DatabaseLocation::Sqlite(disk.join("hub.db")),
        BlobLocation::Folder(disk.join("blobs")),
    );
    let store = HubStore::open(options.clone()).await.unwrap();
    let admin = Caller::administrator("root".parse().unwrap());
    let new = NewNamespace::new("acme".parse().unwrap(), "root".parse().unwrap());
    store.create_namespace(&admin, new).await.unwrap();
    let mut acknowledged = 0;
    let (mut full, mut refused) = (0, 0);
    for number in 0..200 {
        let text = format!("{number} {}", "x".repeat(20_000));
        match store.publish(&admin, upload("acme/refunds", &text)).await {
            Ok(_) => acknowledged += 1,
            Err(error) => {
                assert!(error.is_full() || error.is_unavailable(), "{error:?}");
                full += usize::from(error.is_full());
                refused += 1;
            }
        }
        if full > 3 || refused > 20 {
            break;
        }
    }
    let counts = format!("{acknowledged} published, {refused} refused, {full} because it was full");
    assert!(acknowledged > 5 && refused > 0 && (full > 0 || !is_disk), "{counts}");
    store.close().await;
    // After a restart, exactly what was acknowledged is there, and every byte of it.
    let store = HubStore::open(options).await.unwrap();
    let page = PageRequest::first(1_000);
    let versions = store.versions(&admin, &skill("acme/refunds"), &page).await.unwrap();
    assert_eq!(versions.items.len(), acknowledged);
    assert_eq!(store.verify_blobs().await.unwrap().damaged, []);
    assert!(store.verify_audit().await.unwrap().is_ok());
}
