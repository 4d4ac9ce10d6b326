//! The engines that the contract runs on, started by the tests themselves.
//!
//! PostgreSQL listens on a socket in a folder of its own; the S3 server listens on a free port. Both are
//! children of a shell that waits for the end of its input, so they end with the test process,
//! however it ends.

use std::{
    io::Write as _,
    net::TcpListener,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use skillwire_hub_store::{BlobLocation, DatabaseLocation, S3Location};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// What to do to have the engines.
const HOW: &str = "Run `tools/hub/install-engines` to have PostgreSQL and an S3 server.";

/// What the contract runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// SQLite and a folder.
    Embedded,
    /// PostgreSQL and an S3 server.
    Served,
}

/// The servers of this test process.
struct Servers {
    /// The folder of PostgreSQL's socket.
    postgres: PathBuf,
    s3_address: String,
    s3_root: PathBuf,
    /// Their standard input, which ends them when the process ends.
    _children: Vec<Child>,
}

static SERVERS: OnceLock<Result<Servers, String>> = OnceLock::new();
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Returns a place for a new hub, or nothing if the engine is not installed and not required.
pub(crate) async fn place(
    engine: Engine,
    folder: &Path,
) -> Option<(DatabaseLocation, BlobLocation)> {
    if engine == Engine::Embedded {
        let database = DatabaseLocation::Sqlite(folder.join("hub.db"));
        return Some((database, BlobLocation::Folder(folder.join("blobs"))));
    }
    let servers = match SERVERS.get_or_init(|| start().inspect_err(|reason| say_skipped(reason))) {
        Ok(servers) => servers,
        Err(reason) => {
            assert!(!required(), "{reason} {HOW}");
            return None;
        }
    };
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("hub_{number}");
    let mut admin = connect(&servers.postgres).await;
    let create = AssertSqlSafe(format!("CREATE DATABASE {name}"));
    sqlx::raw_sql(create).execute(&mut admin).await.expect("a database");
    let bucket = format!("hub-{number}");
    std::fs::create_dir(servers.s3_root.join(&bucket)).expect("a bucket");
    let location = S3Location::new(bucket)
        .with_endpoint(&servers.s3_address)
        .with_prefix("skills")
        .with_keys("hub", "hub-secret");
    Some((DatabaseLocation::Postgres(url(&servers.postgres, &name)), BlobLocation::S3(location)))
}

/// Says once what is skipped, past the test runner, which hides what a passing test prints.
fn say_skipped(reason: &str) {
    let notice = format!("skipped every test on PostgreSQL and S3: {reason} {HOW}\n");
    let _ = std::io::stderr().write_all(notice.as_bytes());
}

/// The folder in which the S3 server keeps a bucket.
pub(crate) fn bucket_folder(bucket: &str) -> PathBuf {
    match SERVERS.get() {
        Some(Ok(servers)) => servers.s3_root.join(bucket),
        _ => panic!("no S3 server runs"),
    }
}

/// A connection to PostgreSQL that belongs to no hub.
pub(crate) async fn administrator_of_postgres() -> PgConnection {
    match SERVERS.get() {
        Some(Ok(servers)) => connect(&servers.postgres).await,
        _ => panic!("PostgreSQL does not run"),
    }
}

#[expect(clippy::disallowed_methods, reason = "a test has no settings to be told by")]
fn required() -> bool {
    std::env::var("SKILLWIRE_REQUIRE_HUB_ENGINES").is_ok_and(|value| value == "1")
}

fn url(socket: &Path, database: &str) -> String {
    format!("postgres://hub@localhost/{database}?host={}", socket.display())
}

