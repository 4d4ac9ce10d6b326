//! State that several processes share.

use std::{
    fs,
    path::Path,
    process::{Child, Command},
    time::{Duration, SystemTime},
};

use serde_json::json;
use skillwire_core::{
    ContentSet, Digest, SkillUri,
    received::{self, EntryLimits},
};
use skillwire_state::{AuditLog, FileRecords};
use skillwire_trust::{
    Action, Approval, ApprovalBinding, Audit, Decision, Event, Grants, Origin, RecordStore, SkillId,
};
use tempfile::TempDir;

const PROCESSES: u64 = 3;
const CHANGES: u64 = 20;

/// The file that tells a process to start work in its folder; without it the process does nothing.
const GO: &str = "go";

fn skill() -> SkillId {
    let uri = SkillUri::parse("skill://acme/refunds/SKILL.md").unwrap();
    SkillId { origin: Origin::parse("acme").unwrap(), uri }
}

fn content() -> ContentSet {
    let entry = json!({
        "uri": skill().uri,
        "frontmatter": {"name": "refunds", "description": "Refunds."},
        "resources": [{"uri": skill().uri, "digest": Digest::of(b"x"), "size": 1}],
    });
    ContentSet::of(&received::read(&entry.to_string(), EntryLimits::default()).unwrap()).unwrap()
}

/// Runs a test of this file as a separate process, in a folder.
fn start(test: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test])
        .current_dir(folder)
        .spawn()
        .unwrap()
}

/// The work of each process: it asks a number of times, approves once, and logs everything.
#[test]
#[ignore = "a process of processes_that_change_one_record_lose_nothing_h_66"]
fn change_one_record() {
    if !Path::new(GO).exists() {
        return;
    }
    let records = FileRecords::new("state/records");
    let log = AuditLog::new("state").bounded(4096);
    for _ in 0..CHANGES {
        let asked = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        records.update(&skill(), &mut |record| record.asked.push(asked)).unwrap();
        let event = Event {
            time: SystemTime::now(),
            skill: Some(skill()),
            label: "acme".to_owned(),
            content: Some(content().fingerprint()),
            content_id: content().content_id().ok(),
            action: Action::Ask,
            decision: Decision::Allowed,
            reason: None,
            detail: Some(std::process::id().to_string()),
        };
        log.append(&event).unwrap();
    }
    let approval = Approval {
        content: content(),
        grants: Grants::load_only(),
        at: SystemTime::now(),
        channel: None,
        revoked: false,
        binding: ApprovalBinding::Manifest,
        voucher: None,
    };
    records.update(&skill(), &mut |record| record.approval = Some(approval.clone())).unwrap();
}

#[test]
fn processes_that_change_one_record_lose_nothing_h_66() {
    let place = TempDir::new().unwrap();
    fs::write(place.path().join(GO), "").unwrap();
    let processes: Vec<Child> =
        (0..PROCESSES).map(|_| start("processes::change_one_record", place.path())).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let records = FileRecords::new(place.path().join("state/records"));
    let record = records.get(&skill()).unwrap().unwrap();
    assert_eq!(record.asked.len() as u64, PROCESSES * CHANGES);
    assert_eq!(record.approval.unwrap().content, content());
    let lines: Vec<Event> =
        AuditLog::new(place.path().join("state")).read().unwrap().map(Result::unwrap).collect();
    assert_eq!(lines.len() as u64, PROCESSES * CHANGES);
}

#[test]
fn a_process_that_is_killed_while_writing_leaves_the_old_record_or_the_new_one_h_65() {
    let place = TempDir::new().unwrap();
    fs::write(place.path().join(GO), "").unwrap();
    let records = FileRecords::new(place.path().join("state/records"));
    records.update(&skill(), &mut |record| record.disabled = true).unwrap();
    for _ in 0..5 {
        let before = records.get(&skill()).unwrap().unwrap().asked.len();
        let mut process = start("processes::change_one_record", place.path());
        // Kills the process as soon as it is seen to write, wherever it is then.
        while records.get(&skill()).unwrap().unwrap().asked.len() == before {
            if process.try_wait().unwrap().is_some() {
                break;
            }
        }
        let _ = process.kill();
        process.wait().unwrap();
        let record = records.get(&skill()).unwrap().unwrap();
        assert!(record.disabled && record.asked.len() > before);
    }
    // The system released the lock with the process, and leftover files do not get in the way.
    records.update(&skill(), &mut |record| record.disabled = false).unwrap();
}
