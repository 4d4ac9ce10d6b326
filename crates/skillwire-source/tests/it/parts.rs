//! A full scan that is split into parts.

use std::{collections::BTreeSet, fs};

use skillwire_source::{ScanRequest, SkillSource as _};

use crate::support::{Folder, served};

const MOST: usize = 256;

#[test]
fn a_small_folder_is_one_look() {
    let folder = Folder::new();
    folder.skill("a").skill("group/b");
    let source = folder.source();
    assert!(source.source.scan_parts().is_empty(), "nothing was looked at yet");
    source.scan().unwrap();
    assert!(source.source.scan_parts().is_empty());
}

#[test]
fn looks_at_all_parts_are_a_look_at_everything() {
    let folder = Folder::new();
    // `deep-` sorts between `deep` and the entries of `deep`.
    for number in 0..MOST {
        folder.skill(&format!("deep/er/a{number}")).skill(&format!("deep-/b{number}"));
    }
    folder.skill("deep/er/more/c").skill("gone/d").skill("deep/vanished");
    let source = folder.source();
    let before = served(&source.scan().unwrap());
    folder.skill("deep/er/new").skill("deep/fresh/e").skill("other/f").skill("other/.git/g");
    folder.write("deep/er/a7/x.md", "x");
    fs::remove_dir_all(folder.path("gone")).unwrap();
    fs::remove_dir_all(folder.path("deep/vanished")).unwrap();

    let parts = source.source.scan_parts();
    assert!(parts.len() >= 2, "{}", parts.len());
    let mut news = BTreeSet::new();
    for part in &parts {
        let inside = |path: &&String| part.iter().any(|at| folder.path(path).starts_with(at));
        let known = before.iter().filter(inside).count();
        assert!(known <= MOST, "{known} skills in a part");
        source.look(&ScanRequest::paths(part.clone())).unwrap();
        news.extend(source.news());
    }
    let expected =
        ["-deep/vanished", "-gone/d", "deep/er/a7", "deep/er/new", "deep/fresh/e", "other/f"];
    assert_eq!(news.iter().collect::<Vec<_>>(), expected);
    source.scan().unwrap();
    assert!(source.news().is_empty(), "{:?}", source.news());
}
