//! One skill, in several views.

use maud::{Markup, html};

use super::{evidence, layout::Frame, parts};
use crate::{
    addresses,
    model::{FactRow, FileRow, Severity, SkillAct, SkillText, SkillView},
    text::{ContentLinks, marked, marked_line, numbered_lines, rendered, worded},
    texts as t,
};

/// The most files that one page lists.
const MAX_FILES: usize = 2_000;

/// The longest description that stands above everything else.
const MAX_DESCRIPTION: usize = 2_000;

/// A view of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkillTab {
    Text,
    Raw,
    Files,
    Findings,
    Reach,
    Facts,
    Versions,
}

impl SkillTab {
    const ALL: [Self; 7] = [
        Self::Text,
        Self::Raw,
        Self::Files,
        Self::Findings,
        Self::Reach,
        Self::Facts,
        Self::Versions,
    ];

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tab| tab.word() == word)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Text => "",
            Self::Raw => "raw",
            Self::Files => "files",
            Self::Findings => "findings",
            Self::Reach => "reach",
            Self::Facts => "details",
            Self::Versions => "versions",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Text => t::VIEW_TEXT,
            Self::Raw => t::VIEW_RAW,
            Self::Files => t::VIEW_FILES,
            Self::Findings => t::VIEW_FINDINGS,
            Self::Reach => t::VIEW_REACH,
            Self::Facts => t::VIEW_FACTS,
            Self::Versions => t::VIEW_VERSIONS,
        }
    }

    fn count(self, skill: &SkillView) -> Option<usize> {
        match self {
            Self::Text | Self::Raw | Self::Facts => None,
            Self::Files => skill.files.as_ref().map(Vec::len),
            Self::Findings => skill.evidence.is_scanned.then_some(skill.evidence.findings.len()),
            Self::Reach => skill.evidence.is_scanned.then_some(skill.evidence.reach.len()),
            Self::Versions => Some(skill.versions.len()),
        }
    }
}

pub(crate) fn skill(frame: &Frame, skill: &SkillView, tab: SkillTab, page: usize) -> Markup {
    let back = addresses::skill(&skill.key, tab.word());
    html! {
        (heading(skill))
        div.acts {
            @if skill.can_review { a.button.primary href=(addresses::review(&skill.key)) { (t::DECIDE) } }
            @if skill.has_diff { a.button href=(addresses::diff(&skill.key, "", "", "")) { (t::WHAT_CHANGED) } }
            @for act in &skill.acts { (act_button(&frame.form_token, skill, *act, &back)) }
        }
        @for install in &skill.install {
            section.install {
                h2 { (t::INSTALL) }
                p { (install.label) }
                (parts::copyable(&install.line))
            }
        }
        (summary(skill))
        nav.tabs aria-label=(t::VIEWS) {
            ul {
                @for each in SkillTab::ALL {
                    @if each != SkillTab::Versions || !skill.versions.is_empty() {
                        li {
                            a href=(addresses::skill(&skill.key, each.word())) aria-current=[(each == tab).then_some("page")] {
                                (each.label())
                                @if let Some(count) = each.count(skill) { " " span.count { (t::grouped(count)) } }
                            }
                        }
                    }
                }
            }
        }
        div.tab {
            h2.unseen-title { (tab.label()) }
            @match tab {
                SkillTab::Text => (instructions(&frame.form_token, skill, &back)),
                SkillTab::Raw => (raw(&frame.form_token, skill, &back)),
                SkillTab::Files => (files(skill, page)),
                SkillTab::Findings => (evidence::findings(&skill.key, &skill.evidence)),
                SkillTab::Reach => (evidence::reach(&skill.key, &skill.evidence)),
                SkillTab::Facts => (facts(skill)),
                SkillTab::Versions => (versions(skill)),
            }
        }
    }
}

pub(super) fn heading(skill: &SkillView) -> Markup {
    let description: String = skill.description.chars().take(MAX_DESCRIPTION).collect();
    html! {
        div.skill-head {
            h1 { (marked_line(&skill.name)) }
            (parts::state(&skill.state))
        }
        p.meta { span { (t::FROM) " " (marked_line(&skill.origin)) } }
        p.lead { (marked_line(&description)) }
    }
}

