//! One connection to a server, over either transport.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use serde_json::{Map, Value, json};
use tokio::{sync::mpsc, time::timeout};

use super::{
    RawAnswer,
    call::{CallTerms, OutgoingRequest},
    changes::Changes,
    conversation::{CallAnswer, CallMessage, Conversations},
    endpoint::{ClientOptions, Endpoint, Limits},
    error::ClientError,
    incoming,
    masking::SecretMask,
    pipe::{Pipe, process::ServerProcess},
    streamable_http::StreamableHttp,
};

/// The transport of a connection.
pub(super) enum ServerTransport {
    Pipe(Box<Pipe>),
    Http(Arc<StreamableHttp>),
}

/// A transport, and the state that every message on it needs.
pub(super) struct ServerConnection {
    pub(super) options: ClientOptions,
    transport: ServerTransport,
    next_id: AtomicU64,
    conversations: Arc<Conversations>,
    /// What the user configured for this server and the server must not show to others.
    secrets: Arc<SecretMask>,
}

impl ServerConnection {
    /// Opens a transport; for a server that is only a URL, this sends nothing yet.
    pub(super) fn open(endpoint: Endpoint, options: ClientOptions) -> Result<Self, ClientError> {
        let secrets = Arc::new(SecretMask::of(&endpoint));
        let conversations = Arc::new(Conversations::default());
        let talk = || Arc::clone(&conversations);
        let over_http = |url: &str, headers: &[_], bearer| {
            let patience = options.connect_timeout;
            let http = StreamableHttp::new(url, headers, bearer, patience, Arc::clone(&secrets));
            http.map(|http| ServerTransport::Http(Arc::new(http.conversing(talk()))))
        };
        let transport = match endpoint {
            Endpoint::Command(command) => {
                let (process, input, output) = ServerProcess::start(&command)?;
                ServerTransport::Pipe(Box::new(Pipe::new(
                    Box::new(input),
                    Box::new(output),
                    Some(process),
                    talk(),
                )))
            }
            Endpoint::Http { url, headers } => over_http(&url, &headers, None)?,
            Endpoint::LoggedIn { url, headers, bearer } => over_http(&url, &headers, Some(bearer))?,
            Endpoint::Pipes { input, output } => {
                ServerTransport::Pipe(Box::new(Pipe::new(input, output, None, talk())))
            }
        };
        Ok(Self { options, transport, next_id: AtomicU64::new(1), conversations, secrets })
    }

    /// Returns text of the server with configured secrets masked.
    pub(super) fn masked(&self, text: &str) -> String {
        self.secrets.mask(text)
    }

    /// Finishes the error of an exchange: adds the last words of a server process that ended, and
    /// masks configured secrets.
    async fn explained<T>(&self, outcome: Result<T, ClientError>) -> Result<T, ClientError> {
        let Err(mut error) = outcome else { return outcome };
        if let (ClientError::Closed { stderr, .. }, ServerTransport::Pipe(pipe)) =
            (&mut error, &self.transport)
        {
            *stderr = pipe.last_words().await;
        }
        Err(error.masked(&self.secrets))
    }

    /// Creates a request without sending it.
    pub(super) fn call(
        &self,
        version: Option<&'static str>,
        method: &str,
        params: Map<String, Value>,
    ) -> OutgoingRequest {
        self.call_on(CallTerms::default(), version, method, params)
    }

    /// Creates a request whose caller takes more than the answer.
    pub(super) fn call_on(
        &self,
        terms: CallTerms,
        version: Option<&'static str>,
        method: &str,
        params: Map<String, Value>,
    ) -> OutgoingRequest {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        OutgoingRequest::new(id, version, method, params, &self.options, terms)
    }

    /// Sends a request and waits for its result.
    pub(super) async fn send(
        &self,
        call: &OutgoingRequest,
        limits: Limits,
    ) -> Result<RawAnswer, ClientError> {
        let answer = self.exchange(call, limits).await?;
        incoming::complete(&answer.0)?;
        Ok(answer)
    }

    /// Sends a request whose caller takes messages before the answer.
    pub(super) async fn converse(
        &self,
        call: &OutgoingRequest,
        caller: mpsc::Sender<CallMessage>,
        limits: Limits,
    ) -> Result<CallAnswer, ClientError> {
        let _open = self.conversations.open(call.id, caller);
        let answer = self.exchange(call, limits).await?;
        match incoming::complete(&answer.0) {
            Ok(()) => Ok(CallAnswer::Complete(answer)),
            Err(ClientError::InputRequired) => Ok(CallAnswer::InputRequired(answer)),
            Err(error) => Err(error),
        }
    }

    async fn exchange(
        &self,
        call: &OutgoingRequest,
        limits: Limits,
    ) -> Result<RawAnswer, ClientError> {
        let answer = async {
            match &self.transport {
                ServerTransport::Pipe(pipe) => pipe.call(call, limits.bytes).await,
                ServerTransport::Http(http) => http.call(call, limits.bytes).await,
            }
        };
        let late = |_| Err(ClientError::Timeout(limits.timeout));
        let answer = timeout(limits.timeout, answer).await.unwrap_or_else(late).map(RawAnswer);
        self.explained(answer).await
    }

    /// Sends a notification of the legacy era.
    pub(super) async fn notify(
        &self,
        version: &'static str,
        method: &str,
    ) -> Result<(), ClientError> {
        let text = json!({ "jsonrpc": "2.0", "method": method }).to_string();
        let sent = match &self.transport {
            ServerTransport::Pipe(pipe) => {
                pipe.speak_legacy();
                pipe.notify(text).await
            }
            ServerTransport::Http(http) => http.notify(version, text).await,
        };
        self.explained(sent).await
    }

    /// Opens a modern subscription and waits until the server has acknowledged it.
    pub(super) async fn listen(
        &self,
        call: OutgoingRequest,
        limits: Limits,
    ) -> Result<Changes, ClientError> {
        let opened = async {
            match &self.transport {
                ServerTransport::Pipe(pipe) => pipe.listen(&call).await,
                ServerTransport::Http(http) => http.listen(&call).await,
            }
        };
        let late = |_| Err(ClientError::Timeout(limits.timeout));
        let opened = timeout(limits.timeout, opened).await.unwrap_or_else(late);
        self.explained(opened).await
    }

    /// Subscribes to the changes that a legacy server announces.
    pub(super) async fn overhear(
        &self,
        version: &'static str,
        limits: Limits,
    ) -> Result<Changes, ClientError> {
        let opened = match &self.transport {
            ServerTransport::Pipe(pipe) => pipe.overhear(),
            ServerTransport::Http(http) => {
                let late = |_| Err(ClientError::Timeout(limits.timeout));
                timeout(limits.timeout, http.overhear(version)).await.unwrap_or_else(late)
            }
        };
        self.explained(opened).await
    }

    /// Closes the connection and ends the server if the client started it.
    pub(super) async fn close(&self) {
        match &self.transport {
            ServerTransport::Pipe(pipe) => pipe.close(self.options.shutdown_grace).await,
            ServerTransport::Http(http) => http.close(self.options.shutdown_grace).await,
        }
    }

    /// Returns the last output on standard error of a server that the client started.
    pub(super) fn stderr(&self) -> String {
        match &self.transport {
            ServerTransport::Pipe(pipe) => self.masked(&pipe.stderr()),
            ServerTransport::Http(_) => String::new(),
        }
    }

    /// Tells whether another `initialize` opens a new session, which it does over HTTP.
    pub(super) fn has_sessions(&self) -> bool {
        matches!(self.transport, ServerTransport::Http(_))
    }
}
