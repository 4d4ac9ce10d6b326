//! Makes skills of a tree and its content: the same judgement for every source.

use std::collections::BTreeMap;

use bytes::Bytes;
use skillwire_core::{
    digest::Digest,
    file_set::{self, CheckedFile},
    finding::{Code, Finding},
    media_type,
    name::SkillName,
    path::{RelPath, SKILL_FILE, SkillPath},
    skill_file::{self, SkillFile},
    uri::SkillUri,
};

use crate::{
    place::{Place, Standing, below},
    rules::Rules,
    skill::{Content, FileRecord, FileTree, Skill},
    source::{Inspected, refuses},
    survey::Survey,
    tree::{Problem, is_within, relative},
};

/// The bytes of one file and what was computed from exactly those bytes.
#[derive(Debug, Clone)]
pub(crate) struct Blob {
    pub(crate) bytes: Bytes,
    pub(crate) digest: Digest,
}

impl Blob {
    /// Hashes bytes.
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self { digest: Digest::of(&bytes), bytes }
    }
}

/// What a `SKILL.md` says.
#[derive(Debug)]
pub(crate) struct Head {
    file: Option<SkillFile>,
    findings: Vec<Finding>,
}

impl Head {
    /// Checks the bytes of a `SKILL.md`.
    pub(crate) fn check(bytes: &[u8]) -> Self {
        let (file, findings) = skill_file::check(bytes);
        Self { file, findings }
    }

    /// Tells whether the other files are worth reading.
    pub(crate) fn is_usable(&self) -> bool {
        self.file.is_some()
    }
}

/// Everything that is known of an outermost skill.
pub(crate) struct Assembly<'a> {
    pub(crate) place: &'a Place,
    pub(crate) rules: &'a Rules,
    /// By directory, the outermost one included.
    pub(crate) surveys: &'a BTreeMap<&'a str, Survey<'a>>,
    /// By directory; absent where `SKILL.md` could not be read.
    pub(crate) heads: &'a BTreeMap<&'a str, Head>,
    /// What went wrong while reading.
    pub(crate) failures: &'a [Problem],
    /// The content of the files that were read, by path in the tree.
    pub(crate) blob: &'a dyn Fn(&str) -> Option<&'a Blob>,
}

