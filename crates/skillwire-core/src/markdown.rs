//! What of a Markdown text is not code.

/// The lines outside code, each with the byte at which it begins.
pub fn prose(markdown: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    // The character that opened a block of code, and how many there were.
    let mut fence: Option<(u8, usize)> = None;
    markdown.split_inclusive('\n').filter_map(move |line| {
        let start = next;
        next += line.len();
        let indent = line.len() - line.trim_start_matches(' ').len();
        let bare = line.trim();
        let mark = bare.bytes().next().filter(|b| b"`~".contains(b));
        let run = mark.map_or(0, |mark| bare.bytes().take_while(|b| *b == mark).count());
        match (fence, mark) {
            (None, Some(mark)) if run >= 3 && indent < 4 => fence = Some((mark, run)),
            (Some((open, length)), Some(mark))
                if mark == open && run >= length && run == bare.len() =>
            {
                fence = None;
            }
            (None, _) if indent < 4 => return Some((start, line)),
            _ => {}
        }
        None
    })
}

/// The headings that begin with `#`, without their marks.
pub fn headings(markdown: &str) -> impl Iterator<Item = &str> {
    prose(markdown).filter_map(|(_, line)| {
        let line = line.trim();
        let text = line.trim_start_matches('#');
        let level = line.len() - text.len();
        if !(1..=6).contains(&level) || !text.starts_with([' ', '\t']) {
            return None;
        }
        let open = text.trim_end_matches('#');
        let heading = if open.ends_with([' ', '\t']) { open.trim() } else { text.trim() };
        (!heading.is_empty()).then_some(heading)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_found_outside_code_and_without_their_marks() {
        let text = "# One\n\ntext # not\n#no space\n  ## Two ##\n```sh\n# a comment\n```\n\
                    ~~~~\n~~~\n# still code\n~~~~\n    # indented code\n### C#\n####### seven\n#\n";
        assert_eq!(headings(text).collect::<Vec<_>>(), ["One", "Two", "C#"]);
    }

    #[test]
    fn lines_come_with_where_they_begin() {
        let text = "a\r\n```\nb\n```\nc";
        assert_eq!(prose(text).collect::<Vec<_>>(), [(0, "a\r\n"), (13, "c")]);
    }
}
