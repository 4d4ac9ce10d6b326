//! What a folder refuses, and what it leaves alone.

use std::fs;

use tempfile::TempDir;

use super::*;

fn folder() -> (TempDir, Folder) {
    let place = TempDir::new().unwrap();
    let folder = Folder::make(&place.path().join("state")).unwrap();
    (place, folder)
}

#[test]
fn a_name_leads_nowhere_else_h_67() {
    let (_place, folder) = folder();
    for name in ["", ".", "..", "a/b", "/", "/etc/passwd", "a/..", "a/"] {
        assert!(folder.read(name, 10).is_err(), "{name}");
        assert!(folder.replace(name, "new", b"", false).is_err(), "{name}");
        assert!(folder.make_folder(name).is_err(), "{name}");
    }
    assert!(folder.entries().unwrap().is_empty());
}

#[test]
fn a_file_is_replaced_whole_and_nothing_is_left_over_h_66() {
    let (_place, folder) = folder();
    folder.replace("a", "a.new", b"one", true).unwrap();
    folder.replace("a", "a.new", b"two", true).unwrap();
    assert_eq!(folder.read("a", 3).unwrap().unwrap(), b"two");
    assert_eq!(folder.entries().unwrap(), [("a".to_owned(), EntryKind::File)]);
    // A temporary file of another process is not written to.
    fs::write(folder.path().join("a.new"), "theirs").unwrap();
    assert!(folder.replace("a", "a.new", b"three", true).is_err());
    assert_eq!(folder.read("a", 3).unwrap().unwrap(), b"two");
    assert_eq!(folder.read("a.new", 9).unwrap().unwrap(), b"theirs");
}

#[test]
fn no_more_is_read_than_is_allowed_h_65() {
    let (_place, folder) = folder();
    folder.replace("a", "new", b"12345", false).unwrap();
    assert_eq!(folder.read("a", 5).unwrap().unwrap(), b"12345");
    assert!(folder.read("a", 4).is_err());
    assert!(folder.read("b", 4).unwrap().is_none());
}

#[test]
fn a_file_of_another_size_is_not_read_h_65() {
    let (_place, folder) = folder();
    folder.replace("a", "new", b"12345", false).unwrap();
    assert_eq!(folder.read_exactly("a", 5).unwrap().unwrap(), b"12345");
    assert_eq!(folder.read_exactly("a", 4).unwrap(), None);
    assert_eq!(folder.read_exactly("a", 6).unwrap(), None);
    assert_eq!(folder.read_exactly("b", 5).unwrap(), None);
}

#[test]
fn a_stamp_is_relied_on_only_after_the_clock_has_ticked_h_66() {
    let at = |seconds: u64, nanoseconds: u32| Duration::new(seconds, nanoseconds);
    let stamp = |modified, changed| Stamp { device: 1, inode: 1, size: 1, modified, changed };
    let now = |millis: u64| SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
    let fine = stamp(at(9, 7), at(10, 7));
    assert!(!fine.is_settled(now(10_000)) && !fine.is_settled(now(10_020)));
    assert!(fine.is_settled(now(10_021)));
    // The later of the two times counts.
    assert!(!stamp(at(11, 7), at(10, 7)).is_settled(now(11_000)));
    let coarse = stamp(at(9, 0), at(10, 0));
    assert!(!coarse.is_settled(now(12_000)) && coarse.is_settled(now(12_001)));
}

#[cfg(unix)]
mod unix {
    use std::{
        os::unix::fs::{PermissionsExt, symlink},
        process::Command,
    };

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn everything_is_made_for_this_user_alone_h_64() {
        let (_place, folder) = folder();
        folder.make_folder("sub").unwrap();
        folder.replace("a", "new", b"", false).unwrap();
        drop(folder.lock("lock").unwrap());
        assert_eq!(mode(folder.path()), 0o700);
        assert_eq!(mode(&folder.path().join("sub")), 0o700);
        assert_eq!(mode(&folder.path().join("a")), 0o600);
        assert_eq!(mode(&folder.path().join("lock")), 0o600);
    }

