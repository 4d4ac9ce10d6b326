//! Frontmatter: fences, YAML 1.2 and refusals.

mod fences;
mod layout;
mod refusals;
mod values;

use serde_json::Value;
use skillwire_core::{
    Code, Finding, Level,
    yaml::{Document, Limits, parse, split},
};

/// Reads frontmatter between two fences.
pub(super) fn read(yaml: &str) -> (Option<Document>, Vec<Finding>) {
    read_file(&format!("---\n{yaml}---\nbody\n"))
}

pub(super) fn read_file(file: &str) -> (Option<Document>, Vec<Finding>) {
    let fenced = split(file.as_bytes()).expect("the fences are there");
    parse(file.as_bytes(), &fenced, &Limits::default())
}

/// The value of frontmatter that must be accepted.
pub(super) fn value(yaml: &str) -> Value {
    let (document, findings) = read(yaml);
    let document = document.unwrap_or_else(|| panic!("{yaml:?} is refused: {findings:#?}"));
    Value::Object(document.map)
}

/// The errors of frontmatter that must be refused.
pub(super) fn errors(yaml: &str) -> Vec<Code> {
    let (document, findings) = read(yaml);
    assert!(document.is_none(), "{yaml:?} is accepted: {document:?}");
    let errors = findings.iter().filter(|finding| finding.level == Level::Error);
    errors.map(|finding| finding.code).collect()
}

pub(super) fn only(yaml: &str) -> Finding {
    let (_, mut findings) = read(yaml);
    assert_eq!(findings.len(), 1, "{yaml:?}: {findings:#?}");
    findings.remove(0)
}

pub(super) fn text<'a>(
    file: &'a str,
    pointer: &str,
    document: &Document,
) -> (Option<&'a str>, &'a str) {
    let node = document.node(pointer).unwrap_or_else(|| panic!("no node at {pointer:?}"));
    let slice = |span: skillwire_core::Span| &file[span.start..span.end];
    (node.key.map(slice), slice(node.value))
}
