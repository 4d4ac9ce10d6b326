//! The API of a hub, over HTTP or in this process: every command uses it in the same way.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use serde::{Serialize, de::DeserializeOwned};
use skillwire_client::{Limits, RestClient, ServerUrl};
use skillwire_hub_server::{
    LocalApi,
    api::{Compared, Page, Problem},
};
use skillwire_hub_store::{HubStore, StoreError, StoreOptions};
use tokio::sync::watch;

use super::{hints, login, scanned::Inspection};
use crate::{
    args::HubTarget,
    commands::Outcome,
    exit::Exit,
    failure::Failure,
    report, session,
    settings::{
        HubSigners,
        hub::{HUB_FILE, HubFile},
    },
};

/// The most bytes of an answer.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// How long a hub may take to answer; an upload takes part of it.
const PATIENCE: std::time::Duration = std::time::Duration::from_mins(3);

/// A hub that commands talk to.
#[derive(Debug)]
pub(super) struct HubClient {
    api: Api,
    /// How the user named it.
    place: String,
}

#[derive(Debug)]
enum Api {
    Remote(Box<RestClient>),
    Local {
        api: LocalApi,
        file: Box<HubFile>,
        /// The signers that uploads are checked with.
        signers: watch::Sender<HubSigners>,
    },
}

/// An answer, as it came and as it is understood.
#[derive(Debug)]
pub(super) struct Answer<T> {
    pub(super) value: T,
    pub(super) json: serde_json::Value,
}

impl HubClient {
    /// Opens the hub that the user named, or the one that the user logged in to.
    pub(super) async fn open(target: &HubTarget) -> Result<Self, Failure> {
        match &target.hub {
            Some(place) if is_url(place) => {
                let login = login::find(Some(place))?;
                Self::remote(place, login.map(|login| login.access_token).as_ref())
            }
            Some(folder) => Self::local(folder).await,
            None => {
                let login = login::find(None)?.ok_or_else(|| {
                    Failure::usage("No hub was named, and you are logged in to none.").hint(
                        "Name one with `--hub URL` or `--hub DIR`, or log in with `skillwire login URL`.",
                    )
                })?;
                let url = login.server.reveal().to_owned();
                Self::remote(&url, Some(&login.access_token))
            }
        }
    }

    /// A hub at a URL.
    pub(super) fn remote(
        url: &str,
        token: Option<&skillwire_client::Secret>,
    ) -> Result<Self, Failure> {
        let bad = |error: skillwire_client::InvalidServer| {
            Failure::usage(format!("`{url}` is not the address of a hub: {error}."))
                .hint("Write it like `https://hub.example.com`.")
        };
        let parsed = ServerUrl::parse(url).map_err(bad)?;
        let limits = Limits::default().with_bytes(MAX_ANSWER_BYTES).with_timeout(PATIENCE);
        let client = RestClient::new(&parsed, token, limits).map_err(bad)?;
        Ok(Self { api: Api::Remote(Box::new(client)), place: url.to_owned() })
    }

