//! PostgreSQL and an S3 server for tests of a hub, started by the tests themselves.
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

/// What to do to have the engines.
const HOW: &str = "Run `tools/hub/install-engines` to have PostgreSQL and an S3 server.";

const ACCESS_KEY: &str = "hub";
const SECRET_KEY: &str = "hub-secret";

/// An empty database and an empty bucket that only one hub uses.
#[derive(Debug, Clone)]
pub struct HubPlace {
    /// The URL of the database.
    pub database: String,
    /// The URL of a database of the same server that belongs to no hub.
    pub administration: String,
    /// The address of the S3 server.
    pub endpoint: String,
    /// The bucket.
    pub bucket: String,
    /// The folder in which the S3 server keeps the bucket.
    pub bucket_folder: PathBuf,
    /// The name of the key of the S3 server.
    pub access_key: &'static str,
    /// The key.
    pub secret_key: &'static str,
}

/// The servers of this test process.
struct Servers {
    /// The folder of PostgreSQL's programs.
    binaries: PathBuf,
    /// The folder of PostgreSQL's socket.
    postgres: PathBuf,
    s3_address: String,
    s3_root: PathBuf,
    /// Their standard input, which ends them when the process ends.
    _children: Vec<Child>,
}

static SERVERS: OnceLock<Result<Servers, String>> = OnceLock::new();
static NEXT: AtomicU64 = AtomicU64::new(1);

impl HubPlace {
    /// Makes a place for a new hub; nothing if the engines are not installed and not required.
    ///
    /// # Panics
    ///
    /// With `SKILLWIRE_REQUIRE_HUB_ENGINES=1`, if they are not installed.
    pub fn new() -> Option<Self> {
        let start = || start().inspect_err(|reason| say_skipped(reason));
        let servers = match SERVERS.get_or_init(start) {
            Ok(servers) => servers,
            Err(reason) => {
                assert!(!required(), "{reason} {HOW}");
                return None;
            }
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hub_{number}");
        servers.create_database(&name);
        let bucket = format!("hub-{number}");
        let bucket_folder = servers.s3_root.join(&bucket);
        std::fs::create_dir(&bucket_folder).expect("a bucket");
        Some(Self {
            database: servers.url(&name),
            administration: servers.url("postgres"),
            endpoint: servers.s3_address.clone(),
            bucket,
            bucket_folder,
            access_key: ACCESS_KEY,
            secret_key: SECRET_KEY,
        })
    }

    /// Whether both engines are installed; says what is skipped if not.
    ///
    /// # Panics
    ///
    /// With `SKILLWIRE_REQUIRE_HUB_ENGINES=1`, if they are not.
    pub fn are_there() -> bool {
        let missing = find_postgres().ok_or(NO_POSTGRES).and_then(|_| find_s3().ok_or(NO_S3)).err();
        if let Some(reason) = missing {
            assert!(!required(), "{reason} {HOW}");
            say_skipped(reason);
        }
        missing.is_none()
    }
}

impl Servers {
    fn url(&self, database: &str) -> String {
        format!("postgres://hub@localhost/{database}?host={}", self.postgres.display())
    }

    /// Makes a database; PostgreSQL needs a moment after it was started.
    fn create_database(&self, name: &str) {
        let mut said = String::new();
        for _ in 0..600 {
            let mut psql = Command::new(self.binaries.join("psql"));
            psql.args(["--no-psqlrc", "--quiet", "--dbname", &self.url("postgres"), "--command"]);
            let ended = psql.arg(format!("CREATE DATABASE {name}")).output().expect("`psql`");
            if ended.status.success() {
                return;
            }
            said = String::from_utf8_lossy(&ended.stderr).into_owned();
            std::thread::park_timeout(Duration::from_millis(50));
        }
        let log = std::fs::read_to_string(self.postgres.join("log")).unwrap_or_default();
        panic!("PostgreSQL did not start: {said}{log}");
    }
}

const NO_POSTGRES: &str = "PostgreSQL is not installed.";
const NO_S3: &str = "No S3 server (`s3s-fs`) is installed.";

/// Says once what is skipped, past the test runner, which hides what a passing test prints.
fn say_skipped(reason: &str) {
    let notice = format!("skipped every test on PostgreSQL and S3: {reason} {HOW}\n");
    let _ = std::io::stderr().write_all(notice.as_bytes());
}

#[expect(clippy::disallowed_methods, reason = "a test has no settings to be told by")]
fn required() -> bool {
    std::env::var("SKILLWIRE_REQUIRE_HUB_ENGINES").is_ok_and(|value| value == "1")
}

fn start() -> Result<Servers, String> {
    let binaries = find_postgres().ok_or(NO_POSTGRES)?;
    let server = find_s3().ok_or(NO_S3)?;
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
    Ok(Servers { binaries, postgres, s3_address, s3_root, _children: children })
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
        "$2" --host 127.0.0.1 --port {} --access-key {ACCESS_KEY} --secret-key {SECRET_KEY} "$1" &
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
