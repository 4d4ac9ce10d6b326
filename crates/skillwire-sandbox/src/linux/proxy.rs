//! The only way out of a script's network: an HTTP proxy that knows a list of destinations.
//!
//! The socket it listens at belongs to the script's network namespace, the connections it makes to
//! the supervisor's. `CONNECT` and plain requests with a whole URI are understood.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs as _},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use crate::job::Destination;

/// The most connections at once.
const MAX_CONNECTIONS: usize = 16;

/// The longest head of a request.
const MAX_HEAD: usize = 16 * 1024;

/// How long a head, or a connection to a destination, may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A proxy for one run; it and its connections end when this is dropped.
pub(super) struct Proxy {
    listener: TcpListener,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    allowed: Vec<Destination>,
    ended: AtomicBool,
    /// Both ends of every connection that is open, to end them from outside.
    open: Mutex<BTreeMap<u64, Vec<TcpStream>>>,
}

impl Proxy {
    pub(super) fn start(listener: TcpListener, allowed: &[Destination]) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            allowed: allowed.to_vec(),
            ended: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let accepting = {
            let (listener, shared) = (listener.try_clone()?, Arc::clone(&shared));
            std::thread::Builder::new()
                .name("script-proxy".to_owned())
                .spawn(move || accept(&listener, &shared))?
        };
        Ok(Self { listener, shared, accepting: Some(accepting) })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        // Wakes the thread that accepts.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    let mut number = 0;
    while let Ok((client, _)) = listener.accept() {
        if shared.ended.load(Ordering::Acquire) {
            break;
        }
        threads.retain(|thread| !thread.is_finished());
        if threads.len() >= MAX_CONNECTIONS {
            refuse(&client, "503 Service Unavailable");
            continue;
        }
        number += 1;
        let (number, shared) = (number, Arc::clone(shared));
        let serve = move || {
            // What goes wrong with a connection is between the script and its destination.
            let _ = serve(&client, number, &shared);
            shared.lock().remove(&number);
            let _ = client.shutdown(Shutdown::Both);
        };
        if let Ok(thread) = std::thread::Builder::new().spawn(serve) {
            threads.push(thread);
        }
    }
    for stream in shared.lock().values().flatten() {
        let _ = stream.shutdown(Shutdown::Both);
    }
    for thread in threads {
        let _ = thread.join();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Vec<TcpStream>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a stream, so that it can be ended from outside.
    fn remember(&self, number: u64, stream: &TcpStream) -> io::Result<()> {
        let stream = stream.try_clone()?;
        self.lock().entry(number).or_default().push(stream);
        if self.ended.load(Ordering::Acquire) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }
}

fn refuse(client: &TcpStream, status: &str) {
    let mut client = client;
    let _ = write!(client, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

fn serve(client: &TcpStream, number: u64, shared: &Shared) -> io::Result<()> {
    shared.remember(number, client)?;
    client.set_read_timeout(Some(PATIENCE))?;
    let (head, rest) = read_head(client)?;
    let Some(request) = Request::parse(&head) else {
        refuse(client, "400 Bad Request");
        return Ok(());
    };
    let Some(destination) = shared.allowed.iter().find(|allowed| **allowed == request.destination)
    else {
        refuse(client, "403 Forbidden");
        return Ok(());
    };
    let Ok(server) = connect(destination) else {
        refuse(client, "502 Bad Gateway");
        return Ok(());
    };
    shared.remember(number, &server)?;
    client.set_read_timeout(None)?;
    match request.forward {
        None => {
            let mut client = client;
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        }
        Some(head) => (&server).write_all(head.as_bytes())?,
    }
    (&server).write_all(&rest)?;
    join(client, &server)
}

/// Copies both ways until both are done.
fn join(client: &TcpStream, server: &TcpStream) -> io::Result<()> {
    let copy = |mut from: &TcpStream, mut to: &TcpStream| {
        let copied = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
        copied.map(drop)
    };
    std::thread::scope(|scope| {
        let up = scope.spawn(|| copy(client, server));
        let down = copy(server, client);
        // A destination that hung up wants nothing more.
        let _ = client.shutdown(Shutdown::Both);
        let up = up.join().unwrap_or(Ok(()));
        down.and(up)
    })
}

fn connect(destination: &Destination) -> io::Result<TcpStream> {
    let mut last = io::ErrorKind::NotFound.into();
    for address in (destination.host(), destination.port()).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Reads to the empty line that ends a head; what came after it belongs to the body.
fn read_head(client: &TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut client = client;
    let mut read = Vec::new();
    let mut piece = [0; 2048];
    loop {
        if let Some(at) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = read.split_off(at + 4);
            return Ok((String::from_utf8(read).map_err(io::Error::other)?, rest));
        }
        if read.len() > MAX_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match client.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => read.extend_from_slice(&piece[..more]),
        }
    }
}

/// Where a request wants to go, and what is sent there in the place of its head.
#[derive(Debug, PartialEq)]
struct Request {
    destination: Destination,
    forward: Option<String>,
}

impl Request {
    fn parse(head: &str) -> Option<Self> {
        let (line, fields) = head.split_once("\r\n")?;
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            return Some(Self { destination: Destination::parse(target).ok()?, forward: None });
        }
        let rest = target.strip_prefix("http://")?;
        let at = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let path = if path.is_empty() { "/" } else { path };
        let port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let authority = if port { authority.to_owned() } else { format!("{authority}:80") };
        let destination = Destination::parse(&authority).ok()?;
        // One request for each connection: the next one may be meant for somebody else.
        let kept = fields.split_inclusive("\r\n").filter(|field| {
            let name = field.split(':').next().unwrap_or_default();
            !["connection", "proxy-connection", "proxy-authorization"]
                .iter()
                .any(|dropped| name.eq_ignore_ascii_case(dropped))
        });
        let fields: String = kept.collect();
        let forward = format!("{method} {path} {version}\r\nConnection: close\r\n{fields}");
        Some(Self { destination, forward: Some(forward) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_one_destination() {
        let request = Request::parse("CONNECT api.example.com:443 HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(request.destination.to_string(), "api.example.com:443");
        let head = "GET http://Example.com/a?b HTTP/1.1\r\nHost: x\r\nProxy-Connection: y\r\n\r\n";
        let request = Request::parse(head).unwrap();
        assert_eq!(request.destination.to_string(), "example.com:80");
        let forward = "GET /a?b HTTP/1.1\r\nConnection: close\r\nHost: x\r\n\r\n";
        assert_eq!(request.forward.as_deref(), Some(forward));
    }

    #[test]
    fn what_names_none_is_no_request() {
        for head in [
            "GET / HTTP/1.1\r\n\r\n",
            "CONNECT a:443 b:443 HTTP/1.1\r\n\r\n",
            "CONNECT user@a:443 HTTP/1.1\r\n\r\n",
            "GET http://user@a/ HTTP/1.1\r\n\r\n",
            "GET https://a/ HTTP/1.1\r\n\r\n",
            "GET http://a:b:80/ HTTP/1.1\r\n\r\n",
            "",
        ] {
            assert_eq!(Request::parse(head), None, "{head}");
        }
    }
}
