//! The only way out of a script's network: an HTTP proxy with a list of granted destinations.
//!
//! The socket that the proxy listens at belongs to the script's network namespace, which has no
//! other device than loopback. The connections that the proxy makes belong to the supervisor's
//! namespace. The script never holds a socket that can reach anything but the proxy, so it cannot
//! go around the list.
//!
//! The proxy understands `CONNECT`, and plain requests with an absolute `http://` URI.

use std::{
    collections::BTreeMap,
    io::{self, Read as _, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::{
    NetworkDestination, RefusalReason, RefusedDestination,
    outgoing::{UnreachableHost, reach},
};

/// The most connections at once; each takes two threads.
const MAX_CONNECTIONS: usize = 16;

/// The most bytes of a request's head.
const MAX_HEAD: usize = 16 * 1024;

/// The most header fields of a request.
const MAX_FIELDS: usize = 256;

/// The most refused destinations that are kept for the user. A script chooses them.
const MAX_REFUSED: usize = 8;

/// How long a client may take to send a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Header fields that concern the connection between the script and the proxy, and are not
/// forwarded.
const DROPPED_FIELDS: [&str; 3] = ["connection", "proxy-connection", "proxy-authorization"];

/// The proxy of one run. Dropping it ends all of its connections.
#[derive(Debug)]
pub struct EgressProxy {
    listener: TcpListener,
    state: Arc<ProxyState>,
    accept_thread: Option<JoinHandle<()>>,
}

/// What the threads of a proxy share.
///
/// Ending works in this order: `ended` is set, then the accepting thread is woken and shuts down
/// every stream in `open`. A connection adds a stream to `open` first and looks at `ended`
/// afterwards. So a stream is either seen by the accepting thread, or its own thread sees `ended`
/// and gives up; no connection survives the run.
#[derive(Debug)]
struct ProxyState {
    granted: Vec<NetworkDestination>,
    ended: AtomicBool,
    /// Both streams of every open connection.
    open: Mutex<BTreeMap<u64, Vec<TcpStream>>>,
    refused: Mutex<Vec<RefusedDestination>>,
}

impl EgressProxy {
    /// Starts to serve connections that arrive at a listening socket.
    pub fn start(listener: TcpListener, granted: &[NetworkDestination]) -> io::Result<Self> {
        let state = Arc::new(ProxyState {
            granted: granted.to_vec(),
            ended: AtomicBool::new(false),
            open: Mutex::default(),
            refused: Mutex::default(),
        });
        let accept_thread = {
            let listener = listener.try_clone()?;
            let state = Arc::clone(&state);
            std::thread::Builder::new()
                .name("script-proxy".to_owned())
                .spawn(move || accept_connections(&listener, &state))?
        };
        Ok(Self { listener, state, accept_thread: Some(accept_thread) })
    }

    /// The first destinations that the script asked for and was refused, each once.
    pub fn refused(&self) -> Vec<RefusedDestination> {
        self.state.refused.lock().clone()
    }
}

impl Drop for EgressProxy {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Release);
        // Makes `accept` fail in the accepting thread.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        if let Some(thread) = self.accept_thread.take() {
            let _ = thread.join();
        }
    }
}

fn accept_connections(listener: &TcpListener, state: &Arc<ProxyState>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    let mut next_id = 0;
    while let Ok((client, _)) = listener.accept() {
        if state.ended.load(Ordering::Acquire) {
            break;
        }
        threads.retain(|thread| !thread.is_finished());
        if threads.len() >= MAX_CONNECTIONS {
            refuse(&client, "503 Service Unavailable", "The script has too many connections.");
            continue;
        }
        let id = next_id;
        next_id += 1;
        let state = Arc::clone(state);
        let serve = move || {
            // An error on a connection concerns only the script, which sees the connection close.
            let _ = serve_connection(&client, id, &state);
            state.open.lock().remove(&id);
            let _ = client.shutdown(Shutdown::Both);
        };
        if let Ok(thread) = std::thread::Builder::new().spawn(serve) {
            threads.push(thread);
        }
    }
    for stream in state.open.lock().values().flatten() {
        let _ = stream.shutdown(Shutdown::Both);
    }
    for thread in threads {
        let _ = thread.join();
    }
}

