//! `skillwire publish`: the next version of a skill.

use std::{io::Write as _, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use serde_json::Value;
use skillwire_archive::{ArchiveFormat, pack};
use skillwire_core::{ContentId, Digest, RelPath};
use skillwire_hub_server::api::{Published, VersionDiff};
use skillwire_source::{Skill, SkillContent};

use super::{
    client::{Answer, HubClient, with_hub},
    read::show_diff,
    scanned,
};
use crate::{
    args::{HubPublishArgs, PublishArgs, ReadingArgs},
    commands::{Outcome, one_skill, pack as packing},
    exit::Exit,
    failure::Failure,
    output::{STRONG, counted},
    prose, report, terminal,
};

/// A skill that is ready to be uploaded.
#[derive(Debug)]
pub(super) struct PackedSkill {
    pub(super) name: String,
    pub(super) content: ContentId,
    /// What the scanner has against it.
    pub(super) alarm: Option<String>,
    archive: Bytes,
    digest: Digest,
}

/// What a publication asks for.
#[derive(Debug, Default, Clone)]
pub(super) struct PublishRequest<'a> {
    pub(super) namespace: &'a str,
    pub(super) version: Option<&'a str>,
    pub(super) source: Option<&'a str>,
    pub(super) revision: Option<&'a str>,
}

pub(in crate::commands) fn run(args: &PublishArgs) -> Outcome {
    let skill = one_skill::read(&args.path, &ReadingArgs::default())?;
    let findings = scanned::before_publishing(args)?;
    let packed = PackedSkill::of(&skill)?;
    let request = PublishRequest {
        namespace: &args.namespace,
        version: args.version.as_deref(),
        ..PublishRequest::default()
    };
    with_hub(&args.target, async |hub| {
        let planned = with_findings(packed.send(hub, &request, true).await?, findings.as_ref());
        // If the same bytes are there, the second request would change nothing.
        if args.dry_run || planned.value.existing {
            return show(&planned, args.target.json);
        }
        if !args.yes {
            show_plan(&planned.value)?;
            let question = format!(
                "Publish {}@{} to {}?",
                planned.value.version.skill,
                planned.value.version.version,
                hub.place()
            );
            match terminal::agrees(&question) {
                Some(true) => {}
                Some(false) => {
                    writeln!(prose::stderr(), "Nothing was published.")?;
                    return Ok(Exit::Ok);
                }
                None => {
                    return Err(Failure::usage("The publication was not confirmed.")
                        .hint("Run this command in a terminal and decide there; `--dry-run` only shows what would be published."));
                }
            }
        }
        let published = packed.send(hub, &request, false).await?;
        let published = with_findings(published, findings.as_ref());
        show(&published, args.target.json)
    })
}

/// Says which command publishes.
pub(super) fn elsewhere(args: &HubPublishArgs) -> Outcome {
    let typed = args.rest.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let typed = report::printable(typed.trim_start());
    let rest = if typed.is_empty() { "DIR --namespace NS".to_owned() } else { typed };
    Err(Failure::usage("`skillwire hub` has no command `publish`.")
        .hint(format!("A skill is published with `skillwire publish {rest}`.")))
}

/// Adds what the scanner found to the hub's answer.
fn with_findings(mut answer: Answer<Published>, findings: Option<&Value>) -> Answer<Published> {
    if let (Some(findings), Some(members)) = (findings, answer.json.as_object_mut()) {
        members.insert("findings".to_owned(), findings.clone());
    }
    answer
}

impl PackedSkill {
    /// Packs a skill of a folder.
    pub(super) fn of(skill: &Arc<Skill>) -> Result<Self, Failure> {
        let SkillContent::Files(_) = &skill.content else {
            return Err(Failure::usage("A skill made on request cannot be published."));
        };
        Self::new(skill.name(), &packing::files_of(skill)?)
    }

