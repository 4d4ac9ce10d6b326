//! The list of all skills.

use maud::{Markup, html};

use super::{layout::Frame, parts};
use crate::{
    addresses,
    model::{CatalogueQuery, CatalogueRow, CatalogueView},
    text::{marked_line, worded},
    texts as t,
};

pub(crate) fn catalogue(frame: &Frame, query: &CatalogueQuery, view: &CatalogueView) -> Markup {
    let chosen = |name: &str| query.filter(name).map(str::to_owned);
    html! {
        h1 { (t::section(frame.section)) }
        (parts::search_form("/", (Some(&query.words), t::SEARCH_SKILLS), &view.filters, &chosen))
        (parts::notices(&view.notices, &frame.form_token, "/"))
        (found(view))
        div #results { (list(query, view)) }
    }
}

/// What a search replaces: the number, and the list.
pub(crate) fn results(query: &CatalogueQuery, view: &CatalogueView) -> Markup {
    html! { (found(view)) (list(query, view)) }
}

/// How many skills were found. The element stays while its text changes, or a screen reader says nothing.
fn found(view: &CatalogueView) -> Markup {
    html! { p.found role="status" { (t::found(view.total, view.all)) } }
}

fn list(query: &CatalogueQuery, view: &CatalogueView) -> Markup {
    let pages = view.total.div_ceil(CatalogueQuery::PAGE).max(1);
    html! {
        @if view.rows.is_empty() {
            @if view.all == 0 { p.empty data-fills { (worded(view.empty.as_deref().unwrap_or(t::NO_SKILLS))) } } @else { p.empty { (t::NO_MATCH) } }
        } @else {
            ol.skills aria-label=(t::RESULTS) { @for row in &view.rows { (skill_row(row)) } }
        }
        (parts::pager(query.page, Some(pages), query.page + 1 < pages, &|page| addresses::list("/", query, page)))
    }
}

fn skill_row(row: &CatalogueRow) -> Markup {
    html! {
        li {
            div.head {
                a.title href=(addresses::skill(&row.key, "")) { (marked_line(&row.name)) }
                (parts::state(&row.state))
            }
            p.description { (marked_line(&row.description)) }
            p.meta {
                span { (t::FROM) " " (marked_line(&row.origin)) }
                (parts::scan_result(row.scan))
                @if let Some(signer) = &row.signer { span { (t::SIGNED_BY) " " (marked_line(signer)) } }
                @for mark in &row.marks { span.mark { (mark) } }
            }
        }
    }
}
