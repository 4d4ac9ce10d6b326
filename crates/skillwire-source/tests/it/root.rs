//! The root folder of a source.

use std::fs;

use skillwire_core::Code;
use skillwire_source::{DirectoryOptions, DirectorySource};

use crate::support::{Folder, assert_refused, at, files, has, options, served, skill, skill_md};

#[test]
fn a_folder_that_is_a_skill_is_served_alone_srv_12() {
    let folder = Folder::new();
    folder.skill("pdf").skill("pdf/inner").write("pdf/a.md", "a");
    for root in ["pdf", "pdf/.", "pdf/inner/.."] {
        let label = ".".to_owned();
        let prefix = vec!["team".to_owned()];
        let options = DirectoryOptions::default().label(label).prefix(prefix);
        let source = folder.source_at(root, options);
        let scan = source.scan().unwrap();
        assert_eq!(served(&scan), ["team/pdf", "team/pdf/inner"]);
        assert_eq!(files(skill(&scan, "team/pdf")), ["SKILL.md", "a.md", "inner/SKILL.md"]);
        assert!(!has(&at(&scan, ".").findings, Code::NameNotDirectory));
        assert_eq!(at(&scan, "./inner").origin, "./inner");
    }
}

#[test]
fn a_folder_that_is_a_skill_is_compared_with_its_real_name_srv_18() {
    let folder = Folder::new();
    folder.write("folder/SKILL.md", skill_md("pdf"));
    let source = folder.source_at("folder/.", options());
    let scan = source.scan().unwrap();
    assert_eq!(served(&scan), ["pdf"]);
    assert!(has(&at(&scan, "skills").findings, Code::NameNotDirectory));
    assert_eq!(at(&scan, "skills").findings[0].file, "skills/SKILL.md");
}

#[test]
fn nested_skills_of_a_refused_folder_keep_their_path_srv_12() {
    let folder = Folder::new();
    folder.skill("pdf").skill("pdf/inner");
    let source = folder.source_at("pdf", options());
    assert_eq!(served(&source.scan().unwrap()), ["pdf", "pdf/inner"]);
    folder.write("pdf/SKILL.md", "nothing");
    let scan = source.scan().unwrap();
    assert_eq!(served(&scan), ["pdf/inner"]);
    assert_refused(&scan, "skills", &[Code::FrontmatterMissing]);
}

#[test]
fn a_folder_without_skills_says_so_srv_11() {
    let folder = Folder::new();
    folder.write("a/readme.md", "x");
    let scan = folder.scan();
    assert_eq!(scan.inspected.len(), 0);
    assert_eq!(scan.findings.len(), 1);
    assert_eq!((scan.findings[0].code, &*scan.findings[0].file), (Code::NoSkillFound, "skills"));
}

#[test]
fn a_folder_that_is_not_there_is_unavailable_srv_11() {
    let folder = Folder::new();
    folder.write("file", "");
    assert!(DirectorySource::new(folder.path("nothing"), options()).is_err());
    assert!(DirectorySource::new(folder.path("file"), options()).is_err());
    let prefix = vec!["a/b".to_owned()];
    let bad = options().prefix(prefix);
    assert!(DirectorySource::new(folder.root(), bad).is_err());
}

#[test]
fn a_folder_that_goes_and_comes_back_is_followed_v_34() {
    let folder = Folder::new();
    folder.skill("pdf");
    let source = folder.source();
    assert_eq!(served(&source.scan().unwrap()), ["pdf"]);
    fs::rename(folder.root(), folder.outside("away")).unwrap();
    let error = source.scan().unwrap_err();
    assert!(error.to_string().contains("gone"), "{error}");
    folder.directory("").skill("other");
    assert_eq!(served(&source.scan().unwrap()), ["other"]);
}

#[cfg(unix)]
#[test]
fn a_folder_replaced_by_a_link_is_not_followed_v_34() {
    let folder = Folder::new();
    folder.skill("pdf");
    let source = folder.source();
    assert_eq!(served(&source.scan().unwrap()), ["pdf"]);
    fs::rename(folder.root(), folder.outside("away")).unwrap();
    std::os::unix::fs::symlink("away", folder.outside("skills")).unwrap();
    let error = source.scan().unwrap_err();
    assert!(error.reason.contains("now leads to"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_directory_above_replaced_by_a_link_is_not_followed_v_34() {
    let folder = Folder::new();
    folder.skill("a/b/pdf");
    let source = folder.source_at("a/b", options());
    assert_eq!(served(&source.scan().unwrap()), ["pdf"]);
    fs::rename(folder.path("a"), folder.path("real")).unwrap();
    folder.link("a", "real");
    assert!(source.scan().is_err());
    fs::remove_file(folder.path("a")).unwrap();
    fs::rename(folder.path("real"), folder.path("a")).unwrap();
    assert_eq!(served(&source.scan().unwrap()), ["pdf"]);
}

#[cfg(unix)]
#[test]
fn a_link_given_as_the_folder_is_held_to_where_it_led_v_34() {
    let folder = Folder::new();
    folder.skill("one/pdf").skill("two/pdf").link("current", "one");
    let source = folder.source_at("current", options());
    assert_eq!(served(&source.scan().unwrap()), ["pdf"]);
    fs::remove_file(folder.path("current")).unwrap();
    folder.link("current", "two");
    assert!(source.scan().is_err());
}
