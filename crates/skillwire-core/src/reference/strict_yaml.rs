//! The part of YAML that the reference validator's parser, `strictyaml`, lets through.
//!
//! Every scalar is text. Brackets, tags, anchors, repeated keys and uneven indentation are refused.

use std::{collections::BTreeSet, ops::Range};

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::Complaint;
use crate::{
    code::Code,
    yaml::{self, Fenced, Limits},
};

/// What a field holds, as far as the reference validator looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    Text(String),
    Collection,
}

/// Reads a mapping, or says what is refused first.
pub(super) fn load(text: &str) -> Result<Vec<(String, Field)>, Complaint> {
    let text = before_end_marker(text);
    let mut reader = StrictReader::default();
    let refused = reader.run(text);
    let tab = stray_tab(text, &reader.texts);
    // Scanning ends at whatever comes first; a mapping is judged as a whole only afterwards.
    let early = refused.into_iter().chain(tab).chain(syntax_error(text));
    let early = early.min_by_key(|(at, _)| *at);
    match early.map(|(_, complaint)| complaint).or(reader.late) {
        Some(complaint) => Err(complaint),
        None => reader.fields.ok_or_else(|| {
            Complaint::new(Code::FrontmatterNotAMapping, "The frontmatter is not a mapping.")
        }),
    }
}

/// The document without the line `...` that may end it.
fn before_end_marker(text: &str) -> &str {
    let is_blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let end = text.find("\n...").map(|at| at + 1).filter(|at| {
        let mut lines = text[at + 3..].split('\n');
        let rest = lines.next().unwrap_or_default();
        !text[..*at].lines().all(is_blank)
            && (rest.is_empty() || rest.starts_with([' ', '\t']))
            && is_blank(rest)
            && lines.all(is_blank)
    });
    &text[..end.unwrap_or(text.len())]
}

/// Finds a tab outside of quotes, blocks and comments, where this parser knows no tabs.
fn stray_tab(text: &str, texts: &[Range<usize>]) -> Option<(usize, Complaint)> {
    let in_text = |at: usize| texts.iter().any(|text| text.contains(&at));
    let at = text.match_indices('\t').map(|(at, _)| at).find(|&at| {
        let line = text[..at].rfind('\n').map_or(0, |line| line + 1);
        let comment = text[line..at].match_indices('#').map(|(hash, _)| line + hash).any(|hash| {
            let begins = hash == line || text[..hash].ends_with([' ', '\t']);
            begins && !in_text(hash)
        });
        !comment && !in_text(at)
    })?;
    let ends_line = text[at..].split('\n').next().is_some_and(|rest| rest.trim().is_empty());
    let code = ends_line.then_some(Code::TrailingBlanks);
    Some((at, Complaint::new(code, "There is a tab outside of quotes.")))
}

/// What our own parser has against the syntax, with its place.
fn syntax_error(text: &str) -> Option<(usize, Complaint)> {
    const SYNTAX: [Code; 4] =
        [Code::FrontmatterUnclosed, Code::YamlSyntax, Code::YamlUnquotedColon, Code::YamlDocuments];
    let (body, body_offset) = ("", text.len());
    let fenced = Fenced { yaml: text, yaml_offset: 0, body, body_offset, bom: false, crlf: false };
    let (_, findings) = yaml::parse(text.as_bytes(), &fenced, &Limits::default());
    let found = findings.into_iter().find(|finding| SYNTAX.contains(&finding.code))?;
    let at = found.span.map_or(0, |span| span.start);
    // To it, text below an unclosed frontmatter is a mistake like any other.
    let code = match found.code {
        Code::FrontmatterUnclosed => Code::YamlSyntax,
        code => code,
    };
    Some((at, Complaint::new(code, "The frontmatter is not YAML to it.")))
}

/// A collection whose end has not been seen.
enum OpenCollection {
    List,
    Mapping {
        keys: BTreeSet<String>,
        /// The key whose value comes next.
        key: Option<String>,
        /// The column of the first mapping in this one.
        column: Option<usize>,
    },
}

