//! Upstreams: other servers, repositories, folders and web sites whose skills the hub passes on.

use std::{collections::BTreeSet, sync::Arc};

use axum::{extract::State, response::Response};
use http::StatusCode;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use skillwire_hub::{NamespaceName, Refusal, RuleOutcome, Upstream, UpstreamMode, UpstreamSource};
use skillwire_hub_store::{OfferRecord, UpstreamChange, UpstreamRecord, try_rules};

use super::{
    ApiState, NewUpstream, Page, Problem, ProblemKind, RuleTrial, UnfetchedInfo, UpstreamChanged,
    UpstreamInfo, UpstreamSettings, UpstreamStatusInfo,
    extract::{JsonBody, Paging, Parameters, Segments, Sender, json},
    malformed,
};
use crate::auth::Authenticated;

/// The most contents that rules are tried on.
const MOST_TRIALS: usize = 1_000;

fn parse_label(label: &str) -> Result<NamespaceName, Problem> {
    NamespaceName::parse(label).map_err(|error| malformed(&error))
}

fn parse_mode(mode: &str) -> Result<UpstreamMode, Problem> {
    mode.parse().map_err(|()| {
        let all = UpstreamMode::ALL.map(|known| format!("`{known}`")).join(", ");
        ProblemKind::Malformed.because(format!("A mode is one of {all}."))
    })
}

/// What a sender is told about an upstream; `reviewed` are the namespaces in which the sender reviews.
fn info(
    state: &ApiState,
    sender: &Authenticated,
    reviewed: &BTreeSet<NamespaceName>,
    record: &UpstreamRecord,
) -> UpstreamInfo {
    let UpstreamRecord { upstream, configured, created_at, created_by, .. } = record;
    let statuses = state.upstreams.as_ref();
    let status = statuses.and_then(|known| known.status(&upstream.label));
    let reviews = reviewed.contains(&upstream.label);
    UpstreamInfo {
        label: upstream.label.to_string(),
        mode: upstream.mode.to_string(),
        kind: upstream.source.kind().to_owned(),
        place: upstream.source.to_string(),
        // Headers, arguments and variables tell more than a reader of skills needs to know.
        source: sender.caller.administrator.then(|| upstream.source.clone()),
        limits: upstream.limits,
        rules: upstream.rules,
        tools: upstream.tools.clone(),
        resources: upstream.resources.clone(),
        configured: *configured,
        created: created_at.to_string(),
        created_by: created_by.to_string(),
        status: status.map(|status| UpstreamStatusInfo {
            health: status.health.as_str().to_owned(),
            listed: status.listed_at.map(|at| at.to_string()),
            skills: status.skills as u64,
            failure: status.failure,
            // What waits, and how much of it, is unknown to everyone else.
            unfetched: if reviews { status.unfetched as u64 } else { 0 },
            unfetched_skills: status
                .unfetched_skills
                .into_iter()
                .filter(|_| reviews)
                .map(|it| UnfetchedInfo { skill: it.skill.to_string(), reason: it.reason })
                .collect(),
        }),
    }
}

/// Lists the upstreams that the caller may read, by label.
#[utoipa::path(get, operation_id = "listUpstreams",
    path = "/api/v1/upstreams", tag = "upstreams", params(Paging), responses(
    (status = 200, body = Page<UpstreamInfo>),
))]
pub(crate) async fn list(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Parameters(paging): Parameters<Paging>,
) -> Result<Response, Problem> {
    let request = paging.request()?;
    let after = request.after.as_ref().map(|cursor| cursor.key("upstreams", 1)).transpose();
    let after = after.map_err(|error| malformed(&error))?.and_then(|key| key.into_iter().next());
    let mut records = state.store.upstreams(&sender.caller).await?;
    records.retain(|it| after.as_deref().is_none_or(|after| it.upstream.label.as_str() > after));
    let page = skillwire_hub::Page::cut(records, request.limit(), |last: &UpstreamRecord| {
        skillwire_hub::Cursor::new("upstreams", &[last.upstream.label.as_str()])
    });
    let reviewed = state.store.reviewed_namespaces(&sender.caller).await?;
    Ok(json(&super::extract::page_of(page, |record| info(&state, &sender, &reviewed, &record))))
}

