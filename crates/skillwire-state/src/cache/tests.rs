//! What the cache keeps apart, and what it never returns.

use std::{fs, time::Duration};

use skillwire_trust::{
    Reason,
    testing::{id, listed, verified},
};
use tempfile::TempDir;

use super::*;

const URI: &str = "skill://acme/refunds/SKILL.md";

fn cache() -> (TempDir, FileCache) {
    let place = TempDir::new().unwrap();
    let cache = FileCache::new(place.path().join("cache")).unwrap();
    (place, cache)
}

/// Every path below a folder.
fn all_paths(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            paths.extend(all_paths(&path));
        }
        paths.push(path);
    }
    paths
}

#[test]
fn what_was_put_is_given_back_and_nothing_else_is_there_hst_54_hst_92() {
    let (_place, cache) = cache();
    let skill = id("acme", URI);
    assert_eq!(cache.get(&skill, &listed(&skill, "a.md", b"a")), None);
    cache.put(&verified(&skill, "a.md", b"a")).unwrap();
    assert_eq!(cache.get(&skill, &listed(&skill, "a.md", b"a")).unwrap(), "a");
    assert_eq!(cache.get(&skill, &listed(&skill, "b.md", b"b")), None);
    let files = all_paths(&cache.root).into_iter().filter(|path| path.is_file());
    assert_eq!(files.collect::<Vec<_>>(), [cache.path_of(&skill, &Digest::of(b"a"))]);
}

#[test]
fn equal_bytes_of_two_servers_are_two_files_hst_11() {
    let (_place, cache) = cache();
    let (one, two) = (id("one", URI), id("two", URI));
    cache.put(&verified(&one, "SKILL.md", b"same")).unwrap();
    assert_eq!(cache.get(&two, &listed(&two, "SKILL.md", b"same")), None);
    cache.put(&verified(&two, "SKILL.md", b"same")).unwrap();
    assert_eq!(cache.remove_origin(&one.origin).unwrap(), 1);
    assert_eq!(cache.get(&one, &listed(&one, "SKILL.md", b"same")), None);
    assert_eq!(cache.get(&two, &listed(&two, "SKILL.md", b"same")).unwrap(), "same");
}

#[test]
fn origin_and_skill_are_read_from_the_path_alone_hst_13_hst_96_h_67() {
    let (place, cache) = cache();
    let long = format!("skill://{}/x/SKILL.md", "Long.".repeat(300));
    let uris =
        ["skill://a/b__c/c/SKILL.md", "skill://a__b/c/SKILL.md", "skill://A/c/SKILL.md", &long];
    for label in ["a", "a__b", "con", "skill.md", "local", "project"] {
        for uri in uris {
            let skill = id(label, uri);
            cache.put(&verified(&skill, "SKILL.md", b"bytes")).unwrap();
            // A second cache over the same folder stands for another process.
            let later = FileCache::new(place.path().join("cache")).unwrap();
            let path = cache.path_of(&skill, &Digest::of(b"bytes"));
            assert!(path.is_file());
            assert_eq!(later.skill_of(&path), Some(skill.clone()));
            assert_eq!(later.origin_of(&path), Some(skill.origin));
        }
    }
    let files = all_paths(&cache.root).into_iter().filter(|path| path.is_file()).count();
    assert_eq!(files, 24);
    for foreign in ["/etc/passwd", "cache/A/b/c", "cache/../x", "cache"] {
        assert_eq!(cache.skill_of(&place.path().join(foreign)), None, "{foreign}");
    }
}

#[test]
fn files_whose_names_a_disk_confuses_are_kept_apart() {
    let (_place, cache) = cache();
    let skill = id("acme", URI);
    let names: [(&str, &[u8]); 4] =
        [("SKILL.md", b"1"), ("Skill.md", b"2"), ("nul", b"3"), ("a.", b"4")];
    for (name, bytes) in names {
        cache.put(&verified(&skill, name, bytes)).unwrap();
    }
    for (name, bytes) in names {
        assert_eq!(cache.get(&skill, &listed(&skill, name, bytes)).unwrap(), bytes, "{name}");
    }
}

