//! What the scanner says on the card of a skill, about bytes that were read already.

use std::io::{self, Write};

use super::{NamedSkill, Session};

/// The most findings that a card names.
#[cfg(feature = "scan")]
const MOST_FINDINGS: usize = 8;

/// Writes what is new since the user approved the skill, and what was not looked at.
///
/// Nothing is fetched for it: a file that the host has not read is not looked at.
#[cfg(feature = "scan")]
pub(crate) fn write(out: &mut impl Write, session: &Session, named: &NamedSkill) -> io::Result<()> {
    use skillwire_core::Resources;
    use skillwire_scan::{RuleSet, Severity, SkillFiles, UnseenReason, scan};

    use super::card::path;
    use crate::{
        output::{FAINT, WARNING, counted},
        refusals::argument,
        report::printable,
    };

    let (host, listed) = (session.host(), &named.listed);
    let Resources::Listed(resources) = &listed.entry().resources else { return Ok(()) };
    let uri = &listed.id().uri;
    let cached = |resource| host.inspect_cached(listed.id(), resource).map(|it| it.bytes);
    let mut now = SkillFiles::new();
    let mut unread = 0;
    for resource in resources {
        if let Some(bytes) = cached(resource) {
            now.add(path(uri, resource), bytes);
        } else {
            now.add_unread(path(uri, resource), Some(resource.size), UnseenReason::NotFetched);
            unread += 1;
        }
    }
    let looked = resources.len() - unread;
    if looked > 0 {
        let report = scan(&now, RuleSet::built_in());
        // What the user approved, as far as it is cached: the same files, and earlier ones.
        let mut before = SkillFiles::new();
        let changes = host.standing(listed).ok().and_then(|standing| match standing {
            skillwire_trust::Standing::Changed(changes) => Some(changes),
            _ => None,
        });
        if let Some(changes) = &changes {
            let is_new = |uri: &skillwire_core::ResourceUri| {
                changes.added.iter().any(|it| it.uri == *uri)
                    || changes.changed.iter().any(|(_, after)| after.uri == *uri)
            };
            let kept = resources.iter().filter(|it| !is_new(&it.uri));
            let earlier = changes.changed.iter().map(|(earlier, _)| earlier);
            for resource in kept.chain(earlier).chain(&changes.removed) {
                if let Some(bytes) = cached(resource) {
                    before.add(path(uri, resource), bytes);
                }
            }
        }
        let earlier = scan(&before, RuleSet::built_in());
        let new = report.new_since(&earlier).filter(|it| it.severity >= Severity::Medium);
        let since = if changes.is_some() { "New since you approved" } else { "The scanner found" };
        for finding in new.take(MOST_FINDINGS) {
            let place = finding.line().map_or_else(String::new, |line| format!(":{line}"));
            let file = printable(finding.file());
            let (severity, rule, title) = (finding.severity, &finding.rule, &finding.title);
            writeln!(
                out,
                "{WARNING}{since}{WARNING:#}: {severity}[{rule}] {file}{place}: {title}"
            )?;
        }
        if changes.is_some() {
            let reach = report.ledger.since(&earlier.ledger);
            for entry in reach.added.iter().filter(|it| it.kind == skillwire_scan::LedgerKind::Host)
            {
                let value = printable(&entry.value);
                writeln!(out, "{WARNING}{since}{WARNING:#}: it contacts `{value}`.")?;
            }
        }
    }
    if unread > 0 {
        let handle = argument(&named.handle);
        writeln!(
            out,
            "{FAINT}The scanner has not looked at {}; `skillwire scan {handle}` fetches and scans the \
             skill.{FAINT:#}",
            counted(unread, "file")
        )?;
    }
    Ok(())
}

/// Writes nothing: this build has no scanner.
#[cfg(not(feature = "scan"))]
#[expect(clippy::unnecessary_wraps, reason = "the other build writes")]
pub(crate) fn write(_: &mut impl Write, _: &Session, _: &NamedSkill) -> io::Result<()> {
    Ok(())
}
