//! What a hub holds: skills, versions, differences and the log.

use std::io::Write;

use skillwire_hub_server::api::{AuditCheck, AuditEvent, SkillInfo, VersionDiff, VersionInfo};

use super::{
    client::with_hub,
    publish::{encoded, segment},
};
use crate::{
    args::{HubAuditArgs, HubDiffArgs, HubListArgs, HubVersionsArgs},
    commands::Outcome,
    exit::Exit,
    failure::Failure,
    output::{ADDED, FAINT, REMOVED, STRONG},
    prose, report,
    report::printable,
};

/// The most elements of a list that are shown.
const MOST_SHOWN: usize = 100_000;

/// The address of a skill, which the user names as `NAMESPACE/NAME`.
pub(super) fn skill_path(skill: &str) -> Result<String, Failure> {
    let (namespace, name) = skill.split_once('/').ok_or_else(|| {
        Failure::usage(format!("`{}` is not a skill of a hub.", printable(skill)))
            .hint("Write it like `acme/refunds`.")
    })?;
    Ok(format!("/skills/{}/{}", segment(namespace)?, segment(name)?))
}

/// The address of a version, which the user names as `NAMESPACE/NAME@VERSION`.
pub(super) fn version_path(version: &str) -> Result<String, Failure> {
    let (skill, number) = version.split_once('@').ok_or_else(|| {
        Failure::usage(format!("`{}` names no version.", printable(version)))
            .hint("Write it like `acme/refunds@1.2.0`.")
    })?;
    Ok(format!("{}/versions/{}", skill_path(skill)?, segment(number)?))
}

pub(super) fn list(args: &HubListArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let path = match &args.namespace {
            Some(namespace) => format!("/skills?namespace={}", encoded(namespace)),
            None => "/skills".to_owned(),
        };
        let skills: Vec<SkillInfo> = hub.list(&path, MOST_SHOWN).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &skills)?;
            return Ok(Exit::Ok);
        }
        let mut out = prose::stdout();
        for skill in &skills {
            let channel = |channel: &skillwire_hub_server::api::ChannelInfo| {
                let note = if channel.served { "" } else { " (not served)" };
                format!("{} {}{note}", channel.channel, channel.version)
            };
            let channels: Vec<String> = skill.channels.iter().map(channel).collect();
            let channels = if channels.is_empty() {
                "no version is served".to_owned()
            } else {
                channels.join(", ")
            };
            writeln!(
                out,
                "{STRONG}{}{STRONG:#}  {}",
                printable(&skill.skill),
                printable(&channels)
            )?;
        }
        if skills.is_empty() {
            writeln!(prose::stderr(), "The hub shows you no skill.")?;
        }
        Ok(Exit::Ok)
    })
}

pub(super) fn versions(args: &HubVersionsArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let path = format!("{}/versions", skill_path(&args.skill)?);
        let versions: Vec<VersionInfo> = hub.list(&path, MOST_SHOWN).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &versions)?;
            return Ok(Exit::Ok);
        }
        let mut out = prose::stdout();
        for version in &versions {
            show_version(&mut out, version)?;
        }
        Ok(Exit::Ok)
    })
}

/// Prints a version in one line, with its content in another.
pub(super) fn show_version(out: &mut impl Write, version: &VersionInfo) -> std::io::Result<()> {
    let VersionInfo {
        version: number,
        state,
        publisher,
        published,
        channels,
        reason,
        purged,
        worst_finding,
        signed_by,
        ..
    } = version;
    let erased = if *purged { ", its files erased" } else { "" };
    let channels =
        if channels.is_empty() { String::new() } else { format!(" [{}]", channels.join(", ")) };
    let reason = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let found = match worst_finding.as_str() {
        "none" | "unknown" => String::new(),
        worst => format!(", worst finding {worst}"),
    };
    let signers: Vec<&str> = signed_by.iter().map(String::as_str).collect();
    let signed = if signers.is_empty() {
        String::new()
    } else {
        format!(", signed by {}", signers.join(", "))
    };
    let line =
        format!("{state}{erased}{reason}  {published} by {publisher}{channels}{found}{signed}");
    writeln!(out, "{STRONG}{}{STRONG:#}  {}", printable(number), printable(&line))?;
    writeln!(out, "  {FAINT}{}{FAINT:#}", printable(&version.content))
}

