//! Archives that are made: the same bytes every time, and nothing in them but the files.

use skillwire_archive::{ArchiveFormat, ArchiveLimits, NotPacked, pack, unpack};
use skillwire_core::{Digest, RelPath};
use skillwire_testkit::archives::refunds;

fn paths(files: &[(&str, &str)]) -> Vec<(RelPath, Vec<u8>)> {
    let parsed = files.iter().map(|(path, text)| (RelPath::parse(path).expect("a path"), text));
    parsed.map(|(path, text)| (path, text.as_bytes().to_vec())).collect()
}

fn packed(format: ArchiveFormat, files: &[(RelPath, Vec<u8>)]) -> Result<Vec<u8>, NotPacked> {
    pack(format, files.iter().map(|(path, bytes)| (path, bytes.as_slice())))
}

#[test]
fn archives_have_the_same_bytes_whatever_order_files_come_in_ar_20() {
    for format in ArchiveFormat::ALL {
        let mut files = paths(&refunds());
        let first = packed(format, &files).unwrap();
        files.reverse();
        assert_eq!(packed(format, &files).unwrap(), first, "{format:?}");
        assert_eq!(ArchiveFormat::sniff(&first), Some(format));
    }
}

#[test]
fn archives_have_these_bytes_ar_20() {
    // Servers list the digest of an archive. After an update of this program, the archive must
    // still have the digest that was listed before.
    let files = paths(&refunds());
    let digests =
        ArchiveFormat::ALL.map(|format| Digest::of(&packed(format, &files).unwrap()).to_string());
    let tar_gz = "sha256:ae7a0cbeae58d1248a47cee3225fea1f8ff159b6cf004b97854f7506392aceb2";
    let zip = "sha256:080d1cdce9ef14b6a216b861d42c9da66f1193c978f05daf6a3c04d71b8b4989";
    assert_eq!(digests, [tar_gz, zip]);
}

#[test]
fn what_is_packed_comes_out_again_with_scripts_executable_ar_20() {
    for format in ArchiveFormat::ALL {
        let files = paths(&refunds());
        let opened =
            unpack(format, &packed(format, &files).unwrap(), &ArchiveLimits::default()).unwrap();
        let again: Vec<_> =
            opened.iter().map(|file| (file.path.clone(), file.bytes.clone())).collect();
        assert_eq!(again, files, "{format:?}");
        let programs: Vec<_> =
            opened.iter().filter(|file| file.executable).map(|file| file.path.as_str()).collect();
        assert_eq!(programs, ["scripts/calc.py"], "{format:?}");
    }
}

#[test]
fn names_longer_than_a_tar_header_survive_ar_20() {
    let long = format!("references/{}.md", "x".repeat(180));
    let files = paths(&[("SKILL.md", "x"), (&long, "y")]);
    for format in ArchiveFormat::ALL {
        let opened =
            unpack(format, &packed(format, &files).unwrap(), &ArchiveLimits::default()).unwrap();
        assert_eq!(opened[1].path.as_str(), long);
    }
}

#[test]
fn files_that_no_archive_can_hold_are_not_packed_ar_20() {
    for (files, expected) in [
        (vec![("README.md", "x")], "there is no `SKILL.md`"),
        (vec![("SKILL.md", "x"), ("cafe\u{301}.md", "y")], "NFC"),
        (vec![("SKILL.md", "x"), ("skill.md", "y")], "are one name"),
        (vec![("SKILL.md", "x"), ("a\\b", "y")], "reserved"),
    ] {
        for format in ArchiveFormat::ALL {
            let error = packed(format, &paths(&files)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