#[test]
fn nothing_in_the_cache_looks_like_a_skill_hst_95_h_69() {
    let (_place, cache) = cache();
    for label in ["acme", "skill.md"] {
        let skill = id(label, "skill://skill.md/SKILL.md/x/SKILL.md");
        cache.put(&verified(&skill, "SKILL.md", b"---\nname: x\n---\n")).unwrap();
    }
    let paths = all_paths(&cache.root);
    assert!(paths.len() >= 6);
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().to_lowercase();
        assert!(!name.contains('.'), "{name}");
    }
    for bad in ["/home/x/.claude/skills", "/p/.agents/skills/cache", "/x/.codex/SKILLS/a/b"] {
        assert!(FileCache::new(bad).is_err(), "{bad}");
    }
    assert!(FileCache::new("/home/skills/.cache/skillwire").is_ok());
}

#[test]
fn an_edited_file_with_its_old_time_fails_the_held_entry_hst_93_hst_94_h_61_h_62() {
    let (_place, cache) = cache();
    let skill = id("acme", URI);
    let entry = listed(&skill, "a.md", b"good");
    cache.put(&verified(&skill, "a.md", b"good")).unwrap();
    let path = cache.path_of(&skill, &entry.digest);
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "evil").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    // The cache returns the bytes on disk; the host's comparison with its entry decides.
    let bytes = cache.get(&skill, &entry).unwrap();
    assert_eq!(bytes, "evil");
    let refusal = VerifiedFile::check(&skill, &entry, bytes).unwrap_err();
    assert_eq!(refusal.reason, Reason::DigestMismatch);
    // Writing the file again repairs it.
    cache.put(&verified(&skill, "a.md", b"good")).unwrap();
    assert_eq!(cache.get(&skill, &entry).unwrap(), "good");
}

#[test]
fn a_file_of_another_size_is_not_even_given_h_61() {
    let (_place, cache) = cache();
    let skill = id("acme", URI);
    let entry = listed(&skill, "a.md", b"good");
    cache.put(&verified(&skill, "a.md", b"good")).unwrap();
    for other in ["", "goo", "goods"] {
        fs::write(cache.path_of(&skill, &entry.digest), other).unwrap();
        assert_eq!(cache.get(&skill, &entry), None, "{other}");
    }
}

#[test]
fn the_oldest_files_make_room_h_68() {
    let (_place, cache) = cache();
    let cache = cache.bounded(100);
    let skill = id("acme", URI);
    let file = |letter: u8| vec![letter; 40];
    for (age, letter) in [(30, b'a'), (20, b'b'), (0, b'c')] {
        cache.put(&verified(&skill, "x", &file(letter))).unwrap();
        let path = cache.path_of(&skill, &Digest::of(&file(letter)));
        let time = SystemTime::now() - Duration::from_secs(age);
        if age > 0 {
            fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        }
    }
    let there = |letter: u8| cache.get(&skill, &listed(&skill, "x", &file(letter))).is_some();
    assert_eq!([there(b'a'), there(b'b'), there(b'c')], [false, true, true]);
    assert!(cache.put(&verified(&skill, "x", &[0; 101])).is_err());
}

#[test]
fn more_than_needed_is_removed_at_a_time_h_68() {
    let (_place, cache) = cache();
    let skill = id("acme", URI);
    let file = |letter: u8| vec![letter; 100];
    for (age, letter) in (b'a'..=b'i').rev().enumerate() {
        cache.put(&verified(&skill, "x", &file(letter))).unwrap();
        let path = cache.path_of(&skill, &Digest::of(&file(letter)));
        let time = SystemTime::now() - Duration::from_secs(age as u64);
        fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
    evict::oldest(&cache.root, 800).unwrap();
    let there = |letter: &u8| cache.get(&skill, &listed(&skill, "x", &file(*letter))).is_some();
    assert_eq!((b'a'..=b'i').filter(there).collect::<Vec<_>>(), *b"cdefghi");
}

#[test]
fn what_nests_deeper_than_any_kept_file_is_left_alone_h_68() {
    let (_place, cache) = cache();
    let skill = id("acme", URI);
    cache.put(&verified(&skill, "x", &[0; 40])).unwrap();
    let mut deep = cache.root.clone();
    deep.extend(["d"; MAX_COMPONENTS + 1]);
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("file"), [0; 40]).unwrap();
    evict::oldest(&cache.root, 0).unwrap();
    assert_eq!(cache.get(&skill, &listed(&skill, "x", &[0; 40])), None);
    assert!(deep.join("file").is_file());
}

