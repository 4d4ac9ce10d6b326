//! Minimal servers, which this program runs as separate processes.
//!
//! `axum` is the reference: a handler that takes the body and returns prepared bytes. `canned` does
//! not parse HTTP; its rate is the limit of the load generator.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{Router, http::header::CONTENT_TYPE, routing::post, serve::ListenerExt as _};
use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::broken::{Broken, Result};

/// The kind of a bare server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// An axum handler.
    Axum,
    /// Bytes for bytes.
    Canned,
}

/// Bodies that are returned one after the other.
#[derive(Debug)]
struct Bodies {
    bodies: Vec<Bytes>,
    next: AtomicUsize,
}

impl Bodies {
    fn next(&self) -> Bytes {
        let at = self.next.fetch_add(1, Ordering::Relaxed) % self.bodies.len();
        self.bodies[at].clone()
    }
}

/// Writes bodies for [`run`] to return.
pub(crate) fn write_bodies(path: &Path, bodies: &[Vec<u8>]) -> Result<()> {
    let mut file = Vec::new();
    for body in bodies {
        let length = u32::try_from(body.len()).map_err(|_| Broken::new("A body is too long."))?;
        file.extend(length.to_le_bytes());
        file.extend(body);
    }
    fs::write(path, file).map_err(Broken::at(path))
}

fn read_bodies(path: &Path) -> Result<Vec<Bytes>> {
    let mut rest = Bytes::from(fs::read(path).map_err(Broken::at(path))?);
    let mut bodies = Vec::new();
    while let Some((head, _)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*head) as usize;
        if rest.len() < 4 + length {
            return Err(Broken::new("The file of bodies is cut."));
        }
        drop(rest.split_to(4));
        // Each body is a separate copy, as in a server that read them one by one.
        bodies.push(Bytes::copy_from_slice(&rest.split_to(length)));
    }
    if bodies.is_empty() { Err(Broken::new("There are no bodies to serve.")) } else { Ok(bodies) }
}

/// Serves until standard input ends.
pub(crate) async fn run(kind: Kind, path: &Path) -> Result<()> {
    let bodies = Arc::new(Bodies { bodies: read_bodies(path)?, next: AtomicUsize::new(0) });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "listening on http://{}/mcp", listener.local_addr()?)?;
    let parent = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    tokio::select! {
        served = async { match kind {
            Kind::Axum => serve_axum(listener, bodies).await,
            Kind::Canned => serve_canned(listener, bodies).await,
        } } => served,
        _ = parent => Ok(()),
    }
}

async fn serve_axum(listener: TcpListener, bodies: Arc<Bodies>) -> Result<()> {
    let handler = move |_request: Bytes| {
        let body = bodies.next();
        async move { ([(CONTENT_TYPE, "application/json")], body) }
    };
    let listener = listener.tap_io(|stream| {
        // Without it, small answers would be delayed. A failure shows in the numbers.
        let _ = stream.set_nodelay(true);
    });
    Ok(axum::serve(listener, Router::new().route("/mcp", post(handler))).await?)
}

async fn serve_canned(listener: TcpListener, bodies: Arc<Bodies>) -> Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(answer_canned(stream, Arc::clone(&bodies)));
    }
}

/// Treats the bytes of one read as one request, which is true on loopback.
async fn answer_canned(mut stream: TcpStream, bodies: Arc<Bodies>) -> std::io::Result<()> {
    let mut request = vec![0; 64 << 10];
    let mut answer = Vec::new();
    while stream.read(&mut request).await? > 0 {
        let body = bodies.next();
        answer.clear();
        write!(answer, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len())?;
        answer.extend_from_slice(&body);
        stream.write_all(&answer).await?;
    }
    Ok(())
}
