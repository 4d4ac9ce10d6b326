//! Skills whose content is generated on request.

mod files;

use std::{collections::BTreeMap, error::Error, sync::Arc};

use bytes::Bytes;
use parking_lot::Mutex;
use skillwire_core::{
    Code, Digest, Finding, RelPath, SKILL_FILE, Scheme, SkillPath, SkillUri, skill_file,
};

pub use self::files::GeneratedFiles;
use crate::{
    file_store::BoxFuture,
    skill::{Skill, SkillContent},
    source::{GroupKey, InspectedSkill, ScanRequest, SkillSource, SourceChange, SourceUnavailable},
};

/// Generates the files of a skill that has no stable digests.
///
/// Calls may take a while; a server makes them off its event loop.
pub trait SkillGenerator: Send + Sync + std::fmt::Debug {
    /// Generates one file; `None` if the skill has no such file.
    fn read(&self, path: &RelPath) -> Result<Option<Bytes>, GenerateError>;

    /// The paths of all files, `SKILL.md` included.
    fn paths(&self) -> Result<Vec<RelPath>, GenerateError>;

    /// The remote access to the files, if another server generates them; [`Self::read`] and
    /// [`Self::paths`] are not used then.
    fn remote(&self) -> Option<&dyn RemoteGenerator> {
        None
    }
}

/// Requests generated files from another server; a request is a future and occupies no thread.
pub trait RemoteGenerator: Send + Sync {
    /// Requests one file; `None` if the skill has no such file.
    fn fetch(&self, path: &RelPath) -> BoxFuture<Result<Option<Bytes>, GenerateError>>;

    /// Requests the `SKILL.md` that the server writes for these values of the skill's arguments, or for
    /// none; `None` if it has one text for all values, in which they are filled in.
    fn fetch_with(
        &self,
        _arguments: &BTreeMap<String, String>,
    ) -> Option<BoxFuture<Result<Option<Bytes>, GenerateError>>> {
        None
    }

    /// Requests the children of a directory, `""` being the skill's own; `None` if the server does
    /// not list them.
    fn children(
        &self,
        directory: &str,
    ) -> BoxFuture<Result<Option<Vec<RemoteChild>>, GenerateError>>;
}

/// A file or directory of a skill that another server generates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteChild {
    /// The path within the skill.
    pub path: RelPath,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// Content could not be generated; the text goes to the operator's log, never to a client.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct GenerateError(#[source] Arc<dyn Error + Send + Sync>);

impl GenerateError {
    /// Says why content could not be generated: with an error, or with a text.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into().into())
    }
}

/// A source of one generated skill.
#[derive(Debug)]
pub struct GeneratedSource {
    path: SkillPath,
    scheme: Scheme,
    generator: Arc<dyn SkillGenerator>,
    /// A digest of what was reported last; `None` before the first scan.
    reported: Mutex<Option<Digest>>,
}

impl GeneratedSource {
    /// Makes a source for the skill at a path.
    pub fn new(path: SkillPath, scheme: Scheme, generator: Arc<dyn SkillGenerator>) -> Self {
        Self { path, scheme, generator, reported: Mutex::default() }
    }
}

impl SkillSource for GeneratedSource {
    fn scan(
        &self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        let mut reported = self.reported.lock();
        if reported.is_some() && !look.forces_pathless_read() {
            return Ok(Vec::new());
        }
        let inspected =
            inspect_generated(self.path.clone(), &self.scheme, Arc::clone(&self.generator));
        // The generator may return other content each time, and clients ask it directly. Only a
        // change of the entry is reported: otherwise every forced scan would notify subscribers.
        let entry = inspected.skill.as_ref().map(|skill| skill.entry.text());
        let now = Digest::of(format!("{entry:?} {:?}", inspected.findings).as_bytes());
        if reported.replace(now) != Some(now) {
            report(SourceChange::Updated(GroupKey(self.path.to_string().into()), vec![inspected]));
        }
        Ok(Vec::new())
    }
}

/// Generates the `SKILL.md` and makes a skill of it that is served as `"dynamic"`.
///
/// The frontmatter comes from the generated file, so that entry and file agree.
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
