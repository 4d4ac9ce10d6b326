//! One file, a part at a time.

use maud::{Markup, html};
use skillwire_core::visible::one_line;

use super::{layout::Frame, parts};
use crate::{
    addresses,
    model::{FileContent, FileView},
    text::{marked_line, numbered_lines},
    texts as t,
};

/// How many lines one page shows.
const LINES: usize = 1_000;

/// How many bytes of lines one page shows.
const BYTES: usize = 256 * 1024;

/// Returns the first line of the page that shows a line.
pub(crate) fn first_line_of_page(line: usize) -> usize {
    line.saturating_sub(1) / LINES * LINES + 1
}

/// Returns the lines that the first page shows.
pub(super) fn first_page(text: &str) -> Vec<&str> {
    lines_from(text, 1)
}

/// Returns the lines of a page; a page ends early if its lines are long.
fn lines_from(text: &str, first: usize) -> Vec<&str> {
    let mut room = BYTES;
    let lines = text.lines().skip(first - 1).take(LINES);
    // The first line is always shown; one that is too long is cut when it is drawn.
    let fits = |(index, line): &(usize, &str)| {
        let left = room.checked_sub(line.len().min(BYTES / 4) + 1);
        room = left.unwrap_or(0);
        *index == 0 || left.is_some()
    };
    lines.enumerate().take_while(fits).map(|(_, line)| line).collect()
}

pub(crate) fn file(frame: &Frame, view: &FileView, from: usize) -> Markup {
    let FileView { key, skill, file, digest, content } = view;
    let back = addresses::file(key, &file.path);
    html! {
        p.crumbs { a href=(addresses::skill(key, "files")) { "← " (marked_line(skill)) } }
        h1.path { (marked_line(&file.path)) }
        p.meta {
            span { (file.media_type) }
            @if let Some(bytes) = file.size { span { (t::size(bytes)) } }
            @if let Some(digest) = digest { span { (t::DIGEST) " " code { (digest) } } }
        }
        @match content {
            FileContent::Text(text) => {
                @if file.media_type == "image/svg+xml" { p.note { (t::SVG) } }
                (text_page(view, text, from.max(1)))
            }
            FileContent::Image => div.frame {
                p.frame-note { (t::CONTENT_FRAME) }
                img.preview src=(addresses::image(key, &file.path)) alt=(one_line(&file.path));
            },
            FileContent::Other => p.empty { (t::BINARY) },
            FileContent::Failed(reason) => p.flash.bad { (marked_line(reason)) },
            FileContent::NotRead => div.unread {
                p { (t::NOT_READ) }
                @if !frame.form_token.is_empty() {
                    (parts::skill_button(&frame.form_token, ("read", t::READ_IT, "primary"), key, &back, &[("path", &file.path)]))
                }
            },
        }
    }
}

fn text_page(view: &FileView, text: &str, from: usize) -> Markup {
    let all = text.lines().count();
    let from = from.min(all.max(1));
    let shown = lines_from(text, from);
    let last = from + shown.len().max(1) - 1;
    let earlier = from.saturating_sub(LINES).max(1);
    let (key, path) = (&view.key, view.file.path.as_str());
    html! {
        p.found { (t::lines_of(from, last.min(all), all)) }
        div.frame {
            p.frame-note { (t::CONTENT_FRAME) }
            pre.source tabindex="0" aria-label=(t::CONTENT_LABEL) { code { (numbered_lines(from, shown.iter().copied())) } }
        }
        nav.pager aria-label=(t::PAGES) {
            @if from > 1 { a rel="prev" href=(addresses::file_from(key, path, earlier)) { "← " (t::EARLIER_LINES) } }
            @if last < all { a rel="next" href=(addresses::file_from(key, path, last + 1)) { (t::LATER_LINES) " →" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_file_have_bounded_lines_and_bytes() {
        let many = "x\n".repeat(1_000_000);
        assert_eq!(lines_from(&many, 999_001).len(), LINES);
        let long = format!("{}\n", "y".repeat(100_000)).repeat(50);
        assert!(lines_from(&long, 1).len() <= 4);
        let one = "z".repeat(5_000_000);
        assert_eq!(lines_from(&one, 1).len(), 1);
        assert_eq!((first_line_of_page(1_000), first_line_of_page(1_001)), (1, 1_001));
    }
}
