//! Which directories are skills, and where they are served.

use skillwire_core::{Code, RelPath};

use crate::support::{
    Folder, assert_refused, at, bytes, files, finding, has, listed, options, served, skill,
    skill_md, skills, strict, tree,
};

#[test]
fn a_skill_is_a_directory_with_a_skill_file_fmt_01() {
    let folder = Folder::new();
    folder.skill("pdf").write("notes/README.md", "no skill");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["pdf"]);
    assert_eq!(scan.inspected.len(), 1);
    assert_eq!(scan.findings, []);
}

#[test]
fn skill_file_must_be_spelled_exactly_srv_12() {
    let folder = Folder::new();
    folder.skill("good").write("lower/skill.md", skill_md("lower"));
    folder.write("mixed/Skill.md", skill_md("mixed")).write("none/readme.md", "");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["good"]);
    assert_refused(&scan, "skills/lower", &[Code::SkillFileCase]);
    assert_refused(&scan, "skills/mixed", &[Code::SkillFileCase]);
    let finding = finding(at(&scan, "skills/mixed"), Code::SkillFileCase);
    assert_eq!(finding.file, "skills/mixed/Skill.md");
    assert_eq!(finding.help.as_deref(), Some("Rename `Skill.md` to `SKILL.md`."));
    assert_eq!(scan.inspected.len(), 3);
}

#[test]
fn a_skill_below_a_misspelled_one_is_served_srv_12() {
    let folder = Folder::new();
    folder.write("outer/skill.md", skill_md("outer")).skill("outer/inner");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["outer/inner"]);
    assert_refused(&scan, "skills/outer", &[Code::SkillFileCase]);
}

#[test]
fn frontmatter_must_hold_name_and_description_srv_13() {
    let folder = Folder::new();
    folder
        .write("late/SKILL.md", format!("text\n{}", skill_md("late")))
        .write("nameless/SKILL.md", "---\ndescription: Use when needed.\n---\n")
        .write("bare/SKILL.md", "---\nname: bare\n---\n");
    let scan = folder.scan();
    assert_eq!(served(&scan), [""; 0]);
    assert_refused(&scan, "skills/late", &[Code::FrontmatterMissing]);
    assert_refused(&scan, "skills/nameless", &[Code::NameMissing]);
    assert_refused(&scan, "skills/bare", &[Code::DescriptionMissing]);
    let finding = finding(at(&scan, "skills/bare"), Code::DescriptionMissing);
    assert_eq!(finding.file, "skills/bare/SKILL.md");
}

#[test]
fn a_bad_directory_is_not_served_and_the_operator_is_told_srv_11() {
    let folder = Folder::new();
    folder.skill("good").write("bad/SKILL.md", "---\nname: Bad Name\ndescription: x\n---\n");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["good"]);
    assert_refused(&scan, "skills/bad", &[Code::NameInvalid]);
}

#[test]
fn all_further_files_are_served_whatever_they_are_srv_14() {
    let folder = Folder::new();
    folder.skill("pdf").write("pdf/a/b/c.bin", [0, 255, 7]).write("pdf/a/x.md", "x");
    folder.write("pdf/.hidden", "h").write("pdf/node_modules/m.js", "1");
    let scan = folder.scan();
    let skill = skill(&scan, "pdf");
    // Installed packages are litter, like caches of an interpreter.
    assert_eq!(files(skill), [".hidden", "SKILL.md", "a/b/c.bin", "a/x.md"]);
    assert_eq!(bytes(skill, "a/b/c.bin").as_ref(), [0, 255, 7]);
}

#[test]
fn any_other_files_and_directories_are_allowed_fmt_22() {
    let folder = Folder::new();
    folder.skill("pdf").write("pdf/whatever/x", "").write("pdf/Makefile", "");
    assert_eq!(files(skill(&folder.scan(), "pdf")), ["Makefile", "SKILL.md", "whatever/x"]);
}

#[test]
fn a_name_that_is_not_the_directory_stands_below_it_srv_18_rs_01() {
    let folder = Folder::new();
    folder.write("team/folder/SKILL.md", skill_md("refunds"));
    let scan = folder.scan();
    assert_eq!(served(&scan), ["team/folder/refunds"]);
    let inspected = at(&scan, "skills/team/folder");
    let finding = finding(inspected, Code::NameNotDirectory);
    assert_eq!(finding.file, "skills/team/folder/SKILL.md");
    assert_eq!(
        finding.help.as_deref(),
        Some("Rename the directory to `refunds`, or write `name: folder`.")
    );
}

