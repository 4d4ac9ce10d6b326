//! A client of one MCP server, of either era, over pipes or HTTP.

use std::{fmt, sync::Arc};

use parking_lot::RwLock;
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use skillwire_protocol::{Era, method, version::MODERN};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};

use crate::{
    call::CallTerms,
    changes::{Changes, Interest},
    connection::ServerConnection,
    conversation::{CallAnswer, CallMessage},
    description::ServerDescription,
    endpoint::{ClientOptions, Endpoint, Limits},
    error::ClientError,
    handshake,
};

/// A result exactly as a server sent it.
#[derive(Debug, Clone)]
pub struct RawAnswer(pub(crate) Box<RawValue>);

impl RawAnswer {
    /// Returns the JSON text of the result, which is an object.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Returns the result as a raw value.
    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// Reads the members that the caller needs; a duplicate of one of them is an error.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ClientError> {
        serde_json::from_str(self.text()).map_err(|error| {
            let what = skillwire_protocol::truncated(&error.to_string());
            ClientError::protocol(format!("a result cannot be read: {what}"))
        })
    }
}

/// A client of one server; clones share the connection, and many requests can be in flight.
#[derive(Clone)]
pub struct Client(Arc<ClientInner>);

struct ClientInner {
    connection: ServerConnection,
    server: RwLock<Arc<ServerDescription>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.server()).finish_non_exhaustive()
    }
}

impl Client {
    /// Connects to a server and finds out which era it speaks.
    #[tracing::instrument(skip_all, fields(?endpoint))]
    pub async fn connect(endpoint: Endpoint, options: ClientOptions) -> Result<Self, ClientError> {
        let deadline = Instant::now() + options.connect_timeout;
        let again = endpoint.again();
        let late = ClientError::Timeout(options.connect_timeout);
        let connection = ServerConnection::open(endpoint, options.clone())?;
        let greeted = timeout_at(deadline, handshake::greet(&connection)).await;
        let (connection, server) = match (greeted.map_err(|_| late.clone())?, again) {
            // Some legacy programs exit when the first message they receive is not `initialize`.
            (Err(ClientError::Closed { .. }), Some(endpoint)) => {
                let connection = ServerConnection::open(endpoint, options)?;
                let greeted = timeout_at(deadline, handshake::initialize(&connection)).await;
                let server = greeted.map_err(|_| late)??;
                (connection, server)
            }
            (greeted, _) => (connection, greeted?),
        };
        let server = server.masked(&connection);
        for oddity in &server.oddities {
            tracing::warn!("{oddity}");
        }
        let server = RwLock::new(Arc::new(server));
        Ok(Self(Arc::new(ClientInner { connection, server })))
    }

    /// Returns the server's latest description of itself.
    pub fn server(&self) -> Arc<ServerDescription> {
        Arc::clone(&self.0.server.read())
    }

    /// Asks the server again what it offers; the new answer applies to every later request.
    ///
    /// A legacy server on pipes has one session, so its description does not change.
    #[tracing::instrument(skip_all, fields(era = ?self.server().era))]
    pub async fn rediscover(&self) -> Result<Arc<ServerDescription>, ClientError> {
        let connection = &self.0.connection;
        let server = match self.server().era {
            Era::Modern => handshake::rediscover(connection).await?,
            Era::Legacy if connection.has_sessions() => handshake::initialize(connection).await?,
            Era::Legacy => return Ok(self.server()),
        };
        let server = Arc::new(server.masked(connection));
        *self.0.server.write() = Arc::clone(&server);
        Ok(server)
    }

    /// Sends a request; dropping the future cancels it.
    ///
    /// If the server did not declare the method, this is an error and the client sends nothing.
    #[tracing::instrument(skip_all, fields(method))]
    pub async fn request(
        &self,
        method: &str,
        params: Map<String, Value>,
        limits: Limits,
    ) -> Result<RawAnswer, ClientError> {
        let server = self.server();
        if !is_offered(&server, method) {
            return Err(ClientError::NotOffered(method.to_owned()));
        }
        let connection = &self.0.connection;
        let call = connection.call(Some(server.protocol_version), method, params);
        connection.send(&call, limits).await
    }

    /// Sends a request whose caller takes messages before the answer; dropping the future cancels it.
    ///
    /// Questions are those of a legacy server. A modern server ends the call with
    /// [`CallAnswer::InputRequired`] instead.
    #[tracing::instrument(skip_all, fields(method))]
    pub async fn converse(
        &self,
        method: &str,
        params: Map<String, Value>,
        terms: CallTerms,
        caller: mpsc::Sender<CallMessage>,
        limits: Limits,
    ) -> Result<CallAnswer, ClientError> {
        let connection = &self.0.connection;
        let version = self.server().protocol_version;
        let call = connection.call_on(terms, Some(version), method, params);
        connection.converse(&call, caller, limits).await
    }

    /// Tells whether two clients share one connection, and with it a session.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Listens for changes.
    ///
    /// This returns once the server has acknowledged the subscription. For a server that announces
    /// no changes, the stream is already at its end. A legacy server has one stream for all
    /// listeners, which may carry more changes than this caller asked for.
    #[tracing::instrument(skip_all, fields(?interest))]
    pub async fn listen(
        &self,
        interest: Interest<'_>,
        limits: Limits,
    ) -> Result<Changes, ClientError> {
        let connection = &self.0.connection;
        let version = self.server().protocol_version;
        if version == MODERN {
            let wanted = if let Interest::Offers { resources } = interest {
                let mut wanted = json!({ "toolsListChanged": true, "promptsListChanged": true });
                if resources {
                    wanted["resourcesListChanged"] = true.into();
                }
                wanted
            } else {
                json!({
                    "resourcesListChanged": interest.is_in_listing(),
                    "resourceSubscriptions": interest.resources(),
                })
            };
            let params = Map::from_iter([("notifications".to_owned(), wanted)]);
            let call = connection.call(Some(version), method::LISTEN, params);
            return connection.listen(call, limits).await;
        }
        let changes = connection.overhear(version, limits).await?;
        for uri in interest.resources() {
            let params = Map::from_iter([("uri".to_owned(), (*uri).into())]);
            let call = connection.call(Some(version), method::RESOURCES_SUBSCRIBE, params);
            connection.send(&call, limits).await?;
        }
        Ok(changes)
    }

    /// Returns the last output on standard error of a server that the client started, with control
    /// characters escaped.
    pub fn stderr(&self) -> String {
        self.0.connection.stderr()
    }

    /// Closes the connection; a server that the client started gets a grace period before it is
    /// killed.
    #[tracing::instrument(skip_all, fields(era = ?self.server().era))]
    pub async fn close(&self) {
        self.0.connection.close().await;
    }
}

/// Tells whether a server declared what a method needs; methods outside the extension need nothing.
fn is_offered(server: &ServerDescription, method: &str) -> bool {
    match method {
        // An older dialect has methods of the same names and declares them elsewhere.
        method::SKILLS_LIST | method::SKILLS_GET => {
            server.skills.is_some()
                || server.capabilities.get("skills").is_some_and(Value::is_object)
        }
        method::DIRECTORY_READ => server.skills.is_some_and(|offer| offer.directory_read),
        _ => true,
    }
}
