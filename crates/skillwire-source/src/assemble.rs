//! Makes skills of a tree and its content, with the same checks for every source.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use skillwire_core::{
    Code, Digest, Finding, RelPath, SKILL_FILE, SkillName, SkillPath, SkillUri, Strictness,
    file_set::{self, CheckedFile},
    media_type,
    skill_file::{self, SkillFile},
};

use crate::{
    file_store::FileStore,
    location::{ServedPosition, SkillLocation, join_path},
    rules::ServingRules,
    skill::{FileRecord, FileTree, Skill, SkillContent},
    source::InspectedSkill,
    survey::SkillSurvey,
    tree::{TreeProblem, is_within, relative},
};

/// The bytes of one file, with their digest.
#[derive(Debug, Clone)]
pub(crate) struct FileBlob {
    pub(crate) bytes: Bytes,
    pub(crate) digest: Digest,
}

impl FileBlob {
    /// Hashes bytes.
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self { digest: Digest::of(&bytes), bytes }
    }
}

/// A `SKILL.md` after parsing.
#[derive(Debug)]
pub(crate) struct ParsedSkillFile {
    file: Option<SkillFile>,
    findings: Vec<Finding>,
}

impl ParsedSkillFile {
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

/// Everything that is known of an outermost skill after its files were read.
pub(crate) struct SkillAssembly<'a> {
    pub(crate) location: &'a SkillLocation,
    pub(crate) rules: &'a ServingRules,
    /// By directory, the outermost one included.
    pub(crate) surveys: &'a BTreeMap<&'a str, SkillSurvey<'a>>,
    /// By directory; absent where `SKILL.md` could not be read.
    pub(crate) heads: &'a BTreeMap<&'a str, ParsedSkillFile>,
    /// The files that could not be read.
    pub(crate) failures: &'a [TreeProblem],
    /// The content of the files that were read, by path in the tree.
    pub(crate) blob: &'a dyn Fn(&str) -> Option<&'a FileBlob>,
    /// Makes the store of a skill, which reads its files again.
    pub(crate) store: &'a dyn Fn(&SkillSurvey<'a>) -> Arc<dyn FileStore>,
}

/// A directory that was inspected as a skill.
struct InspectedDir<'a> {
    /// The index of the result in the list.
    index: usize,
    /// The served skill around it, or itself: skills inside are published below that one.
    around: Option<Arc<ServedSkill<'a>>>,
}

/// A served skill that is nested in no other one.
struct ServedSkill<'a> {
    dir: &'a str,
    path: SkillPath,
}

impl<'a> SkillAssembly<'a> {
    /// Inspects every skill of the tree, outer ones first.
    ///
    /// A valid skill inside a served one is published below it; an invalid one is only a file of
    /// it. Inside a skill that is not served, every skill is outermost.
    pub(crate) fn run(&self) -> Vec<InspectedSkill> {
        let mut inspected: Vec<InspectedSkill> = Vec::new();
        let mut inspected_dirs: BTreeMap<&str, InspectedDir<'a>> = BTreeMap::new();
        for (&dir, survey) in self.surveys {
            let enclosing = above(dir).find_map(|above| inspected_dirs.get(above));
            let outer = enclosing.and_then(|enclosing| {
                enclosing.around.as_ref().map(|outer| (enclosing.index, Arc::clone(outer)))
            });
            let (skill, around) = match outer {
                None => {
                    let (skill, path) = self.inspect(survey, &self.location.position(dir));
                    (skill, path.map(|path| Arc::new(ServedSkill { dir, path })))
                }
                Some((nearest, outer)) => {
                    let position = outer.position(dir);
                    if let Some(reason) = self.why_no_skill(dir, position.directory.as_deref()) {
                        inspected[nearest].findings.push(self.not_nested(dir, &reason));
                        continue;
                    }
                    let mut skill = self.inspect(survey, &position).0;
                    skill.findings.push(self.nested(dir));
                    (skill, Some(outer))
                }
            };
            inspected_dirs.insert(dir, InspectedDir { index: inspected.len(), around });
            inspected.push(skill);
        }
        inspected
    }

    /// The reason why a nested `SKILL.md` does not make a skill, if there is one.
    fn why_no_skill(&self, dir: &str, directory: Option<&str>) -> Option<String> {
        let Some(head) = self.heads.get(dir) else {
            return Some(format!("`{SKILL_FILE}` is not a regular file."));
        };
        if let Some(reason) = head.findings.iter().find(|f| f.skips(self.rules.strictness)) {
            return Some(reason.message.clone());
        }
        let Some(file) = &head.file else {
            return Some(format!("`{SKILL_FILE}` cannot be understood."));
        };
        self.check_directory_name(dir, file, directory).map(|finding| finding.message)
    }

