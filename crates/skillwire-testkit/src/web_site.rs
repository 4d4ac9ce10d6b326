//! A web server on loopback with the pages that a test puts there.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// The answer for a path.
#[derive(Debug, Clone)]
enum WebPage {
    File(&'static str, Vec<u8>),
    Redirect(String),
    Status(u16),
}

/// The pages of a web site.
#[derive(Debug, Clone, Default)]
pub struct WebSite {
    pages: HashMap<String, WebPage>,
}

impl WebSite {
    /// An empty site.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a file at a path.
    #[must_use]
    pub fn file(mut self, path: &str, kind: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        self.pages.insert(path.to_owned(), WebPage::File(kind, bytes.into()));
        self
    }

    /// Redirects a path.
    #[must_use]
    pub fn redirect(mut self, path: &str, to: &str) -> Self {
        self.pages.insert(path.to_owned(), WebPage::Redirect(to.to_owned()));
        self
    }

    /// Answers a path with a status and nothing else.
    #[must_use]
    pub fn status(mut self, path: &str, status: u16) -> Self {
        self.pages.insert(path.to_owned(), WebPage::Status(status));
        self
    }

    /// Serves the site on a free port of loopback until the returned value is dropped.
    pub async fn serve(self) -> ServedWebSite {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let pages = Arc::new(Mutex::new(self.pages));
        let (served, log) = (Arc::clone(&pages), Arc::clone(&requests));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client may disconnect early.
                let _ = answer(stream, &served, &log).await;
            }
        });
        ServedWebSite { url: format!("http://{address}"), pages, requests, task }
    }
}

/// A web site that is served until this value is dropped.
#[derive(Debug)]
pub struct ServedWebSite {
    url: String,
    pages: Arc<Mutex<HashMap<String, WebPage>>>,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl ServedWebSite {
    /// The origin of the site, such as `http://127.0.0.1:8080`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Puts another file at a path while the site is served.
    pub fn set_file(&self, path: &str, kind: &'static str, bytes: impl Into<Vec<u8>>) {
        self.pages.lock().insert(path.to_owned(), WebPage::File(kind, bytes.into()));
    }

    /// The paths that were requested, in order.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().clone()
    }
}

impl Drop for ServedWebSite {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    mut stream: TcpStream,
    pages: &Mutex<HashMap<String, WebPage>>,
    requests: &Mutex<Vec<String>>,
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
    requests.lock().push(path.clone());
    let page = pages.lock().get(&path).cloned();
    let (status, extra, body) = match page {
        Some(WebPage::File(kind, bytes)) => (200, format!("Content-Type: {kind}\r\n"), bytes),
        Some(WebPage::Redirect(to)) => (302, format!("Location: {to}\r\n"), Vec::new()),
        Some(WebPage::Status(status)) => (status, String::new(), Vec::new()),
        None => (404, String::new(), Vec::new()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\n{extra}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    stream.shutdown().await
}
