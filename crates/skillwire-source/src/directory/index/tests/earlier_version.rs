//! Reads indexes of earlier versions.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use sha2::{Digest as _, Sha256};
use skillwire_core::{Code, Digest, Excerpt, Finding};
use tempfile::TempDir;

use super::super::{
    DIGEST, IndexLocation, Layout, MAGIC, MAGIC_WITHOUT_EXEMPTIONS,
    codec::{put_bytes, put_number, put_text},
    record,
};
use crate::{
    directory::{DirectoryOptions, DirectorySource, file_store::RootDir},
    skill::SkillContent,
    source::{GroupKey, InspectedSkill, ScanRequest, SkillSource, SourceChange},
};

#[test]
fn every_record_of_an_earlier_index_is_read() {
    let testdata = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata"));
    for (state, layout) in
        [("state-bf5572f", Layout::WithoutExemptions), ("state-5167d25", Layout::Current)]
    {
        let cache = testdata.join(state).join("home/cache");
        let file = cache.join("index-4ebe54541201a81f5731aefb622e3d3f");
        let bytes = fs::read(&file).unwrap();
        // The folder of this index does not exist here, so the digest of folder and options is taken
        // from the index itself.
        let about = Digest::from_bytes(bytes[MAGIC.len()..][..DIGEST].try_into().unwrap());
        let place = IndexLocation { file, about, about_without_exemptions: about };
        let index = place.load().unwrap().expect("its magic number and its sum are right");
        assert_eq!(index.layout, layout, "{state}");
        let root = Arc::new(RootDir::new("root".into()));
        for (group, files) in [("glossary", 2), ("style", 1)] {
            let known = index.get(group).unwrap();
            let recalled = known.recall(&root, &Arc::from(group)).unwrap();
            let [inspected] = &recalled.inspected[..] else { panic!("{group} is one skill") };
            let skill = inspected.skill.as_ref().unwrap();
            assert_eq!(skill.uri.as_str(), format!("skill://{group}/SKILL.md"));
            let SkillContent::Files(tree) = &skill.content else { panic!("{group} has files") };
            assert_eq!(tree.files.len(), files);
        }
        assert_eq!(index.len(), 2);
    }
}

/// A finding as it was encoded before findings had exemptions.
fn put_earlier_finding(out: &mut Vec<u8>, finding: &Finding) {
    let Finding { code, level, file, position, end, span, excerpt, message, help, .. } = finding;
    assert!(finding.repair.is_none(), "{finding:?}");
    let pair = |out: &mut Vec<u8>, pair: Option<(usize, usize)>| {
        put_number(out, usize::from(pair.is_some()));
        for number in pair.iter().flat_map(|(one, two)| [*one, *two]) {
            put_number(out, number);
        }
    };
    let option = |out: &mut Vec<u8>, text: Option<&str>| {
        put_number(out, usize::from(text.is_some()));
        if let Some(text) = text {
            put_text(out, text);
        }
    };
    for text in [code.as_str(), level.as_str(), file, message] {
        put_text(out, text);
    }
    for place in [position, end] {
        pair(out, place.map(|place| (place.line, place.column)));
    }
    pair(out, span.map(|span| (span.start, span.end)));
    option(out, help.as_deref());
    option(out, excerpt.as_ref().map(Excerpt::text));
    pair(out, excerpt.as_ref().map(|excerpt| (excerpt.marked().start, excerpt.marked().end)));
    // No new name, no edits.
    put_number(out, 0);
    put_number(out, 0);
}

/// The record of one skill as it was encoded before findings had exemptions.
fn earlier_record(inspected: &InspectedSkill) -> Vec<u8> {
    let InspectedSkill { origin, findings, skill } = inspected;
    let mut out = Vec::new();
    put_number(&mut out, 1);
    put_text(&mut out, origin);
    let head = out.len();
    put_number(&mut out, findings.len());
    for finding in findings {
        put_earlier_finding(&mut out, finding);
    }
    // What follows the findings is encoded as it was.
    let bare =
        InspectedSkill { origin: origin.clone(), findings: Vec::new(), skill: skill.clone() };
    put_bytes(&mut out, &record::encode(&[bare])[head + 5..]);
    out
}

/// A folder with a skill of which there is advice and one that seems to hold a secret, its index, and
/// what was reported.
struct IndexedFolder {
    folder: TempDir,
    groups: Vec<(String, Vec<InspectedSkill>)>,
}

