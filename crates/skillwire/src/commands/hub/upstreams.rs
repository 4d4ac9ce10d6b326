//! `skillwire hub upstream`: other people's skills, and how they are passed on.

use std::{collections::BTreeMap, io::Write as _};

use http::Method;
use serde_json::{Map, Value};
use skillwire_hub::{ResourcePatterns, ToolPatterns, UpstreamSource};
use skillwire_hub_server::api::{
    NewUpstream, UpstreamChanged, UpstreamInfo, UpstreamSettings, UpstreamStatusInfo,
};

use super::{
    client::{Answer, with_hub},
    publish::segment,
};
use crate::{
    args::{
        HubUpstreamAddArgs, HubUpstreamListArgs, HubUpstreamRemoveArgs, HubUpstreamSetArgs,
        HubUpstreamSource, HubUpstreamTerms,
    },
    commands::Outcome,
    exit::Exit,
    failure::Failure,
    output::{FAINT, STRONG, WARNING, counted},
    prose, report,
    report::printable,
};

pub(super) fn add(args: &HubUpstreamAddArgs) -> Outcome {
    let source = source(&args.source)?.ok_or_else(|| {
        Failure::usage("No source was named.").hint(
            "Name the URL of an MCP server, `--git URL`, `--folder DIR`, `--well-known ORIGIN`, or `-- COMMAND`.",
        )
    })?;
    let wish = NewUpstream {
        label: args.label.clone(),
        mode: args.mode.clone(),
        source,
        limits: whole(limits(&args.terms)?, "--limit")?,
        rules: whole(rules(&args.terms)?, "--rule")?,
        tools: tools(&args.terms)?.unwrap_or_default(),
        resources: resources(&args.terms)?.unwrap_or_default(),
        dry_run: args.terms.dry_run,
    };
    with_hub(&args.target, async |hub| {
        let added = hub.send_json(Method::POST, "/upstreams", &wish).await?;
        show_change(&added, args.target.json, "added")
    })
}

pub(super) fn set(args: &HubUpstreamSetArgs) -> Outcome {
    let wish = UpstreamSettings {
        mode: args.mode.clone(),
        source: source(&args.source)?,
        limits: limits(&args.terms)?,
        rules: rules(&args.terms)?,
        tools: tools(&args.terms)?,
        resources: resources(&args.terms)?,
        leave_pin: args.leave_pin,
        dry_run: args.terms.dry_run,
    };
    with_hub(&args.target, async |hub| {
        let path = format!("/upstreams/{}", segment(&args.label)?);
        let changed = hub.send_json(Method::PATCH, &path, &wish).await;
        show_change(&changed.map_err(hint_pin)?, args.target.json, "changed")
    })
}

pub(super) fn remove(args: &HubUpstreamRemoveArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let (label, leave_pin, dry_run) = (segment(&args.label)?, args.leave_pin, args.dry_run);
        let path = format!("/upstreams/{label}?leave_pin={leave_pin}&dry_run={dry_run}");
        let removed = hub.send(Method::DELETE, &path, &[], bytes::Bytes::new()).await;
        show_change(&removed.map_err(hint_pin)?, args.target.json, "removed")
    })
}

/// Tells how a pin is given up, if that is what the hub refused.
fn hint_pin(failure: Failure) -> Failure {
    if failure.to_string().contains("is pinned") {
        return failure.hint("Say `--leave-pin` if that is meant.");
    }
    failure
}

fn show_change(changed: &Answer<UpstreamChanged>, json: bool, done: &str) -> Outcome {
    if json {
        report::json(&mut std::io::stdout().lock(), &changed.json)?;
        return Ok(Exit::Ok);
    }
    let UpstreamChanged { upstream, changed, dry_run, rules } = &changed.value;
    let mut out = prose::stdout();
    let label = &upstream.label;
    match (changed, dry_run) {
        (false, _) => writeln!(out, "The upstream `{label}` is so already.")?,
        (true, true) => writeln!(out, "The upstream `{label}` would be {done}.")?,
        (true, false) => writeln!(out, "The upstream `{label}` is {done}.")?,
    }
    for trial in rules {
        let verb = match (trial.approved, dry_run) {
            (true, true) => "would be approved",
            (false, true) => "would wait",
            (true, false) => "is approved",
            (false, false) => "waits",
        };
        let (skill, because) = (printable(&trial.skill), printable(&trial.because.join(", ")));
        writeln!(out, "  {}  {skill} {verb} {FAINT}({because}){FAINT:#}", trial.review)?;
    }
    if upstream.configured && *changed && !*dry_run {
        let note = "`hub.toml` describes it; change it there too, else the file wins when it is read again.";
        writeln!(prose::stderr(), "{WARNING}note{WARNING:#}: {note}")?;
    }
    Ok(Exit::Ok)
}

