//! Checks which files a scan opens.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime},
};

use tempfile::TempDir;

use super::super::{DirectoryOptions, DirectorySource, inspect::ScanHooks};
use crate::source::{ScanRequest, SkillSource, SourceChange};

/// Records which files are opened.
#[derive(Debug, Default)]
struct Opened(Mutex<Vec<String>>);

impl ScanHooks for Opened {
    fn opened(&self, path: &str) {
        self.0.lock().unwrap().push(path.to_owned());
    }
}

struct Fixture {
    folder: TempDir,
    source: DirectorySource,
    opened: Arc<Opened>,
}

impl Fixture {
    /// A folder with the skills `one` and `two`.
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["one", "two"] {
            write(folder.path(), name, "---\nname: NAME\ndescription: Use when testing.\n---\n");
            fs::write(folder.path().join(name).join("a.md"), "same").unwrap();
        }
        let mut source = DirectorySource::new(folder.path(), DirectoryOptions::default()).unwrap();
        let opened = Arc::new(Opened::default());
        source.steps = Arc::<Opened>::clone(&opened);
        Self { folder, source, opened }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Scans, and returns the files that were opened and the groups that were reported.
    fn look(&self, look: &ScanRequest) -> (Vec<String>, Vec<String>) {
        let mut reported = Vec::new();
        let mut hear = |report: SourceChange| {
            let (SourceChange::Updated(key, _) | SourceChange::Removed(key)) = report;
            reported.push(key.0.to_string());
        };
        self.source.scan(look, &mut hear).unwrap();
        reported.sort();
        let mut opened = std::mem::take(&mut *self.opened.0.lock().unwrap());
        opened.sort();
        (opened, reported)
    }
}

/// Waits until everything is older than the ticks of the file system's clock.
pub(super) fn wait_until_settled() {
    let deadline = Instant::now() + Duration::from_secs(10);
    let begun = SystemTime::now();
    let probe = TempDir::new().unwrap();
    loop {
        fs::write(probe.path().join("probe"), "").unwrap();
        let now = fs::metadata(probe.path().join("probe")).unwrap().modified().unwrap();
        if now.duration_since(begun).is_ok_and(|age| age > Duration::from_millis(50)) {
            return;
        }
        assert!(Instant::now() < deadline, "the file system's clock stands still");
        std::thread::yield_now();
    }
}

fn write(root: &Path, name: &str, content: &str) {
    fs::create_dir_all(root.join(name)).unwrap();
    fs::write(root.join(name).join("SKILL.md"), content.replace("NAME", name)).unwrap();
}

const NOTHING: [&str; 0] = [];

#[test]
fn an_unchanged_file_is_not_read_again_v_62() {
    let fixture = Fixture::new();
    wait_until_settled();
    let (opened, reported) = fixture.look(&ScanRequest::everything());
    assert_eq!(opened, ["SKILL.md", "SKILL.md", "a.md", "a.md"]);
    assert_eq!(reported, ["one", "two"]);
    let (opened, reported) = fixture.look(&ScanRequest::everything());
    assert_eq!((opened.as_slice(), reported.as_slice()), (&[][..], &[][..]));
    // Another skill changes; this one is still not read again.
    fs::write(fixture.path("two/b.md"), "new").unwrap();
    let (opened, reported) = fixture.look(&ScanRequest::everything());
    assert_eq!(opened, ["SKILL.md", "a.md", "b.md"]);
    assert_eq!(reported, ["two"]);
}

#[test]
fn a_close_look_reads_everything_and_reports_what_differs_v_62() {
    let fixture = Fixture::new();
    wait_until_settled();
    fixture.look(&ScanRequest::everything());
    let (opened, reported) = fixture.look(&ScanRequest::everything().force_read());
    assert_eq!(opened, ["SKILL.md", "SKILL.md", "a.md", "a.md"]);
    assert_eq!(reported, NOTHING);
}

#[test]
fn a_file_whose_time_cannot_be_trusted_is_read_again_and_not_reported_v_62() {
    let fixture = Fixture::new();
    let file = fs::File::options().write(true).open(fixture.path("one/a.md")).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_hours(1)).unwrap();
    wait_until_settled();
    fixture.look(&ScanRequest::everything());
    let (opened, reported) = fixture.look(&ScanRequest::everything());
    assert_eq!(opened, ["SKILL.md", "a.md"]);
    assert_eq!(reported, NOTHING);
}

#[test]
fn a_look_at_one_path_reads_its_skill_alone_v_62() {
    let fixture = Fixture::new();
    fixture.look(&ScanRequest::everything());
    fs::write(fixture.path("one/a.md"), "other").unwrap();
    fs::write(fixture.path("two/a.md"), "other").unwrap();
    let at = fixture.source.root.path.join("one/a.md");
    let (opened, reported) = fixture.look(&ScanRequest::paths([at]));
    assert_eq!(opened, ["SKILL.md", "a.md"]);
    assert_eq!(reported, ["one"]);
}

#[test]
fn the_outcome_does_not_depend_on_the_number_of_threads_v_62() {
    let folder = TempDir::new().unwrap();
    for n in 0..300 {
        let content = if n % 7 == 0 { "broken" } else { "---\nname: NAME\ndescription: d\n---\n" };
        write(&folder.path().join(format!("group-{}", n % 5)), &format!("s{n}"), content);
    }
    let look = |workers: usize| {
        let mut source = DirectorySource::new(folder.path(), DirectoryOptions::default()).unwrap();
        source.workers = workers;
        let mut reported = Vec::new();
        source
            .scan(&ScanRequest::everything(), &mut |report| {
                let SourceChange::Updated(key, inspected) = report else { panic!() };
                reported.push((key, crate::directory::index::record::encode(&inspected)));
            })
            .unwrap();
        reported.sort();
        reported
    };
    let alone = look(1);
    assert_eq!(alone.len(), 300);
    assert_eq!(look(2), alone);
    assert_eq!(look(8), alone);
}
