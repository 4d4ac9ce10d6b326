//! Where values stand: columns, extents, and the layout rules that go with them.

use saphyr_parser::ScalarStyle;

use crate::finding::Code;

use super::compose::{Composer, NodeContent, OpenNode};
use super::extent;
use super::layout::{self, LayoutOffence};

impl Composer<'_> {
    /// The column of a list's dashes; none for a list in brackets.
    pub(super) fn list_column(&mut self, start: usize) -> Option<usize> {
        let text = self.places.text;
        let line = layout::line_start(text, start);
        if let Some(OpenNode {
            column: Some(column), content: NodeContent::Mapping { .. }, ..
        }) = self.open.last()
        {
            let dash = text[line..].trim_start_matches(' ');
            let entry =
                dash.strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_whitespace));
            if entry && text.len() - dash.len() == line + column {
                // The dashes stand right below the key; the parser marks what follows the first.
                return Some(*column);
            }
        }
        if self.in_flow() || text[start..].starts_with('[') {
            return None;
        }
        self.layout(layout::block_start(text, start));
        Some(start - line)
    }

    /// Refuses what the parser accepts and YAML does not.
    pub(super) fn layout(&mut self, offence: Option<LayoutOffence>) {
        if let Some((at, message, help)) = offence {
            let span = self.places.span(at, at);
            self.report(Code::YamlSyntax, span, format!("{message}.")).help(help);
        }
    }

    /// The least indentation of a line that continues a value here.
    pub(super) fn indentation(&self) -> usize {
        self.open.iter().rev().find_map(|frame| frame.column).map_or(0, |column| column + 1)
    }

    pub(super) fn in_flow(&self) -> bool {
        self.open.last().is_some_and(|frame| frame.column.is_none())
    }

    /// Checks the source of a scalar and returns its extent.
    pub(super) fn extent(
        &mut self,
        style: ScalarStyle,
        value: &str,
        start: usize,
        end: usize,
    ) -> (usize, usize) {
        let text = self.places.text;
        let indent = self.indentation();
        let previous = self.last_end;
        let (from, to) = extent::scalar(text, style, value.is_empty(), (start, end), self.last_end);
        self.last_end = self.last_end.max(to);
        let offence = match style {
            ScalarStyle::Plain => layout::scalar(text, from, to, indent)
                .or_else(|| layout::plain_start(text, from, to, self.in_flow())),
            ScalarStyle::SingleQuoted => layout::scalar(text, from, to, indent),
            ScalarStyle::DoubleQuoted => layout::scalar(text, from, to, indent)
                .or_else(|| layout::escaped_break(text, from, to)),
            ScalarStyle::Literal | ScalarStyle::Folded => layout::block(text, from, value, start),
        };
        self.layout(offence.or_else(|| layout::comments(text, previous, from.max(previous))));
        if self.expects_key() && !self.in_flow() {
            self.layout(layout::block_start(text, from));
        }
        (from, to)
    }
}
