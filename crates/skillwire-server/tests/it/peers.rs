//! Clients and streams for tests of the transports.

use std::{
    fmt::Debug,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use serde_json::{Value, json};
use skillwire_core::RelPath;
use skillwire_server::{Engine, stdio};
use skillwire_source::{GenerateError, SkillGenerator, SkillSource};
use skillwire_testkit::{HttpConnection, TestServer, modern_headers, modern_request, skill_md};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// A test that waits longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for something that a broken server may never do.
pub(crate) async fn soon<T>(waiting: impl Future<Output = T>) -> T {
    timeout(PATIENCE, waiting).await.expect("it happens in time")
}

/// Sends a modern request on a connection of its own and returns the connection.
pub(crate) async fn send(
    server: &TestServer,
    extra: &[(&str, &str)],
    id: impl Into<Value>,
    method: &str,
    params: Value,
) -> HttpConnection {
    let body = modern_request(id, method, params).to_string();
    let mut headers = modern_headers(method);
    headers.extend_from_slice(extra);
    let mut connection = server.connect().await;
    connection.send("POST", "/mcp", &headers, body.as_bytes()).await;
    connection
}

/// Opens a subscription over HTTP and returns the stream and its first message.
pub(crate) async fn listen_with(
    server: &TestServer,
    extra: &[(&str, &str)],
    id: impl Into<Value>,
    filter: Value,
) -> (HttpConnection, Value) {
    let params = json!({ "notifications": filter });
    let mut stream = send(server, extra, id, "subscriptions/listen", params).await;
    let (status, _) = stream.head().await.expect("the subscription is answered");
    assert_eq!(status, 200);
    let first = soon(stream.event()).await.expect("a subscription is acknowledged");
    (stream, first)
}

/// Opens a subscription over HTTP with the id 7.
pub(crate) async fn listen(server: &TestServer, filter: Value) -> (HttpConnection, Value) {
    listen_with(server, &[], 7, filter).await
}

/// Opens the stream of a legacy session.
pub(crate) async fn legacy_stream(server: &TestServer, session: &str) -> HttpConnection {
    let mut stream = server.connect().await;
    let headers = [("Accept", "text/event-stream"), ("Mcp-Session-Id", session)];
    stream.send("GET", "/mcp", &headers, b"").await;
    let (status, _) = stream.head().await.expect("the stream is answered");
    assert_eq!(status, 200);
    stream
}

/// Writes bytes and returns everything the server sends until it closes the connection.
pub(crate) async fn until_closed(server: &TestServer, bytes: impl AsRef<[u8]>) -> String {
    let mut stream = TcpStream::connect(server.address).await.expect("the server accepts");
    // A server that refuses early may close the connection while the test still writes.
    let _ = stream.write_all(bytes.as_ref()).await;
    let mut received = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut received)).await;
    // A reset ends the connection as well.
    let _ = read.expect("the server closes the connection");
    String::from_utf8_lossy(&received).into_owned()
}

/// Reads a connection until its text contains `wanted`, however long it takes.
pub(crate) async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut received = Vec::new();
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let length = stream.read(&mut bytes).await.expect("the connection lives");
        assert!(length > 0, "closed after {}", String::from_utf8_lossy(&received));
        let start = received.len().saturating_sub(wanted.len());
        received.extend_from_slice(&bytes[..length]);
        if String::from_utf8_lossy(&received[start..]).contains(wanted) {
            return String::from_utf8_lossy(&received).into_owned();
        }
    }
}

/// The bytes of a modern request over HTTP.
pub(crate) fn request_bytes(extra: &str, body: &str, method: &str) -> String {
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n\
         Content-Length: {length}\r\n{extra}\r\n{body}"
    )
}

/// The status codes of all responses in a text.
pub(crate) fn statuses(text: &str) -> Vec<u16> {
    let heads = text.split("HTTP/1.1 ").skip(1);
    heads.filter_map(|rest| rest.split(' ').next()?.parse().ok()).collect()
}

/// Runs a stdio server on some input and returns every byte it wrote.
pub(crate) async fn pipe(engine: Arc<Engine>, input: impl AsRef<[u8]>) -> Vec<u8> {
    let (output, mut reader) = tokio::io::duplex(64 * 1024);
    let (mut written, mut input) = (Vec::new(), input.as_ref());
    let served = async {
        let (ended, read) =
            tokio::join!(stdio::run(engine, &mut input, output), reader.read_to_end(&mut written));
        ended.expect("the server ends in order");
        read.expect("a pipe can be read");
    };
    timeout(PATIENCE, served).await.expect("the server ends with its input");
    written
}

/// Waits until no more than `wanted` tasks are left on this runtime.
pub(crate) async fn tasks_at_most(wanted: usize) {
    let metrics = tokio::runtime::Handle::current().metrics();
    let waiting = async {
        while metrics.num_alive_tasks() > wanted {
            tokio::task::yield_now().await;
        }
    };
    let left = timeout(PATIENCE, waiting).await;
    assert!(left.is_ok(), "{} tasks are left, not {wanted}", metrics.num_alive_tasks());
}

/// The tasks on this runtime.
pub(crate) fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

/// How a generated skill behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mood {
    /// Answers at once.
    #[default]
    Willing,
    /// Does not answer until the test changes the mood.
    Stuck,
    /// Fails.
    Failing,
    /// Panics.
    Panicking,
}

/// A skill `live` whose file `now.txt` is made on request; the test sets its mood.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveSkill(Arc<Acting>);

#[derive(Debug, Default)]
struct Acting {
    mood: Mutex<Mood>,
    changed: Condvar,
    /// The number of files that are being made.
    under_way: AtomicUsize,
}

impl LiveSkill {
    /// Makes a source of the skill.
    pub(crate) fn source(&self) -> Box<dyn SkillSource> {
        crate::support::generated("live", self.clone())
    }

    pub(crate) fn set(&self, mood: Mood) {
        *self.0.mood.lock().expect("nothing panics with the lock") = mood;
        self.0.changed.notify_all();
    }

    pub(crate) fn under_way(&self) -> usize {
        self.0.under_way.load(Ordering::SeqCst)
    }

    fn act(&self) -> Result<(), GenerateError> {
        let Acting { mood, changed, under_way } = &*self.0;
        under_way.fetch_add(1, Ordering::SeqCst);
        let mood = {
            let mood = mood.lock().expect("nothing panics with the lock");
            let waited = changed.wait_timeout_while(mood, PATIENCE, |mood| *mood == Mood::Stuck);
            *waited.expect("nothing panics with the lock").0
        };
        under_way.fetch_sub(1, Ordering::SeqCst);
        match mood {
            Mood::Willing | Mood::Stuck => Ok(()),
            Mood::Failing => Err(GenerateError::new("secret path /srv/keys")),
            Mood::Panicking => std::panic::resume_unwind(Box::new("secret path /srv/keys")),
        }
    }
}

impl SkillGenerator for LiveSkill {
    fn read(&self, path: &RelPath) -> Result<Option<Bytes>, GenerateError> {
        match path.as_str() {
            "SKILL.md" => Ok(Some(skill_md("live").into())),
            "now.txt" => self.act().map(|()| Some(Bytes::from_static(b"now"))),
            _ => Ok(None),
        }
    }

    fn paths(&self) -> Result<Vec<RelPath>, GenerateError> {
        self.act()?;
        Ok(["SKILL.md", "now.txt"].map(|path| RelPath::parse(path).expect("a path")).into())
    }
}