impl IndexedFolder {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let long_ago = SystemTime::now() - Duration::from_hours(1);
        for (path, text) in [
            ("advised/SKILL.md", "---\nname: advised\ndescription: d\n---\n"),
            ("secret/SKILL.md", "---\nname: secret\ndescription: Use at night.\n---\n"),
            ("secret/.env.local", "a: b\n"),
        ] {
            let path = folder.path().join("skills").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        }
        let mut new = Self { folder, groups: Vec::new() };
        let deadline = Instant::now() + Duration::from_secs(10);
        // Repeated until the change times are old enough to be trusted.
        while new.index().is_none_or(|index| index.len() < 2) && Instant::now() < deadline {
            new.groups = new.scan();
        }
        new
    }

    fn source(&self) -> DirectorySource {
        let options = DirectoryOptions::default().index(Some(self.folder.path().join("index")));
        DirectorySource::new(self.folder.path().join("skills"), options).unwrap()
    }

    fn index(&self) -> Option<super::super::LoadedIndex> {
        self.source().index.as_ref()?.load().unwrap()
    }

    fn scan(&self) -> Vec<(String, Vec<InspectedSkill>)> {
        let mut groups = Vec::new();
        let mut report = |change| match change {
            SourceChange::Updated(GroupKey(key), inspected) => {
                groups.push((key.to_string(), inspected));
            }
            SourceChange::Removed(_) => unreachable!("nothing is removed"),
        };
        self.source().scan(&ScanRequest::everything(), &mut report).unwrap();
        groups.sort_by(|one, other| one.0.cmp(&other.0));
        groups
    }

    /// Replaces the index by one that an earlier version would have written.
    fn write_earlier_index(&self) {
        let index = self.index().unwrap();
        let place = self.source().index.unwrap();
        let mut bytes = MAGIC_WITHOUT_EXEMPTIONS.to_vec();
        bytes.extend_from_slice(place.about_without_exemptions.as_bytes());
        for (group, inspected) in self.groups.iter().filter(|(group, _)| !group.starts_with('/')) {
            let record = earlier_record(&inspected[0]);
            put_text(&mut bytes, group);
            put_number(&mut bytes, DIGEST + record.len());
            bytes.extend_from_slice(index.get(group).unwrap().fingerprint.as_bytes());
            bytes.extend_from_slice(&record);
        }
        let sum = Sha256::digest(&bytes);
        fs::write(&place.file, [&bytes[..], &sum].concat()).unwrap();
    }
}

#[test]
fn an_earlier_record_with_a_finding_is_read_unless_the_finding_has_other_words_by_now() {
    let folder = IndexedFolder::new();
    folder.write_earlier_index();
    let index = folder.index().expect("an earlier index is read");
    assert_eq!(index.layout, Layout::WithoutExemptions);
    let root = Arc::new(RootDir::new(folder.folder.path().join("skills")));
    let recall = |group: &str| index.get(group).unwrap().recall(&root, &Arc::from(group));

    let advised = recall("advised").expect("its findings never had an exemption");
    let (_, reported) = folder.groups.iter().find(|(group, _)| group == "advised").unwrap();
    assert!(!reported[0].findings.is_empty());
    assert_eq!(advised.inspected[0].findings, reported[0].findings);
    assert_eq!(advised.record, Some(record::encode(reported)));

    let (_, reported) = folder.groups.iter().find(|(group, _)| group == "secret").unwrap();
    assert!(reported[0].findings.iter().any(|finding| finding.code == Code::SecretFile));
    assert!(recall("secret").is_none(), "the skill is read again");
}

#[test]
fn an_earlier_index_is_replaced_by_one_of_today_and_reports_the_same() {
    let folder = IndexedFolder::new();
    folder.write_earlier_index();
    let findings = |groups: &[(String, Vec<InspectedSkill>)]| -> Vec<Vec<Finding>> {
        groups
            .iter()
            .flat_map(|(_, inspected)| inspected.iter().map(|one| one.findings.clone()))
            .collect()
    };
    assert_eq!(findings(&folder.scan()), findings(&folder.groups));
    let index = folder.index().unwrap();
    assert_eq!((index.layout, index.len()), (Layout::Current, 2));
}