    fn not_nested(&self, dir: &str, reason: &str) -> Finding {
        let file = self.location.name_of(&join_path(dir, SKILL_FILE));
        let message = format!("The nested `{SKILL_FILE}` is no skill of its own. {reason}");
        Finding::new(Code::NestedSkillInvalid, file, message)
            .help("Fix it to publish it too; until then it is a file of the skill around it.")
    }

    /// Warns of a nested skill, which not every host finds.
    fn nested(&self, dir: &str) -> Finding {
        let file = self.location.name_of(&join_path(dir, SKILL_FILE));
        let message = "The skill lies inside another one; hosts that look one level deep miss it.";
        Finding::new(Code::NestedSkill, file, message)
            .help("Move it beside the outer skill, unless it is useless without it.")
    }

    /// Inspects one skill; the path is there if it is served.
    fn inspect(
        &self,
        survey: &SkillSurvey<'a>,
        position: &ServedPosition,
    ) -> (InspectedSkill, Option<SkillPath>) {
        let head = self.heads.get(survey.dir);
        let file = head.and_then(|head| head.file.as_ref());
        let mut findings =
            head.map_or_else(Vec::new, |head| self.with_operator_names(survey.dir, &head.findings));
        findings.extend(survey.findings.iter().map(|finding| self.renamed(finding, &finding.file)));
        findings.extend(self.failures_in(survey.dir));
        findings.extend(file.and_then(|file| {
            self.check_directory_name(survey.dir, file, position.directory.as_deref())
        }));
        if let Some(directory) = &position.directory {
            suggest_directory_name(directory, &mut findings);
        }
        // `check` reports everything at once; a server skips the rest once the skill is refused.
        if !self.rules.brief || !self.refuses_any(&findings) {
            findings.extend(self.check_contents(survey, file));
        }
        let served = file
            .filter(|_| !self.refuses_any(&findings))
            .and_then(|file| self.complete(survey, file, position, &mut findings));
        let (skill, path) = served.unzip();
        (InspectedSkill { origin: self.location.name_of(survey.dir), findings, skill }, path)
    }

    fn complete(
        &self,
        survey: &SkillSurvey<'a>,
        file: &SkillFile,
        position: &ServedPosition,
        findings: &mut Vec<Finding>,
    ) -> Option<(Arc<Skill>, SkillPath)> {
        let Some(tree) = self.file_tree(survey) else {
            // Each unreadable file has a finding of its own. This one only guards against a gap.
            findings.push(Finding::new(
                Code::Unreadable,
                self.location.name_of(survey.dir),
                "A file of the skill was not read.",
            ));
            return None;
        };
        let name = file.frontmatter.name().clone();
        let prefix = position.prefix(&name);
        let path = match SkillPath::new(prefix, name) {
            Ok(path) => path,
            Err(error) => {
                let message = format!("The path of the skill {error}.");
                let file = self.location.name_of(survey.dir);
                findings.push(Finding::new(Code::NameInvalid, file, message));
                return None;
            }
        };
        let uri = SkillUri::new(&self.rules.scheme, &path);
        let skill = Skill::new(uri, file.frontmatter.clone(), SkillContent::Files(tree));
        Some((Arc::new(skill), path))
    }

    /// Checks the content of the files that were read.
    fn check_contents(&self, survey: &SkillSurvey<'a>, file: Option<&SkillFile>) -> Vec<Finding> {
        let mut findings = self.check_secrets(survey);
        if !self.rules.brief || self.rules.strictness == Strictness::Strict {
            findings.extend(self.check_files(survey, file));
        }
        self.with_operator_names(survey.dir, &findings)
    }

