//! Symbolic and hard links.
#![cfg(unix)]

use std::fs;

use skillwire_core::{Code, Exemption};
use skillwire_source::{ScanRequest, SkillContent, SkillSource};

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
fn links_between_skills_that_lead_out_are_not_followed_and_the_operator_is_told_v_33_rs_02() {
    let folder = folder();
    folder.link("root", "/").link("README", "good/SKILL.md").link("gone", "nothing");
    folder.link("up", "..").link("self", ".").link("loop", "loop");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["good", "pdf"]);
    let told = |file: &str| {
        let found = scan.findings.iter().find(|f| f.file == format!("skills/{file}"));
        let found = found.unwrap_or_else(|| panic!("{file}: {:?}", scan.findings));
        assert_eq!(found.code, Code::SymlinkNotScanned);
        let text = format!("{} {}", found.message, found.help.as_deref().unwrap());
        (text, found.exemption.clone())
    };
    assert_eq!(scan.findings.len(), 5);
    for (link, target) in [("root", "`/`"), ("up", "`..`")] {
        let (text, exemption) = told(link);
        assert!(text.contains(target), "{text}");
        assert_eq!(exemption, Some(Exemption::FollowLinks), "{link}");
    }
    for (link, why) in [
        ("gone", "`nothing`, which does not exist"),
        ("self", "leads in a circle"),
        ("loop", "leads in a circle"),
    ] {
        let (text, exemption) = told(link);
        assert!(text.contains(why), "{text}");
        assert_eq!(exemption, None, "{link}");
    }
}

#[test]
fn a_link_inside_the_folder_is_followed_and_listed_once_rs_02() {
    let folder = folder();
    folder.link("again", "pdf").link("team", "group").skill("group/forms");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["again/pdf", "good", "group/forms", "pdf", "team/forms"]);
    for (path, listed) in
        [("again/pdf", false), ("team/forms", false), ("pdf", true), ("group/forms", true)]
    {
        assert_eq!(skill(&scan, path).listed, listed, "{path}");
    }
    assert_eq!(bytes(skill(&scan, "again/pdf"), "sub/deep.md"), "deep");
    assert!(scan.findings.is_empty(), "{:?}", scan.findings);
}

/// A repository as installers of skills leave it: the client's folder holds links.
fn installed() -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.outside(".git")).unwrap();
    for name in ["pdf", "forms"] {
        let store = folder.outside(&format!(".agents/skills/{name}"));
        fs::create_dir_all(&store).unwrap();
        fs::write(store.join("SKILL.md"), crate::support::skill_md(name)).unwrap();
        fs::write(store.join("notes.md"), name).unwrap();
        folder.link(name, format!("../.agents/skills/{name}"));
    }
    folder
}

#[test]
fn links_that_stay_in_the_repository_are_followed_rs_02_fu_14() {
    let folder = installed();
    let scan = folder.scan();
    assert_eq!(served(&scan), ["forms", "pdf"]);
    assert!(scan.findings.is_empty(), "{:?}", scan.findings);
    for name in ["forms", "pdf"] {
        assert!(skill(&scan, name).listed);
        assert_eq!(bytes(skill(&scan, name), "notes.md"), name);
    }
    // Without the repository they lead out.
    fs::remove_dir(folder.outside(".git")).unwrap();
    let scan = folder.scan();
    assert_eq!(served(&scan), [""; 0]);
    assert_eq!(scan.findings.len(), 3, "{:?}", scan.findings);
    let scan = folder.source_with(options().follow_links(true)).scan().unwrap();
    assert_eq!(served(&scan), ["forms", "pdf"]);
}

#[test]
fn an_absolute_link_and_one_through_other_links_are_followed_rs_02() {
    let folder = installed();
    folder.link("absolute", folder.outside(".agents/skills/pdf"));
    fs::remove_file(folder.path("pdf")).unwrap();
    std::os::unix::fs::symlink(".agents", folder.outside("store")).unwrap();
    folder.link("pdf", "../store/./skills/../skills/pdf");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["absolute/pdf", "forms", "pdf"]);
    assert_eq!(bytes(skill(&scan, "absolute/pdf"), "notes.md"), "pdf");
}

