//! Reading a `SKILL.md`: fence, frontmatter and body, with everything that is wrong at once.

use serde_json::{Map, Value};

use crate::{
    finding::{Code, Finding},
    frontmatter::Frontmatter,
    layout_rules, markdown,
    path::SKILL_FILE,
    span::Span,
    yaml,
};

/// More lines than a model should have to read at once.
const MAX_BODY_LINES: usize = 500;

/// More tokens than a model should have to read at once, estimated at four bytes each.
const MAX_BODY_TOKENS: usize = 5_000;

/// The most bytes of headings that are listed for one text.
const MAX_HEADINGS: usize = 2 * 1024;

/// A `SKILL.md` that can be served.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillFile {
    /// The frontmatter that the author wrote.
    pub frontmatter: Frontmatter,
    /// Offset of the first byte after the closing fence.
    pub body_offset: usize,
    /// The place of the name in the file.
    pub name: Span,
    /// The place of the licence in the file, if there is one.
    pub license: Option<Span>,
}

/// Checks the bytes of a `SKILL.md`; the value is there when name and description can be carried.
pub fn check(bytes: &[u8]) -> (Option<SkillFile>, Vec<Finding>) {
    let fenced = match yaml::split(bytes) {
        Ok(fenced) => fenced,
        Err(finding) => return (None, vec![finding]),
    };
    let (document, yaml_findings) = yaml::parse(bytes, &fenced, &yaml::Limits::default());
    let mut findings = layout_rules::check(bytes, &fenced, document.as_ref());
    findings.extend(yaml_findings);
    let body_offset = fenced.body_offset;
    let skill_file = document.and_then(|document| {
        let place = |pointer: &str| document.node(pointer).map(|node| node.value);
        let (name, license) = (place("/name"), place("/license"));
        let (frontmatter, format_findings) = Frontmatter::check(document, bytes);
        findings.extend(format_findings);
        Some(SkillFile { frontmatter: frontmatter?, body_offset, name: name?, license })
    });
    findings.extend(check_length(fenced.body));
    (skill_file, findings)
}

/// Returns the fields of a `SKILL.md`, when they can be read, and the bytes of its body.
///
/// Returns none if the frontmatter has no beginning or no end.
pub fn read(bytes: &[u8]) -> Option<(Option<Map<String, Value>>, &str)> {
    let fenced = yaml::split(bytes).ok()?;
    let (document, _) = yaml::parse(bytes, &fenced, &yaml::Limits::default());
    Some((document.map(|document| document.map), fenced.body))
}

/// Returns the headings of a `SKILL.md` for a search index, one on each line; only the first ones
/// of a long text.
pub fn headings(bytes: &[u8]) -> String {
    let mut text = String::new();
    let Ok(fenced) = yaml::split(bytes) else { return text };
    for heading in markdown::headings(fenced.body) {
        if text.len() + heading.len() >= MAX_HEADINGS {
            break;
        }
        text.push_str(heading);
        text.push('\n');
    }
    text
}

fn check_length(body: &str) -> Option<Finding> {
    let ended = memchr::memchr_iter(b'\n', body.as_bytes()).count();
    let lines = ended + usize::from(!body.is_empty() && !body.ends_with('\n'));
    let tokens = body.len() / 4;
    (lines > MAX_BODY_LINES || tokens > MAX_BODY_TOKENS).then(|| {
        Finding::new(
            Code::BodyLong,
            SKILL_FILE,
            format!(
                "The body has {lines} lines and about {tokens} tokens; \
                 {MAX_BODY_LINES} lines and {MAX_BODY_TOKENS} tokens are the advised most."
            ),
        )
        .help("Move details into files below `references/` and link to them.")
    })
}