    #[test]
    fn what_others_can_write_is_refused_h_64() {
        let (_place, folder) = folder();
        folder.make_folder("sub").unwrap();
        folder.replace("a", "new", b"", false).unwrap();
        for wide in [0o720, 0o702, 0o777] {
            set_mode(&folder.path().join("sub"), wide);
            assert!(folder.folder("sub").unwrap_err().to_string().contains("chmod"), "{wide:o}");
            assert!(folder.make_folder("sub").is_err());
            set_mode(&folder.path().join("a"), wide);
            assert!(folder.read("a", 1).is_err(), "{wide:o}");
            assert!(folder.append("a").is_err(), "{wide:o}");
        }
        set_mode(folder.path(), 0o770);
        assert!(Folder::find(folder.path()).is_err());
        assert!(Folder::make(folder.path()).is_err());
    }

    #[test]
    fn another_users_things_are_refused_h_64() {
        let (_place, folder) = folder();
        let mut facts = OpenDir::facts_at(folder.path()).unwrap();
        assert_eq!(facts.distrust(EntryKind::Folder, user()), None);
        facts.owner = user() + 1;
        assert_eq!(facts.distrust(EntryKind::Folder, user()), Some("belongs to another user"));
    }

    #[test]
    fn fifos_folders_and_hard_links_are_not_files_h_64() {
        let (_place, folder) = folder();
        let at = |name: &str| folder.path().join(name);
        assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
        set_mode(&at("fifo"), 0o600);
        folder.make_folder("sub").unwrap();
        folder.replace("a", "new", b"a", false).unwrap();
        fs::hard_link(at("a"), at("b")).unwrap();
        for name in ["fifo", "sub", "a", "b"] {
            assert!(folder.read(name, 9).is_err(), "{name}");
            assert!(folder.append(name).is_err(), "{name}");
        }
    }

    #[test]
    fn no_link_is_followed_h_63() {
        let (place, folder) = folder();
        let secret = place.path().join("secret");
        fs::create_dir(&secret).unwrap();
        fs::write(secret.join("key"), "key").unwrap();
        symlink(&secret, folder.path().join("link")).unwrap();
        symlink(secret.join("key"), folder.path().join("file")).unwrap();
        symlink(secret.join("none"), folder.path().join("dangling")).unwrap();
        assert!(folder.folder("link").unwrap_err().to_string().contains("symbolic link"));
        assert!(folder.make_folder("link").is_err());
        assert!(folder.read("file", 9).unwrap_err().to_string().contains("symbolic link"));
        assert!(folder.append("file").is_err());
        assert!(folder.append("dangling").is_err());
        assert!(!secret.join("none").exists());
        // Replacing removes the link and leaves its target alone.
        folder.replace("file", "new", b"new", false).unwrap();
        assert_eq!(fs::read(secret.join("key")).unwrap(), b"key");
        assert_eq!(folder.read("file", 9).unwrap().unwrap(), b"new");
        // A link takes the place of the folder itself.
        let other = place.path().join("other");
        symlink(folder.path(), &other).unwrap();
        assert!(Folder::find(&other).is_err());
        assert!(Folder::make(&other).is_err());
    }

    #[test]
    fn removing_everything_goes_through_no_link_hst_97_h_63() {
        let (place, folder) = folder();
        let secret = place.path().join("secret");
        fs::create_dir(&secret).unwrap();
        fs::write(secret.join("key"), "key").unwrap();
        let sub = folder.make_folder("sub").unwrap();
        let deep = sub.make_folder("deep").unwrap();
        deep.replace("a", "new", b"a", false).unwrap();
        symlink(&secret, deep.path().join("link")).unwrap();
        symlink(secret.join("key"), sub.path().join("file")).unwrap();
        assert_eq!(folder.remove_all("sub").unwrap(), 3);
        assert_eq!(folder.remove_all("sub").unwrap(), 0);
        assert!(folder.entries().unwrap().is_empty());
        assert_eq!(fs::read(secret.join("key")).unwrap(), b"key");
        symlink(&secret, folder.path().join("sub")).unwrap();
        assert_eq!(folder.remove_all("sub").unwrap(), 1);
        assert!(secret.join("key").exists());
    }
}
