//! The loopback address that the browser returns to after a login.

use std::{convert::Infallible, net::Ipv4Addr, time::Duration};

use bytes::Bytes;
use fluent_uri::Uri;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinSet,
};

use super::LoginProblem;

/// The most connections at once; browsers open some ahead of need.
const MAX_CONNECTIONS: usize = 16;

/// How long one connection may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest head of a request.
const MAX_HEAD_BYTES: usize = 16 * 1024;

const PATH: &str = "/callback";

/// The parameters that a browser brought back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RedirectAnswer {
    pub(super) code: String,
    /// The issuer that the authorization server names in its answer, if it does.
    pub(super) issuer: Option<String>,
}

/// A listening port on the loopback interface.
pub(super) struct RedirectListener {
    listener: TcpListener,
    uri: String,
}

impl RedirectListener {
    /// Binds a free port.
    pub(super) async fn open() -> Result<Self, LoginProblem> {
        let cannot = |error| LoginProblem::new(format!("no port can be opened here: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(cannot)?;
        let port = listener.local_addr().map_err(cannot)?.port();
        Ok(Self { listener, uri: format!("http://127.0.0.1:{port}{PATH}") })
    }

    /// Returns the redirect URI for the browser.
    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// Waits for the request that carries this state; any other request learns nothing and changes
    /// nothing.
    pub(super) async fn wait(&self, state: &str) -> Result<RedirectAnswer, LoginProblem> {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    if let Ok((stream, _)) = accepted {
                        connections.spawn(serve(stream, state.to_owned()));
                    }
                }
                Some(served) = connections.join_next() => {
                    if let Ok(Some(outcome)) = served {
                        return outcome;
                    }
                }
            }
        }
    }
}

/// Answers one request; returns its outcome once the browser has the answer.
async fn serve(stream: TcpStream, state: String) -> Option<Result<RedirectAnswer, LoginProblem>> {
    let (sender, mut receiver) = oneshot::channel();
    let sender = parking_lot::Mutex::new(Some(sender));
    let service = service_fn(|request: Request<Incoming>| {
        let outcome = outcome(&request, &state);
        let page = page(outcome.as_ref());
        let mut sender = sender.lock();
        if let (Some(outcome), Some(sender)) = (outcome, sender.take()) {
            // The receiver lives as long as this function, so this cannot fail.
            let _ = sender.send(outcome);
        }
        std::future::ready(Ok::<_, Infallible>(page))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(MAX_HEAD_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // If the browser went away, its parameters have arrived all the same.
    let _ = tokio::time::timeout(PATIENCE, connection).await;
    receiver.try_recv().ok()
}

/// Reads the parameters of a request; returns `None` if it is not the expected redirect.
fn outcome(
    request: &Request<Incoming>,
    state: &str,
) -> Option<Result<RedirectAnswer, LoginProblem>> {
    if request.method() != Method::GET || request.uri().path() != PATH {
        return None;
    }
    brought(request.uri().query()?, state)
}

fn brought(query: &str, state: &str) -> Option<Result<RedirectAnswer, LoginProblem>> {
    let url = format!("http://127.0.0.1{PATH}?{query}");
    if parameter(&url, "state")? != state {
        return None;
    }
    if let Some(error) = parameter(&url, "error") {
        let plain = error.len() <= 40 && error.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        let name = if plain { format!(": `{error}`") } else { String::new() };
        return Some(Err(LoginProblem::new(format!("the authorization server refused{name}"))));
    }
    let issuer = parameter(&url, "iss");
    parameter(&url, "code").map(|code| Ok(RedirectAnswer { code, issuer }))
}

/// Returns the value of a parameter if the query contains it exactly once.
pub(super) fn parameter(url: &str, name: &str) -> Option<String> {
    let uri = Uri::parse(url).ok()?;
    let pairs = uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    let mut values = pairs.filter(|(key, _)| key.as_str() == name);
    let (_, value) = values.next()?;
    if values.next().is_some() {
        return None;
    }
    value.decode().to_string().ok().map(std::borrow::Cow::into_owned)
}

fn page(outcome: Option<&Result<RedirectAnswer, LoginProblem>>) -> Response<Full<Bytes>> {
    let (status, text) = match outcome {
        Some(Ok(_)) => (StatusCode::OK, "You can close this window and go back to the terminal.\n"),
        Some(Err(_)) => (StatusCode::OK, "The login was refused; the terminal says more.\n"),
        None => (StatusCode::BAD_REQUEST, "No login waits for this answer.\n"),
    };
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_browser_with_the_state_is_heard() {
        let answer = |code: &str, issuer: Option<&str>| {
            Some(Ok(RedirectAnswer { code: code.to_owned(), issuer: issuer.map(str::to_owned) }))
        };
        assert_eq!(brought("code=c%2B1&state=s", "s"), answer("c+1", None));
        assert_eq!(
            brought("state=s&code=c&iss=https%3A%2F%2Fid", "s"),
            answer("c", Some("https://id"))
        );
        for other in ["code=c", "code=c&state=t", "code=c&state=s&state=t", "state=s", "", "%"] {
            assert_eq!(brought(other, "s"), None, "{other}");
        }
        assert_eq!(brought("code=c&code=d&state=s", "s"), None);
    }

    #[test]
    fn a_refusal_counts_only_with_the_state_and_is_repeated_only_as_a_name() {
        assert_eq!(brought("error=access_denied&state=t", "s"), None);
        let refused = |query| brought(query, "s").unwrap().unwrap_err().clause;
        assert!(refused("error=access_denied&state=s").ends_with(": `access_denied`"));
        assert!(refused("error=%1b%5B2J&state=s").ends_with("refused"));
    }
}
