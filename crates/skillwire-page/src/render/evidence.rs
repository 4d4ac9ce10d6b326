//! Findings with the text they rest on, and what a skill reaches out to.

use maud::{Markup, html};

use super::parts;
use crate::{
    model::{EvidenceLine, EvidenceView, FindingRow, ReachRow, SkillKey},
    text::{marked, marked_line},
    texts as t,
};

/// The kinds of things that a skill reaches out to, the most telling first.
const KINDS: [&str; 6] = ["host", "package", "command", "variable", "path", "url"];

pub(super) fn findings(key: &SkillKey, evidence: &EvidenceView) -> Markup {
    html! {
        @if !evidence.is_scanned { p.empty { (t::SCAN_NONE) } }
        @else if evidence.findings.is_empty() { p.empty { (t::SCAN_CLEAN) } }
        (finding_list(key, &evidence.findings))
        @if !evidence.unseen.is_empty() {
            details.unseen {
                summary { (t::UNSEEN) " " span.count { (t::grouped(evidence.unseen.len())) } }
                ul.plain-list {
                    @for unseen in &evidence.unseen {
                        li { code { (marked_line(&unseen.file)) } " " span.faint { (unseen.reason) } }
                    }
                }
            }
        }
    }
}

pub(super) fn finding_list(key: &SkillKey, findings: &[FindingRow]) -> Markup {
    html! {
        ol.findings { @for finding in findings { (finding_row(key, finding)) } }
    }
}

fn finding_row(key: &SkillKey, finding: &FindingRow) -> Markup {
    html! {
        li.(finding.severity.word()) {
            p.head {
                (parts::severity(finding.severity))
                strong { (marked_line(&finding.title)) }
                @if finding.is_new { span.mark.new { (t::NEW_MARK) } }
                @if finding.is_mentioned { span.mark { (t::MENTIONED) } }
                code.rule { (finding.rule) }
            }
            @for line in &finding.evidence { (evidence_line(key, line)) }
            @if finding.repeated > 0 { p.faint { (t::more_places(finding.repeated)) } }
        }
    }
}

fn evidence_line(key: &SkillKey, line: &EvidenceLine) -> Markup {
    html! {
        figure.evidence {
            figcaption {
                (parts::place(key, &line.file, line.line))
                @if let Some(step) = &line.step { " " span.faint { (marked_line(step)) } }
            }
            pre tabindex="0" { code { (marked(&line.text)) } }
            @if let Some((encoding, decoded)) = &line.decoded {
                p.faint { (encoding) ", " (t::DECODED) }
                pre.decoded tabindex="0" { code { (marked(decoded)) } }
            }
        }
    }
}

pub(super) fn reach(key: &SkillKey, evidence: &EvidenceView) -> Markup {
    html! {
        @if !evidence.is_scanned { p.empty { (t::SCAN_NONE) } }
        @else if evidence.reach.is_empty() { p.empty { (t::REACH_NONE) } }
        (reach_groups(key, &evidence.reach))
        @if evidence.reach_left_out > 0 { p.note { (t::more_reach(evidence.reach_left_out)) } }
    }
}

/// The things by kind.
pub(super) fn reach_groups(key: &SkillKey, rows: &[ReachRow]) -> Markup {
    html! {
        div.reach {
            @for kind in KINDS {
                @let of_kind: Vec<_> = rows.iter().filter(|row| row.kind == kind).collect();
                @if !of_kind.is_empty() {
                    section {
                        h3 { (t::reach_kind(kind)) " " span.count { (t::grouped(of_kind.len())) } }
                        ul { @for row in of_kind { (reach_row(key, row)) } }
                    }
                }
            }
        }
    }
}

fn reach_row(key: &SkillKey, row: &ReachRow) -> Markup {
    html! {
        li {
            code { (marked_line(&row.value)) }
            @if row.is_new { span.mark.new { (t::NEW_MARK) } }
            @if row.count > 1 { span.faint { "×" (t::grouped(row.count)) } }
            (parts::place(key, &row.file, Some(row.line)))
        }
    }
}
