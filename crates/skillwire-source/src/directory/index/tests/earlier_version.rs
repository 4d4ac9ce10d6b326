//! Reads an index that the version bf5572f wrote.

use std::{fs, path::Path, sync::Arc};

use skillwire_core::Digest;

use super::super::{DIGEST, IndexLocation, MAGIC};
use crate::{directory::file_store::RootDir, skill::SkillContent};

#[test]
fn every_record_of_an_earlier_index_is_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/state-bf5572f/home/cache");
    let file = Path::new(folder).join("index-4ebe54541201a81f5731aefb622e3d3f");
    let bytes = fs::read(&file).unwrap();
    // The folder of this index does not exist here, so the digest of folder and options is taken
    // from the index itself.
    let about: [u8; DIGEST] = bytes[MAGIC.len()..][..DIGEST].try_into().unwrap();
    let place = IndexLocation { file, about: Digest::from_bytes(about) };
    let index = place.load().unwrap().expect("its magic number and its sum are right");
    let root = Arc::new(RootDir::new("root".into()));
    for (group, files) in [("glossary", 2), ("style", 1)] {
        let known = index.get(group).unwrap();
        let (_, inspected) = known.recall(&root, &Arc::from(group)).unwrap();
        let [inspected] = &inspected[..] else { panic!("{group} is one skill") };
        let skill = inspected.skill.as_ref().unwrap();
        assert_eq!(skill.uri.as_str(), format!("skill://{group}/SKILL.md"));
        let SkillContent::Files(tree) = &skill.content else { panic!("{group} has files") };
        assert_eq!(tree.files.len(), files);
    }
    assert_eq!(index.len(), 2);
}
