//! Builds the JSON value from parser events, without recursion and within the limits.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError};
use serde_json::{Map, Value};

use crate::finding::{Code, Finding};
use crate::repair::{Edit, Repair};
use crate::span::Span;

use super::extent;
use super::layout;
use super::place::{FilePositions, excerpt};
use super::repair::quote;
use super::scalar::{self, NotJson};
use super::{Document, Limits, Node, YamlBranch};

/// The longest key, in code points; YAML sets the same limit for most keys.
const LONGEST_KEY: usize = 1024;

/// The result of one run of the parser.
pub(super) struct ComposeResult {
    /// The value; worthless if any finding is an error.
    pub(super) document: Option<Document>,
    pub(super) findings: Vec<Finding>,
    /// Where the parser could not go on.
    pub(super) error: Option<ScanError>,
}

/// Runs the parser over `text`, which has the same code points as `places.text` or stand-ins.
pub(super) fn compose(text: &str, places: &FilePositions<'_>, limits: &Limits) -> ComposeResult {
    let mut composer = Composer {
        places,
        limits,
        findings: Vec::new(),
        nodes: Vec::new(),
        count: 0,
        open: Vec::new(),
        root: None,
        last_end: 0,
    };
    let mut parser = Parser::new_from_str(text);
    let mut error = None;
    while let Some(next) = parser.next_event() {
        match next {
            Ok((event, span)) => {
                let start = places.byte(span.start.index());
                let end = places.byte(span.end.index()).max(start);
                if composer.event(event, start, end).is_break() {
                    break;
                }
            }
            Err(stop) => {
                error = Some(stop);
                break;
            }
        }
    }
    composer.finish(error)
}

type ParseFlow = std::ops::ControlFlow<()>;

/// A mapping or list whose end has not been seen.
pub(super) struct OpenNode {
    /// Index of its node.
    index: usize,
    /// Its column, if it is a block; none if it is in brackets.
    pub(super) column: Option<usize>,
    pub(super) content: NodeContent,
}

pub(super) enum NodeContent {
    List(Vec<Value>),
    Mapping { map: Map<String, Value>, key: KeyState },
}

/// What is known about the key of the value that comes next.
pub(super) enum KeyState {
    /// The next node is a key.
    Expected,
    /// The key was refused; its value is read for problems and dropped.
    Refused,
    Named(String, Span),
}

pub(super) struct Composer<'a> {
    pub(super) places: &'a FilePositions<'a>,
    limits: &'a Limits,
    findings: Vec<Finding>,
    nodes: Vec<YamlBranch>,
    /// Nodes seen, keys included.
    count: usize,
    pub(super) open: Vec<OpenNode>,
    root: Option<Value>,
    /// Where the last thing that has text ended, in bytes of the frontmatter.
    pub(super) last_end: usize,
}

