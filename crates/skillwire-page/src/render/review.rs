//! The queue, one review, and several at once.

use maud::{Markup, html};
use skillwire_core::visible::one_line;

use super::{
    diff::{self, DiffLayout},
    evidence,
    layout::Frame,
    parts, skill,
};
use crate::{
    addresses,
    model::{
        AnswerKind, BatchView, CatalogueQuery, QueueItem, QueueView, RecordedDecision, ReviewView,
        Section,
    },
    text::{marked_line, worded},
    texts as t,
};

pub(crate) fn queue(frame: &Frame, view: &QueueView, recent: &[RecordedDecision]) -> Markup {
    let pages = view.total.div_ceil(CatalogueQuery::PAGE).max(1);
    let chosen = |name: &str| view.query.filter(name).map(str::to_owned);
    html! {
        h1 { (t::section(Section::Review)) }
        (undoable(frame, recent))
        @if !view.filters.is_empty() {
            (parts::search_form("/review", (None, ""), &view.filters, &chosen))
        }
        @if view.items.is_empty() {
            p.empty data-fills { (worded(view.empty.as_deref().unwrap_or(t::QUEUE_EMPTY))) }
        } @else {
            p.found { (t::waiting(view.total)) }
            form method="post" action="/review/batch" {
                (parts::form_token(&frame.form_token))
                @if view.has_batch {
                    label.check.select-all hidden { input type="checkbox" data-select-all; (t::SELECT_ALL) }
                }
                ol.skills.queue data-queue {
                    @for (index, item) in view.items.iter().enumerate() { (queue_item(item, index, view.has_batch)) }
                }
                @if view.has_batch {
                    fieldset.batch {
                        legend { (t::WITH_SELECTED) }
                        p.selected role="status" data-selected=(t::SELECTED) {}
                        (reason_field())
                        button type="submit" name="answer" value=(view.batch.0.word()) { (t::REVIEW_SELECTED) }
                        button.danger type="submit" name="answer" value=(view.batch.1.word()) { (t::refuse_selected(view.batch.1)) }
                    }
                }
            }
            (parts::pager(view.page, Some(pages), view.page + 1 < pages, &|page| addresses::list("/review", &view.query, page)))
        }
        (key_help())
    }
}

fn queue_item(item: &QueueItem, index: usize, has_batch: bool) -> Markup {
    let label = format!("select-{index}");
    html! {
        li {
            @if has_batch {
                input type="checkbox" name="chosen" value={ (item.shown) " " (item.key) } id=(label) aria-label={ (t::SELECT) " " (one_line(&item.name)) };
            }
            div.item {
                div.head {
                    a.title href=(addresses::review(&item.key)) { (marked_line(&item.name)) }
                    (parts::state(&item.state))
                }
                p.description { (marked_line(&item.description)) }
                p.meta { span { (t::FROM) " " (marked_line(&item.origin)) } (parts::scan_result(item.scan)) }
            }
        }
    }
}

/// What can still be taken back.
fn undoable(frame: &Frame, recent: &[RecordedDecision]) -> Markup {
    if recent.is_empty() {
        return html! {};
    }
    html! {
        section.undo aria-label=(t::DECIDED_NOW) {
            h2 { (t::DECIDED_NOW) }
            p.faint { (t::UNDO_NOTE) }
            ul {
                @for decision in recent {
                    li {
                        span { strong { (marked_line(&decision.name)) } " " (t::answered(decision.answer)) }
                        form.inline method="post" action="/act/undo" {
                            (parts::act_fields(&frame.form_token, "/review"))
                            input type="hidden" name="token" value=(decision.token);
                            button.quiet type="submit" data-undo aria-label={ (t::UNDO) " " (one_line(&decision.name)) } { (t::UNDO) }
                        }
                    }
                }
            }
        }
    }
}

pub(crate) fn review(frame: &Frame, view: &ReviewView, recent: &[RecordedDecision]) -> Markup {
    let shown = &view.skill;
    let back = addresses::review(&shown.key);
    let (unread, _) = shown.unread();
    html! {
        p.crumbs { a href="/review" data-key="k" { "← " (t::BACK_TO_QUEUE) } span.faint { (t::waiting(view.waiting)) } }
        (undoable(frame, recent))
        (skill::heading(shown))
        (skill::summary(shown))
        @if view.asked_before > 0 { p.note { (t::asked_before(view.asked_before)) } }
        @for caution in &view.cautions { p.notice.warning { (worded(caution)) } }
        @if let Some(changes) = &view.diff {
            section.changes {
                h2 { (t::WHAT_CHANGED) }
                (diff::body(&frame.form_token, changes, "", DiffLayout::Unified, &back))
            }
        }
        section { h2 { (t::VIEW_FINDINGS) } (evidence::findings(&shown.key, &shown.evidence)) }
        section { h2 { (t::VIEW_TEXT) } (skill::instructions(&frame.form_token, shown, &back)) }
        @if !shown.evidence.reach.is_empty() {
            section { h2 { (t::VIEW_REACH) } (evidence::reach(&shown.key, &shown.evidence)) }
        }
        section { h2 { (t::VIEW_FILES) } (skill::files(shown, 0))
            @if unread > 0 {
                (parts::skill_button(&frame.form_token, ("read", t::act(crate::model::SkillAct::ReadFiles), ""), &shown.key, &back, &[]))
            }
        }
        details.more { summary { (t::ORIGIN) } (skill::fact_list(&shown.facts)) }
        details.more { summary { (t::FRONTMATTER) } (skill::fact_list(&shown.frontmatter)) }
        (decision_form(frame, view, unread))
        (key_help())
    }
}

