//! Moving channels.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use skillwire_hub::{Action, ChannelName, Refusal, VersionRef, parse_version};

use super::{
    ApiState, ChannelMoved, Confirmation, Problem, Promotion,
    extract::{JsonBody, Segments, Sender, json},
    malformed, skill_id,
};

fn parse(channel: &str) -> Result<ChannelName, Problem> {
    ChannelName::parse(channel).map_err(|error| malformed(&error))
}

/// Points a channel to a version.
#[utoipa::path(put, operation_id = "promoteVersion",
    path = "/api/v1/skills/{namespace}/{name}/channels/{channel}", tag = "channels",
    params(("namespace" = String, Path), ("name" = String, Path), ("channel" = String, Path)),
    request_body = Promotion, responses(
    (status = 200, body = ChannelMoved),
    (status = 409, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn promote(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments((namespace, name, channel)): Segments<(String, String, String)>,
    JsonBody(promotion): JsonBody<Promotion>,
) -> Result<Response, Problem> {
    let (id, channel) = (skill_id(&namespace, &name)?, parse(&channel)?);
    let version = parse_version(&promotion.version).map_err(|error| malformed(&error))?;
    let caller = &sender.caller;
    state.require(caller, Action::Promote, &id.namespace).await?;
    let before = state.store.skill(caller, &id).await?;
    let from = before.channels.iter().find(|known| known.name == channel);
    let from = from.map(|known| known.version.clone());
    if promotion.dry_run {
        let record = state.version(caller, &id, &version).await?;
        if !record.state.is_served() {
            let skill = id.clone();
            return Err(Refusal::NotPromotable { skill, version, state: record.state }.into());
        }
    } else {
        state
            .store
            .promote(caller, &VersionRef::new(id.clone(), version.clone()), &channel)
            .await?;
        state.settle().await;
    }
    Ok(json(&ChannelMoved {
        skill: id.to_string(),
        channel: channel.to_string(),
        changed: from.as_ref() != Some(&version),
        from: from.map(|from| from.to_string()),
        to: version.to_string(),
        dry_run: promotion.dry_run,
    }))
}

/// Points a channel back to the version before.
#[utoipa::path(post, operation_id = "rollBackChannel",
    path = "/api/v1/skills/{namespace}/{name}/channels/{channel}/rollback",
    tag = "channels", params(("namespace" = String, Path), ("name" = String, Path),
    ("channel" = String, Path)), request_body = Confirmation, responses(
    (status = 200, body = ChannelMoved),
    (status = 409, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn roll_back(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments((namespace, name, channel)): Segments<(String, String, String)>,
    JsonBody(confirmation): JsonBody<Confirmation>,
) -> Result<Response, Problem> {
    let (id, channel) = (skill_id(&namespace, &name)?, parse(&channel)?);
    let caller = &sender.caller;
    state.require(caller, Action::Promote, &id.namespace).await?;
    let before = state.store.skill(caller, &id).await?;
    let from = before.channels.iter().find(|known| known.name == channel);
    let from = from.map(|known| known.version.clone());
    let to = if confirmation.dry_run {
        state.store.roll_back_target(caller, &id, &channel).await?
    } else {
        let pointer = state.store.roll_back(caller, &id, &channel).await?;
        state.settle().await;
        pointer.version
    };
    Ok(json(&ChannelMoved {
        skill: id.to_string(),
        channel: channel.to_string(),
        changed: from.as_ref() != Some(&to),
        from: from.map(|from| from.to_string()),
        to: to.to_string(),
        dry_run: confirmation.dry_run,
    }))
}
