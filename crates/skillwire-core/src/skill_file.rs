//! Reading a `SKILL.md`: fence, frontmatter and body, with everything that is wrong at once.

use crate::{
    finding::{Code, Finding},
    frontmatter::Frontmatter,
    path::SKILL_FILE,
    yaml,
};

/// More lines than a model should have to read at once.
const MAX_BODY_LINES: usize = 500;

/// More tokens than a model should have to read at once, estimated at four bytes each.
const MAX_BODY_TOKENS: usize = 5_000;

/// A `SKILL.md` that can be served.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillFile {
    /// What the author declared.
    pub frontmatter: Frontmatter,
    /// Offset of the first byte after the closing fence.
    pub body_offset: usize,
}

/// Checks the bytes of a `SKILL.md`; the value is there when name and description can be carried.
pub fn check(bytes: &[u8]) -> (Option<SkillFile>, Vec<Finding>) {
    let fenced = match yaml::split(bytes) {
        Ok(fenced) => fenced,
        Err(finding) => return (None, vec![finding]),
    };
    let mut findings = Vec::new();
    if fenced.bom {
        findings.push(
            Finding::new(
                Code::ByteOrderMark,
                SKILL_FILE,
                "The file begins with a byte order mark.",
            )
            .help("It is served unchanged; save as UTF-8 without BOM to please every reader."),
        );
    }
    if fenced.crlf {
        findings.push(
            Finding::new(Code::CrLf, SKILL_FILE, "The file uses CRLF line ends.")
                .help("It is served unchanged; some readers want LF."),
        );
    }
    let (document, yaml_findings) = yaml::parse(bytes, &fenced, &yaml::Limits::default());
    findings.extend(yaml_findings);
    let frontmatter = document.and_then(|document| {
        let (frontmatter, format_findings) = Frontmatter::check(document, bytes);
        findings.extend(format_findings);
        frontmatter
    });
    findings.extend(check_length(fenced.body));
    let body_offset = fenced.body_offset;
    (frontmatter.map(|frontmatter| SkillFile { frontmatter, body_offset }), findings)
}

fn check_length(body: &str) -> Option<Finding> {
    let lines = body.lines().count();
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