pub(super) fn list(args: &HubUpstreamListArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let upstreams: Vec<UpstreamInfo> = hub.list("/upstreams", 100_000).await?;
        if args.target.json {
            report::json(&mut std::io::stdout().lock(), &upstreams)?;
            return Ok(Exit::Ok);
        }
        let mut out = prose::stdout();
        for upstream in &upstreams {
            let UpstreamInfo { label, mode, kind, place, .. } = upstream;
            let line = printable(&format!("{mode}  {kind} {place}"));
            let configured = if upstream.configured { "  (hub.toml)" } else { "" };
            writeln!(out, "{STRONG}{label}{STRONG:#}  {line}{configured}")?;
            if let Some(status) = &upstream.status {
                let failure = status.failure.as_deref();
                let failure = failure.map(|text| format!(": {text}")).unwrap_or_default();
                let line = format!("{}, {} skills{failure}", status.health, status.skills);
                writeln!(out, "  {FAINT}{}{FAINT:#}", printable(&line))?;
                print_unfetched(&mut out, status)?;
            }
            if !upstream.tools.is_empty() {
                let tools = upstream.tools.iter().collect::<Vec<_>>().join(", ");
                writeln!(out, "  {FAINT}tools: {}{FAINT:#}", printable(&tools))?;
            }
            if !upstream.resources.is_empty() {
                let resources = upstream.resources.iter().collect::<Vec<_>>().join(", ");
                writeln!(out, "  {FAINT}resources: {}{FAINT:#}", printable(&resources))?;
            }
        }
        if upstreams.is_empty() {
            writeln!(prose::stderr(), "The hub shows you no upstream.")?;
        }
        Ok(Exit::Ok)
    })
}

/// Says which skills a reviewer waits for in vain.
fn print_unfetched(
    out: &mut impl std::io::Write,
    status: &UpstreamStatusInfo,
) -> std::io::Result<()> {
    if status.unfetched == 0 {
        return Ok(());
    }
    let count = usize::try_from(status.unfetched).unwrap_or(usize::MAX);
    let skills = counted(count, "skill");
    writeln!(out, "  {WARNING}{skills} could not be fetched for review{WARNING:#}")?;
    for unfetched in &status.unfetched_skills {
        let (skill, reason) = (printable(&unfetched.skill), printable(&unfetched.reason));
        writeln!(out, "    {skill}: {reason}")?;
    }
    Ok(())
}

fn source(args: &HubUpstreamSource) -> Result<Option<UpstreamSource>, Failure> {
    let HubUpstreamSource { url, git, folder, well_known, command, header, env, older } = args;
    let is_server = url.is_some() || !command.is_empty();
    let misplaced = [
        (!header.is_empty() && url.is_none(), "`--header` is for the URL of an MCP server."),
        (!env.is_empty() && command.is_empty(), "`--env` is for a program."),
        (*older && !is_server, "`--older` is for MCP servers."),
    ];
    if let Some((_, message)) = misplaced.into_iter().find(|(is_wrong, _)| *is_wrong) {
        return Err(Failure::usage(message));
    }
    if let Some(url) = url {
        let (url, headers) = (url.clone(), pairs(header, ':', "--header", "Name: ${VAR}")?);
        return Ok(Some(UpstreamSource::Mcp { url, headers, older: *older }));
    }
    if let Some(git) = git {
        let (url, reference) = split_reference(git);
        let (url, reference) = (url.to_owned(), reference.map(str::to_owned));
        return Ok(Some(UpstreamSource::Git { url, reference }));
    }
    if let Some(folder) = folder {
        let path = std::path::absolute(folder)?.to_string_lossy().into_owned();
        return Ok(Some(UpstreamSource::Folder { path }));
    }
    if let Some(url) = well_known {
        return Ok(Some(UpstreamSource::WellKnown { url: url.clone() }));
    }
    let Some((command, args)) = command.split_first() else { return Ok(None) };
    let env = pairs(env, '=', "--env", "NAME=VALUE")?;
    let (command, args) = (command.clone(), args.to_vec());
    Ok(Some(UpstreamSource::Command { command, args, env, older: *older }))
}

