//! Starts with an index that an earlier start wrote.

use std::{
    fs,
    path::{Path, PathBuf},
};

use skillwire_core::Code;
use skillwire_source::{DirectoryOptions, DirectorySource, ScanRequest};

use crate::support::{Folder, Kept, Scan, at, bytes, files, has, options, served, skill};

/// A folder with a good, a nested, a linked and a broken skill, and its index.
fn folder() -> (Folder, PathBuf) {
    let folder = Folder::new();
    folder.skill("good").write("good/a.png", [0, 1, 2]).directory("good/empty");
    folder.skill("outer").skill("outer/inner").write("broken/SKILL.md", "nothing");
    #[cfg(unix)]
    folder.link("outer/inner/link.md", "SKILL.md");
    let index = folder.outside("cache/deep/skills.index");
    age(&folder);
    (folder, index)
}

/// Waits until the files are older than a tick of the file system's clock, so that stamps are
/// trusted.
fn age(folder: &Folder) {
    use std::time::{Duration, Instant, SystemTime};
    let (begun, probe) = (SystemTime::now(), folder.outside("probe"));
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        fs::write(&probe, "").unwrap();
        let now = fs::metadata(&probe).unwrap().modified().unwrap();
        if now.duration_since(begun).is_ok_and(|age| age > Duration::from_millis(50)) {
            return;
        }
        assert!(Instant::now() < deadline, "the file system's clock stands still");
        std::thread::yield_now();
    }
}

fn start(folder: &Folder, index: &Path) -> Kept<DirectorySource> {
    start_with(folder, index, options())
}

fn start_with(folder: &Folder, index: &Path, options: DirectoryOptions) -> Kept<DirectorySource> {
    folder.source_with(options.index(Some(index.to_owned())))
}

/// Everything that a scan reports, sorted.
fn told(scan: &Scan) -> Vec<String> {
    let mut told: Vec<_> = scan
        .inspected
        .iter()
        .map(|inspected| {
            let skill = inspected.skill.as_ref();
            let sent = skill.map(|skill| (&skill.uri, skill.entry.text(), skill.resource(false)));
            let tree = skill.map(|skill| {
                let tree = crate::support::tree(skill);
                (&tree.files, &tree.empty_directories)
            });
            format!("{} {:?} {sent:?} {tree:?}", inspected.origin, inspected.findings)
        })
        .collect();
    told.sort();
    told
}

#[test]
fn a_start_with_an_index_tells_the_same_v_62() {
    let (folder, index) = folder();
    let source = start(&folder, &index);
    let first = source.scan().unwrap();
    assert_eq!(source.source.last_index_error(), None);
    let written = fs::read(&index).unwrap();
    let source = start(&folder, &index);
    let second = source.scan().unwrap();
    assert_eq!(told(&first), told(&second));
    assert_eq!(source.news(), ["broken", "good", "outer"]);
    for (path, file) in
        [("good", "a.png"), ("outer", "inner/SKILL.md"), ("outer/inner", "SKILL.md")]
    {
        assert_eq!(bytes(skill(&second, path), file), bytes(skill(&first, path), file));
    }
    #[cfg(unix)]
    assert_eq!(
        bytes(skill(&second, "outer/inner"), "link.md"),
        bytes(skill(&second, "outer/inner"), "SKILL.md")
    );
    // Nothing changed, so the index was not written again.
    assert_eq!(fs::read(&index).unwrap(), written);
    source.scan().unwrap();
    assert_eq!(source.news(), [""; 0]);
}

