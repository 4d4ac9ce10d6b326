//! `skillwire hub import`: publishes every skill of a folder, a repository, a server or a web origin.

use std::{io::Write as _, path::Path};

use bytes::Bytes;
use serde_json::{Value, json};
use skillwire_core::{RelPath, skill_file};
use skillwire_git::GitUrl;
use skillwire_source::{SkillSource, scan_all};

use super::{
    client::{HubClient, with_hub},
    publish::{PackedSkill, PublishRequest},
};
use crate::{
    args::{HubImportArgs, ReadingArgs},
    commands::{Outcome, install::repository},
    exit::Exit,
    failure::Failure,
    output::counted,
    prose, report,
    report::printable,
    settings::{FolderReading, unavailable},
    terminal,
};

/// The skills that an import found, and where they come from.
struct FoundSkills {
    skills: Vec<PackedSkill>,
    /// Skills that cannot be used; they do not keep the others from being published.
    unusable: Vec<UnusableSkill>,
    /// The commit of a repository.
    revision: Option<String>,
}

/// A skill that an import found and cannot publish.
pub(super) struct UnusableSkill {
    /// Its folder or its URI.
    place: String,
    failure: Failure,
}

impl FoundSkills {
    /// Takes what can be published; a source that cannot be reached at all is a failure.
    pub(super) fn new(
        packed: impl IntoIterator<Item = (String, Result<PackedSkill, Failure>)>,
        revision: Option<String>,
    ) -> Result<Self, Failure> {
        let mut found = Self { skills: Vec::new(), unusable: Vec::new(), revision };
        for (place, packed) in packed {
            match packed {
                Ok(skill) => found.skills.push(skill),
                Err(failure) if failure.exit() == Exit::Unreachable => return Err(failure),
                Err(failure) => found.unusable.push(UnusableSkill { place, failure }),
            }
        }
        Ok(found)
    }
}

pub(super) fn run(args: &HubImportArgs) -> Outcome {
    with_hub(&args.target, async |hub| {
        let found = find(args).await?;
        if found.skills.is_empty() && found.unusable.is_empty() {
            let from = printable(&args.from);
            return Err(Failure::new(
                Exit::Findings,
                format!("`{from}` holds no skill that can be served."),
            ));
        }
        let request = PublishRequest {
            namespace: &args.namespace,
            version: None,
            source: Some(&args.from),
            revision: found.revision.as_deref(),
        };
        if !found.skills.is_empty() && !args.yes && !args.dry_run {
            let count = counted(found.skills.len(), "skill");
            let question = format!("Publish {count} into `{}` of {}?", args.namespace, hub.place());
            match terminal::agrees(&question) {
                Some(true) => {}
                Some(false) => {
                    writeln!(prose::stderr(), "Nothing was published.")?;
                    return Ok(Exit::Ok);
                }
                None => {
                    return Err(Failure::usage("The import was not confirmed.")
                        .hint("Run this command in a terminal and decide there."));
                }
            }
        }
        publish_all(hub, args, &found, &request).await
    })
}

/// Publishes each skill; one that is refused does not keep the others from being published.
async fn publish_all(
    hub: &HubClient,
    args: &HubImportArgs,
    found: &FoundSkills,
    request: &PublishRequest<'_>,
) -> Outcome {
    let mut results = Vec::new();
    let mut refused = found.unusable.len();
    for UnusableSkill { place, failure } in &found.unusable {
        results.push(report_refused(place, failure)?);
    }
    for skill in &found.skills {
        let sent = match &skill.alarm {
            Some(alarm) if !args.despite_findings => {
                Err(Failure::new(Exit::Findings, format!("The scanner found {alarm}"))
                    .hint("Look at the skill, then add `--despite-findings` to publish it."))
            }
            _ => skill.send(hub, request, args.dry_run).await,
        };
        match sent {
            Ok(answer) => {
                let published = &answer.value;
                if !args.target.json {
                    let note = match (published.existing, args.dry_run) {
                        (true, _) => "is there already",
                        (false, true) => "would be published",
                        (false, false) => "published",
                    };
                    let version = &published.version;
                    writeln!(prose::stdout(), "{}@{} {note}.", version.skill, version.version)?;
                }
                results.push(answer.json);
            }
            // Without the hub, the next skill would only fail in the same way.
            Err(failure) if failure.exit() == Exit::Unreachable => return Err(failure),
            Err(failure) => {
                refused += 1;
                results.push(report_refused(&skill.name, &failure)?);
            }
        }
    }
    if args.target.json {
        report::json(&mut std::io::stdout().lock(), &results)?;
    }
    Ok(if refused == 0 { Exit::Ok } else { Exit::Declined })
}

