//! Opening archives: each hostile archive is refused, with the reason that fits it.

use skillwire_archive::{
    ArchiveFile, ArchiveFormat, ArchiveLimits, ArchiveReason, RefusedArchive, unpack,
};
use skillwire_testkit::{
    archives::ArchiveSample, archives::TarMember, archives::ZipMember, archives::corpus,
    archives::gzip, archives::refunds, archives::tar, archives::zip,
};

fn open(bytes: &[u8]) -> Result<Vec<ArchiveFile>, RefusedArchive> {
    unpack(ArchiveFormat::sniff(bytes).expect("an archive"), bytes, &ArchiveLimits::default())
}

fn sample(name: &str) -> ArchiveSample {
    corpus().into_iter().find(|sample| sample.name == name).expect("a sample")
}

fn tar_gz(members: &[TarMember]) -> Vec<u8> {
    gzip(&tar(members), 6)
}

fn skill() -> TarMember {
    TarMember::file("SKILL.md", "x")
}

fn reason(bytes: &[u8]) -> ArchiveReason {
    open(bytes).expect_err("it is refused").reason()
}

#[test]
fn each_archive_of_the_corpus_is_opened_or_refused_for_its_reason_ar_15() {
    let samples = corpus();
    assert_eq!(samples.iter().filter(|sample| sample.refused.is_none()).count(), 4);
    assert_eq!(samples.iter().filter(|sample| sample.refused.is_some()).count(), 22);
    for sample in samples {
        let opened = open(&sample.bytes);
        let refused = opened.as_ref().err().map(|refused| refused.reason().code());
        assert_eq!(refused, sample.refused, "{}: {opened:?}", sample.name);
    }
}

#[test]
fn good_archives_give_exactly_their_files_ar_15() {
    for name in ["ok.tar.gz", "ok.zip"] {
        let files = open(&sample(name).bytes).unwrap();
        let texts: Vec<_> = files
            .iter()
            .map(|file| (file.path.as_str(), std::str::from_utf8(&file.bytes).unwrap()))
            .collect();
        assert_eq!(texts, refunds(), "{name}");
    }
}

#[test]
fn an_inner_symlink_becomes_a_copy_of_its_target_ar_04() {
    let files = open(&sample("ok-inner-symlink.tar.gz").bytes).unwrap();
    let alias = files.iter().find(|file| file.path.as_str() == "examples/alias.md").unwrap();
    assert_eq!(alias.bytes, refunds()[0].1.as_bytes());
    let zipped = zip(&[
        ZipMember::new("SKILL.md", "x", 0o100_644),
        ZipMember::new("a/b", "../SKILL.md", 0o120_777),
    ]);
    assert_eq!(open(&zipped).unwrap()[1].bytes, b"x");
}

#[test]
fn links_are_resolved_through_the_tree_ar_05() {
    // Lexically, `up/../x` is `d/x`; through the tree it is outside.
    let chain = |target: &str| {
        tar_gz(&[
            skill(),
            TarMember::symlink("d/up", "../SKILL.md"),
            TarMember::symlink("d/k", target),
        ])
    };
    assert_eq!(open(&chain("up")).unwrap().len(), 3);
    for bad in ["up/../up", "k", "../d", "..", ".", "", "nothing", "../../SKILL.md", "a\\b"] {
        assert_eq!(reason(&chain(bad)), ArchiveReason::Link, "{bad}");
    }
}

#[test]
fn links_to_inner_files_by_hard_link_are_refused_too_ar_06() {
    assert_eq!(
        reason(&tar_gz(&[skill(), TarMember::hard_link("k", "SKILL.md")])),
        ArchiveReason::Link
    );
}

#[test]
fn a_file_and_a_directory_cannot_be_one_ar_07() {
    for members in [
        [TarMember::file("a", "x"), TarMember::file("a/b", "y")],
        [TarMember::of_kind("a/", b'5'), TarMember::file("a", "y")],
        [TarMember::of_kind("A/", b'5'), TarMember::file("a/b", "y")],
    ] {
        let members: Vec<_> = std::iter::once(skill()).chain(members).collect();
        assert_eq!(reason(&tar_gz(&members)), ArchiveReason::Twins);
    }
    let twice = ZipMember::new("SKILL.md", "x", 0o100_644);
    assert_eq!(reason(&zip(&[twice.clone(), twice])), ArchiveReason::Twins);
}

#[test]
fn only_the_owners_right_to_run_is_taken_over_ar_08() {
    let files = open(&sample("ok-setuid.tar.gz").bytes).unwrap();
    assert!(!files[0].executable);
    assert!(files[1].executable);
}