/// Connects; PostgreSQL needs a moment after it was started.
async fn connect(socket: &Path) -> PgConnection {
    let url = url(socket, "postgres");
    for _ in 0..600 {
        if let Ok(connection) = PgConnection::connect(&url).await {
            return connection;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let log = std::fs::read_to_string(socket.join("log")).unwrap_or_default();
    panic!("PostgreSQL did not start: {log}");
}

fn start() -> Result<Servers, String> {
    let binaries = find_postgres().ok_or("PostgreSQL is not installed.")?;
    let server = find_s3().ok_or("No S3 server (`s3s-fs`) is installed.")?;
    let folder = tempfile::Builder::new().prefix("hub-engines-").tempdir();
    // The shells delete their own folders, as this process may be killed.
    let folder = folder.map_err(|error| error.to_string())?.keep();
    let (postgres, s3_root) = (folder.join("pg"), folder.join("s3"));
    std::fs::create_dir(&postgres).map_err(|error| error.to_string())?;
    std::fs::create_dir(&s3_root).map_err(|error| error.to_string())?;
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&folder, open).map_err(|error| error.to_string())?;
    let (s3_address, s3) = start_s3(&server, &s3_root)?;
    let children = vec![start_postgres(&binaries, &postgres)?, s3];
    Ok(Servers { postgres, s3_address, s3_root, _children: children })
}

/// Runs a script that gets its arguments as `$1` and `$2`, and waits for the end of its input.
fn shell(mut command: Command, script: &str, arguments: [&Path; 2]) -> Result<Child, String> {
    command
        .args(["-c", script, "sh"])
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())
}

fn start_postgres(binaries: &Path, folder: &Path) -> Result<Child, String> {
    // Without syncing: these tests are about statements, not about power cuts.
    let script = r#"
        "$2/initdb" -D "$1/data" -A trust -U hub -E UTF8 --locale=C -N >"$1/log" 2>&1 || exit 1
        "$2/postgres" -D "$1/data" -k "$1" -c listen_addresses= -c max_connections=400 \
            -c fsync=off -c synchronous_commit=off -c full_page_writes=off >>"$1/log" 2>&1 &
        server=$!
        read -r _
        kill -INT "$server"; wait "$server"; rm -rf "$1"/*
    "#;
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let command = if is_root {
        // PostgreSQL refuses to run as root.
        let chown = Command::new("chown").arg("postgres").arg(folder).status();
        if !chown.is_ok_and(|status| status.success()) {
            return Err("There is no user `postgres`.".to_owned());
        }
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--", "sh"]);
        command
    } else {
        Command::new("sh")
    };
    shell(command, script, [folder, binaries])
}

fn start_s3(server: &Path, root: &Path) -> Result<(String, Child), String> {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let address = free.map_err(|error| error.to_string())?;
    let script = format!(
        r#"
        "$2" --host 127.0.0.1 --port {} --access-key hub --secret-key hub-secret "$1" &
        server=$!
        read -r _
        kill -INT "$server"; wait "$server"; cd /
        folder=$(dirname "$1")
        for _ in 1 2 3 4 5 6 7 8 9 10; do [ -d "$folder/pg/data" ] || break; sleep 1; done
        rm -rf "$folder"
        "#,
        address.port()
    );
    let child = shell(Command::new("sh"), &script, [root, server])?;
    for _ in 0..600 {
        if let Ok(mut stream) = std::net::TcpStream::connect(address) {
            let _ = stream.write_all(b"GET / HTTP/1.0\r\n\r\n");
            return Ok((format!("http://{address}"), child));
        }
        std::thread::park_timeout(Duration::from_millis(50));
    }
    Err("The S3 server did not start.".to_owned())
}

fn find_postgres() -> Option<PathBuf> {
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = debian.map(|entry| entry.path().join("bin"));
    debian
        .chain(path_folders())
        .find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
}

fn find_s3() -> Option<PathBuf> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/hub-engines/bin");
    let mut folders = std::iter::once(installed).chain(path_folders());
    folders.find_map(|folder| folder.join("s3s-fs").canonicalize().ok())
}

#[expect(clippy::disallowed_methods, reason = "a test has no settings to be told by")]
fn path_folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect()
}
