//! Tables of other things than skills.

use maud::{Markup, html};

use super::{layout::Frame, parts};
use crate::{
    addresses,
    model::{Cell, TableQuery, TableRow, TableView},
    text::{marked, marked_line, worded},
    texts as t,
};

pub(crate) fn table(frame: &Frame, query: &TableQuery, view: &TableView) -> Markup {
    let path = frame.section.path();
    let back = addresses::table(path, query, query.page);
    let chosen = |name: &str| query.filter(name).map(str::to_owned);
    let has_acts = view.rows.iter().any(|row| !row.acts.is_empty()) && !frame.form_token.is_empty();
    let words = view.has_search.then_some(query.words.as_str());
    html! {
        h1 { (t::section(frame.section)) }
        @if !view.about.is_empty() { p.lead { (worded(&view.about)) } }
        (parts::notices(&view.notices, &frame.form_token, &back))
        @if view.has_search || !view.filters.is_empty() {
            (parts::search_form(path, (words, t::SEARCH), &view.filters, &chosen))
        }
        @if !view.exports.is_empty() && !view.rows.is_empty() {
            p.exports { (t::EXPORT) ": "
                @for format in &view.exports { a href=(addresses::export(path, query, format)) download { (format) } " " }
            }
        }
        @if view.rows.is_empty() && query.page > 0 {
            // A log says neither how long it is nor which page is its last.
            p.empty { (t::BEYOND_THE_END) " " a href=(addresses::table(path, query, 0)) { (t::FIRST_PAGE) } }
        } @else if view.rows.is_empty() {
            p.empty data-fills { @if view.empty.is_empty() { (t::NO_ROWS) } @else { (worded(&view.empty)) } }
        } @else {
            div.scroll tabindex="0" role="region" aria-label=(t::section(frame.section)) {
                // The roles stay when a narrow screen shows each row as a card.
                table.rows role="table" {
                    thead role="rowgroup" { tr role="row" {
                        @for column in &view.columns { th scope="col" role="columnheader" { (column) } }
                        @if has_acts { th scope="col" role="columnheader" { (t::ACTS) } }
                    } }
                    tbody role="rowgroup" {
                        @for row in &view.rows { (table_row(frame, (&view.columns, row), has_acts, &back)) }
                    }
                }
            }
        }
        @if !view.rows.is_empty() || query.page == 0 { (parts::pager(query.page, view.total.map(|total| total.div_ceil(TableQuery::PAGE).max(1)), view.has_more, &|page| addresses::table(path, query, page))) }
    }
}

fn table_row(
    frame: &Frame,
    (columns, row): (&[&'static str], &TableRow),
    has_acts: bool,
    back: &str,
) -> Markup {
    html! {
        tr role="row" {
            @for (cell, column) in row.cells.iter().zip(columns) {
                td role="cell" data-label=(column) { (table_cell(cell)) }
            }
            @if has_acts { td.row-acts role="cell" { @for act in &row.acts { (parts::own_button(&frame.form_token, act, back)) } } }
        }
    }
}

fn table_cell(cell: &Cell) -> Markup {
    match cell {
        Cell::Text(text) => marked_line(text),
        Cell::Sentence(text) => html! { span.sentence { (worded(text)) } },
        Cell::Code(text) => html! { code { (marked(text)) } },
        Cell::Time(time) => html! { time datetime=(time) { (time) } },
        Cell::State(tone, word) => html! { span.pill.(tone.class()) { (word) } },
        Cell::Skill(key, name) => {
            html! { a href=(addresses::skill(key, "")) { (marked_line(name)) } }
        }
        Cell::Detailed(text, detail) => html! {
            (marked_line(text))
            @if !detail.is_empty() { div.faint { (marked_line(detail)) } }
        },
    }
}