#[test]
fn a_file_may_fill_the_cache_h_68() {
    let (_place, cache) = cache();
    let (cache, skill) = (cache.bounded(100), id("acme", URI));
    cache.put(&verified(&skill, "x", &[0; 100])).unwrap();
    assert!(cache.get(&skill, &listed(&skill, "x", &[0; 100])).is_some());
}

#[test]
fn folders_without_files_do_not_pile_up_h_68() {
    let (_place, cache) = cache();
    let cache = cache.bounded(10);
    for number in 0..5 {
        let skill = id("acme", &format!("skill://s{number}/x/SKILL.md"));
        cache.put(&verified(&skill, "a", format!("12345{number}").as_bytes())).unwrap();
    }
    assert_eq!(all_paths(&cache.root).len(), 3, "label, URI, file");
}

#[test]
fn a_uri_too_long_for_a_path_is_not_kept_h_67() {
    let (_place, cache) = cache();
    let skill = id("acme", &format!("skill://{}/a/SKILL.md", "b".repeat(20_000)));
    assert!(cache.put(&verified(&skill, "a", b"a")).is_err());
    assert_eq!(cache.get(&skill, &listed(&skill, "a", b"a")), None);
}

#[test]
fn a_uri_is_kept_up_to_the_most_components_h_67() {
    let (_place, cache) = cache();
    let long = |letters: usize| id("acme", &format!("skill://{}/a/SKILL.md", "b".repeat(letters)));
    // 63 names of 199 letters, because the label takes one.
    let fits = (12_400..12_700).rfind(|letters| folders(&long(*letters)).len() == MAX_COMPONENTS);
    let (last, next) = (long(fits.unwrap()), long(fits.unwrap() + 1));
    cache.put(&verified(&last, "a", b"a")).unwrap();
    assert!(cache.get(&last, &listed(&last, "a", b"a")).is_some());
    assert!(cache.put(&verified(&next, "a", b"a")).is_err());
}

