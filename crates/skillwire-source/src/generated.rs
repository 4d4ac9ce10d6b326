//! Skills whose content is made on request.

mod files;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use skillwire_core::{
    Code, Digest, Finding, RelPath, SKILL_FILE, Scheme, SkillPath, SkillUri, skill_file,
};

pub use self::files::GeneratedFiles;
use crate::{
    file_store::BoxFuture,
    skill::{Skill, SkillContent},
    source::{GroupKey, InspectedSkill, ScanRequest, SkillSource, SourceChange, SourceUnavailable},
};

/// Makes the files of a skill that has no stable digests.
///
/// Calls may take a while; a server makes them off its event loop.
pub trait SkillGenerator: Send + Sync + std::fmt::Debug {
    /// Makes one file, or nothing when the skill has no such file.
    fn read(&self, path: &RelPath) -> Result<Option<Bytes>, GenerateError>;

    /// The files there are now, `SKILL.md` included.
    fn paths(&self) -> Result<Vec<RelPath>, GenerateError>;

    /// How to ask for the files, where somebody else makes them; [`Self::read`] and
    /// [`Self::paths`] are not used then.
    fn remote(&self) -> Option<&dyn RemoteGenerator> {
        None
    }
}

/// Makes files by asking somebody else; whoever waits holds no thread.
pub trait RemoteGenerator: Send + Sync {
    /// Asks for one file; nothing when the skill has no such file.
    fn fetch(&self, path: &RelPath) -> BoxFuture<Result<Option<Bytes>, GenerateError>>;

    /// Asks for the children of a directory, `""` being the skill's own; nothing when whoever makes
    /// them does not say.
    fn children(
        &self,
        directory: &str,
    ) -> BoxFuture<Result<Option<Vec<RemoteChild>>, GenerateError>>;
}

/// One thing in a directory of a skill that somebody else makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteChild {
    /// Where it is in the skill.
    pub path: RelPath,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// Content could not be made; the text goes to the operator's log, never to a client.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct GenerateError(pub String);

/// A source of one skill that a generator makes.
#[derive(Debug)]
pub struct GeneratedSource {
    path: SkillPath,
    scheme: Scheme,
    generator: Arc<dyn SkillGenerator>,
    /// What was reported last, in short; nothing before the first scan.
    told: Mutex<Option<Digest>>,
}

impl GeneratedSource {
    /// Makes a source for the skill at a path.
    pub fn new(path: SkillPath, scheme: Scheme, generator: Arc<dyn SkillGenerator>) -> Self {
        Self { path, scheme, generator, told: Mutex::default() }
    }
}

impl SkillSource for GeneratedSource {
    fn scan(
        &self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_some() && !look.forces_pathless_read() {
            return Ok(Vec::new());
        }
        let inspected =
            inspect_generated(self.path.clone(), &self.scheme, Arc::clone(&self.generator));
        // Clients ask the generator itself, and each time it may make something else. Only what is
        // listed about it is news; all else would be told to subscribers at every close look.
        let entry = inspected.skill.as_ref().map(|skill| &skill.entry);
        let now = Digest::of(format!("{entry:?} {:?}", inspected.findings).as_bytes());
        if told.replace(now) != Some(now) {
            report(SourceChange::Updated(GroupKey(self.path.to_string().into()), vec![inspected]));
        }
        Ok(Vec::new())
    }
}

/// Asks a generator for its `SKILL.md` and makes the skill that will be served as `"dynamic"`.
///
/// The frontmatter is taken from what the generator makes, so entry and file agree.
#[expect(clippy::needless_pass_by_value, reason = "the skill is made of what is given")]
pub fn inspect_generated(
    path: SkillPath,
    scheme: &Scheme,
    generator: Arc<dyn SkillGenerator>,
) -> InspectedSkill {
    let origin = format!("generated skill {path}");
    let refused = |finding: Finding| InspectedSkill {
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
        let uri = SkillUri::new(scheme, &path);
        let content = SkillContent::Generated(generator);
        Some(Arc::new(Skill::new(uri, checked.frontmatter, content)))
    });
    InspectedSkill { origin, findings, skill }
}
