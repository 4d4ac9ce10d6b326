//! Skills held in memory.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use skillwire_core::{Code, RelPath, SkillPath, Strictness, limits::MAX_FILES};
use skillwire_source::{FilesClash, MemorySource, SecretAllowList};

use crate::support::{
    Folder, Kept, Scan, assert_refused, at, bytes, files, has, served, skill, skill_md,
};

fn pairs<'a>(files: &'a [(&str, &str)]) -> impl Iterator<Item = (RelPath, Bytes)> + 'a {
    files.iter().map(|(path, content)| {
        (RelPath::parse(path).unwrap(), Bytes::copy_from_slice(content.as_bytes()))
    })
}

fn memory(path: &str, files: &[(&str, &str)]) -> Kept<MemorySource> {
    let mut source = MemorySource::new("memory");
    source.add(&SkillPath::parse(path).unwrap(), pairs(files)).unwrap();
    Kept::new(source)
}

#[test]
fn files_in_memory_are_served_srv_14() {
    let source = memory("team/pdf", &[("SKILL.md", &skill_md("pdf")), ("a/b.md", "b")]);
    let scan = source.scan().unwrap();
    assert_eq!(served(&scan), ["team/pdf"]);
    assert_eq!(files(skill(&scan, "team/pdf")), ["SKILL.md", "a/b.md"]);
    assert_eq!(bytes(skill(&scan, "team/pdf"), "a/b.md"), "b");
    assert_eq!(at(&scan, "memory/team/pdf").origin, "memory/team/pdf");
}

#[test]
fn bad_skills_in_memory_are_refused_srv_11() {
    let scan = memory("pdf", &[("a.md", "a")]).scan().unwrap();
    assert_refused(&scan, "memory/pdf", &[Code::NoSkillFound]);
    let scan = memory("pdf", &[("SKILL.md", "nothing")]).scan().unwrap();
    assert_refused(&scan, "memory/pdf", &[Code::FrontmatterMissing]);
    let source = memory("pdf", &[("SKILL.md", &skill_md("other"))]);
    assert!(has(&at(&source.scan().unwrap(), "memory/pdf").findings, Code::NameNotDirectory));
    assert_eq!(served(&source.scan().unwrap()), ["pdf/other"]);
    assert_eq!(
        served(&Kept::new(source.source.strictness(Strictness::Strict)).scan().unwrap()),
        [""; 0]
    );
}

#[test]
fn limits_hold_in_memory_srv_50() {
    let mut files: Vec<(String, String)> =
        (0..MAX_FILES).map(|n| (format!("f/{n}"), String::new())).collect();
    files.push(("SKILL.md".to_owned(), skill_md("pdf")));
    let files: Vec<_> = files.iter().map(|(p, c)| (p.as_str(), c.as_str())).collect();
    assert_refused(&memory("pdf", &files).scan().unwrap(), "memory/pdf", &[Code::TooManyFiles]);
}

#[test]
fn secrets_in_memory_are_refused_unless_allowed_v_43() {
    let skill_md = skill_md("pdf");
    let content = [("SKILL.md", &*skill_md), (".env", "x"), (".git/x", "x")];
    let source = memory("pdf", &content);
    assert_refused(&source.scan().unwrap(), "memory/pdf", &[Code::SecretFile]);
    let allow = SecretAllowList::parse([".env"]).unwrap();
    let source = Kept::new(memory("pdf", &content).source.allow_secret(allow));
    assert_eq!(files(skill(&source.scan().unwrap(), "pdf")), [".env", "SKILL.md"]);
}

#[test]
fn a_path_is_one_file_srv_42() {
    let path = SkillPath::parse("pdf").unwrap();
    let add = |files| MemorySource::new("m").add(&path, pairs(files));
    let rel = |path| RelPath::parse(path).unwrap();
    assert_eq!(add(&[("a", ""), ("a", "")]), Err(FilesClash::Twice(rel("a"))));
    assert_eq!(add(&[("a", ""), ("a/b", "")]), Err(FilesClash::FileAndDirectory(rel("a"))));
    assert_eq!(add(&[("a/b", ""), ("a", "")]), Err(FilesClash::FileAndDirectory(rel("a"))));
}

/// What both sources must report alike: the origin, the findings and the entry.
type Outcome = (String, Vec<(Code, String)>, Option<String>);

fn outcome(scan: &Scan) -> Vec<Outcome> {
    let mut seen: Vec<_> = scan
        .inspected
        .iter()
        .map(|inspected| {
            let mut findings: Vec<_> =
                inspected.findings.iter().map(|f| (f.code, f.file.clone())).collect();
            findings.sort();
            let entry = inspected.skill.as_ref().map(|skill| skill.entry.text().into_owned());
            (inspected.origin.clone(), findings, entry)
        })
        .collect();
    seen.sort_by(|a, b| a.0.cmp(&b.0));
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_folder_and_memory_with_the_same_files_give_the_same_skills_srv_30(
        parts in proptest::collection::vec(("(a|b|c)(/(a|b|c)){0,2}", 0..5_u8), 0..8),
        root in 0..5_u8,
    ) {
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        for (dir, kind) in parts.iter().cloned().chain([(String::new(), root)]) {
            let name = dir.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("top");
            let (file, content) = match kind {
                0 | 1 => ("SKILL.md", skill_md(name)),
                2 => ("SKILL.md", skill_md("renamed")),
                3 => ("SKILL.md", "nothing".to_owned()),
                _ => (".env", "secret".to_owned()),
            };
            let path = if dir.is_empty() { file.to_owned() } else { format!("{dir}/{file}") };
            files.insert(path, content);
        }
        // Without a `SKILL.md` at the top, a folder would be a collection of skills, which a memory
        // source cannot be.
        files.entry("SKILL.md".to_owned()).or_insert_with(|| "nothing".to_owned());
        let folder = Folder::new();
        for (path, content) in &files {
            folder.write(&format!("top/{path}"), content);
        }
        let mut source = MemorySource::new("skills");
        let pairs = files.iter().map(|(path, content)| {
            (RelPath::parse(path).unwrap(), Bytes::from(content.clone()))
        });
        source.add(&SkillPath::parse("top").unwrap(), pairs).unwrap();
        prop_assert_eq!(outcome(&folder.scan()), outcome(&Kept::new(source).scan().unwrap()));
    }
}
