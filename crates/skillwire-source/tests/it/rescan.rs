//! Repeated scans: changes are reported, and unchanged files are not read again.

use std::fs;

use bytes::Bytes;
use skillwire_core::Code;
use skillwire_source::{DirectorySource, FileStoreError};

use crate::support::{Folder, Kept, at, bytes, files, has, served, skill, tree};

fn content(source: &Kept<DirectorySource>) -> Bytes {
    bytes(skill(&source.scan().unwrap(), "pdf"), "a.md")
}

/// Waits until a file is older than the ticks of the file system's clock, by making newer files.
#[cfg(unix)]
fn age(folder: &Folder, path: &str) {
    use std::time::{Duration, Instant, SystemTime};
    let written = fs::metadata(folder.path(path)).unwrap().modified().unwrap();
    let probe = folder.outside("probe");
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        fs::write(&probe, "").unwrap();
        let now = fs::metadata(&probe).unwrap().modified().unwrap().min(SystemTime::now());
        if now.duration_since(written).is_ok_and(|age| age > Duration::from_millis(50)) {
            return;
        }
        assert!(Instant::now() < deadline, "the file system's clock stands still");
        std::thread::yield_now();
    }
}

#[test]
fn a_new_file_is_part_of_the_skill_after_the_next_scan_only_v_60() {
    let folder = Folder::new();
    folder.skill("pdf");
    let source = folder.source();
    let before = source.scan().unwrap();
    folder.write("pdf/new.md", "new");
    assert_eq!(files(skill(&before, "pdf")), ["SKILL.md"]);
    assert_eq!(files(skill(&source.scan().unwrap(), "pdf")), ["SKILL.md", "new.md"]);
}

#[test]
fn a_deleted_skill_is_gone_after_the_next_scan_and_stays_gone_v_61() {
    let folder = Folder::new();
    folder.skill("pdf").skill("good");
    let source = folder.source();
    let before = source.scan().unwrap();
    fs::remove_dir_all(folder.path("pdf")).unwrap();
    // A reader may still hold the skill that was published before. Its store reports that the file
    // is gone.
    let published = tree(skill(&before, "pdf"));
    let file = &published.files[0];
    assert_eq!(published.store.read(&file.path, file.size), Err(FileStoreError::Changed));
    for _ in 0..2 {
        let scan = source.scan().unwrap();
        assert_eq!(served(&scan), ["good"]);
        assert_eq!(scan.inspected.len(), 1);
    }
}

#[cfg(unix)]
#[test]
fn an_edit_that_restores_size_and_time_is_seen_v_62() {
    let folder = Folder::new();
    folder.skill("pdf").write("pdf/a.md", "one");
    let source = folder.source();
    age(&folder, "pdf/a.md");
    assert_eq!(content(&source), "one");
    let time = fs::metadata(folder.path("pdf/a.md")).unwrap().modified().unwrap();
    folder.write("pdf/a.md", "two");
    let file = fs::File::options().write(true).open(folder.path("pdf/a.md")).unwrap();
    file.set_modified(time).unwrap();
    assert_eq!(fs::metadata(folder.path("pdf/a.md")).unwrap().modified().unwrap(), time);
    assert_eq!(content(&source), "two");
}

#[test]
fn edits_in_quick_succession_are_all_seen_v_62() {
    let folder = Folder::new();
    folder.skill("pdf").write("pdf/a.md", "000");
    let source = folder.source();
    for n in 0..300 {
        let text = format!("{n:03}");
        folder.write("pdf/a.md", &text);
        assert_eq!(content(&source), text);
    }
}

#[test]
fn a_file_replaced_by_renaming_is_seen_v_62() {
    let folder = Folder::new();
    folder.skill("pdf").write("pdf/a.md", "one");
    fs::write(folder.outside("next"), "two").unwrap();
    let time = fs::metadata(folder.path("pdf/a.md")).unwrap().modified().unwrap();
    let source = folder.source();
    assert_eq!(content(&source), "one");
    let next = fs::File::options().write(true).open(folder.outside("next")).unwrap();
    next.set_modified(time).unwrap();
    fs::rename(folder.outside("next"), folder.path("pdf/a.md")).unwrap();
    assert_eq!(content(&source), "two");
}

#[test]
fn a_mended_skill_is_served_and_a_broken_one_is_not_v_62() {
    let folder = Folder::new();
    folder.skill("pdf");
    let source = folder.source();
    for _ in 0..3 {
        folder.write("pdf/SKILL.md", "broken");
        let scan = source.scan().unwrap();
        assert!(has(&at(&scan, "skills/pdf").findings, Code::FrontmatterMissing));
        folder.skill("pdf");
        assert_eq!(served(&source.scan().unwrap()), ["pdf"]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn scans_leave_nothing_open_but_the_folder_v_64() {
    let folder = Folder::new();
    for n in 0..50 {
        folder.skill(&format!("d/skill-{n}")).write(&format!("d/skill-{n}/a/b/c.md"), "c");
    }
    let source = folder.source();
    let inside = folder.outside("skills");
    let open = || {
        let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
        links.filter(|fd| fs::read_link(fd.path()).is_ok_and(|to| to.starts_with(&inside))).count()
    };
    for _ in 0..3 {
        source.forget();
        source.scan().unwrap();
    }
    // Only the root folder is held open for reads of published files.
    assert_eq!(open(), 1);
}