/// What a reader should see at a glance, before any text.
pub(super) fn summary(skill: &SkillView) -> Markup {
    let evidence = &skill.evidence;
    let count = |severity| evidence.findings.iter().filter(|it| it.severity == severity).count();
    let hosts = evidence.reach.iter().filter(|it| it.kind == "host").count();
    let (unread, bytes) = skill.unread();
    html! {
        ul.summary {
            @for severity in [Severity::Critical, Severity::High, Severity::Medium] {
                @let found = count(severity);
                @if found > 0 { li.(severity.word()) { (t::findings(found, severity)) } }
            }
            @if evidence.is_scanned && evidence.worst().is_none_or(|worst| worst < Severity::Medium) {
                li { @if unread == 0 { (t::NO_FINDINGS) } @else { (t::NO_FINDINGS_SO_FAR) } }
            }
            @if hosts > 0 { li { (t::counted(hosts, "host")) } }
            @if let Some(files) = &skill.files {
                li { (t::counted(files.len(), "file")) }
            }
            @if let Some(tools) = skill.tools.as_ref().filter(|tools| !tools.is_empty()) { li.medium { (t::counted(tools.len(), "tool")) " " (t::REQUESTED_SHORT) } }
            @if unread > 0 { li { (t::unread(unread, bytes)) } }
            @for (tone, sentence) in skill.signature.iter().flatten().take(1) { li.(tone.class()) { (marked_line(sentence)) } }
        }
    }
}

fn act_button(token: &str, skill: &SkillView, act: SkillAct, back: &str) -> Markup {
    let (name, class) = match act {
        SkillAct::ReadFiles => ("read", ""),
        SkillAct::Refresh => ("refresh", ""),
        SkillAct::Revoke => ("revoke", "danger"),
        SkillAct::Disable => ("disable", ""),
        SkillAct::Enable => ("enable", ""),
    };
    parts::skill_button(token, (name, t::act(act), class), &skill.key, back, &[])
}

/// What stands instead of a text that is not there.
fn no_text(token: &str, skill: &SkillView, text: &SkillText, back: &str) -> Markup {
    match text {
        SkillText::Read(_) => html! {},
        SkillText::NotText => html! { p.empty { (t::NOT_TEXT) } },
        SkillText::Failed(reason) => html! { p.flash.bad { (marked_line(reason)) } },
        SkillText::NotRead => {
            let file = [("path", skillwire_core::SKILL_FILE)];
            html! {
                div.unread {
                    p { (t::NOT_READ) }
                    @if !token.is_empty() {
                        (parts::skill_button(token, ("read", t::READ_IT, "primary"), &skill.key, back, &file))
                    }
                }
            }
        }
    }
}

/// The instructions as a reader of Markdown sees them.
pub(super) fn instructions(token: &str, skill: &SkillView, back: &str) -> Markup {
    let SkillText::Read(text) = &skill.text else {
        return no_text(token, skill, &skill.text, back);
    };
    let file = |path: &str| {
        let found = skill.files.iter().flatten().find(|file| file.path == path)?;
        Some(
            found.is_read
                && found.media_type.starts_with("image/")
                && found.media_type != "image/svg+xml",
        )
    };
    let links = ContentLinks { key: &skill.key, base: skillwire_core::SKILL_FILE, file: &file };
    let body = rendered(text, &links);
    html! {
        div.frame {
            p.frame-note { (t::CONTENT_FRAME) }
            div.content role="region" aria-label=(t::CONTENT_LABEL) tabindex="0" {
                @if body.0.trim().is_empty() { p.empty { (t::NO_BODY) } } @else { (body) }
            }
        }
    }
}

/// The instructions byte for byte, with hidden characters marked.
pub(super) fn raw(token: &str, skill: &SkillView, back: &str) -> Markup {
    let SkillText::Read(text) = &skill.text else {
        return no_text(token, skill, &skill.text, back);
    };
    let shown = super::file::first_page(text);
    html! {
        div.frame {
            p.frame-note { (t::CONTENT_FRAME) }
            pre.source tabindex="0" aria-label=(t::CONTENT_LABEL) { code { (numbered_lines(1, shown.iter().copied())) } }
        }
        @if shown.len() < text.lines().count() {
            p { a href=(addresses::file_from(&skill.key, skillwire_core::SKILL_FILE, shown.len() + 1)) { (t::LATER_LINES) } }
        }
    }
}

