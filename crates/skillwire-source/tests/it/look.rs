//! Scans that cover only some paths.

use std::{collections::BTreeSet, fs, path::PathBuf};

use proptest::prelude::*;
use skillwire_core::Code;
use skillwire_source::{DirectorySource, ScanRequest};

use crate::support::{Folder, Kept, Scan, at, files, has, served, skill, skill_md};

const NOTHING: [&str; 0] = [];

/// A folder with the skills `a`, `b` and `group/c`, and a source that has scanned them.
fn folder() -> (Folder, Kept<DirectorySource>) {
    let folder = Folder::new();
    folder.skill("a").skill("b").skill("group/c");
    let source = folder.source();
    assert_eq!(served(&source.scan().unwrap()), ["a", "b", "group/c"]);
    (folder, source)
}

fn look(folder: &Folder, source: &Kept<DirectorySource>, paths: &[&str]) -> Scan {
    let paths = paths.iter().map(|path| folder.outside("skills").join(path));
    source.look(&ScanRequest::paths(paths)).unwrap()
}

#[test]
fn a_changed_file_rebuilds_its_skill_alone_v_60() {
    let (folder, source) = folder();
    folder.write("a/x.md", "x").write("b/x.md", "x");
    let scan = look(&folder, &source, &["a/x.md"]);
    assert_eq!(source.news(), ["a"]);
    assert_eq!(files(skill(&scan, "a")), ["SKILL.md", "x.md"]);
    assert_eq!(files(skill(&scan, "b")), ["SKILL.md"]);
    let scan = source.scan().unwrap();
    assert_eq!(source.news(), ["b"]);
    assert_eq!(files(skill(&scan, "b")), ["SKILL.md", "x.md"]);
}

#[test]
fn nothing_is_reported_when_nothing_differs_v_62() {
    let (folder, source) = folder();
    folder.skill("a");
    look(&folder, &source, &["a/SKILL.md", "b", "group", ""]);
    assert_eq!(source.news(), NOTHING);
    source.forget();
    source.scan().unwrap();
    assert_eq!(source.news(), NOTHING);
}

#[test]
fn a_deleted_skill_is_gone_v_61() {
    for path in ["a", "a/SKILL.md", "a/deep/down"] {
        let (folder, source) = folder();
        fs::remove_dir_all(folder.path("a")).unwrap();
        assert_eq!(served(&look(&folder, &source, &[path])), ["b", "group/c"]);
        assert_eq!(source.news(), ["-a"]);
    }
}

#[test]
fn a_deleted_directory_takes_its_skills_along_v_61() {
    let (folder, source) = folder();
    fs::remove_dir_all(folder.path("group")).unwrap();
    assert_eq!(served(&look(&folder, &source, &["group"])), ["a", "b"]);
    assert_eq!(source.news(), ["-group/c"]);
}

#[test]
fn a_new_skill_is_found_by_any_path_of_it_v_60() {
    for path in ["new", "new/deep", "new/deep/d", "new/deep/d/SKILL.md", "new/deep/d/x/y.md"] {
        let (folder, source) = folder();
        folder.skill("new/deep/d").write("new/deep/d/x/y.md", "y");
        let scan = look(&folder, &source, &[path]);
        assert_eq!(served(&scan), ["a", "b", "group/c", "new/deep/d"], "{path}");
        assert_eq!(source.news(), ["new/deep/d"]);
    }
}

#[test]
fn a_path_inside_a_skill_that_is_not_known_yet_finds_the_outermost_one_v_60() {
    let (folder, source) = folder();
    folder.skill("new").skill("new/inner");
    let scan = look(&folder, &source, &["new/inner/SKILL.md"]);
    assert_eq!(source.news(), ["new"]);
    assert_eq!(files(skill(&scan, "new")), ["SKILL.md", "inner/SKILL.md"]);
}

