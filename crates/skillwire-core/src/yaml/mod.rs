//! YAML 1.2 frontmatter as JSON: the core schema, nothing lossy, nothing unbounded.
//!
//! `saphyr-parser` reads the syntax; this module decides what it means. What JSON cannot carry
//! unchanged, what parsers disagree about and what could be used against a reader is refused:
//! duplicate keys, keys that are not strings, anchors, aliases, merge keys, tags, directives,
//! further documents, infinities and integers that a JSON reader may round.

mod compose;
mod extent;
mod fence;
mod guard;
mod layout;
mod outline;
mod place;
mod repair;
mod scalar;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use self::fence::{Fenced, split};
use self::place::FilePositions;
pub use self::repair::quote;
use crate::finding::{Finding, Level};
use crate::span::Span;

/// The file all findings of this module are about.
const FILE: &str = "SKILL.md";

/// How many values that lack quotes are reported before the parser gives up.
const MOST_REPAIRS: usize = 32;

/// Limits on how much frontmatter is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most bytes between the fences.
    pub bytes: usize,
    /// The most mappings and lists inside each other, the outermost mapping included.
    pub depth: usize,
    /// The most keys, values, mappings and lists together.
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 65_536, depth: 32, nodes: 10_000 }
    }
}

impl Limits {
    /// Sets the most bytes between the fences.
    #[must_use]
    pub fn with_bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// Sets the most mappings and lists inside each other, the outermost mapping included.
    #[must_use]
    pub fn with_depth(self, depth: usize) -> Self {
        Self { depth, ..self }
    }

    /// Sets the most keys, values, mappings and lists together.
    #[must_use]
    pub fn with_nodes(self, nodes: usize) -> Self {
        Self { nodes, ..self }
    }
}

/// The place of a value in the file, and how it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// The key, quotes included; absent for list items and for the whole frontmatter.
    pub key: Option<Span>,
    /// The value, with its quotes or block indicator.
    pub value: Span,
    /// Whether it is a scalar without quotes and not a block.
    pub plain: bool,
}

/// Frontmatter that JSON carries exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The fields in the order the author wrote them.
    pub map: Map<String, Value>,
    nodes: Vec<YamlBranch>,
}

/// A node and the indices of its children.
#[derive(Debug, Clone, PartialEq)]
struct YamlBranch {
    node: Node,
    children: BTreeMap<String, usize>,
}

impl Document {
    /// Finds a value by its JSON pointer; the empty pointer is the whole frontmatter.
    pub fn node(&self, pointer: &str) -> Option<&Node> {
        let mut branch = self.nodes.first()?;
        if pointer.is_empty() {
            return Some(&branch.node);
        }
        for token in pointer.strip_prefix('/')?.split('/') {
            let name = token.replace("~1", "/").replace("~0", "~");
            branch = self.nodes.get(*branch.children.get(&name)?)?;
        }
        Some(&branch.node)
    }

    /// Returns every value, in no particular order.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().map(|branch| &branch.node)
    }
}

/// Parses frontmatter and reports everything that is wrong with it, in the order of the file.
///
/// There is a document only if no finding is an error: a value that cannot be trusted is not
/// handed out.
pub fn parse(
    file: &[u8],
    fenced: &Fenced<'_>,
    limits: &Limits,
) -> (Option<Document>, Vec<Finding>) {
    if let Some(finding) = guard::too_large(file, fenced, limits) {
        return (None, vec![finding]);
    }
    let places = FilePositions::new(file, fenced);
    let (text, mut findings) = guard::mask(&places);
    let Some(mut text) = text else { return finish(None, findings) };
    let mut quoted: Vec<Span> = Vec::new();
    for attempt in 0.. {
        let mut composed = compose::compose(&text, &places, limits);
        // What else is odd about a value is gone once it has quotes.
        composed.findings.retain(|finding| {
            let within = |quoted: &Span| {
                finding.span.is_some_and(|span| (quoted.start..quoted.end).contains(&span.start))
            };
            !quoted.iter().any(within)
        });
        let Some(error) = composed.error else {
            findings.extend(composed.findings);
            return finish(composed.document, findings);
        };
        if attempt == MOST_REPAIRS {
            findings.extend(composed.findings);
            findings.push(repair::syntax(&places, &error));
            break;
        }
        if let Some(respelt) = repair::respell(&text, &error) {
            text = Cow::Owned(respelt);
        } else if let Some(unclosed) = repair::unclosed(&places, &error) {
            findings.push(unclosed);
            break;
        } else if let Some(unquoted) = repair::unquoted(&text, &places, &error) {
            quoted.extend(unquoted.finding.span);
            findings.push(unquoted.finding);
            text = Cow::Owned(unquoted.masked);
        } else {
            findings.extend(composed.findings);
            findings.push(repair::syntax(&places, &error));
            break;
        }
    }
    finish(None, findings)
}

fn finish(
    document: Option<Document>,
    mut findings: Vec<Finding>,
) -> (Option<Document>, Vec<Finding>) {
    findings.sort_by_key(|finding| finding.span.map_or(0, |span| span.start));
    findings.dedup();
    let refused = findings.iter().any(|finding| finding.level == Level::Error);
    (document.filter(|_| !refused), findings)
}
