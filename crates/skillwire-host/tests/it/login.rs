//! Logging in to a server that requires it, with a real authorization server on loopback.

use std::{path::Path, sync::Arc, time::Duration};

use skillwire_client::{
    ClientOptions, Endpoint, Login, ServerUrl,
    oauth::{self, StoredLogin},
};
use skillwire_host::Host;
use skillwire_state::Logins;
use skillwire_testkit::{HostileServer, LoginFault, LoginServer};
use skillwire_trust::{Reason, Refusal, Remedy};

use crate::support::label;

const PATIENCE: Duration = Duration::from_secs(20);

async fn guarded(troubles: &[LoginFault]) -> LoginServer {
    let server = HostileServer::new().skill("refunds", [("references/x.md", "Details.")]);
    LoginServer::in_front_of(&server, troubles).await
}

async fn log_in(server: &LoginServer) -> Result<Login, Refusal> {
    let url = ServerUrl::parse(&server.url()).unwrap();
    let pending = oauth::begin(&label("acme"), &url, None, &ClientOptions::default()).await?;
    let address = pending.url().to_owned();
    let (login, _) = tokio::join!(pending.finish(PATIENCE), server.browse(&address));
    login
}

/// A host with a login to the server.
fn host(server: &LoginServer, logins: &Logins) -> Host {
    let url = ServerUrl::parse(&server.url()).unwrap();
    let found =
        StoredLogin::find(Arc::new(logins.clone()), &label("acme"), &url, ClientOptions::default())
            .unwrap();
    let endpoint = match found {
        None => Endpoint::Http { url: server.url(), headers: Vec::new() },
        Some(login) => {
            Endpoint::LoggedIn { url: server.url(), headers: Vec::new(), bearer: Arc::new(login) }
        }
    };
    let host = Host::builder().build();
    host.add_server(label("acme"), endpoint);
    host
}

async fn listed(host: &Host) -> Result<usize, Refusal> {
    host.list(&label("acme")).await.map(|listing| listing.skills.len())
}

fn kept(folder: &Path, login: &Login) -> Logins {
    let logins = Logins::new(folder.join("logins"));
    logins.save(&label("acme"), login).unwrap();
    logins
}

#[tokio::test]
async fn a_login_is_discovered_registered_and_used_for_its_server() {
    let server = guarded(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let logins = Logins::new(folder.path().join("logins"));
    let refusal = listed(&host(&server, &logins)).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::LoginRequired);
    assert_eq!(refusal.remedy.as_deref(), Some(&Remedy::LogIn(label("acme"))));

    let login = log_in(&server).await.unwrap();
    assert_eq!(login.client_id, "client-1");
    assert_eq!(login.scopes, ["skills"]);
    assert!(format!("{}/mcp", login.issuer) == server.url(), "{}", login.issuer);
    assert!(!format!("{login:?}").contains("hush"));
    let asked = &server.requests_to("/authorize")[0].parameters;
    assert_eq!(asked["resource"], server.url());
    assert_eq!(asked["scope"], "skills");

    let host = host(&server, &kept(folder.path(), &login));
    assert_eq!(listed(&host).await, Ok(1));
    // The host sends the token to the server and to no other address.
    let bearer = |came: &skillwire_testkit::LoginRequest| came.authorization.is_some();
    assert!(server.requests().iter().filter(|came| bearer(came)).all(|came| came.path == "/mcp"));
}

