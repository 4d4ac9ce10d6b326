//! Changes files at the worst moments of a scan.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use skillwire_core::{Code, Digest, Strictness};
use tempfile::TempDir;

use super::{
    super::{DirectoryOptions, DirectorySource, inspect::ScanHooks},
    rereads::wait_until_settled,
};
use crate::{
    skill::SkillContent,
    source::{InspectedSkill, ScanRequest, SkillSource, SourceChange},
};

const SKILL_MD: &str = "---\nname: pdf\ndescription: Use when testing.\n---\n";
const SECRET: &str = "secret";

/// A moment of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment<'a> {
    ListedDir,
    Opened(&'a str),
    Read(&'a str),
}

type Disturbance = dyn Fn(&Path, Moment<'_>) + Send + Sync;

/// Calls a function of the test at each moment of a scan.
struct Disturb {
    skill: PathBuf,
    with: Box<Disturbance>,
}

impl std::fmt::Debug for Disturb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.skill.fmt(f)
    }
}

impl ScanHooks for Disturb {
    fn listed(&self) {
        (self.with)(&self.skill, Moment::ListedDir);
    }

    fn opened(&self, path: &str) {
        (self.with)(&self.skill, Moment::Opened(path));
    }

    fn read(&self, path: &str) {
        (self.with)(&self.skill, Moment::Read(path));
    }
}

/// The result of a disturbed scan.
struct Disturbed {
    inspected: InspectedSkill,
    /// Keeps the files, so that they can be read again.
    _folder: TempDir,
}