    /// Packs files.
    pub(super) fn new(name: &str, files: &[(RelPath, Bytes)]) -> Result<Self, Failure> {
        let archive =
            pack(ArchiveFormat::TarGz, files.iter().map(|(path, bytes)| (path, &bytes[..])))
                .map_err(|error| packing::not_packed(name, error))?;
        let identified =
            files.iter().map(|(path, bytes)| (path.clone(), Digest::of(bytes), bytes.len() as u64));
        let content = ContentId::of(identified).map_err(|error| {
            Failure::new(Exit::Findings, format!("The skill `{name}` {error}."))
        })?;
        let digest = Digest::of(&archive);
        let alarm = scanned::alarm(files);
        Ok(Self { name: name.to_owned(), content, alarm, archive: archive.into(), digest })
    }

    /// Sends the skill to a hub, or asks what sending it would do.
    pub(super) async fn send(
        &self,
        hub: &HubClient,
        request: &PublishRequest<'_>,
        dry_run: bool,
    ) -> Result<Answer<Published>, Failure> {
        let mut path = format!(
            "/skills/{}/{}/versions?content={}&dry_run={dry_run}",
            segment(request.namespace)?,
            segment(&self.name)?,
            self.content
        );
        let optional = [
            ("version", request.version),
            ("source", request.source),
            ("revision", request.revision),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                path = format!("{path}&{name}={}", encoded(value));
            }
        }
        let digest = format!("sha-256=:{}:", STANDARD.encode(self.digest.as_bytes()));
        let digest = HeaderValue::from_str(&digest)
            .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
        let headers = [
            (HeaderName::from_static("content-digest"), digest),
            (http::header::CONTENT_TYPE, HeaderValue::from_static("application/gzip")),
        ];
        let sent = hub.upload(&path, &headers, self.archive.clone()).await;
        sent.map_err(|failure| match failure.exit() {
            Exit::NotFound => failure.hint(format!(
                "`skillwire hub namespace new {}` makes the namespace; `skillwire hub namespace list` shows \
                 those that you may read.",
                request.namespace
            )),
            _ => failure,
        })
    }
}

/// Refuses a name that would change the address that it is put into.
pub(super) fn segment(name: &str) -> Result<&str, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    if !name.is_empty() && name.chars().all(plain) && !matches!(name, "." | "..") {
        return Ok(name);
    }
    Err(Failure::usage(format!("`{}` is not a name of a hub.", report::printable(name))))
}

/// Writes a text so that it can be the value of a query.
pub(super) fn encoded(text: &str) -> String {
    let written = text.bytes().map(|byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    written.collect::<Vec<_>>().concat()
}

fn show_plan(planned: &Published) -> Result<(), Failure> {
    let mut err = prose::stderr();
    let version = &planned.version;
    match &planned.changes {
        None => {
            let files = version.files.as_ref().map_or(0, Vec::len);
            writeln!(
                err,
                "{STRONG}{}@{}{STRONG:#} is new, with {}.",
                version.skill,
                version.version,
                counted(files, "file")
            )?;
        }
        Some(VersionDiff { files, from, .. }) if files.is_empty() => {
            writeln!(err, "No file differs from version {from}.")?;
        }
        Some(diff) => show_diff(&mut anstream::stderr().lock(), diff)?,
    }
    if let Some(conflict) = &planned.waits {
        writeln!(
            err,
            "The name {}, so an administrator has to approve it.",
            report::printable(conflict)
        )?;
    }
    Ok(())
}

fn show(published: &Answer<Published>, json: bool) -> Outcome {
    if json {
        report::json(&mut std::io::stdout().lock(), &published.json)?;
        return Ok(Exit::Ok);
    }
    let Published { version, existing, dry_run, .. } = &published.value;
    let name = format!("{}@{}", version.skill, version.version);
    let mut out = prose::stdout();
    if *existing {
        writeln!(out, "{name} has the same bytes already; nothing was changed.")?;
    } else if *dry_run {
        show_plan(&published.value)?;
        writeln!(out, "{name} would be published, {}.", version.state)?;
    } else {
        writeln!(out, "Published {name}, {}.", version.state)?;
    }
    writeln!(out, "{}", version.content)?;
    if version.state == "quarantined" && !dry_run {
        writeln!(
            prose::stderr(),
            "A reviewer lets it be served with `skillwire hub approve {name} --reason ...`."
        )?;
    }
    Ok(Exit::Ok)
}