#[tokio::test]
async fn a_token_that_ends_is_renewed_before_it_is_sent_and_kept() {
    let server = guarded(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    server.set_token_lifetime(5);
    let login = log_in(&server).await.unwrap();
    server.set_token_lifetime(3600);
    let logins = kept(folder.path(), &login);
    assert_eq!(listed(&host(&server, &logins)).await, Ok(1));
    let renewals = server.requests_to("/token");
    assert_eq!(renewals.len(), 2);
    assert_eq!(renewals[1].parameters["grant_type"], "refresh_token");
    assert_eq!(renewals[1].parameters["resource"], server.url());
    let renewed = logins.load(&label("acme")).unwrap().unwrap();
    assert_ne!(renewed.access_token, login.access_token);
    assert_ne!(renewed.refresh_token, login.refresh_token);
    // The next process finds the login and sends no login request.
    assert_eq!(listed(&host(&server, &logins)).await, Ok(1));
    assert_eq!(server.requests_to("/token").len(), 2);
}

#[tokio::test]
async fn a_token_that_is_refused_is_renewed_once_for_everybody_who_waits() {
    let server = guarded(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let login = log_in(&server).await.unwrap();
    let logins = kept(folder.path(), &login);
    let (one, two) = (host(&server, &logins), host(&server, &logins));
    assert_eq!(listed(&one).await, Ok(1));
    server.revoke_tokens();
    // Two processes hold the same refresh token, which works once.
    let (first, second) = tokio::join!(listed(&two), async {
        one.add_server(label("acme"), logged_in(&server, &logins));
        listed(&one).await
    });
    assert_eq!((first, second), (Ok(1), Ok(1)));
    assert_eq!(server.requests_to("/token").len(), 2);
}

fn logged_in(server: &LoginServer, logins: &Logins) -> Endpoint {
    let url = ServerUrl::parse(&server.url()).unwrap();
    let found =
        StoredLogin::find(Arc::new(logins.clone()), &label("acme"), &url, ClientOptions::default());
    let bearer = Arc::new(found.unwrap().unwrap());
    Endpoint::LoggedIn { url: server.url(), headers: Vec::new(), bearer }
}

#[tokio::test]
async fn a_login_that_has_ended_says_what_to_run() {
    let server = guarded(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let login = log_in(&server).await.unwrap();
    let logins = kept(folder.path(), &login);
    server.revoke_tokens();
    server.set_fault(LoginFault::NoRefresh);
    let refusal = listed(&host(&server, &logins)).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::LoginRequired);
    let actual = refusal.actual.as_deref().unwrap();
    assert!(actual.contains("the login has ended: `invalid_grant`"), "{actual}");
    assert!(!format!("{refusal:?}").contains("hush"), "{refusal:?}");
    assert_eq!(refusal.remedy.as_deref(), Some(&Remedy::LogIn(label("acme"))));
}

#[tokio::test]
async fn a_new_token_that_is_refused_is_not_asked_for_again_and_again() {
    let server = guarded(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let logins = kept(folder.path(), &log_in(&server).await.unwrap());
    server.set_fault(LoginFault::RefusesEveryToken);
    let refusal = listed(&host(&server, &logins)).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::LoginRequired);
    assert_eq!(server.requests_to("/token").len(), 2);
}

#[tokio::test]
async fn what_is_not_about_this_server_is_refused_before_anybody_logs_in() {
    for (trouble, said) in [
        (LoginFault::OtherIssuer, "issuer mismatch"),
        (LoginFault::OtherResource, "resource mismatch"),
        (LoginFault::TokensInTheClear, "neither `https` nor on the server's own machine"),
        (LoginFault::NoRegistration, "could not be registered"),
        (LoginFault::NoMetadata, "does not say where its users log in"),
    ] {
        let server = guarded(&[trouble]).await;
        let refusal = log_in(&server).await.unwrap_err();
        assert_eq!(refusal.reason, Reason::LoginFailed, "{trouble:?}");
        let actual = refusal.actual.as_deref().unwrap();
        assert!(actual.contains(said), "{trouble:?}: {actual}");
        assert!(server.requests_to("/authorize").is_empty(), "{trouble:?}");
        assert!(server.requests_to("/token").is_empty(), "{trouble:?}");
    }
}

#[tokio::test]
async fn a_login_that_goes_wrong_gives_no_token() {
    for (trouble, said) in [
        (LoginFault::Declined, "refused: `access_denied`"),
        (LoginFault::OtherIssuerInAnswer, "issuer mismatch"),
        (LoginFault::OtherTokenType, "no bearer token"),
    ] {
        let server = guarded(&[trouble]).await;
        let refusal = log_in(&server).await.unwrap_err();
        assert_eq!(refusal.reason, Reason::LoginFailed, "{trouble:?}");
        let actual = refusal.actual.as_deref().unwrap();
        assert!(actual.contains(said), "{trouble:?}: {actual}");
        assert!(!format!("{refusal:?}").contains("hush"), "{trouble:?}: {refusal:?}");
    }
}

#[tokio::test]
async fn tokens_are_never_sent_to_an_issuer_that_did_not_give_them() {
    let server = guarded(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let login = log_in(&server).await.unwrap();
    let other = Login { issuer: "https://id.example.com".to_owned(), ..login };
    let logins = kept(folder.path(), &other);
    server.revoke_tokens();
    let refusal = listed(&host(&server, &logins)).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::LoginRequired);
    assert!(refusal.actual.unwrap().contains("another authorization server"));
    assert_eq!(server.requests_to("/token").len(), 1);
}

#[tokio::test]
async fn a_login_is_of_no_use_to_a_server_at_another_address() {
    let server = guarded(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let login = log_in(&server).await.unwrap();
    let logins = kept(folder.path(), &login);
    let moved = guarded(&[]).await;
    let refusal = listed(&host(&moved, &logins)).await.unwrap_err();
    assert_eq!(refusal.reason, Reason::LoginRequired);
    assert!(moved.requests().iter().all(|came| came.authorization.is_none()));
}

#[tokio::test]
async fn a_secret_that_a_client_was_given_is_used_to_renew_its_tokens() {
    let (server, folder) =
        (guarded(&[LoginFault::ClientSecret]).await, tempfile::tempdir().unwrap());
    let login = log_in(&server).await.unwrap();
    let logins = kept(folder.path(), &login);
    server.revoke_tokens();
    assert_eq!(listed(&host(&server, &logins)).await, Ok(1));
    let renewal = &server.requests_to("/token")[1];
    assert!(renewal.authorization.as_deref().is_some_and(|text| text.starts_with("Basic ")));
}

#[tokio::test]
async fn a_token_is_not_sent_in_the_clear_to_another_machine() {
    let server = guarded(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let logins = kept(folder.path(), &log_in(&server).await.unwrap());
    let Endpoint::LoggedIn { bearer, headers, .. } = logged_in(&server, &logins) else {
        panic!("a login was found");
    };
    let url = "http://skills.example.com/mcp".to_owned();
    let host = Host::builder().build();
    host.add_server(label("acme"), Endpoint::LoggedIn { url, headers, bearer });
    let refusal = listed(&host).await.unwrap_err();
    assert_eq!(refusal.actual.as_deref(), Some("a token is sent to `https` URLs only"));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_user_for_ever() {
    let server = guarded(&[]).await;
    let url = ServerUrl::parse(&server.url()).unwrap();
    let pending = oauth::begin(&label("acme"), &url, None, &ClientOptions::default()).await;
    let refusal = pending.unwrap().finish(Duration::from_mins(5)).await.unwrap_err();
    assert!(refusal.actual.unwrap().contains("the user did not log in within 300s"));
}

#[tokio::test]
async fn metadata_without_end_or_from_elsewhere_is_not_taken_sec_16() {
    for trouble in [LoginFault::HugeMetadata, LoginFault::RedirectsMetadata] {
        let server = guarded(&[trouble]).await;
        let refusal = log_in(&server).await.unwrap_err();
        assert_eq!(refusal.reason, Reason::LoginFailed, "{trouble:?}");
        let actual = refusal.actual.as_deref().unwrap();
        assert!(actual.len() < 1_000, "{trouble:?}: {} bytes", actual.len());
        assert!(server.requests_to("/elsewhere").is_empty(), "{trouble:?}");
        assert!(server.requests_to("/register").is_empty(), "{trouble:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_authorization_server_that_never_answers_costs_a_minute_at_most_sec_16() {
    let server = guarded(&[LoginFault::NeverAnswers]).await;
    let url = ServerUrl::parse(&server.url()).unwrap();
    let started = tokio::time::Instant::now();
    let begun = oauth::begin(&label("acme"), &url, None, &ClientOptions::default()).await;
    assert_eq!(begun.unwrap_err().reason, Reason::LoginFailed);
    assert!(started.elapsed() <= Duration::from_mins(1), "{:?}", started.elapsed());
}

#[tokio::test]
async fn tokens_that_always_end_at_once_are_renewed_once_for_each_request_sec_16() {
    let server = guarded(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    server.set_token_lifetime(0);
    let logins = kept(folder.path(), &log_in(&server).await.unwrap());
    let before = server.requests_to("/token").len();
    let _ = listed(&host(&server, &logins)).await;
    let renewals = server.requests_to("/token").len() - before;
    let calls = server.requests_to("/mcp").len();
    assert!(renewals <= calls + 1, "{renewals} renewals for {calls} requests");
}
