//! The client on both transports and both eras.

mod declaration;
mod eras;
mod limits;
mod messages;
mod own_server;
mod pipes;
#[cfg(unix)]
mod processes;
mod subscriptions;

use std::time::Duration;

use serde_json::{Map, Value};
use skillwire_client::{Client, ClientError, ClientOptions, Endpoint, Limits, Secret};
use skillwire_protocol::Era;
use skillwire_testkit::{HostileServer, ListeningServer};

/// A transport and an era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Pipe(Era),
    Http(Era),
}

impl Way {
    const ALL: [Self; 4] = [
        Self::Pipe(Era::Modern),
        Self::Pipe(Era::Legacy),
        Self::Http(Era::Modern),
        Self::Http(Era::Legacy),
    ];

    fn era(self) -> Era {
        match self {
            Self::Pipe(era) | Self::Http(era) => era,
        }
    }

    /// Options that name the era, so that the client need not find it out.
    fn options(self) -> ClientOptions {
        ClientOptions::default().with_era(self.era())
    }
}

/// A client, and the handles that keep its server alive.
struct Connected {
    client: Client,
    _listening: Option<ListeningServer>,
}

async fn try_connect(
    server: &HostileServer,
    way: Way,
    options: ClientOptions,
) -> Result<Connected, ClientError> {
    let (endpoint, listening) = match way {
        Way::Pipe(_) => (over_pipes(server), None),
        Way::Http(_) => {
            let listening = server.http().await;
            (at(listening.url(), &[]), Some(listening))
        }
    };
    let client = Client::connect(endpoint, options).await?;
    Ok(Connected { client, _listening: listening })
}

async fn connect(server: &HostileServer, way: Way) -> Connected {
    try_connect(server, way, way.options()).await.expect("the server can be spoken to")
}

fn over_pipes(server: &HostileServer) -> Endpoint {
    let (input, output) = server.pipes();
    Endpoint::Pipes { input: Box::new(input), output: Box::new(output) }
}

fn at(url: String, headers: &[(&str, &str)]) -> Endpoint {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value)));
    Endpoint::Http { url, headers: headers.collect() }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

impl Connected {
    async fn ask(&self, method: &str, params: Value) -> Result<Value, ClientError> {
        self.ask_within(method, params, Limits::default()).await
    }

    async fn ask_within(
        &self,
        method: &str,
        params: Value,
        limits: Limits,
    ) -> Result<Value, ClientError> {
        let answer = self.client.request(method, object(params), limits).await?;
        Ok(serde_json::from_str(answer.text()).expect("a result is JSON"))
    }
}

/// Limits of this many bytes, and of a time that a test never reaches.
fn bytes(bytes: usize) -> Limits {
    Limits::default().with_bytes(bytes)
}

/// Limits of this much time.
fn within(millis: u64) -> Limits {
    Limits::default().with_timeout(Duration::from_millis(millis))
}
