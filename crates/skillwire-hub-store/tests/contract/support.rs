//! A hub for each test, with a clock that only the test moves.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use skillwire_core::{ContentId, Digest, RelPath};
use skillwire_hub::{
    Caller, NamespaceName, Refusal, Role, SkillId, Subject, Timestamp, VersionRef,
};
use skillwire_hub_store::{
    BlobLocation, DatabaseLocation, HubStore, NewNamespace, Published, StoreError, StoreOptions,
    Upload, UploadedFile,
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

use crate::engines::{self, Engine};

/// A hub that only one test uses.
pub(crate) struct Hub {
    pub(crate) store: HubStore,
    pub(crate) admin: Caller,
    pub(crate) options: StoreOptions,
    pub(crate) folder: tempfile::TempDir,
    clock: Arc<AtomicI64>,
}

/// Runs a test of the contract on an engine.
pub(crate) fn run<F: Future<Output = ()>>(engine: Engine, test: impl FnOnce(Hub) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        if let Some(hub) = Hub::new(engine).await {
            let store = hub.store.clone();
            test(hub).await;
            store.close().await;
        }
    });
}

impl Hub {
    pub(crate) async fn new(engine: Engine) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let (database, blobs) = engines::place(engine, folder.path())?;
        let clock = Arc::new(AtomicI64::new(1_800_000_000_000));
        let ticks = Arc::clone(&clock);
        let options = StoreOptions::new(database, blobs).with_clock(Arc::new(move || {
            Timestamp::from_millis(ticks.fetch_add(1, Ordering::Relaxed))
        }));
        let store = HubStore::open(options.clone()).await.expect("a hub");
        let admin = Caller::administrator(subject("root"));
        Some(Self { store, admin, options, folder, clock })
    }

    /// Lets time pass.
    pub(crate) fn wait(&self, time: Duration) {
        let millis = i64::try_from(time.as_millis()).expect("a short time");
        self.clock.fetch_add(millis, Ordering::Relaxed);
    }

    /// Makes a namespace owned by `olga` in which `ana` publishes, `rex` reviews and `rita` reads.
    pub(crate) async fn namespace(&self, name: &str) -> NamespaceName {
        self.namespace_with(NewNamespace::new(namespace(name), subject("olga"))).await
    }

    pub(crate) async fn namespace_with(&self, new: NewNamespace) -> NamespaceName {
        let name = new.name.clone();
        self.store.create_namespace(&self.admin, new).await.expect("a namespace");
        for (who, role) in
            [("ana", Role::Publisher), ("rex", Role::Reviewer), ("rita", Role::Reader)]
        {
            let granted = self.store.grant(&self.admin, &name, &subject(who), role).await;
            granted.expect("a role");
        }
        name
    }

    /// Publishes one file as the next version, as `ana`.
    pub(crate) async fn publish(&self, skill: &str, text: &str) -> Result<Published, StoreError> {
        self.store.publish(&caller("ana"), upload(skill, text)).await
    }

    pub(crate) async fn published(&self, skill: &str, text: &str) -> VersionRef {
        self.publish(skill, text).await.expect("a version").version
    }

    /// Runs a statement behind the store's back.
    pub(crate) async fn raw(&self, sql: &str) {
        let sql = AssertSqlSafe(sql.to_owned());
        match &self.options.database {
            DatabaseLocation::Sqlite(path) => {
                let url = format!("sqlite:{}", path.display());
                let mut connection = SqliteConnection::connect(&url).await.expect("SQLite");
                sqlx::raw_sql(sql).execute(&mut connection).await.expect("a statement");
            }
            DatabaseLocation::Postgres(url) => {
                let mut connection = PgConnection::connect(url).await.expect("PostgreSQL");
                sqlx::raw_sql(sql).execute(&mut connection).await.expect("a statement");
            }
        }
    }

    pub(crate) fn is_embedded(&self) -> bool {
        matches!(self.options.database, DatabaseLocation::Sqlite(_))
    }

    /// The file in which a blob is kept.
    pub(crate) fn blob_file(&self, digest: &Digest) -> std::path::PathBuf {
        let hex = digest.hex();
        let name = format!("sha256/{}/{}", &hex[..2], &hex[2..]);
        match &self.options.blobs {
            BlobLocation::Folder(folder) => folder.join(name),
            BlobLocation::S3(s3) => engines::bucket_folder(&s3.bucket).join(&s3.prefix).join(name),
        }
    }

    /// The number of the last event and the number of entries of the audit log.
    pub(crate) async fn heads(&self) -> (u64, u64) {
        let audit = self.store.verify_audit().await.expect("an answer").expect("a whole chain");
        (self.store.outbox_head().await.expect("a head"), audit)
    }
}

pub(crate) fn subject(text: &str) -> Subject {
    text.parse().expect("a subject")
}

pub(crate) fn namespace(text: &str) -> NamespaceName {
    text.parse().expect("a namespace")
}

pub(crate) fn skill(text: &str) -> SkillId {
    text.parse().expect("a skill")
}

pub(crate) fn caller(text: &str) -> Caller {
    Caller::new(subject(text))
}

/// An upload of a `SKILL.md` and another file that every skill has in common.
pub(crate) fn upload(skill_id: &str, text: &str) -> Upload {
    Upload::new(skill(skill_id), vec![file("SKILL.md", text), file("LICENSE", "free")])
        .with_entry(format!("entry of {text}"))
}

pub(crate) fn file(path: &str, text: &str) -> UploadedFile {
    let path = RelPath::parse(path).expect("a path");
    UploadedFile { path, bytes: Bytes::copy_from_slice(text.as_bytes()), claimed: None }
}

/// The content of [`upload`].
pub(crate) fn content(text: &str) -> ContentId {
    let file = |path: &str, text: &str| {
        let path = RelPath::parse(path).expect("a path");
        (path, Digest::of(text.as_bytes()), text.len() as u64)
    };
    ContentId::of([file("SKILL.md", text), file("LICENSE", "free")]).expect("an identity")
}

/// The code of the refusal that an operation met.
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>) -> &'static str {
    let error = result.expect_err("a refusal");
    error.refusal().map_or_else(|| panic!("not a refusal: {error:?}"), Refusal::code)
}

impl Hub {
    /// Makes every publication fail after its blobs were written, as a crash at that moment would.
    pub(crate) async fn break_versions(&self) {
        if self.is_embedded() {
            self.raw(
                "CREATE TRIGGER broken BEFORE INSERT ON versions
                 BEGIN SELECT RAISE(ABORT, 'broken by the test'); END",
            )
            .await;
        } else {
            self.raw(
                "CREATE OR REPLACE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION 'broken by the test'; END $$;
                 CREATE TRIGGER broken BEFORE INSERT ON versions
                 FOR EACH ROW EXECUTE FUNCTION broken()",
            )
            .await;
        }
    }

    pub(crate) async fn mend_versions(&self) {
        let table = if self.is_embedded() { "" } else { " ON versions" };
        self.raw(&format!("DROP TRIGGER broken{table}")).await;
    }
}