#[test]
fn strict_serves_no_skill_whose_name_is_not_its_directory_v_51() {
    let folder = Folder::new();
    folder.write("folder/SKILL.md", skill_md("refunds")).skill("good");
    folder.write("Case/SKILL.md", skill_md("case"));
    let scan = folder.source_with(strict()).scan().unwrap();
    assert_eq!(served(&scan), ["good"]);
    assert!(has(&at(&scan, "skills/folder").findings, Code::NameNotDirectory));
    assert!(has(&at(&scan, "skills/Case").findings, Code::NameNotDirectory));
}

#[test]
fn a_name_that_differs_by_case_or_form_differs_fmt_07() {
    let folder = Folder::new();
    folder.write("Pdf/SKILL.md", skill_md("pdf")).write("cafe\u{301}/SKILL.md", skill_md("cafe"));
    let scan = folder.scan();
    assert_eq!(served(&scan), ["Pdf/pdf", "cafe\u{301}/cafe"]);
    for inspected in &scan.inspected {
        assert!(has(&inspected.findings, Code::NameNotDirectory), "{}", inspected.origin);
    }
}

#[test]
fn a_directory_renamed_at_run_time_moves_its_skill_below_the_new_name_v_51() {
    let folder = Folder::new();
    folder.skill("pdf");
    let source = folder.source();
    assert_eq!(served(&source.scan().unwrap()), ["pdf"]);
    std::fs::rename(folder.path("pdf"), folder.path("other")).unwrap();
    let scan = source.scan().unwrap();
    assert_eq!(served(&scan), ["other/pdf"]);
    assert!(has(&at(&scan, "skills/other").findings, Code::NameNotDirectory));
}

#[test]
fn a_name_that_breaks_the_rules_is_never_served_srv_19() {
    let folder = Folder::new();
    for (dir, name) in [("a", "PDF"), ("b", "a--b"), ("c", "-a"), ("d", "a_b"), ("e", "é")] {
        folder.write(&format!("{dir}/SKILL.md"), skill_md(&format!("\"{name}\"")));
    }
    let scan = folder.scan();
    assert_eq!(served(&scan), [""; 0]);
    for dir in ["a", "b", "c", "d", "e"] {
        assert_refused(&scan, &format!("skills/{dir}"), &[Code::NameInvalid]);
    }
}

#[test]
fn directories_between_and_a_prefix_become_segments_srv_17() {
    let folder = Folder::new();
    folder.skill("acme/billing/refunds").skill("top");
    let prefix = vec!["a b".to_owned(), "x".to_owned()];
    let scan = folder.source_with(options().prefix(prefix)).scan().unwrap();
    assert_eq!(served(&scan), ["a b/x/acme/billing/refunds", "a b/x/top"]);
    let uris: Vec<_> = skills(&scan).map(|skill| skill.uri.as_str()).collect();
    assert_eq!(
        uris,
        ["skill://a%20b/x/acme/billing/refunds/SKILL.md", "skill://a%20b/x/top/SKILL.md"]
    );
}

#[test]
fn litter_is_no_part_of_a_skill_and_holds_no_skills_v_43() {
    let folder = Folder::new();
    folder.skill("pdf").skill(".git/stolen").skill("pdf/.git/stolen");
    for litter in [".git/config", ".DS_Store", "__pycache__/x.pyc", ".SKILL.md.swp", "notes.md~"] {
        folder.write(&format!("pdf/{litter}"), "litter");
    }
    folder.write("pdf/.env.example", "A=").write("pdf/.gitignore", "x");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["pdf"]);
    assert_eq!(scan.inspected.len(), 1);
    assert_eq!(files(skill(&scan, "pdf")), [".env.example", ".gitignore", "SKILL.md"]);
    assert_eq!(*tree(skill(&scan, "pdf")).empty_directories, []);
}

#[test]
fn empty_directories_are_kept_srv_83() {
    let folder = Folder::new();
    folder.skill("pdf").directory("pdf/empty/deeper").write("pdf/full/a", "");
    let scan = folder.scan();
    let directories: Vec<_> =
        tree(skill(&scan, "pdf")).empty_directories.iter().map(RelPath::as_str).collect();
    assert_eq!(directories, ["empty", "empty/deeper"]);
}

#[test]
fn a_directory_with_only_litter_is_an_empty_one_v_44() {
    let folder = Folder::new();
    folder.skill("pdf").write("pdf/sub/.DS_Store", "x").write("pdf/__pycache__/a.pyc", "x");
    let scan = folder.scan();
    let tree = tree(skill(&scan, "pdf"));
    let directories: Vec<_> = tree.empty_directories.iter().map(RelPath::as_str).collect();
    assert_eq!(directories, ["sub"]);
    assert_eq!(tree.files.len(), 1);
}

