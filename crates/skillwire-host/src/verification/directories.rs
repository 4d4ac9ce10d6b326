//! Compares a skill's directories, as the server lists them, with its manifest.

use std::collections::{BTreeSet, VecDeque};

use serde::Deserialize;
use skillwire_core::{ResourceUri, SkillResource};
use skillwire_trust::{ListedSkill, Reason, Refusal};

use super::{Finding, Server};
use crate::window::find;

/// The most requests: more than the directories and pages of a skill within the limits.
const MAX_REQUESTS: usize = 1_100;

/// The media type that marks a child as a directory.
const DIRECTORY: &str = "inode/directory";

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow, default)]
    resources: Option<Vec<Child<'a>>>,
    #[serde(rename = "nextCursor", default)]
    next: Option<String>,
}

#[derive(Deserialize)]
struct Child<'a> {
    #[serde(borrow)]
    uri: std::borrow::Cow<'a, str>,
    #[serde(rename = "mimeType", borrow, default)]
    media_type: Option<std::borrow::Cow<'a, str>>,
}

/// Walks the skill's directories, if the server lists directories.
pub(super) async fn check(
    server: &Server,
    listed: &ListedSkill,
    files: &[SkillResource],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut shown = BTreeSet::new();
    let root = listed.id().uri.root().as_str().to_owned();
    let mut seen = BTreeSet::from([root.clone()]);
    let mut waiting = VecDeque::from([(root, None::<String>)]);
    for _ in 0..MAX_REQUESTS {
        let Some((directory, cursor)) = waiting.pop_front() else { break };
        let answer = match server.directory(&directory, cursor.as_deref()).await {
            Ok(Some(answer)) => answer,
            // The server does not list directories, so there is nothing to compare.
            Ok(None) => return Vec::new(),
            Err(refusal) => {
                findings.push(Finding::must(refusal.about(listed.id())));
                continue;
            }
        };
        let page = serde_json::from_str::<Page<'_>>(answer.text());
        let Some(Page { resources: Some(children), next, .. }) = page.ok() else {
            findings.push(Finding::must(
                Refusal::new(Reason::ProtocolError)
                    .about(listed.id())
                    .file(&directory)
                    .expected("a list `resources` of children"),
            ));
            continue;
        };
        for child in children {
            let uri = ResourceUri::parse(&child.uri).ok();
            let Some(uri) = uri.filter(|uri| uri.parent().is_some_and(|p| p.as_str() == directory))
            else {
                findings.push(Finding::must(
                    Refusal::new(Reason::ResourceOutside)
                        .about(listed.id())
                        .file(&directory)
                        .expected("children of this directory")
                        .actual(child.uri.escape_debug()),
                ));
                continue;
            };
            if child.media_type.as_deref() == Some(DIRECTORY) {
                if seen.insert(uri.as_str().to_owned()) {
                    waiting.push_back((uri.as_str().to_owned(), None));
                }
            } else {
                shown.insert(uri);
            }
        }
        if let Some(next) = next {
            waiting.push_front((directory, Some(next)));
        }
    }
    let refuse = |reason, uri: &ResourceUri| Refusal::new(reason).about(listed.id()).file(uri);
    let extra = shown.iter().filter(|uri| find(files, uri).is_none());
    findings.extend(extra.map(|uri| {
        Finding::must(
            refuse(Reason::ManifestIncomplete, uri)
                .expected("every file of the skill in its manifest"),
        )
    }));
    let missing = files.iter().filter(|file| !shown.contains(&file.uri));
    findings.extend(missing.map(|file| {
        Finding::must(
            refuse(Reason::FileMissing, &file.uri)
                .expected("the file among its directory's children"),
        )
    }));
    findings
}
