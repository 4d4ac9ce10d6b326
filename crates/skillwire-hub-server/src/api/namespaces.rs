//! Namespaces, and who may do what in them.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use http::StatusCode;
use skillwire_hub::{Namespace, NamespaceName, ReviewPolicy, Role, Subject};
use skillwire_hub_store::NamespaceChange;

use super::{
    ApiState, GrantInfo, NamespaceInfo, NamespaceSettings, NewNamespace, Page, Problem,
    ProblemKind,
    extract::{JsonBody, Paging, Parameters, Segments, Sender, Trial, json, page_of},
    malformed,
};

fn info(namespace: &Namespace) -> NamespaceInfo {
    let grants = namespace.grants.iter().flat_map(|(subject, roles)| {
        let grant =
            |role: &Role| GrantInfo { subject: subject.to_string(), role: role.to_string() };
        roles.iter().map(grant).collect::<Vec<_>>()
    });
    NamespaceInfo {
        name: namespace.name.to_string(),
        protected: namespace.protected,
        review: namespace.review == ReviewPolicy::Required,
        skills: namespace.usage.skills,
        bytes: namespace.usage.bytes,
        max_skills: namespace.quotas.skills,
        max_versions: namespace.quotas.versions_per_skill,
        max_bytes: namespace.quotas.bytes,
        grants: grants.collect(),
    }
}

fn parse(name: &str) -> Result<NamespaceName, Problem> {
    NamespaceName::parse(name).map_err(|error| malformed(&error))
}

/// Lists the namespaces that the caller may read.
#[utoipa::path(get, operation_id = "listNamespaces",
    path = "/api/v1/namespaces", tag = "namespaces", params(Paging), responses(
    (status = 200, body = Page<NamespaceInfo>),
))]
pub(crate) async fn list(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Parameters(paging): Parameters<Paging>,
) -> Result<Response, Problem> {
    let page = state.store.namespaces(&sender.caller, &paging.request()?).await?;
    Ok(json(&page_of(page, |namespace| info(&namespace))))
}

/// Returns one namespace.
#[utoipa::path(get, operation_id = "showNamespace",
    path = "/api/v1/namespaces/{namespace}", tag = "namespaces",
    params(("namespace" = String, Path)), responses(
    (status = 200, body = NamespaceInfo),
    (status = 404, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn show(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(name): Segments<String>,
) -> Result<Response, Problem> {
    let namespace = state.store.namespace(&sender.caller, &parse(&name)?).await?;
    Ok(json(&info(&namespace)))
}

/// Makes a namespace; its maker owns it.
#[utoipa::path(post, operation_id = "createNamespace",
    path = "/api/v1/namespaces", tag = "namespaces", params(Trial),
    request_body = NewNamespace, responses(
    (status = 201, body = NamespaceInfo),
    (status = 200, body = NamespaceInfo),
    (status = 409, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn create(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Parameters(trial): Parameters<Trial>,
    JsonBody(new): JsonBody<NewNamespace>,
) -> Result<Response, Problem> {
    let caller = &sender.caller;
    let name = parse(&new.name)?;
    let review = if new.review { ReviewPolicy::Required } else { ReviewPolicy::None };
    let wanted = skillwire_hub_store::NewNamespace::new(name.clone(), caller.subject.clone())
        .with_protected(new.protected)
        .with_review(review);
    let mut namespace = state.writer(trial.dry_run).create_namespace(caller, wanted).await?;
    if trial.dry_run {
        // Nothing is there that the role could be given in.
        if new.public {
            namespace.grant(Subject::everyone(), Role::Reader);
        }
        return Ok(json(&info(&namespace)));
    }
    if new.public {
        namespace = state.store.grant(caller, &name, &Subject::everyone(), Role::Reader).await?;
    }
    state.settle().await;
    let mut response = json(&info(&namespace));
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Changes the rules and limits of a namespace.
#[utoipa::path(patch, operation_id = "changeNamespace",
    path = "/api/v1/namespaces/{namespace}", tag = "namespaces",
    params(("namespace" = String, Path), Trial), request_body = NamespaceSettings, responses(
    (status = 200, body = NamespaceInfo),
    (status = 403, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn change(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(name): Segments<String>,
    Parameters(trial): Parameters<Trial>,
    JsonBody(new): JsonBody<NamespaceSettings>,
) -> Result<Response, Problem> {
    let (caller, name) = (&sender.caller, parse(&name)?);
    let mut quotas = state.store.namespace(caller, &name).await?.quotas;
    let before = quotas;
    quotas.skills = new.max_skills.unwrap_or(quotas.skills);
    quotas.versions_per_skill = new.max_versions.unwrap_or(quotas.versions_per_skill);
    quotas.bytes = new.max_bytes.unwrap_or(quotas.bytes);
    let review = |review| if review { ReviewPolicy::Required } else { ReviewPolicy::None };
    let change = NamespaceChange {
        protected: new.protected,
        review: new.review.map(review),
        quotas: (quotas != before).then_some(quotas),
    };
    let namespace = state.writer(trial.dry_run).change_namespace(caller, &name, change).await?;
    if !trial.dry_run {
        state.settle().await;
    }
    Ok(json(&info(&namespace)))
}

fn parse_grant(grant: &GrantInfo) -> Result<(Subject, Role), Problem> {
    let subject = Subject::parse(&grant.subject).map_err(|error| malformed(&error))?;
    let role = grant.role.parse().map_err(|()| {
        let detail = "A role is one of `reader`, `publisher`, `reviewer` and `owner`.";
        ProblemKind::Malformed.because(detail)
    })?;
    Ok((subject, role))
}

/// Gives a subject a role.
#[utoipa::path(put, operation_id = "grantRole",
    path = "/api/v1/namespaces/{namespace}/grants", tag = "namespaces",
    params(("namespace" = String, Path), Trial), request_body = GrantInfo, responses(
    (status = 200, body = NamespaceInfo),
))]
pub(crate) async fn grant(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(name): Segments<String>,
    Parameters(trial): Parameters<Trial>,
    JsonBody(grant): JsonBody<GrantInfo>,
) -> Result<Response, Problem> {
    let (subject, role) = parse_grant(&grant)?;
    let store = state.writer(trial.dry_run);
    let namespace = store.grant(&sender.caller, &parse(&name)?, &subject, role).await?;
    if !trial.dry_run {
        state.settle().await;
    }
    Ok(json(&info(&namespace)))
}

/// Takes a role away.
#[utoipa::path(delete, operation_id = "withdrawRole",
    path = "/api/v1/namespaces/{namespace}/grants", tag = "namespaces",
    params(("namespace" = String, Path), Trial), request_body = GrantInfo, responses(
    (status = 200, body = NamespaceInfo),
))]
pub(crate) async fn withdraw(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(name): Segments<String>,
    Parameters(trial): Parameters<Trial>,
    JsonBody(grant): JsonBody<GrantInfo>,
) -> Result<Response, Problem> {
    let (subject, role) = parse_grant(&grant)?;
    let store = state.writer(trial.dry_run);
    let namespace = store.withdraw_grant(&sender.caller, &parse(&name)?, &subject, role).await?;
    if !trial.dry_run {
        state.settle().await;
    }
    Ok(json(&info(&namespace)))
}