#[test]
fn circles_of_links_end_rs_02() {
    let folder = installed();
    let store = folder.outside(".agents/skills");
    std::os::unix::fs::symlink("../../../skills", store.join("pdf-back")).unwrap();
    folder.skill("a/one").skill("b/two");
    folder.link("all", "../.agents/skills").link("a/to-b", "../b").link("b/to-a", "../a");
    let scan = folder.scan();
    let paths = served(&scan);
    assert!(paths.contains(&"all/pdf".to_owned()), "{paths:?}");
    assert!(paths.contains(&"a/to-b/two".to_owned()), "{paths:?}");
    assert!(paths.len() < 40, "{paths:?}");
    let circles = scan.findings.iter().filter(|f| f.message.contains("leads in a circle"));
    assert!(circles.count() >= 2, "{:?}", scan.findings);
}

#[test]
fn a_link_that_leads_elsewhere_later_is_read_from_there_rs_02() {
    let folder = installed();
    let source = folder.source();
    assert_eq!(bytes(skill(&source.scan().unwrap(), "pdf"), "notes.md"), "pdf");
    fs::rename(folder.outside(".agents/skills/pdf"), folder.outside("moved")).unwrap();
    fs::remove_file(folder.path("pdf")).unwrap();
    folder.link("pdf", "../moved");
    let scan = source.scan().unwrap();
    assert_eq!(bytes(skill(&scan, "pdf"), "notes.md"), "pdf");
    fs::remove_file(folder.path("pdf")).unwrap();
    folder.link("pdf", "/etc");
    let scan = source.scan().unwrap();
    assert_eq!(served(&scan), ["forms"]);
}

#[test]
fn a_change_behind_a_link_is_found_by_its_real_path_rs_02() {
    let folder = installed();
    let source = folder.source();
    source.scan().unwrap();
    let real = folder.outside(".agents/skills/pdf");
    let watched = source.source.watched_directories();
    assert_eq!(
        watched,
        [folder.outside("skills"), folder.outside(".agents/skills/forms"), real.clone(),]
    );
    fs::write(real.join("notes.md"), "changed").unwrap();
    let look = ScanRequest::paths([real.join("notes.md")]).force_read();
    let scan = source.look(&look).unwrap();
    assert_eq!(source.news(), ["pdf"]);
    assert_eq!(bytes(skill(&scan, "pdf"), "notes.md"), "changed");
    fs::remove_dir_all(&real).unwrap();
    let scan = source.look(&ScanRequest::paths([real])).unwrap();
    assert_eq!(served(&scan), ["forms"]);
    assert_eq!(source.source.watched_directories().len(), 2);
}

#[test]
fn no_race_leads_out_of_the_repository_rs_02() {
    let folder = installed();
    let outside = tempfile::TempDir::new().unwrap();
    fs::create_dir(outside.path().join("pdf")).unwrap();
    fs::write(outside.path().join("pdf/SKILL.md"), crate::support::skill_md("pdf")).unwrap();
    fs::write(outside.path().join("pdf/notes.md"), SECRET).unwrap();
    let (store, aside) = (folder.outside(".agents/skills"), folder.outside(".agents/aside"));
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                // A directory on the way is a link out of the repository for moments.
                let _ = fs::rename(&store, &aside);
                let _ = std::os::unix::fs::symlink(outside.path(), &store);
                let _ = fs::remove_file(&store);
                let _ = fs::rename(&aside, &store);
            }
        });
        for _ in 0..200 {
            let source = folder.source();
            let scan = source.scan().unwrap();
            for inspected in &scan.inspected {
                let Some(skill) = &inspected.skill else { continue };
                let SkillContent::Files(tree) = &skill.content else { continue };
                for file in &tree.files {
                    let read = tree.store.read(&file.path, file.size).unwrap_or_default();
                    assert!(!String::from_utf8_lossy(&read).contains(SECRET));
                }
            }
            assert!(!format!("{scan:?}").contains(SECRET));
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
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
