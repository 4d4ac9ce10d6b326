//! A web site on loopback that answers plain requests, with whatever a test puts there.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// What is at a path.
#[derive(Debug, Clone)]
enum Page {
    File(&'static str, Vec<u8>),
    Redirect(String),
    Status(u16),
}

/// A site that is being written.
#[derive(Debug, Clone, Default)]
pub struct Site {
    pages: HashMap<String, Page>,
}

impl Site {
    /// An empty site.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a file at a path.
    #[must_use]
    pub fn file(mut self, path: &str, kind: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        self.pages.insert(path.to_owned(), Page::File(kind, bytes.into()));
        self
    }

    /// Redirects a path.
    #[must_use]
    pub fn redirect(mut self, path: &str, to: &str) -> Self {
        self.pages.insert(path.to_owned(), Page::Redirect(to.to_owned()));
        self
    }

    /// Answers a path with a status and nothing else.
    #[must_use]
    pub fn status(mut self, path: &str, status: u16) -> Self {
        self.pages.insert(path.to_owned(), Page::Status(status));
        self
    }

    /// Serves the site on a free port of loopback until the returned value goes away.
    pub async fn serve(self) -> Serving {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (pages, log) = (Arc::new(self.pages), Arc::clone(&asked));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that goes away early is no failure of the site.
                let _ = answer(stream, &pages, &log).await;
            }
        });
        Serving { url: format!("http://{address}"), asked, task }
    }
}

/// A site that is being served.
#[derive(Debug)]
pub struct Serving {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Serving {
    /// Its origin.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The paths that were asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    mut stream: TcpStream,
    pages: &HashMap<String, Page>,
    asked: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < 64 * 1024 {
        match stream.read(&mut chunk).await? {
            0 => return Ok(()),
            read => head.extend_from_slice(&chunk[..read]),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
    let (status, extra, body): (u16, String, &[u8]) = match pages.get(&path) {
        Some(Page::File(kind, bytes)) => (200, format!("Content-Type: {kind}\r\n"), bytes),
        Some(Page::Redirect(to)) => (302, format!("Location: {to}\r\n"), b""),
        Some(Page::Status(status)) => (*status, String::new(), b""),
        None => (404, String::new(), b""),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\n{extra}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.shutdown().await
}