impl ProxyState {
    /// Keeps a refused destination, so that the user learns why the script failed.
    fn note_refused(&self, destination: &NetworkDestination, reason: RefusalReason) {
        let mut refused = self.refused.lock();
        let noted = RefusedDestination { destination: destination.clone(), reason };
        if refused.len() < MAX_REFUSED && !refused.contains(&noted) {
            refused.push(noted);
        }
    }

    /// Registers a stream, so that it ends with the proxy.
    fn register(&self, connection: u64, stream: &TcpStream) -> io::Result<()> {
        let stream = stream.try_clone()?;
        self.open.lock().entry(connection).or_default().push(stream);
        if self.ended.load(Ordering::Acquire) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }
}

fn refuse(client: &TcpStream, status: &str, why: &str) {
    let mut client = client;
    let length = why.len();
    // In one piece: many clients take the first piece they receive for the whole status line.
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{why}"
    );
    let _ = client.write_all(answer.as_bytes());
}

fn serve_connection(client: &TcpStream, connection: u64, state: &ProxyState) -> io::Result<()> {
    state.register(connection, client)?;
    let Some((request, body)) = read_request(client)? else {
        refuse(client, "400 Bad Request", "This is not a request to a proxy.");
        return Ok(());
    };
    // Compared as text, before any name is resolved: what was granted is a name, not an address.
    if !state.granted.iter().any(|granted| granted.covers(&request.destination)) {
        state.note_refused(&request.destination, RefusalReason::NotGranted);
        refuse(client, "403 Forbidden", "This destination was not granted to the script.");
        return Ok(());
    }
    let has_ended = || state.ended.load(Ordering::Acquire);
    let server = match reach(&request.destination, &has_ended) {
        Ok(server) => server,
        Err(UnreachableHost::NotPublic) => {
            state.note_refused(&request.destination, RefusalReason::NotPublic);
            let why =
                "The name leads to this machine or a private network. Grant the address itself.";
            refuse(client, "403 Forbidden", why);
            return Ok(());
        }
        Err(UnreachableHost::Failed(error)) => {
            refuse(client, "502 Bad Gateway", &error.to_string());
            return Ok(());
        }
    };
    state.register(connection, &server)?;
    client.set_read_timeout(None)?;
    match request.forwarded_head {
        None => {
            let mut client = client;
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        }
        Some(head) => (&server).write_all(&head)?,
    }
    (&server).write_all(&body)?;
    copy_both_ways(client, &server)
}

/// Copies in both directions until both are done.
fn copy_both_ways(client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    let copy = |mut from: &TcpStream, mut to: &TcpStream| {
        let copied = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
        copied.map(drop)
    };
    std::thread::scope(|scope| {
        let up = scope.spawn(|| copy(client, server));
        let down = copy(server, client);
        // A destination that closed its side reads nothing more, so the other direction ends as
        // well.
        let _ = client.shutdown(Shutdown::Both);
        let up = up.join().unwrap_or(Ok(()));
        down.and(up)
    })
}

/// Reads a request's head within bounds of size and time. Returns the request and the bytes of its
/// body that arrived with the head; `None` if the head is too long or is not a request to a
/// destination.
fn read_request(client: &TcpStream) -> io::Result<Option<(ProxyRequest, Vec<u8>)>> {
    let deadline = Instant::now() + HEAD_TIMEOUT;
    let mut received = Vec::new();
    let mut piece = [0; 2048];
    let mut client = client;
    while received.len() <= MAX_HEAD {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => received.extend_from_slice(&piece[..read]),
        }
        match ProxyRequest::parse(&received) {
            Ok(Some((request, length))) => return Ok(Some((request, received.split_off(length)))),
            Ok(None) => {}
            Err(InvalidRequest) => return Ok(None),
        }
    }
    Ok(None)
}

/// Where a request wants to go, and the head that is sent there in place of its own.
#[derive(Debug, PartialEq)]
struct ProxyRequest {
    destination: NetworkDestination,
    /// `None` for `CONNECT`, which forwards nothing of its head.
    forwarded_head: Option<Vec<u8>>,
}

/// The bytes are not a request that names a destination.
#[derive(Debug, PartialEq)]
struct InvalidRequest;

