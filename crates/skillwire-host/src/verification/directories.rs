//! Compares a skill's directories, as the server lists them, with its manifest.

use std::collections::{BTreeSet, VecDeque};

use serde::Deserialize;
use skillwire_core::{ResourceUri, SkillResource, visible};
use skillwire_protocol::{NextPage, PageLimits, Pager};
use skillwire_trust::{ListedSkill, Reason, Refusal};

use super::{Finding, Server};
use crate::window::find;

/// The most requests: more than the directories and pages of a skill within the limits.
const MAX_REQUESTS: usize = 1_100;

/// The bounds of one directory's listing. The walk bounds requests and children itself.
const PAGES: PageLimits = PageLimits::new(MAX_REQUESTS, usize::MAX);

/// The most violations that one walk reports.
const MAX_FINDINGS: usize = 100;

/// The media type that marks a child as a directory.
const DIRECTORY: &str = "inode/directory";

#[derive(Deserialize)]
struct DirectoryPage<'a> {
    #[serde(borrow, default)]
    resources: Option<Vec<ReportedChild<'a>>>,
    #[serde(rename = "nextCursor", default)]
    next: Option<String>,
}

#[derive(Deserialize)]
struct ReportedChild<'a> {
    #[serde(borrow)]
    uri: std::borrow::Cow<'a, str>,
    #[serde(rename = "mimeType", borrow, default)]
    media_type: Option<std::borrow::Cow<'a, str>>,
}

/// Walks the skill's directories, if the server lists directories.
///
/// The server decides how many children it names, so the walk keeps only what the manifest bounds, and
/// ends after a hundred violations.
pub(super) async fn check(
    server: &Server,
    listed: &ListedSkill,
    files: &[SkillResource],
) -> Vec<Finding> {
    let mut walk = DirectoryWalk::new(listed, files);
    let mut requests = 0;
    while let Some(directory) = walk.waiting.pop_front() {
        let mut pager = Pager::new(PAGES);
        loop {
            if requests == MAX_REQUESTS {
                return walk.finish();
            }
            requests += 1;
            let answer = match server.directory(&directory, pager.cursor()).await {
                Ok(Some(answer)) => answer,
                // The server does not list directories, so there is nothing to compare.
                Ok(None) => return Vec::new(),
                Err(refusal) => {
                    walk.findings.push(Finding::must(refusal.about(listed.id())));
                    break;
                }
            };
            let broken = || Refusal::new(Reason::ProtocolError).about(listed.id()).file(&directory);
            let page = serde_json::from_str::<DirectoryPage<'_>>(answer.text());
            let Some(DirectoryPage { resources: Some(children), next, .. }) = page.ok() else {
                let refusal = broken().expected("a list `resources` of children");
                walk.findings.push(Finding::must(refusal));
                break;
            };
            for child in &children {
                walk.child(&directory, child);
                if let Some(problem) = walk.excess() {
                    walk.findings.push(Finding::must(
                        Refusal::new(Reason::SkillTooLarge)
                            .about(listed.id())
                            .file(&directory)
                            .expected("directories as large as the manifest")
                            .actual(problem),
                    ));
                    return walk.findings;
                }
            }
            match pager.received(children.len(), next) {
                NextPage::Ask => {}
                NextPage::End => break,
                NextPage::Stop(why) => {
                    walk.findings.push(Finding::must(broken().actual(why)));
                    break;
                }
            }
        }
    }
    walk.finish()
}

/// What a walk through the directories of one skill has seen.
struct DirectoryWalk<'a> {
    listed: &'a ListedSkill,
    files: &'a [SkillResource],
    /// Directories that were seen, so that none is walked twice.
    seen: BTreeSet<String>,
    waiting: VecDeque<String>,
    /// Files of the manifest that a directory shows.
    shown: BTreeSet<ResourceUri>,
    findings: Vec<Finding>,
}

impl<'a> DirectoryWalk<'a> {
    fn new(listed: &'a ListedSkill, files: &'a [SkillResource]) -> Self {
        let root = listed.id().uri.root().as_str().to_owned();
        Self {
            listed,
            files,
            seen: BTreeSet::from([root.clone()]),
            waiting: VecDeque::from([root]),
            shown: BTreeSet::new(),
            findings: Vec::new(),
        }
    }

    /// Notes one child that the server names in a directory.
    fn child(&mut self, directory: &str, child: &ReportedChild<'_>) {
        let uri = ResourceUri::parse(&child.uri).ok();
        let Some(uri) = uri.filter(|uri| uri.parent().is_some_and(|p| p.as_str() == directory))
        else {
            self.findings.push(Finding::must(
                Refusal::new(Reason::ResourceOutside)
                    .about(self.listed.id())
                    .file(directory)
                    .expected("children of this directory")
                    .actual(visible::truncated(&child.uri)),
            ));
            return;
        };
        if child.media_type.as_deref() == Some(DIRECTORY) {
            if self.seen.insert(uri.as_str().to_owned()) {
                self.waiting.push_back(uri.as_str().to_owned());
            }
        } else if find(self.files, &uri).is_some() {
            self.shown.insert(uri);
        } else {
            self.findings.push(Finding::must(
                Refusal::new(Reason::ManifestIncomplete)
                    .about(self.listed.id())
                    .file(&uri)
                    .expected("every file of the skill in its manifest"),
            ));
        }
    }

    /// Says what the server named too much of.
    fn excess(&self) -> Option<String> {
        if self.seen.len() > MAX_REQUESTS {
            return Some(format!("more than {MAX_REQUESTS} directories"));
        }
        (self.findings.len() > MAX_FINDINGS)
            .then(|| format!("more than {MAX_FINDINGS} children that do not belong there"))
    }

    /// Adds the files that no directory shows.
    fn finish(self) -> Vec<Finding> {
        let Self { listed, files, shown, mut findings, .. } = self;
        let missing = files.iter().filter(|file| !shown.contains(&file.uri));
        findings.extend(missing.map(|file| {
            Finding::must(
                Refusal::new(Reason::FileMissing)
                    .about(listed.id())
                    .file(&file.uri)
                    .expected("the file among its directory's children"),
            )
        }));
        findings
    }
}
