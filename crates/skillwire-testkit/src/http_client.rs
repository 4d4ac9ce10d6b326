//! A raw HTTP client.

use std::{fmt::Write as _, net::SocketAddr};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Duration, timeout},
};

use crate::rpc::RpcReply;

/// A test that waits longer than this has failed.
const TIMEOUT: Duration = Duration::from_secs(20);

/// An HTTP response as it was received.
#[derive(Debug, Clone)]
pub struct HttpReply {
    /// The status code.
    pub status: u16,
    /// The header lines, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, without chunk framing.
    pub body: Vec<u8>,
}

impl HttpReply {
    /// The first header of that name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as a JSON-RPC message.
    pub fn message(&self) -> RpcReply {
        let parsed = serde_json::from_slice(&self.body);
        RpcReply(parsed.unwrap_or_else(|_| panic!("{} is not JSON: {}", self.status, self.text())))
    }
}

/// An HTTP connection on which a test writes any bytes.
#[derive(Debug)]
pub struct HttpConnection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl HttpConnection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the server accepts connections");
        // Head and body are separate writes. Without this, the second would wait for an
        // acknowledgment.
        let _ = stream.set_nodelay(true);
        Self { stream, buffer: Vec::new() }
    }

    /// Writes raw bytes; a server that has closed the connection is not an error here.
    pub async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    /// Sends a request with a body and the headers given, besides `Host` and `Content-Length`.
    pub async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str("Host: 127.0.0.1\r\n");
        }
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let _ = write!(head, "Content-Length: {}\r\n\r\n", body.len());
        self.write(head).await;
        self.write(body).await;
    }

    /// Reads one whole response.
    pub async fn reply(&mut self) -> HttpReply {
        self.try_reply().await.expect("the server answers")
    }

    /// Reads one whole response, or nothing when the server closes the connection instead.
    pub async fn try_reply(&mut self) -> Option<HttpReply> {
        let (status, headers) = self.head().await?;
        let header =
            |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
        let body = if header("transfer-encoding").as_deref() == Some("chunked") {
            let mut body = Vec::new();
            while let Some(chunk) = self.chunk().await {
                body.extend(chunk);
            }
            body
        } else {
            let length = header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
            self.fill(length).await?;
            self.buffer.drain(..length).collect()
        };
        Some(HttpReply { status, headers, body })
    }

    /// Reads the head of a response whose body is a stream of events.
    pub async fn head(&mut self) -> Option<(u16, Vec<(String, String)>)> {
        let end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at;
            }
            self.read_more().await?;
        };
        let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Some((status, headers))
    }

    /// Reads the next event of a stream as a message, passing over comments.
    pub async fn event(&mut self) -> Option<Value> {
        // The keep-alive comments of a stream would put off the timeout of a single read for ever.
        timeout(TIMEOUT, self.next_event()).await.expect("the event comes in time")
    }

    async fn next_event(&mut self) -> Option<Value> {
        loop {
            let chunk = self.chunk().await?;
            let text = String::from_utf8(chunk).expect("events are UTF-8");
            let data: String =
                text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
            if !data.is_empty() {
                return Some(serde_json::from_str(&data).expect("an event is a message"));
            }
        }
    }

    /// Tells whether the server closes the connection without another byte.
    pub async fn is_closed(&mut self) -> bool {
        self.read_more().await.is_none() && self.buffer.is_empty()
    }

    async fn chunk(&mut self) -> Option<Vec<u8>> {
        let end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n") {
                break at;
            }
            self.read_more().await?;
        };
        let line: Vec<u8> = self.buffer.drain(..end + 2).collect();
        let size = std::str::from_utf8(&line).ok()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        self.fill(size + 2).await?;
        let chunk: Vec<u8> = self.buffer.drain(..size).collect();
        self.buffer.drain(..2);
        (size > 0).then_some(chunk)
    }

    async fn fill(&mut self, length: usize) -> Option<()> {
        while self.buffer.len() < length {
            self.read_more().await?;
        }
        Some(())
    }

    async fn read_more(&mut self) -> Option<()> {
        let mut bytes = vec![0; 64 * 1024];
        let read =
            timeout(TIMEOUT, self.stream.read(&mut bytes)).await.expect("the server is alive");
        match read {
            Ok(0) | Err(_) => None,
            Ok(length) => {
                self.buffer.extend_from_slice(&bytes[..length]);
                Some(())
            }
        }
    }
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}