#[test]
fn many_writers_and_a_purge_leave_whole_files_only_h_66() {
    let (_place, cache) = cache();
    let skill = id("acme", URI);
    let file = verified(&skill, "a", &vec![7; 100_000]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    cache.put(&file).unwrap();
                    if let Some(bytes) = cache.get(&skill, file.listed()) {
                        VerifiedFile::check(&skill, file.listed(), bytes).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(all_paths(&cache.root).len(), 3, "label, URI, file");
    assert_eq!(cache.remove_origin(&skill.origin).unwrap(), 1);
    assert!(all_paths(&cache.root).is_empty());
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_link_in_the_place_of_the_cache_or_a_file_is_not_followed_h_63() {
        let (place, cache) = cache();
        let skill = id("acme", URI);
        let entry = listed(&skill, "a", b"secret");
        let outside = place.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("key"), "secret").unwrap();
        cache.put(&verified(&skill, "a", b"secret")).unwrap();
        let path = cache.path_of(&skill, &entry.digest);
        // The file itself.
        fs::remove_file(&path).unwrap();
        symlink(outside.join("key"), &path).unwrap();
        assert_eq!(cache.get(&skill, &entry), None);
        cache.put(&verified(&skill, "a", b"secret")).unwrap();
        assert!(!path.is_symlink() && cache.get(&skill, &entry).is_some());
        // A folder on the way becomes a link to a copy of everything.
        let label = cache.root.join("acme");
        fs::rename(&label, outside.join("acme")).unwrap();
        symlink(outside.join("acme"), &label).unwrap();
        assert_eq!(cache.get(&skill, &entry), None);
        assert!(cache.put(&verified(&skill, "a", b"secret")).is_err());
        assert_eq!(cache.remove_origin(&skill.origin).unwrap(), 1);
        assert!(outside.join("acme").is_dir() && !label.is_symlink());
        // The whole cache.
        fs::remove_dir_all(&cache.root).unwrap();
        symlink(&outside, &cache.root).unwrap();
        assert_eq!(cache.get(&skill, &entry), None);
        assert!(cache.put(&verified(&skill, "a", b"secret")).is_err());
    }

    #[test]
    fn wide_permissions_and_hard_links_are_refused_h_64() {
        let (place, cache) = cache();
        let skill = id("acme", URI);
        let entry = listed(&skill, "a", b"a");
        cache.put(&verified(&skill, "a", b"a")).unwrap();
        let path = cache.path_of(&skill, &entry.digest);
        fs::hard_link(&path, place.path().join("second")).unwrap();
        assert_eq!(cache.get(&skill, &entry), None);
        cache.put(&verified(&skill, "a", b"a")).unwrap();
        assert!(cache.get(&skill, &entry).is_some());
        fs::set_permissions(cache.root.join("acme"), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(cache.get(&skill, &entry), None);
        let error = cache.put(&verified(&skill, "a", b"a")).unwrap_err();
        assert!(error.problem.contains("other users"), "{error}");
        // The origin can still be removed.
        assert_eq!(cache.remove_origin(&skill.origin).unwrap(), 1);
        // The user created the folder earlier, writable by all users.
        let early = place.path().join("early");
        fs::create_dir(&early).unwrap();
        fs::set_permissions(&early, fs::Permissions::from_mode(0o1777)).unwrap();
        let early = FileCache::new(early).unwrap();
        assert!(early.put(&verified(&skill, "a", b"a")).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_is_open_is_checked_each_time_h_64() {
        let (_place, cache) = cache();
        let (skill, file) = (id("acme", URI), listed(&id("acme", URI), "a.md", b"a"));
        cache.put(&verified(&skill, "a.md", b"a")).unwrap();
        assert_eq!(cache.get(&skill, &file).unwrap(), "a");
        let path = cache.path_of(&skill, &file.digest);
        let folder = path.parent().unwrap();
        let mode = |mode| fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        mode(0o777);
        assert_eq!(cache.get(&skill, &file), None);
        mode(0o700);
        assert_eq!(cache.get(&skill, &file).unwrap(), "a");
    }

    #[test]
    fn a_folder_that_is_open_gives_nothing_after_another_process_removed_it_h_49() {
        let (place, cache) = cache();
        let (skill, file) = (id("acme", URI), listed(&id("acme", URI), "a.md", b"a"));
        cache.put(&verified(&skill, "a.md", b"a")).unwrap();
        assert_eq!(cache.get(&skill, &file).unwrap(), "a");
        let other = FileCache::new(place.path().join("cache")).unwrap();
        assert_eq!(other.remove_origin(&skill.origin).unwrap(), 1);
        assert_eq!(cache.get(&skill, &file), None);
        // A file that is put into a new folder of that name is found there.
        other.put(&verified(&skill, "a.md", b"a")).unwrap();
        assert_eq!(cache.get(&skill, &file).unwrap(), "a");
        fs::write(cache.path_of(&skill, &file.digest), "ab").unwrap();
        assert_eq!(cache.get(&skill, &file), None);
    }

    #[test]
    fn no_more_ways_are_held_open_than_the_bound_h_68() {
        let (_place, cache) = cache();
        for number in 0..=MOST_OPEN {
            let skill = id("acme", &format!("skill://s{number}/SKILL.md"));
            cache.put(&verified(&skill, "a.md", b"a")).unwrap();
            assert!(cache.get(&skill, &listed(&skill, "a.md", b"a")).is_some());
            let held = cache.open.lock().len();
            assert_eq!(held, if number < MOST_OPEN { number + 1 } else { 1 });
        }
    }

    #[test]
    fn the_way_to_a_skill_is_let_go_with_its_server_hst_97() {
        let (_place, cache) = cache();
        let (one, two) = (id("one", URI), id("two", URI));
        for skill in [&one, &two] {
            cache.put(&verified(skill, "a.md", b"a")).unwrap();
            assert!(cache.get(skill, &listed(skill, "a.md", b"a")).is_some());
        }
        cache.remove_origin(&one.origin).unwrap();
        assert_eq!(cache.open.lock().keys().collect::<Vec<_>>(), [&two]);
    }

    #[test]
    fn a_full_or_read_only_disk_is_an_error_and_not_a_failure_h_68() {
        // No process can create a folder there, not even as root.
        let cache = FileCache::new("/proc/self/cache").unwrap();
        let skill = id("acme", URI);
        assert!(cache.put(&verified(&skill, "a", b"a")).is_err());
        assert_eq!(cache.get(&skill, &listed(&skill, "a", b"a")), None);
        assert_eq!(cache.remove_origin(&skill.origin).unwrap(), 0);
    }
}
