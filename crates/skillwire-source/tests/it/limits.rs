//! The limits of a skill, and of a scan.

use std::fs;

use skillwire_core::{
    Code,
    limits::{MAX_BYTES, MAX_FILES},
};

use crate::support::{Folder, assert_refused, at, finding, has, served, skill_md};

fn fill(folder: &Folder, dir: &str, files: usize) {
    for n in 0..files {
        folder.write(&format!("{dir}/f/{n}"), "");
    }
}

/// Adds a sparse file so that the skill has exactly `total` bytes.
fn grow(folder: &Folder, dir: &str, total: u64) {
    let name = dir.rsplit('/').next().unwrap();
    let file = fs::File::create(folder.path(&format!("{dir}/big.bin"))).unwrap();
    file.set_len(total - skill_md(name).len() as u64).unwrap();
}

#[test]
fn five_hundred_and_twelve_files_are_served_and_one_more_is_not_srv_50() {
    let folder = Folder::new();
    folder.skill("most").skill("more");
    fill(&folder, "most", MAX_FILES - 1);
    fill(&folder, "more", MAX_FILES);
    let scan = folder.scan();
    assert_eq!(served(&scan), ["most"]);
    assert_refused(&scan, "skills/more", &[Code::TooManyFiles]);
}

#[test]
fn sixteen_mebibytes_are_served_and_one_byte_more_is_not_srv_50() {
    let folder = Folder::new();
    folder.skill("most").skill("more");
    grow(&folder, "most", MAX_BYTES);
    grow(&folder, "more", MAX_BYTES + 1);
    let scan = folder.scan();
    assert_eq!(served(&scan), ["most"]);
    assert_refused(&scan, "skills/more", &[Code::TooManyBytes]);
}

#[test]
fn the_operator_is_told_how_much_there_is_srv_112() {
    let folder = Folder::new();
    folder.skill("pdf");
    fill(&folder, "pdf", MAX_FILES);
    grow(&folder, "pdf", MAX_BYTES + 1);
    let scan = folder.scan();
    let inspected = at(&scan, "skills/pdf");
    let files = finding(inspected, Code::TooManyFiles);
    assert_eq!(files.message, "The skill has 514 files; at most 512 are allowed.");
    assert_eq!(files.file, "skills/pdf");
    let bytes = finding(inspected, Code::TooManyBytes);
    assert!(bytes.message.contains("16777217 bytes"), "{}", bytes.message);
}

#[test]
fn a_huge_sparse_file_is_refused_unread_v_35() {
    let folder = Folder::new();
    folder.skill("pdf").skill("good");
    fs::File::create(folder.path("pdf/sparse")).unwrap().set_len(1 << 40).unwrap();
    let scan = folder.scan();
    assert_eq!(served(&scan), ["good"]);
    assert_refused(&scan, "skills/pdf", &[Code::TooManyBytes]);
}

#[test]
fn a_nested_skill_within_its_limits_is_served_though_the_outer_one_is_not_v_41() {
    let folder = Folder::new();
    folder.skill("outer").skill("outer/inner").write("outer/inner/a.md", "a");
    fill(&folder, "outer", MAX_FILES);
    let scan = folder.scan();
    assert_eq!(served(&scan), ["outer/inner"]);
    assert_refused(&scan, "skills/outer", &[Code::TooManyFiles]);
}

#[test]
fn a_scan_of_far_too_many_files_ends_and_spares_the_others_v_41() {
    let folder = Folder::new();
    folder.skill("full").skill("good").directory("full/z");
    for n in 0..20_001 {
        fs::File::create(folder.path(&format!("full/z/{n}"))).unwrap();
    }
    let scan = folder.scan();
    assert_eq!(served(&scan), ["good"]);
    let finding = finding(at(&scan, "skills/full"), Code::TooManyFiles);
    assert!(finding.message.contains("more than 20000"), "{}", finding.message);
}

#[test]
fn far_too_many_files_beside_the_skill_file_are_told_too_v_41() {
    let folder = Folder::new();
    folder.skill("full").skill("good");
    for n in 0..20_001 {
        fs::File::create(folder.path(&format!("full/{n}"))).unwrap();
    }
    let scan = folder.scan();
    assert_eq!(served(&scan), ["good"]);
    assert_refused(&scan, "skills/full", &[Code::TooManyFiles]);
}

#[test]
fn far_too_deep_directories_are_refused_and_spare_the_others_v_41() {
    let folder = Folder::new();
    let deep = vec!["d"; 80].join("/");
    folder.skill("deep").directory(&format!("deep/{deep}")).skill("good");
    folder.directory(&format!("between/{deep}")).skill(&format!("between/{deep}/lost"));
    let scan = folder.scan();
    assert_eq!(served(&scan), ["good"]);
    assert_refused(&scan, "skills/deep", &[Code::TooDeep]);
    assert!(has(&scan.findings, Code::TooDeep));
}

#[test]
fn many_skills_are_all_served_v_41() {
    let folder = Folder::new();
    for n in 0..1_000 {
        folder.skill(&format!("group-{}/skill-{n}", n % 7));
    }
    assert_eq!(served(&folder.scan()).len(), 1_000);
}

#[test]
fn a_skill_that_grows_beyond_the_limits_is_no_longer_served_v_63() {
    let folder = Folder::new();
    folder.skill("pdf").skill("good");
    let source = folder.source();
    assert_eq!(served(&source.scan().unwrap()), ["good", "pdf"]);
    grow(&folder, "pdf", MAX_BYTES + 1);
    let scan = source.scan().unwrap();
    assert_eq!(served(&scan), ["good"]);
    assert_refused(&scan, "skills/pdf", &[Code::TooManyBytes]);
    fs::remove_file(folder.path("pdf/big.bin")).unwrap();
    assert_eq!(served(&source.scan().unwrap()), ["good", "pdf"]);
}