/// Says why a skill is not published; returns that for `--json`.
fn report_refused(skill: &str, failure: &Failure) -> Result<Value, Failure> {
    let reason = anstream::adapter::strip_str(&failure.to_string()).to_string();
    writeln!(prose::stderr(), "{}: {reason}", printable(skill))?;
    Ok(json!({"skill": skill, "refused": reason}))
}

async fn find(args: &HubImportArgs) -> Result<FoundSkills, Failure> {
    let from = args.from.as_str();
    if Path::new(from).is_dir() {
        return of_folder(from);
    }
    if let Ok(url) = GitUrl::parse(from)
        && is_repository(from)
    {
        return of_repository(&url, args.reference.as_deref()).await;
    }
    FoundSkills::new(super::fetched::find(from).await?, None)
}

/// Whether an address is one of a repository rather than of a web site or an MCP server.
fn is_repository(from: &str) -> bool {
    let path = from.trim_end_matches('/');
    let hosts = ["https://github.com/", "https://gitlab.com/", "https://codeberg.org/"];
    Path::new(path).extension().is_some_and(|ending| ending == "git")
        || ["ssh://", "git@", "file://"].iter().any(|form| from.starts_with(form))
        || hosts.iter().any(|host| from.starts_with(host))
}

fn of_folder(folder: &str) -> Result<FoundSkills, Failure> {
    let source = FolderReading::resolve(&ReadingArgs::default())?.source(folder)?;
    let scan = scan_all(&[&source as &dyn SkillSource]).map_err(unavailable)?;
    let packed = scan.skills.iter().map(|found| {
        let unusable = || {
            let message = "The skill has errors, so it is not served.";
            let place = printable(&found.origin);
            Failure::new(Exit::Findings, message)
                .hint(format!("`skillwire check {place}` says what is wrong."))
        };
        let packed = found.skill.as_ref().ok_or_else(unusable).and_then(PackedSkill::of);
        (found.origin.clone(), packed)
    });
    FoundSkills::new(packed, None)
}

async fn of_repository(url: &GitUrl, reference: Option<&str>) -> Result<FoundSkills, Failure> {
    let repository = repository::fetch(url.as_str(), reference).await?;
    let mut skills = Vec::new();
    for folder in repository.skill_folders() {
        let files = repository.read_skill(&folder).await;
        let packed = files
            .map_err(|error| repository::failure(url.as_str(), &folder, error))
            .and_then(|files| packed(&folder, &files));
        skills.push((folder, packed));
    }
    FoundSkills::new(skills, Some(repository.commit().to_string()))
}

/// Packs files of a skill whose name only its `SKILL.md` tells.
pub(super) fn packed(place: &str, files: &[(RelPath, Bytes)]) -> Result<PackedSkill, Failure> {
    let text = files.iter().find(|(path, _)| *path == RelPath::skill_file());
    let checked = text.and_then(|(_, bytes)| skill_file::check(bytes).0);
    let checked = checked.ok_or_else(|| {
        let message = format!("The `SKILL.md` in `{}` cannot be used.", printable(place));
        Failure::new(Exit::Findings, message)
            .hint("`skillwire check DIR` says everything that is wrong with a skill.")
    })?;
    PackedSkill::new(checked.frontmatter.name().as_str(), files)
}
