//! What differs between two versions.

use maud::{Markup, html};
use skillwire_core::{LineChange, visible::one_line};

use super::{evidence, layout::Frame, parts};
use crate::{
    addresses,
    model::{DiffView, FieldChange, FileChange, FileLines, Hunk, HunkLine},
    text::{marked, marked_line},
    texts as t,
};

/// The longest line of a comparison that is shown whole.
const MAX_LINE_CHARS: usize = 2_000;

/// How the lines of both versions stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiffLayout {
    Split,
    Unified,
}

impl DiffLayout {
    pub(crate) fn parse(word: &str) -> Self {
        if word == "unified" { Self::Unified } else { Self::Split }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Unified => "unified",
        }
    }
}

pub(crate) fn diff(frame: &Frame, view: &DiffView, since: &str, layout: DiffLayout) -> Markup {
    let back = addresses::diff(&view.key, since, layout.word(), "");
    html! {
        p.crumbs { a href=(addresses::skill(&view.key, "")) { "← " (marked_line(&view.name)) } }
        h1 { (t::WHAT_CHANGED) }
        p.lead { (t::compared(&view.before, &view.after)) }
        nav.tabs aria-label=(t::DIFF_LAYOUT) {
            ul {
                @for (each, label) in [(DiffLayout::Split, t::SPLIT), (DiffLayout::Unified, t::UNIFIED)] {
                    li { a href=(addresses::diff(&view.key, since, each.word(), "")) aria-current=[(each == layout).then_some("page")] { (label) } }
                }
            }
        }
        (body(&frame.form_token, view, since, layout, &back))
    }
}

/// The comparison without its heading, for the review as well.
pub(super) fn body(
    token: &str,
    view: &DiffView,
    since: &str,
    layout: DiffLayout,
    back: &str,
) -> Markup {
    let is_empty = view.fields.is_empty() && view.files.is_empty();
    html! {
        @if is_empty { p.empty { (t::NOTHING_CHANGED) } }
        @if view.unread > 0 && !token.is_empty() {
            div.unread {
                p { (t::NOT_READ) }
                (parts::skill_button(token, ("read", t::READ_IT, "primary"), &view.key, back, &[]))
            }
        }
        @if !view.reach_added.is_empty() {
            section.newly { h2 { (t::NEWLY_CONTACTS) } (evidence::reach_groups(&view.key, &view.reach_added)) }
        }
        @if !view.findings.is_empty() {
            section { h2 { (t::NEW_FINDINGS) } (evidence::finding_list(&view.key, &view.findings)) }
        }
        @if !view.fields.is_empty() { (fields(&view.fields)) }
        @if !view.files.is_empty() {
            section {
                h2 { (t::CHANGED_FILES) " " span.count { (t::grouped(view.files.len())) } }
                @for file in &view.files { (changed_file(view, file, since, layout)) }
            }
        }
        @if !view.reach_removed.is_empty() {
            section { h2 { (t::NO_LONGER) } (evidence::reach_groups(&view.key, &view.reach_removed)) }
        }
    }
}

