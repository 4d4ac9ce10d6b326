//! How clients connect.

use maud::{Markup, html};

use super::parts;
use crate::{
    model::{ConnectView, Section},
    text::marked_line,
    texts as t,
};

pub(crate) fn connect(view: &ConnectView) -> Markup {
    // Clients that are not here stay folded, unless none is.
    let is_any_here = view.entries.iter().any(|entry| entry.is_present || entry.is_connected);
    html! {
        h1 { (t::section(Section::Connect)) }
        p.lead { (crate::text::worded(&view.about)) }
        @if let Some(line) = &view.line { p { (t::CONNECT_ALL) } (parts::copyable(line)) }
        @if view.line.is_some() { p { (t::CONNECT_ONE) } }
        @for entry in &view.entries {
            details.client open[!is_any_here || entry.is_present || entry.is_connected] {
                summary {
                    h2 {
                        (entry.client)
                        @if entry.is_connected { span.pill.good { (t::CONNECTED) } }
                        @else if entry.is_present { span.pill.waiting { (t::PRESENT) } }
                    }
                }
                p { (t::PUT_INTO) " " code { (marked_line(&entry.file)) } }
                (parts::copyable(&entry.text))
            }
        }
    }
}
