//! Symbolic and hard links.
#![cfg(unix)]

use std::fs;

use skillwire_core::Code;

use crate::support::{
    Folder, assert_refused, at, bytes, files, finding, has, options, served, skill,
};

const SECRET: &str = "a secret outside every skill";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.skill("pdf").write("pdf/real.md", "real").write("pdf/sub/deep.md", "deep");
    folder.skill("good");
    fs::write(folder.outside("secret"), SECRET).unwrap();
    folder
}

#[test]
fn a_link_to_a_file_outside_refuses_its_skill_alone_v_31() {
    for target in ["/etc/passwd", "../../secret", "../good/SKILL.md", "/", "/proc/self/environ"] {
        let folder = folder();
        folder.link("pdf/link", target);
        let scan = folder.scan();
        assert_eq!(served(&scan), ["good"], "{target}");
        assert_refused(&scan, "skills/pdf", &[Code::SymlinkOutside]);
        assert_eq!(finding(at(&scan, "skills/pdf"), Code::SymlinkOutside).file, "skills/pdf/link");
        assert!(!format!("{scan:?}").contains(SECRET));
    }
}

#[test]
fn an_absolute_link_out_refuses_and_one_to_the_skill_itself_does_not_v_31() {
    let folder = folder();
    folder.link("pdf/link", folder.outside("secret"));
    assert_refused(&folder.scan(), "skills/pdf", &[Code::SymlinkOutside]);
    fs::remove_file(folder.path("pdf/link")).unwrap();
    folder.link("pdf/link", folder.outside("skills/pdf/real.md"));
    assert_eq!(bytes(skill(&folder.scan(), "pdf"), "link"), "real");
}

#[test]
fn a_link_inside_is_served_as_the_file_it_leads_to_v_32() {
    let folder = folder();
    folder.link("pdf/sub/link.png", "../real.md").link("pdf/chain", "sub/link.png");
    let scan = folder.scan();
    let skill = skill(&scan, "pdf");
    assert_eq!(files(skill), ["SKILL.md", "chain", "real.md", "sub/deep.md", "sub/link.png"]);
    assert_eq!(bytes(skill, "sub/link.png"), "real");
    assert_eq!(bytes(skill, "chain"), "real");
    assert!(has(&at(&scan, "skills/pdf").findings, Code::SymlinkInside));
}

#[test]
fn a_link_to_litter_or_to_another_skill_is_refused_v_32() {
    let folder = folder();
    folder.write("pdf/.git/config", "token").link("pdf/link", ".git/config");
    assert_refused(&folder.scan(), "skills/pdf", &[Code::SymlinkOutside]);
}

#[test]
fn loops_dangling_links_and_links_to_directories_are_refused_v_33() {
    for (link, target) in [
        ("self", "self"),
        ("gone", "nothing"),
        ("up", "."),
        ("sub/up", ".."),
        ("dir", "sub"),
        ("file", "real.md/x"),
    ] {
        let folder = folder();
        folder.link(&format!("pdf/{link}"), target);
        let scan = folder.scan();
        assert_eq!(served(&scan), ["good"], "{link}");
        assert_refused(&scan, "skills/pdf", &[Code::SymlinkBroken]);
    }
}

#[test]
fn two_links_to_each_other_end_v_33() {
    let folder = folder();
    folder.link("pdf/a", "b").link("pdf/b", "a");
    let broken = [Code::SymlinkBroken; 2];
    assert_refused(&folder.scan(), "skills/pdf", &broken);
}

#[test]
fn links_are_judged_for_each_skill_by_itself_v_32() {
    let folder = Folder::new();
    folder.skill("outer").skill("outer/inner").write("outer/shared.md", "shared");
    folder.link("outer/inner/link.md", "../shared.md");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["outer"]);
    assert_eq!(bytes(skill(&scan, "outer"), "inner/link.md"), "shared");
    assert_refused(&scan, "skills/outer/inner", &[Code::SymlinkOutside]);
}

#[test]
fn links_between_skills_are_not_followed_and_the_operator_is_told_v_33() {
    let folder = folder();
    folder.link("again", "pdf").link("root", "/").link("README", "good/SKILL.md");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["good", "pdf"]);
    let told: Vec<_> = scan.findings.iter().map(|f| (f.code, f.file.as_str())).collect();
    assert_eq!(
        told,
        [(Code::SymlinkNotScanned, "skills/again"), (Code::SymlinkNotScanned, "skills/root")]
    );
}

#[test]
fn hard_links_are_refused_where_the_operator_wants_it_v_36() {
    let folder = folder();
    fs::hard_link(folder.outside("secret"), folder.path("pdf/linked")).unwrap();
    let scan = folder.scan();
    assert_eq!(served(&scan), ["good", "pdf"]);
    assert!(!has(&at(&scan, "skills/pdf").findings, Code::HardLink));
    let single = options().single_link(true);
    let scan = folder.source_with(single).scan().unwrap();
    assert_eq!(served(&scan), ["good"]);
    assert_refused(&scan, "skills/pdf", &[Code::HardLink]);
}
