//! A skill with all its bytes, checked and ready to be installed.

use bytes::Bytes;
use skillwire_core::{
    ContentId, Digest, Finding, Frontmatter, RelPath, SkillName, is_ignored, limits, portable,
    skill_file,
};
use skillwire_source::inspect_files;

/// One file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundledFile {
    /// Its path below the skill's folder.
    pub path: RelPath,
    /// Its content.
    pub bytes: Bytes,
    /// Whether its owner may run it.
    pub executable: bool,
}

/// A skill that can be installed: its files, its name and the id of its content.
#[derive(Debug, Clone)]
pub struct SkillBundle {
    name: SkillName,
    frontmatter: Frontmatter,
    folder: String,
    files: Vec<BundledFile>,
    content: ContentId,
    findings: Vec<Finding>,
}

/// Why files cannot be installed as a skill.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableSkill {
    /// There are rules of skills that it breaks.
    #[error("{}", first_message(.0))]
    Findings(Vec<Finding>),
    /// Files would replace each other on some disks.
    #[error("{0}")]
    NotPortable(#[from] portable::NotPortable),
    /// The files have no id.
    #[error("the content {0}")]
    Content(#[from] skillwire_core::NoContentId),
    /// There are more files or bytes than a skill may have.
    #[error("the skill has more than {limit} {unit}")]
    TooLarge {
        /// The most that a skill may have.
        limit: u64,
        /// What is counted.
        unit: &'static str,
    },
}

fn first_message(findings: &[Finding]) -> String {
    let worst = findings.iter().max_by_key(|finding| finding.level);
    worst.map_or_else(|| "it is not a skill".to_owned(), |finding| finding.message.clone())
}

impl SkillBundle {
    /// Checks the files of a skill; `folder` is where its source has it. Files that no skill has, such as
    /// `.DS_Store`, are left out.
    pub fn new(
        folder: impl Into<String>,
        files: impl IntoIterator<Item = BundledFile>,
    ) -> Result<Self, UnusableSkill> {
        let folder = folder.into();
        let keep = |file: &BundledFile| !file.path.segments().any(is_ignored);
        let mut files: Vec<BundledFile> = files.into_iter().filter(keep).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        if files.len() > limits::MAX_FILES {
            let limit = limits::MAX_FILES as u64;
            return Err(UnusableSkill::TooLarge { limit, unit: "files" });
        }
        let bytes: u64 = files.iter().map(|file| file.bytes.len() as u64).sum();
        if bytes > limits::MAX_BYTES {
            return Err(UnusableSkill::TooLarge { limit: limits::MAX_BYTES, unit: "bytes" });
        }
        let head = files.iter().find(|file| file.path == RelPath::skill_file());
        let (checked, findings) = match head {
            Some(head) => skill_file::check(&head.bytes),
            None => (None, Vec::new()),
        };
        let Some(checked) = checked else { return Err(UnusableSkill::Findings(findings)) };
        portable::check(files.iter().map(|file| &file.path))?;
        let name = checked.frontmatter.name().clone();
        let given = files.iter().map(|file| (file.path.as_str(), file.bytes.clone()));
        let inspected = inspect_files("", name.as_str(), given);
        // Skills inside this one are part of it; what is said about them is said, too.
        let usable =
            inspected.iter().any(|skill| skill.origin == name.as_str() && skill.skill.is_some());
        let findings: Vec<Finding> =
            inspected.into_iter().flat_map(|skill| skill.findings).collect();
        if !usable {
            return Err(UnusableSkill::Findings(findings));
        }
        let content = content_of(&files)?;
        Ok(Self { name, frontmatter: checked.frontmatter, folder, files, content, findings })
    }

    /// Returns the name in the skill's frontmatter.
    pub fn name(&self) -> &SkillName {
        &self.name
    }

    /// Returns the frontmatter.
    pub fn frontmatter(&self) -> &Frontmatter {
        &self.frontmatter
    }

    /// Returns where the source has the skill; empty for the root of the source.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Returns the files, in the order of their paths.
    pub fn files(&self) -> &[BundledFile] {
        &self.files
    }

    /// Returns the id of the content.
    pub fn content(&self) -> &ContentId {
        &self.content
    }

    /// Returns what is to be said about the skill; nothing of it forbids to use it.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the bytes of all files together.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.bytes.len() as u64).sum()
    }
}

/// Returns the id of files.
pub(crate) fn content_of(files: &[BundledFile]) -> Result<ContentId, skillwire_core::NoContentId> {
    ContentId::of(
        files
            .iter()
            .map(|file| (file.path.clone(), Digest::of(&file.bytes), file.bytes.len() as u64)),
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn file(path: &str, text: &str) -> BundledFile {
        let path = RelPath::parse(path).unwrap();
        BundledFile { path, bytes: Bytes::copy_from_slice(text.as_bytes()), executable: false }
    }

    pub(crate) fn head(name: &str) -> BundledFile {
        let text = format!("---\nname: {name}\ndescription: Does {name}. Use when testing.\n---\n");
        file("SKILL.md", &text)
    }

    #[test]
    fn the_content_is_that_of_the_files_that_a_skill_has() {
        let bundle = SkillBundle::new("a", [file("b.txt", "b"), head("pdf")]).unwrap();
        assert_eq!((bundle.name().as_str(), bundle.folder()), ("pdf", "a"));
        let noise = [head("pdf"), file("b.txt", "b"), file(".DS_Store", "x")];
        assert_eq!(SkillBundle::new("", noise).unwrap().content(), bundle.content());
    }

    #[test]
    fn twins_limits_and_broken_skills_are_refused_with_a_reason() {
        let reason = |files: Vec<BundledFile>| SkillBundle::new("", files).unwrap_err().to_string();
        let twins = reason(vec![head("pdf"), file("Read.md", "a"), file("read.md", "b")]);
        assert!(twins.contains("`Read.md` and `read.md` are one name"), "{twins}");
        assert_eq!(reason(vec![file("a.txt", "x")]), "it is not a skill");
        let broken = reason(vec![file("SKILL.md", "---\nname: PDF\n---\n")]);
        assert!(!broken.is_empty());
        let many = (0..=limits::MAX_FILES).map(|n| file(&format!("{n}.txt"), "x")).collect();
        assert!(reason(many).contains("more than 512 files"));
    }
}