    /// A hub in a folder of this machine; the user acts as its operator.
    async fn local(folder: &str) -> Result<Self, Failure> {
        let file = HubFile::read(folder.as_ref())?;
        let store = open_store(&file).await?;
        // Only uploads need the signers, which are read then: other commands work without.
        let (signers, receiver) = watch::channel(HubSigners::default());
        let inspector = Arc::new(Inspection { signers: receiver });
        let api = LocalApi::inspecting(store, file.identity(), inspector);
        let file = Box::new(file);
        Ok(Self { api: Api::Local { api, file, signers }, place: folder.to_owned() })
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Asks for something.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Answer<T>, Failure> {
        self.send(Method::GET, path, &[], Bytes::new()).await
    }

    /// Sends a document.
    pub(super) async fn send_json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Answer<T>, Failure> {
        let body = serde_json::to_vec(body).map_err(|error| {
            Failure::new(Exit::Internal, "A request could not be written.").because(error)
        })?;
        let json = (http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.send(method, path, &[json], body.into()).await
    }

    /// Reads all pages of a list, up to a number of elements.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        most: usize,
    ) -> Result<Vec<T>, Failure> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let joint = if path.contains('?') { '&' } else { '?' };
            let limit = (most - items.len()).min(1_000);
            let after = cursor.as_deref().map(|c| format!("&cursor={c}")).unwrap_or_default();
            let page: Page<T> =
                self.get(&format!("{path}{joint}limit={limit}{after}")).await?.value;
            items.extend(page.items);
            match page.next {
                Some(next) if items.len() < most => cursor = Some(next),
                _ => return Ok(items),
            }
        }
    }

    /// Sends the archive of a skill, which a hub in a folder checks with its signers.
    pub(super) async fn upload<T: DeserializeOwned>(
        &self,
        path: &str,
        headers: &[(HeaderName, HeaderValue)],
        archive: Bytes,
    ) -> Result<Answer<T>, Failure> {
        if let Api::Local { file, signers, .. } = &self.api {
            // Without a signer, the version would be stored as not signed by it, for good.
            let read = file.signers().map_err(|failure| {
                failure.hint(format!(
                    "Correct or remove the signer in `[signers]` of `{}/{HUB_FILE}`, then publish again. \
                     Nothing was published.",
                    file.folder().display()
                ))
            })?;
            signers.send_replace(read);
        }
        self.send(Method::POST, path, headers, archive).await
    }

    /// Sends one request; a refusal of the hub becomes a failure.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, HeaderValue)],
        body: Bytes,
    ) -> Result<Answer<T>, Failure> {
        let address = format!("/api/v1{path}");
        let (status, body) = match &self.api {
            Api::Remote(client) => {
                let answer =
                    client.send(method, &address, headers, body).await.map_err(|error| {
                        let message = format!("The hub at {} cannot be reached.", self.place);
                        Failure::new(Exit::Unreachable, message).because(error).hint(
                        "Start it with `skillwire hub serve DIR`, or name another with `--hub`.",
                    )
                    })?;
                (answer.status(), answer.into_body())
            }
            Api::Local { api, .. } => {
                let mut request = Request::new(body);
                *request.method_mut() = method;
                *request.uri_mut() = address.parse().map_err(|error| {
                    Failure::usage("The name holds a character that no name has.").because(error)
                })?;
                for (name, value) in headers {
                    request.headers_mut().insert(name, value.clone());
                }
                let answer = api.call(request).await;
                (answer.status(), answer.into_body())
            }
        };
        if !status.is_success() {
            return Err(self.refused(status, &body, path));
        }
        let body: &[u8] = if body.is_empty() { b"null" } else { &body };
        let strange = |error: serde_json::Error| {
            let message = format!("{} did not answer as a hub does.", self.place);
            Failure::new(Exit::Unreachable, message).because(error)
        };
        let json: serde_json::Value = serde_json::from_slice(body).map_err(strange)?;
        let value = serde_json::from_value(json.clone()).map_err(strange)?;
        Ok(Answer { value, json })
    }

    fn refused(&self, status: StatusCode, body: &[u8], path: &str) -> Failure {
        let Ok(problem) = serde_json::from_slice::<Problem>(body) else {
            let message = format!("{} answered with HTTP status {status}.", self.place);
            return Failure::new(Exit::Unreachable, message);
        };
        let exit = match status {
            StatusCode::NOT_FOUND => Exit::NotFound,
            StatusCode::UNPROCESSABLE_ENTITY => Exit::Verification,
            StatusCode::SERVICE_UNAVAILABLE => Exit::Unreachable,
            StatusCode::INTERNAL_SERVER_ERROR => Exit::Internal,
            StatusCode::BAD_REQUEST => Exit::Usage,
            _ => Exit::Declined,
        };
        let compared = problem.compared.as_deref().map(|Compared { expected, actual }| {
            format!(" Expected {}, got {}.", report::printable(expected), report::printable(actual))
        });
        let detail = report::printable(&problem.detail);
        let failure = Failure::new(exit, detail + &compared.unwrap_or_default());
        match (status, &self.api) {
            (StatusCode::UNAUTHORIZED, Api::Remote(_)) => {
                failure.hint(format!("`skillwire login {}` keeps a token for it.", self.place))
            }
            _ => match hints::about(problem.code(), exit, path) {
                Some(hint) => failure.hint(hint),
                None => failure,
            },
        }
    }
}

/// Opens the store of a hub, which must exist.
pub(super) async fn open_store(file: &HubFile) -> Result<HubStore, Failure> {
    open_existing(file.store()?, file).await
}

/// The same with these options. A mistyped `database.url` must not become a new, empty hub.
pub(super) async fn open_existing(
    options: StoreOptions,
    file: &HubFile,
) -> Result<HubStore, Failure> {
    HubStore::open(options.with_create(false)).await.map_err(|error| {
        let missing = matches!(error, StoreError::NoDatabase { .. });
        let failure = store_failure(error);
        if !missing {
            return failure;
        }
        let folder = file.folder().display();
        failure.hint(format!(
            "Correct `url` in `[database]` of `{folder}/{HUB_FILE}`. For a new hub, \
             `skillwire hub init {folder}` makes it."
        ))
    })
}

/// Turns an error of the store into a failure.
pub(super) fn store_failure(error: StoreError) -> Failure {
    let exit = match &error {
        error if error.is_unavailable() => Exit::Unreachable,
        StoreError::NoDatabase { .. } | StoreError::BadLocation { .. } => Exit::Usage,
        _ => Exit::Declined,
    };
    let hint = hints::about_store(&error);
    let failure = Failure::caused(exit, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

pub(super) fn is_url(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// Runs a command that talks to a hub.
pub(super) fn with_hub(
    target: &HubTarget,
    work: impl AsyncFnOnce(&HubClient) -> Outcome,
) -> Outcome {
    session::run(target.json, async || {
        let hub = HubClient::open(target).await?;
        work(&hub).await
    })
}