impl Composer<'_> {
    fn event(&mut self, event: Event<'_>, start: usize, end: usize) -> ParseFlow {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.enter(start)?;
                let trusted = self.properties(anchor, tag.is_some(), start);
                let (start, end) =
                    if trusted { self.extent(style, &text, start, end) } else { (start, end) };
                self.scalar(&text, style, trusted, self.places.span(start, end));
            }
            Event::Alias(_) => {
                self.enter(start)?;
                let span = self.places.span(start, end);
                let message = "An alias (`*`) stands for a value written elsewhere.";
                self.report(Code::YamlReference, span, message)
                    .help("Write the value out, or quote it if the `*` is text.");
                self.value(Value::Null, Node { key: None, value: span, plain: false });
            }
            Event::SequenceStart(anchor, tag) => {
                let column = self.list_column(start);
                self.collection(NodeContent::List(Vec::new()), column, start)?;
                self.properties(anchor, tag.is_some(), start);
            }
            Event::MappingStart(anchor, tag) => {
                let content = NodeContent::Mapping { map: Map::new(), key: KeyState::Expected };
                let flow = self.in_flow() || self.places.text[start..].starts_with('{');
                let column = (!flow).then(|| start - layout::line_start(self.places.text, start));
                self.collection(content, column, start)?;
                self.properties(anchor, tag.is_some(), start);
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(start),
            Event::DocumentStart(_) if self.root.is_some() => {
                let span = self.places.span(start, end);
                self.report(Code::YamlDocuments, span, "A second YAML document begins here.")
                    .help("Keep one document between the fences.");
                return ParseFlow::Break(());
            }
            _ => {}
        }
        ParseFlow::Continue(())
    }

    /// Counts a node, and ends the work when there are too many.
    fn enter(&mut self, start: usize) -> ParseFlow {
        self.count += 1;
        if self.count <= self.limits.nodes {
            return ParseFlow::Continue(());
        }
        let most = self.limits.nodes;
        let message = format!("The frontmatter has more than {most} keys and values.");
        self.report(Code::YamlLimit, self.places.span(start, start), message)
            .help("Move data into a supporting file.");
        ParseFlow::Break(())
    }

    fn collection(
        &mut self,
        content: NodeContent,
        column: Option<usize>,
        start: usize,
    ) -> ParseFlow {
        self.enter(start)?;
        if self.open.len() >= self.limits.depth {
            let most = self.limits.depth;
            let message = format!("The frontmatter has more than {most} levels of nesting.");
            self.report(Code::YamlLimit, self.places.span(start, start), message)
                .help("Move data into a supporting file.");
            return ParseFlow::Break(());
        }
        let node = Node { key: None, value: self.places.span(start, start), plain: false };
        self.nodes.push(YamlBranch { node, children: BTreeMap::new() });
        self.open.push(OpenNode { index: self.nodes.len() - 1, column, content });
        self.layout(layout::comments(self.places.text, self.last_end.min(start), start));
        self.last_end = self.last_end.max(start);
        ParseFlow::Continue(())
    }

    /// Refuses anchors and tags; tells whether there were none.
    fn properties(&mut self, anchor: usize, tag: bool, start: usize) -> bool {
        if anchor == 0 && !tag {
            return true;
        }
        let rest = &self.places.text[start..];
        let end = start + rest.find(char::is_whitespace).unwrap_or(rest.len());
        let span = self.places.span(start, end);
        if anchor > 0 {
            self.report(Code::YamlReference, span, "An anchor (`&`) names a value for reuse.")
                .help("Remove the anchor, or quote the value if the `&` is text.");
        }
        if tag {
            self.report(Code::YamlTag, span, "A tag (`!`) changes the type of a value.")
                .help("Remove the tag, or quote the value if the `!` is text.");
        }
        false
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, trusted: bool, span: Span) {
        let plain = style == ScalarStyle::Plain;
        let resolved = if plain && trusted {
            scalar::resolve(text)
        } else {
            Ok(Value::String(text.to_owned()))
        };
        if plain && let Some(reading) = scalar::other_reading(text) {
            self.ambiguous(
                text,
                reading,
                trusted && matches!(resolved, Ok(Value::String(_))),
                span,
            );
        }
        if self.expects_key() {
            self.key(resolved.ok(), text, plain, span);
            return;
        }
        let value = resolved.unwrap_or_else(|problem| {
            self.not_json(problem, text, span);
            Value::Null
        });
        self.value(value, Node { key: None, value: span, plain });
    }

    /// Reports a scalar that other parsers take for something else; where it is text, quotes say
    /// so to all of them.
    fn ambiguous(&mut self, text: &str, reading: &str, is_text: bool, span: Span) {
        let shown = excerpt(text);
        let message = format!("`{shown}` is not quoted; other YAML parsers read it as {reading}.");
        let help = if is_text {
            format!("Write it in quotes: `\"{shown}\"`.")
        } else {
            format!("Write it in quotes if it is text: `\"{shown}\"`.")
        };
        let report = self.report(Code::YamlAmbiguousScalar, span, message);
        let repair = is_text.then(|| Repair::Replace(vec![Edit::new(span, quote(text))]));
        report.repair(repair).help(help);
    }

    pub(super) fn expects_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(OpenNode { content: NodeContent::Mapping { key: KeyState::Expected, .. }, .. })
        )
    }

    fn key(&mut self, resolved: Option<Value>, text: &str, plain: bool, span: Span) {
        let shown = excerpt(text);
        let Some(Value::String(name)) = resolved else {
            let message = match text {
                "" => "A key is missing before the `:`.".to_owned(),
                _ => format!("The key `{shown}` is not a string."),
            };
            self.report(Code::YamlKeyNotAString, span, message)
                .help(format!("Write the key in quotes: `\"{shown}\"`."));
            self.set_key(KeyState::Refused);
            return;
        };
        if plain && name == "<<" {
            self.report(Code::YamlReference, span, "The merge key `<<` copies another mapping.")
                .help("Write the fields out, or quote the key if it is text.");
            self.set_key(KeyState::Refused);
            return;
        }
        if name.chars().nth(LONGEST_KEY).is_some() {
            let message = format!("A key has more than {LONGEST_KEY} characters.");
            self.report(Code::YamlLimit, span, message).help("Choose a shorter key.");
            self.set_key(KeyState::Refused);
            return;
        }
        let earlier = self.open.last().and_then(|frame| {
            let branch = self.nodes.get(*self.nodes[frame.index].children.get(&name)?)?;
            branch.node.key
        });
        if let Some(earlier) = earlier {
            let first = self.places.position(earlier.start).line;
            let again = self.places.position(span.start).line;
            let message = format!("The key `{shown}` of line {first} is repeated on line {again}.");
            self.report(Code::YamlDuplicateKey, span, message)
                .help("Keep one of the two; parsers disagree about which one counts.");
            self.set_key(KeyState::Refused);
            return;
        }
        self.set_key(KeyState::Named(name, span));
    }

    fn set_key(&mut self, next: KeyState) {
        if let Some(OpenNode { content: NodeContent::Mapping { key, .. }, .. }) =
            self.open.last_mut()
        {
            *key = next;
        }
    }

    fn not_json(&mut self, problem: NotJson, text: &str, span: Span) {
        let shown = excerpt(text);
        let reason = match problem {
            NotJson::Integer => "is an integer beyond what JSON readers keep exact",
            NotJson::Infinite => "is infinite, which JSON cannot say",
            NotJson::Nan => "is not a number, which JSON cannot say",
        };
        self.report(Code::YamlNotJson, span, format!("`{shown}` {reason}."))
            .help(format!("Write it as text, in quotes: `\"{shown}\"`."));
    }

    /// Puts a scalar in its place.
    fn value(&mut self, value: Value, node: Node) {
        if self.expects_key() {
            // Only an alias comes here; it has been reported.
            self.set_key(KeyState::Refused);
            return;
        }
        self.nodes.push(YamlBranch { node, children: BTreeMap::new() });
        self.attach(value, self.nodes.len() - 1);
    }

    fn end(&mut self, at: usize) {
        let Some(OpenNode { index, column, content }) = self.open.pop() else { return };
        let start = self.nodes[index].node.value.start - self.places.span(0, 0).start;
        if self.places.text[start..].starts_with(['[', '{'])
            && let Some(bracket) = extent::closing_bracket(self.places.text, at)
        {
            self.layout(layout::comments(self.places.text, self.last_end.min(bracket), bracket));
            self.last_end = self.last_end.max(bracket + 1);
        }
        self.nodes[index].node.value = self.places.span(start, self.last_end);
        if column.is_none() && !self.in_flow() {
            let indent = self.indentation();
            self.layout(layout::flow(self.places.text, start, self.last_end, indent));
        }
        if self.expects_key() {
            let span = self.nodes[index].node.value;
            let message = "A mapping or a list cannot be a key.";
            self.report(Code::YamlKeyNotAString, span, message)
                .help("Use a string as the key; quote it if the brackets are text.");
            self.set_key(KeyState::Refused);
            return;
        }
        let value = match content {
            NodeContent::List(items) => Value::Array(items),
            NodeContent::Mapping { map, .. } => Value::Object(map),
        };
        self.attach(value, index);
    }

    /// Adds a finished value to the collection that is open, or makes it the root.
    fn attach(&mut self, value: Value, index: usize) {
        let Some(frame) = self.open.last_mut() else {
            self.root = Some(value);
            return;
        };
        let name = match &mut frame.content {
            NodeContent::List(items) => {
                items.push(value);
                (items.len() - 1).to_string()
            }
            NodeContent::Mapping { map, key } => match std::mem::replace(key, KeyState::Expected) {
                KeyState::Named(name, span) => {
                    self.nodes[index].node.key = Some(span);
                    map.insert(name.clone(), value);
                    name
                }
                KeyState::Expected | KeyState::Refused => return,
            },
        };
        self.nodes[frame.index].children.insert(name, index);
    }

    pub(super) fn report(
        &mut self,
        code: Code,
        span: Span,
        message: impl Into<String>,
    ) -> LastFinding<'_> {
        self.findings.push(self.places.finding(code, span, message));
        LastFinding(&mut self.findings)
    }

    fn finish(mut self, error: Option<ScanError>) -> ComposeResult {
        let unfinished = error.is_some() || !self.open.is_empty();
        let document = match self.root.take() {
            Some(Value::Object(map)) => {
                Some(Document { map, nodes: std::mem::take(&mut self.nodes) })
            }
            _ if unfinished => None,
            other => {
                let what = match other {
                    None | Some(Value::Null) => "empty",
                    Some(Value::Array(_)) => "a list",
                    Some(_) => "a single value",
                };
                let text = self.places.text;
                let start = text.len() - text.trim_start().len();
                let span = self.places.span(start, text.trim_end().len());
                let message = format!("The frontmatter is {what}, not a mapping of fields.");
                self.report(Code::FrontmatterNotAMapping, span, message)
                    .help("Write fields such as `name: my-skill`, one on each line.");
                None
            }
        };
        ComposeResult { document, findings: self.findings, error }
    }
}

/// The finding that was reported last, so that help can be added.
pub(super) struct LastFinding<'a>(&'a mut Vec<Finding>);

impl LastFinding<'_> {
    fn repair(self, repair: Option<Repair>) -> Self {
        if let Some(finding) = self.0.last_mut() {
            finding.repair = repair;
        }
        self
    }

    pub(super) fn help(self, help: impl Into<String>) {
        if let Some(finding) = self.0.last_mut() {
            finding.help = Some(help.into());
        }
    }
}