#[test]
fn a_directory_that_becomes_a_skill_takes_those_inside_along_v_42() {
    let (folder, source) = folder();
    folder.write("group/skill.md", "odd");
    look(&folder, &source, &["group/skill.md"]);
    assert_eq!(source.news(), ["/group"]);
    folder.skill("group");
    let scan = look(&folder, &source, &["group/SKILL.md"]);
    assert_eq!(source.news(), ["-/group", "-group/c", "group"]);
    assert_eq!(served(&scan), ["a", "b", "group", "group/c"]);
}

#[test]
fn a_skill_that_loses_its_skill_file_leaves_those_inside_standing_alone_v_42() {
    let folder = Folder::new();
    folder.skill("outer").skill("outer/one").write("outer/two/SKILL.md", skill_md("three"));
    let source = folder.source();
    assert_eq!(served(&source.scan().unwrap()), ["outer", "outer/one"]);
    fs::remove_file(folder.path("outer/SKILL.md")).unwrap();
    let scan = look(&folder, &source, &["outer/SKILL.md"]);
    assert_eq!(source.news(), ["-outer", "outer/one", "outer/two"]);
    assert_eq!(served(&scan), ["outer/one", "outer/two/three"]);
}

#[test]
fn paths_outside_the_folder_and_litter_are_ignored_v_34() {
    let (folder, source) = folder();
    folder.skill("new").skill(".git/hidden").skill("a/.git/hidden");
    let outside = ["../secret", "a/../../secret", ".git/hidden/SKILL.md", "a/.git/x", "b/x~"];
    look(&folder, &source, &outside);
    assert_eq!(source.news(), NOTHING);
    source.look(&ScanRequest::paths([PathBuf::from("/etc/passwd"), PathBuf::from("new")])).unwrap();
    assert_eq!(source.news(), NOTHING);
}

#[test]
fn a_path_above_the_folder_means_the_whole_folder_v_60() {
    let (folder, source) = folder();
    folder.skill("new");
    source.look(&ScanRequest::paths([folder.outside("")])).unwrap();
    assert_eq!(source.news(), ["new"]);
}

#[test]
fn the_first_look_is_at_everything_v_60() {
    let folder = Folder::new();
    folder.skill("a").skill("b");
    let source = folder.source();
    look(&folder, &source, &["a/SKILL.md"]);
    assert_eq!(source.news(), ["a", "b"]);
}

#[test]
fn findings_between_skills_are_told_whole_after_every_look_srv_11() {
    let (folder, source) = folder();
    folder.write("lower/skill.md", "odd");
    let scan = look(&folder, &source, &["lower"]);
    assert!(has(&at(&scan, "skills/lower").findings, Code::SkillFileCase));
    fs::rename(folder.path("lower/skill.md"), folder.path("lower/Skill.md")).unwrap();
    look(&folder, &source, &["lower/skill.md", "lower/Skill.md"]);
    assert_eq!(source.news(), ["/lower"]);
    for dir in ["a", "b", "group"] {
        fs::remove_dir_all(folder.path(dir)).unwrap();
    }
    fs::remove_file(folder.path("lower/Skill.md")).unwrap();
    let scan = look(&folder, &source, &["a", "b", "group/c", "lower/Skill.md"]);
    assert_eq!(source.news(), ["-/lower", "-a", "-b", "-group/c"]);
    assert!(has(&scan.findings, Code::NoSkillFound));
}

#[cfg(unix)]
#[test]
fn a_link_between_skills_is_told_of_until_it_is_gone_v_33() {
    let (folder, source) = folder();
    folder.link("again", "/usr");
    assert_eq!(look(&folder, &source, &["again"]).findings.len(), 1);
    folder.write("a/x.md", "x");
    assert_eq!(look(&folder, &source, &["a/x.md", "again/x.md"]).findings.len(), 1);
    fs::remove_file(folder.path("again")).unwrap();
    assert_eq!(look(&folder, &source, &["again"]).findings, []);
    // A directory that was replaced by a link counts as removed.
    fs::rename(folder.path("b"), folder.outside("b")).unwrap();
    folder.link("b", folder.outside("b"));
    let scan = look(&folder, &source, &["b"]);
    assert_eq!(source.news(), ["-b"]);
    assert_eq!(scan.findings.len(), 1);
}

