//! Reads of published files.

use std::fs;

use skillwire_core::{Digest, RelPath};
use skillwire_source::{FileRecord, FileStoreError, FileTree};

use crate::support::{Folder, skill, tree};

const CONTENT: &str = "as it was";

/// Publishes a skill with the file `sub/a.md`.
fn published(folder: &Folder) -> (FileTree, FileRecord) {
    folder.skill("pdf").write("pdf/sub/a.md", CONTENT);
    let scan = folder.scan();
    let tree = tree(skill(&scan, "pdf")).clone();
    let file = tree.file(&RelPath::parse("sub/a.md").unwrap()).unwrap().clone();
    (tree, file)
}

fn read((tree, file): &(FileTree, FileRecord)) -> Result<Digest, FileStoreError> {
    tree.store.read(&file.path, file.size).map(|bytes| Digest::of(&bytes))
}

#[test]
fn what_was_published_is_read_as_it_was_srv_46() {
    let folder = Folder::new();
    let published = published(&folder);
    assert_eq!(read(&published), Ok(published.1.digest));
    assert_eq!(published.0.store.directory(), Some(folder.outside("skills/pdf")));
    let nothing = RelPath::parse("nothing").unwrap();
    assert_eq!(published.0.store.read(&nothing, 1), Err(FileStoreError::Changed));
}

#[test]
fn a_file_that_was_rotated_is_never_taken_for_the_one_that_was_published_v_57() {
    let folder = Folder::new();
    let published = published(&folder);
    folder.write("pdf/sub/b.md", "as it is!").write("pdf/sub/c.md", "longer than before");
    fs::rename(folder.path("pdf/sub/b.md"), folder.path("pdf/sub/a.md")).unwrap();
    assert_eq!(read(&published), Ok(Digest::of(b"as it is!")));
    assert_ne!(read(&published), Ok(published.1.digest));
    for other in ["longer than before", "short", ""] {
        folder.write("pdf/sub/a.md", other);
        assert_eq!(read(&published), Err(FileStoreError::Changed), "{other}");
    }
    fs::remove_dir_all(folder.path("pdf/sub")).unwrap();
    assert_eq!(read(&published), Err(FileStoreError::Changed));
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_file_or_directory_is_not_followed_v_34() {
    let folder = Folder::new();
    let published = published(&folder);
    fs::rename(folder.path("pdf/sub/a.md"), folder.path("pdf/sub/b.md")).unwrap();
    folder.link("pdf/sub/a.md", "b.md");
    assert_eq!(read(&published), Err(FileStoreError::Changed));
    fs::rename(folder.path("pdf/sub"), folder.path("pdf/real")).unwrap();
    fs::rename(folder.path("pdf/real/b.md"), folder.path("pdf/real/a.md")).unwrap();
    folder.link("pdf/sub", "real");
    assert_eq!(read(&published), Err(FileStoreError::Changed));
}

#[cfg(unix)]
#[test]
fn a_fifo_socket_or_directory_in_the_place_of_a_file_blocks_nobody_v_35() {
    let folder = Folder::new();
    let published = published(&folder);
    let path = folder.path("pdf/sub/a.md");
    fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert_eq!(read(&published), Err(FileStoreError::Changed));
    fs::remove_file(&path).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert_eq!(read(&published), Err(FileStoreError::Changed));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(read(&published), Err(FileStoreError::Changed));
}
