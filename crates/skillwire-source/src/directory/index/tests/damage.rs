//! Indexes with a valid checksum and damaged content.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::{fs, sync::Arc};

use sha2::{Digest as _, Sha256};
use skillwire_core::Digest;
use tempfile::TempDir;

use super::super::{DIGEST, IndexLocation, LoadedIndex};
use crate::{
    directory::{DirectoryOptions, DirectorySource, file_store::RootDir},
    source::{ScanRequest, SkillSource},
};

/// A real index, without its checksum.
fn content() -> (IndexLocation, Vec<u8>) {
    let folder = TempDir::new().unwrap();
    let skill = folder.path().join("skills/pdf");
    fs::create_dir_all(skill.join("empty")).unwrap();
    fs::write(skill.join("SKILL.md"), "---\nname: pdf\ndescription: d\nx: 1\n---\n").unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    let file = fs::File::options().write(true).open(skill.join("SKILL.md")).unwrap();
    file.set_modified(long_ago).unwrap();
    let index = folder.path().join("index");
    let source = || {
        let options = DirectoryOptions::default().index(Some(index.clone()));
        DirectorySource::new(folder.path().join("skills"), options).unwrap()
    };
    let mut bytes = Vec::new();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    // Repeated until the change time is old enough to be trusted.
    while bytes.is_empty() && std::time::Instant::now() < deadline {
        source().scan(&ScanRequest::everything(), &mut |_| {}).unwrap();
        bytes = fs::read(&index).unwrap_or_default();
    }
    bytes.truncate(bytes.len() - DIGEST);
    (source().index.unwrap(), bytes)
}

/// Decodes every record, as a scan would.
fn read_all(place: &IndexLocation, content: &[u8]) -> Option<usize> {
    let bytes = [content, &Sha256::digest(content)].concat();
    let index: LoadedIndex = place.understand(bytes)?;
    let root = Arc::new(RootDir::new("root".into()));
    let groups = index.records.keys();
    Some(groups.filter_map(|group| index.get(group)?.recall(&root, &Arc::from(&**group))).count())
}

#[test]
fn no_content_of_an_index_makes_it_panic_or_grow_v_62() {
    let (place, good) = content();
    assert_eq!(read_all(&place, &good), Some(1));
    for end in 0..good.len() {
        let _nothing_or_less = read_all(&place, &good[..end]);
    }
    for at in 0..good.len() {
        for value in [0, 0x7f, 0xff, good[at] ^ 1] {
            let mut other = good.clone();
            other[at] = value;
            let _whatever_it_says = read_all(&place, &other);
        }
    }
}

#[test]
fn an_index_is_believed_only_under_its_own_name_and_sum_v_62() {
    let (place, good) = content();
    let about = Digest::of(b"other");
    let other = IndexLocation { about, about_without_exemptions: about, file: place.file.clone() };
    assert_eq!(read_all(&other, &good), None);
    let mut format = good.clone();
    format[7] += 1;
    assert_eq!(read_all(&place, &format), None);
    assert!(place.understand(good).is_none());
}