impl ProxyRequest {
    /// Parses a head. Returns the request and the length of its head, or `None` while the head is
    /// not complete.
    ///
    /// The forwarded head is written anew from the parsed fields, never copied from the script's
    /// bytes, so that the destination cannot read the head in another way than the proxy did.
    fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, InvalidRequest> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut head = httparse::Request::new(&mut fields);
        let length = match head.parse(bytes).map_err(|_| InvalidRequest)? {
            httparse::Status::Complete(length) => length,
            httparse::Status::Partial => return Ok(None),
        };
        let (Some(method), Some(target), Some(version)) = (head.method, head.path, head.version)
        else {
            return Err(InvalidRequest);
        };
        if method == "CONNECT" {
            let destination = parse_destination(target)?;
            return Ok(Some((Self { destination, forwarded_head: None }, length)));
        }
        let (authority, path) = split_target(target).ok_or(InvalidRequest)?;
        let destination = parse_destination(&authority)?;
        // One request for each connection: the next one on it may be meant for another destination.
        let mut forwarded =
            format!("{method} {path} HTTP/1.{version}\r\nConnection: close\r\n").into_bytes();
        for field in head.headers.iter() {
            if !DROPPED_FIELDS.iter().any(|dropped| field.name.eq_ignore_ascii_case(dropped)) {
                forwarded.extend([field.name.as_bytes(), b": ", field.value, b"\r\n"].concat());
            }
        }
        forwarded.extend(b"\r\n");
        Ok(Some((Self { destination, forwarded_head: Some(forwarded) }, length)))
    }
}

fn parse_destination(text: &str) -> Result<NetworkDestination, InvalidRequest> {
    NetworkDestination::parse(text).map_err(|_| InvalidRequest)
}

