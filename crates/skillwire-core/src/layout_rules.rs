//! Checks how the frontmatter is written, apart from what it says.
//!
//! Every rule here is about files that are read well by a YAML parser and refused by a tool that
//! takes a shortcut.

use std::ops::Range;

use crate::{
    finding::{Code, Finding},
    path::SKILL_FILE,
    repair::{Edit, Repair},
    span::Span,
    yaml::{Document, Fenced},
};

const BOM: &[u8] = "\u{feff}".as_bytes();

/// Checks the lines from the opening to the closing fence.
pub(crate) fn check(
    bytes: &[u8],
    fenced: &Fenced<'_>,
    document: Option<&Document>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(fenced.bom.then(|| byte_order_mark(bytes)));
    findings.extend(crlf(bytes, fenced));
    findings.extend(trailing_blanks(bytes, fenced, document));
    findings.extend(dashes(bytes, fenced));
    if let Some(document) = document {
        flow_style(bytes, document, &mut findings);
    }
    findings
}

fn byte_order_mark(bytes: &[u8]) -> Finding {
    let span = Span::new(0, BOM.len());
    Finding::new(Code::ByteOrderMark, SKILL_FILE, "The file begins with a byte order mark.")
        .help("Save the file as UTF-8 without a byte order mark.")
        .at(bytes, Span::new(BOM.len(), BOM.len() + 3))
        .repair(Repair::Replace(vec![Edit::new(span, "")]))
}

/// Reports CRLF up to the closing fence; in the body it does no harm.
fn crlf(bytes: &[u8], fenced: &Fenced<'_>) -> Option<Finding> {
    let edits: Vec<_> = lines(bytes, fenced.body_offset)
        .filter(|line| bytes[line.clone()].ends_with(b"\r\n"))
        .map(|line| Edit::new(Span::new(line.end - 2, line.end), "\n"))
        .collect();
    let first = edits.first()?.span.start;
    let start = bytes[..first].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let start = if start == 0 && fenced.bom { BOM.len() } else { start };
    let message = match edits.len() {
        1 => "A line of the frontmatter ends in CRLF.".to_owned(),
        count => format!("{count} lines of the frontmatter end in CRLF."),
    };
    let finding = Finding::new(Code::CrLf, SKILL_FILE, message)
        .help("End these lines in LF; the text below the frontmatter may keep CRLF.")
        .at(bytes, Span::new(start, first))
        .repair(Repair::Replace(edits));
    Some(finding)
}

/// Reports blanks before line ends, where they are no part of a value.
fn trailing_blanks(
    bytes: &[u8],
    fenced: &Fenced<'_>,
    document: Option<&Document>,
) -> Option<Finding> {
    let yaml = fenced.yaml_offset..fenced.yaml_offset + fenced.yaml.len();
    let texts = document.map(|document| several_lines(bytes, document)).unwrap_or_default();
    let in_text = |at: usize| texts.iter().any(|text| (text.start..=text.end).contains(&at));
    let mut edits = Vec::new();
    for line in lines(bytes, fenced.body_offset) {
        let ended = &bytes[line.clone()];
        let content = ended
            .strip_suffix(b"\n")
            .map_or(ended, |rest| rest.strip_suffix(b"\r").unwrap_or(rest));
        let kept = content.trim_ascii_end().len();
        let blanks = Span::new(line.start + kept, line.start + content.len());
        // A value that runs over several lines may mean its blanks; without a document it is
        // unknown where values are.
        let is_fence = !yaml.contains(&line.start);
        let is_layout = is_fence || (document.is_some() && !in_text(blanks.start));
        if blanks.start < blanks.end && is_layout {
            edits.push(Edit::new(blanks, ""));
        }
    }
    let first = edits.first()?.span;
    let message = match edits.len() {
        1 => "A line of the frontmatter ends in blanks.".to_owned(),
        count => format!("{count} lines of the frontmatter end in blanks."),
    };
    let finding = Finding::new(Code::TrailingBlanks, SKILL_FILE, message)
        .help("Remove the blanks at the end of the line.")
        .at(bytes, first)
        .repair(Repair::Replace(edits));
    Some(finding)
}

/// The values that are written over several lines, from their first byte to their last.
fn several_lines(bytes: &[u8], document: &Document) -> Vec<Span> {
    let spans = document.nodes().map(|node| node.value);
    spans
        .filter(|span| {
            let text = &bytes[span.start..span.end];
            matches!(text.first(), Some(b'|' | b'>' | b'"' | b'\'')) && text.contains(&b'\n')
        })
        .collect()
}

/// Reports three dashes that are not a fence.
fn dashes(bytes: &[u8], fenced: &Fenced<'_>) -> Option<Finding> {
    let at = fenced.yaml_offset + fenced.yaml.find("---")?;
    let length = bytes[at..].iter().take_while(|byte| **byte == b'-').count();
    let finding = Finding::new(
        Code::DashesInFrontmatter,
        SKILL_FILE,
        "The frontmatter holds three dashes that do not end it.",
    )
    .help("Write a dash `—` or fewer hyphens: some tools take the first `---` for the end.")
    .at(bytes, Span::new(at, at + length));
    Some(finding)
}

/// Reports each outermost list or mapping in brackets.
fn flow_style(bytes: &[u8], document: &Document, findings: &mut Vec<Finding>) {
    // A list of tools has a finding of its own, which says to write it in another form.
    let tools = document.node("/allowed-tools").map(|node| node.value);
    let mut brackets: Vec<Span> = document
        .nodes()
        .map(|node| node.value)
        .filter(|span| matches!(bytes.get(span.start), Some(b'[' | b'{')))
        .filter(|span| Some(*span) != tools)
        .collect();
    brackets.sort_unstable_by_key(|span| span.start);
    let mut end = 0;
    for span in brackets {
        let [bracket, inner @ .., _] = &bytes[span.start..span.end] else { continue };
        if span.start < end {
            continue;
        }
        end = span.end;
        let what = if *bracket == b'[' { "list" } else { "mapping" };
        let help = match (what, inner.trim_ascii().is_empty()) {
            (_, true) => "Remove the key, or give it a value.",
            ("list", _) => "Write each item on a line of its own that begins with `- `.",
            _ => "Write each `key: value` on an indented line of its own.",
        };
        findings.push(
            Finding::new(
                Code::YamlFlowStyle,
                SKILL_FILE,
                format!("A {what} in brackets is refused by the reference validator."),
            )
            .help(help)
            .at(bytes, span),
        );
    }
}

/// The lines before `end`, each with its line end.
fn lines(bytes: &[u8], end: usize) -> impl Iterator<Item = Range<usize>> {
    bytes[..end].split_inclusive(|byte| *byte == b'\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some(start..*at)
    })
}
