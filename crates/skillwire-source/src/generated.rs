//! Skills whose content is made on request.

use std::sync::Arc;

use bytes::Bytes;
use skillwire_core::{
    finding::{Code, Finding},
    path::{RelPath, SKILL_FILE, SkillPath},
    skill_file,
    uri::{Scheme, SkillUri},
};

use crate::{
    skill::{Content, Skill},
    source::Inspected,
};

/// Makes the files of a skill that has no stable digests.
///
/// Calls may take a while; a server makes them off its event loop.
pub trait Generator: Send + Sync + std::fmt::Debug {
    /// Makes one file, or nothing when the skill has no such file.
    fn read(&self, path: &RelPath) -> Result<Option<Bytes>, GenerateError>;

    /// The files there are now, `SKILL.md` included.
    fn paths(&self) -> Result<Vec<RelPath>, GenerateError>;
}

/// Content could not be made; the text goes to the operator's log, never to a client.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct GenerateError(pub String);

/// Asks a generator for its `SKILL.md` and makes the skill that will be served as `"dynamic"`.
///
/// The frontmatter is taken from what the generator makes, so entry and file agree.
pub fn inspect(path: SkillPath, scheme: &Scheme, generator: Arc<dyn Generator>) -> Inspected {
    let origin = format!("generated skill {path}");
    let refused = |finding: Finding| Inspected {
        origin: origin.clone(),
        findings: vec![finding],
        skill: None,
    };
    let bytes = match generator.read(&RelPath::skill_file()) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            return refused(Finding::new(
                Code::NoSkillFound,
                SKILL_FILE,
                "The generator makes no `SKILL.md`.",
            ));
        }
        Err(error) => {
            return refused(Finding::new(
                Code::Unreadable,
                SKILL_FILE,
                format!("The generator failed: {error}."),
            ));
        }
    };
    let (checked, mut findings) = skill_file::check(&bytes);
    findings.push(
        Finding::new(
            Code::DynamicSkill,
            SKILL_FILE,
            "The content is generated, so hosts cannot verify it and some refuse to load it.",
        )
        .help("Serve stable files where you can."),
    );
    let skill = checked.and_then(|checked| {
        if checked.frontmatter.name() != path.name() {
            findings.push(Finding::new(
                Code::NameInvalid,
                SKILL_FILE,
                format!(
                    "The name `{}` does not end the path `{path}`.",
                    checked.frontmatter.name()
                ),
            ));
            return None;
        }
        Some(Skill {
            uri: SkillUri::new(scheme, &path),
            path,
            frontmatter: checked.frontmatter,
            content: Content::Generated(generator),
            origin: origin.clone(),
        })
    });
    Inspected { origin, findings, skill }
}