/// Splits an absolute `http://` URI into its authority, with a port, and its path.
fn split_target(target: &str) -> Option<(String, &str)> {
    let rest = target.strip_prefix("http://")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let path = if path.is_empty() { "/" } else { path };
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    let authority = if has_port { authority.to_owned() } else { format!("{authority}:80") };
    Some((authority, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(head: &str) -> Option<ProxyRequest> {
        let (request, length) = ProxyRequest::parse(head.as_bytes()).ok()??;
        assert_eq!(length, head.len());
        Some(request)
    }

    #[test]
    fn a_request_names_one_destination() {
        let request = parse("CONNECT api.example.com:443 HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(request.destination.to_string(), "api.example.com:443");
        assert_eq!(request.forwarded_head, None);
        let head = "GET http://Example.com/a?b HTTP/1.1\r\nHost: x\r\nProxy-Connection: y\r\n\r\n";
        let request = parse(head).unwrap();
        assert_eq!(request.destination.to_string(), "example.com:80");
        let forwarded = b"GET /a?b HTTP/1.1\r\nConnection: close\r\nHost: x\r\n\r\n";
        assert_eq!(request.forwarded_head.as_deref(), Some(forwarded.as_slice()));
        for (target, destination) in [
            ("http://[::1]/", "[::1]:80"),
            ("http://[::1]:8080/x", "[::1]:8080"),
            ("http://a.example:81", "a.example:81"),
        ] {
            let request = parse(&format!("GET {target} HTTP/1.0\r\n\r\n")).unwrap();
            assert_eq!(request.destination.to_string(), destination);
        }
    }

    #[test]
    fn the_body_starts_after_the_head() {
        let sent = b"POST http://a/ HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody";
        let (_, length) = ProxyRequest::parse(sent).unwrap().unwrap();
        assert_eq!(&sent[length..], b"body");
        for cut in 0..length {
            assert_eq!(ProxyRequest::parse(&sent[..cut]), Ok(None), "{cut}");
        }
    }

    #[test]
    fn what_names_no_destination_is_not_a_request() {
        for head in [
            "GET / HTTP/1.1\r\n\r\n",
            "CONNECT a:443 b:443 HTTP/1.1\r\n\r\n",
            "CONNECT user@a:443 HTTP/1.1\r\n\r\n",
            "CONNECT a HTTP/1.1\r\n\r\n",
            "GET http://user@a/ HTTP/1.1\r\n\r\n",
            "GET https://a/ HTTP/1.1\r\n\r\n",
            "GET http://a:b:80/ HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/2.0\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nno field\r\n\r\n",
        ] {
            assert_eq!(ProxyRequest::parse(head.as_bytes()), Err(InvalidRequest), "{head}");
        }
        let many = "X: y\r\n".repeat(MAX_FIELDS + 1);
        let head = format!("GET http://a/ HTTP/1.1\r\n{many}\r\n");
        assert_eq!(ProxyRequest::parse(head.as_bytes()), Err(InvalidRequest));
    }

    /// A proxy for these destinations, and a connection to it.
    fn proxy(granted: &[NetworkDestination]) -> (EgressProxy, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = EgressProxy::start(listener, granted).unwrap();
        (proxy, TcpStream::connect(address).unwrap())
    }

    fn answer(mut client: TcpStream) -> String {
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_head_that_never_ends_is_refused() {
        let (_proxy, client) = proxy(&[]);
        let mut endless = b"GET http://a/ HTTP/1.1\r\nX: ".to_vec();
        // Not one byte more than the proxy reads: it would reset the connection for it.
        endless.resize(MAX_HEAD + 1, b'y');
        (&client).write_all(&endless).unwrap();
        assert!(answer(client).starts_with("HTTP/1.1 400 "));
    }

    #[test]
    fn names_below_a_granted_domain_are_asked_for_and_no_others() {
        let granted = [NetworkDestination::parse("*.example.com:443").unwrap()];
        // Longer than a name may be, so that no server is asked for its address. It cannot be reached,
        // which is another answer than that of a name that was not granted.
        let below = format!("{}.example.com", "a".repeat(64));
        let (_proxy, client) = proxy(&granted);
        write!(&client, "CONNECT {below}:443 HTTP/1.1\r\n\r\n").unwrap();
        let answered = answer(client);
        assert!(answered.starts_with("HTTP/1.1 502 "), "{answered}");
        for other in [
            "example.com:443".to_owned(),
            "badexample.com:443".to_owned(),
            format!("{below}:80"),
            format!("{below}.evil.example:443"),
            "*.example.com:443".to_owned(),
        ] {
            let (running, client) = proxy(&granted);
            write!(&client, "CONNECT {other} HTTP/1.1\r\n\r\n").unwrap();
            let answered = answer(client);
            assert!(answered.starts_with("HTTP/1.1 403 "), "{other}: {answered}");
            let [refused] = &*running.refused() else { panic!("{other} is refused") };
            assert_eq!(refused.reason, RefusalReason::NotGranted, "{other}");
        }
    }

    #[test]
    fn a_granted_name_that_leads_to_this_machine_is_refused_b_14() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        server.set_nonblocking(true).unwrap();
        let port = server.local_addr().unwrap().port();
        let granted = NetworkDestination::parse(&format!("localhost:{port}")).unwrap();
        let (running, client) = proxy(&[granted]);
        write!(&client, "CONNECT localhost:{port} HTTP/1.1\r\n\r\n").unwrap();
        let answer = answer(client);
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("private"), "{answer}");
        let [refused] = &*running.refused() else { panic!("one is refused") };
        assert_eq!(refused.reason, RefusalReason::NotPublic);
        assert_eq!(server.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_connection_that_hangs_ends_with_the_proxy_b_14() {
        // A listener that accepts nothing, with a full queue: the next connection waits.
        let server = rustix::net::socket(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::STREAM,
            None,
        )
        .unwrap();
        let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
        rustix::net::bind(&server, &any).unwrap();
        rustix::net::listen(&server, 0).unwrap();
        let server = TcpListener::from(server);
        let address = server.local_addr().unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            waiting.push(stream);
            assert!(waiting.len() < 64, "the queue never fills");
        }
        let granted = NetworkDestination::parse(&address.to_string()).unwrap();
        let (proxy, client) = proxy(&[granted]);
        write!(&client, "CONNECT {address} HTTP/1.1\r\n\r\n").unwrap();
        while proxy.state.open.lock().is_empty() {
            std::thread::yield_now();
        }
        let started = Instant::now();
        drop(proxy);
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    }

    #[test]
    fn open_connections_end_with_the_proxy() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let granted = NetworkDestination::parse(&server.local_addr().unwrap().to_string()).unwrap();
        let (proxy, client) = proxy(std::slice::from_ref(&granted));
        write!(&client, "CONNECT {granted} HTTP/1.1\r\n\r\n").unwrap();
        let (mut accepted, _) = server.accept().unwrap();
        let mut established = [0; 39];
        (&client).read_exact(&mut established).unwrap();
        assert_eq!(&established, b"HTTP/1.1 200 Connection established\r\n\r\n");
        drop(proxy);
        assert_eq!(accepted.read(&mut [0; 8]).unwrap(), 0);
        assert_eq!(answer(client), "");
    }
}