    /// Looks for secrets in the files that the operator did not allow, by name, by path in this
    /// skill or by path in the outermost one.
    ///
    /// A server does this as well: what `check` calls a secret must not be served.
    fn check_secrets(&self, survey: &SkillSurvey<'a>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (path, holder) in &survey.files {
            let [Ok(whole), Ok(inner)] = [path, relative(path, survey.dir)].map(RelPath::parse)
            else {
                continue;
            };
            if self.rules.allow_secret.allows(&inner) || self.rules.allow_secret.allows(&whole) {
                continue;
            }
            let bytes = (self.blob)(holder).map(|blob| &*blob.bytes);
            findings.extend(file_set::check_secret(&inner, bytes));
            if let Some(bytes) = bytes {
                findings.extend(file_set::check_secret_text(CheckedFile { path: &inner, bytes }));
            }
        }
        findings
    }

    /// Checks names, links and scripts, but only if every file was read: a link to an unread file
    /// would seem broken.
    fn check_files(&self, survey: &SkillSurvey<'a>, file: Option<&SkillFile>) -> Vec<Finding> {
        let read = |&(path, holder): &(&str, &str)| {
            Some((RelPath::parse(relative(path, survey.dir)).ok()?, &(self.blob)(holder)?.bytes))
        };
        let files: Option<Vec<_>> = survey.files.iter().map(read).collect();
        let files = files.unwrap_or_default();
        let checked: Vec<_> =
            files.iter().map(|(path, bytes)| CheckedFile { path, bytes }).collect();
        file_set::check(file, &checked)
    }

    /// The complete content; `None` if a file was not read.
    fn file_tree(&self, survey: &SkillSurvey<'a>) -> Option<FileTree> {
        let inner = |path: &str| RelPath::parse(relative(path, survey.dir)).ok();
        let record = |&(path, holder): &(&str, &str)| {
            let (path, blob) = (inner(path)?, (self.blob)(holder)?);
            let media_type = media_type::of(path.file_name(), &blob.bytes);
            let size = blob.bytes.len() as u64;
            Some(FileRecord { path, digest: blob.digest, size, media_type })
        };
        let is_empty = |dir: &&&str| !survey.files.iter().any(|(path, _)| is_within(path, dir));
        let empty = survey.directories.iter().filter(is_empty);
        Some(FileTree {
            files: survey.files.iter().map(record).collect::<Option<_>>()?,
            empty_directories: empty.map(|dir| inner(dir)).collect::<Option<_>>()?,
            store: (self.store)(survey),
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
        let path = join_path(dir, SKILL_FILE);
        let finding =
            Finding::new(Code::NameNotDirectory, self.location.name_of(&path), message).help(help);
        Some(match (self.blob)(&path) {
            Some(blob) => finding.at(&blob.bytes, file.name),
            None => finding,
        })
    }

    fn failures_in(&self, dir: &str) -> impl Iterator<Item = Finding> {
        let inside = self.failures.iter().filter(move |failure| is_within(&failure.path, dir));
        inside.map(|failure| self.renamed(&failure.finding, &failure.finding.file))
    }

    fn refuses_any(&self, findings: &[Finding]) -> bool {
        findings.iter().any(|finding| finding.skips(self.rules.strictness))
    }

    /// Gives findings about files of one skill the names that the operator knows.
    fn with_operator_names(&self, dir: &str, findings: &[Finding]) -> Vec<Finding> {
        findings
            .iter()
            .map(|finding| self.renamed(finding, &join_path(dir, &finding.file)))
            .collect()
    }

    fn renamed(&self, finding: &Finding, path: &str) -> Finding {
        Finding { file: self.location.name_of(path), ..finding.clone() }
    }
}

impl ServedSkill<'_> {
    /// The position of a skill inside this one: below it, by the names of the directories.
    fn position(&self, dir: &str) -> ServedPosition {
        let mut segments: Vec<String> = self.path.segments().map(str::to_owned).collect();
        segments.extend(relative(dir, self.dir).split('/').map(str::to_owned));
        ServedPosition { directory: segments.pop(), above: segments, alone: false }
    }
}

/// Suggests the directory's name for a skill that has none of its own.
fn suggest_directory_name(directory: &str, findings: &mut [Finding]) {
    let Ok(name) = SkillName::parse(directory) else { return };
    let line = format!("`name: {name}`");
    for finding in findings {
        let suggests = finding.help.as_ref().is_some_and(|help| help.contains(&line));
        finding.help = Some(match finding.code {
            Code::NameMissing => format!("Add a line {line}, which is the directory's name."),
            Code::NameInvalid if suggests => {
                format!("Write {line}, which is the directory's name.")
            }
            _ => continue,
        });
    }
}

/// The directories around a directory, nearest first; the last one is the tree itself.
fn above(dir: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(parent(dir), |dir| parent(dir))
}

fn parent(dir: &str) -> Option<&str> {
    if dir.is_empty() { None } else { Some(dir.rsplit_once('/').map_or("", |(parent, _)| parent)) }
}
