//! Watches real folders. Every wait ends with a report or fails the test.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::mpsc,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{
    watch_loop::{ChangeBatch, MAX_DELAY, MAX_REPORTED_PATHS, MIN_POLLED_PER_TICK, QUIET_PERIOD},
    *,
};

pub(crate) const RULES: WatchRules =
    WatchRules { unit_marker: "SKILL.md", is_ignored: |name| name == ".git" };

const LONG: Duration = Duration::from_secs(20);

struct Watched {
    folder: TempDir,
    watcher: FolderWatcher,
    state: WatchState,
    news: mpsc::Receiver<FolderChanges>,
}

impl Watched {
    /// Makes a folder with two skills, and waits until it is watched.
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["a", "b"] {
            fs::create_dir_all(folder.path().join("skills").join(name).join("sub")).unwrap();
            fs::write(folder.path().join("skills").join(name).join("SKILL.md"), name).unwrap();
        }
        let root = folder.path().canonicalize().unwrap().join("skills");
        let (sender, news) = mpsc::channel();
        let (watcher, state) = FolderWatcher::start(vec![root], RULES, move |news| {
            let _test_is_over = sender.send(news);
        });
        assert_eq!(news.recv_timeout(LONG), Ok(FolderChanges::Everything));
        let started = Instant::now();
        while state.roots().iter().any(|(_, watch)| *watch == WatchCoverage::Pending) {
            assert!(started.elapsed() < LONG, "{state:?}");
            std::thread::yield_now();
        }
        Self { folder, watcher, state, news }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("skills")
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Waits for a report that satisfies the condition.
    fn until(&self, enough: impl Fn(&FolderChanges) -> bool) -> FolderChanges {
        let deadline = Instant::now() + LONG;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let news = self.news.recv_timeout(left).expect("no such news");
            if enough(&news) {
                return news;
            }
        }
    }

    /// Waits for a report that covers this path.
    fn tells_of(&self, path: &Path) {
        self.until(|news| match news {
            FolderChanges::Everything => true,
            FolderChanges::Paths(paths) => paths.iter().any(|told| path.starts_with(told)),
        });
    }

    /// Waits until all changes so far have been reported, by making one more.
    fn everything_told(&self) {
        let probe = self.path("probe");
        fs::write(&probe, "").unwrap();
        self.tells_of(&probe);
    }
}

#[test]
fn a_file_saved_by_renaming_is_told_v_60() {
    let watched = Watched::new();
    fs::write(watched.path("a/SKILL.md.new"), "new").unwrap();
    fs::rename(watched.path("a/SKILL.md.new"), watched.path("a/SKILL.md")).unwrap();
    watched.tells_of(&watched.path("a/SKILL.md"));
}

#[test]
fn a_file_written_in_place_is_told_v_60() {
    let watched = Watched::new();
    fs::write(watched.path("b/sub/x.md"), "x").unwrap();
    watched.tells_of(&watched.path("b/sub/x.md"));
}

#[test]
fn deleted_files_and_directories_are_told_v_61() {
    let watched = Watched::new();
    fs::remove_file(watched.path("a/SKILL.md")).unwrap();
    watched.tells_of(&watched.path("a/SKILL.md"));
    fs::remove_dir_all(watched.path("b")).unwrap();
    watched.tells_of(&watched.path("b"));
}

#[test]
fn a_new_directory_with_everything_in_it_is_told_and_then_watched_v_60() {
    let watched = Watched::new();
    fs::create_dir_all(watched.path("new/deep/down")).unwrap();
    fs::write(watched.path("new/deep/down/SKILL.md"), "x").unwrap();
    watched.tells_of(&watched.path("new/deep/down/SKILL.md"));
    watched.everything_told();
    fs::write(watched.path("new/deep/down/SKILL.md"), "y").unwrap();
    watched.tells_of(&watched.path("new/deep/down/SKILL.md"));
}

#[test]
fn a_directory_moved_in_is_told_and_then_watched_v_60() {
    let watched = Watched::new();
    let outside = watched.folder.path().join("outside");
    fs::create_dir_all(outside.join("sub")).unwrap();
    fs::rename(&outside, watched.path("moved")).unwrap();
    watched.tells_of(&watched.path("moved"));
    watched.everything_told();
    fs::write(watched.path("moved/sub/x"), "").unwrap();
    watched.tells_of(&watched.path("moved/sub/x"));
}