#[test]
fn a_file_of_a_folder_made_anew_is_read_where_it_is_now_srv_46() {
    let (folder, source) = folder();
    let before = source.scan().unwrap();
    fs::remove_dir_all(folder.root()).unwrap();
    assert!(source.scan().is_err());
    folder.skill("a").skill("b").skill("group/c");
    let after = source.scan().unwrap();
    assert_eq!(source.news(), NOTHING);
    for scan in [&before, &after] {
        assert_eq!(crate::support::bytes(skill(scan, "a"), "SKILL.md"), skill_md("a"));
    }
}

/// An edit that a user makes in a folder.
#[derive(Debug, Clone)]
enum Edit {
    Write(String, u8),
    Remove(String),
    Rename(String, String),
}

fn edit() -> impl Strategy<Value = Edit> {
    let path = "(a|b)(/(a|b)){0,2}(/(SKILL[.]md|skill[.]md|x))?";
    prop_oneof![
        4 => (path, 0..4_u8).prop_map(|(path, content)| Edit::Write(path, content)),
        2 => path.prop_map(Edit::Remove),
        1 => (path, path).prop_map(|(from, to)| Edit::Rename(from, to)),
    ]
}

/// Makes an edit, if that is possible, and returns the paths that may have changed.
fn apply(folder: &Folder, edit: &Edit) -> Vec<String> {
    match edit {
        Edit::Write(path, content) => {
            let target = folder.path(path);
            let name = path.rsplit('/').nth(1).unwrap_or("skills");
            let content = match content {
                0 => "nothing".to_owned(),
                1 => skill_md("other"),
                _ => skill_md(name),
            };
            if path.ends_with(['d', 'x']) && fs::create_dir_all(target.parent().unwrap()).is_ok() {
                let _is_a_directory = fs::write(target, content);
            }
            // A watcher also reports every directory that was made on the way.
            let ends = path.match_indices('/').map(|(end, _)| path[..end].to_owned());
            ends.chain([path.clone()]).collect()
        }
        Edit::Remove(path) => {
            let path_on_disk = folder.path(path);
            let _one_of_both =
                fs::remove_file(&path_on_disk).or_else(|_| fs::remove_dir_all(&path_on_disk));
            vec![path.clone()]
        }
        Edit::Rename(from, to) => {
            let _may_fail = fs::rename(folder.path(from), folder.path(to));
            vec![from.clone(), to.clone()]
        }
    }
}

type Told = (String, Vec<(Code, String)>, Option<String>);

/// Everything that a scan reports about a folder.
fn picture(scan: &Scan) -> (BTreeSet<Told>, Vec<(Code, String)>) {
    let codes = |findings: &[skillwire_core::Finding]| -> Vec<(Code, String)> {
        findings.iter().map(|finding| (finding.code, finding.file.clone())).collect()
    };
    let told = scan.inspected.iter().map(|inspected| {
        let entry = inspected.skill.as_ref().map(|skill| skill.entry.text().into_owned());
        (inspected.origin.clone(), codes(&inspected.findings), entry)
    });
    (told.collect(), codes(&scan.findings))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn looking_at_what_was_edited_is_as_good_as_looking_at_everything_v_60(
        steps in proptest::collection::vec(proptest::collection::vec(edit(), 1..5), 1..6),
    ) {
        let folder = Folder::new();
        folder.skill("a/b").write("b/x", "x");
        let source = folder.source();
        source.scan().unwrap();
        for edits in steps {
            let paths: Vec<String> = edits.iter().flat_map(|edit| apply(&folder, edit)).collect();
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let some = look(&folder, &source, &paths);
            prop_assert_eq!(picture(&some), picture(&folder.scan()), "{:?}", edits);
        }
    }
}