#[test]
fn limits_are_inclusive_ar_09() {
    let limits = ArchiveLimits::default().with_bytes(8).with_entries(3).with_depth(2).with_path(8);
    let open = |members: &[TarMember]| {
        let opened = unpack(ArchiveFormat::TarGz, &tar_gz(members), &limits);
        opened.map(|files| files.len()).map_err(|refused| refused.reason())
    };
    let file = |name: &str, size: usize| TarMember::file(name, vec![b'x'; size]);
    assert_eq!(open(&[skill(), file("a/b", 6), file("cccccccc", 1)]), Ok(3));
    assert_eq!(open(&[skill(), file("a", 8)]), Err(ArchiveReason::TooLarge));
    assert_eq!(open(&[skill(), file("a/b/c", 1)]), Err(ArchiveReason::TooDeep));
    assert_eq!(open(&[skill(), file("ccccccccc", 1)]), Err(ArchiveReason::TooDeep));
    let four = [skill(), file("a", 0), file("b", 0), file("c", 0)];
    assert_eq!(open(&four), Err(ArchiveReason::TooMany));
    // Directories and copies made from links count as well.
    let directory = [skill(), file("a", 0), file("b", 0), TarMember::of_kind("d/", b'5')];
    assert_eq!(open(&directory), Err(ArchiveReason::TooMany));
    let copies = [skill(), file("a", 5), TarMember::symlink("b", "a")];
    assert_eq!(open(&copies), Err(ArchiveReason::TooLarge));
}

#[test]
fn many_copies_of_one_large_file_are_too_large_ar_09() {
    let mut members = vec![skill(), TarMember::file("a", vec![b'x'; 1 << 20])];
    members.extend((0..20).map(|number| TarMember::symlink(&format!("l{number}"), "a")));
    let reason = unpack(ArchiveFormat::TarGz, &gzip(&tar(&members), 0), &ArchiveLimits::default())
        .unwrap_err();
    assert_eq!(reason.reason(), ArchiveReason::TooLarge);
}

#[test]
fn whatever_is_cut_off_or_appended_is_refused_ar_14() {
    for name in ["ok.tar.gz", "ok.zip"] {
        let whole = sample(name).bytes;
        for length in 2..whole.len() {
            let opened = unpack(
                ArchiveFormat::sniff(&whole).unwrap(),
                &whole[..length],
                &ArchiveLimits::default(),
            );
            assert_eq!(
                opened.unwrap_err().reason(),
                ArchiveReason::Broken,
                "{name} cut at {length}"
            );
        }
        let mut longer = whole.clone();
        longer.push(0);
        assert_eq!(reason(&longer), ArchiveReason::Broken, "{name} with a byte more");
        let mut twice = whole.clone();
        twice.extend(&whole);
        assert_eq!(reason(&twice), ArchiveReason::Broken, "{name} twice");
    }
    let mut hidden = tar(&[skill()]);
    hidden.extend(tar(&[TarMember::file("evil.md", "x")]));
    assert_eq!(reason(&gzip(&hidden, 6)), ArchiveReason::Broken);
}

#[test]
fn a_flipped_bit_never_gives_other_files_ar_14() {
    for name in ["ok.tar.gz", "ok.zip"] {
        let whole = sample(name).bytes;
        let files = open(&whole).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            let format = ArchiveFormat::sniff(&whole).unwrap();
            if let Ok(opened) = unpack(format, &damaged, &ArchiveLimits::default()) {
                // Only what is not content may differ: times, owners, names and modes.
                let contents = |files: &[ArchiveFile]| {
                    let mut all: Vec<_> = files.iter().map(|file| file.bytes.clone()).collect();
                    all.sort();
                    all
                };
                assert_eq!(contents(&opened), contents(&files), "{name} at {at}");
            }
        }
    }
}

#[test]
fn other_shapes_of_tar_that_tools_write_are_opened() {
    let members = [
        TarMember::of_kind("./", b'5'),
        TarMember::file("./SKILL.md", "x"),
        TarMember::of_kind("d/", b'5'),
    ];
    assert_eq!(open(&tar_gz(&members)).unwrap().len(), 1);
    let described = [TarMember::of_kind("pax_global_header", b'g'), skill()];
    assert_eq!(open(&tar_gz(&described)).unwrap().len(), 1);
}

#[test]
fn zip_features_that_are_not_read_are_refused() {
    let mut comment = sample("ok.zip").bytes;
    let at = comment.len() - 2;
    comment[at] = 1;
    comment.push(b'!');
    // The end record is no longer the last thing in the file.
    assert_eq!(reason(&comment), ArchiveReason::Broken);
    let socket =
        zip(&[ZipMember::new("SKILL.md", "x", 0o100_644), ZipMember::new("s", "", 0o140_777)]);
    assert_eq!(reason(&socket), ArchiveReason::Special);
    let latin = zip(&[ZipMember::new(b"caf\xe9".to_vec(), "x", 0o100_644)]);
    assert!(open(&latin).is_err());
}