/// Returns one upstream.
#[utoipa::path(get, operation_id = "showUpstream",
    path = "/api/v1/upstreams/{label}", tag = "upstreams",
    params(("label" = String, Path)), responses(
    (status = 200, body = UpstreamInfo),
    (status = 404, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn show(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(label): Segments<String>,
) -> Result<Response, Problem> {
    let record = state.store.upstream(&sender.caller, &parse_label(&label)?).await?;
    let reviewed = state.store.reviewed_namespaces(&sender.caller).await?;
    Ok(json(&info(&state, &sender, &reviewed, &record)))
}

/// Trust boundary: a source that runs a program or reads files is for the operator of the machine alone,
/// as a token of an administrator must not become a shell on it.
fn require_source(sender: &Authenticated, source: &UpstreamSource) -> Result<(), Problem> {
    if source.is_local() && !sender.is_operator() {
        return Err(Refusal::LocalUpstream.into());
    }
    Ok(())
}

/// Adds an upstream. Only for administrators; sources on the hub's machine only for its operator.
#[utoipa::path(post, operation_id = "addUpstream",
    path = "/api/v1/upstreams", tag = "upstreams", request_body = NewUpstream,
    responses((status = 201, body = UpstreamChanged),
    (status = 200, body = UpstreamChanged, description = "This was a dry run."),
    (status = 403, body = Problem, content_type = "application/problem+json"),
    (status = 409, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn add(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    JsonBody(new): JsonBody<NewUpstream>,
) -> Result<Response, Problem> {
    sender.caller.require_administrator(skillwire_hub::Action::ManageHub)?;
    require_source(&sender, &new.source)?;
    let upstream = Upstream::new(parse_label(&new.label)?, new.source, parse_mode(&new.mode)?)?
        .with_limits(new.limits)?
        .with_rules(new.rules)
        .with_tools(new.tools)
        .with_resources(new.resources);
    let store = state.writer(new.dry_run);
    let record = store.add_upstream(&sender.caller, upstream, false).await?;
    if !new.dry_run {
        state.settle().await;
    }
    let reviewed = state.store.reviewed_namespaces(&sender.caller).await?;
    let upstream = info(&state, &sender, &reviewed, &record);
    let dry_run = new.dry_run;
    let mut response =
        json(&UpstreamChanged { upstream, changed: true, dry_run, rules: Vec::new() });
    *response.status_mut() = if dry_run { StatusCode::OK } else { StatusCode::CREATED };
    Ok(response)
}

/// Changes an upstream. Leaving `pin` must be said. The rules are run over what waits; the answer says what
/// they approve, or would in a dry run.
#[utoipa::path(patch, operation_id = "changeUpstream",
    path = "/api/v1/upstreams/{label}", tag = "upstreams",
    params(("label" = String, Path)), request_body = UpstreamSettings, responses(
    (status = 200, body = UpstreamChanged),
    (status = 403, body = Problem, content_type = "application/problem+json"),
    (status = 409, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn change(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(label): Segments<String>,
    JsonBody(new): JsonBody<UpstreamSettings>,
) -> Result<Response, Problem> {
    let (caller, label) = (&sender.caller, parse_label(&label)?);
    let before = state.store.upstream(caller, &label).await?;
    caller.require_administrator(skillwire_hub::Action::ManageHub)?;
    if let Some(source) = &new.source {
        require_source(&sender, source)?;
    }
    let change = UpstreamChange {
        mode: new.mode.as_deref().map(parse_mode).transpose()?,
        source: new.source,
        limits: merged(&before.upstream.limits, new.limits)?,
        rules: merged(&before.upstream.rules, new.rules)?,
        tools: new.tools,
        resources: new.resources,
        leave_pin: new.leave_pin,
    };
    let asks = change.rules.is_some() || change.mode.is_some();
    let (now, offers) = (state.store.now(), state.store.offers_of(&label, None).await?);
    let record = state.writer(new.dry_run).change_upstream(caller, &label, change).await?;
    let rules = trials(&record.upstream, &offers, now, asks);
    if !new.dry_run {
        state.settle().await;
    }
    let changed = record != before || rules.iter().any(|trial| trial.approved);
    let reviewed = state.store.reviewed_namespaces(&sender.caller).await?;
    let upstream = info(&state, &sender, &reviewed, &record);
    Ok(json(&UpstreamChanged { upstream, changed, dry_run: new.dry_run, rules }))
}

/// Replaces some members of a record; `None` if none was given.
fn merged<T: Serialize + DeserializeOwned>(
    before: &T,
    given: Map<String, Value>,
) -> Result<Option<T>, Problem> {
    if given.is_empty() {
        return Ok(None);
    }
    let unreadable = |error: serde_json::Error| malformed(&format!("{error}."));
    let mut value = serde_json::to_value(before).map_err(unreadable)?;
    if let Value::Object(members) = &mut value {
        members.extend(given);
    }
    serde_json::from_value(value).map(Some).map_err(unreadable)
}

/// Says what the rules of an upstream decide about contents that wait: what they approve, and what stays if
/// the caller asks about rules or the mode.
fn trials(
    upstream: &Upstream,
    offers: &[OfferRecord],
    now: skillwire_hub::Timestamp,
    asks: bool,
) -> Vec<RuleTrial> {
    if !upstream.mode.is_reviewed() {
        return Vec::new();
    }
    let tried = try_rules(&upstream.rules, offers, now).into_iter().map(|(offer, outcome)| {
        let (approved, because) = match outcome {
            RuleOutcome::Approve { because } => (true, because),
            RuleOutcome::Wait { because } => (false, because),
        };
        let because = because.into_iter().map(str::to_owned).collect();
        let skill = offer.skill.uri.as_str().to_owned();
        RuleTrial { review: offer.id, skill, approved, because }
    });
    tried.filter(|trial| trial.approved || asks).take(MOST_TRIALS).collect()
}

#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub(crate) struct RemovalQuery {
    /// Whether giving up a pin is meant.
    leave_pin: bool,
    /// Whether to say what would happen, and change nothing.
    dry_run: bool,
}

/// Removes an upstream and what the hub keeps of it. Decisions stay.
#[utoipa::path(delete, operation_id = "removeUpstream",
    path = "/api/v1/upstreams/{label}", tag = "upstreams",
    params(("label" = String, Path), RemovalQuery), responses(
    (status = 200, body = UpstreamChanged),
    (status = 404, body = Problem, content_type = "application/problem+json"),
    (status = 409, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn remove(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(label): Segments<String>,
    Parameters(query): Parameters<RemovalQuery>,
) -> Result<Response, Problem> {
    let (caller, label) = (&sender.caller, parse_label(&label)?);
    // What the caller may not read is unknown to it, and not forbidden.
    state.store.upstream(caller, &label).await?;
    let RemovalQuery { leave_pin, dry_run } = query;
    let record = state.writer(dry_run).remove_upstream(caller, &label, leave_pin).await?;
    if !dry_run {
        state.settle().await;
    }
    let reviewed = state.store.reviewed_namespaces(&sender.caller).await?;
    let upstream = info(&state, &sender, &reviewed, &record);
    Ok(json(&UpstreamChanged { upstream, changed: true, dry_run, rules: Vec::new() }))
}
