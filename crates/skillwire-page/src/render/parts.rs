//! Small pieces that several views share.

use maud::{Markup, html};

use crate::{
    addresses,
    model::{FilterGroup, Notice, RowAct, ScanResult, Severity, SkillKey, SkillState},
    text::{marked_line, worded},
    texts as t,
};

pub(super) fn form_token(token: &str) -> Markup {
    html! { input type="hidden" name="form" value=(token); }
}

/// The fields of every form that acts: its token, and where to go afterwards.
pub(super) fn act_fields(token: &str, back: &str) -> Markup {
    html! { (form_token(token)) input type="hidden" name="back" value=(back); }
}

/// A form with one button, for an act about a skill.
pub(super) fn skill_button(
    token: &str,
    (act, label, class): (&str, &str, &str),
    key: &SkillKey,
    back: &str,
    more: &[(&str, &str)],
) -> Markup {
    html! {
        form.inline method="post" action={ "/act/" (act) } {
            (act_fields(token, back))
            input type="hidden" name="id" value=(key);
            @for (name, value) in more { input type="hidden" name=(name) value=(value); }
            button type="submit" class=[(!class.is_empty()).then_some(class)] { (label) }
        }
    }
}

/// A button for an act that only the provider knows.
pub(super) fn own_button(token: &str, act: &RowAct, back: &str) -> Markup {
    html! {
        form.inline method="post" action="/act/own" {
            (act_fields(token, back))
            input type="hidden" name="name" value=(act.name);
            input type="hidden" name="about" value=(act.about);
            button type="submit" { (act.label) }
        }
    }
}

pub(super) fn state(state: &SkillState) -> Markup {
    html! {
        span.pill.(state.tone.class()) { (state.word) }
        @if let Some(detail) = &state.detail { span.pill-detail { (marked_line(detail)) } }
    }
}

pub(super) fn severity(severity: Severity) -> Markup {
    html! { span.severity.(severity.word()) { (severity.word()) } }
}

/// The worst finding of a scan that was made, or that none was; nothing if that is not known.
pub(super) fn scan_result(result: ScanResult) -> Markup {
    match result {
        ScanResult::Unknown => html! {},
        ScanResult::NotScanned => html! { span.faint { (t::NOT_SCANNED) } },
        ScanResult::NoFindings => html! { span.faint { (t::NO_FINDINGS) } },
        ScanResult::Worst(found) => severity(found),
    }
}

pub(super) fn notices(notices: &[Notice], token: &str, back: &str) -> Markup {
    html! {
        @for notice in notices {
            div.notice.(notice.tone.class()) {
                p { (worded(&notice.text)) }
                @if let Some(act) = &notice.act { (own_button(token, act, back)) }
            }
        }
    }
}

/// The words and filters of a list, as a form that works without a script.
pub(super) fn search_form(
    path: &str,
    (words, label): (Option<&str>, &str),
    groups: &[FilterGroup],
    chosen: &dyn Fn(&str) -> Option<String>,
) -> Markup {
    html! {
        form.search role="search" method="get" action=(path) data-search {
            @if let Some(words) = words {
                label.words {
                    span { (label) }
                    input type="search" name="q" value=(words) placeholder=[(label == t::SEARCH_SKILLS).then_some(t::SEARCH_HINT)] autocomplete="off" spellcheck="false";
                }
            }
            @for group in groups {
                @let now = chosen(group.name);
                label {
                    span { (group.label) }
                    select name=(group.name) {
                        option value="" { (t::ANY) }
                        @for choice in &group.choices {
                            option value=(choice.value) selected[now.as_deref() == Some(choice.value.as_str())] { (choice.label) }
                        }
                    }
                }
            }
            button type="submit" { @if words.is_some() { (t::SEARCH) } @else { (t::APPLY) } }
        }
    }
}

/// Links to the pages before and after.
pub(super) fn pager(
    page: usize,
    pages: Option<usize>,
    has_more: bool,
    address: &dyn Fn(usize) -> String,
) -> Markup {
    if page == 0 && !has_more {
        return html! {};
    }
    html! {
        nav.pager aria-label=(t::PAGES) {
            @if page > 0 { a rel="prev" href=(address(page - 1)) { "← " (t::PREVIOUS) } }
            @if let Some(pages) = pages { span { (t::page_of(page, pages)) } }
            @if has_more { a rel="next" href=(address(page + 1)) { (t::NEXT) " →" } }
        }
    }
}

/// A text to copy, with its button. The button does nothing without a script, so it appears with it.
pub(super) fn copyable(text: &str) -> Markup {
    html! {
        div.copyable {
            pre tabindex="0" { code { (text) } }
            button type="button" data-copy hidden data-done=(t::COPIED) { (t::COPY) }
        }
    }
}

/// A place in a file of a skill.
pub(super) fn place(key: &SkillKey, file: &str, line: Option<usize>) -> Markup {
    html! {
        a.place href=(addresses::line(key, file, line)) {
            (marked_line(file)) @if let Some(line) = line { ":" (line) }
        }
    }
}