pub(super) fn diff(args: &HubDiffArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let skill = skill_path(&args.skill)?;
        let (from, to) = (encoded(&args.from), encoded(&args.to));
        let answer = hub.get::<VersionDiff>(&format!("{skill}/diff?from={from}&to={to}")).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &answer.json)?;
        } else if answer.value.files.is_empty() {
            let VersionDiff { from, to, .. } = &answer.value;
            writeln!(prose::stderr(), "No file differs between versions {from} and {to}.")?;
        } else {
            show_diff(&mut anstream::stdout().lock(), &answer.value)?;
        }
        Ok(Exit::Ok)
    })
}

/// Prints what differs, as patches do.
pub(super) fn show_diff(out: &mut impl Write, diff: &VersionDiff) -> std::io::Result<()> {
    for file in &diff.files {
        let path = printable(&file.path);
        let sizes = match (file.old_size, file.new_size) {
            (Some(old), Some(new)) => format!("{old} to {new} bytes"),
            (None, Some(new)) => format!("{new} bytes"),
            (Some(old), None) => format!("{old} bytes"),
            (None, None) => String::new(),
        };
        writeln!(out, "{STRONG}{} {path}{STRONG:#} {FAINT}({sizes}){FAINT:#}", file.change)?;
        for line in file.text.iter().flat_map(|text| text.lines()) {
            let shown = printable(line);
            match line.chars().next() {
                Some('+') => writeln!(out, "{ADDED}{shown}{ADDED:#}")?,
                Some('-') => writeln!(out, "{REMOVED}{shown}{REMOVED:#}")?,
                _ => writeln!(out, "{shown}")?,
            }
        }
    }
    Ok(())
}

pub(super) fn audit(args: &HubAuditArgs) -> Outcome {
    if args.verify {
        return verify_audit(args);
    }
    with_hub(&args.target, async |hub| {
        let filters = [
            ("content", args.content.as_deref()),
            ("target", args.skill.as_deref()),
            ("actor", args.actor.as_deref()),
            ("action", args.action.as_deref()),
            ("since", args.since.as_deref()),
            ("until", args.until.as_deref()),
        ];
        let given = filters
            .iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", encoded((*value)?))));
        let path = format!("/audit?{}", given.collect::<Vec<_>>().join("&"));
        let events: Vec<AuditEvent> = hub.list(path.trim_end_matches('?'), args.limit).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &events)?;
            return Ok(Exit::Ok);
        }
        if events.is_empty() {
            writeln!(prose::stderr(), "The log has no such event.")?;
        }
        let mut out = prose::stdout();
        for event in &events {
            let AuditEvent { at, actor, action, target, .. } = event;
            let details = if event.details == "{}" { "" } else { &event.details };
            let line = format!("{at}  {actor}  {action}  {target}  {details}");
            writeln!(out, "{}", printable(line.trim_end()))?;
        }
        Ok(Exit::Ok)
    })
}

fn verify_audit(args: &HubAuditArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let checked = hub.get::<AuditCheck>("/audit/check").await?;
        let AuditCheck { events, broken_at } = checked.value;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &checked.json)?;
        } else if let Some(number) = broken_at {
            let kept = format!("{events} events hold; event {number} was changed or is missing.");
            writeln!(prose::stderr(), "The log is broken: {kept}")?;
        } else {
            writeln!(prose::stdout(), "The log is whole: {events} events.")?;
        }
        Ok(if broken_at.is_none() { Exit::Ok } else { Exit::Verification })
    })
}