#[test]
fn the_manifest_is_every_file_once_with_its_own_digest_srv_41() {
    let folder = Folder::new();
    folder.skill("pdf").write("pdf/a b.md", "one").write("pdf/a%20b.md", "two");
    folder.write("pdf/sub/a b.md", "three").skill("pdf-extra");
    let scan = folder.scan();
    let listed = listed(skill(&scan, "pdf"));
    let uris: Vec<_> = listed.iter().map(|(uri, ..)| uri.as_str()).collect();
    assert_eq!(
        uris,
        [
            "skill://pdf/SKILL.md",
            "skill://pdf/a%20b.md",
            "skill://pdf/a%2520b.md",
            "skill://pdf/sub/a%20b.md"
        ]
    );
    let digest = |content: &str| skillwire_core::Digest::of(content.as_bytes());
    assert_eq!(listed[1].1, digest("one"));
    assert_eq!(listed[2].1, digest("two"));
    assert_eq!(listed[3].2, 5);
}

#[test]
fn each_file_once_with_the_skill_file_and_nothing_from_outside_srv_42_srv_43_srv_44() {
    let folder = Folder::new();
    folder.skill("pdf").write("pdf/x/y.md", "").write("pdf-extra/z.md", "").skill("pdf-extra");
    let scan = folder.scan();
    for skill in skills(&scan) {
        let listed = listed(skill);
        let unique: std::collections::BTreeSet<_> = listed.iter().map(|(uri, ..)| uri).collect();
        assert_eq!(unique.len(), listed.len());
        assert!(unique.contains(&skill.uri.to_string()));
        let inside = format!("{}/", skill.uri.root());
        assert!(listed.iter().all(|(uri, ..)| uri.starts_with(&inside)), "{listed:?}");
    }
}

#[test]
fn directories_without_files_below_are_kept_and_no_others_srv_88() {
    let folder = Folder::new();
    folder.skill("pdf").write("pdf/a/b/c.md", "").directory("pdf/d").write("pdf/.git/x/y", "");
    let scan = folder.scan();
    let tree = tree(skill(&scan, "pdf"));
    // The other directories follow from the paths of files, so they are not stored.
    let empty: Vec<_> = tree.empty_directories.iter().map(RelPath::as_str).collect();
    assert_eq!(empty, ["d"]);
}

#[cfg(unix)]
#[test]
fn strange_names_are_encoded_and_come_back_v_38() {
    let folder = Folder::new();
    folder.skill("pdf");
    let long = "l".repeat(255);
    let names =
        ["a\nb", "a?b", "a#b", "100%", "a b", "-rf", "a%2Fb", "a\\b", "<x>", "ü", long.as_str()];
    for name in names {
        folder.write(&format!("pdf/{name}"), name);
    }
    let scan = folder.scan();
    let skill = skill(&scan, "pdf");
    let mut uris = std::collections::BTreeSet::new();
    for name in names {
        let uri = skill.uri.root().child(&RelPath::parse(name).unwrap());
        assert_eq!(skillwire_core::ResourceUri::parse(uri.as_str()).unwrap().name(), name);
        assert_eq!(bytes(skill, name), name.as_bytes());
        uris.insert(uri);
    }
    assert_eq!(uris.len(), names.len());
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_utf8_refuses_its_skill_alone_v_38() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    folder.skill("pdf").skill("good");
    let name = std::ffi::OsStr::from_bytes(b"bad\xff.md");
    std::fs::write(folder.path("pdf").join(name), "x").unwrap();
    let named = std::ffi::OsStr::from_bytes(b"dir\xff");
    std::fs::create_dir(folder.root().join(named)).unwrap();
    let scan = folder.scan();
    assert_eq!(served(&scan), ["good"]);
    assert_refused(&scan, "skills/pdf", &[Code::FileNameNotUtf8]);
    assert!(has(&scan.findings, Code::FileNameNotUtf8));
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_some_hosts_cannot_tell_apart_are_served_and_reported_v_39() {
    let folder = Folder::new();
    folder.skill("pdf").write("pdf/Skill.md", "1").write("pdf/skill.md", "2");
    folder.write("pdf/\u{e9}.md", "3").write("pdf/e\u{301}.md", "4");
    let scan = folder.scan();
    assert_eq!(tree(skill(&scan, "pdf")).files.len(), 5);
    let inspected = at(&scan, "skills/pdf");
    let twins = inspected.findings.iter().filter(|f| f.code == Code::FileNameTwins).count();
    assert_eq!(twins, 3);
    let scan = folder.source_with(strict()).scan().unwrap();
    assert_eq!(served(&scan), [""; 0]);
}
