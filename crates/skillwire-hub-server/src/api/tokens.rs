//! Static tokens.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use axum::{extract::State, response::Response};
use http::StatusCode;
use skillwire_hub::{NamespaceName, Scope, Subject, TokenRecord};

use super::{
    ApiState, MadeToken, NewToken, Page, Problem, ProblemKind, TokenInfo,
    extract::{JsonBody, Paging, Parameters, Segments, Sender, Trial, json, page_of},
    malformed,
};

fn info(record: &TokenRecord) -> TokenInfo {
    let namespaces = record.namespaces.as_ref();
    TokenInfo {
        id: record.id,
        name: record.name.clone(),
        subject: record.subject.to_string(),
        administrator: record.administrator,
        scopes: record.scopes.iter().map(ToString::to_string).collect(),
        namespaces: namespaces.map(|all| all.iter().map(ToString::to_string).collect()),
        created: record.created_at.to_string(),
        created_by: record.created_by.to_string(),
        expires: record.expires_at.map(|at| at.to_string()),
        revoked: record.revoked_at.map(|at| at.to_string()),
    }
}

/// Lists tokens: all of them for administrators, their own for others.
#[utoipa::path(get, operation_id = "listTokens",
    path = "/api/v1/tokens", tag = "tokens", params(Paging), responses(
    (status = 200, body = Page<TokenInfo>),
))]
pub(crate) async fn list(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Parameters(paging): Parameters<Paging>,
) -> Result<Response, Problem> {
    let page = state.store.tokens(&sender.caller, &paging.request()?).await?;
    Ok(json(&page_of(page, |record| info(&record))))
}

/// Makes a token; its text is in this answer and nowhere else.
#[utoipa::path(post, operation_id = "createToken",
    path = "/api/v1/tokens", tag = "tokens", params(Trial), request_body = NewToken,
    responses(
    (status = 201, body = MadeToken),
    (status = 200, body = MadeToken),
    (status = 403, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn create(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Parameters(trial): Parameters<Trial>,
    JsonBody(new): JsonBody<NewToken>,
) -> Result<Response, Problem> {
    let subject = Subject::parse(&new.subject).map_err(|error| malformed(&error))?;
    let scope = |text: &String| {
        text.parse::<Scope>().map_err(|()| {
            let all = Scope::ALL.map(|known| format!("`{known}`")).join(", ");
            ProblemKind::Malformed.because(format!("A scope is one of {all}."))
        })
    };
    let scopes = if new.scopes.is_empty() {
        let admin = new.administrator;
        Scope::ALL.into_iter().filter(|scope| admin || *scope != Scope::Admin).collect()
    } else {
        new.scopes.iter().map(scope).collect::<Result<Vec<_>, _>>()?
    };
    let namespaces = new.namespaces.iter().map(|name| NamespaceName::parse(name));
    let namespaces: BTreeSet<_> =
        namespaces.collect::<Result<_, _>>().map_err(|error| malformed(&error))?;
    let expires =
        new.days.map(|days| state.store.now().plus(Duration::from_hours(24).saturating_mul(days)));
    let mut wanted = skillwire_hub_store::NewToken::new(new.name, subject)
        .with_namespaces((!namespaces.is_empty()).then_some(namespaces))
        .with_end(expires);
    if new.administrator {
        wanted = wanted.with_administrator();
    }
    let wanted = wanted.with_scopes(scopes);
    let made = state.writer(trial.dry_run).create_token(&sender.caller, wanted).await?;
    let (record, secret) = made;
    if trial.dry_run {
        return Ok(json(&MadeToken { token: None, info: info(&record) }));
    }
    state.settle().await;
    let mut response = json(&MadeToken { token: Some(secret.expose()), info: info(&record) });
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Refuses a token from now on.
#[utoipa::path(delete, operation_id = "revokeToken",
    path = "/api/v1/tokens/{id}", tag = "tokens", params(("id" = u64, Path), Trial),
    responses((status = 200, body = TokenInfo),
    (status = 404, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn revoke(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(id): Segments<u64>,
    Parameters(trial): Parameters<Trial>,
) -> Result<Response, Problem> {
    let record = state.writer(trial.dry_run).revoke_token(&sender.caller, id).await?;
    if !trial.dry_run {
        state.settle().await;
    }
    Ok(json(&info(&record)))
}
