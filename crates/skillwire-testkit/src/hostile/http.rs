//! Serves over HTTP. It is written by hand so that it can send anything.

use std::{fmt::Write as _, net::SocketAddr};

use skillwire_protocol::{message::notification, method};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::broadcast,
    task::JoinHandle,
};

use super::{
    Fault, HostileServer, ReceivedRequest, ScriptedReply, ServerPush,
    pipes::{acknowledgment, subscribed},
    receive::{Channel, SESSION, find},
    reply::{ReplyPlan, SendStep},
};

/// A server that listens until this value is dropped.
#[derive(Debug)]
pub struct ListeningServer {
    /// The address it listens on.
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl ListeningServer {
    /// The URL of the endpoint.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

impl Drop for ListeningServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One HTTP request.
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// The client disconnected, or the server closes the connection.
pub(crate) struct Disconnected;

impl From<std::io::Error> for Disconnected {
    fn from(_: std::io::Error) -> Self {
        Self
    }
}

impl HostileServer {
    /// Listens on a free port of loopback.
    pub async fn http(&self) -> ListeningServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let server = self.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = server.clone();
                tokio::spawn(async move {
                    let mut connection = RawConnection::new(stream);
                    while let Some(received) = connection.receive().await {
                        if server.respond(&mut connection, &received).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        ListeningServer { address, task }
    }

    fn has(&self, is: impl Fn(&Fault) -> bool) -> bool {
        self.0.faults.lock().iter().any(is)
    }

    async fn respond(
        &self,
        connection: &mut RawConnection,
        received: &HttpRequest,
    ) -> Result<(), Disconnected> {
        match received.method.as_str() {
            "POST" => {}
            "GET" => return self.legacy_stream(connection, received).await,
            _ => {
                self.note(&format!("({})", received.method), &received.headers);
                return connection.head(204, &[], Some(0)).await;
            }
        }
        let pushed = self.0.pushed.subscribe();
        let Some(request) = self.receive(&received.body, &Channel::Http(&received.headers)) else {
            return connection.head(202, &[], Some(0)).await;
        };
        let reply = self.reply(&request);
        if request.method == method::LISTEN && matches!(reply, ScriptedReply::Honest) {
            return self.subscription(connection, &request, pushed).await;
        }
        let mut plan = ReplyPlan::of(reply, &request);
        if request.method == method::INITIALIZE {
            plan.headers.push(("Mcp-Session-Id".to_owned(), SESSION.to_owned()));
        }
        self.send(connection, plan).await
    }

    async fn send(
        &self,
        connection: &mut RawConnection,
        plan: ReplyPlan,
    ) -> Result<(), Disconnected> {
        for gate in &plan.held {
            self.unless_gone(connection, gate.opened()).await?;
        }
        let with_events =
            !plan.before.is_empty() || self.has(|fault| matches!(fault, Fault::AnswersWithEvents));
        let mut headers = plan.headers.clone();
        let is_set = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if !is_set {
            let media_type = if with_events { "text/event-stream" } else { "application/json" };
            headers.push(("Content-Type".to_owned(), media_type.to_owned()));
        }
        if let Some(bytes) = plan.whole().filter(|_| !with_events) {
            connection.head(plan.status, &headers, Some(bytes.len())).await?;
            return Ok(connection.stream.write_all(bytes).await?);
        }
        connection.head(plan.status, &headers, None).await?;
        for message in &plan.before {
            connection.event(message.as_bytes()).await?;
        }
        if with_events {
            connection.stream.write_all(b"data: ").await?;
        }
        for step in plan.steps {
            match step {
                SendStep::Bytes(bytes) => connection.stream.write_all(&bytes).await?,
                SendStep::Wait(gate) => self.unless_gone(connection, gate.opened()).await?,
                SendStep::Repeat(filler) => loop {
                    connection.stream.write_all(&filler).await?;
                },
                SendStep::Forever => {
                    self.unless_gone(connection, std::future::pending::<()>()).await?;
                }
                SendStep::HangUp => return Err(Disconnected),
            }
        }
        if with_events {
            connection.stream.write_all(b"\n\n").await?;
        }
        // The end of a body without a length is the end of the connection.
        Err(Disconnected)
    }

    /// Waits, unless the client disconnects first, which is logged.
    async fn unless_gone(
        &self,
        connection: &mut RawConnection,
        wait: impl Future<Output = ()>,
    ) -> Result<(), Disconnected> {
        let mut byte = [0];
        tokio::select! {
            () = wait => Ok(()),
            _ = connection.stream.read(&mut byte) => {
                self.note("(disconnected)", &[]);
                Err(Disconnected)
            }
        }
    }

    async fn subscription(
        &self,
        connection: &mut RawConnection,
        request: &ReceivedRequest,
        mut pushed: broadcast::Receiver<ServerPush>,
    ) -> Result<(), Disconnected> {
        connection.events().await?;
        let first = subscribed(request, method::ACKNOWLEDGED, acknowledgment(request));
        connection.event(first.as_bytes()).await?;
        loop {
            let message = match self.next_push(connection, &mut pushed).await? {
                ServerPush::Notification(method, params) => subscribed(request, &method, params),
                ServerPush::Message(message) => message,
            };
            connection.event(message.as_bytes()).await?;
        }
    }

    async fn legacy_stream(
        &self,
        connection: &mut RawConnection,
        received: &HttpRequest,
    ) -> Result<(), Disconnected> {
        let mut pushed = self.0.pushed.subscribe();
        self.note("(stream)", &received.headers);
        let refused = self.has(|fault| matches!(fault, Fault::NoLegacyStream));
        if refused || find(&received.headers, "mcp-session-id") != Some(SESSION) {
            return connection.head(405, &[], Some(0)).await;
        }
        connection.events().await?;
        loop {
            let message = match self.next_push(connection, &mut pushed).await? {
                ServerPush::Notification(method, params) => notification(&method, &params),
                ServerPush::Message(message) => message,
            };
            connection.event(message.as_bytes()).await?;
        }
    }

    async fn next_push(
        &self,
        connection: &mut RawConnection,
        pushed: &mut broadcast::Receiver<ServerPush>,
    ) -> Result<ServerPush, Disconnected> {
        let mut next = None;
        self.unless_gone(connection, async { next = pushed.recv().await.ok() }).await?;
        next.ok_or(Disconnected)
    }
}

/// The server's end of a connection.
pub(crate) struct RawConnection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl RawConnection {
    pub(crate) fn new(stream: TcpStream) -> Self {
        let _ = stream.set_nodelay(true);
        Self { stream, buffer: Vec::new() }
    }

    /// Reads one request with a body of known length.
    pub(crate) async fn receive(&mut self) -> Option<HttpRequest> {
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
        Some(HttpRequest { method, target, headers, body })
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
    ) -> Result<(), Disconnected> {
        self.head(status, headers, Some(body.len())).await?;
        Ok(self.stream.write_all(body).await?)
    }

    /// Writes the head of a response; without a length, the end of the connection ends the body.
    async fn head(
        &mut self,
        status: u16,
        headers: &[(String, String)],
        length: Option<usize>,
    ) -> Result<(), Disconnected> {
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
    async fn events(&mut self) -> Result<(), Disconnected> {
        let headers = [("Content-Type".to_owned(), "text/event-stream".to_owned())];
        self.head(200, &headers, None).await
    }

    async fn event(&mut self, data: &[u8]) -> Result<(), Disconnected> {
        let event = [b"data: ", data, b"\n\n"].concat();
        Ok(self.stream.write_all(&event).await?)
    }
}
