//! Entries of a folder that are not regular files, or that cannot be read.

use std::{fs, os::unix::fs::PermissionsExt, os::unix::net::UnixListener, process::Command};

use skillwire_core::Code;
use skillwire_source::{ScanRequest, SecretAllowList};

use crate::support::{Folder, assert_refused, at, finding, has, options, served};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.skill("pdf").write("pdf/a.md", "a").skill("good");
    folder
}

fn fifo(folder: &Folder, path: &str) {
    let made = Command::new("mkfifo").arg(folder.path(path)).status().unwrap();
    assert!(made.success());
}

#[test]
fn a_fifo_refuses_its_skill_and_blocks_nobody_v_35() {
    let folder = folder();
    fifo(&folder, "pdf/pipe");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["good"]);
    assert_refused(&scan, "skills/pdf", &[Code::SpecialFile]);
}

#[test]
fn a_fifo_for_a_skill_file_or_between_skills_blocks_nobody_v_35() {
    let folder = folder();
    fs::remove_file(folder.path("pdf/SKILL.md")).unwrap();
    fifo(&folder, "pdf/SKILL.md");
    fifo(&folder, "between");
    let scan = folder.scan();
    assert_eq!(served(&scan), ["good"]);
    assert_refused(&scan, "skills/pdf", &[Code::SkillFileNotAFile]);
}

#[test]
fn a_socket_refuses_its_skill_v_35() {
    let folder = folder();
    let _listener = UnixListener::bind(folder.path("pdf/socket")).unwrap();
    assert_refused(&folder.scan(), "skills/pdf", &[Code::SpecialFile]);
}

#[test]
fn a_link_to_a_fifo_is_refused_with_it_v_32() {
    let folder = folder();
    fifo(&folder, "pdf/pipe");
    folder.link("pdf/link", "pipe");
    assert_refused(&folder.scan(), "skills/pdf", &[Code::SymlinkOutside, Code::SpecialFile]);
}

#[test]
fn an_unreadable_file_refuses_its_skill_alone_v_37() {
    let folder = folder();
    fs::set_permissions(folder.path("pdf/a.md"), fs::Permissions::from_mode(0o000)).unwrap();
    let scan = without_privileges(|| folder.scan());
    assert_eq!(served(&scan), ["good"]);
    assert_refused(&scan, "skills/pdf", &[Code::Unreadable]);
    assert_eq!(finding(at(&scan, "skills/pdf"), Code::Unreadable).file, "skills/pdf/a.md");
}

#[test]
fn an_unreadable_directory_refuses_its_skill_alone_v_37() {
    let folder = folder();
    folder.directory("pdf/closed").directory("between");
    for path in ["pdf/closed", "between"] {
        fs::set_permissions(folder.path(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let scan = without_privileges(|| folder.scan());
    assert_eq!(served(&scan), ["good"]);
    assert_refused(&scan, "skills/pdf", &[Code::Unreadable]);
    assert_eq!(scan.findings.len(), 1);
    assert_eq!(scan.findings[0].file, "skills/between");
    assert!(has(&scan.findings, Code::Unreadable));
}

#[test]
fn a_file_that_becomes_unreadable_is_not_served_from_memory_v_37() {
    let folder = folder();
    let source = folder.source();
    assert_eq!(served(&source.scan().unwrap()), ["good", "pdf"]);
    fs::set_permissions(folder.path("pdf/a.md"), fs::Permissions::from_mode(0o000)).unwrap();
    let scan = without_privileges(|| source.scan().unwrap());
    assert_eq!(served(&scan), ["good"]);
}

#[test]
fn an_unreadable_root_is_unavailable_v_37() {
    let folder = folder();
    let source = folder.source();
    fs::set_permissions(folder.root(), fs::Permissions::from_mode(0o000)).unwrap();
    let scan = without_privileges(|| source.scan());
    fs::set_permissions(folder.root(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(scan.unwrap_err().origin, "skills");
}

#[test]
fn after_a_scan_that_failed_nothing_is_gone_and_the_next_look_is_at_everything_v_37() {
    let folder = folder();
    let source = folder.source();
    source.scan().unwrap();
    folder.skill("new");
    fs::set_permissions(folder.root(), fs::Permissions::from_mode(0o000)).unwrap();
    let look = ScanRequest::paths([folder.outside("skills/new")]);
    assert!(without_privileges(|| source.look(&look)).is_err());
    fs::set_permissions(folder.root(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(source.news(), [""; 0]);
    source.look(&ScanRequest::paths([folder.outside("skills/good")])).unwrap();
    assert_eq!(source.news(), ["new"]);
}

#[test]
fn secrets_refuse_their_skill_unless_they_are_allowed_v_43() {
    let folder = folder();
    folder.write("pdf/conf/.env", "TOKEN=1").write("pdf/keys/tls.key", "k");
    let secrets = [Code::SecretFile; 2];
    assert_refused(&folder.scan(), "skills/pdf", &secrets);
    let with = |patterns: &[&str]| {
        let allow_secret = SecretAllowList::parse(patterns).unwrap();
        let source = folder.source_with(options().allow_secret(allow_secret));
        served(&source.scan().unwrap())
    };
    assert_eq!(with(&[".env"]), ["good"]);
    assert_eq!(with(&[".env", "*.key"]), ["good", "pdf"]);
    assert_eq!(with(&["conf/.env", "keys/*"]), ["good", "pdf"]);
    assert_eq!(with(&["other/.env", "*.key"]), ["good"]);
    assert!(SecretAllowList::parse(["[a"]).is_err());
}

/// Runs a closure on a thread without root's right to read every file, even if the tests run as
/// root.
#[cfg(target_os = "linux")]
fn without_privileges<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            set_capabilities(None, none).unwrap();
            work()
        });
        worker.join().unwrap()
    })
}

#[cfg(not(target_os = "linux"))]
fn without_privileges<T>(work: impl FnOnce() -> T) -> T {
    work()
}
