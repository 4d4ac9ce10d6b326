//! Folders that are scanned in parts, because they have many skills.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use skillwire_catalog::{Catalog, CursorSeal, Refresher, SnapshotOptions};
use skillwire_core::Strictness;
use skillwire_server::{
    Engine,
    live::{SourceFollower, Subject},
};
use skillwire_source::{
    DirectoryOptions, DirectorySource, GeneratedFiles, ScanRequest, SkillSource,
};
use skillwire_testkit::{SkillFolder, skill_md};

use crate::support::{generated, in_memory};

/// More skills than one part holds.
const MANY: usize = 300;

fn many() -> SkillFolder {
    let folder = SkillFolder::new();
    for number in 0..MANY {
        folder.skill(&format!("many/s{number:03}"));
    }
    folder
}

fn directory(path: &Path) -> Box<dyn SkillSource> {
    Box::new(DirectorySource::new(path, DirectoryOptions::default()).expect("the folder is there"))
}

/// Creates a refresher that has scanned everything once, and the parts it splits a scan into.
fn looked(sources: Vec<Box<dyn SkillSource>>) -> (Refresher, Vec<BTreeSet<PathBuf>>) {
    let catalog = Arc::new(Catalog::new(SnapshotOptions::default()));
    let mut refresher = Refresher::new(catalog, sources);
    refresher.refresh(&ScanRequest::everything());
    let parts = refresher.parts();
    assert!(parts.len() > 1);
    (refresher, parts)
}

#[test]
fn a_large_folder_that_goes_away_and_comes_back_is_told_of_each_time_v_64() {
    let folder = many();
    folder.directory("none");
    let root = folder.join("many");
    let (refresher, parts) = looked(vec![directory(&root), directory(&folder.join("none"))]);
    let seal = CursorSeal::new([1; 32]);
    let engine = Engine::builder(Arc::clone(refresher.catalog()), seal).build();
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&told);
    let follower =
        SourceFollower::new(refresher, Arc::new(engine), Strictness::Normal, move |notice| {
            let about = match &notice.subject {
                Subject::Unavailable(_) => "unavailable",
                Subject::Source(_) => "no skill",
                _ => "something else",
            };
            hears.lock().expect("nobody panicked").push((about, notice.over));
        });
    let look = || {
        for part in &parts {
            follower.refresh(&ScanRequest::paths(part.clone()));
        }
        std::mem::take(&mut *told.lock().expect("nobody panicked"))
    };
    // The other folder never has a skill, whichever of the two folders a part belongs to.
    assert_eq!(look(), [("no skill", false)]);
    fs::rename(&root, folder.join("away")).expect("both are in one folder");
    assert_eq!(look(), [("unavailable", false)]);
    fs::rename(folder.join("away"), &root).expect("both are in one folder");
    assert_eq!(look(), [("unavailable", true)]);
}

#[test]
fn a_close_look_in_parts_looks_once_at_what_has_no_path() {
    let folder = many();
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let files = GeneratedFiles::new().file("SKILL.md", move || {
        count.fetch_add(1, Ordering::Relaxed);
        skill_md("live")
    });
    let sources =
        vec![directory(&folder.join("many")), in_memory(["held"]), generated("live", files)];
    let (mut refresher, parts) = looked(sources);
    assert_eq!(made.load(Ordering::Relaxed), 1);
    for part in parts {
        let came = refresher.refresh(&ScanRequest::paths(part).force_read());
        assert!(came.sites.is_empty(), "nothing changed: {:?}", came.sites);
    }
    assert_eq!(made.load(Ordering::Relaxed), 2);
}
