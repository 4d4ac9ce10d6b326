//! Several folders in one namespace.

use skillwire_core::Code;
use skillwire_source::{DirectoryOptions, DirectorySource, ScanResults, SkillSource, scan_all};

use crate::support::{Folder, Scan, assert_refused, at, finding, served, skill_md};

fn merge(sources: impl IntoIterator<Item = DirectorySource>) -> Scan {
    let sources: Vec<_> = sources.into_iter().collect();
    let sources: Vec<&dyn SkillSource> =
        sources.iter().map(|source| source as &dyn SkillSource).collect();
    let ScanResults { skills: inspected, findings } = scan_all(&sources).unwrap();
    Scan { inspected, findings }
}

fn scan(folder: &Folder, label: &str, prefix: &[&str]) -> DirectorySource {
    let options = DirectoryOptions::default().label(label).prefix(prefix.iter().copied());
    DirectorySource::new(folder.root(), options).unwrap()
}

#[test]
fn two_skills_at_one_path_are_both_refused_and_named_v_45() {
    let (one, two) = (Folder::new(), Folder::new());
    one.skill("pdf").skill("only-one");
    two.skill("pdf").skill("only-two");
    let merged = merge([scan(&one, "one", &[]), scan(&two, "two", &[])]);
    assert_eq!(served(&merged), ["only-one", "only-two"]);
    for origin in ["one/pdf", "two/pdf"] {
        assert_refused(&merged, origin, &[Code::PathCollision]);
        let message = &finding(at(&merged, origin), Code::PathCollision).message;
        assert!(message.contains("`one/pdf`") && message.contains("`two/pdf`"), "{message}");
    }
}

#[test]
fn a_prefix_keeps_them_apart_v_45() {
    let (one, two) = (Folder::new(), Folder::new());
    one.skill("pdf");
    two.skill("pdf");
    let merged = merge([scan(&one, "one", &[]), scan(&two, "two", &["team"])]);
    assert_eq!(served(&merged), ["pdf", "team/pdf"]);
}

#[test]
fn two_directories_with_one_name_collide_in_one_folder_v_45() {
    let folder = Folder::new();
    folder.write("a/SKILL.md", skill_md("pdf")).write("b/SKILL.md", skill_md("pdf")).skill("good");
    let merged = merge([scan(&folder, "f", &[])]);
    assert_eq!(served(&merged), ["good"]);
    assert_refused(&merged, "f/a", &[Code::PathCollision]);
    assert_refused(&merged, "f/b", &[Code::PathCollision]);
}

#[test]
fn a_skill_inside_anothers_directory_that_is_no_part_of_it_is_refused_srv_44() {
    let (one, two) = (Folder::new(), Folder::new());
    one.skill("pdf").skill("pdf/inner");
    two.skill("forms");
    let merged = merge([scan(&one, "one", &[]), scan(&two, "two", &["pdf"])]);
    assert_eq!(served(&merged), ["pdf", "pdf/inner"]);
    assert_refused(&merged, "two/forms", &[Code::PathCollision]);
}

#[test]
fn skills_that_share_a_name_are_served_with_a_warning_srv_39() {
    let folder = Folder::new();
    folder.skill("a/refunds").skill("b/refunds").skill("other");
    let merged = merge([scan(&folder, "f", &[])]);
    assert_eq!(served(&merged), ["a/refunds", "b/refunds", "other"]);
    for origin in ["f/a/refunds", "f/b/refunds"] {
        let finding = finding(at(&merged, origin), Code::DuplicateName);
        assert_eq!(finding.file, format!("{origin}/SKILL.md"));
        assert!(
            finding
                .message
                .contains("`skill://a/refunds/SKILL.md` and `skill://b/refunds/SKILL.md`"),
            "{}",
            finding.message
        );
    }
}