/// One page of the files of a skill.
pub(super) fn files(skill: &SkillView, page: usize) -> Markup {
    let Some(files) = &skill.files else { return html! { p.empty { (t::DYNAMIC_FILES) } } };
    if files.is_empty() {
        return html! { p.empty { (t::NO_FILES) } };
    }
    // The instructions first, then what lies beside them, then one folder after the other.
    let mut shown: Vec<&FileRow> = files.iter().collect();
    shown
        .sort_by_key(|file| (file.path != skillwire_core::SKILL_FILE, folder_of(file), &file.path));
    let pages = files.len().div_ceil(MAX_FILES);
    let page = page.min(pages - 1);
    let shown = &shown[page * MAX_FILES..files.len().min((page + 1) * MAX_FILES)];
    html! {
        div.scroll tabindex="0" role="region" aria-label=(t::VIEW_FILES) {
            table.files {
                thead { tr { th scope="col" { (t::FILE) } th scope="col" { span.kind { (t::TYPE) } } th.number scope="col" { (t::SIZE) } } }
                @for folder in shown.chunk_by(|a, b| folder_of(a) == folder_of(b)) {
                    (folder_rows(skill, folder))
                }
            }
        }
        (parts::pager(page, Some(pages), page + 1 < pages, &|page| addresses::files(&skill.key, page)))
    }
}

/// The folder of a file, with a slash at its end; empty for a file that lies beside `SKILL.md`.
fn folder_of(file: &FileRow) -> &str {
    file.path.rfind('/').map_or("", |slash| &file.path[..=slash])
}

/// The files of one folder below its path, so that a deep tree costs one line for each folder.
fn folder_rows(skill: &SkillView, files: &[&FileRow]) -> Markup {
    let folder = files.first().map_or("", |file| folder_of(file));
    let bytes: Option<u64> = files.iter().map(|file| file.size).sum();
    html! {
        tbody {
            @if !folder.is_empty() {
                tr.folder {
                    th scope="rowgroup" { (marked_line(folder)) }
                    td { (t::counted(files.len(), "file")) }
                    td.number { @if let Some(bytes) = bytes { (t::size(bytes)) } }
                }
            }
            @for file in files {
                tr.inside[!folder.is_empty()] {
                    td { a href=(addresses::file(&skill.key, &file.path)) { (marked_line(&file.path[folder.len()..])) } }
                    td { span.kind { (file.media_type) } @if !file.is_read { " " span.faint { (t::FILE_UNREAD) } } }
                    td.number { @if let Some(bytes) = file.size { (t::size(bytes)) } }
                }
            }
        }
    }
}

pub(super) fn fact_list(rows: &[FactRow]) -> Markup {
    html! {
        dl.facts {
            @for row in rows {
                dt { (marked_line(&row.name)) }
                dd { @if row.is_code { code { (marked(&row.value)) } } @else { bdi { (marked(&row.value)) } } }
            }
        }
    }
}

pub(super) fn tools(skill: &SkillView) -> Markup {
    html! {
        @let tools = skill.tools.as_deref();
        @if tools.is_none() {
            p { (worded(t::TOOLS_UNKNOWN)) }
        } @else if tools.is_some_and(<[_]>::is_empty) {
            p { (t::NO_TOOLS) }
        } @else {
            p { (t::TOOLS_NOTE) }
            ul.plain-list {
                @for (tool, granted) in tools.into_iter().flatten() {
                    li { code { (marked_line(tool)) } " " span.faint { @if *granted { (t::GRANTED) } @else { (t::NOT_GRANTED) } } }
                }
            }
        }
    }
}

fn facts(skill: &SkillView) -> Markup {
    html! {
        h2 { (t::ORIGIN) }
        (fact_list(&skill.facts))
        @if !skill.grants.is_empty() {
            h2 { (t::APPROVED_FOR) }
            ul.plain-list { @for line in &skill.grants { li { (marked_line(line)) } } }
        }
        h2 { (t::REQUESTED_TOOLS) }
        (tools(skill))
        @if let Some(signature) = &skill.signature {
            h2 { (t::SIGNATURE) }
            @if signature.is_empty() { p { (t::NO_SIGNATURE_RULES) } }
            @for (tone, sentence) in signature { p.(tone.class()) { (marked_line(sentence)) } }
        }
        h2 { (t::FRONTMATTER) }
        (fact_list(&skill.frontmatter))
    }
}

fn versions(skill: &SkillView) -> Markup {
    html! {
        ol.versions {
            @for version in &skill.versions {
                li {
                    a.title href=(addresses::skill(&version.key, "")) { (marked_line(&version.number)) }
                    (parts::state(&version.state))
                    @if version.is_shown { span.mark { (t::NEWEST) } }
                    span.faint { (version.at) " " (marked_line(&version.by)) }
                    @if !version.is_shown {
                        a href=(addresses::diff(&skill.key, version.key.as_str(), "", "")) { (t::COMPARE) }
                    }
                }
            }
        }
    }
}
