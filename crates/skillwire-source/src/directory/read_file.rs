//! Reads one file: never blocking, never through a link, never more than its listed size.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read},
};

use bytes::Bytes;

use super::{
    handle::{DirHandle, FileKind, facts_of},
    inspect::ScanHooks,
    stamp::FileStamp,
};

/// Why a file could not be read as it was listed.
#[derive(Debug)]
pub(super) enum ReadError {
    /// It is no longer there.
    Gone,
    /// It is not the file that was listed, or it changed while it was read.
    Changed,
    /// It cannot be read.
    Failed(io::Error),
}

/// Reads the file that was listed in a directory with `stamp`, and only that one.
///
/// Opening does not block on a fifo that took the file's place. The stamp is compared on the open
/// descriptor, so a file or a directory above it that was swapped in between is noticed before
/// anything is read; it is compared again afterwards, so that the bytes are those of one version.
/// `path` is what the file is called in messages.
pub(super) fn read(
    dir: &DirHandle,
    path: &str,
    stamp: &FileStamp,
    steps: &dyn ScanHooks,
) -> Result<Bytes, ReadError> {
    let name = OsStr::new(path.rsplit('/').next().unwrap_or(path));
    let file = dir.file(name).map_err(|error| why_not_opened(dir, name, error))?;
    if !is_as_listed(&file, stamp) {
        return Err(ReadError::Changed);
    }
    read_opened(&file, path, stamp, steps)
}

/// Reads a file that was open when it had `stamp`; it must still have it afterwards.
pub(super) fn read_opened(
    mut file: &File,
    path: &str,
    stamp: &FileStamp,
    steps: &dyn ScanHooks,
) -> Result<Bytes, ReadError> {
    steps.opened(path);
    let size = usize::try_from(stamp.size()).map_err(|_| ReadError::Changed)?;
    let bytes = read_exactly(&mut file, size).map_err(ReadError::Failed)?;
    steps.read(path);
    bytes.filter(|_| is_as_listed(file, stamp)).map(Bytes::from).ok_or(ReadError::Changed)
}

fn is_as_listed(file: &File, stamp: &FileStamp) -> bool {
    facts_of(file).is_ok_and(|now| now.kind == FileKind::File && now.stamp == *stamp)
}

/// Reads a file of a known size; `None` if it has fewer or more bytes.
pub(super) fn read_exactly(file: &mut impl Read, size: usize) -> io::Result<Option<Vec<u8>>> {
    // One byte more than the size is enough to see that the file has grown.
    let mut bytes = vec![0; size + 1];
    let mut filled = 0;
    loop {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // There was room for more, so a file that gives no more than this has no more.
        if filled >= size {
            break;
        }
    }
    bytes.truncate(filled);
    Ok((filled == size).then_some(bytes))
}

/// Reads a whole file of a known size from the kernel's cache, without waiting for a device.
///
/// `None` if that is impossible, whatever the reason: the ordinary read tells the reasons apart.
#[cfg(target_os = "linux")]
pub(super) fn read_cached(root: &DirHandle, path: &str, size: u64) -> Option<Vec<u8>> {
    let file = root.known_file_below(path).ok()?;
    let facts = facts_of(&file).ok()?;
    if facts.kind != FileKind::File || facts.stamp.size() != size {
        return None;
    }
    read_cached_exactly(&file, usize::try_from(size).ok()?)
}

#[cfg(target_os = "linux")]
fn read_cached_exactly(file: &File, size: usize) -> Option<Vec<u8>> {
    // One byte more than announced is enough to see that there is more.
    let mut bytes = vec![0; size + 1];
    let read = rustix::io::preadv2(
        file,
        &mut [io::IoSliceMut::new(&mut bytes)],
        0,
        rustix::io::ReadWriteFlags::NOWAIT,
    )
    .ok()?;
    bytes.truncate(read);
    (read == size).then_some(bytes)
}

