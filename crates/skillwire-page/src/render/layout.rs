//! The frame around every view.

use maud::{DOCTYPE, Markup, html};
use skillwire_core::visible::one_line;

use super::parts;
use crate::{
    assets,
    model::{Section, Site},
    session::Flash,
    text::{marked_line, worded},
    texts as t,
};

/// What surrounds a view.
pub(crate) struct Frame {
    pub(crate) site: Site,
    pub(crate) section: Section,
    /// What forms carry; empty if the reader cannot act.
    pub(crate) form_token: String,
    pub(crate) flash: Option<Flash>,
    /// Which changes concern the view: `skills`, `events`, or none.
    pub(crate) follows: &'static str,
    /// Whether the reader can sign out.
    pub(crate) has_session: bool,
}

/// A whole page of a reader.
pub(crate) fn document(frame: &Frame, title: &str, view: &Markup) -> Markup {
    let site = &frame.site;
    let Site { name, place, sections, reader, .. } = site;
    let waiting = &site.live.waiting;
    html! {
        (DOCTYPE)
        html lang=(t::LANGUAGE) {
            (head(&t::title(title, name)))
            body data-follows=(frame.follows) data-skills=(site.live.skills) data-events=(site.live.events) {
                a.skip href="#main" { (t::SKIP) }
                header.bar {
                    div.brand {
                        a.name href="/" { (marked_line(name)) }
                        span.site { (marked_line(place)) }
                    }
                    nav aria-label=(t::NAVIGATION) {
                        ul {
                            @for section in sections {
                                li {
                                    a href=(section.path()) aria-current=[(*section == frame.section).then_some("page")] {
                                        (t::section(*section))
                                        @if *section == Section::Review {
                                            span.count data-live="waiting" hidden[*waiting == 0] { (t::grouped(*waiting)) }
                                        }
                                    }
                                }
                            }
                        }
                    }
                    @if frame.has_session {
                        form.sign-out method="post" action="/sign-out" {
                            @if let Some(reader) = reader { span.reader { (marked_line(reader)) } }
                            (parts::form_token(&frame.form_token))
                            button.quiet type="submit" { (t::SIGN_OUT) }
                        }
                    }
                }
                main #main tabindex="-1" {
                    div.live role="status" aria-live="polite" {
                        p.news hidden { (t::LIVE_NEWS) " " a href="" { (t::LIVE_SHOW) } }
                        p.lost hidden { (t::LIVE_LOST) }
                    }
                    @if let Some(flash) = &frame.flash {
                        p.flash.(flash.tone.class()) role="status" { (worded(&flash.text)) }
                    }
                    (view)
                }
            }
        }
    }
}

/// A page for a reader who is not signed in.
pub(crate) fn bare(title: &str, refresh_to: Option<&str>, view: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang=(t::LANGUAGE) {
            head {
                (head_parts(title))
                @if let Some(to) = refresh_to { meta http-equiv="refresh" content=(format!("0; url={to}")); }
            }
            body.bare { main #main { h1 { (one_line(title)) } (view) } }
        }
    }
}

/// A view that says what went wrong.
pub(crate) fn problem(title: &str, sentence: &str) -> Markup {
    html! {
        h1 { (title) }
        p { (worded(sentence)) }
        p { a href="/" { "← " (t::ALL_SKILLS) } }
    }
}

fn head(title: &str) -> Markup {
    html! { head { (head_parts(title)) } }
}

fn head_parts(title: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        title { (one_line(title)) }
        link rel="stylesheet" href=(assets::style_address());
        link rel="icon" href=(assets::icon_address()) type="image/svg+xml";
        script src=(assets::script_address()) defer {}
    }
}
