//! Moving channels, and steps in the life of versions.

use std::io::Write as _;

use http::Method;
use skillwire_hub::Transition;
use skillwire_hub_server::api::{ChannelMoved, Confirmation, NewState, Promotion, StateChanged};

use super::{
    client::{Answer, HubClient, with_hub},
    publish::segment,
    read::{skill_path, version_path},
};
use crate::{
    args::{HubPromoteArgs, HubRollbackArgs, HubStateArgs},
    commands::Outcome,
    exit::Exit,
    failure::Failure,
    prose, report,
};

pub(super) fn promote(args: &HubPromoteArgs) -> Outcome {
    let is_number = |text: &str| skillwire_hub::parse_version(text).is_ok();
    if is_number(&args.channel) && !is_number(&args.version) {
        let (skill, version) = (report::printable(&args.skill), report::printable(&args.channel));
        let channel = report::printable(&args.version);
        return Err(Failure::usage(format!("`{channel}` is no version.")).hint(format!(
            "The version comes before the channel: `skillwire hub promote {skill} {version} {channel}`."
        )));
    }
    with_hub(&args.target, async |hub| {
        let path = format!("{}/channels/{}", skill_path(&args.skill)?, segment(&args.channel)?);
        let wish = Promotion { version: args.version.clone(), dry_run: args.dry_run };
        let moved = hub.send_json(Method::PUT, &path, &wish).await?;
        show_move(&moved, args.target.json)
    })
}

pub(super) fn roll_back(args: &HubRollbackArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let channel = segment(&args.channel)?;
        let path = format!("{}/channels/{channel}/rollback", skill_path(&args.skill)?);
        let wish = Confirmation { dry_run: args.dry_run, reason: String::new() };
        let moved = hub.send_json(Method::POST, &path, &wish).await?;
        show_move(&moved, args.target.json)
    })
}

fn show_move(moved: &Answer<ChannelMoved>, json: bool) -> Outcome {
    if json {
        report::json(&mut std::io::stdout().lock(), &moved.json)?;
        return Ok(Exit::Ok);
    }
    let ChannelMoved { skill, channel, from, to, changed, dry_run } = &moved.value;
    let from = from.as_deref().map(|from| format!(" from {from}")).unwrap_or_default();
    let mut out = prose::stdout();
    match (changed, dry_run) {
        (false, _) => writeln!(out, "`{channel}` of {skill} points to {to} already.")?,
        (true, true) => writeln!(out, "`{channel}` of {skill} would move{from} to {to}.")?,
        (true, false) => writeln!(out, "Moved `{channel}` of {skill}{from} to {to}.")?,
    }
    Ok(Exit::Ok)
}

pub(super) fn step(args: &HubStateArgs, transition: Transition) -> Outcome {
    with_hub(&args.target, async |hub| {
        let changed = transition_version(hub, args, transition).await?;
        show_states(&changed, args.target.json)
    })
}

/// Revokes a version, or a content wherever it is.
pub(super) fn revoke(args: &HubStateArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let changed = if args.version.starts_with("sha256:") {
            let path = format!("/content/{}/revoke", segment(&args.version)?);
            let wish = Confirmation { dry_run: args.dry_run, reason: args.reason.clone() };
            hub.send_json(Method::POST, &path, &wish).await?
        } else {
            transition_version(hub, args, Transition::Revoke).await?
        };
        show_states(&changed, args.target.json)
    })
}

async fn transition_version(
    hub: &HubClient,
    args: &HubStateArgs,
    transition: Transition,
) -> Result<Answer<StateChanged>, Failure> {
    let path = format!("{}/state", version_path(&args.version)?);
    let wish = NewState {
        transition: transition.to_string(),
        reason: args.reason.clone(),
        content: None,
        dry_run: args.dry_run,
    };
    hub.send_json(Method::POST, &path, &wish).await
}

pub(super) fn show_states(changed: &Answer<StateChanged>, json: bool) -> Outcome {
    if json {
        report::json(&mut std::io::stdout().lock(), &changed.json)?;
        return Ok(Exit::Ok);
    }
    let mut out = prose::stdout();
    let StateChanged { versions, changed, dry_run } = &changed.value;
    for version in versions {
        let name = format!("{}@{}", version.skill, version.version);
        let state = &version.state;
        match (changed, dry_run) {
            (_, true) => writeln!(out, "{name} would be {state}.")?,
            (true, false) => writeln!(out, "{name} is {state} now.")?,
            (false, false) => writeln!(out, "{name} is {state} already.")?,
        }
    }
    if versions.is_empty() {
        let happens = if *dry_run { "could not" } else { "cannot" };
        writeln!(out, "No version has this content; it {happens} be published from now on.")?;
    }
    Ok(Exit::Ok)
}