impl Assembly<'_> {
    /// Judges every skill of the tree, outer ones first.
    pub(crate) fn run(&self) -> Vec<Inspected> {
        let mut inspected = Vec::new();
        let mut served: Vec<&str> = Vec::new();
        for (&dir, survey) in self.surveys {
            // A served skill has taken care of everything inside it.
            if served.iter().any(|outer| is_within(dir, outer)) {
                continue;
            }
            let outer = self.inspect(survey, &self.place.standing(dir));
            let path = outer.skill.as_ref().map(|skill| skill.path.clone());
            inspected.push(outer);
            if let Some(path) = path {
                self.inspect_nested(dir, &path, &mut inspected);
                served.push(dir);
            }
        }
        inspected
    }

    /// Publishes the skills inside a served one, whose index is the last of `inspected`.
    fn inspect_nested(&self, outer: &str, path: &SkillPath, inspected: &mut Vec<Inspected>) {
        let mut places = BTreeMap::from([(outer, inspected.len() - 1)]);
        for (&dir, survey) in self.surveys {
            if dir == outer || !is_within(dir, outer) {
                continue;
            }
            let (between, name) = split(relative(dir, outer));
            match self.why_no_skill(dir, name) {
                None => {
                    let above =
                        path.segments().chain(between.into_iter().flat_map(|b| b.split('/')));
                    let standing = Standing {
                        above: above.map(str::to_owned).collect(),
                        directory: Some(name.to_owned()),
                    };
                    places.insert(dir, inspected.len());
                    inspected.push(self.inspect(survey, &standing));
                }
                Some(reason) => {
                    let enclosing = places.iter().rev().find(|(place, _)| is_within(dir, place));
                    if let Some((_, index)) = enclosing {
                        inspected[*index].findings.push(self.not_nested(dir, &reason));
                    }
                }
            }
        }
    }

    /// Says why a nested `SKILL.md` does not make a skill, when it does not.
    fn why_no_skill(&self, dir: &str, directory: &str) -> Option<String> {
        let Some(head) = self.heads.get(dir) else {
            return Some(format!("`{SKILL_FILE}` is not a regular file."));
        };
        if let Some(reason) = head.findings.iter().find(|f| refuses(f, self.rules.strictness)) {
            return Some(reason.message.clone());
        }
        let name = head.file.as_ref()?.frontmatter.name();
        (name.as_str() != directory)
            .then(|| format!("The name `{name}` differs from the directory's name `{directory}`."))
    }

    fn not_nested(&self, dir: &str, reason: &str) -> Finding {
        let file = self.place.name_of(&below(dir, SKILL_FILE));
        let message = format!("The nested `{SKILL_FILE}` is no skill of its own. {reason}");
        Finding::new(Code::NestedSkillInvalid, file, message)
            .help("Mend it to publish it too; until then it is a file of the skill around it.")
    }

    /// Judges one skill.
    fn inspect(&self, survey: &Survey<'_>, standing: &Standing) -> Inspected {
        let head = self.heads.get(survey.dir);
        let file = head.and_then(|head| head.file.as_ref());
        let mut findings =
            head.map_or_else(Vec::new, |head| self.placed(survey.dir, &head.findings));
        findings.extend(survey.findings.iter().map(|finding| self.named(finding, &finding.file)));
        findings.extend(self.failures_in(survey.dir));
        let mut skill = None;
        if let Some(file) = file {
            findings.extend(self.check_directory_name(
                survey.dir,
                file,
                standing.directory.as_deref(),
            ));
            if !self.refuses_any(&findings) {
                skill = self.complete(survey, file, &standing.above, &mut findings);
            }
        }
        if self.refuses_any(&findings) {
            skill = None;
        }
        Inspected { origin: self.place.name_of(survey.dir), findings, skill }
    }

    fn complete(
        &self,
        survey: &Survey<'_>,
        file: &SkillFile,
        above: &[String],
        findings: &mut Vec<Finding>,
    ) -> Option<Skill> {
        let Some(tree) = self.file_tree(survey) else {
            // Reading reports each file it could not read; this only guards against a gap.
            findings.push(Finding::new(
                Code::Unreadable,
                self.place.name_of(survey.dir),
                "A file of the skill was not read.",
            ));
            return None;
        };
        let checked: Vec<_> =
            tree.files.iter().map(|f| CheckedFile { path: &f.path, bytes: &f.bytes }).collect();
        findings.extend(self.placed(survey.dir, &file_set::check(file, &checked)));
        let name = file.frontmatter.name().clone();
        let path = SkillPath::new(above.iter().map(String::as_str), name).map_err(|error| {
            findings.push(Finding::new(
                Code::NameInvalid,
                self.place.name_of(survey.dir),
                format!("The path of the skill {error}."),
            ));
        });
        let path = path.ok()?;
        Some(Skill {
            uri: SkillUri::new(&self.rules.scheme, &path),
            path,
            frontmatter: file.frontmatter.clone(),
            content: Content::Files(tree),
            origin: self.place.name_of(survey.dir),
        })
    }

    /// The complete content, or nothing when a file is missing.
    fn file_tree(&self, survey: &Survey<'_>) -> Option<FileTree> {
        let inner = |path: &str| RelPath::parse(relative(path, survey.dir)).ok();
        let record = |&(path, holder): &(&str, &str)| {
            let (path, blob) = (inner(path)?, (self.blob)(holder)?);
            let media_type = media_type::of(path.file_name(), &blob.bytes);
            Some(FileRecord { path, digest: blob.digest, media_type, bytes: blob.bytes.clone() })
        };
        Some(FileTree {
            files: survey.files.iter().map(record).collect::<Option<_>>()?,
            directories: survey.directories.iter().map(|dir| inner(dir)).collect::<Option<_>>()?,
        })
    }

    fn check_directory_name(
        &self,
        dir: &str,
        file: &SkillFile,
        directory: Option<&str>,
    ) -> Option<Finding> {
        let name = file.frontmatter.name();
        let directory = directory.filter(|directory| *directory != name.as_str())?;
        let shown = directory.escape_debug();
        let message = format!("The name `{name}` differs from the directory's name `{shown}`.");
        let help = if SkillName::parse(directory).is_ok() {
            format!("Rename the directory to `{name}`, or write `name: {directory}`.")
        } else {
            format!("Rename the directory to `{name}`.")
        };
        let file = self.place.name_of(&below(dir, SKILL_FILE));
        Some(Finding::new(Code::NameNotDirectory, file, message).help(help))
    }

    fn failures_in(&self, dir: &str) -> impl Iterator<Item = Finding> {
        let inside = self.failures.iter().filter(move |failure| is_within(&failure.path, dir));
        inside.map(|failure| self.named(&failure.finding, &failure.finding.file))
    }

    fn refuses_any(&self, findings: &[Finding]) -> bool {
        findings.iter().any(|finding| refuses(finding, self.rules.strictness))
    }

    /// Gives findings about files of one skill the names the operator knows.
    fn placed(&self, dir: &str, findings: &[Finding]) -> Vec<Finding> {
        findings.iter().map(|finding| self.named(finding, &below(dir, &finding.file))).collect()
    }

    fn named(&self, finding: &Finding, path: &str) -> Finding {
        Finding { file: self.place.name_of(path), ..finding.clone() }
    }
}

/// Splits a path into what is above the last segment and that segment.
fn split(path: &str) -> (Option<&str>, &str) {
    path.rsplit_once('/').map_or((None, path), |(above, name)| (Some(above), name))
}
