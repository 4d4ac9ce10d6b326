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
fn of_two_skills_at_one_path_the_first_folder_has_it_v_45_rs_01() {
    let (one, two) = (Folder::new(), Folder::new());
    one.skill("pdf").skill("only-one");
    two.skill("pdf").skill("only-two");
    let merged = merge([scan(&one, "one", &[]), scan(&two, "two", &[])]);
    assert_eq!(served(&merged), ["only-one", "only-two", "pdf"]);
    assert!(at(&merged, "one/pdf").skill.is_some());
    assert_refused(&merged, "two/pdf", &[Code::PathCollision]);
    let message = &finding(at(&merged, "two/pdf"), Code::PathCollision).message;
    assert!(message.contains("`one/pdf`") && message.contains("`two/pdf`"), "{message}");
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
fn a_misnamed_skill_takes_no_path_of_its_neighbour_rs_01() {
    let folder = Folder::new();
    folder.write("a/SKILL.md", skill_md("pdf")).write("b/SKILL.md", skill_md("pdf")).skill("pdf");
    let merged = merge([scan(&folder, "f", &[])]);
    assert_eq!(served(&merged), ["a/pdf", "b/pdf", "pdf"]);
    for origin in ["f/a", "f/b"] {
        finding(at(&merged, origin), Code::NameNotDirectory);
    }
    // The advice works: either way the skill has a path of its own.
    folder.write("a/SKILL.md", skill_md("a"));
    std::fs::rename(folder.path("b"), folder.path("c")).unwrap();
    folder.write("c/SKILL.md", skill_md("c"));
    assert_eq!(served(&merge([scan(&folder, "f", &[])])), ["a", "c", "pdf"]);
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
