//! Trusted publishers: workflows of CI that publish with the token of their identity provider.

use std::{collections::BTreeMap, sync::Arc};

use axum::{extract::State, response::Response};
use http::StatusCode;
use skillwire_hub::{ClaimPattern, NamespaceName, Subject, TrustedPublisher};

use super::{
    ApiState, NewPublisher, Page, Problem, PublisherInfo,
    extract::{JsonBody, Paging, Parameters, Segments, Sender, Trial, json, page_of},
    malformed,
};

fn info(publisher: &TrustedPublisher) -> PublisherInfo {
    let claims = publisher.claims.iter();
    PublisherInfo {
        id: publisher.id,
        namespace: publisher.namespace.to_string(),
        issuer: publisher.issuer.clone(),
        claims: claims.map(|(name, pattern)| (name.clone(), pattern.0.clone())).collect(),
        subject: publisher.subject.to_string(),
    }
}

fn parse(name: &str) -> Result<NamespaceName, Problem> {
    NamespaceName::parse(name).map_err(|error| malformed(&error))
}

/// Lists the trusted publishers of a namespace.
#[utoipa::path(get, operation_id = "listPublishers",
    path = "/api/v1/namespaces/{namespace}/publishers", tag = "publishers",
    params(("namespace" = String, Path), Paging), responses(
    (status = 200, body = Page<PublisherInfo>),
))]
pub(crate) async fn list(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(namespace): Segments<String>,
    Parameters(paging): Parameters<Paging>,
) -> Result<Response, Problem> {
    let (caller, namespace, request) = (&sender.caller, parse(&namespace)?, paging.request()?);
    let page = state.store.trusted_publishers(caller, &namespace, &request).await?;
    Ok(json(&page_of(page, |publisher| info(&publisher))))
}

/// Lets workflows publish into a namespace.
#[utoipa::path(post, operation_id = "trustPublisher",
    path = "/api/v1/namespaces/{namespace}/publishers", tag = "publishers",
    params(("namespace" = String, Path), Trial), request_body = NewPublisher, responses(
    (status = 201, body = PublisherInfo),
    (status = 200, body = PublisherInfo),
))]
pub(crate) async fn trust(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(namespace): Segments<String>,
    Parameters(trial): Parameters<Trial>,
    JsonBody(new): JsonBody<NewPublisher>,
) -> Result<Response, Problem> {
    let claims: BTreeMap<_, _> =
        new.claims.into_iter().map(|(name, value)| (name, ClaimPattern(value))).collect();
    let publisher = TrustedPublisher {
        id: 0,
        namespace: parse(&namespace)?,
        issuer: new.issuer,
        claims,
        subject: Subject::parse(&new.subject).map_err(|error| malformed(&error))?,
    };
    state.authenticator.check_issuer(&publisher.issuer)?;
    let store = state.writer(trial.dry_run);
    let publisher = store.trust_publisher(&sender.caller, publisher).await?;
    let mut response = json(&info(&publisher));
    if !trial.dry_run {
        *response.status_mut() = StatusCode::CREATED;
    }
    Ok(response)
}

/// Stops to trust a publisher.
#[utoipa::path(delete, operation_id = "distrustPublisher",
    path = "/api/v1/namespaces/{namespace}/publishers/{id}", tag = "publishers",
    params(("namespace" = String, Path), ("id" = u64, Path), Trial), responses((status = 204)))]
pub(crate) async fn distrust(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments((_, id)): Segments<(String, u64)>,
    Parameters(trial): Parameters<Trial>,
) -> Result<Response, Problem> {
    state.writer(trial.dry_run).distrust_publisher(&sender.caller, id).await?;
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}