#[derive(Default)]
struct StrictReader {
    open: Vec<OpenCollection>,
    /// The fields of the outermost mapping, once there is one.
    fields: Option<Vec<(String, Field)>>,
    /// What is refused only once everything has been scanned.
    late: Option<Complaint>,
    /// Where texts in quotes and blocks are.
    texts: Vec<Range<usize>>,
}

impl StrictReader {
    /// Reads everything up to what cannot be scanned, which comes with its place.
    fn run(&mut self, text: &str) -> Option<(usize, Complaint)> {
        let bytes: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let mut parser = Parser::new_from_str(text);
        let byte = |index: usize| bytes.get(index).copied().unwrap_or(text.len());
        while let Some(next) = parser.next_event() {
            let (event, span) = match next {
                Ok(next) => next,
                Err(error) => {
                    let at = byte(error.marker().index());
                    // Other errors are of syntax, which is judged elsewhere.
                    return text[at..].starts_with('*').then(|| (at, reference()));
                }
            };
            let (start, end) = (byte(span.start.index()), byte(span.end.index()));
            if let Some(complaint) = refused(&event, &text[start..]) {
                return Some((start, complaint));
            }
            if let Event::Scalar(_, style, ..) = event
                && style != ScalarStyle::Plain
            {
                self.texts.push(start..end);
            }
            self.event(event, span.start.col());
        }
        None
    }

    fn event(&mut self, event: Event<'_>, column: usize) {
        match event {
            Event::Scalar(text, ..) => self.node(Field::Text(text.into_owned())),
            Event::SequenceStart(..) => {
                self.node(Field::Collection);
                self.open.push(OpenCollection::List);
            }
            Event::MappingStart(..) => {
                self.check_column(column);
                if self.open.is_empty() {
                    self.fields = Some(Vec::new());
                }
                self.node(Field::Collection);
                self.open.push(OpenCollection::Mapping {
                    keys: BTreeSet::new(),
                    key: None,
                    column: None,
                });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
            }
            _ => {}
        }
    }

    /// Takes a key or a value.
    fn node(&mut self, field: Field) {
        let outermost = self.open.len() == 1;
        let Some(OpenCollection::Mapping { keys, key, .. }) = self.open.last_mut() else { return };
        if key.as_deref() == Some("<<") {
            // What is merged is not a field, and only mappings can be.
            *key = None;
            if matches!(field, Field::Text(_)) {
                self.late.get_or_insert(reference());
            }
            return;
        }
        if let Some(key) = key.take() {
            if outermost && let Some(fields) = &mut self.fields {
                fields.push((key, field));
            }
            return;
        }
        let Field::Text(name) = field else { return };
        if !keys.insert(name.clone()) {
            let complaint = Complaint::new(Code::YamlDuplicateKey, "A key is there twice.");
            self.late.get_or_insert(complaint);
        }
        *key = Some(name);
    }

    /// Mappings in one mapping must begin in the same column.
    fn check_column(&mut self, at: usize) {
        let Some(OpenCollection::Mapping { key: Some(_), column, .. }) = self.open.last_mut()
        else {
            return;
        };
        if *column.get_or_insert(at) != at {
            let message = "Two mappings beside each other are not indented alike.";
            self.late.get_or_insert(Complaint::new(None, message));
        }
    }
}

fn reference() -> Complaint {
    Complaint::new(Code::YamlReference, "Anchors and what refers to them are not allowed.")
}

/// What the scanner does not let through.
fn refused(event: &Event<'_>, text: &str) -> Option<Complaint> {
    let (anchor, tag, collection) = match event {
        Event::Scalar(_, _, anchor, tag) => (*anchor, tag.is_some(), false),
        Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => {
            (*anchor, tag.is_some(), true)
        }
        _ => return None,
    };
    if tag {
        Some(Complaint::new(Code::YamlTag, "Tags are not allowed."))
    } else if anchor > 0 {
        Some(reference())
    } else if collection && text.starts_with(['[', '{']) {
        Some(Complaint::new(Code::YamlFlowStyle, "Lists and mappings in brackets are not allowed."))
    } else {
        None
    }
}
