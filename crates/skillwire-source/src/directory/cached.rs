//! Reading a file that is in memory anyway: the kernel's, which keeps what was read lately.

use std::{fs::File, io::IoSliceMut};

use rustix::io::{ReadWriteFlags, preadv2};

use super::handle::{Handle, Kind, facts_of};

/// Reads a whole file of a known size without waiting for a device.
///
/// Nothing when that cannot be done, whatever the reason: the ordinary reading tells reasons apart.
pub(super) fn read(root: &Handle, path: &str, size: u64) -> Option<Vec<u8>> {
    let file = root.known_file_below(path).ok()?;
    let facts = facts_of(&file).ok()?;
    if facts.kind != Kind::File || facts.stamp.size() != size {
        return None;
    }
    read_exactly(&file, usize::try_from(size).ok()?)
}

fn read_exactly(file: &File, size: usize) -> Option<Vec<u8>> {
    // One byte more than announced is enough to see that there is more.
    let mut bytes = vec![0; size + 1];
    let read = preadv2(file, &mut [IoSliceMut::new(&mut bytes)], 0, ReadWriteFlags::NOWAIT).ok()?;
    bytes.truncate(read);
    (read == size).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn only_a_regular_file_of_the_known_size_is_read_and_never_through_a_link_v_34() {
        let folder = tempfile::TempDir::new().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("skill/sub")).unwrap();
        fs::write(at("skill/sub/a"), "one").unwrap();
        fs::write(at("outside"), "one").unwrap();
        symlink("sub/a", at("skill/file")).unwrap();
        symlink("sub", at("skill/dir")).unwrap();
        let root = Handle::open(&at("skill")).unwrap();
        // Where the kernel can do this at all, it can for a file that was just written.
        if let Some(bytes) = read(&root, "sub/a", 3) {
            assert_eq!(bytes, b"one");
        }
        for (path, size) in
            [("sub/a", 2), ("sub/a", 4), ("sub", 3), ("file", 3), ("dir/a", 3), ("../outside", 3)]
        {
            assert_eq!(read(&root, path, size), None, "{path} {size}");
        }
    }
}