/// Tells a file that cannot be opened from one that was replaced by something else.
fn why_not_opened(dir: &DirHandle, name: &OsStr, error: io::Error) -> ReadError {
    if error.kind() == io::ErrorKind::NotFound {
        return ReadError::Gone;
    }
    match dir.facts(name) {
        Ok(facts) if facts.kind == FileKind::File => ReadError::Failed(error),
        _ => ReadError::Changed,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
        process::Command,
    };

    use tempfile::TempDir;

    use super::*;
    use crate::directory::inspect::NoHooks;

    struct Fixture {
        folder: TempDir,
        dir: DirHandle,
        stamp: FileStamp,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = TempDir::new().unwrap();
            fs::write(folder.path().join("a"), "one").unwrap();
            let dir = DirHandle::open(folder.path()).unwrap();
            let stamp = dir.facts(OsStr::new("a")).unwrap().stamp;
            Self { folder, dir, stamp }
        }

        fn file(&self) -> PathBuf {
            self.folder.path().join("a")
        }

        fn read(&self, steps: &dyn ScanHooks) -> Result<Bytes, ReadError> {
            read(&self.dir, "a", &self.stamp, steps)
        }
    }

    /// Fails when anything is about to be read.
    #[derive(Debug)]
    struct Untouched;

    impl ScanHooks for Untouched {
        fn opened(&self, path: &str) {
            panic!("{path} is about to be read");
        }
    }

    /// Appends to a file at chosen moments of a read.
    #[derive(Debug)]
    struct Append {
        file: PathBuf,
        opened: bool,
    }

    impl Append {
        fn append(&self) {
            let grown = fs::read_to_string(&self.file).unwrap() + "+";
            fs::write(&self.file, grown).unwrap();
        }
    }

    impl ScanHooks for Append {
        fn opened(&self, _path: &str) {
            if self.opened {
                self.append();
            }
        }

        fn read(&self, _path: &str) {
            if !self.opened {
                self.append();
            }
        }
    }

    #[test]
    fn an_undisturbed_file_is_read_whole_srv_47() {
        assert_eq!(Fixture::new().read(&NoHooks).unwrap(), "one");
    }

    #[test]
    fn a_file_that_grows_before_or_after_its_bytes_are_read_has_changed_v_57() {
        for opened in [true, false] {
            let fixture = Fixture::new();
            let steps = Append { file: fixture.file(), opened };
            assert!(matches!(fixture.read(&steps), Err(ReadError::Changed)), "{opened}");
        }
    }

    #[test]
    fn another_file_of_the_same_size_has_changed_v_34() {
        let fixture = Fixture::new();
        let other = fixture.folder.path().join("b");
        fs::write(&other, "two").unwrap();
        fs::rename(other, fixture.file()).unwrap();
        assert!(matches!(fixture.read(&Untouched), Err(ReadError::Changed)));
    }

    #[test]
    fn a_link_is_not_opened_even_to_the_same_file_v_34() {
        let fixture = Fixture::new();
        fs::rename(fixture.file(), fixture.folder.path().join("b")).unwrap();
        std::os::unix::fs::symlink("b", fixture.file()).unwrap();
        let stamp = fixture.dir.facts(OsStr::new("b")).unwrap().stamp;
        let read = read(&fixture.dir, "a", &stamp, &Untouched);
        assert!(matches!(read, Err(ReadError::Changed)));
    }

    #[test]
    fn a_fifo_is_neither_waited_for_nor_read_v_35() {
        let fixture = Fixture::new();
        fs::remove_file(fixture.file()).unwrap();
        assert!(Command::new("mkfifo").arg(fixture.file()).status().unwrap().success());
        let stamp = fixture.dir.facts(OsStr::new("a")).unwrap().stamp;
        let read = read(&fixture.dir, "a", &stamp, &Untouched);
        assert!(matches!(read, Err(ReadError::Changed)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_gives_more_than_it_announces_has_changed_v_35() {
        let dir = DirHandle::open(Path::new("/proc/self")).unwrap();
        let stamp = dir.facts(OsStr::new("maps")).unwrap().stamp;
        let read = read(&dir, "maps", &stamp, &NoHooks);
        assert!(matches!(read, Err(ReadError::Changed)));
    }

    #[test]
    fn a_file_that_is_not_there_is_gone_v_37() {
        let fixture = Fixture::new();
        fs::remove_file(fixture.file()).unwrap();
        assert!(matches!(fixture.read(&NoHooks), Err(ReadError::Gone)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_a_regular_file_of_the_known_size_is_read_and_never_through_a_link_v_34() {
        let folder = tempfile::TempDir::new().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("skill/sub")).unwrap();
        fs::write(at("skill/sub/a"), "one").unwrap();
        fs::write(at("outside"), "one").unwrap();
        std::os::unix::fs::symlink("sub/a", at("skill/file")).unwrap();
        std::os::unix::fs::symlink("sub", at("skill/dir")).unwrap();
        let root = DirHandle::open(&at("skill")).unwrap();
        // Where the kernel can do this at all, it can for a file that was just written.
        if let Some(bytes) = read_cached(&root, "sub/a", 3) {
            assert_eq!(bytes, b"one");
        }
        for (path, size) in
            [("sub/a", 2), ("sub/a", 4), ("sub", 3), ("file", 3), ("dir/a", 3), ("../outside", 3)]
        {
            assert_eq!(read_cached(&root, path, size), None, "{path} {size}");
        }
    }
}