/// Splits a ref from the address of a repository; an `@` before the path belongs to the address.
fn split_reference(address: &str) -> (&str, Option<&str>) {
    let path = match address.find("://") {
        Some(at) => address[at + 3..].find('/').map(|slash| at + 3 + slash),
        None => address.find(':').or(Some(0)),
    };
    let Some(path) = path else { return (address, None) };
    match address[path..].rfind('@') {
        Some(at) if at > 0 => (&address[..path + at], Some(&address[path + at + 1..])),
        _ => (address, None),
    }
}

fn pairs(
    texts: &[String],
    joint: char,
    option: &str,
    form: &str,
) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |text: &String| {
        let (name, value) = text.split_once(joint).ok_or_else(|| {
            Failure::usage(format!("A value of `{option}` has no `{joint}`."))
                .hint(format!("Write it like `{option} '{form}'`."))
        })?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    texts.iter().map(pair).collect()
}

fn limits(terms: &HubUpstreamTerms) -> Result<Map<String, Value>, Failure> {
    let given = pairs(&terms.limit, '=', "--limit", "answer-ms=5000")?;
    let number = |(name, value): (String, String)| {
        let value: u64 = value.parse().map_err(|_| {
            Failure::usage(format!("The limit `{name}` is not a whole number."))
                .hint("Write it like `--limit answer-ms=5000`.")
        })?;
        Ok((name, value.into()))
    };
    given.into_iter().map(number).collect()
}

fn rules(terms: &HubUpstreamTerms) -> Result<Map<String, Value>, Failure> {
    let rule = |text: &String| match text.split_once('=') {
        None => Ok((text.clone(), true.into())),
        Some((name, "true")) => Ok((name.to_owned(), true.into())),
        Some((name, "false")) => Ok((name.to_owned(), false.into())),
        Some(_) => Err(Failure::usage(format!("`--rule {text}` is neither true nor false."))
            .hint("Write it like `--rule text-only` or `--rule text-only=false`.")),
    };
    terms.rule.iter().map(rule).collect()
}

/// The tools that were named; `None` without the option. An empty text stands for none at all.
fn tools(terms: &HubUpstreamTerms) -> Result<Option<ToolPatterns>, Failure> {
    if terms.tool.is_empty() {
        return Ok(None);
    }
    let patterns = terms.tool.iter().filter(|pattern| !pattern.is_empty()).cloned();
    let patterns = ToolPatterns::parse(patterns).map_err(|refusal| {
        Failure::usage("A value of `--tool` cannot be used.")
            .because(refusal)
            .hint("Write it like `--tool 'read_*'`.")
    })?;
    Ok(Some(patterns))
}

/// The resources that were named; `None` without the option. An empty text stands for none at all.
fn resources(terms: &HubUpstreamTerms) -> Result<Option<ResourcePatterns>, Failure> {
    if terms.resource.is_empty() {
        return Ok(None);
    }
    let patterns = terms.resource.iter().filter(|pattern| !pattern.is_empty()).cloned();
    let patterns = ResourcePatterns::parse(patterns).map_err(|refusal| {
        Failure::usage("A value of `--resource` cannot be used.")
            .because(refusal)
            .hint("Write it like `--resource 'file:///docs/**'`.")
    })?;
    Ok(Some(patterns))
}

/// Makes a whole record of the members that were given; the others have their defaults.
fn whole<T: serde::de::DeserializeOwned>(
    given: Map<String, Value>,
    option: &str,
) -> Result<T, Failure> {
    serde_json::from_value(Value::Object(given))
        .map_err(|error| Failure::usage(format!("`{option}` cannot be used: {error}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ref_follows_the_path_of_a_repository() {
        for (text, address, reference) in [
            ("https://git.example/skills@v2", "https://git.example/skills", Some("v2")),
            ("https://me@git.example/skills", "https://me@git.example/skills", None),
            ("git@git.example:acme/skills@main", "git@git.example:acme/skills", Some("main")),
            ("git@git.example:acme/skills", "git@git.example:acme/skills", None),
            ("https://git.example", "https://git.example", None),
        ] {
            assert_eq!(split_reference(text), (address, reference), "{text}");
        }
    }
}
