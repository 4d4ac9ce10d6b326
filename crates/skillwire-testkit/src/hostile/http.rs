//! The server on HTTP, written by hand so that it can send anything.

use std::{fmt::Write as _, net::SocketAddr};

use skillwire_protocol::{message::notification, method};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::broadcast,
    task::JoinHandle,
};

use super::{
    Asked, Fault, HostileServer, Reply, Said, lock,
    pipe::{acknowledgment, subscribed},
    receive::{SESSION, Via, find},
    reply::{Sending, Step},
};

/// A server that listens until this value goes away.
#[derive(Debug)]
pub struct Listening {
    /// Where.
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl Listening {
    /// The URL of the endpoint.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One request.
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// The connection is of no more use.
pub(crate) struct Gone;

impl From<std::io::Error> for Gone {
    fn from(_: std::io::Error) -> Self {
        Self
    }
}

impl HostileServer {
    /// Listens on a free port of loopback.
    pub async fn http(&self) -> Listening {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let server = self.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = server.clone();
                tokio::spawn(async move {
                    let mut connection = Connection::new(stream);
                    while let Some(received) = connection.receive().await {
                        if server.respond(&mut connection, &received).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Listening { address, task }
    }

    fn has(&self, is: impl Fn(&Fault) -> bool) -> bool {
        lock(&self.0.faults).iter().any(is)
    }

    async fn respond(&self, connection: &mut Connection, received: &Received) -> Result<(), Gone> {
        match received.method.as_str() {
            "POST" => {}
            "GET" => return self.legacy_stream(connection, received).await,
            _ => {
                self.note(&format!("({})", received.method), &received.headers);
                return connection.head(204, &[], Some(0)).await;
            }
        }
        let said = self.0.said.subscribe();
        let Some(asked) = self.receive(&received.body, &Via::Http(&received.headers)) else {
            return connection.head(202, &[], Some(0)).await;
        };
        let reply = self.reply(&asked);
        if asked.method == method::LISTEN && matches!(reply, Reply::Honest) {
            return self.subscription(connection, &asked, said).await;
        }
        let mut sending = Sending::of(reply, &asked);
        if asked.method == method::INITIALIZE {
            sending.headers.push(("Mcp-Session-Id".to_owned(), SESSION.to_owned()));
        }
        self.send(connection, sending).await
    }

    async fn send(&self, connection: &mut Connection, sending: Sending) -> Result<(), Gone> {
        for gate in &sending.held {
            self.unless_gone(connection, gate.passed()).await?;
        }
        let with_events = !sending.before.is_empty()
            || self.has(|fault| matches!(fault, Fault::AnswersWithEvents));
        let mut headers = sending.headers.clone();
        let is_set = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if !is_set {
            let media_type = if with_events { "text/event-stream" } else { "application/json" };
            headers.push(("Content-Type".to_owned(), media_type.to_owned()));
        }
        if let Some(bytes) = sending.whole().filter(|_| !with_events) {
            connection.head(sending.status, &headers, Some(bytes.len())).await?;
            return Ok(connection.stream.write_all(bytes).await?);
        }
        connection.head(sending.status, &headers, None).await?;
        for message in &sending.before {
            connection.event(message.as_bytes()).await?;
        }
        if with_events {
            connection.stream.write_all(b"data: ").await?;
        }
        for step in sending.steps {
            match step {
                Step::Bytes(bytes) => connection.stream.write_all(&bytes).await?,
                Step::Wait(gate) => self.unless_gone(connection, gate.passed()).await?,
                Step::Repeat(filler) => loop {
                    connection.stream.write_all(&filler).await?;
                },
                Step::Forever => {
                    self.unless_gone(connection, std::future::pending::<()>()).await?;
                }
                Step::HangUp => return Err(Gone),
            }
        }
        if with_events {
            connection.stream.write_all(b"\n\n").await?;
        }
        // The end of a body without a length is the end of the connection.
        Err(Gone)
    }

    /// Waits, unless the client gives up first, which is logged.
    async fn unless_gone(
        &self,
        connection: &mut Connection,
        wait: impl Future<Output = ()>,
    ) -> Result<(), Gone> {
        let mut byte = [0];
        tokio::select! {
            () = wait => Ok(()),
            _ = connection.stream.read(&mut byte) => {
                self.note("(disconnected)", &[]);
                Err(Gone)
            }
        }
    }

    async fn subscription(
        &self,
        connection: &mut Connection,
        asked: &Asked,
        mut said: broadcast::Receiver<Said>,
    ) -> Result<(), Gone> {
        connection.events().await?;
        let first = subscribed(asked, method::ACKNOWLEDGED, acknowledgment(asked));
        connection.event(first.as_bytes()).await?;
        loop {
            let message = match self.next_said(connection, &mut said).await? {
                Said::Notification(method, params) => subscribed(asked, &method, params),
                Said::Message(message) => message,
            };
            connection.event(message.as_bytes()).await?;
        }
    }

    async fn legacy_stream(
        &self,
        connection: &mut Connection,
        received: &Received,
    ) -> Result<(), Gone> {
        let mut said = self.0.said.subscribe();
        self.note("(stream)", &received.headers);
        let refused = self.has(|fault| matches!(fault, Fault::NoLegacyStream));
        if refused || find(&received.headers, "mcp-session-id") != Some(SESSION) {
            return connection.head(405, &[], Some(0)).await;
        }
        connection.events().await?;
        loop {
            let message = match self.next_said(connection, &mut said).await? {
                Said::Notification(method, params) => notification(&method, &params),
                Said::Message(message) => message,
            };
            connection.event(message.as_bytes()).await?;
        }
    }

    async fn next_said(
        &self,
        connection: &mut Connection,
        said: &mut broadcast::Receiver<Said>,
    ) -> Result<Said, Gone> {
        let mut next = None;
        self.unless_gone(connection, async { next = said.recv().await.ok() }).await?;
        next.ok_or(Gone)
    }
}

/// The server's end of a connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Self {
        let _ = stream.set_nodelay(true);
        Self { stream, buffer: Vec::new() }
    }

    /// Reads one request with a body of known length.
    pub(crate) async fn receive(&mut self) -> Option<Received> {
        let end = loop {
            match self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                Some(end) => break end,
                None => self.read_more().await?,
            }
        };
        let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.lines();
        let mut first = lines.next()?.split(' ');
        let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let length = find(&headers, "content-length").and_then(|text| text.parse().ok());
        let length: usize = length.unwrap_or(0);
        while self.buffer.len() < length {
            self.read_more().await?;
        }
        let body = self.buffer.drain(..length).collect();
        Some(Received { method, target, headers, body })
    }

    async fn read_more(&mut self) -> Option<()> {
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(()),
        }
    }

    /// Writes a whole response.
    pub(crate) async fn respond(
        &mut self,
        status: u16,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<(), Gone> {
        self.head(status, headers, Some(body.len())).await?;
        Ok(self.stream.write_all(body).await?)
    }

    /// Writes the head of a response; without a length, the end of the connection ends the body.
    async fn head(
        &mut self,
        status: u16,
        headers: &[(String, String)],
        length: Option<usize>,
    ) -> Result<(), Gone> {
        let mut head = format!("HTTP/1.1 {status} As Told\r\n");
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let is_told = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        match length {
            Some(_) if is_told => head.push_str("\r\n"),
            // A response with this status has no body and says nothing about its length.
            Some(0) if status == 204 => head.push_str("\r\n"),
            Some(length) => {
                let _ = write!(head, "Content-Length: {length}\r\n\r\n");
            }
            None => head.push_str("Connection: close\r\n\r\n"),
        }
        Ok(self.stream.write_all(head.as_bytes()).await?)
    }

    /// Begins a stream of events.
    async fn events(&mut self) -> Result<(), Gone> {
        let headers = [("Content-Type".to_owned(), "text/event-stream".to_owned())];
        self.head(200, &headers, None).await
    }

    async fn event(&mut self, data: &[u8]) -> Result<(), Gone> {
        let event = [b"data: ", data, b"\n\n"].concat();
        Ok(self.stream.write_all(&event).await?)
    }
}