#[cfg(unix)]
#[test]
fn an_index_is_for_its_owner_alone_and_leaves_nothing_beside_it_v_62() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, index) = folder();
    start(&folder, &index).scan().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&index), 0o600);
    assert_eq!(mode(index.parent().unwrap()), 0o700);
    assert_eq!(fs::read_dir(index.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn what_changed_since_is_read_and_written_v_62() {
    let (folder, index) = folder();
    start(&folder, &index).scan().unwrap();
    folder.write("good/b.md", "new").skill("broken").skill("more");
    fs::remove_dir_all(folder.path("outer")).unwrap();
    age(&folder);
    for _ in 0..2 {
        let source = start(&folder, &index);
        let scan = source.scan().unwrap();
        assert_eq!(served(&scan), ["broken", "good", "more"]);
        assert_eq!(files(skill(&scan, "good")), ["SKILL.md", "a.png", "b.md"]);
        assert_eq!(told(&scan), told(&folder.scan()));
    }
}

#[test]
fn what_a_look_at_paths_found_is_written_with_the_next_whole_look_v_62() {
    let (folder, index) = folder();
    let source = start(&folder, &index);
    source.scan().unwrap();
    let before = fs::read(&index).unwrap();
    folder.write("good/b.md", "new");
    age(&folder);
    let path = folder.outside("skills/good/b.md");
    source.look(&skillwire_source::ScanRequest::paths([path])).unwrap();
    assert_eq!(source.news(), ["good"]);
    assert_eq!(fs::read(&index).unwrap(), before);
    source.scan().unwrap();
    assert_eq!(source.news(), [""; 0]);
    let after = fs::read(&index).unwrap();
    assert_ne!(after, before);
    source.scan().unwrap();
    start(&folder, &index).scan().unwrap();
    assert_eq!(fs::read(&index).unwrap(), after);
}

#[test]
fn an_index_about_something_else_is_ignored_v_62() {
    let (folder, index) = folder();
    let label = |label: &str| options().label(label.to_owned());
    start_with(&folder, &index, label("one")).scan().unwrap();
    let scan = start_with(&folder, &index, label("two")).scan().unwrap();
    assert!(has(&at(&scan, "two/broken").findings, Code::FrontmatterMissing));
    let prefix = options().prefix(vec!["team".to_owned()]);
    let scan = start_with(&folder, &index, prefix).scan().unwrap();
    assert_eq!(served(&scan), ["team/good", "team/outer", "team/outer/inner"]);
    // The same index, used for another folder.
    let other = Folder::new();
    other.skill("good");
    let scan = start(&other, &index).scan().unwrap();
    assert_eq!(told(&scan), told(&other.scan()));
}

#[test]
fn a_damaged_index_is_ignored_and_made_anew_v_62() {
    let (folder, index) = folder();
    let expected = told(&start(&folder, &index).scan().unwrap());
    let good = fs::read(&index).unwrap();
    let step = (good.len() / 97).max(1);
    let mut damaged: Vec<Vec<u8>> =
        (0..good.len()).step_by(step).map(|n| good[..n].to_vec()).collect();
    for at in (0..good.len()).step_by(step) {
        let mut flipped = good.clone();
        flipped[at] ^= 1 << (at % 8);
        damaged.push(flipped);
    }
    damaged.push([good.as_slice(), b"more"].concat());
    for bytes in damaged {
        fs::write(&index, bytes).unwrap();
        let scan = start(&folder, &index).scan().unwrap();
        assert_eq!(told(&scan), expected);
    }
    assert_eq!(fs::read(&index).unwrap().len(), good.len());
}

#[test]
fn an_index_that_cannot_be_written_fails_nothing_v_62() {
    let (folder, _) = folder();
    fs::write(folder.outside("file"), "").unwrap();
    for index in ["file/below", "skills"] {
        let source = start(&folder, &folder.outside(index));
        assert_eq!(source.scan().unwrap().inspected.len(), 4, "{index}");
        assert!(source.source.last_index_error().is_some(), "{index}");
        // A scan that does not write the index still reports the error.
        let findings = source.look(&ScanRequest::paths([folder.path("good")])).unwrap().findings;
        assert!(findings.iter().any(|it| it.code == Code::IndexNotKept), "{index}: {findings:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_fifo_in_the_place_of_an_index_blocks_nobody_v_35() {
    let (folder, _) = folder();
    let index = folder.outside("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&index).status().unwrap().success());
    assert_eq!(start(&folder, &index).scan().unwrap().inspected.len(), 4);
}