/// Scans a skill with `a.md`, `b.md` and `sub/c.md` while `with` changes it.
fn scan(with: impl Fn(&Path, Moment<'_>) + Send + Sync + 'static) -> Disturbed {
    let folder = TempDir::new().unwrap();
    let skill = folder.path().join("skills/pdf");
    fs::create_dir_all(skill.join("sub")).unwrap();
    fs::create_dir(folder.path().join("outside")).unwrap();
    fs::write(folder.path().join("outside/c.md"), SECRET).unwrap();
    let files = [("SKILL.md", SKILL_MD), ("a.md", "a1"), ("b.md", "b1"), ("sub/c.md", "c1")];
    for (path, content) in files {
        fs::write(skill.join(path), content).unwrap();
    }
    // A time in the future is never trusted, so every attempt reads every file and lists every
    // directory again, however long this took.
    let future = SystemTime::now() + Duration::from_hours(1);
    for path in files.map(|(path, _)| path).into_iter().chain(["sub", ""]) {
        fs::File::open(skill.join(path)).unwrap().set_modified(future).unwrap();
    }
    let root = folder.path().join("skills");
    let mut source = DirectorySource::new(root, DirectoryOptions::default()).unwrap();
    source.steps = Arc::new(Disturb { skill, with: Box::new(with) });
    let mut reported = Vec::new();
    source.scan(&ScanRequest::everything(), &mut |report| reported.push(report)).unwrap();
    let Some(SourceChange::Updated(_, mut inspected)) = reported.pop() else { panic!() };
    assert_eq!((reported.len(), inspected.len()), (0, 1));
    let inspected = inspected.remove(0);
    let secret = Digest::of(SECRET.as_bytes()).to_string();
    assert!(!format!("{inspected:?}").contains(&secret), "read from outside: {inspected:?}");
    Disturbed { inspected, _folder: folder }
}

/// Scans a folder twice after it was unchanged for a while, with `with` called at each moment.
/// Returns the digests of `a.md` and `b.md` in each report.
fn scan_quiet(
    with: impl Fn(&Path, Moment<'_>) + Send + Sync + 'static,
) -> Vec<[Option<Digest>; 2]> {
    let folder = TempDir::new().unwrap();
    let skill = folder.path().join("pdf");
    fs::create_dir_all(skill.join("sub")).unwrap();
    let files = [("SKILL.md", SKILL_MD), ("a.md", "a1"), ("b.md", "b1"), ("sub/c.md", "c1")];
    for (path, content) in files {
        fs::write(skill.join(path), content).unwrap();
    }
    wait_until_settled();
    let mut source = DirectorySource::new(folder.path(), DirectoryOptions::default()).unwrap();
    source.steps = Arc::new(Disturb { skill, with: Box::new(with) });
    let mut told = Vec::new();
    for _ in 0..2 {
        source
            .scan(&ScanRequest::everything(), &mut |report| {
                let SourceChange::Updated(_, inspected) = report else { panic!() };
                let SkillContent::Files(tree) = &inspected[0].skill.as_ref().unwrap().content
                else {
                    panic!()
                };
                let digest = |name: &str| {
                    let file = tree.files.iter().find(|file| file.path.as_str() == name);
                    file.map(|file| file.digest)
                };
                told.push([digest("a.md"), digest("b.md")]);
            })
            .unwrap();
    }
    told
}

/// Runs `work` only the first time.
fn once(times: &AtomicUsize, work: impl FnOnce()) {
    if times.fetch_add(1, Ordering::SeqCst) == 0 {
        work();
    }
}

/// The published bytes of a file, read through the store.
fn content(scan: &Disturbed, path: &str) -> Option<Bytes> {
    let SkillContent::Files(tree) = &scan.inspected.skill.as_ref().unwrap().content else {
        panic!()
    };
    let file = tree.files.iter().find(|file| file.path.as_str() == path)?;
    let bytes = tree.store.read(&file.path, file.size).unwrap();
    assert_eq!(Digest::of(&bytes), file.digest, "{path}");
    Some(bytes)
}

fn reasons(scan: &Disturbed) -> Vec<Code> {
    assert!(scan.inspected.skill.is_none());
    scan.inspected.reasons(Strictness::Normal).map(|finding| finding.code).collect()
}

fn append(path: &Path) {
    use std::io::Write;
    fs::File::options().append(true).open(path).unwrap().write_all(b"+").unwrap();
}

#[test]
fn a_file_that_always_grows_while_it_is_read_is_refused_v_57() {
    let scanned = scan(|skill, moment| {
        if moment == Moment::Opened("a.md") {
            append(&skill.join("a.md"));
        }
    });
    assert_eq!(reasons(&scanned), [Code::Unstable]);
    assert!(scanned.inspected.findings.iter().any(|finding| finding.file.ends_with("pdf/a.md")));
}

#[test]
fn a_file_that_is_overwritten_in_place_with_the_same_size_is_refused_v_57() {
    let times = AtomicUsize::new(0);
    let scanned = scan(move |skill, moment| {
        if moment == Moment::Read("a.md") {
            // The times differ by seconds, so that the coarsest clock of a file system shows it.
            let seconds = times.fetch_add(1, Ordering::SeqCst) as u64 * 10;
            let file = fs::File::options().write(true).open(skill.join("a.md")).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            fs::write(skill.join("a.md"), "a2").unwrap();
            file.set_modified(time).unwrap();
        }
    });
    assert_eq!(reasons(&scanned), [Code::Unstable]);
}

#[test]
fn a_file_that_grows_once_is_read_again_v_57() {
    let times = AtomicUsize::new(0);
    let scanned = scan(move |skill, moment| {
        if moment == Moment::Opened("a.md") {
            once(&times, || append(&skill.join("a.md")));
        }
    });
    assert_eq!(content(&scanned, "a.md").unwrap(), "a1+");
}

#[test]
fn files_that_change_together_are_never_served_apart_v_58() {
    let times = AtomicUsize::new(0);
    let scanned = scan(move |skill, moment| {
        if moment == Moment::Read("a.md") {
            once(&times, || {
                fs::write(skill.join("a.md"), "a2 longer").unwrap();
                fs::write(skill.join("b.md"), "b2 longer").unwrap();
            });
        }
    });
    assert_eq!(content(&scanned, "a.md").unwrap(), "a2 longer");
    assert_eq!(content(&scanned, "b.md").unwrap(), "b2 longer");
}

#[test]
fn a_change_to_a_file_that_was_already_read_is_noticed_srv_52() {
    let times = AtomicUsize::new(0);
    let scanned = scan(move |skill, moment| {
        if moment == Moment::Read("sub/c.md") {
            once(&times, || {
                fs::write(skill.join("a.md"), "a2 longer").unwrap();
                fs::write(skill.join("new.md"), "new").unwrap();
                fs::remove_file(skill.join("b.md")).unwrap();
            });
        }
    });
    assert_eq!(content(&scanned, "a.md").unwrap(), "a2 longer");
    assert_eq!(content(&scanned, "new.md").unwrap(), "new");
    assert_eq!(content(&scanned, "b.md"), None);
}

#[test]
fn a_skill_that_changes_in_each_attempt_is_refused_srv_52() {
    let times = AtomicUsize::new(0);
    let scanned = scan(move |skill, moment| {
        if moment == Moment::Read("sub/c.md") {
            let name = format!("new-{}", times.fetch_add(1, Ordering::SeqCst));
            fs::write(skill.join(name), "new").unwrap();
        }
    });
    assert_eq!(reasons(&scanned), [Code::Unstable]);
}

#[test]
fn a_quiet_folder_is_published_as_it_was_when_it_was_listed_and_then_as_it_is_srv_52() {
    let times = AtomicUsize::new(0);
    let told = scan_quiet(move |skill, moment| {
        if moment == Moment::Read("sub/c.md") {
            once(&times, || {
                fs::write(skill.join("a.md"), "a2 longer").unwrap();
                fs::remove_file(skill.join("b.md")).unwrap();
            });
        }
    });
    let digest = |content: &str| Some(Digest::of(content.as_bytes()));
    assert_eq!(told, [[digest("a1"), digest("b1")], [digest("a2 longer"), None]]);
}

#[test]
fn files_of_a_quiet_folder_that_change_before_they_are_read_are_never_served_apart_v_58() {
    let times = AtomicUsize::new(0);
    let told = scan_quiet(move |skill, moment| {
        if moment == Moment::Read("a.md") {
            once(&times, || {
                fs::write(skill.join("a.md"), "a2 longer").unwrap();
                fs::write(skill.join("b.md"), "b2 longer").unwrap();
            });
        }
    });
    let digest = |content: &str| Some(Digest::of(content.as_bytes()));
    assert_eq!(told, [[digest("a2 longer"), digest("b2 longer")]]);
}

#[test]
fn a_file_that_vanishes_during_the_scan_is_no_part_of_the_skill_v_37() {
    let scanned = scan(|skill, moment| {
        if moment == Moment::ListedDir {
            let _already_gone = fs::remove_file(skill.join("a.md"));
        }
    });
    assert_eq!(content(&scanned, "a.md"), None);
    assert_eq!(content(&scanned, "b.md").unwrap(), "b1");
}

#[test]
fn a_file_that_comes_and_goes_refuses_its_skill_v_37() {
    let scanned = scan(|skill, moment| match moment {
        Moment::ListedDir => fs::remove_file(skill.join("a.md")).unwrap(),
        Moment::Opened("b.md") => fs::write(skill.join("a.md"), "again").unwrap(),
        _ => {}
    });
    assert_eq!(reasons(&scanned), [Code::Unreadable]);
}

#[test]
fn a_file_swapped_for_a_link_is_not_followed_v_34() {
    let scanned = scan(|skill, moment| {
        if moment == Moment::ListedDir {
            let _second_time = fs::remove_file(skill.join("a.md"));
            symlink(skill.join("../../outside/c.md"), skill.join("a.md")).unwrap();
        }
    });
    assert_eq!(reasons(&scanned), [Code::SymlinkOutside]);
}

#[test]
fn a_file_swapped_for_a_link_to_an_ignored_file_is_not_followed_v_34() {
    let scanned = scan(|skill, moment| {
        if moment == Moment::ListedDir {
            fs::create_dir_all(skill.join(".git")).unwrap();
            // It has the same length as the file that it replaces.
            fs::write(skill.join(".git/x"), "xx").unwrap();
            let _second_time = fs::remove_file(skill.join("a.md"));
            symlink(".git/x", skill.join("a.md")).unwrap();
        }
    });
    assert_eq!(reasons(&scanned), [Code::SymlinkOutside]);
}

#[test]
fn a_directory_swapped_for_a_link_is_not_followed_v_34() {
    for outside in ["../../outside", ".git"] {
        let scanned = scan(move |skill, moment| {
            if moment == Moment::ListedDir {
                fs::create_dir_all(skill.join(".git")).unwrap();
                fs::write(skill.join(".git/c.md"), SECRET).unwrap();
                let _second_time = fs::remove_file(skill.join("sub"));
                let _second_time = fs::remove_dir_all(skill.join("sub"));
                symlink(outside, skill.join("sub")).unwrap();
            }
        });
        assert_eq!(reasons(&scanned), [Code::SymlinkOutside], "{outside}");
    }
}

#[test]
fn a_file_swapped_for_a_fifo_does_not_block_v_35() {
    let scanned = scan(|skill, moment| {
        if moment == Moment::ListedDir {
            let _second_time = fs::remove_file(skill.join("a.md"));
            assert!(Command::new("mkfifo").arg(skill.join("a.md")).status().unwrap().success());
        }
    });
    assert_eq!(reasons(&scanned), [Code::SpecialFile]);
}

/// A source of two skills that one thread has scanned once, and its folder.
fn two_skills() -> (TempDir, PathBuf, DirectorySource) {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("skills");
    for name in ["one", "two"] {
        fs::create_dir_all(root.join(name)).unwrap();
        fs::write(root.join(name).join("SKILL.md"), SKILL_MD.replace("pdf", name)).unwrap();
    }
    let mut source = DirectorySource::new(&root, DirectoryOptions::default()).unwrap();
    source.workers = 1;
    let mut reported = 0;
    source.scan(&ScanRequest::everything(), &mut |_| reported += 1).unwrap();
    assert_eq!(reported, 2);
    (folder, root, source)
}

#[test]
fn a_folder_that_goes_away_while_a_skill_is_read_does_not_break_it_v_61() {
    let (_folder, root, mut source) = two_skills();
    let times = AtomicUsize::new(0);
    let with = move |root: &Path, moment: Moment<'_>| {
        if moment == Moment::ListedDir {
            once(&times, || fs::remove_dir_all(root).unwrap());
        }
    };
    source.steps = Arc::new(Disturb { skill: root, with: Box::new(with) });
    let mut reported = Vec::new();
    let scanned =
        source.scan(&ScanRequest::everything().force_read(), &mut |report| reported.push(report));
    let error = scanned.unwrap_err();
    assert!(error.reason.contains("gone"), "{error}");
    assert!(reported.is_empty(), "{reported:?}");
}

#[test]
fn a_folder_that_goes_away_between_two_skills_does_not_take_the_second_with_it_v_61() {
    let (_folder, root, source) = two_skills();
    append(&root.join("one/SKILL.md"));
    let mut reported = Vec::new();
    let scanned = source.scan(&ScanRequest::everything(), &mut |report| {
        let _second_time = fs::remove_dir_all(&root);
        reported.push(report);
    });
    let error = scanned.unwrap_err();
    assert!(error.reason.contains("gone"), "{error}");
    assert!(
        matches!(&*reported, [SourceChange::Updated(key, found)] if &*key.0 == "one" && found[0].skill.is_some()),
        "{reported:?}"
    );
}

/// Renames the skill away, deletes one of its files there, and puts another version in its place.
fn replace(skill: &Path, number: usize) {
    let folder = skill.ancestors().nth(2).unwrap();
    let [away, new] = ["away", "new"].map(|name| folder.join(format!("{name}-{number}")));
    fs::create_dir_all(new.join("sub")).unwrap();
    for (path, content) in
        [("SKILL.md", SKILL_MD), ("a.md", "a2"), ("b.md", "b2"), ("sub/c.md", "c2")]
    {
        fs::write(new.join(path), content).unwrap();
    }
    fs::rename(skill, &away).unwrap();
    fs::remove_file(away.join("a.md")).unwrap();
    fs::rename(&new, skill).unwrap();
}

#[test]
fn a_skill_renamed_away_and_half_deleted_is_not_published_v_58() {
    let times = AtomicUsize::new(0);
    let scanned = scan(move |skill, moment| {
        if moment == Moment::ListedDir {
            once(&times, || replace(skill, 0));
        }
    });
    for (path, expected) in [("a.md", "a2"), ("b.md", "b2"), ("sub/c.md", "c2")] {
        assert_eq!(content(&scanned, path).unwrap(), expected, "{path}");
    }
}

#[test]
fn a_skill_replaced_during_each_attempt_is_refused_srv_52() {
    let times = AtomicUsize::new(0);
    let scanned = scan(move |skill, moment| {
        if moment == Moment::ListedDir {
            replace(skill, times.fetch_add(1, Ordering::SeqCst));
        }
    });
    assert_eq!(reasons(&scanned), [Code::Unstable]);
}

#[test]
fn a_skill_renamed_away_during_its_first_scan_is_not_published_v_61() {
    let (folder, root, mut source) = two_skills();
    fs::create_dir(root.join("three")).unwrap();
    fs::write(root.join("three/SKILL.md"), SKILL_MD.replace("pdf", "three")).unwrap();
    fs::write(root.join("three/a.md"), "a1").unwrap();
    let with = move |skill: &Path, moment: Moment<'_>| {
        let away = folder.path().join("away");
        if moment == Moment::ListedDir && fs::rename(skill, &away).is_ok() {
            fs::remove_file(away.join("a.md")).unwrap();
        }
    };
    source.steps = Arc::new(Disturb { skill: root.join("three"), with: Box::new(with) });
    let mut reported = Vec::new();
    let request = ScanRequest::paths([root.join("three")]);
    source.scan(&request, &mut |report| reported.push(report)).unwrap();
    assert!(reported.is_empty(), "{reported:?}");
}

#[test]
fn a_folder_replaced_while_a_skill_is_read_is_scanned_again_v_58() {
    let (folder, root, mut source) = two_skills();
    for name in ["one", "two"] {
        fs::create_dir_all(folder.path().join("new").join(name)).unwrap();
        let text = SKILL_MD.replace("pdf", name).replace("testing", "testing anew");
        fs::write(folder.path().join("new").join(name).join("SKILL.md"), text).unwrap();
    }
    let away = folder.path().join("away");
    let times = AtomicUsize::new(0);
    let with = move |root: &Path, moment: Moment<'_>| {
        if moment == Moment::ListedDir {
            once(&times, || {
                fs::rename(root, &away).unwrap();
                fs::remove_dir_all(away.join("one")).unwrap();
                fs::rename(folder.path().join("new"), root).unwrap();
            });
        }
    };
    source.steps = Arc::new(Disturb { skill: root, with: Box::new(with) });
    let mut reported = Vec::new();
    let request = ScanRequest::everything().force_read();
    source.scan(&request, &mut |report| reported.push(report)).unwrap();
    let shown = format!("{reported:?}");
    assert_eq!((reported.len(), shown.matches("testing anew").count() >= 2), (2, true), "{shown}");
}
