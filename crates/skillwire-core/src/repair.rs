//! Repairs that are safe to make without asking the author, because there is only one way.

use serde::Serialize;

use crate::{code::Code, name::SkillName, skill_file, span::Span, yaml};

/// The most rounds of repairs; one repair may reveal the next problem.
const MOST_ROUNDS: usize = 4;

/// A change that resolves a finding without changing what a reader of the skill sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Repair {
    /// Other bytes in some places of the file.
    Replace(Vec<Edit>),
    /// Another name for the file, in the same directory.
    Rename(String),
}

/// Other bytes in one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// The bytes that are replaced.
    pub span: Span,
    /// The text that replaces them.
    pub text: String,
}

impl Edit {
    /// Replaces a passage.
    pub fn new(span: Span, text: impl Into<String>) -> Self {
        Self { span, text: text.into() }
    }
}

/// A `SKILL.md` after its repairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// The codes of the repaired findings, each once, in their order.
    pub codes: Vec<Code>,
}

/// Makes every safe repair in the bytes of a `SKILL.md`; nothing when there is none to make.
///
/// A repair that would change what the frontmatter says, or bring a new error, is not made,
/// whatever rule proposed it.
pub fn mend(original: &[u8]) -> Option<Mended> {
    let mut mended = Mended { bytes: original.to_vec(), codes: Vec::new() };
    for _ in 0..MOST_ROUNDS {
        let (edits, codes) = proposed(&mended.bytes);
        if edits.is_empty() {
            break;
        }
        let bytes = apply(&mended.bytes, edits);
        if !is_faithful(&mended.bytes, &bytes) {
            break;
        }
        mended.bytes = bytes;
        mended.codes.extend(codes);
    }
    mended.codes.sort_unstable();
    mended.codes.dedup();
    (mended.bytes != original).then_some(mended)
}

/// Writes another name into a `SKILL.md`, or a name where there is none; nothing when that is
/// impossible, or would change anything else.
///
/// This changes what the frontmatter says, so it is done only if the author asks for it.
pub fn with_name(original: &[u8], name: &SkillName) -> Option<Vec<u8>> {
    let fenced = yaml::split(original).ok()?;
    let (document, _) = yaml::parse(original, &fenced, &yaml::Limits::default());
    let document = document?;
    let edit = document.node("/name").map_or_else(
        || {
            let start = Span::new(fenced.yaml_offset, fenced.yaml_offset);
            Edit::new(start, format!("name: {name}\n"))
        },
        |node| Edit::new(node.value, name.as_str()),
    );
    let bytes = apply(original, vec![edit]);
    let (fields, body) = skill_file::read(&bytes)?;
    let mut fields = fields?;
    let mut before = document.map;
    let is_written = fields.remove("name").is_some_and(|written| written == name.as_str());
    before.remove("name");
    (is_written && fields == before && body == fenced.body).then_some(bytes)
}

/// The edits that the rules propose, in order and without overlaps.
fn proposed(bytes: &[u8]) -> (Vec<Edit>, Vec<Code>) {
    let mut edits: Vec<(Edit, Code)> = Vec::new();
    for finding in skill_file::check(bytes).1 {
        if let Some(Repair::Replace(replace)) = finding.repair {
            edits.extend(replace.into_iter().map(|edit| (edit, finding.code)));
        }
    }
    edits.sort_by_key(|(edit, _)| (edit.span.start, edit.span.end));
    let mut end = 0;
    // Edits that overlap wait for the next round.
    edits.retain(|(edit, _)| {
        let apart = edit.span.start >= end;
        if apart {
            end = edit.span.end;
        }
        apart
    });
    edits.into_iter().unzip()
}

fn apply(bytes: &[u8], edits: Vec<Edit>) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for Edit { span, text } in edits {
        out.extend_from_slice(&bytes[at..span.start]);
        out.extend_from_slice(text.as_bytes());
        at = span.end;
    }
    out.extend_from_slice(&bytes[at..]);
    out
}

/// Tells whether the frontmatter says the same as before, and the body is the same.
fn is_faithful(before: &[u8], after: &[u8]) -> bool {
    let (old, new) = (skill_file::read(before), skill_file::read(after));
    let (Some((old_fields, old_body)), Some((new_fields, new_body))) = (old, new) else {
        return false;
    };
    // If the fields could not be read before, there are none that a repair could change.
    old_body == new_body && (old_fields.is_none() || old_fields == new_fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_that_overlap_wait_for_the_next_round() {
        let edit = |start, end, text: &str| Edit::new(Span::new(start, end), text);
        assert_eq!(apply(b"abcd", vec![edit(0, 1, "X"), edit(3, 3, "-")]), b"Xbc-d");
        assert_eq!(apply(b"abcd", vec![]), b"abcd");
    }

    #[test]
    fn a_repair_that_changes_a_field_or_the_body_is_not_faithful() {
        let file = |fields: &str, body: &str| format!("---\n{fields}\n---\n{body}").into_bytes();
        let before = file("name: yes", "text\n");
        assert!(is_faithful(&before, &file("name: \"yes\"", "text\n")));
        assert!(!is_faithful(&before, &file("name: true", "text\n")));
        assert!(!is_faithful(&before, &file("name: \"yes\"", "text\r\n")));
        assert!(!is_faithful(&before, b"name: yes"));
        assert!(!is_faithful(&before, &file("name: [", "text\n")));
        assert!(is_faithful(&file("name: a: b", ""), &file("name: \"a: b\"", "")));
    }

    #[test]
    fn a_name_is_written_and_nothing_else_changes_rs_04() {
        let name = SkillName::parse("ahrefs-automation").unwrap();
        for (before, after) in [
            ("name: Ahrefs Automation\nlicense: MIT", "name: ahrefs-automation\nlicense: MIT"),
            ("name: \"Ahrefs: X\" # why", "name: ahrefs-automation # why"),
            ("name: 12\ndescription: d", "name: ahrefs-automation\ndescription: d"),
            ("description: d", "name: ahrefs-automation\ndescription: d"),
        ] {
            let file = |fields: &str| format!("---\n{fields}\n---\nText: x\n").into_bytes();
            let written = with_name(&file(before), &name);
            assert_eq!(written, Some(file(after)), "{before}");
        }
        assert_eq!(with_name(b"---\nname: [\n---\n", &name), None);
        assert_eq!(with_name(b"name: x", &name), None);
    }
}
