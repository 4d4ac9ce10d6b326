//! Prints findings in the form of a compiler's messages: the underlined text, why it matters, and
//! what to do.

use std::{
    collections::BTreeSet,
    io::Write,
    ops::{Range, RangeInclusive},
};

use annotate_snippets::{
    AnnotationKind, Group, Level as Severity, Origin, Renderer, Snippet,
    renderer::DEFAULT_TERM_WIDTH,
};
use skillwire_core::{Code, Excerpt, Finding, Level, Position};

use super::{is_unseen, printable};
use crate::output::{ERROR, FAINT, HELP, NOTE, STRONG, WARNING};

/// The narrowest and the widest terminal that lines are fitted to.
const WIDTHS: RangeInclusive<usize> = 40..=DEFAULT_TERM_WIDTH;

/// The columns that are kept free for the text around the mark.
const MARGIN: usize = 40;

/// The columns that the line number takes.
const GUTTER: usize = 6;

/// The fewest characters of a passage that are marked, even on a narrow terminal.
const LEAST_MARK: usize = 8;

/// A line that is added to a finding: its first word, and the text.
pub(crate) type FindingNote<'a> = (&'a str, &'a str);

/// Prints findings one after the other.
pub(crate) struct HumanReport {
    renderer: Renderer,
    width: usize,
    /// The codes whose reason was printed already, since once is enough. `None` prints no reasons.
    explained: Option<BTreeSet<Code>>,
}

impl HumanReport {
    /// Makes a report without reasons.
    pub(crate) fn brief() -> Self {
        let width = terminal_size::terminal_size_of(std::io::stdout())
            .map_or(DEFAULT_TERM_WIDTH, |(width, _)| usize::from(width.0))
            .clamp(*WIDTHS.start(), *WIDTHS.end());
        let renderer = Renderer::styled()
            .error(ERROR)
            .warning(WARNING)
            .info(NOTE)
            .note(NOTE)
            .help(HELP)
            .line_num(FAINT)
            .context(FAINT)
            .emphasis(STRONG)
            .term_width(width - GUTTER);
        Self { renderer, width, explained: None }
    }

    /// Makes a report for authors, in which the first finding of each code says why it matters.
    pub(crate) fn explaining() -> Self {
        Self { explained: Some(BTreeSet::new()), ..Self::brief() }
    }

    /// Prints one finding and an empty line.
    pub(crate) fn finding(
        &mut self,
        out: &mut impl Write,
        finding: &Finding,
        note: Option<FindingNote<'_>>,
    ) -> std::io::Result<()> {
        let severity = match finding.level {
            Level::Error => Severity::ERROR,
            Level::Warning => Severity::WARNING,
            Level::Info => Severity::INFO,
            Level::Advice => Severity::NOTE.with_name("advice"),
        };
        let title = severity.primary_title(printable(&finding.message)).id(finding.code.as_str());
        let mut group = Group::with_title(title);
        let file = printable(&finding.file);
        match (&finding.excerpt, finding.position) {
            (Some(excerpt), Some(position)) if !excerpt.is_cut_before() => {
                let (text, marked) =
                    shown(excerpt, self.width.saturating_sub(MARGIN).max(LEAST_MARK));
                let mark = AnnotationKind::Primary.span(marked);
                let snippet = Snippet::source(text).path(file).line_start(position.line);
                group = group.element(snippet.annotation(mark));
            }
            // If the line was cut, the position in the excerpt is wrong, so the position in the
            // file is printed.
            (_, Some(Position { line, column })) => {
                group = group.element(Origin::path(file).line(line).char_column(column));
            }
            (_, None) => group = group.element(Origin::path(file)),
        }
        let first = self.explained.as_mut().is_some_and(|codes| codes.insert(finding.code));
        if first {
            group = group.element(Severity::NOTE.with_name("why").message(finding.code.why()));
        }
        if let Some(help) = super::help(finding) {
            group = group.element(Severity::HELP.message(printable(&help)));
        }
        if finding.repair.is_some() && self.explained.is_some() {
            let message = "`skillwire check --fix` makes this repair; `--diff` shows it.";
            group = group.element(Severity::HELP.with_name("fix").message(message));
        }
        if let Some((word, text)) = note {
            group = group.element(Severity::NOTE.with_name(word).message(text));
        }
        writeln!(out, "{}\n", self.renderer.render(&[group]))
    }
}

/// Returns the excerpt, at most `width` characters of a line, with every character replaced by a
/// visible one, and the marked range in it.
fn shown(excerpt: &Excerpt, width: usize) -> (String, Range<usize>) {
    let marked = excerpt.marked();
    let mut text = String::with_capacity(excerpt.text().len());
    let mut mark = None;
    let mut left = width;
    for (at, c) in excerpt.text().char_indices() {
        let inside = (marked.start..marked.end).contains(&at) && left > 0;
        let start = text.len();
        text.push(visible(c));
        if inside || at == marked.start {
            let end = if inside { text.len() } else { start };
            mark.get_or_insert(start..end).end = end;
            left = if c == '\n' { width } else { left.saturating_sub(1) };
        }
    }
    let end = text.len();
    (text, mark.unwrap_or(end..end))
}

/// Replaces a character that would act on a terminal by a visible one.
fn visible(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        c if is_unseen(c) => '\u{fffd}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use skillwire_core::{Exemption, Span};

    use super::*;

    fn marked(text: &str, start: usize, end: usize, width: usize) -> (String, String) {
        let (shown, mark) = shown(&Excerpt::of(text.as_bytes(), Span::new(start, end)), width);
        let mark = shown[mark].to_owned();
        (shown, mark)
    }

    #[test]
    fn an_excerpt_shows_a_sign_for_what_would_act_on_a_terminal_v_54() {
        let (shown, mark) = marked("a\u{1b}[2J\u{202e}b\n", 1, 9, 80);
        assert_eq!((shown.as_str(), mark.as_str()), ("a␛[2J\u{fffd}b", "␛[2J\u{fffd}b"));
    }

    #[test]
    fn codes_that_no_folder_shows_at_will() {
        let unreadable = Finding::new(Code::Unreadable, "a/x.md", "It cannot be read: denied.")
            .help("Let the server's user read it, or move it out of the skill.");
        let unstable = Finding::new(Code::Unstable, "a/x.md", "It kept changing.")
            .help("Write it elsewhere and rename it into place.");
        let generated = Finding::new(Code::DynamicSkill, "reports/daily", "It is generated.")
            .help("Serve files where you can.");
        let forgotten = Finding::new(Code::IndexNotKept, "skills", "The disk is full.")
            .help("Make the cache folder writable.")
            .exempt_by(Exemption::NoIndex);
        let mut out = Vec::new();
        let mut human = HumanReport::explaining();
        for finding in [unreadable, unstable, generated, forgotten] {
            human.finding(&mut out, &finding, None).unwrap();
        }
        let plain = anstream::adapter::strip_bytes(&out).into_vec();
        insta::assert_snapshot!(String::from_utf8(plain).unwrap());
    }

    #[test]
    fn a_mark_is_not_wider_than_the_terminal() {
        assert_eq!(marked("key: value", 5, 10, 80).1, "value");
        assert_eq!(marked("key: value", 5, 10, 3).1, "val");
        assert_eq!(marked("key:", 4, 4, 80).1, "");
        assert_eq!(marked("key: value", 5, 5, 80).1, "");
    }
}
