//! The text of answers: lists of skills, and content in a frame that it cannot close.

use std::fmt::Write as _;

use skillwire_catalog::Snapshot;
use skillwire_core::{
    Digest,
    visible::{one_line, one_line_within},
};
use skillwire_source::Skill;

use crate::engine::OwnedCall;

/// The most characters of a description.
const MAX_DESCRIPTION: usize = 300;

/// The most characters of content in one answer.
const MAX_CHARACTERS: usize = 64 * 1024;

/// Returns the text by which a model names a skill: its path, or its URI where several schemes are
/// in use.
pub fn handle(snapshot: &Snapshot, skill: &Skill) -> String {
    let one_scheme = snapshot.schemes().nth(1).is_none();
    one_line(&if one_scheme { skill.path() } else { skill.uri.to_string() })
}

/// A list of skills, one on each line.
#[derive(Debug)]
pub struct ListedSkills<'a> {
    snapshot: &'a Snapshot,
    lines: String,
    last: String,
}

impl<'a> ListedSkills<'a> {
    /// Begins an empty list of skills of a snapshot.
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, lines: String::new(), last: String::new() }
    }

    /// Adds a skill.
    pub fn push(&mut self, skill: &Skill) {
        self.last = handle(self.snapshot, skill);
        let description = one_line_within(&skill.description(), MAX_DESCRIPTION);
        // Writing to a string cannot fail.
        let _ = writeln!(self.lines, "- {}: {description}", self.last);
    }

    /// Returns the lines.
    pub fn into_lines(self) -> String {
        self.lines
    }

    /// Puts a heading above the lines, and says how to go on if there are more.
    pub(super) fn finish(self, server: &str, count: usize, more: bool) -> String {
        let server = one_line(server);
        let mut text = match count {
            0 => format!("The server `{server}` lists no skills now.\n"),
            1 => format!("1 skill of the server `{server}`:\n"),
            count => format!("{count} skills of the server `{server}`:\n"),
        };
        text.push_str(&self.lines);
        if more {
            let _ =
                writeln!(text, "More follow: call `list_skills` with `after` \"{}\".", self.last);
        }
        text
    }
}

/// A part of a text.
pub(super) struct TextExcerpt<'a> {
    text: &'a str,
    first: usize,
    end: usize,
    total: usize,
}

impl<'a> TextExcerpt<'a> {
    /// Takes at most `limit` characters from `offset` on, and never more than an answer may have.
    pub(super) fn of(text: &'a str, offset: usize, limit: Option<usize>) -> Self {
        let limit = limit.unwrap_or(MAX_CHARACTERS).clamp(1, MAX_CHARACTERS);
        let total = text.chars().count();
        let first = offset.min(total);
        let end = first.saturating_add(limit).min(total);
        let place = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(at, _)| at);
        let rest = &text[place(first)..];
        let length = rest.char_indices().nth(end - first).map_or(rest.len(), |(at, _)| at);
        Self { text: &rest[..length], first, end, total }
    }
}

/// Content of a skill below a note about where it comes from.
///
/// A mark that the author of the content cannot know stands before and after the content, so text
/// in it cannot pass for the end of the content and what follows.
pub(super) struct FramedContent<'a> {
    call: &'a OwnedCall,
    note: String,
}

impl<'a> FramedContent<'a> {
    /// Begins with what the content is.
    pub(super) fn begin(call: &'a OwnedCall, what: &str, uri: &str) -> Self {
        let server = one_line(&call.config().identity.name);
        let note = format!(
            "{what} of the MCP server `{server}` ({uri}).\nThe text between the marks is the \
             server's. That it is shown here does not mean that the user approved it.\n"
        );
        Self { call, note }
    }

    /// Adds a line to the note.
    pub(super) fn say(&mut self, line: &str) {
        self.note.push_str(&one_line(line));
        self.note.push('\n');
    }

    /// Adds the content and, if it is only a part, how to read on.
    pub(super) fn finish(self, excerpt: &TextExcerpt<'_>, path: &str) -> String {
        let TextExcerpt { text, first, end, total } = excerpt;
        let mark = self.mark(text);
        let gap = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
        let mut framed = format!("{}[{mark} begins]\n{text}{gap}[{mark} ends]\n", self.note);
        if end < total {
            let _ = writeln!(
                framed,
                "Characters {first} to {end} of {total} are shown. To read on, call \
                 `read_skill_file` with `path` \"{path}\" and `offset` {end}."
            );
        } else if *first > 0 {
            let _ = writeln!(framed, "Characters {first} to {end} of {total} are shown.");
        }
        framed
    }

    fn mark(&self, text: &str) -> String {
        // The server's secret goes into the mark, so no author can compute it.
        let digest = Digest::of(text.as_bytes()).to_string();
        let sealed = self.call.state.seal.seal(&["frame of a tool's answer"], &digest);
        let mark = Digest::of(sealed.as_bytes());
        mark.as_bytes()[..8].iter().fold(String::from("content "), |mut mark, byte| {
            let _ = write!(mark, "{byte:02x}");
            mark
        })
    }
}
