//! What differs between two versions.

use std::ops::Range;

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
    let parts = changed_parts(&hunk.lines);
    html! {
        @for (line, part) in hunk.lines.iter().zip(parts) {
            @let (old_number, new_number) = numbers(line.change, &mut old, &mut new);
            tr.(class(line.change)) {
                td.n data-n=[old_number] {}
                td.n data-n=[new_number] {}
                td.sign { (sign(line.change)) }
                td.text { (text(line, part)) }
            }
        }
    }
}

/// A line of one version: its number, the line, and which part of it differs.
type NumberedLine<'a> = (usize, &'a HunkLine, Option<Range<usize>>);

/// Puts removed lines beside the added ones that follow them.
fn split(hunk: &Hunk) -> Markup {
    let (mut old, mut new) = (hunk.old_start, hunk.new_start);
    let parts = changed_parts(&hunk.lines);
    let mut rows: Vec<[Option<NumberedLine<'_>>; 2]> = Vec::new();
    let mut at = 0;
    while let Some(first) = hunk.lines.get(at) {
        if first.change == LineChange::Unchanged {
            rows.push([Some((old, first, None)), Some((new, first, None))]);
            (old, new, at) = (old + 1, new + 1, at + 1);
            continue;
        }
        let (removed, added) = changed_run(&hunk.lines[at..]);
        let line = |number: usize, index: usize| (number, &hunk.lines[index], parts[index].clone());
        for index in 0..removed.max(added) {
            let before = (index < removed).then(|| line(old + index, at + index));
            let after = (index < added).then(|| line(new + index, at + removed + index));
            rows.push([before, after]);
        }
        (old, new, at) = (old + removed, new + added, at + removed + added);
    }
    html! {
        @for [before, after] in rows {
            tr {
                (side(before))
                (side(after))
            }
        }
    }
}

/// How many lines at the beginning were removed, and how many were added in their place.
fn changed_run(lines: &[HunkLine]) -> (usize, usize) {
    let run =
        |lines: &[HunkLine], change| lines.iter().take_while(|it| it.change == change).count();
    let removed = run(lines, LineChange::Removed);
    (removed, run(&lines[removed..], LineChange::Added))
}

/// For each line, which part of it differs from the line that it replaces or is replaced by.
fn changed_parts(lines: &[HunkLine]) -> Vec<Option<Range<usize>>> {
    let mut parts = vec![None; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let (removed, added) = changed_run(&lines[at..]);
        for index in 0..removed.min(added) {
            let (before, after) = (at + index, at + removed + index);
            if let Some((old, new)) = changed_part(&lines[before].text, &lines[after].text) {
                (parts[before], parts[after]) = (Some(old), Some(new));
            }
        }
        at += (removed + added).max(1);
    }
    parts
}

/// The bytes between what two lines begin and end with alike; `None` if they have too little in common
/// for that to help a reader.
fn changed_part(before: &str, after: &str) -> Option<(Range<usize>, Range<usize>)> {
    let alike = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| {
        a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>()
    };
    let start = alike(&mut before.chars(), &mut after.chars());
    let (old, new) = (&before[start..], &after[start..]);
    let end = alike(&mut old.chars().rev(), &mut new.chars().rev());
    let shortest = before.len().min(after.len());
    let is_helpful = (start + end) * 2 >= shortest && start + end > 0 && before != after;
    is_helpful.then(|| (start..before.len() - end, start..after.len() - end))
}

fn side(line: Option<NumberedLine<'_>>) -> Markup {
    match line {
        None => html! { td.n.none {} td.sign.none {} td.text.none {} },
        Some((number, line, part)) => {
            let class = class(line.change);
            html! {
                td.n.(class) data-n=(number) {}
                td.sign.(class) { (sign(line.change)) }
                td.text.(class) { (text(line, part)) }
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

fn text(line: &HunkLine, part: Option<Range<usize>>) -> Markup {
    let text = &line.text;
    if let Some((cut, _)) = text.char_indices().nth(MAX_LINE_CHARS) {
        return html! {
            (marked(&text[..cut]))
            span.cut { (t::more_characters(text[cut..].chars().count())) }
        };
    }
    match part.filter(|part| !part.is_empty()) {
        None => marked(text),
        Some(part) => html! {
            (marked(&text[..part.start])) mark { (marked(&text[part.clone()])) } (marked(&text[part.end..]))
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

    #[test]
    fn the_part_of_a_line_that_differs_is_marked() {
        let part = |before: &str, after: &str| {
            let (old, new) = changed_part(before, after)?;
            Some((before[old].to_owned(), after[new].to_owned()))
        };
        let found = |old: &str, new: &str| Some((old.to_owned(), new.to_owned()));
        assert_eq!(
            part("get('https://a.example/x')", "get('https://b.example/x')"),
            found("a", "b")
        );
        assert_eq!(part("aaaa", "aaa"), found("a", ""));
        assert_eq!(part("präzise", "prüzise"), found("ä", "ü"));
        assert_eq!(part("one thing", "quite another"), None);
        assert_eq!((part("same", "same"), part("", "new")), (None, None));
        let lines =
            vec![line(LineChange::Removed, "key = '<a>'"), line(LineChange::Added, "key = '<b>'")];
        let hunk = Hunk { old_start: 1, new_start: 1, lines };
        for shown in [split(&hunk).0, unified(&hunk).0] {
            assert!(shown.contains("&lt;<mark>a</mark>&gt;"), "{shown}");
            assert!(shown.contains("&lt;<mark>b</mark>&gt;"), "{shown}");
        }
    }
}