#[test]
fn many_changes_at_once_are_told_together_v_62() {
    let watched = Watched::new();
    for n in 0..MAX_REPORTED_PATHS * 2 {
        fs::write(watched.path(&format!("a/{n}")), "x").unwrap();
    }
    // The watcher may report single paths or everything, but must not miss a file.
    let mut told = BTreeSet::new();
    let last = watched.path(&format!("a/{}", MAX_REPORTED_PATHS * 2 - 1));
    let news = watched.until(|news| match news {
        FolderChanges::Everything => true,
        FolderChanges::Paths(paths) => paths.contains(&last),
    });
    if let FolderChanges::Paths(paths) = news {
        told.extend(paths);
        assert!(told.len() <= MAX_REPORTED_PATHS);
    }
}

#[test]
fn a_folder_that_goes_and_comes_back_is_told_and_watched_again_v_34() {
    let watched = Watched::new();
    let everything = |news: &FolderChanges| *news == FolderChanges::Everything;
    fs::rename(watched.root(), watched.folder.path().join("away")).unwrap();
    watched.until(everything);
    assert!(matches!(watched.state.roots()[0].1, WatchCoverage::Unwatched(_)));
    fs::create_dir_all(watched.path("c")).unwrap();
    watched.until(everything);
    assert_eq!(watched.state.roots()[0].1, WatchCoverage::Watched);
    fs::write(watched.path("c/x"), "").unwrap();
    watched.tells_of(&watched.path("c/x"));
}

#[test]
fn lost_events_and_too_many_are_news_of_everything_v_62() {
    let watched = Watched::new();
    watched.watcher.events.send(SystemEvent::Lost).unwrap();
    watched.until(|news| *news == FolderChanges::Everything);
    for n in 0..=MAX_REPORTED_PATHS {
        watched.watcher.events.send(SystemEvent::Changed(watched.path(&format!("a/{n}")))).unwrap();
    }
    watched.until(|news| *news == FolderChanges::Everything);
}

#[test]
fn a_directory_that_cannot_be_watched_is_said_v_62() {
    let watched = Watched::new();
    let limit = SystemEvent::Unwatched(watched.path("a"), "The limit is reached.".to_owned());
    watched.watcher.events.send(limit).unwrap();
    watched.everything_told();
    let expected = WatchCoverage::Unwatched("The limit is reached.".to_owned());
    assert_eq!(watched.state.roots()[0].1, expected);
}

#[cfg(target_os = "linux")]
#[test]
fn reading_and_litter_are_no_news_v_62() {
    let watched = Watched::new();
    fs::create_dir_all(watched.path("a/.git/objects")).unwrap();
    fs::write(watched.path("a/.git/objects/x"), "x").unwrap();
    fs::read(watched.path("a/SKILL.md")).unwrap();
    fs::read_dir(watched.path("a")).unwrap().count();
    let probe = watched.path("b/probe");
    fs::write(&probe, "").unwrap();
    let news = watched.news.recv_timeout(LONG).unwrap();
    assert_eq!(news, FolderChanges::Paths(BTreeSet::from([probe])));
}

#[test]
fn news_waits_for_a_moment_of_quiet_but_not_for_ever_v_60() {
    let mut batch = ChangeBatch::default();
    assert_eq!(batch.due(), None);
    batch.add(PathBuf::from("a"));
    let (first, last) = batch.times.unwrap();
    assert_eq!(batch.due(), Some(last + QUIET_PERIOD));
    batch.times = Some((first, first + MAX_DELAY * 2));
    assert_eq!(batch.due(), Some(first + MAX_DELAY));
    assert_eq!(batch.take(), FolderChanges::Paths(BTreeSet::from([PathBuf::from("a")])));
    assert_eq!(batch.due(), None);
}

/// Folders with fewer watches than directories.
#[cfg(target_os = "linux")]
mod few {
    use super::*;

    /// Makes a skill for each name, with `SKILL.md` and `sub/inner`, in the folder `around`.
    fn skills(names: &[&str]) -> (TempDir, PathBuf) {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap().join("skills");
        for name in names {
            let skill = root.join("around").join(name);
            fs::create_dir_all(skill.join("sub/inner")).unwrap();
            fs::write(skill.join("SKILL.md"), "x").unwrap();
            fs::write(skill.join("sub/x.md"), "x").unwrap();
        }
        (folder, root)
    }

