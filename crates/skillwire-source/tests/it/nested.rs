//! Skills inside skills.

use skillwire_core::Code;

use crate::support::{
    Folder, assert_refused, at, bytes, entry, files, finding, has, listed, served, skill, skill_md,
};

#[test]
fn a_nested_skill_is_published_below_the_outer_one_srv_30() {
    let folder = Folder::new();
    folder.skill("team/outer").skill("team/outer/parts/inner");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["team/outer", "team/outer/parts/inner"]);
    let uri = skill(&scan, "team/outer/parts/inner").uri.as_str();
    assert_eq!(uri, "skill://team/outer/parts/inner/SKILL.md");
}

#[test]
fn the_outer_manifest_holds_everything_of_the_nested_skill_srv_31() {
    let folder = Folder::new();
    folder.skill("outer").skill("outer/inner").write("outer/inner/a/b.md", "b");
    let scan = folder.scan();
    let (outer, inner) = (skill(&scan, "outer"), skill(&scan, "outer/inner"));
    assert_eq!(files(outer), ["SKILL.md", "inner/SKILL.md", "inner/a/b.md"]);
    assert_eq!(files(inner), ["SKILL.md", "a/b.md"]);
    let (all, some) = (listed(outer), listed(inner));
    assert!(some.iter().all(|resource| all.contains(resource)));
    assert_eq!(bytes(outer, "inner/a/b.md"), bytes(inner, "a/b.md"));
}

#[test]
fn nothing_in_an_entry_tells_that_it_is_nested_srv_32() {
    let folder = Folder::new();
    folder.skill("outer").skill("outer/inner").skill("inner");
    let scan = folder.scan();
    let entry = |path| entry(skill(&scan, path))["frontmatter"].clone();
    assert_eq!(entry("outer/inner"), entry("inner"));
}

#[test]
fn a_changed_nested_file_changes_both_entries_srv_33() {
    let folder = Folder::new();
    folder.skill("outer").skill("outer/inner").write("outer/inner/a.md", "one");
    let source = folder.source();
    let before = source.scan().unwrap();
    folder.write("outer/inner/a.md", "two");
    let after = source.scan().unwrap();
    for path in ["outer", "outer/inner"] {
        let [before, after] = [&before, &after].map(|scan| listed(skill(scan, path)));
        assert_ne!(before, after, "{path}");
    }
}

#[test]
fn nested_skills_may_share_a_name_at_any_depth_v_42() {
    let folder = Folder::new();
    folder.skill("a").skill("a/a").skill("a/a/a").skill("A-not/x/a");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["A-not/x/a", "a", "a/a", "a/a/a"]);
}

#[test]
fn a_nested_skill_that_is_none_stays_a_file_of_the_outer_one_v_42() {
    let folder = Folder::new();
    folder.skill("outer").write("outer/other/SKILL.md", skill_md("wrong"));
    folder.write("outer/broken/SKILL.md", "no frontmatter").skill("outer/broken/good");
    folder.directory("outer/dir/SKILL.md");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["outer", "outer/broken/good"]);
    assert_eq!(scan.inspected.len(), 2);
    assert!(files(skill(&scan, "outer")).contains(&"other/SKILL.md"));
    let outer = at(&scan, "skills/outer");
    let told: Vec<_> = outer
        .findings
        .iter()
        .filter(|finding| finding.code == Code::NestedSkillInvalid)
        .map(|finding| finding.file.as_str())
        .collect();
    let expected = [
        "skills/outer/broken/SKILL.md",
        "skills/outer/dir/SKILL.md",
        "skills/outer/other/SKILL.md",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_nested_skill_that_may_not_be_served_stays_a_file_of_the_outer_one_v_42() {
    let folder = Folder::new();
    let long = "d".repeat(1025);
    let content = format!("---\nname: inner\ndescription: {long}\n---\n");
    folder.skill("outer").write("outer/inner/SKILL.md", content);
    let scan = folder.scan();
    assert_eq!(served(&scan), ["outer"]);
    assert_eq!(scan.inspected.len(), 1);
    let told = finding(at(&scan, "skills/outer"), Code::NestedSkillInvalid);
    assert!(told.message.contains("1025 characters"), "{}", told.message);
}

#[test]
fn what_is_wrong_in_a_nested_skill_is_told_with_the_nearest_one_v_42() {
    let folder = Folder::new();
    folder.skill("a").skill("a/b").write("a/b/c/SKILL.md", "nothing");
    let scan = folder.scan();
    assert!(!has(&at(&scan, "skills/a").findings, Code::NestedSkillInvalid));
    finding(at(&scan, "skills/a/b"), Code::NestedSkillInvalid);
}

#[test]
fn nested_skills_of_a_refused_one_stand_below_its_directory_v_42() {
    let folder = Folder::new();
    folder.write("team/outer/SKILL.md", "nothing").write("team/outer/x/SKILL.md", skill_md("y"));
    folder.skill("team/outer/x/z").write("team/outer/bad/SKILL.md", "nothing");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["team/outer/x/y", "team/outer/x/y/z"]);
    assert_refused(&scan, "skills/team/outer", &[Code::FrontmatterMissing]);
    assert_refused(&scan, "skills/team/outer/bad", &[Code::FrontmatterMissing]);
    finding(at(&scan, "skills/team/outer/x"), Code::NameNotDirectory);
}

#[test]
fn names_that_begin_alike_are_not_nested_v_42() {
    let folder = Folder::new();
    folder.write("o/SKILL.md", "nothing").skill("o/a").skill("o/a-b").skill("o/a/c");
    assert_eq!(served(&folder.scan()), ["o/a", "o/a-b", "o/a/c"]);
    assert_eq!(folder.scan().inspected.len(), 4);
}

#[test]
fn a_renamed_outer_skill_takes_its_nested_ones_along_v_42() {
    let folder = Folder::new();
    folder.write("folder/SKILL.md", skill_md("outer")).skill("folder/inner");
    assert_eq!(served(&folder.scan()), ["folder/outer", "folder/outer/inner"]);
}
