//! Keeps skills out of a server in which the scanner finds something.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use skillwire_scan::{Severity, SkillFiles, UnseenReason};
use skillwire_source::{
    ChangeCallback, FileTree, Finding, InspectedSkill, ScanRequest, SkillContent, SkillLookup,
    SkillSource, SourceChange, SourceUnavailable, UriTemplate,
};

use crate::{args::SeverityArg, commands::scan::worst, report::printable};

/// A source without the skills that have a finding of some severity or worse.
///
/// The scan takes the same bytes that would be served: the store compares them with the published
/// digests. A skill of which a file cannot be read is left out as well, because nothing is known of it.
#[derive(Debug)]
pub(super) struct RefusingSource<S> {
    source: S,
    refused: Severity,
}

/// The source itself, or the source without skills that have findings to refuse.
pub(super) fn source(
    source: impl SkillSource + 'static,
    refused: Option<SeverityArg>,
) -> Box<dyn SkillSource> {
    match refused {
        Some(refused) => Box::new(RefusingSource { source, refused: refused.severity() }),
        None => Box::new(source),
    }
}

impl<S: SkillSource> RefusingSource<S> {
    fn without_findings(&self, mut inspected: InspectedSkill) -> InspectedSkill {
        let Some(SkillContent::Files(tree)) = inspected.skill.as_ref().map(|skill| &skill.content)
        else {
            return inspected;
        };
        if let Some(reason) = self.reason(tree, &inspected.origin) {
            tracing::warn!("`{}` is not served: {reason}", printable(&inspected.origin));
            inspected.skill = None;
        }
        inspected
    }

    /// Why a skill is not served. A finding that is silenced beside the skill's folder is no reason.
    fn reason(&self, tree: &FileTree, folder: &str) -> Option<String> {
        let mut files = SkillFiles::new();
        for file in &tree.files {
            match tree.store.read(&file.path, file.size) {
                Ok(bytes) => files.add(file.path.as_str(), bytes),
                Err(_) => {
                    files.add_unread(file.path.as_str(), Some(file.size), UnseenReason::Unreadable);
                }
            }
        }
        if !files.is_complete() {
            return Some("not all of its files could be scanned.".to_owned());
        }
        worst(&files, self.refused, Some(folder))
    }
}

impl<S: SkillSource> SkillSource for RefusingSource<S> {
    fn scan(
        &self,
        request: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        self.source.scan(request, &mut |change| {
            report(match change {
                SourceChange::Updated(key, skills) => {
                    let kept = skills.into_iter().map(|skill| self.without_findings(skill));
                    SourceChange::Updated(key, kept.collect())
                }
                removed @ SourceChange::Removed(_) => removed,
            });
        })
    }

    fn watched_directories(&self) -> Vec<PathBuf> {
        self.source.watched_directories()
    }

    fn scan_parts(&self) -> Vec<BTreeSet<PathBuf>> {
        self.source.scan_parts()
    }

    fn on_change(&self, callback: ChangeCallback) {
        self.source.on_change(callback);
    }

    fn lookup(&self) -> Option<Arc<dyn SkillLookup>> {
        self.source.lookup()
    }

    fn templates(&self) -> Vec<UriTemplate> {
        self.source.templates()
    }
}