    /// Watches a folder with at most this many watches, including the one on the root's parent.
    fn watched(
        max_watches: usize,
        poll_tick: Duration,
        (folder, root): (TempDir, PathBuf),
    ) -> Watched {
        let limits = WatchLimits { max_watches, poll_tick, poll_ticks: 2 };
        let (sender, news) = mpsc::channel();
        let (watcher, state) =
            FolderWatcher::start_within(limits, vec![root], RULES, move |news| {
                let _test_is_over = sender.send(news);
            });
        assert_eq!(news.recv_timeout(LONG), Ok(FolderChanges::Everything));
        Watched { folder, watcher, state, news }
    }

    fn partial(watched: &Watched) -> (usize, usize) {
        match &watched.state.roots()[0].1 {
            WatchCoverage::Partial(partial) => (partial.watched, partial.polled),
            other => panic!("{other:?}"),
        }
    }

    const NEVER: Duration = Duration::from_hours(1);

    #[test]
    fn skills_get_watches_before_what_is_in_them_v_62() {
        // The root's parent, the root, `around` and four skills take seven watches. The eighth is
        // left for a directory inside a skill.
        let watched = watched(8, NEVER, skills(&["a", "b", "c", "d"]));
        assert_eq!(partial(&watched), (7, 4));
        for name in ["a", "b", "c", "d"] {
            let file = watched.path(&format!("around/{name}/SKILL.md"));
            fs::write(&file, "y").unwrap();
            let alone = FolderChanges::Paths(BTreeSet::from([file]));
            watched.until(|news| *news == alone);
        }
        // A skill that appears later is reported as well, although no watch is left for it.
        fs::create_dir(watched.path("around/e")).unwrap();
        watched.tells_of(&watched.path("around/e"));
    }

    #[test]
    fn enough_watches_leave_nothing_to_turns_v_62() {
        let watched = watched(100, NEVER, skills(&["a", "b"]));
        assert_eq!(watched.state.roots()[0].1, WatchCoverage::Watched);
        fs::write(watched.path("around/b/sub/inner/x"), "").unwrap();
        watched.tells_of(&watched.path("around/b/sub/inner/x"));
    }

    #[test]
    fn skills_without_a_watch_inside_are_told_in_turns_and_no_others_v_62() {
        let names: Vec<String> = (0..MIN_POLLED_PER_TICK * 2).map(|n| format!("s{n:03}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        // Two watches are left, enough for the directories inside one skill.
        let directories = 3 + names.len() + 2;
        let watched = watched(directories, Duration::from_millis(1), skills(&names));
        assert_eq!(partial(&watched), (directories - 1, names.len() - 1));
        let mut rounds = Vec::new();
        while rounds.len() < 4 {
            let FolderChanges::Paths(places) = watched.news.recv_timeout(LONG).unwrap() else {
                panic!("everything is told");
            };
            assert!(places.len() <= MIN_POLLED_PER_TICK, "{places:?}");
            rounds.push(places);
        }
        // Each round reports every skill but the one that is watched completely.
        let all = |round: &[BTreeSet<PathBuf>]| -> BTreeSet<PathBuf> {
            round.iter().flatten().cloned().collect()
        };
        let round = all(&rounds[..2]);
        assert_eq!(round.len(), names.len() - 1);
        assert!(round.iter().all(|place| place.join("SKILL.md").is_file()), "{round:?}");
        assert_eq!(all(&rounds[2..]), round);
    }

    #[test]
    fn a_directory_that_appears_without_a_watch_left_has_its_turns_v_62() {
        let watched = watched(6, Duration::from_millis(1), skills(&["a"]));
        assert_eq!(watched.state.roots()[0].1, WatchCoverage::Watched);
        fs::create_dir_all(watched.path("around/a/new/deep")).unwrap();
        let place = watched.path("around/a/new");
        let told =
            |news: &FolderChanges| *news == FolderChanges::Paths(BTreeSet::from([place.clone()]));
        // It is reported when it appears, and from then on by polling.
        for _ in 0..4 {
            watched.until(told);
        }
        assert_eq!(partial(&watched), (5, 1));
        fs::remove_dir_all(&place).unwrap();
        watched.tells_of(&place);
    }

    #[test]
    fn more_skills_than_watches_have_their_turns_and_more_folders_are_said_v_62() {
        let many = watched(4, NEVER, skills(&["a", "b", "c"]));
        assert_eq!(partial(&many), (3, 3));
        let folders = watched(2, NEVER, skills(&["a"]));
        assert!(
            matches!(&folders.state.roots()[0].1, WatchCoverage::Unwatched(_)),
            "{:?}",
            folders.state
        );
    }
}