fn decision_form(frame: &Frame, view: &ReviewView, unread: usize) -> Markup {
    let skill = &view.skill;
    html! {
        form.decision method="post" action="/act/decide" aria-label=(t::DECISION) data-decision {
            (parts::form_token(&frame.form_token))
            input type="hidden" name="id" value=(skill.key);
            input type="hidden" name="shown" value=(view.shown);
            @if let Some(next) = &view.next { input type="hidden" name="next" value=(next); }
            div.choices {
                p.about { strong { (marked_line(&skill.name)) } @if unread > 0 { " " span.warning-text { (t::UNREAD_CAUTION) } } }
                div.buttons {
                    @for answer in &view.answers {
                        @let class = match answer { AnswerKind::Always | AnswerKind::Approve => "primary", AnswerKind::No | AnswerKind::Reject => "danger", AnswerKind::Once => "" };
                        button type="submit" name="answer" value=(answer.word()) class=[(!class.is_empty()).then_some(class)] data-key=(t::key(*answer)) { (t::answer(*answer)) }
                    }
                    @if let Some(next) = &view.next { a.button.quiet href=(addresses::review(next)) data-key="j" { (t::SKIP_SKILL) } }
                }
            }
            @if !view.can_grant { (reason_field()) } @else {
            details.grants {
                summary { (t::GRANTS) " · " (t::REASON) }
                fieldset {
                    legend { (t::GRANTS) }
                    p.faint { (t::GRANTS_NOTE) }
                    @for (tool, granted) in skill.tools.iter().flatten() {
                        label.check { input type="checkbox" name="tool" value=(tool) checked[*granted]; code { (marked_line(tool)) } }
                    }
                    @if view.can_run { label.check { input type="checkbox" name="run" value="yes"; (t::GRANT_RUN) } }
                    @if skill.tools.as_ref().is_some_and(Vec::is_empty) && !view.can_run { p { (t::NO_TOOLS) } }
                }
                (reason_field())
            }
            }
        }
    }
}

fn reason_field() -> Markup {
    html! {
        label.reason { span { (t::REASON) } input type="text" name="reason" maxlength="500" autocomplete="off"; }
    }
}

/// Shows several decisions once more before they are recorded.
pub(crate) fn batch(frame: &Frame, view: &BatchView) -> Markup {
    let usable: Vec<_> = view.items.iter().filter(|item| item.is_as_chosen).collect();
    let is_refusal = matches!(view.answer, AnswerKind::No | AnswerKind::Reject);
    let class = if is_refusal { "danger" } else { "primary" };
    html! {
        p.crumbs { a href="/review" { "← " (t::CANCEL) } }
        h1 { (t::BATCH_TITLE) }
        @if matches!(view.answer, AnswerKind::Always | AnswerKind::Once) { p.lead { (t::BATCH_GRANTS) } }
        @if view.items.is_empty() { p.empty { (t::BATCH_NONE) } }
        ol.skills {
            @for item in &view.items {
                li {
                    div.head {
                        a.title href=(addresses::review(&item.review.skill.key)) { (marked_line(&item.review.skill.name)) }
                        (parts::state(&item.review.skill.state))
                    }
                    @if !item.is_as_chosen { p.notice.bad { (t::BATCH_MOVED) } }
                    p.description { (marked_line(&item.review.skill.description)) }
                    (skill::summary(&item.review.skill))
                }
            }
        }
        @if !usable.is_empty() {
            form.confirm method="post" action="/review/batch" {
                (parts::form_token(&frame.form_token))
                input type="hidden" name="confirmed" value="yes";
                input type="hidden" name="answer" value=(view.answer.word());
                @if let Some(reason) = &view.reason { input type="hidden" name="reason" value=(reason); }
                @for item in &usable { input type="hidden" name="chosen" value={ (item.review.shown) " " (item.review.skill.key) }; }
                button.(class) type="submit" { (t::batch_question(view.answer, usable.len())) }
                a.button.quiet href="/review" { (t::CANCEL) }
            }
        }
    }
}

fn key_help() -> Markup {
    html! {
        details.keys { summary { (t::KEYS) }
            dl { @for (key, meaning) in t::KEY_HELP { div { dt { kbd { (key) } } dd { (meaning) } } } }
            // Only a script listens to keys, so the button appears with it.
            button.quiet type="button" data-keys=(t::KEYS_OFF) data-on=(t::KEYS_ON) hidden { (t::KEYS_OFF) }
            p.faint role="status" data-keys-state=(t::KEYS_ARE_OFF) {}
        }
    }
}