fn fields(fields: &[FieldChange]) -> Markup {
    let value = |value: &Option<String>| {
        let absent = || html! { span.faint { (t::ABSENT) } };
        value.as_deref().map_or_else(absent, marked)
    };
    html! {
        section {
            h2 { (t::CHANGED_FIELDS) }
            div.scroll tabindex="0" role="region" aria-label=(t::CHANGED_FIELDS) {
                table.fields {
                    thead { tr { th scope="col" { (t::FIELD) } th scope="col" { (t::BEFORE) } th scope="col" { (t::AFTER) } } }
                    tbody {
                        @for field in fields {
                            tr {
                                th scope="row" { code { (marked_line(&field.name)) } }
                                td.removed { (value(&field.before)) }
                                td.added { (value(&field.after)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn changed_file(view: &DiffView, file: &FileChange, since: &str, layout: DiffLayout) -> Markup {
    let note = |sentence: &str| html! { p.note { (sentence) } };
    html! {
        details.file-diff open[!matches!(file.lines, FileLines::LeftOut)] {
            summary {
                span.change.(t::change(file.kind)) { (t::change(file.kind)) }
                " " code { (marked_line(&file.path)) }
                span.faint {
                    @match (file.before, file.after) {
                        (Some(before), Some(after)) => { (t::size(before)) " → " (t::size(after)) }
                        (Some(size), None) | (None, Some(size)) => (t::size(size)),
                        (None, None) => {}
                    }
                }
            }
            @match &file.lines {
                FileLines::Hunks(hunks) if hunks.is_empty() => (note(t::SAME_LINES)),
                FileLines::Hunks(hunks) => (hunk_table(&file.path, hunks, layout)),
                FileLines::NotText => (note(t::LINES_NOT_TEXT)),
                FileLines::TooLarge => (note(t::LINES_TOO_LARGE)),
                FileLines::NotRead => (note(t::LINES_NOT_READ)),
                FileLines::NotKept => (note(t::LINES_NOT_KEPT)),
                FileLines::LeftOut => p.note {
                    a href=(addresses::diff(&view.key, since, layout.word(), &file.path)) { (t::LINES_LEFT_OUT) }
                },
            }
        }
    }
}

fn hunk_table(path: &str, hunks: &[Hunk], layout: DiffLayout) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(one_line(path)) {
            table.diff.(layout.word()) {
                @for hunk in hunks {
                    tbody {
                        @match layout {
                            DiffLayout::Unified => (unified(hunk)),
                            DiffLayout::Split => (split(hunk)),
                        }
                    }
                }
            }
        }
    }
}

fn unified(hunk: &Hunk) -> Markup {
    let (mut old, mut new) = (hunk.old_start, hunk.new_start);
    html! {
        @for line in &hunk.lines {
            @let (old_number, new_number) = numbers(line.change, &mut old, &mut new);
            tr.(class(line.change)) {
                td.n data-n=[old_number] {}
                td.n data-n=[new_number] {}
                td.sign { (sign(line.change)) }
                td.text { (text(line)) }
            }
        }
    }
}

/// Puts removed lines beside the added ones that follow them.
fn split(hunk: &Hunk) -> Markup {
    let (mut old, mut new) = (hunk.old_start, hunk.new_start);
    let mut rows = Vec::new();
    let mut rest = hunk.lines.as_slice();
    while let Some(first) = rest.first() {
        if first.change == LineChange::Unchanged {
            rows.push((Some((old, first)), Some((new, first))));
            (old, new, rest) = (old + 1, new + 1, &rest[1..]);
            continue;
        }
        let run =
            |lines: &[HunkLine], change| lines.iter().take_while(|it| it.change == change).count();
        let removed = run(rest, LineChange::Removed);
        let added = run(&rest[removed..], LineChange::Added);
        for index in 0..removed.max(added) {
            let before = (index < removed).then(|| (old + index, &rest[index]));
            let after = (index < added).then(|| (new + index, &rest[removed + index]));
            rows.push((before, after));
        }
        (old, new, rest) = (old + removed, new + added, &rest[removed + added..]);
    }
    html! {
        @for (before, after) in rows {
            tr {
                (side(before))
                (side(after))
            }
        }
    }
}

fn side(line: Option<(usize, &HunkLine)>) -> Markup {
    match line {
        None => html! { td.n {} td.sign {} td.text.none {} },
        Some((number, line)) => {
            let class = class(line.change);
            html! {
                td.n.(class) data-n=(number) {}
                td.sign.(class) { (sign(line.change)) }
                td.text.(class) { (text(line)) }
            }
        }
    }
}

fn numbers(change: LineChange, old: &mut usize, new: &mut usize) -> (Option<usize>, Option<usize>) {
    let next = |number: &mut usize| {
        *number += 1;
        Some(*number - 1)
    };
    match change {
        LineChange::Unchanged => (next(old), next(new)),
        LineChange::Removed => (next(old), None),
        LineChange::Added => (None, next(new)),
    }
}

fn class(change: LineChange) -> &'static str {
    match change {
        LineChange::Unchanged => "same",
        LineChange::Removed => "removed",
        LineChange::Added => "added",
    }
}

fn sign(change: LineChange) -> &'static str {
    match change {
        LineChange::Unchanged => "",
        LineChange::Removed => "−",
        LineChange::Added => "+",
    }
}

fn text(line: &HunkLine) -> Markup {
    match line.text.char_indices().nth(MAX_LINE_CHARS) {
        None => marked(&line.text),
        Some((cut, _)) => html! {
            (marked(&line.text[..cut]))
            span.cut { (t::more_characters(line.text[cut..].chars().count())) }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(change: LineChange, text: &str) -> HunkLine {
        HunkLine { change, text: text.to_owned() }
    }

    #[test]
    fn changed_lines_stand_side_by_side_with_their_numbers() {
        let lines = vec![
            line(LineChange::Unchanged, "a"),
            line(LineChange::Removed, "b"),
            line(LineChange::Added, "B"),
            line(LineChange::Added, "<c>"),
        ];
        let hunk = Hunk { old_start: 7, new_start: 9, lines };
        let shown = split(&hunk).0;
        assert_eq!(shown.matches("<tr>").count(), 3, "{shown}");
        assert!(shown.contains("data-n=\"8\"") && shown.contains("data-n=\"11\""), "{shown}");
        assert!(shown.contains("&lt;c&gt;") && shown.contains("text none"), "{shown}");
        let shown = unified(&hunk).0;
        assert_eq!(shown.matches("<tr").count(), 4, "{shown}");
    }
}
