//! What the scanner says on the card of a skill, about bytes that were read already.

use skillwire_core::{ContentDiff, ResourceUri, Resources, SkillResource};
use skillwire_host::Host;
use skillwire_scan::{LedgerKind, RuleSet, Severity, SkillFiles, UnseenReason, scan};
use skillwire_trust::ApprovalCard;

use super::card::path;
use crate::{
    commands::scan::{ScanCache, finding_line},
    output::counted,
    report::printable,
};

/// The most findings, and the most new hosts, that a card names.
const MOST_NAMED: usize = 8;

/// The most bytes that are scanned for a card; what is beyond is not looked at.
const MOST_BYTES: u64 = 16 << 20;

/// What the scanner says about a skill that the user is asked about.
///
/// Nothing is fetched for it: a file that the host has not read is not looked at.
pub(crate) struct CardScan {
    /// What stands out, each a sentence. Of a skill that changed, only what is new.
    pub(crate) notes: Vec<String>,
    /// Which files were not looked at, if any: a sentence without its end.
    pub(crate) unseen: Option<String>,
}

impl CardScan {
    pub(crate) fn of(host: &Host, card: &ApprovalCard) -> Self {
        let Resources::Listed(resources) = &card.entry.resources else {
            let unseen = "The scanner has not looked at its files, which its server does not list";
            return Self { notes: Vec::new(), unseen: Some(unseen.to_owned()) };
        };
        let uri = &card.skill.uri;
        let cached =
            |file: &SkillResource| host.inspect_cached(&card.skill, file).map(|it| it.bytes);
        let mut now = SkillFiles::new();
        let mut unread = 0;
        let mut budget = MOST_BYTES;
        for file in resources {
            let left = budget.checked_sub(file.size);
            if let Some((left, bytes)) = left.and_then(|left| Some((left, cached(file)?))) {
                budget = left;
                now.add(path(uri, file), bytes);
            } else {
                unread += 1;
                now.add_unread(path(uri, file), Some(file.size), UnseenReason::NotFetched);
            }
        }
        let looked = resources.len() - unread;
        let notes = if looked == 0 {
            Vec::new()
        } else {
            let earlier = card.changes.as_ref().map(|changes| {
                approved_files(resources, changes).fold(SkillFiles::new(), |files, file| {
                    match cached(file) {
                        Some(bytes) => files.with(path(uri, file), bytes),
                        None => files,
                    }
                })
            });
            notes(&now, earlier.as_ref(), looked)
        };
        let unseen = (unread > 0)
            .then(|| format!("The scanner has not looked at {}", counted(unread, "file")));
        Self { notes, unseen }
    }
}

/// The files that the user approved: those that are as they were, and earlier versions.
fn approved_files<'a>(
    resources: &'a [SkillResource],
    changes: &'a ContentDiff,
) -> impl Iterator<Item = &'a SkillResource> {
    let is_new = |uri: &ResourceUri| {
        changes.added.iter().any(|it| it.uri == *uri)
            || changes.changed.iter().any(|(_, after)| after.uri == *uri)
    };
    let kept = resources.iter().filter(move |it| !is_new(&it.uri));
    kept.chain(changes.changed.iter().map(|(before, _)| before)).chain(&changes.removed)
}

/// What stands out in some files; what is new in them, if there are earlier ones.
fn notes(now: &SkillFiles, earlier: Option<&SkillFiles>, looked: usize) -> Vec<String> {
    let rules = RuleSet::built_in();
    let cache = ScanCache::open(false, rules);
    let report = cache.get_or(now, || scan(now, rules));
    let before = earlier.map(|files| cache.get_or(files, || scan(files, rules)));
    let (since, nothing) = match earlier {
        Some(_) => ("New since you approved", "nothing new since you approved"),
        None => ("The scanner found", "nothing"),
    };
    let before = before.unwrap_or_default();
    let new: Vec<_> =
        report.new_since(&before).filter(|it| it.severity >= Severity::Medium).collect();
    let mut notes = Vec::new();
    for finding in new.iter().take(MOST_NAMED) {
        notes.push(format!("{since}: {}", finding_line(finding)));
    }
    if new.len() > MOST_NAMED {
        notes.push(format!("{since}: {} more.", counted(new.len() - MOST_NAMED, "finding")));
    }
    if new.is_empty() {
        notes.push(format!("The scanner found {nothing} in {}.", counted(looked, "file")));
    }
    if earlier.is_some() {
        let reach = report.ledger.since(&before.ledger);
        let hosts = reach.added.iter().filter(|it| it.kind == LedgerKind::Host);
        let hosts = hosts.take(MOST_NAMED).map(|it| printable(&it.value));
        notes.extend(hosts.map(|host| format!("{since}: it contacts `{host}`.")));
    }
    notes
}
